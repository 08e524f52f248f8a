"""Identification of rates by crawls: a single age is not enough, and beliefs confirm themselves.

The index at age k is a function of the mean content at two ages, ::

    gamma(k) = (k + 1) m(k) - k m(k + 1),     m(k) = u* (1 - e^{-mu k}),

of which a crawl at age k shows only the first. Sums found at age k alone are consistent with every
pair u* = c / (1 - e^{-mu k}), c = m(k). Along this curve the index at any age j <= k, relative to
c, falls strictly from 1 to 0 as alpha = e^{-mu} grows from 0 to 1. So mean contents at a single age
never suffice to decide in favour of a source.

A belief is *self-confirming* if the index policy at that belief finds, on its own cycle, the mean
contents that the belief predicts. No average over its crawls then contradicts the belief.

References: Borkar and Varaiya, Adaptive control of Markov chains, I: finite parameter set (1979);
Kumar, Simultaneous identification and adaptive control of unknown systems over finite parameter
sets (1983).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_integer, check_kind, check_number, check_positive
from analysis.display import brief
from analysis.ephemeral.kernels import h, relative_index_at_age
from analysis.ephemeral.policies import WhittlePolicy
from analysis.ephemeral.simulation import Cycle, long_run_cycle
from analysis.ephemeral.sources import Sources


@brief
@dataclass(frozen=True)
class ClosedLoop:
    """What the index policy of a belief finds in the long run, against what it expects.

    Attributes
    ----------
    cycle : Cycle
        The policy's cycle and what it earns with the true sources.
    gaps : tuple of tuple of int
        Ages at which each source is crawled on the cycle, in increasing order.
    error : float
        Largest difference between the mean content found and the one believed, as a share of the
        larger; 0 where nothing is crawled.
    loss : float
        Share of the reward of the true index policy's cycle that is not earned.
    """

    cycle: Cycle
    gaps: tuple[tuple[int, ...], ...]
    error: float
    loss: float

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether mean contents identify each source, crawled at two ages or more; shape (N,)."""
        return np.array([len(ages) > 1 for ages in self.gaps])


def closed_loop(sources: Sources, belief: Sources, budget: int) -> ClosedLoop:
    """Follow the index policy of a belief until its ages repeat.

    Parameters
    ----------
    sources : Sources
        The true N sources.
    belief : Sources
        What the policy takes them for.
    budget : int or whole float
        Sources crawled at each epoch, in [1, N].

    Returns
    -------
    ClosedLoop

    Raises
    ------
    ValueError
        If the belief is of another number of sources, or the budget is out of range.
    NotConverged
        As `long_run_cycle`.

    Examples
    --------
    The belief below expects 9.9 of source 1 every second epoch, which is what it finds.

    >>> import numpy as np
    >>> mu, half = -np.log([0.1, 0.5]), np.log(2.0)
    >>> truth = Sources(np.array([10.0, 8.0]) * mu, [1.0, 1.0], mu)
    >>> belief = Sources(np.array([13.2, 8.0]) * half, [1.0, 1.0], [half, half])
    >>> found = closed_loop(truth, belief, 1)
    >>> found.gaps, bool(found.error < 1e-12), round(found.loss, 6)
    (((2,), (2,)), True, 0.116667)
    """
    check_kind("sources", sources, Sources)
    check_kind("belief", belief, Sources)
    check_integer("the number of sources believed in", len(belief), len(sources), len(sources))
    followed = long_run_cycle(belief, WhittlePolicy(belief), budget)
    cycle = replace(followed, average_reward=average_reward(sources, followed))
    best = long_run_cycle(sources, "whittle", budget).average_reward
    gaps = tuple(tuple(sorted(set(cycle.gaps(i)))) for i in range(len(sources)))
    error = 0.0
    for i, ages in enumerate(gaps):
        for age in ages:
            met, thought = (s.state_at_age(np.full(len(s), age))[i] for s in (sources, belief))
            error = max(error, abs(met - thought) / max(met, thought, np.finfo(float).tiny))
    return ClosedLoop(cycle, gaps, float(error), 1.0 - cycle.average_reward / best)


def average_reward(sources: Sources, cycle: Cycle) -> float:
    """Return the reward per epoch of a cycle's crawls at `sources`, which may be other ones."""
    gaps = [np.array(cycle.gaps(i), dtype=float) for i in range(len(sources))]
    rewards = [(u * -np.expm1(-mu * k)).sum() for u, mu, k in
            zip(sources.u_star, sources.decay, gaps, strict=True)]  # fmt: skip
    return float(sum(rewards) / cycle.period)


def index_range(
    at: int, age: int, content: float, *, slowest: float = 1e-3, fastest: float = 20.0
) -> tuple[float, float]:
    """Least and largest index at one age among all pairs of a given mean content at another.

    Parameters
    ----------
    at : int
        Age of the index, in [1, `age`].
    age : int
        Age at which the source was crawled, at least 1.
    content : float
        Mean content there, at least 0.
    slowest, fastest : float
        Ends of the decay mu per epoch; 0 < slowest < fastest.

    Returns
    -------
    least, largest : float
        At the slowest and the fastest decay; with no bound on it they are 0 and `content`.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> least, largest = index_range(2, 2, 9.9)
    >>> round(least, 3), round(largest, 3)
    (0.015, 9.9)
    """
    age = check_integer("age", age, 1)
    at = check_integer("at", at, 1, age)
    content = check_number("content", content, 0, high_open=True)
    slowest = check_positive("slowest", slowest)
    fastest = check_positive("fastest", fastest)
    if slowest >= fastest:
        raise ValueError(f"slowest must be below fastest, got {slowest:g} and {fastest:g}")
    least, largest = (
        content * float(relative_index_at_age(mu, h(mu), float(at)) / -np.expm1(-mu * age))
        for mu in (slowest, fastest)
    )
    return least, largest
