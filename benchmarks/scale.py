"""Ten million sources: an epoch of the calendar against looking at every source.

The sources differ in all their rates, a hundredth of them is crawled in every epoch, and all sides
are timed in turn within one run, after the calendar has settled.

``python -m benchmarks.scale`` measures this at thousands to ten million sources and writes the
table that the book draws, `RESULTS`, in units of one bare pass over the same number of sources. The
rows of the book's benchmarks that compare the same times take them from this table.
"""

from __future__ import annotations

import csv
import heapq
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numba import njit
from pyarrow.parquet import ParquetWriter

from analysis.ephemeral import Sources
from analysis.ephemeral.index import h
from analysis.ephemeral.instances import lognormal_sources
from analysis.ephemeral.lagrangian import PricedSources
from analysis.ephemeral.scheduler import MEASURED
from analysis.ephemeral.scheduler.calendar import shares
from analysis.ephemeral.scheduler.contents import ObservedScheduler, PingedScheduler
from analysis.ephemeral.scheduler.core import Scheduler, scheduler_from_parquet
from analysis.ephemeral.scheduler.register import spread_ages
from benchmarks._timing import best, row

N, LARGE = 10_000_000, 100_000_000
CRAWLED = 100  # one source in so many is crawled in an epoch
SIZES = (10**3, 3 * 10**3, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7)
RESULTS = MEASURED / "scale.csv"
# passes: time of an epoch over that of a bare pass; bytes: what the calendar holds for a source.
TABLE_COLUMNS = ("sources", "budget", "way", "passes", "bytes", "cpus")
PRINTED, PASS = "printed formula and argpartition", "one bare pass, alpha x + u"


def rows() -> Iterator[dict[str, Any]]:
    """Yield one comparison after another."""
    yield from epoch_rows(N)
    yield exact_row(N // 10, 1000, "spread")
    yield exact_row(N // 10, 1000, "alike")
    yield rounded_row(N // 10, 200)
    yield large_row(LARGE)
    yield loading_row(N // 10)
    yield ping_row(N // 10)
    yield lagrangian_row(N)


def epoch_rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield the calendar and the scan against the others."""
    times, held = epoch_times(count)
    epoch = {name: min(taken) for name, taken in times.items()}
    size = f"N = {count:.0e}, M = {count // CRAWLED:.0e}, {held:.0f} bytes a source"
    calendar_name = "epoch of the calendar"
    yield row(calendar_name, epoch["calendar"], PRINTED, epoch["printed"], size)
    yield row(calendar_name, epoch["calendar"], "compiled full ranking", epoch["ranking"], size)
    yield row(calendar_name, epoch["calendar"], PASS, epoch["pass"], size)
    yield row("threshold scan of content", epoch["scan"], PRINTED, epoch["printed"], size)


def epoch_times(
    count: int, settle: int = 200, rounds: int = 15
) -> tuple[dict[str, list[float]], float]:
    """Time an epoch each way, one after the other, so many times.

    Returns the seconds of every way, and the bytes a source that the calendar holds.
    """
    rng = np.random.default_rng(0)
    sources, budget = lognormal_sources(count, rng), count // CRAWLED
    calendar = Scheduler(sources, budget, spread_ages(sources, budget, rng))
    for _ in range(settle):
        calendar.crawl()
    state = sources.state_at_age(calendar.ages)
    scan = ObservedScheduler(sources, budget, state)
    for _ in range(2):
        scan.crawl(sources.u)
    passing, age = state.copy(), calendar.ages
    bend, rank = h(sources.decay), np.empty(count)
    move_on(passing, sources.alpha, sources.u)
    more = max(1, 10**5 // count)  # a short epoch is timed over many
    ways: dict[str, tuple[Callable[[], Any], int]] = {
        "calendar": (calendar.crawl, 16 * more),
        "scan": (lambda: scan.crawl(sources.u), more),
        "pass": (lambda: move_on(passing, sources.alpha, sources.u), 3 * more),
        "printed": (lambda: printed_epoch(state, sources, budget), more),
        "ranking": (lambda: ranked_epoch(age, sources, bend, rank, budget), more),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds):
        for name, (way, repeats) in ways.items():
            if name in ("printed", "ranking") and turn % 5:
                continue
            start = perf_counter()
            for _ in range(repeats):
                way()
            times[name].append((perf_counter() - start) / repeats)
    return times, calendar.nbytes / count


def write_table(path: Path = RESULTS) -> None:
    """Measure at all `SIZES` and write times in units of one bare pass.

    Of the turns of each way the shortest counts: other work on the machine only ever adds time.
    """
    table = []
    for count in SIZES:
        times, held = epoch_times(count)
        for way in ("printed", "scan", "calendar"):
            passes = min(times[way]) / min(times["pass"])
            start = [count, count // CRAWLED, way, f"{passes:.3g}", f"{held:.1f}"]
            table.append([*start, len(os.sched_getaffinity(0))])
            print(*table[-1], flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([TABLE_COLUMNS, *table])


def carry_over(table: Path = RESULTS, benchmarks: Path = MEASURED / "benchmarks.csv") -> None:
    """Write the ratios that follow from the times of `N` sources in a table into the benchmarks."""
    times = pd.read_csv(table).query("sources == @N").set_index("way")["passes"]
    ratios = {
        ("epoch of the calendar", PRINTED): times["printed"] / times["calendar"],
        ("epoch of the calendar", PASS): 1 / times["calendar"],
        ("threshold scan of content", PRINTED): times["printed"] / times["scan"],
    }
    rows = pd.read_csv(benchmarks, dtype=str, keep_default_na=False)
    for (name, peer), ratio in ratios.items():
        rows.loc[rows["name"].eq(name) & rows["peer"].eq(peer), "ratio"] = f"{ratio:.3g}"
    rows.to_csv(benchmarks, index=False, lineterminator="\r\n")


def exact_row(count: int, epochs: int, ages: str) -> dict[str, Any]:
    """Hold every crawl against a full ranking, from ages that are spread or all alike."""
    rng = np.random.default_rng(1)
    sources, budget = lognormal_sources(count, rng), count // CRAWLED
    age = np.ones(count, np.int64) if ages == "alike" else spread_ages(sources, budget, rng)
    calendar = Scheduler(sources, budget, age)
    calendar.crawl(0)  # sorts the calendar; nothing is crawled
    age += 1
    bend = h(sources.decay)
    rank = np.empty(count)
    ours = theirs = 0.0
    equal = 0
    for _ in range(epochs):
        start = perf_counter()
        numbers, _ = calendar.crawl()
        middle = perf_counter()
        expected = ranked_epoch(age, sources, bend, rank, budget)
        end = perf_counter()
        equal += np.array_equal(np.sort(numbers), np.sort(expected))
        ours, theirs = ours + middle - start, theirs + end - middle
    note = f"N = {count:.0e}, ages {ages}; same sources crawled in {equal} of {epochs} epochs"
    return row(
        "epoch of the calendar", ours / epochs, "compiled full ranking", theirs / epochs, note
    )


def rounded_row(count: int, epochs: int) -> dict[str, Any]:
    """Hold crawls with rates in single precision against full rankings at rounded and full rates.

    All three see the same ages: those that the crawls have made.
    """
    rng = np.random.default_rng(1)
    sources, budget = lognormal_sources(count, rng), count // CRAWLED
    age = spread_ages(sources, budget, rng)
    calendar = Scheduler(sources, budget, age, precision="single")
    limits, decays = (
        [values, values.astype(np.float32).astype(float)]
        for values in (sources.u_star, sources.decay)
    )
    rates = list(zip(limits, decays, [h(decay) for decay in decays], strict=True))
    rank = np.empty(count)
    times: list[tuple[float, float]] = []
    equal = others = 0
    for _ in range(epochs):
        start = perf_counter()
        numbers, _ = calendar.crawl()
        middle = perf_counter()
        full, rounded = (np.sort(largest(*known, age, rank, budget)) for known in rates)
        end = perf_counter()
        equal += np.array_equal(np.sort(numbers), rounded)
        others += budget - np.intersect1d(numbers, full, assume_unique=True).size
        age += 1
        age[numbers] = 1
        times.append((middle - start, 0.5 * (end - middle)))
    note = (
        f"N = {count:.0e}; same sources crawled in {equal} of {epochs} epochs as by rates rounded "
        f"to single precision, and all but {others / epochs:.2g} of {budget} as by full rates"
    )
    ours, theirs = np.median(times, axis=0)
    name = "epoch of the calendar in single precision"
    return row(name, ours, "compiled full ranking", theirs, note)


def large_row(count: int, settle: int = 150, rounds: int = 20) -> dict[str, Any]:
    """Load sources in single precision from a Parquet file, settle, and time an epoch.

    The bare pass goes over a tenth of the sources, ten times.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sources.parquet"
        write_sources(path, count)
        start = perf_counter()
        calendar = scheduler_from_parquet(path, count // CRAWLED)
        loading = perf_counter() - start
    for _ in range(settle):
        calendar.crawl()
    state, alpha, u = np.ones(count // 10), np.full(count // 10, 0.5), np.ones(count // 10)
    ours, _ = best(calendar.crawl, rounds)
    theirs, _ = best(lambda: move_on(state, alpha, u), rounds)
    note = (
        f"N = {count:.0e}, M = {count // CRAWLED:.0e}, {calendar.nbytes / count:.1f} bytes a "
        f"source; loaded from Parquet in the time of {loading / (10 * theirs):.0f} passes"
    )
    name = "epoch of the calendar in single precision"
    return row(name, ours, PASS, 10 * theirs, note)


def write_sources(path: Path, count: int, rows: int = 2**20) -> None:
    """Write sources as `lognormal_sources` draws them, with spread ages, a part at a time."""
    kinds = dict.fromkeys(("arrival_rate", "mean_utility", "decay_rate"), pa.float32())
    schema = pa.schema([*kinds.items(), ("age", pa.int32())])
    rng = np.random.default_rng(4)
    with ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, count, rows):
            part = lognormal_sources(min(rows, count - first), rng)
            age = spread_ages(part, len(part) / CRAWLED, rng)
            columns = [getattr(part, name).astype(np.float32) for name in kinds]
            writer.write_table(pa.table([*columns, age.astype(np.int32)], schema=schema))


def loading_row(count: int) -> dict[str, Any]:
    """Load sources from a CSV file, checked and named, against pandas' reader alone."""
    sources = lognormal_sources(count, np.random.default_rng(2))
    rates = ("arrival_rate", "mean_utility", "decay_rate")
    table = pd.DataFrame({"name": sources.names} | {c: getattr(sources, c) for c in rates})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sources.csv"
        table.to_csv(path, index=False)
        ours, _ = best(lambda: Sources.from_csv(path), 3)
        theirs, _ = best(lambda: pd.read_csv(path), 3)
    return row("Sources.from_csv", ours, "pandas.read_csv, no checks", theirs, f"N = {count:.0e}")


def lagrangian_row(count: int, settle: int = 100, rounds: int = 6) -> dict[str, Any]:
    """Time an epoch in order of the Lagrangian index, at a tuned price, against a full ranking.

    The shortest of the rounds counts on both sides, which crawl the same sources.
    """
    rng = np.random.default_rng(6)
    sources, budget = lognormal_sources(count, rng), count // CRAWLED
    age = spread_ages(sources, budget, rng)
    calendar = Scheduler(sources, budget, age, priority="lagrangian", tune_price=True)
    for _ in range(settle):  # a multiple of the epochs from one price to the next
        calendar.crawl()
    priced = PricedSources(sources, calendar.crawl_price)
    age, times, equal = calendar.ages, [], 0
    for _ in range(rounds):
        start = perf_counter()
        full = np.argpartition(-priced.index(age), budget)[:budget]
        middle = perf_counter()
        numbers, _ = calendar.crawl()
        times.append((perf_counter() - middle, middle - start))
        equal += np.array_equal(np.sort(numbers), np.sort(full))
        age += 1
        age[numbers] = 1
    ours, theirs = np.min(times, axis=0)
    note = (
        f"N = {count:.0e}, M = {count // CRAWLED:.0e}, {calendar.nbytes / count:.0f} bytes a "
        f"source; same sources crawled in {equal} of {rounds} epochs"
    )
    name = "epoch of the calendar by the Lagrangian index"
    return row(name, ours, "compiled indices and argpartition", theirs, note)


def ping_row(count: int, epochs: int = 200, pings: int = 200_000) -> dict[str, Any]:
    """Time pings to a settled scheduler against an update and a push to a heap of the library.

    The peer's heap takes a new entry at each ping that moves its source forward, and leaves the
    old one in place; the scheduler's has one entry a source.
    """
    rng = np.random.default_rng(5)
    sources, budget = lognormal_sources(count, rng), count // CRAWLED
    scheduler = PingedScheduler(sources, budget, recall=0.5)
    for _ in range(epochs):
        scheduler.ping(rng.integers(0, count, budget), 0.2)
        scheduler.crawl()
    arms, share = rng.integers(0, count, pings), np.full(pings, 0.2)
    ours, _ = best(lambda: scheduler.ping(arms, share), 5)
    steady, level = scheduler._heap.steady.tolist(), scheduler._level.tolist()
    decay, jump = sources.decay.tolist(), (0.2 * sources.mean_utility).tolist()
    worth, due, epoch = scheduler.worth.tolist(), scheduler.due.tolist(), scheduler.epoch
    heap = [(when, arm) for arm, when in enumerate(due)]
    heapq.heapify(heap)

    def push() -> None:
        for i in arms.tolist():
            worth[i] += jump[i]
            if worth[i] >= level[i]:
                sooner = epoch
            elif level[i] >= steady[i]:
                continue
            else:
                wait = math.log((steady[i] - worth[i]) / (steady[i] - level[i])) / decay[i]
                sooner = epoch + math.ceil(wait)
            if sooner < due[i]:
                due[i] = sooner
                heapq.heappush(heap, (sooner, i))

    theirs, _ = best(push, 3)
    note = f"N = {count:.0e}; {pings / ours:.2g} pings/s"
    name = "a ping to the calendar of pinged sources"
    return row(name, ours / pings, "Python's heapq, an entry a ping", theirs / pings, note)


def printed_epoch(state: np.ndarray, sources: Sources, budget: int) -> None:
    """Theorem 1 as it is printed, for all sources, and the largest indices."""
    alpha, u, u_star = sources.alpha, sources.u, sources.u_star
    left = np.maximum(1.0 - state / u_star, 1e-300)
    eta = np.ceil(np.maximum(np.log(left) / np.log(alpha), 0.0))
    index = (eta * ((1.0 - alpha) * state - u) + u_star * (1.0 - alpha**eta)) / sources.cost
    chosen = np.argpartition(index, index.size - budget)[index.size - budget :]
    state[chosen] = 0.0
    move_on(state, alpha, u)


def ranked_epoch(
    age: np.ndarray, sources: Sources, bend: np.ndarray, rank: np.ndarray, budget: int
) -> np.ndarray:
    """Rank all sources by their ages in one compiled pass, crawl the first, and let all age."""
    chosen = largest(sources.u_star, sources.decay, bend, age, rank, budget)
    age += 1
    age[chosen] = 1
    return chosen


def largest(
    limit: np.ndarray,
    decay: np.ndarray,
    bend: np.ndarray,
    age: np.ndarray,
    rank: np.ndarray,
    budget: int,
) -> np.ndarray:
    """Return the sources with the largest indices: partial sort of the values, then one look."""
    rank_all(limit, decay, bend, age, rank)
    cut = np.partition(rank, rank.size - budget)[rank.size - budget]
    return np.flatnonzero(rank >= cut)[:budget]


@njit(cache=True)
def move_on(state: np.ndarray, alpha: np.ndarray, u: np.ndarray) -> None:
    """Read three arrays and write one: what any scheme that touches every source pays."""
    for i in range(state.size):
        state[i] = alpha[i] * state[i] + u[i]


@njit(cache=True)
def rank_all(
    limit: np.ndarray, decay: np.ndarray, bend: np.ndarray, age: np.ndarray, rank: np.ndarray
) -> None:
    """Index of every source, in one compiled pass."""
    for i in range(rank.size):
        rank[i] = limit[i] * shares(decay[i], bend[i], float(age[i]))[0]


if __name__ == "__main__":
    write_table()
    carry_over()
