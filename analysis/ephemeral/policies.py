"""Crawling policies: which sources to crawl at this epoch.

A policy is an object with one method, ``select(observation, budget, rng) -> arms``. The observation
holds what the model lets a policy see: the age of every source, and the content of those that are
observed. Ties of a rank go to the source with the smaller number, so that a run repeats itself.

References: the index policy is Theorem 1 of the report; greedy and round robin are the policies
that the slides compare it with. The Lagrangian index policy is that of Avrachenkov, Borkar and Shah
(arXiv 2412.12641).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import (
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_selected,
    check_whole,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.kernels import Rule, next_in_turn, printed_relative_index
from analysis.ephemeral.lagrangian import (
    TUNED_EVERY,
    TUNED_STEP,
    PricedSources,
    crawl_price,
)
from analysis.ephemeral.sources import Sources

Arms = Ints


@brief
@dataclass(frozen=True)
class Observation:
    """What a policy sees before it chooses.

    Attributes
    ----------
    epoch : int
        Number of the decision epoch, from 0.
    age : ndarray of int, shape (N,)
        Epochs since the last crawl of each source, 1 at the epoch that follows it.
    state : ndarray, shape (N,)
        Content of each source, ``nan`` where it is not observed.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Observation, WhittlePolicy, four_sources
    >>> seen = Observation(epoch=0, age=np.array([1, 1, 20, 1]), state=np.full(4, np.nan))
    >>> WhittlePolicy(four_sources()).select(seen, 1).tolist()
    [0]
    """

    epoch: int
    age: Ints
    state: Floats


@runtime_checkable
class Policy(Protocol):
    """Anything that chooses sources."""

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None
    ) -> Arms:
        """Return the numbers of at most `budget` different sources to crawl, whole and in [0, N).

        Every loop checks them (`select_arms`). The observation is the policy's own: its arrays are
        copies.
        """


def select_arms(
    policy: Policy,
    observation: Observation,
    budget: int,
    rng: np.random.Generator | None,
    *,
    most: int | None = None,
    role: str = "policy",
) -> Arms:
    """Return what a policy selects, as a new array, if it keeps the protocol of `Policy`.

    ValueError names the `role` and the class of the policy. `most` is the largest number of
    sources, by default the budget.
    """
    size = observation.age.size
    arms = policy.select(observation, budget, rng)
    name = f"arms of {role} {type(policy).__name__}"
    return check_selected(name, arms, budget if most is None else most, size)


def check_ages(observation: Observation, size: int) -> None:
    """Raise ValueError unless an observation is of N = `size` sources."""
    if observation.age.shape != (size,):
        raise ValueError(
            f"age must have shape ({size},), one entry for each source of the policy, got "
            f"{observation.age.shape}"
        )


def top(values: Floats, budget: int) -> Arms:
    """Return the positions of the `budget` largest values, ties to the smaller position."""
    budget = check_whole("budget", budget, 1, values.size)
    return np.sort(np.argsort(-values, kind="stable")[:budget])


@dataclass(frozen=True)
class _RankPolicy:
    """Crawl the sources of the largest rank, which a subclass computes."""

    sources: Sources

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources of largest rank."""
        return top(self._rank(observation, budget), budget)

    def _rank(self, observation: Observation, budget: int) -> Floats:
        raise NotImplementedError


class WhittlePolicy(_RankPolicy):
    """Crawl the sources with the largest Whittle index (Theorem 1 of the report).

    A source that is not observed takes its index at its age.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources, simulate
    >>> run = simulate(four_sources(), WhittlePolicy(four_sources()), budget=1, horizon=100)
    >>> round(run.average_reward, 2)
    256.98
    """

    def _rank(self, observation: Observation, budget: int) -> Floats:
        return _whittle(self.sources, observation)


@dataclass(frozen=True, eq=False)
class LagrangianPolicy(_RankPolicy):
    """Crawl the sources with the largest Lagrangian index (see `analysis.ephemeral.lagrangian`).

    A source that is not observed takes its index at its age.

    Parameters
    ----------
    sources : Sources
        N sources.
    price : float, optional
        lambda, not negative; by default the multiplier of the relaxed problem for the budget at
        which the policy is played, the middle one where there is an interval (`crawl_price`).

    Examples
    --------
    >>> from analysis.ephemeral import LagrangianPolicy, four_sources, long_run_cycle
    >>> cycle = long_run_cycle(four_sources(), LagrangianPolicy(four_sources()), 2)
    >>> round(cycle.average_reward, 2)
    337.77
    """

    price: float | None = None
    priced: dict[int, PricedSources] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.price is not None:
            set_fields(self, price=check_number("price", self.price, 0, high_open=True))

    def _rank(self, observation: Observation, budget: int) -> Floats:
        budget = check_whole("budget", budget, 1, len(self.sources))
        if budget not in self.priced:
            price = crawl_price(self.sources, budget) if self.price is None else self.price
            self.priced[budget] = PricedSources(self.sources, price)
        return _lagrangian(self.priced[budget], observation)


@dataclass(eq=False)
class TunedLagrangianPolicy:
    """The Lagrangian index policy that finds its price while it crawls.

    At each epoch the *marginal* Whittle index is midway between that of the source that is crawled
    last and that of the first one that waits. After every `every` epochs the price moves a share
    `step` of the way to their mean; in the first of them, without a price, the order is that of
    Whittle's index. An object plays one run.

    Parameters
    ----------
    sources : Sources
        N sources.
    every : int
        Epochs from one price to the next.
    step : float
        Share of the way, in (0, 1].

    Attributes
    ----------
    price : float or None
        The price now, None in the first epochs.

    Examples
    --------
    >>> from analysis.ephemeral import TunedLagrangianPolicy, crawl_price, simulate
    >>> from analysis.ephemeral.instances import random_sources
    >>> sources = random_sources(100, rng=1)
    >>> policy = TunedLagrangianPolicy(sources)
    >>> run = simulate(sources, policy, budget=10, horizon=1000)
    >>> round(policy.price, 2), round(crawl_price(sources, 10), 2)
    (8.81, 8.78)
    """

    sources: Sources
    every: int = TUNED_EVERY
    step: float = TUNED_STEP
    price: float | None = field(init=False, default=None)
    _priced: PricedSources | None = field(init=False, repr=False, default=None)
    _marginal: list[float] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        self.every = check_integer("every", self.every, 1)
        self.step = check_number("step", self.step, 0, 1, low_open=True)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources of largest index, and learn from the marginal one."""
        whittle = _whittle(self.sources, observation)
        rank = whittle if self._priced is None else _lagrangian(self._priced, observation)
        budget = check_whole("budget", budget, 1, rank.size)
        order = np.argsort(-rank, kind="stable")
        arms = np.sort(order[:budget])
        if budget < rank.size:
            self._marginal.append(float(whittle[order[budget - 1 : budget + 1]].mean()))
        if len(self._marginal) == self.every:
            mean = float(np.mean(self._marginal))
            self.price = (
                mean if self.price is None else self.price + self.step * (mean - self.price)
            )
            self._priced = PricedSources(self.sources, self.price)
            self._marginal.clear()
        return arms


def _whittle(sources: Sources, observation: Observation) -> Floats:
    """Return the Whittle index of each source, by content where it is observed."""
    at_age, of_content = partial(whittle_index_at_age, sources), partial(whittle_index, sources)
    return _index(observation, at_age, of_content)


def _lagrangian(priced: PricedSources, observation: Observation) -> Floats:
    """Return the Lagrangian index of each source, by content where it is observed."""
    return _index(observation, priced.index, priced.index_of_content)


def _index(
    observation: Observation,
    at_age: Callable[[Ints], Floats],
    of_content: Callable[[Floats], Floats],
) -> Floats:
    observed = np.isfinite(observation.state)
    index = np.empty(observed.size) if observed.all() else at_age(observation.age)
    if observed.any():
        index[observed] = of_content(np.where(observed, observation.state, 0.0))[observed]
    return index


class MyopicPolicy(_RankPolicy):
    """Crawl the sources with the most content now, per unit of cost; by age where unobserved.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources, simulate
    >>> run = simulate(four_sources(), MyopicPolicy(four_sources()), budget=1, horizon=100)
    >>> round(run.average_reward, 2)
    256.98
    """

    def _rank(self, observation: Observation, budget: int) -> Floats:
        check_ages(observation, len(self.sources))
        observed = np.isfinite(observation.state)
        expected = self.sources.state_at_age(observation.age)
        return np.where(observed, observation.state, expected) / self.sources.cost


class GreedyPolicy(_RankPolicy):
    """The slides' greedy policy: the largest content expected from the time since the last crawl.

    It ranks by Lambda_i xibar_i / mu_i (1 - exp(-mu_i t)) with t the time since the last crawl, and
    never looks at a state.
    """

    def _rank(self, observation: Observation, budget: int) -> Floats:
        check_ages(observation, len(self.sources))
        return self.sources.state_at_age(observation.age)


@dataclass(frozen=True)
class RoundRobinPolicy:
    """Crawl every source in turn, in the order of their numbers, the first after the last.

    The turn goes on after the sources that were crawled last, which have the least age. Where all
    ages are equal, the turn is where it is after `epoch` epochs of this budget.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources, simulate
    >>> run = simulate(four_sources(), RoundRobinPolicy(), budget=1, horizon=100)
    >>> round(run.average_reward, 2)
    202.46
    """

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources whose turn it is."""
        size = observation.age.size
        budget = check_whole("budget", budget, 1, size)
        first = next_in_turn(observation.age, observation.epoch * budget)
        return np.sort((first + np.arange(budget)) % size)


@dataclass(frozen=True)
class SingleSourcePolicy:
    """Crawl one and the same source at every epoch.

    Parameters
    ----------
    arm : int
        Number of the source, from 0.
    """

    arm: int

    def __post_init__(self) -> None:
        set_fields(self, arm=check_integer("arm", self.arm, 0))

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the one source, whatever the budget."""
        return np.array([check_integer("arm", self.arm, 0, observation.age.size - 1)])


@dataclass(frozen=True)
class PrintedPolicy(_RankPolicy):
    """Crawl the sources with the largest index by a formula of the report, to the letter.

    A source that is not observed takes its index at its age, as under `WhittlePolicy`.

    Parameters
    ----------
    sources : Sources
        N sources.
    short : bool
        The short form of the Remark, which holds on the orbit only; else Theorem 1, whose log^+
        makes the index 0 from u* on.

    Examples
    --------
    >>> from analysis.ephemeral import Observation, PrintedPolicy, four_sources
    >>> sources = four_sources()
    >>> seen = Observation(0, np.ones(4, dtype=int), 2.0 * sources.u_star)
    >>> PrintedPolicy(sources).select(seen, 1).tolist()
    [0]
    """

    short: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("short", self.short, bool)

    def _rank(self, observation: Observation, budget: int) -> Floats:
        s = self.sources
        index = whittle_index_at_age(s, observation.age)
        for i in np.flatnonzero(np.isfinite(observation.state)):
            share = observation.state[i] / s.u_star[i] if s.u_star[i] > 0 else 0.0
            unit = printed_relative_index(s.decay[i], share, self.short)
            index[i] = unit * s.u_star[i] / s.cost[i]
        return index


class NamedPolicy(NamedTuple):
    """A policy that has a name: what makes it for given sources, and its rule in compiled code.

    Without a `rule`, `simulate_random` calls the policy at each epoch.
    """

    make: Callable[[Sources], Policy]
    rule: Rule | None = None


class Policies(dict[str, NamedPolicy]):
    """All policies that can be given by name: to simulations, replays and crawls."""

    def __repr__(self) -> str:
        return f"Policies({', '.join(self)})"


POLICIES = Policies(
    {
        "whittle": NamedPolicy(WhittlePolicy, Rule.WHITTLE),
        "lagrangian": NamedPolicy(LagrangianPolicy),
        "theorem": NamedPolicy(PrintedPolicy, Rule.THEOREM),
        "remark": NamedPolicy(partial(PrintedPolicy, short=True), Rule.REMARK),
        "myopic": NamedPolicy(MyopicPolicy, Rule.MYOPIC),
        "greedy": NamedPolicy(GreedyPolicy, Rule.GREEDY),
        "round-robin": NamedPolicy(lambda _: RoundRobinPolicy(), Rule.ROUND_ROBIN),
    }
)


def named_policy(name: str, sources: Sources) -> Policy:
    """Return a policy for some sources by its name; ValueError if it is none of `POLICIES`."""
    check_choice("policy", name, tuple(POLICIES))
    return POLICIES[name].make(sources)
