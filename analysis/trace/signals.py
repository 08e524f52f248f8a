"""Simulated pings on recorded items, and pings of a reader's own.

A recorded item is announced with the recall of its source; false pings come at constant rates. A
reader's pings are matched: a ping announces the oldest item of its source that was published within
a window before it and that no earlier ping announced; other pings are false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import Rng, check_array, check_kind, check_number, check_rng
from analysis.ephemeral.signals.model import each
from analysis.ephemeral.signals.simulation import (
    ANNOUNCED,
    FALSE,
    SILENT,
    Events,
    SignalRun,
    Trust,
    play_signals,
)
from analysis.ephemeral.tables import read_careful_csv
from analysis.trace.experiment import Experiment
from analysis.trace.trace import HOUR, WEEK, Trace


@read_only_arrays
@dataclass(frozen=True)
class Hub:
    """How items are announced in some part of the time, by source.

    `recall`, shape (N,), in [0, 1]; `false_rate`, shape (N,), false pings an hour.
    """

    recall: Floats
    false_rate: Floats

    @classmethod
    def of(cls, recall: ArrayLike, precision: ArrayLike, rate: Floats) -> Hub:
        """Return a hub of a recall and a precision, for sources of a rate of items an hour."""
        r, p = each("recall", recall, rate.size), each("precision", precision, rate.size)
        if ((r > 0) & (p == 0)).any():
            raise ValueError("precision must be above 0 where items are announced, got 0")
        false = np.divide(r * rate * (1.0 - p), p, out=np.zeros_like(r), where=r > 0)
        return cls(r, false)


def simulated_pings(
    experiment: Experiment, before: Hub, rng: Rng, after: Hub | None = None, change: float = 1.0
) -> Events:
    """Announce the items of the warm-up and test period, and add false pings.

    Parameters
    ----------
    experiment : Experiment
        Trace and periods; its first phase counts.
    before, after : Hub
        How items are announced up to the change, and after it; no change by default.
    rng : numpy.random.Generator or seed
        Source of randomness.
    change : float
        Share of the test period at which the change happens.

    Returns
    -------
    Events
        In epochs from the beginning of the warm-up.
    """
    check_kind("experiment", experiment, Experiment)
    rng = check_rng(rng)
    change = check_number("change", change, 0, 1)
    after = before if after is None else after
    time, source = recorded_items(experiment)
    clock, warm_up = experiment.clock(0)
    turn = warm_up + change * (clock.horizon - warm_up)
    recall = np.where(time < turn, before.recall[source], after.recall[source])
    kind = np.where(rng.random(time.size) < recall, ANNOUNCED, SILENT)
    times, sources = [time], [source]
    hours = experiment.period / HOUR
    for hub, begin, end in ((before, 0.0, turn), (after, turn, float(clock.horizon))):
        number = rng.poisson(hub.false_rate * hours * (end - begin))
        times.append(begin + (end - begin) * rng.random(int(number.sum())))
        sources.append(np.repeat(np.arange(len(experiment.trace)), number))
    everything = np.concatenate(times)
    false = np.full(everything.size - time.size, FALSE)
    worth = np.asarray(experiment.value)[source]
    return Events.at(
        everything,
        np.concatenate(sources),
        np.concatenate([kind, false]),
        np.concatenate([worth, np.zeros(false.size)]),
    )


def recorded_items(experiment: Experiment) -> tuple[Floats, Ints]:
    """Return time, in epochs from the warm-up's beginning, and source of the items that follow."""
    clock, _ = experiment.clock(0)
    trace = experiment.trace
    low, high = np.searchsorted(trace.time, [clock.begin, clock.end], side="right")
    return (trace.time[low:high] - clock.begin) / experiment.period, trace.source[low:high]


def play_pings(
    experiment: Experiment, events: Events, trust: Trust, hub: Ints | None = None
) -> tuple[Floats, SignalRun]:
    """Return what a policy collects in each week of the test period, and its run.

    Rates are those of training. `hub` is as in `play_signals`.
    """
    check_kind("experiment", experiment, Experiment)
    clock, warm_up = experiment.clock(0)
    sources = experiment.sources(experiment.trained)
    run = play_signals(sources, events, trust, experiment.budget, clock.horizon, hub)
    weeks = run.reward[warm_up:].reshape(-1, WEEK // experiment.period).sum(axis=1)
    return weeks, run


def read_pings(
    path: str | PathLike[str], trace: Trace, window: float = 24.0
) -> tuple[Bools, Ints, Ints]:
    """Read pings from a CSV file and match them to the items of a trace.

    Parameters
    ----------
    path : path
        CSV file, UTF-8, with the columns ``source`` and ``utc`` (ISO 8601).
    trace : Trace
        Items; pings of other sources are left out.
    window : float
        Hours before a ping within which an item was published that it may announce.

    Returns
    -------
    announced : ndarray of bool, shape (items,)
        Which items of the trace, in its order, have a ping.
    source, time : ndarray of int
        Source and second of each false ping.

    Raises
    ------
    ValueError
        If the file has not the two columns, a time cannot be read, or no ping is of a source of
        the trace.
    """
    check_kind("trace", trace, Trace)
    window = check_number("window", window, 0, low_open=True, high_open=True)
    table = read_careful_csv(path)
    if missing := [name for name in ("source", "utc") if name not in table.columns]:
        raise ValueError(f"{path} must have the columns source and utc, got no {missing[0]}")
    numbers: Mapping[str, int] = {name: n for n, name in enumerate(trace.names)}
    source = table["source"].map(numbers)
    known = source.notna().to_numpy()
    if not known.any():
        raise ValueError(f"{path} must have pings of sources of the trace, got none")
    stamps = pd.to_datetime(table["utc"][known], utc=True, errors="coerce", format="ISO8601")
    if stamps.isna().any():
        raise ValueError(f"utc of {path} must be times of ISO 8601, got one that is not")
    seconds = stamps.dt.tz_localize(None).to_numpy().astype("datetime64[s]") - trace.origin
    time = (seconds / np.timedelta64(1, "s")).astype(np.int64)
    arm = source[known].to_numpy().astype(np.int64)
    order = np.argsort(time, kind="stable")
    announced = np.zeros(trace.time.size, dtype=np.bool_)
    false = np.ones(order.size, dtype=np.bool_)
    items = [np.flatnonzero(trace.source == i) for i in range(len(trace))]
    following = np.zeros(len(trace), dtype=np.int64)
    for j in order.tolist():
        own, k = items[arm[j]], int(following[arm[j]])
        while k < own.size and trace.time[own[k]] < time[j] - window * HOUR:
            k += 1
        if k < own.size and trace.time[own[k]] <= time[j]:
            announced[own[k]], false[j] = True, False
            k += 1
        following[arm[j]] = k
    return announced, arm[false], time[false]


def own_pings(experiment: Experiment, path: str, window: float = 24.0) -> Events:
    """Return the items of a trace with the pings of a file.

    A true ping counts from the moment at which its item was published: its delay is left out.
    """
    announced, arm, time = read_pings(path, experiment.trace, window)
    clock, _ = experiment.clock(0)
    when, source = recorded_items(experiment)
    low = int(np.searchsorted(experiment.trace.time, clock.begin, side="right"))
    kind = np.where(announced[low : low + when.size], ANNOUNCED, SILENT)
    inside = (time > clock.begin) & (time < clock.end)
    late = (time[inside] - clock.begin) / experiment.period
    return Events.at(
        check_array("times", np.concatenate([when, late])),
        np.concatenate([source, arm[inside]]),
        np.concatenate([kind, np.full(late.size, FALSE)]),
        np.concatenate([np.asarray(experiment.value)[source], np.zeros(late.size)]),
    )
