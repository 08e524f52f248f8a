"""Sources with random content: decision by decision, in runs, and in comparisons of policies.

The content follows (19) of the report; what each epoch brings is drawn beforehand, so that several
policies can face the same arrivals (common random numbers). Two refinements that the documents name
without working them out:

- a source is *observed*, so that the policy sees its content, or *unobserved*, so that it sees its
  age alone; the two can be mixed (report, section 7);
- content is dropped once it is M_i periods old (2019 paper, section 2), so that the expected
  content at age k is u*_i (1 - alpha_i^min(k, M_i)).

In `compare` every policy faces the same arrivals in the same replication: differences between
policies are far more precise than the averages themselves. Replications are independent; intervals
are Student's at 95% over replications.

Reference: report 8702, section 7, equation (19), and the slides on the stochastic setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import (
    Rng,
    check_array,
    check_booleans,
    check_choice,
    check_integer,
    check_kind,
    check_rng,
    check_selected,
    check_whole,
    set_fields,
    shown,
)
from analysis.display import brief
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.kernels import Arms, Rule, advance, play
from analysis.ephemeral.policies import (
    POLICIES,
    Observation,
    Policy,
    named_policy,
    select_arms,
)
from analysis.ephemeral.simulation import Trajectory, initial_content
from analysis.ephemeral.sources import Sources
from analysis.results import Estimate


def _check_lifetime(lifetime: ArrayLike, sources: Sources) -> Floats:
    """Return M_i in periods, one a source, ``inf`` for content that is never dropped.

    ValueError if one is below one period or not a whole number of periods.
    """
    periods = check_array("lifetime", lifetime, 1, finite=False)
    if (periods != np.floor(periods)).any():
        raise ValueError(
            f"lifetime must be whole numbers of periods, or inf, got {shown(lifetime)}"
        )
    if periods.shape not in {(), (len(sources),)}:
        raise ValueError(
            f"lifetime must be a number or have shape ({len(sources)},), got {periods.shape}"
        )
    return np.broadcast_to(periods, len(sources)).copy()


def _check_observed(observed: ArrayLike, sources: Sources) -> Bools:
    """Return which sources are observed, one truth value a source; else ValueError."""
    truths = check_booleans("observed", observed)
    if truths.shape not in {(), (len(sources),)}:
        raise ValueError(
            f"observed must be True, False or {len(sources)} truth values, got {shown(observed)}"
        )
    return np.broadcast_to(truths, len(sources)).copy()


@brief
class Environment:
    """Sources of random content, stepped one epoch at a time.

    Parameters
    ----------
    sources : Sources
        N sources.
    content : array_like, shape (N, horizon)
        What each epoch brings, from `Arrivals.sample`; column t arrives between epochs t and t + 1.
    observed : bool or array_like of bool, shape (N,)
        Which sources show their content before a crawl.
    lifetime : float or array_like, shape (N,)
        M_i, in whole periods; older content is dropped. ``inf`` by default.
    initial_state : {"empty", "fresh", "full"} or array_like, shape (N,)
        Content at epoch 0, as in `simulate`. It counts as one period old.

    Attributes
    ----------
    epoch : int
        Number of the next decision, from 0 to the horizon.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Arrivals, Environment, four_sources
    >>> sources = four_sources()
    >>> environment = Environment(sources, Arrivals(sources).sample(3, np.random.default_rng(0)))
    >>> reward = environment.step([0])
    >>> environment.epoch, environment.observation.age.tolist()
    (1, [1, 1, 1, 1])
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(
        self,
        sources: Sources,
        content: ArrayLike,
        *,
        observed: ArrayLike = True,
        lifetime: ArrayLike = np.inf,
        initial_state: str | ArrayLike = "empty",
    ) -> None:
        check_kind("sources", sources, Sources)
        self.sources = sources
        arrived = check_array("content", content, 0)
        if arrived.ndim != 2 or arrived.shape[0] != len(sources):
            raise ValueError(
                f"content must have shape ({len(sources)}, horizon), got {arrived.shape}"
            )
        self._content = np.ascontiguousarray(arrived.T)
        self._observed = _check_observed(observed, sources)
        self._lifetime = _check_lifetime(lifetime, sources)
        fresh = isinstance(initial_state, str) and initial_state == "fresh"
        self._age = np.full(len(sources), int(fresh))
        self._state = initial_content(sources, initial_state)
        self._initial = self._state.copy()
        self._last_crawl = np.full(len(sources), -1)
        self.epoch = 0

    @property
    def horizon(self) -> int:
        """Number of epochs that can be played."""
        return len(self._content)

    @property
    def observation(self) -> Observation:
        """What the policy may see now: every age, and the content of observed sources."""
        state = np.where(self._observed, self._state, np.nan)
        return Observation(self.epoch, self._age.copy(), state)

    @property
    def state(self) -> Floats:
        """Content of every source now, whether observed or not."""
        return self._state.copy()

    def step(self, arms: ArrayLike) -> Floats:
        """Crawl some sources and move to the next epoch.

        Parameters
        ----------
        arms : array_like of int
            Numbers of the sources crawled, each at most once.

        Returns
        -------
        ndarray, shape (len(arms),)
            Content collected from each.

        Raises
        ------
        ValueError
            If the horizon is over, or a number is no source or comes twice; for a mask.
        """
        if self.epoch >= self.horizon:
            raise ValueError(f"arms must be chosen at most {self.horizon} times: no content left")
        size = len(self.sources)
        chosen = check_selected("arms", arms, size, size)
        rewards = self._state[chosen]
        crawled = np.zeros(size, dtype=bool)
        crawled[chosen] = True
        advance(
            self.epoch, crawled, self._content, self._initial, self._lifetime, self.sources.alpha,
            self._state, self._age, self._last_crawl,
        )  # fmt: skip
        self.epoch += 1
        return rewards


def random_trajectory(
    sources: Sources,
    policy: Policy,
    budget: int,
    content: ArrayLike,
    *,
    initial_state: str | ArrayLike = "empty",
) -> Trajectory:
    """Run a policy object on random content, all of it observed; return every state and crawl.

    Other arguments are those of `analysis.ephemeral.simulate_random`.
    """
    budget = check_whole("budget", budget, 1, len(sources))
    environment = Environment(sources, content, initial_state=initial_state)
    state = np.empty((len(sources), environment.horizon))
    crawled = np.zeros(state.shape, dtype=bool)
    reward = np.empty(environment.horizon)
    while (epoch := environment.epoch) < environment.horizon:
        state[:, epoch] = environment.state
        arms = select_arms(policy, environment.observation, budget, None)
        crawled[arms, epoch] = True
        reward[epoch] = environment.step(arms).sum()
    return Trajectory(state, crawled, reward)


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class IndexTable:
    """An index known on a grid of states, to be used as a policy.

    `values`, shape (N, points), has the index of each source in the states 0, step, 2 step, ...,
    and is continued above with slope 1/C; `step`, shape (N,), is positive.
    """

    values: Floats
    step: Floats

    def __post_init__(self) -> None:
        step = check_array("step", self.step, 0, low_open=True)
        set_fields(self, values=check_array("values", self.values), step=step)
        if self.values.ndim != 2 or self.step.shape != self.values.shape[:1]:
            raise ValueError(
                "values must have shape (N, points) and step shape (N,), "
                f"got {self.values.shape} and {self.step.shape}"
            )


AnyPolicy = str | IndexTable | Policy


@read_only_arrays
@dataclass(frozen=True)
class RandomRun:
    """One run of a policy against random content.

    `reward`, shape (horizon,), is the content collected at each epoch; `frequency`, shape (N,), has
    crawls per epoch after the warm-up, whose epochs are left out of all averages.
    """

    reward: Floats
    frequency: Floats
    warm_up: int

    def __repr__(self) -> str:
        return (
            f"RandomRun(N={self.frequency.size}, horizon={self.reward.size}, "
            f"warm_up={self.warm_up}, average_reward={self.average_reward:.6g})"
        )

    @property
    def average_reward(self) -> float:
        """Reward per epoch after the warm-up."""
        return float(self.reward[self.warm_up :].mean())


def simulate_random(
    sources: Sources,
    policy: AnyPolicy,
    budget: int,
    content: ArrayLike,
    *,
    observed: ArrayLike = True,
    lifetime: ArrayLike = np.inf,
    initial_state: str | ArrayLike = "empty",
    warm_up: int = 0,
    rng: Rng = None,
) -> RandomRun:
    """Run a policy against given random content, equation (19) of the report.

    Parameters
    ----------
    sources : Sources
        N sources.
    policy : str, IndexTable or Policy
        A name in `policies.POLICIES`, an index on a grid, or any policy object (slower).
    budget : int or whole float
        Sources crawled at each epoch, from 1 to N.
    content : array_like, shape (N, horizon)
        What each epoch brings, from `Arrivals.sample`.
    observed : bool or array_like of bool, shape (N,)
        Which sources show their content before a crawl.
    lifetime : float or array_like, shape (N,)
        M_i in whole periods; older content is dropped.
    initial_state : {"empty", "fresh", "full"} or array_like, shape (N,)
        Content at epoch 0.
    warm_up : int
        Epochs left out of the averages, less than the horizon.
    rng : numpy.random.Generator or seed, optional
        Handed to a policy object that draws.

    Returns
    -------
    RandomRun

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> content = np.tile(four_sources().u[:, None], 20)  # each epoch brings its mean
    >>> run = simulate_random(four_sources(), 'whittle', 1, content)
    >>> round(run.average_reward, 2)
    243.34
    """
    check_kind("sources", sources, Sources)
    rng = None if rng is None else check_rng(rng)
    check_kind("policy", policy, str, IndexTable, Policy)
    budget = check_whole("budget", budget, 1, len(sources))
    environment = Environment(
        sources, content, observed=observed, lifetime=lifetime, initial_state=initial_state
    )
    warm_up = check_integer("warm_up", warm_up, 0, environment.horizon - 1)
    reward = np.empty(environment.horizon)
    crawls = np.zeros(len(sources), dtype=np.int64)
    rule = _rule_number(policy, sources)
    if rule is None:
        assert not isinstance(policy, IndexTable)
        chooser = named_policy(policy, sources) if isinstance(policy, str) else policy
        while (epoch := environment.epoch) < environment.horizon:
            arms = select_arms(chooser, environment.observation, budget, rng)
            reward[epoch] = environment.step(arms).sum()
            crawls[arms] += epoch >= warm_up
    else:
        table = policy if isinstance(policy, IndexTable) else _no_table(sources)
        columns = Arms(
            sources.decay, sources.u_star, sources.cost, _check_lifetime(lifetime, sources),
            _check_observed(observed, sources), table.values, table.step,
        )  # fmt: skip
        play(
            rule, columns, np.ascontiguousarray(np.asarray(content, dtype=np.float64).T),
            initial_content(sources, initial_state), environment.observation.age,
            budget, reward, crawls, warm_up,
        )  # fmt: skip
    return RandomRun(reward, crawls / (environment.horizon - warm_up), warm_up)


def _rule_number(policy: AnyPolicy, sources: Sources) -> int | None:
    """Return the number of the rule in compiled code, or None where there is none."""
    if isinstance(policy, IndexTable):
        if len(policy.step) != len(sources):
            raise ValueError(
                f"policy must give an index for {len(sources)} sources, got {len(policy.step)}"
            )
        return int(Rule.TABLE)
    if not isinstance(policy, str):
        return None
    check_choice("policy", policy, tuple(POLICIES))
    rule = POLICIES[policy].rule
    return None if rule is None else int(rule)


def _no_table(sources: Sources) -> IndexTable:
    return IndexTable(np.zeros((len(sources), 1)), np.ones(len(sources)))


# Policies compared on the same random content, with confidence intervals


@dataclass(frozen=True)
class Comparison:
    """Several policies against the same random content.

    By policy, `rewards` has the average reward of each replication, shape (replications,), and
    `frequencies` the crawls per epoch of each source, shape (replications, N).
    """

    rewards: dict[str, Floats]
    frequencies: dict[str, Floats]

    def __repr__(self) -> str:
        means = (f"{name}: {values.mean():.6g}" for name, values in self.rewards.items())
        replications = max((values.size for values in self.rewards.values()), default=0)
        return f"Comparison({', '.join(means)}; replications={replications})"

    def reward(self, policy: str) -> Estimate:
        """Return the average reward of a policy."""
        return Estimate.of(self.rewards[policy])

    def difference(self, policy: str, other: str) -> Estimate:
        """Return the average reward of one policy less another's, on common random numbers."""
        return Estimate.of(self.rewards[policy] - self.rewards[other])

    def controlled(self, policy: str, control: str, expected: float) -> Estimate:
        """Return a policy's average reward, with one of known expectation as control variate."""
        return Estimate.of(self.rewards[policy] - self.rewards[control] + expected)

    def frequency(self, policy: str, arm: int) -> Estimate:
        """Return the crawls per epoch of one source under a policy."""
        return Estimate.of(self.frequencies[policy][:, arm])


def compare(
    arrivals: Arrivals,
    policies: Mapping[str, AnyPolicy] | Sequence[str],
    budget: int,
    horizon: int,
    replications: int,
    rng: Rng,
    *,
    observed: ArrayLike = True,
    lifetime: ArrayLike = np.inf,
    initial_state: str | ArrayLike = "empty",
    warm_up: int = 0,
) -> Comparison:
    """Run several policies on common random numbers.

    Parameters
    ----------
    arrivals : Arrivals
        Sources and the laws of their utilities.
    policies : mapping of str to policy, or sequence of str
        Policies by label, or names in `policies.POLICIES`.
    budget : int or whole float
        Sources crawled at each epoch.
    horizon : int
        Number of epochs of each replication.
    replications : int
        Independent repetitions, at least 2.
    rng : numpy.random.Generator or seed
        Each replication draws from its own generator, spawned from this one.
    observed, lifetime, initial_state, warm_up
        As in `simulate_random`.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Arrivals, four_sources
    >>> rng = np.random.default_rng(0)
    >>> found = compare(Arrivals(four_sources()), ['whittle', 'greedy'], 1, 50, 4, rng)
    >>> sorted(found.rewards)
    ['greedy', 'whittle']
    """
    check_kind("arrivals", arrivals, Arrivals)
    rng = check_rng(rng)
    replications = check_integer("replications", replications, 2)
    horizon = check_integer("horizon", horizon, 1)
    named = _by_label(policies)
    draws = ((arrivals.sample(horizon, stream), stream) for stream in rng.spawn(replications))
    options = {"observed": observed, "lifetime": lifetime, "initial_state": initial_state}
    return _compare(arrivals.sources, named, budget, draws, warm_up=warm_up, **options)


def draw_contents(arrivals: Arrivals, horizon: int, replications: int, rng: Rng) -> list[Floats]:
    """Draw the content of each replication, shape (N, horizon), as `compare` does.

    Each replication draws from its own generator, spawned from `rng`.
    """
    check_kind("arrivals", arrivals, Arrivals)
    rng = check_rng(rng)
    replications = check_integer("replications", replications, 2)
    return [arrivals.sample(horizon, stream) for stream in rng.spawn(replications)]


def compare_on(
    contents: Sequence[Floats],
    sources: Sources,
    policies: Mapping[str, AnyPolicy] | Sequence[str],
    budget: int,
    *,
    observed: ArrayLike = True,
    lifetime: ArrayLike = np.inf,
    initial_state: str | ArrayLike = "empty",
    warm_up: int = 0,
) -> Comparison:
    """Run several policies, which draw nothing, on the contents that `draw_contents` returned.

    One draw then serves many comparisons. Options and errors are those of `compare`.

    >>> from analysis.ephemeral import Arrivals, four_sources
    >>> arms = four_sources()
    >>> contents = draw_contents(Arrivals(arms), 200, 5, np.random.default_rng(1))
    >>> for budget in (1, 2):
    ...     result = compare_on(contents, arms, ["whittle", "round-robin"], budget)
    ...     print(result.difference("whittle", "round-robin").low > 30)
    True
    True
    """
    check_kind("contents", contents, Sequence)
    check_integer("replications of contents", len(contents), 2)
    named = _by_label(policies)
    options = {"observed": observed, "lifetime": lifetime, "initial_state": initial_state}
    draws = ((content, None) for content in contents)
    return _compare(sources, named, budget, draws, warm_up=warm_up, **options)


def _by_label(policies: Mapping[str, AnyPolicy] | Sequence[str]) -> Mapping[str, AnyPolicy]:
    """Return policies by label; names in a list are checked and are their own labels."""
    check_kind("policies", policies, Mapping, Sequence)
    if isinstance(policies, Mapping):
        return policies
    for name in policies:
        check_choice("policies", name, tuple(POLICIES))
    return {name: name for name in policies}


def _compare(
    sources: Sources,
    policies: Mapping[str, AnyPolicy],
    budget: int,
    draws: Iterable[tuple[Floats, np.random.Generator | None]],
    **options: Any,
) -> Comparison:
    """Run every policy on every draw of content, with the generator that belongs to it."""
    rewards: dict[str, list[float]] = {label: [] for label in policies}
    frequencies: dict[str, list[Floats]] = {label: [] for label in policies}
    for content, stream in draws:
        for label, policy in policies.items():
            run = simulate_random(sources, policy, budget, content, rng=stream, **options)
            rewards[label].append(run.average_reward)
            frequencies[label].append(run.frequency)
    return Comparison(
        {label: np.array(values) for label, values in rewards.items()},
        {label: np.array(values) for label, values in frequencies.items()},
    )
