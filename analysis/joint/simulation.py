r"""Crawler and engine in continuous time, page by page, in several orders of indexing.

Each source publishes pages at times of a Poisson process. At each epoch a policy that sees the ages
and the length of the queue crawls; pages join as far as there is room. The engine completes pages
at the times of a Poisson process of rate s, as long as it has any: the same law as exponential
times of indexing, as these have no memory. Pages and times of completion do not depend on policy,
order or number of places, so that runs from one seed have common random numbers.

Orders of indexing, the next page taken when one is completed (or, pre-emptively, which one is
completed):

    first   first come first served; of one crawl the freshest first
    last    latest crawl first, of one crawl the freshest first
    worth   the largest worth xi e^{-mu t} at that time
    loss    the largest mu xi e^{-mu t}, the rate at which worth is lost by waiting

A page that finds no room is lost, the stalest of a crawl before fresher ones; with `push_out` the
page is lost instead that the order would take last. First come first served, nothing is pushed out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_rng,
    check_whole,
    set_fields,
    shown,
)
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.joint.index import (
    INDICES,
    Engine,
    best_queued_window,
    best_window,
    check_boolean,
    frozen_index,
    priced_index,
)
from analysis.kernel_cache import njit


class Order(IntEnum):
    """Which page is indexed next; see `analysis.joint.simulation`."""

    FIRST = 0
    LAST = 1
    WORTH = 2
    LOSS = 3


@njit
def _priority(order: int, log_worth: float, rank: int, decay: float, now: float) -> float:
    """Return how early a page is taken: the larger, the earlier."""
    if order == Order.FIRST:
        return -float(rank)
    if order == Order.LAST:
        return float(rank)
    value = log_worth - decay * now
    return value if order == Order.WORTH else value + np.log(decay)


@njit
def _extreme_source(
    order: int, best: bool, log_worth: Floats, rank: Ints, head: Ints, count: Ints, decay: Floats,
    now: float,
) -> int:  # fmt: skip
    """Return the source of the page taken next (or last, unless `best`), -1 if there is none."""
    source, extreme = -1, 0.0
    size = log_worth.shape[1]
    for i in range(count.size):
        if count[i] > 0:
            # A list runs from early to late pages: first come first served takes its head.
            position = (
                head[i] if best == (order == Order.FIRST) else (head[i] + count[i] - 1) % size
            )
            value = _priority(order, log_worth[i, position], rank[i, position], decay[i], now)
            if source < 0 or (value > extreme) == best:
                source, extreme = i, value
    return source


@njit
def _take_next(order: int, i: int, log_worth: Floats, head: Ints, count: Ints) -> float:
    """Take the next page of a source off its list and return the logarithm of its worth."""
    size = log_worth.shape[1]
    count[i] -= 1
    if order == Order.FIRST:
        position = head[i]
        head[i] = (head[i] + 1) % size
    else:
        position = (head[i] + count[i]) % size
    return float(log_worth[i, position])


@njit
def _choose(
    queue: int, age: Ints, queues: Ints, index: Floats, budget: int, chosen: Ints
) -> tuple[int, int, float]:
    """Write the sources of the largest positive index to `chosen`; return how many, and a place.

    The place in the table of indices is a row and the weight of the next one.
    """
    row = 0
    while row + 2 < queues.size and queues[row + 1] <= queue:
        row += 1
    weight = 0.0
    if queues.size > 1:
        weight = min(1.0, (queue - queues[row]) / (queues[row + 1] - queues[row]))
    number = 0
    score = np.empty(age.size)
    for i in range(age.size):
        k = min(age[i], index.shape[1]) - 1
        score[i] = index[row, k, i]
        if weight > 0.0:
            score[i] += weight * (index[row + 1, k, i] - index[row, k, i])
    while number < budget:
        best = -1
        for i in range(age.size):
            if score[i] > 0.0 and (best < 0 or score[i] > score[best]):
                best = i
        if best < 0:
            break
        score[best] = -1.0
        chosen[number] = best
        number += 1
    return number, row, weight


class _Pages(NamedTuple):
    """Pages of all sources: those of source i were published at births[starts[i] : starts[i + 1]].

    A page of source i is worth exp(log_worth[i] - decay[i] * its age).
    """

    births: Floats
    starts: Ints
    decay: Floats
    log_worth: Floats


class _Timing(NamedTuple):
    """Length of an epoch, epochs that do not count, and all epochs."""

    period: float
    warm_up: int
    epochs: int


class _Crawling(NamedTuple):
    """The tables of a `QueuedIndex`, and the crawls allowed in an epoch."""

    queues: Ints
    indices: Floats
    window: Floats
    stop: int
    budget: int


class _Indexing(NamedTuple):
    """Places of the queue, and the order in which its pages are indexed and pushed out."""

    places: int
    order: int
    preempt: bool
    push_out: bool


@njit
def _play(
    pages: _Pages, completions: Floats, timing: _Timing, crawling: _Crawling, indexing: _Indexing,
    totals: Floats, crawls: Floats,
) -> None:  # fmt: skip
    """Simulate epochs; add reward, indexed, lost, queue and idle completions to `totals`.

    The logarithm of a page's worth is stored as of time 0, so that a comparison of two pages at any
    time takes one subtraction each, and no page is touched while it waits.
    """
    births, starts, decay, first_log_worth = pages
    period, warm_up, epochs = timing
    queues, index, window, stop, budget = crawling
    places, order, preempt, push_out = indexing
    sources = decay.size
    size = places + 1
    log_worth, rank = np.empty((sources, size)), np.empty((sources, size), np.int64)
    head, count = np.zeros(sources, np.int64), np.zeros(sources, np.int64)
    age = np.ones(sources, np.int64)
    next_birth, last_crawl = starts[:-1].copy(), np.zeros(sources)
    chosen = np.empty(budget, np.int64)
    serving, serving_worth = -1, 0.0
    queue, joined, event = 0, 0, 0
    # Time counts from one period before the first epoch; the queue is empty until then.
    while event < completions.size and completions[event] < period:
        event += 1
    for epoch in range(epochs):
        now = (epoch + 1) * period
        counts = epoch >= warm_up
        if counts:
            totals[3] += queue
        if queue <= stop:
            number, row, weight = _choose(queue, age, queues, index, budget, chosen)
            for turn in range(number):
                i = chosen[turn]
                if counts:
                    crawls[i] += 1.0
                wide = window[row, i]
                if weight > 0.0:
                    wide += weight * (window[row + 1, i] - wide)
                oldest = max(last_crawl[i], now - wide)
                end = next_birth[i]
                while end < starts[i + 1] and births[end] < now:
                    end += 1
                # Pages before the window are never taken: at the next crawl they are older still.
                begin = next_birth[i]
                while begin < end and births[begin] < oldest:
                    begin += 1
                next_birth[i], last_crawl[i], age[i] = end, now, 0
                # Without pushing out, the stalest pages of a crawl find no room.
                if not push_out and end - begin > places - queue:
                    if counts:
                        totals[2] += end - begin - (places - queue)
                    begin = end - (places - queue)
                # Last come first served takes the end of a list: the freshest page joins last.
                for n in range(end - begin):
                    page = end - 1 - n if order == Order.FIRST else begin + n
                    position = (head[i] + count[i]) % size
                    log_worth[i, position] = first_log_worth[i] + decay[i] * births[page]
                    rank[i, position] = joined
                    joined += 1
                    count[i] += 1
                    queue += 1
                    if queue > places:
                        out = _extreme_source(
                            order, False, log_worth, rank, head, count, decay, now
                        )
                        head[out] = (head[out] + 1) % size
                        count[out] -= 1
                        queue -= 1
                        if counts:
                            totals[2] += 1.0
        age += 1
        # Completions of this epoch; without preemption the page in service was chosen earlier.
        if serving < 0 and queue > 0 and not preempt:
            serving = _extreme_source(order, True, log_worth, rank, head, count, decay, now)
            serving_worth = _take_next(order, serving, log_worth, head, count)
        while event < completions.size and completions[event] < now + period:
            time = completions[event]
            event += 1
            if queue == 0:
                if counts:
                    totals[4] += 1.0
                continue
            if preempt:
                serving = _extreme_source(order, True, log_worth, rank, head, count, decay, time)
                serving_worth = _take_next(order, serving, log_worth, head, count)
            if counts:
                totals[0] += np.exp(serving_worth - decay[serving] * time)
                totals[1] += 1.0
            queue -= 1
            serving = -1
            if queue > 0 and not preempt:
                serving = _extreme_source(order, True, log_worth, rank, head, count, decay, time)
                serving_worth = _take_next(order, serving, log_worth, head, count)


ORDERS_OF_INDEXING = tuple(order.name.lower() for order in Order)
MOST_EVENTS = 50_000_000
"""Pages and completions of one run, on average at most."""


@brief
@read_only_arrays
@dataclass(frozen=True)
class QueuedIndex:
    """An index policy as a table: index and window by the length of the queue.

    Attributes
    ----------
    queues : ndarray of int, shape (G,)
        Lengths of the queue, rising from 0; the index between two of them is interpolated.
    index : ndarray, shape (G, A, N)
        Index of each source at ages 1 to A; older ones count as of age A.
    window : ndarray, shape (G, N)
        Age in units of time up to which a crawl takes pages; at most A epochs.
    stop : int
        Length of the queue above which nothing is crawled.

    Raises
    ------
    ValueError
        If the queues do not rise from 0, a shape differs, or a number is out of range.
    """

    queues: Ints
    index: Floats = field(repr=False)
    window: Floats = field(repr=False)
    stop: int

    def __post_init__(self) -> None:
        queues, index = check_integers("queues", self.queues), check_array("index", self.index)
        window = check_array("window", self.window, 0)
        if queues.ndim != 1 or queues[:1].tolist() != [0] or (np.diff(queues) <= 0).any():
            raise ValueError(f"queues must be whole numbers from 0 on, rising, got {shown(queues)}")
        if index.ndim != 3 or index.shape[0] != queues.size or 0 in index.shape:
            raise ValueError(f"index must have shape ({queues.size}, A, N), got {index.shape}")
        if window.shape != (queues.size, index.shape[2]):
            shape = queues.size, index.shape[2]
            raise ValueError(f"window must have shape {shape}, got {window.shape}")
        stop = check_integer("stop", self.stop, 0)
        set_fields(self, queues=queues, index=index, window=window, stop=stop)


@read_only_arrays
@dataclass(frozen=True)
class JointRun:
    """What one run earned after its warm-up.

    Attributes
    ----------
    average_reward : float
        Worth of pages when they were indexed, per epoch.
    indexed, lost : float
        Pages per epoch that were indexed, and that found no room or were pushed out.
    queue : float
        Mean length of the queue just before an epoch.
    idle : float
        Share of the engine's completions that found nothing to index.
    frequency : ndarray, shape (N,)
        Crawls per epoch of each source.
    """

    average_reward: float
    indexed: float
    lost: float
    queue: float
    idle: float
    frequency: Floats = field(repr=False)


def queued_index(
    sources: Sources,
    engine: Engine,
    index: str = "frozen",
    *,
    price: float = 0.0,
    fresh: bool = False,
    ages: int = 40,
    queues: ArrayLike | None = None,
    stop: int | None = None,
) -> QueuedIndex:
    """Return an index policy as a table, for `simulate_engine`.

    Parameters
    ----------
    sources : Sources
        N sources.
    engine : Engine
        The engine.
    index : {"blind", "priced", "frozen"}
        That of part I; with a price a page; with a price and the length of the queue.
    price : float
        Price of a page, not negative; of no effect on "blind".
    fresh : bool
        Whether crawls take the pages of the best window at the price, or all.
    ages : int
        Largest age A in epochs; crawls take no pages of more than A epochs.
    queues : array_like of int, optional
        Lengths of the queue at which the index is computed, from 0 to K rising; those between are
        interpolated. 21 of them by default, or all where there are fewer.
    stop : int, optional
        Length of the queue above which nothing is crawled; K by default, never.

    Returns
    -------
    QueuedIndex

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> queued_index(four_sources(), Engine(500.0, 800), ages=2, queues=[0, 800]).index.shape
    (2, 2, 4)
    """
    check_kind("sources", sources, Sources)
    check_kind("engine", engine, Engine)
    check_choice("index", index, INDICES)
    price = check_number("price", price, 0, high_open=True)
    fresh = check_boolean("fresh", fresh)
    places = engine.places
    lengths = np.linspace(0, places, min(places, 20) + 1).round() if queues is None else queues
    grid = check_array("queues", lengths, 0, places)
    if grid.ndim != 1 or grid[:1].tolist() != [0] or (np.diff(grid) <= 0).any() or (grid % 1).any():
        raise ValueError(f"queues must be whole numbers from 0 on, rising, got {grid.tolist()}")
    age = np.arange(1, check_integer("ages", ages, 1, 10_000) + 1)[:, None] * np.ones(len(sources))
    if index == "frozen":
        table = [frozen_index(sources, engine, age, int(q), price=price, fresh=fresh) for q in grid]
    elif index == "priced":
        table = [priced_index(sources, age, price, fresh)] * grid.size
    else:
        table = [whittle_index_at_age(sources, age)] * grid.size
    window = np.full((grid.size, len(sources)), ages * sources.period)
    if fresh and price > 0 and index != "blind":
        for row, q in zip(window, grid, strict=True):
            best = best_window(sources, price)
            if index == "frozen":
                best = best_queued_window(sources, engine, int(q), price, float(row[0]))
            np.minimum(row, best, out=row)
    return QueuedIndex(
        queues=grid.astype(np.int64),
        index=np.array(table),
        window=window,
        stop=check_integer("stop", places if stop is None else stop, 0, places),
    )


def check_events(sources: Sources, engine: Engine, epochs: int) -> None:
    """Refuse a run of `simulate_engine` with more pages and completions than memory holds."""
    rates = np.append(sources.arrival_rate, engine.index_rate)
    expected = float(rates.sum()) * sources.period * (epochs + 1)
    if expected > MOST_EVENTS:
        raise ValueError(
            f"horizon and warm_up must leave at most {MOST_EVENTS:.0e} pages and completions, "
            f"got {expected:.2g} in {epochs} epochs of {sources.period:g} with an index_rate of "
            f"{engine.index_rate:g}"
        )


def simulate_engine(
    sources: Sources,
    engine: Engine,
    policy: QueuedIndex,
    budget: int,
    horizon: int,
    *,
    order: str = "first",
    preempt: bool = False,
    push_out: bool = False,
    warm_up: int = 0,
    rng: Rng,
) -> JointRun:
    """Run crawler and engine page by page, from ages of one epoch and an empty queue.

    Parameters
    ----------
    sources : Sources
        N sources, with costs of 1.
    engine : Engine
        The engine.
    policy : QueuedIndex
        What is crawled: the `budget` sources of the largest positive index.
    budget : int or whole float
        Crawls per epoch at most, M, from 1 to N.
    horizon : int
        Epochs that count.
    order : {"first", "last", "worth", "loss"}
        Order of indexing.
    preempt : bool
        Whether a page that comes before another in the order is indexed before one that the engine
        has begun.
    push_out : bool
        Whether a full buffer loses the page that the order takes last, or the page that arrives.
    warm_up : int
        Epochs before those that count.
    rng : numpy.random.Generator or seed
        Source of the pages and completions; a run from the same state has the same ones.

    Returns
    -------
    JointRun

    Raises
    ------
    ValueError
        If an argument is out of range or a run has more than `MOST_EVENTS` events.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> sources, engine = four_sources(), Engine(500.0, 800)
    >>> policy = queued_index(sources, engine, "blind")
    >>> run = simulate_engine(sources, engine, policy, 1, 50, rng=np.random.default_rng(1))
    >>> run.average_reward < 260.4
    True
    """
    check_kind("sources", sources, Sources)
    check_kind("engine", engine, Engine)
    check_kind("policy", policy, QueuedIndex)
    rng = check_rng(rng)
    check_unit_costs(sources)
    if policy.index.shape[2] != len(sources):
        raise ValueError(f"policy must be of {len(sources)} sources, got {policy.index.shape[2]}")
    budget = check_whole("budget", budget, 1, len(sources))
    horizon = check_integer("horizon", horizon, 1)
    warm_up = check_integer("warm_up", warm_up, 0)
    order = check_choice("order", order, ORDERS_OF_INDEXING)
    epochs = horizon + warm_up
    check_events(sources, engine, epochs)
    rates = np.append(sources.arrival_rate, engine.index_rate)
    # Time counts from the crawls before epoch 0, one period earlier.
    length = sources.period * (epochs + 1)
    streams = rng.spawn(len(rates))
    times = [event_times(stream, rate, length) for stream, rate in zip(streams, rates, strict=True)]
    with np.errstate(divide="ignore"):
        log_worth = np.log(sources.mean_utility)
    totals, crawls = np.zeros(5), np.zeros(len(sources))
    starts = np.cumsum([0, *map(len, times[:-1])])
    push_out = check_boolean("push_out", push_out) and order != "first"
    preempt = check_boolean("preempt", preempt)
    _play(
        _Pages(np.concatenate(times[:-1]), starts, sources.decay_rate, log_worth),
        times[-1],
        _Timing(sources.period, warm_up, epochs),
        _Crawling(policy.queues, policy.index, policy.window, policy.stop, budget),
        _Indexing(engine.places, Order[order.upper()].value, preempt, push_out),
        totals,
        crawls,
    )
    earned, indexed, lost, queue, idle = totals
    return JointRun(
        average_reward=float(earned / horizon),
        indexed=float(indexed / horizon),
        lost=float(lost / horizon),
        queue=float(queue / horizon),
        idle=float(idle / max(indexed + idle, 1.0)),
        frequency=crawls / horizon,
    )


def event_times(rng: np.random.Generator, rate: float, length: float) -> Floats:
    """Return the times of a Poisson process, rising: its gaps are exponential, given their sum."""
    gaps = rng.standard_exponential(rng.poisson(rate * length) + 1)
    times = np.cumsum(gaps)
    return times[:-1] * (length / times[-1])
