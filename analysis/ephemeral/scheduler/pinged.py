"""Scheduling by pings, in time O(log N) a ping, in order of the index at expected worth.

Between events the expected worth Y of a source moves steadily towards u* (1 - r), the worth of what
is never announced, so that under a threshold theta on the index each source has an epoch at which
it falls due, or none until its next ping. The due epochs stand in a binary heap with the place of
each source in it. A ping raises Y: its source falls due earlier or as before, never later, and
moves up the heap. At an epoch the due sources are ranked. If the lowest index crawled is above
theta, these are the crawls of a full ranking; otherwise all sources are ranked, theta is lowered,
and the heap built anew.

The index is that of expected content (Theorem 1 of the report) at Y.
"""

from __future__ import annotations

import json
from collections import deque
from copy import deepcopy
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import (
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_positive,
)
from analysis.display import brief
from analysis.ephemeral.scheduler.epoch import ROOM, choose
from analysis.ephemeral.scheduler.observed import MEMORY, SAFETY, content_at_index, rank_found
from analysis.ephemeral.scheduler.state import LATEST, read_arrays, require, write_arrays
from analysis.ephemeral.signals.model import each
from analysis.ephemeral.sources import Sources
from analysis.kernel_cache import njit

NEVER = 2**62
"""Due epoch of a source that waits for a ping."""


@brief
class PingedScheduler:
    """Crawl in order of the Whittle index at the expected worth that pings and silence leave.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost that an epoch may spend; the number of crawls if every crawl costs 1.
    recall : float or array_like, shape (N,)
        Share of each source's items that pings announce: what silence is worth. 0 is safe against
        hubs that die.

    Attributes
    ----------
    epoch : int
        Number of the next epoch, from 1; sources are empty at epoch 0.
    budget : float
        May be set at any time.
    threshold : float
        Least index of the sources that are ranked, adapted by the scheduler.
    rebuilds : int
        Number of epochs in which all sources were ranked.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> scheduler = PingedScheduler(Sources([1.0, 1.0], [1.0, 1.0], [0.1, 0.1]), 1, recall=0.9)
    >>> scheduler.ping([1, 1], precision=0.5).tolist()
    [True, True]
    >>> numbers, worth = scheduler.crawl()
    >>> numbers.tolist(), worth.round(2).tolist()
    ([1], [1.1])
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(self, sources: Sources, budget: float, recall: ArrayLike = 0.0) -> None:
        check_kind("sources", sources, Sources)
        self.sources = sources
        self.budget = check_positive("budget", budget)
        size = len(sources)
        self._steady = sources.u_star * (1.0 - each("recall", recall, size))
        self.epoch, self.threshold, self.rebuilds = 1, np.inf, 0
        # Y at the epoch `_at`, and the last crawl.
        self._worth, self._at = np.zeros(size), np.zeros(size, np.int64)
        self._last = np.zeros(size, np.int64)
        self._level = np.full(size, np.inf)
        self._due = np.full(size, NEVER)
        self._heap = np.arange(size, dtype=np.int64)
        self._place = np.arange(size, dtype=np.int64)
        # Room for the due sources, a walk over the heap, and the worth of those that are ranked.
        self._found, self._stack = np.empty(size, np.int32), np.empty(size, np.int64)
        self._state = np.zeros(size)
        uniform = bool((sources.cost == sources.cost[0]).all())
        self._cost = sources.cost[:1] if uniform else sources.cost
        self._cheapest = float(self._cost.min())
        self._margin = 0.005
        self._cuts: deque[float] = deque(maxlen=MEMORY)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def worth(self) -> Floats:
        """Expected worth of each source at the next epoch, shape (N,)."""
        return self._worth_of(np.arange(len(self)))

    @property
    def due(self) -> Ints:
        """Epoch from which each source is ranked, if no ping comes; shape (N,)."""
        return self._due.copy()

    def ping(
        self, numbers: ArrayLike, precision: ArrayLike = 1.0, when: ArrayLike | None = None
    ) -> Bools:
        """Take pings in, each in time O(log N); return which of them count.

        Parameters
        ----------
        numbers : array_like of int, shape (n,)
            Source of each ping; a source may occur more than once.
        precision : float or array_like, shape (n,)
            Probability that it announces an item, in [0, 1].
        when : array_like, shape (n,), optional
            When the item appeared, in epochs; the next crawl is at `epoch`. Later times count as
            that, and a ping about the time up to its source's last crawl does not count.

        Raises
        ------
        ValueError
            If there is no such source, or a number is out of range.
        """
        arms = check_integers("numbers", numbers).ravel()
        for number in arms[(arms < 0) | (arms >= len(self))][:1].tolist():
            check_integer("numbers", number, 0, len(self) - 1)
        share = each("precision", precision, arms.size) if arms.size else np.empty(0)
        time = np.full(arms.size, float(self.epoch))
        if when is not None:
            stated = check_array("when", when, finite=False).ravel()
            if stated.shape != arms.shape:
                raise ValueError(f"when must have shape {arms.shape}, got {stated.shape}")
            time = np.minimum(stated, time)
        counted = time > self._last[arms]
        sources = self.sources
        take_pings(
            arms[counted], share[counted] * sources.mean_utility[arms[counted]], time[counted],
            self.epoch, sources.decay, self._steady, self._level, self._worth, self._at,
            self._due, self._heap, self._place,
        )  # fmt: skip
        return counted

    def set_recall(self, numbers: ArrayLike, recall: ArrayLike) -> None:
        """Set what silence is worth for some sources, from the next epoch on.

        ValueError if there is no such source, a number occurs twice, or a recall is out of range.
        """
        arms = check_integers("numbers", numbers).ravel()
        for number in arms[(arms < 0) | (arms >= len(self))][:1].tolist():
            check_integer("numbers", number, 0, len(self) - 1)
        if np.unique(arms).size < arms.size:
            raise ValueError(f"numbers must differ, got {numbers!r:.200}")
        share = each("recall", recall, arms.size) if arms.size else np.empty(0)
        self._worth[arms] = self.worth[arms]
        self._at[arms] = self.epoch
        # What silence was worth until now is worth the new share of it.
        before, after = self._steady[arms], self.sources.u_star[arms] * (1.0 - share)
        age = self.epoch - self._last[arms]
        self._worth[arms] += (before - after) * np.expm1(-self.sources.decay[arms] * age)
        self._worth[arms] = np.maximum(self._worth[arms], 0.0)
        self._steady[arms] = after
        self._rebuild()

    def crawl(self, budget: float | None = None) -> tuple[Ints, Floats]:
        """Crawl the sources of this epoch, and advance to the next.

        A `budget` is for this epoch alone. Returns the numbers of the crawled sources, rising, and
        the expected worth taken from each. ValueError if the budget is negative or not finite.
        """
        budget = self.budget if budget is None else budget
        budget = check_number("budget", budget, 0, high_open=True)
        sources = self.sources
        count = find_due(
            self.epoch, sources.decay, self._steady, self._level, self._worth, self._at,
            self._due, self._heap, self._place, self._found, self._stack,
        )  # fmt: skip
        numbers, cut = self._choose(np.sort(self._found[:count]), budget)
        if budget * ROOM < self._cheapest:
            cut = np.inf  # nothing can be crawled, and no threshold helps
        if self.threshold > 0 and cut < self.threshold * SAFETY:
            self.rebuilds += 1
            self._margin = min(2 * self._margin, 0.5)
            numbers, cut = self._choose(np.arange(len(self), dtype=np.int32), budget)
            self._set_threshold(min(cut, *self._cuts) if self._cuts else cut)
        self._cuts.append(cut)
        if len(self._cuts) == MEMORY and count > 2 * numbers.size:
            if min(self._cuts) * (1.0 - self._margin) > 1.01 * self.threshold:
                self._set_threshold(min(self._cuts))
            self._cuts.clear()
        worth = self._worth_of(numbers)
        empty(
            numbers, self.epoch, sources.decay, self._steady, self._level, self._worth, self._at,
            self._last, self._due, self._heap, self._place,
        )  # fmt: skip
        self.epoch += 1
        return numbers, worth

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole state, sources included, to a NumPy archive (.npz), for `load`.

        A file of that name is replaced atomically: a process that is killed while it saves leaves
        the old state. ValueError if the budget was set to an invalid value.
        """
        budget = check_number("budget", self.budget, 0, high_open=True)
        *rates, period, names = self.sources.__reduce__()[1]
        text = json.dumps(names if names is None else list(names), default=str)
        arrays: dict[str, NDArray[Any]] = {
            "rates": np.stack(rates),
            "names": np.frombuffer(text.encode(), np.uint8),
            "numbers": np.array([period, budget, self.threshold, self._margin]),
            "counts": np.array([self.epoch, self.rebuilds], np.int64),
            "cuts": np.array(self._cuts, np.float64),
            "worth": self._worth,
            "steady": self._steady,
            "at": self._at,
            "last": self._last,
        }
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PingedScheduler:
        """Return a scheduler with a saved state, whose crawls are those of the one that was saved.

        ValueError if the file does not hold a saved scheduler, or was changed since.
        """
        return read_arrays(path, cls._of)

    @classmethod
    def _of(cls, arrays: dict[str, NDArray[Any]]) -> PingedScheduler:
        """Return the scheduler whose state the arrays hold, each checked."""
        rates, numbers, counts = arrays["rates"], arrays["numbers"], arrays["counts"]
        require("rates", rates.dtype == np.float64 and rates.ndim == 2 and len(rates) == 4)
        size = rates.shape[1]
        require("counts", counts.dtype == np.int64 and counts.shape == (2,))
        epoch, rebuilds = counts.tolist()
        require("counts", 1 <= epoch <= LATEST and rebuilds >= 0)
        require("numbers", numbers.dtype == np.float64 and numbers.shape == (4,))
        period, budget, threshold, margin = numbers.tolist()
        require("numbers", threshold >= 0 and 0 < margin <= 0.5)
        cuts = arrays["cuts"]
        require("cuts", cuts.dtype == np.float64 and cuts.ndim == 1 and cuts.size <= MEMORY)
        require("cuts", not np.isnan(cuts).any())
        for name in ("worth", "steady"):
            array = arrays[name]
            require(name, array.dtype == np.float64 and array.shape == (size,))
            require(name, (np.isfinite(array) & (array >= 0)).all())
        for name in ("at", "last"):
            array = arrays[name]
            require(name, array.dtype == np.int64 and array.shape == (size,))
            require(name, ((array >= 0) & (array <= epoch)).all())
        require("last", (arrays["last"] <= arrays["at"]).all())
        arrival_rate, worth, decay_rate, cost = rates
        names = json.loads(arrays["names"].tobytes())
        sources = Sources(arrival_rate, worth, decay_rate, cost, period, names)
        self = cls(sources, max(budget, 1.0))
        self.budget = check_number("budget", budget, 0, high_open=True)
        self.epoch, self.threshold, self.rebuilds = epoch, threshold, rebuilds
        self._margin = margin
        self._cuts.extend(cuts.tolist())
        self._worth, self._steady = arrays["worth"], arrays["steady"]
        self._at, self._last = arrays["at"], arrays["last"]
        if threshold < np.inf:
            self._level = content_at_index(sources, threshold) * (1.0 - 1e-9)
            self._rebuild()
        return self

    def _worth_of(self, arms: NDArray[np.integer]) -> Floats:
        """Return Y of some sources at this epoch."""
        passed = self.sources.decay[arms] * (self.epoch - self._at[arms])
        return np.exp(-passed) * self._worth[arms] - np.expm1(-passed) * self._steady[arms]

    def _choose(self, candidates: NDArray[np.int32], budget: float) -> tuple[Ints, float]:
        rank, state, sources = np.empty(candidates.size), self._state, self.sources
        state[candidates] = self._worth_of(candidates)
        rank_found(candidates, state, sources.u_star, sources.decay, sources.cost, rank)
        choice = choose(budget, candidates, rank, self._cost)
        return candidates[choice.taken(candidates, rank)].astype(np.int64), choice.cut

    def _set_threshold(self, lowest: float) -> None:
        """Set the threshold to a margin below the lowest index crawled."""
        self.threshold = lowest * (1.0 - self._margin) if 0 < lowest < np.inf else 0.0
        self._level = content_at_index(self.sources, self.threshold) * (1.0 - 1e-9)
        self._rebuild()

    def _rebuild(self) -> None:
        """Compute all due epochs anew, and sort the heap."""
        rebuild(
            self.epoch, self.sources.decay, self._steady, self._level, self._worth, self._at,
            self._due,
        )  # fmt: skip
        # A sorted array is a heap.
        self._heap[:] = np.argsort(self._due, kind="stable")
        self._place[self._heap] = np.arange(len(self))


@njit
def worth_after(passed: float, steady: float, worth: float) -> float:
    """Return Y after a time in units of 1/mu without a ping."""
    return np.exp(-passed) * worth - np.expm1(-passed) * steady


@njit
def due_epoch(epoch: int, decay: float, steady: float, level: float, worth: float) -> int:
    """Return the first epoch at which Y, `worth` at `epoch`, is at least the level; or NEVER."""
    if worth >= level:
        return epoch
    if level >= steady:
        return NEVER
    # Y approaches `steady` from below. Rounding may make a source due early, never late.
    wait = np.log1p((level - worth) / (steady - level)) / decay
    if wait >= 2.0**60:
        return NEVER
    return epoch + int(max(np.ceil(wait * (1.0 - 1e-9) - 1e-9), 0.0))


@njit
def move_up(heap: Ints, position: Ints, due: Ints, at: int) -> None:
    """Move an entry of the heap up to where it belongs."""
    arm = heap[at]
    while at > 0:
        above = (at - 1) // 2
        if due[heap[above]] <= due[arm]:
            break
        heap[at] = heap[above]
        position[heap[at]] = at
        at = above
    heap[at] = arm
    position[arm] = at


@njit
def move_down(heap: Ints, position: Ints, due: Ints, at: int) -> None:
    """Move an entry of the heap down to where it belongs."""
    arm, size = heap[at], heap.size
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and due[heap[below + 1]] < due[heap[below]]:
            below += 1
        if due[heap[below]] >= due[arm]:
            break
        heap[at] = heap[below]
        position[heap[at]] = at
        at = below
    heap[at] = arm
    position[arm] = at


@njit
def take_pings(
    numbers: Ints,
    jump: Floats,
    when: Floats,
    epoch: int,
    decay: Floats,
    steady: Floats,
    level: Floats,
    worth: Floats,
    at: Ints,
    due: Ints,
    heap: Ints,
    position: Ints,
) -> None:
    """Raise the expected worth of pinged sources, and move those up that fall due earlier."""
    for j in range(numbers.size):
        i = numbers[j]
        if at[i] < epoch:
            worth[i] = worth_after(decay[i] * (epoch - at[i]), steady[i], worth[i])
            at[i] = epoch
        worth[i] += jump[j] * np.exp(-decay[i] * (epoch - when[j]))
        sooner = due_epoch(epoch, decay[i], steady[i], level[i], worth[i])
        if sooner < due[i]:
            due[i] = sooner
            move_up(heap, position, due, position[i])


@njit
def find_due(
    epoch: int,
    decay: Floats,
    steady: Floats,
    level: Floats,
    worth: Floats,
    at: Ints,
    due: Ints,
    heap: Ints,
    position: Ints,
    due_arms: NDArray[np.int32],
    stack: Ints,
) -> int:
    """List and count the due sources; those whose worth has fallen below their level move down."""
    count = depth = 0
    if heap.size and due[heap[0]] <= epoch:
        stack[0], depth = 0, 1
    while depth:
        depth -= 1
        entry = stack[depth]
        due_arms[count] = heap[entry]
        count += 1
        for below in (2 * entry + 1, 2 * entry + 2):
            if below < heap.size and due[heap[below]] <= epoch:
                stack[depth] = below
                depth += 1
    count_due = 0
    for j in range(count):
        i = due_arms[j]
        now = worth_after(decay[i] * (epoch - at[i]), steady[i], worth[i])
        later = due_epoch(epoch, decay[i], steady[i], level[i], now)
        if later > epoch:
            due[i] = later
            move_down(heap, position, due, position[i])
        else:
            due_arms[count_due] = i
            count_due += 1
    return count_due


@njit
def empty(
    numbers: Ints,
    epoch: int,
    decay: Floats,
    steady: Floats,
    level: Floats,
    worth: Floats,
    at: Ints,
    last: Ints,
    due: Ints,
    heap: Ints,
    position: Ints,
) -> None:
    """Empty crawled sources, and move them to their next due epoch."""
    for j in range(numbers.size):
        i = numbers[j]
        worth[i], at[i], last[i] = 0.0, epoch, epoch
        due[i] = max(due_epoch(epoch, decay[i], steady[i], level[i], 0.0), epoch + 1)
        move_up(heap, position, due, position[i])
        move_down(heap, position, due, position[i])


@njit
def rebuild(
    epoch: int, decay: Floats, steady: Floats, level: Floats, worth: Floats, at: Ints, due: Ints
) -> None:
    """Write the due epoch of each source."""
    for i in range(due.size):
        now = worth_after(decay[i] * (epoch - at[i]), steady[i], worth[i])
        due[i] = due_epoch(epoch, decay[i], steady[i], level[i], now)
