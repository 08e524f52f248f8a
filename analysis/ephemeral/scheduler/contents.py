"""Schedulers that rank by content, observed or expected from pings, in which most need no index.

The index increases with the content x, so a threshold theta on it corresponds to a content of each
source, and one comparison finds the candidates. If the M-th largest index among the candidates is
above theta, the M largest of them are the M largest of all; otherwise theta was too high, and all
sources are ranked.

With s = x/u*, m = mu T and h(y) = exp(-y) - 1 + y, Theorem 1 on the interval where eta = k is
gamma = (u*/C) [k (1 - e^-m) s - h(m k) + k h(m)], which gives s at gamma = theta; beyond u* the
index is x/C.

*Observed content*, X_i(t+1) = alpha_i X_i(t) + U_i(t), changes at random: every source is read in
every epoch, in the same pass in which its content is advanced, but not ranked.

*Expected from pings*, the content Y of a source moves steadily between events towards u* (1 - r),
the worth of what is never announced, so that under a threshold each source has an epoch at which it
falls due, or none until its next ping. The due epochs stand in a binary heap with the place of each
source in it. A ping, in time O(log N), raises Y: its source falls due earlier or as before, never
later, and moves up the heap. The index is that of expected content at Y.

Reference: report 8702, Theorem 1, (19) and section 6.
"""

from __future__ import annotations

import json
from collections import deque
from copy import deepcopy
from os import PathLike
from typing import Any, NamedTuple

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
from analysis.ephemeral.index import h as h_of_all
from analysis.ephemeral.kernels import h, relative_index
from analysis.ephemeral.relaxed import due_ages
from analysis.ephemeral.scheduler.epoch import ROOM, choose
from analysis.ephemeral.scheduler.state import LATEST, read_arrays, require, write_arrays
from analysis.ephemeral.signals.model import check_shares
from analysis.ephemeral.simulation import initial_content
from analysis.ephemeral.sources import Sources
from analysis.kernel_cache import njit

MEMORY = 64
SAFETY = 1.0 + 1e-6
NEVER = 2**62
"""Due epoch of a source that waits for a ping."""


class _ContentScheduler:
    """Sources ranked by content above a threshold, which follows the lowest index crawled."""

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(self, sources: Sources, budget: float) -> None:
        check_kind("sources", sources, Sources)
        self.sources = sources
        self.budget = check_positive("budget", budget)
        self.threshold = np.inf
        self.rebuilds = 0
        uniform = bool((sources.cost == sources.cost[0]).all())
        self._cost = sources.cost[:1] if uniform else sources.cost
        self._cheapest = float(self._cost.min())
        self._level = np.full(len(sources), np.inf)  # content at the threshold
        self._room = np.empty(len(sources), np.int32)  # room for the candidates
        self._margin = 0.005
        self._cuts: deque[float] = deque(maxlen=MEMORY)

    def _contents(self, candidates: NDArray[np.int32]) -> Floats:
        """Return contents by number of the source, right for the candidates."""
        raise NotImplementedError

    def _select(self, candidates: NDArray[np.int32], budget: float) -> NDArray[np.int64]:
        """Return the sources to crawl, rising, and adapt the threshold."""
        numbers, cut = self._choose(candidates, budget)
        if budget * ROOM < self._cheapest:
            cut = np.inf  # nothing can be crawled, and no threshold helps
        if self.threshold > 0 and cut < self.threshold * SAFETY:
            self.rebuilds += 1
            self._margin = min(2 * self._margin, 0.5)
            numbers, cut = self._choose(np.arange(len(self.sources), dtype=np.int32), budget)
            self._set_threshold(min(cut, *self._cuts) if self._cuts else cut)
        self._cuts.append(cut)
        if len(self._cuts) == MEMORY and candidates.size > 2 * numbers.size:
            if min(self._cuts) * (1.0 - self._margin) > 1.01 * self.threshold:
                self._set_threshold(min(self._cuts))
            self._cuts.clear()
        return numbers

    def _choose(
        self, candidates: NDArray[np.int32], budget: float
    ) -> tuple[NDArray[np.int64], float]:
        rank, sources = np.empty(candidates.size), self.sources
        content = self._contents(candidates)
        rank_candidates(candidates, content, sources.u_star, sources.decay, sources.cost, rank)
        choice = choose(budget, candidates, rank, self._cost)
        return candidates[choice.taken(candidates, rank)].astype(np.int64), choice.cut

    def _set_threshold(self, lowest: float) -> None:
        """Set the threshold to a margin below the lowest index crawled."""
        self.threshold = lowest * (1.0 - self._margin) if 0 < lowest < np.inf else 0.0
        self._level = content_at_index(self.sources, self.threshold) * (1.0 - 1e-9)


class ObservedScheduler(_ContentScheduler):
    """Crawl in order of the Whittle index of the observed content.

    ValueError if an argument is out of range.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost that an epoch may spend; the number of crawls if every crawl costs 1.
    initial_state : {"empty", "fresh", "full"} or array_like, shape (N,)
        Content at epoch 0.

    Attributes
    ----------
    state : ndarray, shape (N,)
        Content of each source before the next crawl.
    threshold : float
        Least index of the sources that are ranked, adapted by the scheduler.
    rebuilds : int
        Number of epochs in which all sources were ranked.
    """

    def __init__(
        self, sources: Sources, budget: float, initial_state: str | ArrayLike = "empty"
    ) -> None:
        super().__init__(sources, budget)
        self.state = initial_content(sources, initial_state)
        self._candidates = 0

    def crawl(
        self, arrived: ArrayLike, budget: float | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Crawl the sources of this epoch, and advance the contents to the next.

        `arrived`, shape (N,), is the content U_i(t) that arrives until the next epoch; a `budget`
        is for this epoch alone. Returns the numbers of the crawled sources, rising, and the content
        taken from each. ValueError if the budget is negative, or `arrived` has another shape or an
        entry that is negative or not finite.
        """
        budget = self.budget if budget is None else budget
        budget = check_number("budget", budget, 0, high_open=True)
        added = check_array("arrived", arrived, 0)
        if added.shape != self.state.shape:
            raise ValueError(f"arrived must have shape {self.state.shape}, got {added.shape}")
        numbers = self._select(self._room[: self._candidates], budget)
        rewards = self.state[numbers]
        self.state[numbers] = 0.0
        alpha = self.sources.alpha
        self._candidates = advance(self.state, alpha, added, self._level, self._room)
        return numbers, rewards

    def _contents(self, candidates: NDArray[np.int32]) -> Floats:
        return self.state


class DueHeap(NamedTuple):
    """Expected contents, and a heap of the epochs at which they fall due; arrays of shape (N,).

    `worth` is Y at the epoch `at`, and `steady` what it moves towards; `heap` has the sources in
    the order of a heap by `due`, and `position` where each stands in it.
    """

    decay: Floats
    steady: Floats
    worth: Floats
    at: Ints
    due: Ints
    heap: Ints
    position: Ints


@brief
class PingedScheduler(_ContentScheduler):
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

    def __init__(self, sources: Sources, budget: float, recall: ArrayLike = 0.0) -> None:
        super().__init__(sources, budget)
        size = len(sources)
        self.epoch = 1
        self._last = np.zeros(size, np.int64)  # epochs of the last crawls
        steady = sources.u_star * (1.0 - check_shares("recall", recall, size))
        order = np.arange(size, dtype=np.int64)
        # A copy of the decays: kernels are compiled for arrays that can be written to.
        self._heap = DueHeap(
            sources.decay.copy(), steady, np.zeros(size), np.zeros(size, np.int64),
            np.full(size, NEVER), order, order.copy(),
        )  # fmt: skip
        # Room for a walk over the heap, and for the worth of the sources that are ranked.
        self._stack, self._state = np.empty(size, np.int64), np.zeros(size)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def worth(self) -> Floats:
        """Expected worth of each source at the next epoch, shape (N,)."""
        return self._worth_of(np.arange(len(self)))

    @property
    def due(self) -> Ints:
        """Epoch from which each source is ranked, if no ping comes; shape (N,)."""
        return self._heap.due.copy()

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
        arms = self._check_numbers(numbers)
        share = check_shares("precision", precision, arms.size) if arms.size else np.empty(0)
        time = np.full(arms.size, float(self.epoch))
        if when is not None:
            stated = check_array("when", when, finite=False).ravel()
            if stated.shape != arms.shape:
                raise ValueError(f"when must have shape {arms.shape}, got {stated.shape}")
            time = np.minimum(stated, time)
        counted = time > self._last[arms]
        jump = share[counted] * self.sources.mean_utility[arms[counted]]
        take_pings(arms[counted], jump, time[counted], self.epoch, self._level, self._heap)
        return counted

    def set_recall(self, numbers: ArrayLike, recall: ArrayLike) -> None:
        """Set what silence is worth for some sources, from the next epoch on.

        ValueError if there is no such source, a number occurs twice, or a recall is out of range.
        """
        arms = self._check_numbers(numbers)
        if np.unique(arms).size < arms.size:
            raise ValueError(f"numbers must differ, got {numbers!r:.200}")
        share = check_shares("recall", recall, arms.size) if arms.size else np.empty(0)
        worth, steady = self._worth_of(arms), self._heap.steady
        # What silence was worth until now is worth the new share of it.
        before, after = steady[arms], self.sources.u_star[arms] * (1.0 - share)
        age = self.epoch - self._last[arms]
        worth += (before - after) * np.expm1(-self.sources.decay[arms] * age)
        self._heap.worth[arms] = np.maximum(worth, 0.0)
        self._heap.at[arms], steady[arms] = self.epoch, after
        self._sort()

    def crawl(self, budget: float | None = None) -> tuple[Ints, Floats]:
        """Crawl the sources of this epoch, and advance to the next.

        A `budget` is for this epoch alone. Returns the numbers of the crawled sources, rising, and
        the expected worth taken from each. ValueError if the budget is negative or not finite.
        """
        budget = self.budget if budget is None else budget
        budget = check_number("budget", budget, 0, high_open=True)
        count = find_due(self.epoch, self._level, self._heap, self._room, self._stack)
        numbers = self._select(np.sort(self._room[:count]), budget)
        worth = self._worth_of(numbers)
        empty(numbers, self.epoch, self._level, self._last, self._heap)
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
            "worth": self._heap.worth,
            "steady": self._heap.steady,
            "at": self._heap.at,
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
        self._last = arrays["last"]
        saved = {name: arrays[name] for name in ("worth", "steady", "at")}
        self._heap = self._heap._replace(**saved)
        if threshold < np.inf:
            self._level = content_at_index(sources, threshold) * (1.0 - 1e-9)
            self._sort()
        return self

    def _check_numbers(self, numbers: ArrayLike) -> NDArray[np.int64]:
        """Return numbers of sources, or raise naming `numbers`."""
        arms = check_integers("numbers", numbers).ravel()
        for number in arms[(arms < 0) | (arms >= len(self))][:1].tolist():
            check_integer("numbers", number, 0, len(self) - 1)
        return arms

    def _worth_of(self, arms: NDArray[np.integer]) -> Floats:
        """Return Y of some sources at this epoch."""
        decay, steady, worth, at, *_ = self._heap
        passed = decay[arms] * (self.epoch - at[arms])
        return np.exp(-passed) * worth[arms] - np.expm1(-passed) * steady[arms]

    def _contents(self, candidates: NDArray[np.int32]) -> Floats:
        self._state[candidates] = self._worth_of(candidates)
        return self._state

    def _set_threshold(self, lowest: float) -> None:
        super()._set_threshold(lowest)
        self._sort()

    def _sort(self) -> None:
        """Compute all due epochs anew, and sort the heap."""
        set_due(self.epoch, self._level, self._heap)
        # A sorted array is a heap.
        self._heap.heap[:] = np.argsort(self._heap.due, kind="stable")
        self._heap.position[self._heap.heap] = np.arange(len(self))


def content_at_index(sources: Sources, index: float) -> Floats:
    """Return the content at which the Whittle index of each source has a given value.

    ValueError if the index is negative.
    """
    index = check_number("index", index, 0)
    limit = sources.u_star / sources.cost
    eta = due_ages(sources, index)
    below = np.isfinite(eta) & (index < limit)
    k, decay = np.where(below, eta, 1.0), sources.decay
    ratio = np.divide(index, limit, out=np.zeros_like(limit), where=below)
    share = (ratio + h_of_all(decay * k) - k * h_of_all(decay)) / (-k * np.expm1(-decay))
    return np.where(below, np.maximum(share, 0.0) * sources.u_star, index * sources.cost)


@njit
def rank_candidates(
    candidates: NDArray[np.int32],
    state: Floats,
    u_star: Floats,
    decay: Floats,
    cost: Floats,
    rank: Floats,
) -> None:
    """Write the Whittle index of the `candidates` at their contents into `rank`."""
    for j in range(candidates.size):
        i = candidates[j]
        rank[j] = state[i] / cost[i]
        if state[i] < u_star[i]:
            share = state[i] / u_star[i]
            rank[j] = u_star[i] / cost[i] * relative_index(decay[i], h(decay[i]), share)


@njit
def advance(
    state: Floats, alpha: Floats, arrived: Floats, level: Floats, candidates: NDArray[np.int32]
) -> int:
    """Advance the contents by one epoch; list and count the sources at or above their level."""
    count = 0
    for i in range(state.size):
        state[i] = alpha[i] * state[i] + arrived[i]
        candidates[count] = i
        count += state[i] >= level[i]
    return count


@njit
def worth_at(epoch: int, heap: DueHeap, i: int) -> float:
    """Return Y of a source at an epoch."""
    passed = heap.decay[i] * (epoch - heap.at[i])
    return np.exp(-passed) * heap.worth[i] - np.expm1(-passed) * heap.steady[i]


@njit
def due_epoch(epoch: int, level: float, heap: DueHeap, i: int, worth: float) -> int:
    """Return the first epoch at which Y, `worth` at `epoch`, is at least the level; or NEVER."""
    steady = heap.steady[i]
    if worth >= level:
        return epoch
    if level >= steady:
        return NEVER
    # Y approaches `steady` from below. Rounding may make a source due early, never late.
    wait = np.log1p((level - worth) / (steady - level)) / heap.decay[i]
    if wait >= 2.0**60:
        return NEVER
    return epoch + int(max(np.ceil(wait * (1.0 - 1e-9) - 1e-9), 0.0))


@njit
def move_up(heap: DueHeap, i: int) -> None:
    """Move a source up the heap to where it belongs."""
    order, at = heap.heap, heap.position[i]
    while at > 0:
        above = (at - 1) // 2
        if heap.due[order[above]] <= heap.due[i]:
            break
        order[at] = order[above]
        heap.position[order[at]] = at
        at = above
    order[at] = i
    heap.position[i] = at


@njit
def move_down(heap: DueHeap, i: int) -> None:
    """Move a source down the heap to where it belongs."""
    order, at = heap.heap, heap.position[i]
    while True:
        below = 2 * at + 1
        if below >= order.size:
            break
        if below + 1 < order.size and heap.due[order[below + 1]] < heap.due[order[below]]:
            below += 1
        if heap.due[order[below]] >= heap.due[i]:
            break
        order[at] = order[below]
        heap.position[order[at]] = at
        at = below
    order[at] = i
    heap.position[i] = at


@njit
def take_pings(
    numbers: Ints, jump: Floats, when: Floats, epoch: int, level: Floats, heap: DueHeap
) -> None:
    """Raise the expected worth of pinged sources, and move those up that fall due earlier."""
    for j in range(numbers.size):
        i = numbers[j]
        if heap.at[i] < epoch:
            heap.worth[i] = worth_at(epoch, heap, i)
            heap.at[i] = epoch
        heap.worth[i] += jump[j] * np.exp(-heap.decay[i] * (epoch - when[j]))
        sooner = due_epoch(epoch, level[i], heap, i, heap.worth[i])
        if sooner < heap.due[i]:
            heap.due[i] = sooner
            move_up(heap, i)


@njit
def find_due(
    epoch: int, level: Floats, heap: DueHeap, due_arms: NDArray[np.int32], stack: Ints
) -> int:
    """List and count the due sources; those whose worth has fallen below their level move down."""
    order, due = heap.heap, heap.due
    count = depth = 0
    if order.size and due[order[0]] <= epoch:
        stack[0], depth = 0, 1
    while depth:
        depth -= 1
        entry = stack[depth]
        due_arms[count] = order[entry]
        count += 1
        for below in (2 * entry + 1, 2 * entry + 2):
            if below < order.size and due[order[below]] <= epoch:
                stack[depth] = below
                depth += 1
    count_due = 0
    for j in range(count):
        i = due_arms[j]
        later = due_epoch(epoch, level[i], heap, i, worth_at(epoch, heap, i))
        if later > epoch:
            due[i] = later
            move_down(heap, i)
        else:
            due_arms[count_due] = i
            count_due += 1
    return count_due


@njit
def empty(numbers: Ints, epoch: int, level: Floats, last: Ints, heap: DueHeap) -> None:
    """Empty crawled sources, and move them to their next due epoch."""
    for j in range(numbers.size):
        i = numbers[j]
        heap.worth[i], heap.at[i], last[i] = 0.0, epoch, epoch
        heap.due[i] = max(due_epoch(epoch, level[i], heap, i, 0.0), epoch + 1)
        move_up(heap, i)
        move_down(heap, i)


@njit
def set_due(epoch: int, level: Floats, heap: DueHeap) -> None:
    """Write the due epoch of each source."""
    for i in range(heap.due.size):
        heap.due[i] = due_epoch(epoch, level[i], heap, i, worth_at(epoch, heap, i))
