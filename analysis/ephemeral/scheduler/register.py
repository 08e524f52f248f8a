"""The sources of a scheduler, by number: entries in the calendar, costs, limits and page prices.

A source has an entry in the calendar (rates, last crawl, due age), a cost, limits on its age and,
if pages have a price or join a queue, the value of its pages. Numbers start at 0; the number of a
removed source is free until it is assigned again.

*Prices of pages.* If a crawl takes all pages of its source and each page costs p, the value of a
crawl at age k is r(k) = x_k - p Lambda T k, and the Whittle index is that of part I, but at most
the largest r (see `analysis.joint.index`). Per unit of cost, with limit = u*/C, m = mu T and
n = Lambda T / C pages an epoch,

    r(k)/C = limit (1 - e^{-m k}) - p n k,

which is largest at the first k at which the content of one more epoch is worth at most its pages,
limit e^{-m k} (1 - e^{-m}) <= p n.

*A queue.* An engine indexes pages at exponential times of rate s, first come first served, the
freshest of a crawl first, without limit on the queue, and a page has its value when it is indexed.
Let delta = s / (s + mu), the share of its value that a page keeps during one indexing. A crawl at
age k whose pages join a queue of q pages has the value

    xi sum_{j>=1} delta^(q+j) P(the j-th most recent page is younger than k T)
        = xi delta^(q+1) Lambda / mu' (1 - e^{-mu' k T}),    mu' = mu (1 + Lambda / (s + mu)):

the age of the j-th most recent page has the gamma law of shape j and rate Lambda, and the sum over
j of delta^(j-1) times its density is Lambda e^{-Lambda (1-delta) t}. So with a queue a source is
equivalent to a source of utility xi delta^(q+1) and decay rate mu', with its index and cap. If all
contents decay at one rate, delta^q is common to all, and q pages order the sources as a price of
p / delta^q does. If rates differ, the order itself depends on q.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc

from analysis.arrays import Floats
from analysis.checks import (
    Rng,
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_positive,
    check_rng,
)
from analysis.ephemeral.relaxed import due_ages, due_ages_of, relaxed_problem
from analysis.ephemeral.scheduler import calendar as buckets
from analysis.ephemeral.scheduler.calendar import NEVER, Limits
from analysis.ephemeral.scheduler.epoch import ROOM
from analysis.ephemeral.scheduler.state import QueuedEngine, State
from analysis.ephemeral.sources import Sources

Numbers = NDArray[np.int64]
CHUNK = 2**16
"""Sources that are added, or read, at a time."""


class Now(NamedTuple):
    """Number of the next epoch, and the threshold under which sources fall due."""

    epoch: int
    theta: float


class Register:
    """Sources by number.

    Attributes
    ----------
    calendar : Calendar
        An entry for each source; rates are stored in single or double precision.
    limits : Limits
        Limits on ages, and caps of the index.
    cost : ndarray
        One for all sources, or one a number.
    size, total : int
        Sources now, and numbers given so far.
    crawl_price : float or None
        Price of a crawl, if sources rank by the Lagrangian index.
    """

    def __init__(
        self,
        precision: str,
        cost: Floats,
        price: float | None = None,
        engine: QueuedEngine | None = None,
        crawl_price: float | None = None,
    ) -> None:
        self.calendar = buckets.empty_calendar(precision)
        self.limits = Limits(np.empty(0, np.int32), np.empty(0, np.int32))
        self.cost = cost
        self.size = self.total = 0
        self._price, self._engine, self.crawl_price = price, engine, crawl_price
        self._pages = np.empty(0)  # pages an epoch and unit of cost, by number, if they are priced
        self._empty = np.empty((0, 2))  # u*/C at an empty queue and log delta, by number

    @classmethod
    def of(cls, state: State) -> Register:
        """Return the register of a saved state."""
        price = state.price if state.pages.size else None
        precision = buckets.precision_of(state.entries)
        self = cls(precision, state.cost, price, state.engine, state.crawl_price)
        self.limits, self.size, self.total = state.limits, state.entries.size, state.total
        self._pages, self._empty = state.pages, state.empty
        self._set_caps(state.entries)
        self._set_goals(state.entries)
        self.reserve(self.size)
        self._insert(state.entries, Now(state.epoch, state.level))
        return self

    def state(self, now: Now, budget: float) -> State:
        """Return the state of a scheduler, to be written to a file."""
        return State(
            self.entries(), self.cost, self.limits, now.epoch, self.total, budget, now.theta,
            self._pages, self.price, self._empty, self._engine, self.crawl_price,
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        arrays = (*self.calendar, *self.limits[:-1], self.cost, self._pages, self._empty)
        return sum(array.nbytes for array in arrays)

    def entries(self) -> NDArray[np.void]:
        """Return a copy of all entries, in any order."""
        return self._extract(np.ones(self.total, dtype=bool), leave=True)

    def reserve(self, count: int) -> None:
        """Make room for `count` sources in all."""
        self.calendar = buckets.with_room(self.calendar, count)

    @property
    def price(self) -> float:
        """Price of a page; 0 if none was given."""
        return self._price or 0.0

    def set_price(self, price: float, now: Now) -> None:
        """Set the price of pages, and the caps of all indices that follow from it."""
        if self._price is None:
            raise ValueError("price must be given to the scheduler before it can be set")
        self._price = check_number("price", price, 0, high_open=True)
        self._set_caps(self.entries())
        buckets.rebuild(self.calendar, now.epoch, now.theta, self.limits)

    def as_sources(self) -> Sources:
        """Return sources of the same limits, decays and costs, in any order."""
        entries = self.entries()
        number = entries["number"]
        cost = self.cost[number] if self.cost.size > 1 else np.full(number.size, self.cost[0])
        limit, decay = entries["limit"].astype(float), entries["decay"].astype(float)
        return Sources(decay, limit * cost, decay, cost)

    def set_crawl_price(self, price: float, now: Now) -> None:
        """Set the price of a crawl, and all due ages at it."""
        self.crawl_price = check_number("crawl_price", price, 0, high_open=True)
        self._set_goals(self.entries())
        buckets.rebuild(self.calendar, now.epoch, now.theta, self.limits)

    def _set_goals(self, entries: NDArray[np.void]) -> None:
        """Set the due ages of entries at the price of a crawl."""
        if self.crawl_price is None:
            return
        goal = _grow(self.limits.goal, self.total, np.inf)
        limit, decay = entries["limit"].astype(float), entries["decay"].astype(float)
        goal[entries["number"]] = due_ages_of(limit, decay, self.crawl_price)
        self.limits = self.limits._replace(goal=goal, crawl_price=self.crawl_price)

    @property
    def queue(self) -> int:
        """Pages waiting at the engine; 0 without an engine."""
        return self._engine.queue if self._engine else 0

    def set_queue(self, queue: int, now: Now) -> None:
        """Set the length of the queue, and the rates of all sources that follow from it."""
        if self._engine is None:
            raise ValueError("queue needs a scheduler that was given an index_rate")
        self._engine = checked_engine(self._engine.index_rate, queue)
        entries = self._extract(np.ones(self.total, dtype=bool), leave=False)
        limit, fading = self._empty[entries["number"]].T
        entries["limit"] = limit * np.exp(self.queue * fading)
        self._set_caps(entries)
        self._insert(entries, now)

    def add(
        self,
        sources: Sources,
        ages: int | ArrayLike,
        min_age: int | ArrayLike,
        max_age: int | ArrayLike | None,
        numbers: ArrayLike | None,
        budget: float,
        now: Now,
    ) -> Numbers:
        """Add sources under new numbers, or under those of removed sources."""
        count, first = len(sources), self.total
        ages = whole_numbers("ages", ages, count, 0)
        new_limits = limits(min_age, max_age, count)
        assigned = np.arange(first, first + count)
        if numbers is not None:
            assigned = self._free_numbers(numbers, count)
        cost = costs_with(self.cost, first, assigned, sources.cost)
        merged = limits_with(self.limits, first, assigned, new_limits)
        self._check_load("max_age", cost, merged.most, budget)
        unchanged = {name: getattr(self.limits, name) for name in ("cap", "goal", "crawl_price")}
        self.cost, self.limits = cost, merged._replace(**unchanged)
        self.size, self.total = self.size + count, max(first, int(assigned.max()) + 1)
        self.reserve(self.size)
        for start in range(0, count, CHUNK):
            chunk = slice(start, min(start + CHUNK, count))
            entries = np.empty(chunk.stop - start, self.calendar.pool.dtype)
            entries["number"] = assigned[chunk]
            entries["last"] = now.epoch - (ages[chunk] if ages.size > 1 else ages)
            self._rate(entries, sources.subset(chunk))
            self._insert(entries, now)
        return assigned

    def remove(self, numbers: ArrayLike, now: Now) -> None:
        """Remove sources, by number."""
        gone = self._take_out(numbers, now)
        if self.limits.most.size:
            self.limits.most[gone["number"]] = NEVER
        self.size -= gone.size

    def rerate(self, numbers: ArrayLike, sources: Sources, budget: float, now: Now) -> None:
        """Give sources new rates, utilities and costs; they keep their ages and limits."""
        numbers = np.atleast_1d(np.asarray(numbers))
        if numbers.shape != (len(sources),):
            raise ValueError(
                f"numbers must have one entry for each of the {len(sources)} sources, "
                f"got shape {numbers.shape}"
            )
        entries = self._take_out(numbers, now)
        cost = costs_with(self.cost, self.total, numbers, sources.cost)
        try:
            self._check_load("sources", cost, self.limits.most, budget)
        except ValueError:
            self._insert(entries, now)
            raise
        entries = entries[np.argsort(entries["number"])[np.argsort(np.argsort(numbers))]]
        self._rate(entries, sources)
        self.cost = cost
        self._insert(entries, now)

    def _insert(self, entries: NDArray[np.void], now: Now) -> None:
        # Entries from a file are no records yet, as the calendar's are without a compiler.
        entries = entries.view(type(self.calendar.pool))
        buckets.insert(self.calendar, entries, now.epoch, now.theta, self.limits)

    def _check_load(self, name: str, cost: Floats, most: NDArray[np.int32], budget: float) -> None:
        """Raise if maximal ages require more than before and more than the budget."""
        required, before = load(cost, most), load(self.cost, self.limits.most)
        if required > max(budget * ROOM, before):
            raise ValueError(
                f"{name} must not let maximal ages require more than the budget of "
                f"{budget:g} an epoch, got {required:g} for all sources together"
            )

    def _rate(self, entries: NDArray[np.void], sources: Sources) -> None:
        """Write the rates of entries, in the order of their sources, for the current queue."""
        if self._engine is None:
            set_rates(entries, sources)
        else:
            rate, queue = self._engine
            at_once = queued_sources(sources, rate)
            set_rates(entries, at_once)
            self._empty = _grow(self._empty, self.total, 0.0)
            limit, fading = at_once.u_star / at_once.cost, fading_per_page(sources, rate)
            self._empty[entries["number"]] = np.stack([limit, fading], axis=1)
            entries["limit"] = limit * np.exp(queue * fading)
        self._price_pages(entries, sources)
        self._set_goals(entries)

    def _price_pages(self, entries: NDArray[np.void], sources: Sources) -> None:
        """Store the pages of entries, in the order of their sources, and cap their index."""
        if self._price is None:
            return
        self._pages = _grow(self._pages, self.total, 0.0)
        self._pages[entries["number"]] = pages_per_epoch(sources)
        self._set_caps(entries)

    def _set_caps(self, entries: NDArray[np.void]) -> None:
        """Cap the index of entries at the price."""
        if self._price is None:
            return
        cap = _grow(self.limits.cap, self.total, 0.0)
        number = entries["number"]
        cap[number] = caps(entries["limit"], entries["decay"], self._pages[number], self._price)
        self.limits = self.limits._replace(cap=cap)

    def _free_numbers(self, numbers: ArrayLike, count: int) -> Numbers:
        """Return checked numbers of removed sources, one for each of `count` new ones."""
        asked = check_integers("numbers", numbers).ravel()
        if asked.shape != (count,) or np.unique(asked).size != count:
            raise ValueError(f"numbers must be {count} different integers, got {numbers!r:.200}")
        marked = np.zeros(self.total, dtype=bool)
        for number in asked.tolist():
            marked[check_integer("numbers", number, 0, self.total - 1)] = True
        if (used := self._extract(marked, leave=True)["number"]).size:
            raise ValueError(f"numbers must be those of removed sources, got {used[0]}")
        return asked

    def _extract(self, marked: NDArray[np.bool_], leave: bool) -> NDArray[np.void]:
        count = min(int(np.count_nonzero(marked)), self.size)
        out = np.empty(count, self.calendar.pool.dtype)
        return out[: buckets.extract(self.calendar, marked, out, leave)]

    def _take_out(self, numbers: ArrayLike, now: Now) -> NDArray[np.void]:
        """Remove entries from the calendar by number; raise for a number without entry."""
        chosen = np.atleast_1d(np.asarray(numbers))
        marked = np.zeros(self.total, dtype=bool)
        for number in chosen.tolist():
            if marked[check_integer("numbers", number, 0, self.total - 1)]:
                raise ValueError(f"numbers must differ, got {number} twice")
            marked[number] = True
        entries = self._extract(marked, leave=False)
        if entries.size < chosen.size:
            marked[entries["number"]] = False
            self._insert(entries, now)
            raise ValueError(f"there is no source {int(np.argmax(marked))} any more")
        return entries


def _grow(array: Floats, total: int, missing: float) -> Floats:
    """Return an array with an entry for each number up to `total`, new ones `missing`."""
    if len(array) >= total:
        return array
    return np.concatenate([array, np.full((total - len(array), *array.shape[1:]), missing)])


def checked_engine(index_rate: float | None, queue: int) -> QueuedEngine | None:
    """Return the engine of these arguments of a scheduler, None without an `index_rate`."""
    queue = check_integer("queue", queue, 0)
    if index_rate is None:
        if queue:
            raise ValueError(f"queue must be 0 without an index_rate, got {queue}")
        return None
    rate = check_positive("index_rate", index_rate)
    return QueuedEngine(rate, queue)


# Initial ages, limits and costs of new sources


def spread_ages(
    sources: Sources,
    budget: float,
    rng: Rng = None,
    *,
    subsidy: float | None = None,
    max_age: int | ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Return ages spread as they are in the long run, so that no sources begin in step.

    They are uniform between 1 and the age at which the relaxed problem crawls the source, or its
    maximal age, shape (N,): drawn, or without a generator evenly spaced (multiples of the golden
    ratio), so that also neighbours and copies begin at different ages. The due ages are those at
    the `subsidy`, by default that of the relaxed problem.
    """
    size = len(sources)
    if subsidy is None:
        sampled = sources
        if size > CHUNK:
            sampled = sources.subset(np.linspace(0, size - 1, CHUNK).astype(np.int64))
        share = float(sampled.cost.sum() / sources.cost.sum())
        budget = min(budget, float(sources.cost.sum()))
        subsidy = relaxed_problem(sampled, min(budget * share, float(sampled.cost.sum()))).subsidy
    due = np.minimum(due_ages(sources, subsidy), np.ceil(10.0 / sources.decay))
    due = np.minimum(due, NEVER if max_age is None else np.maximum(max_age, 1))
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    fraction = np.arange(1, size + 1) * golden % 1.0 if rng is None else check_rng(rng).random(size)
    return 1 + np.floor(fraction * due).astype(np.int64)


def set_rates(entries: NDArray[np.void], sources: Sources) -> None:
    """Write the rates of sources, as the index uses them, into entries of the calendar.

    ValueError if single precision cannot hold a rate.
    """
    for name, rate in (("limit", sources.u_star / sources.cost), ("decay", sources.decay)):
        with np.errstate(over="ignore", under="ignore"):
            entries[name] = rate
        stored = entries[name]
        bad = ~np.isfinite(stored) | ((rate > 0) & (stored < np.finfo(stored.dtype).tiny))
        if bad.any():
            what = "u*/C" if name == "limit" else "mu T"
            raise ValueError(
                f"sources must have {what} in the range of {stored.dtype}, got {rate[bad][0]:g}"
            )


def whole_numbers(name: str, values: ArrayLike, count: int, low: int) -> NDArray[np.int32]:
    """Return checked integers of at least `low`, one for all sources or `count` of them."""
    array = np.atleast_1d(check_array(name, values))
    if array.shape not in {(1,), (count,)}:
        raise ValueError(f"{name} must be one number or have shape ({count},), got {array.shape}")
    bad = (array < low) | (array > NEVER) | (array != np.floor(array))
    if bad.any():
        raise ValueError(f"{name} must be an integer in [{low}, {NEVER}], got {array[bad][0]:g}")
    return array.astype(np.int32)


def limits(min_age: int | ArrayLike, max_age: int | ArrayLike | None, count: int) -> Limits:
    """Return checked minimal and maximal ages; `most` is empty if there are no maximal ages."""
    least = whole_numbers("min_age", min_age, count, 0)
    if max_age is None:
        return Limits(least, np.empty(0, np.int32))
    most = whole_numbers("max_age", max_age, count, 1)
    if (above := least > most).any():
        pair = [np.broadcast_to(ages, above.shape)[above][0] for ages in (least, most)]
        raise ValueError(f"min_age must not be above max_age, got {pair[0]} and {pair[1]}")
    return Limits(least, most)


def limits_with(have: Limits, total: int, numbers: Numbers, changed: Limits) -> Limits:
    """Return the limits of all `total` sources after those of some, new or old, have changed.

    Minimal ages stay one number while they are all equal; maximal ages stay empty while there are
    none.
    """
    same = np.unique(np.append(have.least, changed.least))
    least = same if same.size == 1 else _merge(have.least, total, numbers, changed.least, 0)
    if have.most.size or changed.most.size:
        return Limits(least, _merge(have.most, total, numbers, changed.most, NEVER))
    return Limits(least, have.most)


def costs_with(costs: Floats, total: int, numbers: Numbers, changed: Floats) -> Floats:
    """Return the costs, one for all `total` sources or one each, after a change of some."""
    if costs.size == 1 and (changed == costs[0]).all():
        return costs
    return changed if total == 0 else _merge(costs, total, numbers, changed, 0)


def _merge(have: Any, total: int, numbers: Numbers, changed: Any, missing: int) -> Any:
    """Return one entry a number, after a change of some; none at all are `missing`."""
    merged = np.full(max(total, int(numbers.max()) + 1), missing, have.dtype)
    merged[:total] = have if have.size else missing
    merged[numbers] = changed if changed.size else missing
    return merged


def load(cost: Floats, most: NDArray[np.int32]) -> float:
    """Return the cost per epoch that maximal ages require, from costs and ages by number."""
    if most.size == 0:
        return 0.0
    return float(np.where(most < NEVER, cost / most, 0.0).sum())


# Prices of pages, and queues


def pages_per_epoch(sources: Sources) -> Floats:
    """Return the pages of an epoch per unit of crawl cost, shape (N,)."""
    return sources.arrival_rate * sources.period / sources.cost


def queued_sources(sources: Sources, index_rate: float, queue: int = 0) -> Sources:
    """Return the sources that are equivalent to these with the queue of an engine without limit.

    The engine indexes s = `index_rate` pages per unit of time, first come first served and the
    freshest of a crawl first; `queue` is q, the pages waiting. The content of the result at an age
    is the value of the pages of a crawl when they are indexed. ValueError if an argument is out of
    range.

    >>> seen = queued_sources(Sources([1.0], [1.0], [1.0]), 1.0, 2)
    >>> seen.mean_utility.round(3).tolist(), seen.decay_rate.tolist()
    ([0.125], [1.5])
    """
    check_kind("sources", sources, Sources)
    rate = check_positive("index_rate", index_rate)
    waits = 1.0 + check_integer("queue", queue, 0)
    return Sources(
        sources.arrival_rate,
        sources.mean_utility * np.exp(waits * fading_per_page(sources, rate)),
        sources.decay_rate * (1.0 + sources.arrival_rate / (rate + sources.decay_rate)),
        sources.cost,
        sources.period,
    )


def fading_per_page(sources: Sources, index_rate: float) -> Floats:
    """Return log delta, the log of the value that a page keeps during one indexing, shape (N,)."""
    return -np.log1p(sources.decay_rate / index_rate)


def caps(limit: Floats, decay: Floats, pages: Floats, price: float) -> Floats:
    """Return the largest index of each source at a price of pages, shape (N,).

    `limit` is u*/C, `decay` mu T, and `pages` the pages per epoch and unit of cost. The result is
    negative where no crawl is worth its pages.
    """
    limit, decay = limit.astype(float), decay.astype(float)
    owed = price * pages
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # fades: how far a page fades until it is worth its price
        fades = np.log(limit * decay) - np.log(owed)
        last = (fades + np.log(-np.expm1(-decay) / decay)) / decay
        age = np.maximum(np.ceil(last), 1.0)
        y = decay * age
        # 1 - e^{-y} - y e^{-fades} as a sum of positive terms, where it is not in the fall
        early = gammainc(2.0, y) + y * np.exp(-y) * -np.expm1(-np.maximum(fades - y, 0.0))
        best = np.where(y < fades, limit * early, -limit * np.expm1(-y) - owed * age)
    return np.where(owed == 0.0, limit, np.where(limit == 0.0, -owed, best))
