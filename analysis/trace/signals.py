"""Simulated pings on recorded items, and pings of a reader's own.

A recorded item is announced with the recall of its source; false pings come at constant rates. A
reader's pings are matched to the items: see `read_pings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_kind,
    check_number,
    check_positive,
    check_rng,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.signals.model import check_shares
from analysis.ephemeral.signals.simulation import (
    ANNOUNCED,
    FALSE,
    SILENT,
    Events,
    SignalRun,
    Trust,
    play_signals,
)
from analysis.trace.experiment import Experiment
from analysis.trace.trace import (
    DUPLICATES,
    HOUR,
    WEEK,
    Repair,
    Trace,
    parse_now,
    read_rows,
    repair_rows,
)


@read_only_arrays
@dataclass(frozen=True)
class Hub:
    """How items are announced in some part of the time, by source.

    `recall`, shape (N,), in [0, 1]; `false_rate`, shape (N,), false pings an hour.
    """

    recall: Floats
    false_rate: Floats

    def __post_init__(self) -> None:
        recall, false_rate = check_array("recall", self.recall, 0, 1), self.false_rate
        set_fields(self, recall=recall, false_rate=check_array("false_rate", false_rate, 0))
        if self.recall.ndim != 1 or self.false_rate.shape != self.recall.shape:
            raise ValueError(
                f"false_rate must have shape (N,) as recall, got {self.false_rate.shape}"
            )

    @classmethod
    def of(cls, recall: ArrayLike, precision: ArrayLike, rate: Floats) -> Hub:
        """Return a hub of a recall and a precision, for sources of a rate of items an hour."""
        r = check_shares("recall", recall, rate.size)
        p = check_shares("precision", precision, rate.size)
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
    for name, hub in (("before", before), ("after", after)):
        check_kind(name, hub, Hub)
        if hub.recall.size != len(experiment.trace):
            size = len(experiment.trace)
            raise ValueError(f"{name} must be of {size} sources, got {hub.recall.size}")
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
        sources.append(np.repeat(np.arange(len(experiment.trace)), number.astype(np.intp)))
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


@brief
@read_only_arrays
@dataclass(frozen=True)
class Pings:
    """Pings of a file, matched to the items of a trace.

    `announced`, shape (items,), says which items of the trace, in its order, have a ping; `source`
    and `time` of the pings that announce none, in seconds of the trace.
    """

    announced: Bools
    source: Ints
    time: Ints

    def __len__(self) -> int:
        return int(self.announced.sum()) + self.source.size


def read_pings(
    path: str | PathLike[str],
    trace: Trace,
    window: float = 24.0,
    *,
    now: str | None = None,
    duplicates: str = "drop",
) -> tuple[Pings, list[Repair]]:
    """Read pings, match them to the items of a trace, and return them with what was repaired.

    A ping announces the oldest item of its source that was published within a window before it and
    that no earlier ping announced; other pings are false.

    Parameters
    ----------
    path : path
        CSV file, UTF-8, with the columns ``source`` and ``utc`` (ISO 8601), one row a ping, in any
        order. Rows are repaired as in `read_trace`; pings of other sources are left out too.
    trace : Trace
        Items.
    window : float
        Hours before a ping within which an item was published that it may announce.
    now : str, optional
        Time after which no ping can have come; the current time by default.
    duplicates : {"drop", "keep"}
        What to do with equal rows.

    Returns
    -------
    pings : Pings
    repairs : list of Repair
        Empty if nothing had to be done.

    Raises
    ------
    ValueError
        Naming the file and the reason: a column is missing, more than one row in ten cannot be
        used, or no ping is of a source of the trace.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from analysis.trace import Trace, read_pings
    >>> hours = 3600 * np.array([0, 2, 3])
    >>> begin = np.datetime64("2026-01-01", "s")
    >>> trace = Trace(("blog", "news"), begin, np.array([0, 0, 1]), hours)
    >>> lines = ["source,utc", "blog,2026-01-01T02:10:00Z", "news,2026-01-01T02:10:00Z"]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pings.csv"
    ...     _ = path.write_text(chr(10).join(lines))
    ...     pings, repairs = read_pings(path, trace, window=1.0)
    >>> pings.announced.tolist(), pings.time.tolist(), len(repairs)
    ([False, True, False], [7800], 0)
    """
    check_kind("path", path, str, PathLike)
    check_kind("trace", trace, Trace)
    window = check_positive("window", window)
    check_choice("duplicates", duplicates, DUPLICATES)
    latest = parse_now(now)
    try:
        rows, repairs = repair_rows(read_rows(path), latest, duplicates)
        known = rows["source"].isin(trace.names)
        if not known.any():
            raise ValueError("there must be pings of sources of the trace, got none")
    except (OSError, ValueError) as error:
        raise ValueError(f"path {path}: {str(error).strip()}") from None
    if not known.all():
        repairs.append(
            Repair("no source of the trace, left out", tuple(rows.index[~known].tolist()))
        )
    return _match_pings(rows[known], trace, window), repairs


def _match_pings(rows: pd.DataFrame, trace: Trace, window: float) -> Pings:
    numbers = {name: n for n, name in enumerate(trace.names)}
    arm = rows["source"].map(numbers).to_numpy().astype(np.int64)
    stamps = rows["time"].dt.tz_localize(None).to_numpy().astype("datetime64[s]")
    time = (stamps - trace.origin).astype(np.int64)
    order = np.lexsort((time, arm))
    arm, time = arm[order], time[order]
    announced = np.zeros(trace.time.size, dtype=np.bool_)
    false = np.ones(time.size, dtype=np.bool_)
    first = np.searchsorted(arm, np.arange(len(trace) + 1))
    for i in np.unique(arm).tolist():
        items = np.flatnonzero(trace.source == i)
        published, k = trace.time[items].tolist(), 0
        for j, when in enumerate(time[first[i] : first[i + 1]].tolist(), int(first[i])):
            while k < len(published) and published[k] < when - window * HOUR:
                k += 1
            if k < len(published) and published[k] <= when:
                announced[items[k]], false[j] = True, False
                k += 1
    late = np.argsort(time[false], kind="stable")
    return Pings(announced, arm[false][late], time[false][late])


def recorded_pings(experiment: Experiment, pings: Pings) -> Events:
    """Return the items of the warm-up and test period with pings of `read_pings`.

    A true ping counts from the moment at which its item was published: its delay is left out.
    ValueError if the pings were matched to another trace.
    """
    check_kind("experiment", experiment, Experiment)
    check_kind("pings", pings, Pings)
    trace = experiment.trace
    if pings.announced.shape != trace.time.shape:
        raise ValueError(
            f"pings must be matched to the {trace.time.size} items of the experiment's trace, got "
            f"{pings.announced.size}"
        )
    clock, _ = experiment.clock(0)
    when, source = recorded_items(experiment)
    low = int(np.searchsorted(trace.time, clock.begin, side="right"))
    kind = np.where(pings.announced[low : low + when.size], ANNOUNCED, SILENT)
    inside = (pings.time > clock.begin) & (pings.time < clock.end)
    late = (pings.time[inside] - clock.begin) / experiment.period
    return Events.at(
        np.concatenate([when, late]),
        np.concatenate([source, pings.source[inside]]),
        np.concatenate([kind, np.full(late.size, FALSE)]),
        np.concatenate([np.asarray(experiment.value)[source], np.zeros(late.size)]),
    )
