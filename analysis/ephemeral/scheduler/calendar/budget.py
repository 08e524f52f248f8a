"""Filling an epoch's budget in order of rank, without sorting more than it takes.

Sources are taken in order of rank, ties in order of number, until one does not fit into what is
left of the budget (`stop` of `optimum.costs`). A source that costs more than the whole
budget of the epoch is passed over, or it would keep all others waiting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from analysis.ephemeral.kernels import kth_largest
from analysis.ephemeral.scheduler.calendar.epoch import WAITING
from analysis.ephemeral.sources import ROUNDING

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

ALL = 0.5 * WAITING
"""Cut below all ranks: the budget is not spent."""
ROOM = 1.0 + ROUNDING
"""Costs such as 0.1 fill a budget such as 1 in spite of rounding."""


class Choice(NamedTuple):
    """Sources to take: those ranked above the cut, and those on it up to number `tie`."""

    cut: float
    tie: int
    crawls: int

    def taken(self, number: Ints, rank: Floats) -> NDArray[np.bool_]:
        """Tell which sources are taken."""
        return (rank > self.cut) | ((rank == self.cut) & (number <= self.tie))


def choose(budget: float, number: Ints, rank: Floats, cost: Floats) -> Choice:
    """Choose which sources to take.

    Parameters
    ----------
    budget : float
        What may be spent.
    number : ndarray of int, shape (n,)
        Number of each source.
    rank : ndarray, shape (n,)
        Rank of each source, not negative, or WAITING for a source that may not be taken. Sources
        that cost more than the budget are set to WAITING.
    cost : ndarray
        One cost for all, or one for each number.

    Returns
    -------
    Choice
    """
    budget *= ROOM
    if cost.size == 1:
        return Choice(*_top(int(budget / cost[0]), number, rank))
    costs = cost[number]
    rank[costs > budget] = WAITING
    order = np.argsort(-rank)[: np.count_nonzero(rank >= 0)]
    spent = np.cumsum(costs[order])
    if spent.size == 0 or spent[-1] <= budget:
        return Choice(ALL, -1, spent.size)
    cut = float(rank[order[np.searchsorted(spent, budget, "right")]])
    above, tied = rank > cut, np.sort(number[rank == cut])
    fits = np.cumsum(cost[tied]) + costs[above].sum() <= budget
    fitting = int(np.count_nonzero(fits))
    return Choice(cut, int(tied[fitting - 1]) if fitting else -1, int(above.sum()) + fitting)


@njit(cache=True)
def _top(count: int, number: Ints, rank: Floats) -> tuple[float, int, int]:
    """Cut, tie and crawls of the `count` largest ranks."""
    if count == 0:
        return np.inf, -1, 0
    ready = 0
    for i in range(rank.size):
        ready += rank[i] >= 0.0
    if ready <= count:
        return ALL, -1, ready
    work = np.empty(rank.size)
    cut = kth_largest(rank, count, work)
    tied, left = 0, count
    for i in range(rank.size):
        left -= rank[i] > cut
        if rank[i] == cut:
            work[tied] = number[i]
            tied += 1
    last = kth_largest(work[:tied], tied - left + 1, np.empty(tied))
    return cut, int(last), count
