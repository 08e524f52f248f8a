"""Policies compared on the same random content, with confidence intervals.

Every policy faces the same arrivals in the same replication, so that differences between policies
are far more precise than the averages themselves. Replications are independent; intervals are
Student's at 95% over replications.

Reference: report 8702, section 7, equation (19).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import Rng, check_choice, check_integer, check_kind, check_rng
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.policies import POLICIES
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.simulation import AnyPolicy, simulate_random
from analysis.results import Estimate


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
