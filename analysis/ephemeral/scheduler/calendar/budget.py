"""Selection of sources for an epoch's budget in order of rank, without a full sort.

Sources are taken in order of rank, ties in order of number, until one costs more than the rest of
the budget (`stop` of `optimum.costs`). A source that costs more than the whole budget is passed
over, since otherwise no other source would ever be crawled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.kernels import kth_largest
from analysis.ephemeral.scheduler.calendar.epoch import WAITING
from analysis.ephemeral.sources import ROUNDING
from analysis.kernel_cache import njit

Ints = NDArray[np.int32]

ALL = 0.5 * WAITING
"""Cut below all ranks: every source fits into the budget."""
ROOM = 1.0 + ROUNDING
"""Factor on the budget, so that ten costs of 0.1 fit into a budget of 1 despite rounding."""


class Choice(NamedTuple):
    """Selected sources: those ranked above the cut, and those on it up to number `tie`."""

    cut: float
    tie: int
    crawls: int

    def taken(self, number: Ints, rank: Floats) -> NDArray[np.bool_]:
        """Return which sources are selected."""
        return (rank > self.cut) | ((rank == self.cut) & (number <= self.tie))


def choose(budget: float, number: Ints, rank: Floats, cost: Floats) -> Choice:
    """Select sources of given numbers and ranks in order of rank, within a budget of cost.

    A rank is not negative, or WAITING for a source that may not be crawled; that of a source that
    costs more than the budget is set to WAITING. `cost` is one for all, or one for each number.
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


@njit
def _top(count: int, number: Ints, rank: Floats) -> tuple[float, int, int]:
    """Return cut, tie and crawls of the `count` largest ranks."""
    if count == 0:
        return np.inf, -1, 0
    ready = 0
    for i in range(rank.size):
        ready += rank[i] >= 0.0
    if ready <= count:
        return ALL, -1, ready
    work = np.empty(rank.size)
    cut = kth_largest(rank, count, work)
    tied, remaining = 0, count
    for i in range(rank.size):
        remaining -= rank[i] > cut
        if rank[i] == cut:
            work[tied] = number[i]
            tied += 1
    last = kth_largest(work[:tied], tied - remaining + 1, np.empty(tied))
    return cut, int(last), count
