"""The Whittle index policy for millions of sources: who is crawled at this epoch.

At every epoch the policy crawls in order of index (Theorem 1 of the report) until the budget is
spent. It looks only at sources that are due under a threshold theta (see `calendar`)
and accepts the result only if the lowest index that it crawls is above theta; else theta is too
high, the calendar is sorted anew under a lower one, and the choice is made again. So the crawled
sources are those of a full sort at every epoch, with costs, ties and budgets that change.

The rules, in full:

* Sources below their minimal age (politeness: a crawl delay) are never crawled.
* Where pages have a price, a source has at most the index that the worth of its best crawl leaves
  (see `pages`), and one whose crawls are worth less than their pages waits for its maximal age.
* Where pages join the queue of an engine, a source has the index of what they are worth when they
  are indexed, at the length of the queue that was set last.
* Sources at their maximal age come first, the longest overdue before the others.
* The rest come in order of index. Ties, among the overdue too, go to the smaller number.
* A source whose cost exceeds the whole budget of the epoch is passed over. Otherwise crawling stops
  at the first source that does not fit into what is left of the budget.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import (
    check_array,
    check_choice,
    check_integer,
    check_integers,
    check_kind,
    check_number,
)
from analysis.display import brief
from analysis.ephemeral.scheduler import calendar as kernel
from analysis.ephemeral.scheduler import epoch as epoch_kernel
from analysis.ephemeral.scheduler.admission import (
    CHUNK,
    costs_with,
    limits,
    limits_with,
    load,
    set_rates,
    whole_numbers,
)
from analysis.ephemeral.scheduler.budget import ROOM, Choice, choose
from analysis.ephemeral.scheduler.pages import (
    caps,
    fading_per_page,
    pages_per_epoch,
    queued_sources,
)
from analysis.ephemeral.scheduler.state import QueuedEngine, State, read_state, write_state
from analysis.ephemeral.scheduler.threshold import Threshold
from analysis.ephemeral.sources import Sources

if TYPE_CHECKING:
    import pandas as pd

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_MAXIMAL_AGES = np.empty(0, np.int32)


@brief
class Scheduler:
    """Crawl sources in order of Whittle index, at a cost per crawl and not per source.

    Sources are numbered from 0 in the order in which they came. `add` gives a new number, or one of
    a removed source where that is asked for.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost that an epoch may spend; the number of crawls if every crawl costs 1.
    ages : int or array_like of int, shape (N,)
        Epochs since the last crawl of each source, 1 at the epoch that follows it.
    min_age : int or array_like of int, shape (N,)
        Politeness: least number of epochs between two crawls of a source.
    max_age : int or array_like of int, shape (N,), optional
        Age from which on a source comes before all others.
    precision : {"double", "single"}
        How rates are stored. In single precision a source takes 20 bytes instead of 28; the crawls
        are those of the index policy for sources whose u*/C and mu T are rounded to it.
    price : float, optional
        Price of a page in units of content, where crawls take all pages; without one, none is
        remembered and none can be set. Takes 16 bytes a source.
    index_rate : float, optional
        Pages that an engine indexes per unit of time, first come first served and with room for
        all. A page then counts what it is worth when it is indexed (`pages.queued_sources`), the
        freshest of a crawl first. Takes 16 bytes a source.
    queue : int
        Pages waiting at the engine; above 0 with an `index_rate` only.

    Attributes
    ----------
    epoch : int
        Number of the next epoch, from 0.
    budget : float
        May be set at any time. Set below what the maximal ages ask for, it is spent on the longest
        overdue.
    price : float
        May be set at any time if one was given; the calendar is then sorted anew.
    queue : int
        May be set at any time if `index_rate` was given; the calendar is then sorted anew.
    marginal_index : float
        Index at which the last crawl ran out of budget, negative if it did not.

    Raises
    ------
    ValueError
        If an argument is out of range, or the maximal ages ask for more than the budget.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> scheduler = Scheduler(four_sources(), budget=1)
    >>> [scheduler.crawl()[0].tolist() for _ in range(4)]
    [[0], [1], [0], [1]]
    """

    def __init__(
        self,
        sources: Sources,
        budget: float,
        ages: int | ArrayLike = 1,
        *,
        min_age: int | ArrayLike = 0,
        max_age: int | ArrayLike | None = None,
        precision: str = "double",
        price: float | None = None,
        index_rate: float | None = None,
        queue: int = 0,
    ) -> None:
        check_kind("sources", sources, Sources)
        self._engine = _checked_engine(index_rate, queue)
        self._empty = np.empty((0, 2))  # u*/C at an empty queue and log delta, by number
        self._price = None if price is None else check_number("price", price, 0, high_open=True)
        self._pages = np.empty(0)  # pages an epoch and unit of cost, by number, if they are priced
        check_choice("precision", precision, tuple(kernel.PRECISIONS))
        self.budget = check_number("budget", budget, 0, low_open=True, high_open=True)
        self.epoch = 0
        self._threshold = Threshold()
        self.marginal_index = np.nan
        self._size = self._total = 0  # sources here now, and ever
        self._cost = sources.cost[:1]  # one for all, or one a number
        self._limits = kernel.Limits(np.empty(0, np.int32), np.empty(0, np.int32))
        self._calendar = kernel.empty_calendar(precision)
        self._have_room(0)
        self.add(sources, ages, min_age=min_age, max_age=max_age)

    def _have_room(self, room: int) -> None:
        """Allocate the number, rank and content of so many sources of a bucket."""
        self._number, self._rank = np.empty(room, np.int32), np.empty(room)
        self._content = np.empty(room)

    @property
    def price(self) -> float:
        """Price of a page; 0 where none was given."""
        return self._price or 0.0

    @price.setter
    def price(self, price: float) -> None:
        if self._price is None:
            raise ValueError("price must be given to the scheduler before it can be set")
        self._price = check_number("price", price, 0, high_open=True)
        self._set_caps(self._extract(np.ones(self._total, dtype=bool), leave=True))
        kernel.rebuild(self._calendar, self.epoch, self.threshold, self._limits)

    @property
    def queue(self) -> int:
        """Pages waiting at the engine; 0 where there is none."""
        return self._engine.queue if self._engine else 0

    @queue.setter
    def queue(self, queue: int) -> None:
        if self._engine is None:
            raise ValueError("queue needs a scheduler that was given an index_rate")
        self._engine = _checked_engine(self._engine.index_rate, queue)
        entries = self._extract(np.ones(self._total, dtype=bool), leave=False)
        limit, fading = self._empty[entries["number"]].T
        entries["limit"] = limit * np.exp(self.queue * fading)
        self._set_caps(entries)
        kernel.insert(self._calendar, entries, self.epoch, self.threshold, self._limits)

    @property
    def threshold(self) -> float:
        """Least index of the sources that are ranked at an epoch; the scheduler moves it."""
        return self._threshold.level

    @property
    def rebuilds(self) -> int:
        """How often the calendar was sorted anew."""
        return self._threshold.rebuilds

    def __len__(self) -> int:
        return self._size

    @property
    def ages(self) -> Numbers:
        """Epochs since the last crawl of each source, by number; 0 where it was removed."""
        entries = self._extract(np.ones(self._total, dtype=bool), leave=True)
        ages = np.zeros(self._total, dtype=np.int64)
        ages[entries["number"]] = self.epoch - entries["last"]
        return ages

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        ranked = self._number, self._rank, self._content, self._pages, self._empty
        arrays = (*self._calendar, *self._limits, *ranked, self._cost)
        return sum(array.nbytes for array in arrays)

    def crawl(self, budget: float | None = None, *, floor: float = 0.0) -> tuple[Numbers, Floats]:
        """Crawl the sources of this epoch, and go on to the next.

        Parameters
        ----------
        budget : float, optional
            Budget of this epoch alone, if it is another.
        floor : float
            Sources of a smaller index are not crawled in this epoch, unless they are overdue.

        Returns
        -------
        sources : ndarray of int
            Numbers of the crawled sources, in no particular order.
        expected_rewards : ndarray
            Content expected from each at its age.

        Raises
        ------
        ValueError
            If the budget or the floor is negative or not finite.
        """
        budget = self.budget if budget is None else budget
        budget = check_number("budget", budget, 0, high_open=True)
        floor = check_number("floor", floor, 0, high_open=True)
        ranked = self._rank_bucket(self._limits.most)
        cut, tie, count = self._select(ranked, budget, floor)
        want, room = budget, budget * ROOM
        state = (self._calendar, self.epoch, self._cost, self._limits)
        while self._threshold.above(max(cut, floor)) and self.threshold > 0:
            want *= 1.3
            if not self._threshold.lower(want, room, *state):
                break  # the budget is below every cost, or everyone waits for a minimal age
            ranked = self._rank_bucket(self._limits.most)
            cut, tie, count = self._select(ranked, budget, floor)
        self.marginal_index = cut
        self._threshold.follow(max(cut, floor), count, ranked, self.epoch)
        numbers, rewards = np.empty(count, np.int64), np.empty(count)
        epoch_kernel.settle(
            self._calendar,
            self.epoch,
            self.threshold,
            cut,
            tie,
            self._limits,
            self._rank,
            self._content,
            numbers,
            rewards,
        )
        if self._cost.size > 1 or self._cost[0] != 1.0:
            rewards *= self._cost[numbers] if self._cost.size > 1 else self._cost[0]
        self.epoch += 1
        return numbers, rewards

    def demand(self, subsidy: ArrayLike, *, most_cost: float = np.inf) -> Any:
        """Cost of all sources that may be crawled now and have an index of at least `subsidy`.

        It is the answer of a part of a crawler to the multiplier that all parts share. Sources
        below their minimal age do not count. A source at its maximal age counts by its index, as
        all others do, so that the demand never rises with the subsidy.

        Parameters
        ----------
        subsidy : float or array_like
            Not negative.
        most_cost : float
            Only sources count that cost no more.

        Returns
        -------
        float or ndarray
            One cost for each subsidy.

        Raises
        ------
        ValueError
            If a subsidy or the cost is negative or not a number.
        """
        asked = check_array("subsidy", subsidy, 0)
        most_cost = check_number("most_cost", most_cost, 0)
        levels, place = np.unique(asked.ravel(), return_inverse=True)
        if levels.size and self._threshold.above(levels[0]):
            where, rules = (self._calendar, self.epoch), (self._cost, self._limits)
            totals = epoch_kernel.demand(*where, levels, *rules, most_cost)[0]
        else:
            ranked = self._rank_bucket(NO_MAXIMAL_AGES)
            number, rank = self._number[:ranked], self._rank[:ranked]
            price = self._cost[number] if self._cost.size > 1 else np.full(ranked, self._cost[0])
            price[price > most_cost] = 0.0
            reached = np.searchsorted(levels, rank, side="right")
            totals = np.bincount(reached, price, levels.size + 1)[:0:-1].cumsum()[::-1]
        found = totals[place.ravel()].reshape(asked.shape)
        return found if found.ndim else float(found)

    def reserve(self, count: int) -> None:
        """Make room for so many sources in all, so that adding them moves nothing in memory."""
        count = check_integer("count", count, 0)
        self._calendar = kernel.with_room(self._calendar, count)

    def add(
        self,
        sources: Sources,
        ages: int | ArrayLike = 1,
        *,
        min_age: int | ArrayLike = 0,
        max_age: int | ArrayLike | None = None,
        numbers: ArrayLike | None = None,
    ) -> Numbers:
        """Take in more sources, or again those that were removed.

        Parameters
        ----------
        sources : Sources
            What is taken in.
        ages, min_age, max_age
            As in the class.
        numbers : array_like of int, optional
            Numbers that removed sources had, to be given to these; new ones by default.

        Returns
        -------
        ndarray of int
            The numbers of the sources.

        Raises
        ------
        ValueError
            If an argument is out of range, a number is in use or was never given, or the maximal
            ages ask for more than the budget.
        """
        check_kind("sources", sources, Sources)
        count, first = len(sources), self._total
        ages = whole_numbers("ages", ages, count, 0)
        some = limits(min_age, max_age, count)
        given = np.arange(first, first + count)
        if numbers is not None:
            given = self._free_numbers(numbers, count)
        cost = costs_with(self._cost, first, given, sources.cost)
        merged = limits_with(self._limits, first, given, some)
        self._check_load("max_age", cost, merged.most)
        self._cost, self._limits = cost, merged._replace(cap=self._limits.cap)
        self._size, self._total = self._size + count, max(first, int(given.max()) + 1)
        self._calendar = kernel.with_room(self._calendar, self._size)
        for start in range(0, count, CHUNK):
            part = slice(start, min(start + CHUNK, count))
            entries = np.empty(part.stop - start, self._calendar.pool.dtype)
            entries["number"] = given[part]
            entries["last"] = self.epoch - (ages[part] if ages.size > 1 else ages)
            self._rate(entries, sources.subset(part))
            kernel.insert(self._calendar, entries, self.epoch, self.threshold, self._limits)
        return given

    def remove(self, numbers: ArrayLike) -> None:
        """Drop sources, by number.

        Raises
        ------
        ValueError
            If there is no such source, or a number occurs twice.
        """
        gone = self._take_out(numbers)
        if self._limits.most.size:
            self._limits.most[gone["number"]] = kernel.NEVER
        self._size -= gone.size

    def rerate(self, numbers: ArrayLike, sources: Sources) -> None:
        """Give sources new rates, utilities and costs; they keep their ages and limits.

        Parameters
        ----------
        numbers : array_like of int
            Which sources.
        sources : Sources
            What they are from now on, in the same order.

        Raises
        ------
        ValueError
            If there is no such source, a number occurs twice, the lengths differ, or the maximal
            ages ask for more than the budget at the new costs.
        """
        numbers = np.atleast_1d(np.asarray(numbers))
        if numbers.shape != (len(sources),):
            raise ValueError(
                f"numbers must have one entry for each of the {len(sources)} sources, "
                f"got shape {numbers.shape}"
            )
        entries = self._take_out(numbers)
        cost = costs_with(self._cost, self._total, numbers, sources.cost)
        try:
            self._check_load("sources", cost, self._limits.most)
        except ValueError:
            kernel.insert(self._calendar, entries, self.epoch, self.threshold, self._limits)
            raise
        entries = entries[np.argsort(entries["number"])[np.argsort(np.argsort(numbers))]]
        self._rate(entries, sources)
        self._cost = cost
        kernel.insert(self._calendar, entries, self.epoch, self.threshold, self._limits)

    def plan(self, epochs: int, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Crawl for some epochs and return the schedule as a data frame.

        Parameters
        ----------
        epochs : int
            How many, at least 1.
        names : sequence of str, optional
            A label for each number, such as ``sources.names``.

        Returns
        -------
        pandas.DataFrame
            Columns epoch, source (the number, or its label) and expected_reward, in order of epoch
            and number. It writes itself with ``to_csv`` or ``to_parquet``.

        Raises
        ------
        ValueError
            If `epochs` is out of range or a number has no label.
        """
        import pandas as pd

        if names is not None and len(names) < self._total:
            raise ValueError(
                f"names must have a label for each of {self._total} numbers, got {len(names)}"
            )
        frames = []
        for _ in range(check_integer("epochs", epochs, 1)):
            epoch = self.epoch
            numbers, rewards = self.crawl()
            order = np.argsort(numbers)
            labels = numbers[order] if names is None else [names[i] for i in numbers[order]]
            columns = {"epoch": epoch, "source": labels, "expected_reward": rewards[order]}
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole state to a NumPy archive (.npz), from which `load` goes on.

        A file of that name is replaced once the new one is complete: a process that is killed while
        it saves leaves the old state.

        Raises
        ------
        ValueError
            If the budget was set to what is none.
        """
        budget = check_number("budget", self.budget, 0, high_open=True)
        everyone = np.ones(self._total, dtype=bool)
        write_state(
            path,
            State(
                self._extract(everyone, leave=True), self._cost, self._limits,
                self.epoch, self._total, budget, self.threshold, self._pages, self.price,
                self._empty, self._engine,
            ),
        )  # fmt: skip

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scheduler:
        """Return a scheduler that goes on to the same crawls as the one that was saved.

        Raises
        ------
        ValueError
            If the file does not hold a saved scheduler, or was changed since.
        """
        state = read_state(path)
        self = cls.__new__(cls)
        self._cost, self._limits = state.cost, state.limits
        self._pages, self._price = state.pages, state.price if state.pages.size else None
        self._empty, self._engine = state.empty, state.engine
        self.epoch, self._total, self.budget = state.epoch, state.total, state.budget
        self._size, self.marginal_index = state.entries.size, np.nan
        self._threshold = Threshold(state.level)
        self._have_room(0)
        self._set_caps(state.entries)
        precision = kernel.precision_of(state.entries)
        self._calendar = kernel.with_room(kernel.empty_calendar(precision), self._size)
        kernel.insert(self._calendar, state.entries, self.epoch, self.threshold, self._limits)
        return self

    def _check_load(self, name: str, cost: Floats, most: NDArray[np.int32]) -> None:
        """Refuse costs and maximal ages that ask for more than now and than the budget."""
        asked, before = load(cost, most), load(self._cost, self._limits.most)
        if asked > max(self.budget * ROOM, before):
            raise ValueError(
                f"{name} must not let maximal ages ask for more than the budget of "
                f"{self.budget:g} an epoch, got {asked:g} for all sources together"
            )

    def _rank_bucket(self, most: NDArray[np.int32]) -> int:
        size = kernel.bucket_size(self._calendar, self.epoch)
        if size > self._rank.size:
            self._have_room(min(size + size // 4, self._size))
        arrays = (self._number, self._rank, self._content)
        epoch_kernel.rank_bucket(self._calendar, self.epoch, most, self._limits.cap, *arrays)
        return size

    def _rate(self, entries: NDArray[np.void], sources: Sources) -> None:
        """Write the rates of entries, in the order of their sources, as the queue is now."""
        if self._engine is None:
            set_rates(entries, sources)
        else:
            rate, queue = self._engine
            at_once = queued_sources(sources, rate)
            set_rates(entries, at_once)
            if len(self._empty) < self._total:
                more = np.zeros((self._total - len(self._empty), 2))
                self._empty = np.concatenate([self._empty, more])
            limit, fading = at_once.u_star / at_once.cost, fading_per_page(sources, rate)
            self._empty[entries["number"]] = np.stack([limit, fading], axis=1)
            entries["limit"] = limit * np.exp(queue * fading)
        self._price_pages(entries, sources)

    def _price_pages(self, entries: NDArray[np.void], sources: Sources) -> None:
        """Remember the pages of entries, in the order of their sources, and cap their index."""
        if self._price is None:
            return
        if self._pages.size < self._total:
            self._pages = np.append(self._pages, np.zeros(self._total - self._pages.size))
        self._pages[entries["number"]] = pages_per_epoch(sources)
        self._set_caps(entries)

    def _set_caps(self, entries: NDArray[np.void]) -> None:
        """Cap the index of entries at the price."""
        if self._price is None:
            return
        cap = self._limits.cap
        if cap.size < self._total:
            cap = np.append(cap, np.zeros(self._total - cap.size))
        number = entries["number"]
        cap[number] = caps(entries["limit"], entries["decay"], self._pages[number], self._price)
        self._limits = self._limits._replace(cap=cap)

    def _select(self, size: int, budget: float, floor: float) -> Choice:
        rank = self._rank[:size]
        if floor > 0:
            rank[rank < floor] = epoch_kernel.WAITING
        return choose(budget, self._number[:size], rank, self._cost)

    def _free_numbers(self, numbers: ArrayLike, count: int) -> Numbers:
        """Check numbers that are to be given again, one for each of `count` sources."""
        given = check_integers("numbers", numbers).ravel()
        if given.shape != (count,) or np.unique(given).size != count:
            raise ValueError(f"numbers must be {count} different integers, got {numbers!r:.200}")
        wanted = np.zeros(self._total, dtype=bool)
        for number in given.tolist():
            wanted[check_integer("numbers", number, 0, self._total - 1)] = True
        if (used := self._extract(wanted, leave=True)["number"]).size:
            raise ValueError(f"numbers must be those of removed sources, got {used[0]}")
        return given

    def _extract(self, wanted: NDArray[np.bool_], leave: bool) -> NDArray[np.void]:
        count = min(int(np.count_nonzero(wanted)), self._size)
        out = np.empty(count, self._calendar.pool.dtype)
        return out[: kernel.extract(self._calendar, wanted, out, leave)]

    def _take_out(self, numbers: ArrayLike) -> NDArray[np.void]:
        chosen = np.atleast_1d(np.asarray(numbers))
        wanted = np.zeros(self._total, dtype=bool)
        for number in chosen.tolist():
            if wanted[check_integer("numbers", number, 0, self._total - 1)]:
                raise ValueError(f"numbers must differ, got {number} twice")
            wanted[number] = True
        entries = self._extract(wanted, leave=False)
        if entries.size < chosen.size:
            wanted[entries["number"]] = False
            kernel.insert(self._calendar, entries, self.epoch, self.threshold, self._limits)
            raise ValueError(f"there is no source {int(np.argmax(wanted))} any more")
        return entries


def _checked_engine(index_rate: float | None, queue: int) -> QueuedEngine | None:
    queue = check_integer("queue", queue, 0)
    if index_rate is None:
        if queue:
            raise ValueError(f"queue must be 0 without an index_rate, got {queue}")
        return None
    rate = check_number("index_rate", index_rate, 0, low_open=True, high_open=True)
    return QueuedEngine(rate, queue)
