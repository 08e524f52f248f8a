"""Tests of a trace against the Poisson model, by statistics of surrogate traces.

A surrogate has as many items of each source as the trace, at independent uniform times: a Poisson
process of constant rate, given its counts. A statistic of the trace outside the range of its values
on many surrogates is evidence against that process, whatever the statistic's law.

fano         variance over mean of the counts in windows, 1 for a Poisson process; median over
             sources with at least `ENOUGH` items
gaps         coefficient of variation of the gaps between items, 1 for exponential ones; median
short gaps   share of gaps shorter than a tenth of their source's mean, 1 - exp(-0.1) if exponential
day, week    length of the mean of exp(2 pi i time/cycle) over all items, near 0 without a cycle
drift        mean over sources of (first half - second half)^2 / items, 1 for a constant rate
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.arrays import Floats, Ints
from analysis.checks import Rng, check_integer, check_rng
from analysis.trace.trace import DAY, HOUR, WEEK, Trace

WINDOWS = {"a day": DAY, "a week": WEEK, "four weeks": 4 * WEEK}
ENOUGH = 20
"""Least number of items of a source for statistics of its own."""


def surrogate(trace: Trace, rng: Rng) -> Trace:
    """Draw a trace of constant rates with the same number of items of each source."""
    rng = check_rng(rng)
    return poisson_trace(trace, trace.counts(trace.begin, trace.end), rng)


def poisson_trace(trace: Trace, counts: Ints, rng: Rng) -> Trace:
    """Draw a trace of given counts at uniform times, with the names and the period of another.

    Poisson counts of the sources make a Poisson process.
    """
    rng = check_rng(rng)
    source = np.repeat(np.arange(len(trace)), counts.astype(np.intp))
    time = rng.integers(trace.begin, trace.end, source.size)
    order = np.argsort(time, kind="stable")
    return Trace(trace.names, trace.origin, source[order], time[order])


def fano_factors(trace: Trace, window: int) -> Floats:
    """Return variance over mean of the counts in windows, for the sources with `ENOUGH` items.

    The length of a window is in seconds; of fewer than two windows there is no variance: empty.
    """
    count = (trace.end - trace.begin) // window
    if count < 2:
        return np.empty(0)
    window_of = (trace.time - trace.begin) // window
    counted = window_of < count
    counts = np.zeros((len(trace), count), dtype=np.int64)
    np.add.at(counts, (trace.source[counted], window_of[counted]), 1)
    enough = counts.sum(axis=1) >= ENOUGH
    return counts[enough].var(axis=1, ddof=1) / counts[enough].mean(axis=1)


def relative_gaps(trace: Trace) -> tuple[Floats, Ints]:
    """Return gaps between items over their source's mean gap, and their sources.

    Sources with fewer than `ENOUGH` items are left out, and those whose items all come at once.
    """
    time, start = trace.by_source
    source = trace.sources_in_turn.astype(np.intp)
    enough = np.diff(start) >= ENOUGH
    enough[enough] = time[start[1:][enough] - 1] > time[start[:-1][enough]]
    inner = (np.diff(source) == 0) & enough[source[1:]]
    gap, owner = np.diff(time)[inner].astype(np.float64), source[1:][inner]
    total, count = np.bincount(owner, gap), np.bincount(owner)
    return gap / (total / np.maximum(count, 1))[owner], owner


def statistics(trace: Trace) -> dict[str, float]:
    """Compute the statistics that the module docstring lists, nan where no source has one."""
    values = {
        f"fano, {name}": _median(fano_factors(trace, window)) for name, window in WINDOWS.items()
    }
    gap, owner = relative_gaps(trace)
    count = np.bincount(owner)
    square = np.bincount(owner, (gap - 1.0) ** 2)[count > 0] / count[count > 0]
    values["gaps"] = _median(np.sqrt(square))
    values["short gaps"] = float((gap < 0.1).mean()) if gap.size else np.nan
    for name, cycle in {"day": DAY, "week": WEEK}.items():
        values[name] = float(np.abs(np.exp(2j * np.pi * (trace.time % cycle) / cycle).mean()))
    middle = (trace.begin + trace.end) // 2
    first, second = trace.counts(trace.begin, middle), trace.counts(middle, trace.end)
    active = first + second > 0
    values["drift"] = float((((first - second) ** 2)[active] / (first + second)[active]).mean())
    return values


def _median(values: Floats) -> float:
    return float(np.median(values)) if values.size else np.nan


def compare_with_surrogates(trace: Trace, number: int, rng: Rng) -> pd.DataFrame:
    """Compare each statistic with its values on at least 19 surrogates.

    The rows are statistics; the columns are ``trace``, ``low`` and ``high`` (2.5% and 97.5% of the
    surrogates) and ``p``, the two-sided Monte Carlo p-value, at least 2/(number + 1). A statistic
    that the trace or no surrogate has is nan. ValueError if no source has `ENOUGH` items, or
    `number` is out of range.
    """
    rng = check_rng(rng)
    number = check_integer("number", number, 19)
    if trace.counts(trace.begin, trace.end).max() < ENOUGH:
        raise ValueError(f"trace must have a source with at least {ENOUGH} items")
    table = pd.DataFrame({"trace": statistics(trace)})
    drawn = pd.DataFrame([statistics(surrogate(trace, rng)) for _ in range(number)])
    table["low"], table["high"] = drawn.quantile(0.025), drawn.quantile(0.975)
    above = (drawn >= table["trace"]).sum() + 1
    below = (drawn <= table["trace"]).sum() + 1
    table["p"] = np.minimum(1.0, 2.0 * np.minimum(above, below) / (number + 1))
    table.loc[table["trace"].isna() | drawn.isna().all(), :] = np.nan
    return table.rename_axis("statistic")


def hourly_shares(trace: Trace, cycle: int = DAY) -> Floats:
    """Return the share of items in each hour of a cycle from midnight UTC; a week: Thursday's."""
    hour = (trace.time % cycle) // HOUR
    return np.bincount(hour.astype(np.intp), minlength=cycle // HOUR) / trace.time.size
