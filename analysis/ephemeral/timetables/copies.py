"""Many copies of a few sources: a policy on two levels that attains the relaxed bound.

There are R copies of each of n types and a budget of R M crawls. The first level says how many
copies of each type are crawled at each epoch; on the second, those copies are crawled that have
waited longest. Let f_i be the frequencies that solve the relaxed problem: 1/f_i is a whole number
k_i, or f_i = 0, for all types but one at most.

*Fixed counts.* Type i gets floor(R (t+1)/k_i) - floor(R t/k_i) crawls at epoch t, so that each copy
has the gap k_i, and one type, the *absorber*, what is left. If the absorber is the type a with
1/(k+1) < f_a < 1/k, its gaps are k and k + 1 for all

    R >= R0 = n' / min(1 - f_a k, f_a (k+1) - 1),   n' the number of other types with k_i >= 2,

and then the relaxed bound is earned, exactly.

*In order.* For any R the crawls of each epoch are assigned to types by Tijdeman's rule, which keeps
the number of each type's crawls within 1 - 1/(2n - 2) of its share after every crawl. What is lost
is O(1/R).

Of the two, and a whole-number program where all 1/f_i are whole, that one is taken which earns
most. Rewards are exact: counts have the least common multiple of the k_i as a period, and the next
crawl of a copy of type i is the R-th after the last one.

Reference: Tijdeman, The chairman assignment problem, Discrete Mathematics 32 (1980) 323-330.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import check_integer, check_kind, check_whole, shown
from analysis.display import brief
from analysis.ephemeral.policies import Arms, Observation
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.kernel_cache import njit

LONGEST_PERIOD = 100_000
"""Epochs after which counts repeat, at most."""
_WHOLE = 1e-9
_PROGRAM = 400  # epochs of a period up to which the whole-number program is tried


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class TwoLevelPolicy:
    """Fixed numbers of crawls of each type at each epoch, to the copies that have waited longest.

    It crawls the sources of `expanded`: copy c of type i has the number i R + c.

    Attributes
    ----------
    sources : Sources
        The n types.
    budget, copies : int
        Crawls per epoch and copy, and copies of each type R.
    counts : ndarray of int, shape (n, period)
        Crawls of each type at each epoch of a period.
    rule : str
        Name of the rule that made the counts.
    average_reward, bound : float
        Long-run reward per epoch and copy, and the relaxed bound on that of any policy.
    """

    sources: Sources
    budget: int
    copies: int
    counts: Ints
    rule: str
    average_reward: float
    bound: float

    @property
    def loss(self) -> float:
        """Share of the bound that is not earned."""
        return 1.0 - self.average_reward / self.bound if self.bound > 0.0 else 0.0

    def expanded(self) -> Sources:
        """Return all copies as sources."""
        return self.sources.subset(np.repeat(np.arange(len(self.sources)), self.copies))

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the copies of this epoch."""
        budget = check_whole("budget", budget, self.budget * self.copies)
        ages = observation.age.reshape(len(self.sources), self.copies)
        counts = self.counts[:, observation.epoch % self.counts.shape[1]]
        chosen = [
            i * self.copies + np.argsort(-ages[i], kind="stable")[:count]
            for i, count in enumerate(counts)
        ]
        return np.sort(np.concatenate(chosen))


def two_level(sources: Sources, budget: int, copies: int) -> TwoLevelPolicy:
    """Return the policy of this module that earns most, for R copies of each of n types.

    ValueError unless the types have costs of 1, the budget is from 1 to n crawls per epoch and
    copy, and the due ages of the types have a common multiple up to `LONGEST_PERIOD`.
    """
    check_kind("sources", sources, Sources)
    budget = check_whole("budget", budget, 1, len(sources))
    copies = check_integer("copies", copies, 1)
    check_unit_costs(sources)
    frequency = frequencies(sources, budget)
    period = common_period(sources, budget)
    bound = relaxed_problem(sources, budget).bound
    best = None
    for rule, counts in _plans(frequency, budget, copies, period):
        reward = _reward(sources, counts, copies)
        if best is None or reward > best.average_reward * (1 + 1e-13):
            best = TwoLevelPolicy(sources, budget, copies, counts, rule, reward, bound)
        if best.loss < 1e-11:
            break
    assert best is not None
    return best


def common_period(sources: Sources, budget: int) -> int:
    """Return the least common multiple of all whole due ages of the relaxed problem, in epochs.

    ValueError if it is above `LONGEST_PERIOD`.
    """
    frequency = frequencies(sources, budget)
    period = lcm(*(int(k) for k in np.round(1 / frequency[whole(frequency)])))
    if period > LONGEST_PERIOD:
        raise ValueError(
            f"sources must have due ages with a common multiple up to {LONGEST_PERIOD} epochs at a "
            f"budget of {budget}, got {shown(period)}"
        )
    return period


def whole(frequency: Floats) -> NDArray[np.bool_]:
    """Return which frequencies are 1 over a whole number."""
    gap = np.divide(1.0, frequency, out=np.full(frequency.size, 0.5), where=frequency > 0)
    return np.abs(gap - np.round(gap)) < _WHOLE * gap


def frequencies(sources: Sources, budget: int) -> Floats:
    """Return frequencies that solve the relaxed problem, 1/f whole for all but one at most."""
    frequency = relaxed_problem(sources, budget).frequency
    tied = np.flatnonzero(~whole(frequency) & (frequency > 0))
    long = np.ceil(1 / frequency[tied])
    remaining = float((frequency[tied] - 1 / long).sum())
    frequency = frequency.copy()
    frequency[tied] = 1 / long
    for i, k in zip(tied, long, strict=True):  # of equal worth: one after the other gets more
        increase = min(remaining, 1 / (k - 1) - 1 / k)
        frequency[i] += increase
        remaining -= increase
    return frequency


def enough_copies(sources: Sources, budget: int) -> float:
    """Return R0, from which on fixed counts attain the relaxed bound; nan if all 1/f are whole."""
    frequency = frequencies(sources, budget)
    tied = np.flatnonzero(~whole(frequency) & (frequency > 0))
    if not tied.size:
        return np.nan
    f = float(frequency[tied[0]])
    k = np.floor(1 / f)
    others = whole(frequency) & (frequency < 1 - _WHOLE)
    return float(others.sum() / min(1 - f * k, f * (k + 1) - 1))


def _plans(frequency: Floats, budget: int, copies: int, period: int) -> Iterator[tuple[str, Ints]]:
    """Yield the name of each rule and its counts of each type at each epoch of a period."""
    crawled = np.flatnonzero(frequency > 0)
    fixed = whole(frequency)
    absorbers = crawled[~fixed[crawled]]
    if not absorbers.size:  # all whole: any may take the rest, the one of longest gap first
        absorbers = crawled[np.argsort(frequency[crawled], kind="stable")]
    epochs = np.arange(period + 1)
    for absorber in absorbers:
        counts = np.zeros((frequency.size, period), np.int64)
        for i in crawled[crawled != absorber]:
            counts[i] = np.diff(copies * epochs // round(1 / frequency[i]))
        counts[absorber] = copies * budget - counts.sum(axis=0)
        if counts.min() >= 0 and counts.max() <= copies:
            yield f"fixed counts, the rest to type {absorber + 1}", counts
    counts = np.zeros((frequency.size, period), np.int64)
    counts[crawled] = in_order(frequency[crawled] / frequency.sum(), copies * budget, period)
    if counts.max() <= copies:
        yield "in Tijdeman's order", counts
    if fixed[crawled].all() and period <= _PROGRAM:
        gaps = np.round(1 / frequency[crawled]).astype(np.int64)
        crawl_counts = _whole_counts(gaps, budget, copies, period)
        if crawl_counts is not None:
            counts = np.zeros((frequency.size, period), np.int64)
            counts[crawled] = crawl_counts
            yield "whole counts", counts
    if counts.max() > copies:  # a copy cannot be crawled twice in an epoch: cut, at a loss
        yield "in Tijdeman's order, cut", np.minimum(counts, copies)


@njit
def in_order(share: Floats, places: int, epochs: int) -> Ints:
    """Return how many crawls of each epoch go to each type by Tijdeman's rule, shape (n, epochs).

    The shares of the n types have a sum of 1; an epoch has `places` crawls.
    """
    n = share.size
    slack = 1.0 / (2 * n - 2) if n > 1 else 0.0
    counts = np.zeros((n, epochs), np.int64)
    count = np.zeros(n)
    position = 0
    for epoch in range(epochs):
        for _ in range(places):
            position += 1
            best, least = -1, np.inf
            for i in range(n):
                behind = share[i] * position - count[i]
                if behind >= slack - 1e-9:
                    slack_left = (1.0 - slack - behind) / share[i]
                    if slack_left < least - 1e-9:
                        best, least = i, slack_left
            count[best] += 1
            counts[best, epoch] += 1
    return counts


def _whole_counts(gaps: Ints, budget: int, copies: int, period: int) -> Ints | None:
    """Return counts with the periods of the gaps; None if there are none in whole numbers."""
    first = np.cumsum(gaps) - gaps
    spent = np.zeros((period, int(gaps.sum())))
    of_type = np.zeros((gaps.size, spent.shape[1]))
    for i, gap in enumerate(gaps):
        spent[np.arange(period), first[i] + np.arange(period) % gap] = 1
        of_type[i, first[i] : first[i] + gap] = 1
    solution = milp(
        np.zeros(spent.shape[1]),
        constraints=[
            LinearConstraint(spent, copies * budget, copies * budget),
            LinearConstraint(of_type, copies, copies),
        ],
        bounds=Bounds(0, copies),
        integrality=np.ones(spent.shape[1]),
        options={"time_limit": 10.0},
    )
    if solution.x is None:
        return None
    counts = np.round(solution.x).astype(np.int64)
    return np.stack([counts[first[i] + np.arange(period) % gap] for i, gap in enumerate(gaps)])


def _reward(sources: Sources, counts: Ints, copies: int) -> float:
    """Return the reward per epoch and copy, whose next crawl is the `copies`-th after its last."""
    period, total = counts.shape[1], 0.0
    for i, row in enumerate(counts):
        number = int(row.sum())
        if not number:
            continue
        epoch = np.repeat(np.arange(period), row.astype(np.intp))
        later = np.arange(number) + copies
        gap = epoch[later % number] + period * (later // number) - epoch
        content = sources.state_at_age(gap[:, None] * np.ones(len(sources)))[:, i]
        total += float(content.sum())
    return total / (period * copies)
