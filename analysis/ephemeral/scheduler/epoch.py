"""One epoch of the calendar: rank the due sources, crawl, and move all entries on.

The entries of the epoch's bucket are read in order, block by block, and the next block is
prefetched. Sources at their maximal age rank above all others, and sources in the bucket that are
not due rank below.
Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), Theorem 1.

*Selection of sources for an epoch's budget in order of rank, without a full sort.* Sources are
taken in order of rank, ties in order of number, until one costs more than the rest of the budget
(`stop` of `optimum.costs`). A source that costs more than the whole budget is passed over, since
otherwise no other source would ever be crawled.

*The threshold of a scheduler, which changes its speed and not its crawls.* The epoch's bucket of
the calendar holds every source whose index is at least the threshold. If the threshold is just
below the lowest index crawled, few sources are ranked and not crawled; if it is above, the calendar
has to be sorted anew.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.kernels import kth_largest
from analysis.ephemeral.scheduler.calendar import (
    BLOCK,
    RING,
    Calendar,
    Ints,
    Limits,
    bend_of,
    bucket_size,
    check_blocks,
    due_age,
    least_age,
    prefetch,
    push,
    rebuild,
    release,
    shares,
    worth,
)
from analysis.ephemeral.sources import ROUNDING
from analysis.kernel_cache import njit

OVERDUE = 1e200
"""Rank of a source at its maximal age; it increases with every epoch."""
WAITING = -1.0
"""Rank of a source in the epoch's bucket that is not due: its due epoch is beyond the ring."""


@njit
def rank_bucket(
    calendar: Calendar,
    epoch: int,
    limits: Limits,
    most: Ints,
    number: Ints,
    rank: Floats,
    content: Floats,
) -> None:
    """Write number, rank and content per unit of cost of each entry of the epoch's bucket.

    `most` holds the maximal ages, and is empty where they do not count.
    """
    cap, goal, price = limits.cap, limits.goal, limits.crawl_price
    limit, decay, age = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    width = calendar.pool.itemsize
    bucket = epoch & (RING - 1)
    block, size = calendar.head[bucket], calendar.fill[bucket]
    start = 0
    while block >= 0:
        entries = calendar.pool[np.int64(block) * BLOCK : np.int64(block) * BLOCK + size]
        numbers, ranks = number[start : start + size], rank[start : start + size]
        contents = content[start : start + size]
        waiting = False
        after = calendar.pool.ctypes.data + np.int64(calendar.link[block]) * BLOCK * width
        for j in range(size):
            entry = entries[j]
            prefetch(after + j * width)
            limit[j], decay[j] = entry.limit, entry.decay
            age[j] = epoch - entry.last
            numbers[j] = entry.number
            waiting |= entry.last + entry.due > epoch
        for j in range(size):
            index, content_share = shares(decay[j], bend_of(decay[j]), age[j])
            ranks[j], contents[j] = limit[j] * index, limit[j] * content_share
        if goal.size:
            for j in range(size):
                ranks[j] = worth(limit[j], decay[j], goal[numbers[j]], price, age[j])
        if cap.size:
            for j in range(size):
                ranks[j] = min(ranks[j], cap[numbers[j]])
                if ranks[j] < 0.0:
                    ranks[j] = WAITING
        if waiting:
            for j in range(size):
                if entries[j].last + entries[j].due > epoch:
                    ranks[j] = WAITING
        if most.size:
            for j in range(size):
                if age[j] >= most[numbers[j]]:
                    ranks[j] = OVERDUE * (1.0 + age[j] - most[numbers[j]])
        start += size
        block, size = calendar.link[block], BLOCK


class Ranked:
    """Number, rank and content per unit of cost of the sources in an epoch's bucket.

    The three arrays are parts of longer ones, which are used again at the next epoch.
    """

    def __init__(self) -> None:
        self._room = np.empty(0, np.int32), np.empty(0), np.empty(0)
        self.number, self.rank, self.content = self._room

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return sum(array.nbytes for array in self._room)

    def fill(
        self, calendar: Calendar, epoch: int, limits: Limits, most: Ints, sources: int
    ) -> None:
        """Write the arrays for an epoch of a calendar with so many sources in all."""
        size = bucket_size(calendar, epoch)
        if size > self._room[0].size:
            room = min(size + size // 4, sources)
            self._room = np.empty(room, np.int32), np.empty(room), np.empty(room)
        number, rank, content = self._room
        self.number, self.rank, self.content = number[:size], rank[:size], content[:size]
        rank_bucket(calendar, epoch, limits, most, self.number, self.rank, self.content)

    def demand(self, levels: Floats, cost: Floats, most_cost: float) -> Floats:
        """Return the cost of the sources with a rank of at least each of some rising levels.

        Sources that cost more than `most_cost` do not count.
        """
        price = cost[self.number] if cost.size > 1 else np.full(self.number.size, cost[0])
        price[price > most_cost] = 0.0
        reached = np.searchsorted(levels, self.rank, side="right")
        return np.bincount(reached, price, levels.size + 1)[:0:-1].cumsum()[::-1]


@njit
def find_marginal(number: Ints, rank: Floats, cut: float, tie: int) -> tuple[int, int]:
    """Return the places of the source crawled last and of the first that waits; -1 for none."""
    last, first = -1, -1
    for j in range(rank.size):
        if rank[j] > cut or (rank[j] == cut and number[j] <= tie):
            if (
                last < 0
                or rank[j] < rank[last]
                or (rank[j] == rank[last] and number[j] > number[last])
            ):
                last = j
        elif rank[j] >= 0.0 and (
            first < 0
            or rank[j] > rank[first]
            or (rank[j] == rank[first] and number[j] < number[first])
        ):
            first = j
    return last, first


@njit
def whittle_at(calendar: Calendar, epoch: int, position: int) -> float:
    """Return the Whittle index of the entry at a position in the epoch's bucket."""
    bucket = epoch & (RING - 1)
    block, size = calendar.head[bucket], calendar.fill[bucket]
    while position >= size:
        position -= size
        block, size = calendar.link[block], BLOCK
    entry = calendar.pool[np.int64(block) * BLOCK + position]
    decay = np.float64(entry.decay)
    index = shares(decay, bend_of(decay), float(epoch - entry.last))[0]
    return np.float64(entry.limit) * index


@njit
def settle(
    calendar: Calendar,
    epoch: int,
    theta: float,
    cut: float,
    tie: int,
    limits: Limits,
    rank: Floats,
    content: Floats,
    numbers: NDArray[np.int64],
    rewards: Floats,
) -> None:
    """Crawl the sources in the epoch's bucket above the cut, and those on it up to number `tie`.

    Each entry moves to another bucket: a crawled source to that of its next due epoch, another one
    to that of the next epoch, or of its due epoch under theta if that has risen.
    """
    bucket = epoch & (RING - 1)
    block, size = calendar.head[bucket], calendar.fill[bucket]
    calendar.head[bucket] = -1
    width = calendar.pool.itemsize
    start = crawled = 0
    while block >= 0:
        first = np.int64(block) * BLOCK
        after = calendar.pool.ctypes.data + np.int64(calendar.link[block]) * BLOCK * width
        for j in range(size):
            entry = calendar.pool[first + j]
            prefetch(after + j * width)
            value = rank[start + j]
            if value > cut or (value == cut and entry.number <= tie):
                numbers[crawled] = entry.number
                rewards[crawled] = content[start + j]
                crawled += 1
                entry.last = epoch
            elif WAITING < value < theta:
                entry.due = due_age(entry, theta, limits)
            push(calendar, entry, epoch + 1)
        start += size
        block, size = release(calendar, block), BLOCK
    check_blocks(calendar)


@njit
def demand(
    calendar: Calendar,
    epoch: int,
    levels: Floats,
    cost: Floats,
    limits: Limits,
    most_cost: float,
    every: int = 1,
) -> tuple[Floats, float]:
    """Return the cost of all sources that may be crawled now, with an index of at least each level.

    The levels must increase. Sources that cost more than `most_cost` do not count. Also returns the
    largest index of those that count. With `every` > 1 the cost is estimated from one block in
    `every`, and the largest index is that of the sampled sources.
    """
    totals, largest = np.zeros(levels.size), 0.0
    visited = 0
    for bucket in range(RING + 1):
        block, size = calendar.head[bucket], calendar.fill[bucket]
        while block >= 0:
            first = np.int64(block) * BLOCK
            for j in range(first, first + (size if visited % every == 0 else 0)):
                entry = calendar.pool[j]
                age = epoch - entry.last
                price = cost[entry.number] if cost.size > 1 else cost[0]
                if age >= least_age(limits, entry.number) and price <= most_cost:
                    decay = np.float64(entry.decay)
                    if limits.goal.size:
                        goal, limit = limits.goal[entry.number], np.float64(entry.limit)
                        index = worth(limit, decay, goal, limits.crawl_price, float(age))
                    else:
                        index = entry.limit * shares(decay, bend_of(decay), float(age))[0]
                    if limits.cap.size:
                        index = min(index, limits.cap[entry.number])
                    largest = max(largest, index)
                    reached = np.searchsorted(levels, index, side="right")
                    if reached > 0:
                        totals[reached - 1] += price
            visited += 1
            block, size = calendar.link[block], BLOCK
    for k in range(levels.size - 1, 0, -1):
        totals[k - 1] += totals[k]
    return totals * every, largest


# Selection of sources for an epoch's budget in order of rank, without a full sort

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


# The threshold of a scheduler, which changes its speed and not its crawls

MEMORY = 16
"""Epochs whose lowest crawled index sets the threshold."""
MARGIN = 0.0015
"""Relative margin of the threshold below the lowest index crawled; doubled if too small."""
CROWDED = 8
"""Ratio of bucket size to crawls above which the threshold rises before `MEMORY` epochs."""
SAMPLE = 1000
"""Number of due sources that are sampled to find a threshold."""
SAFETY = 1.0 + 1e-9
"""Factor by which an index is above the threshold beyond rounding."""


class Threshold:
    """Least index, the `level`, of the sources that are ranked at an epoch.

    `rebuilds` counts how often the calendar was sorted anew under a lower one.
    """

    def __init__(self, level: float = np.inf, margin: float = MARGIN) -> None:
        self.level = level
        self.rebuilds = 0
        self._margin, self._raise = margin, 1.0 + margin
        self._cuts: deque[float] = deque(maxlen=MEMORY)

    def above(self, index: float) -> bool:
        """Return whether the threshold is above an index, or equal to it up to rounding."""
        return index < self.level * SAFETY

    def follow(self, cut: float, crawls: int, looked_at: int, epoch: int) -> None:
        """Raise the threshold to a margin below the lowest index crawled in the last epochs."""
        self._cuts.append(cut)
        if len(self._cuts) == MEMORY and epoch % MEMORY == 0:
            lowest = min(self._cuts)
        elif looked_at > CROWDED * (crawls + MEMORY):
            # From equal initial ages all indices increase at every epoch.
            lowest = min(list(self._cuts)[-4:])
        else:
            return
        raised = lowest * (1.0 - self._margin)
        if self._raise * self.level < raised < OVERDUE:
            self.level = raised

    def lower(
        self,
        want: float,
        budget: float,
        calendar: Calendar,
        epoch: int,
        cost: Floats,
        limits: Limits,
    ) -> bool:
        """Sort the calendar anew under a threshold at which sources of a cost above `want` are due.

        Sources that cost more than the budget do not count. If no other source may be crawled now,
        nothing is changed and False returned.
        """
        totals, high = demand(calendar, epoch, np.zeros(1), cost, limits, budget)
        total = totals[0]
        if total == 0.0:
            return False
        # Only one block in `every` is counted.
        every = max(1, int(want / total * calendar.pool.size / SAMPLE))
        want *= 1.0 if every == 1 else 1.1
        low = 0.0
        if total > want:
            for _ in range(60):
                middle = 0.5 * (low + high)
                level = np.array([middle])
                totals, _ = demand(calendar, epoch, level, cost, limits, budget, every)
                total = totals[0]
                if total >= want:
                    low = middle
                else:
                    high = middle
                if want <= total <= 1.2 * want:
                    break
        if self.rebuilds:
            self._margin = min(2 * self._margin, 0.5)
        # Many sources may have the same index: a threshold equal to it is unsafe under rounding.
        self.level = low / SAFETY**2
        self.rebuilds += 1
        self._cuts.clear()
        rebuild(calendar, epoch, self.level, limits)
        return True
