"""Simulated pings on recorded items, and pings of a file."""

import numpy as np
import pytest

from analysis.ephemeral.signals.simulation import ANNOUNCED, FALSE, SILENT, Trust
from analysis.trace import Experiment, publications
from analysis.trace.replay import Clock
from analysis.trace.signals import Hub, own_pings, play_pings, read_pings, simulated_pings
from analysis.trace.trace import HOUR, WEEK, Trace


def uploads(weeks=20, **options):
    trace = publications("upload")
    split = trace.begin + 104 * WEEK
    options = {"budget": 1, "phases": 1, "warm_up": 2, "half_life": 24.0, **options}
    return Experiment(trace, trace.begin, split, split + weeks * WEEK, **options)


def test_ping_shares():
    experiment = uploads()
    hub = Hub.of(0.6, 0.25, experiment.tested)
    events = simulated_pings(experiment, hub, 1)
    announced, silent, false = (
        int((events.kind == kind).sum()) for kind in (ANNOUNCED, SILENT, FALSE)
    )
    clock: Clock = experiment.clock(0)[0]
    low, high = np.searchsorted(experiment.trace.time, [clock.begin, clock.end], side="right")
    assert announced + silent == high - low
    assert announced / (announced + silent) == pytest.approx(0.6, abs=0.06)
    assert announced / (announced + false) == pytest.approx(0.25, abs=0.05)
    assert (np.diff(events.epoch) >= 0).all()
    assert ((events.age >= 0) & (events.age < 1)).all()


def test_blind_play_is_index_replay():
    experiment = uploads()
    events = simulated_pings(experiment, Hub.of(0.5, 0.5, experiment.tested), 1)
    weeks, run = play_pings(experiment, events, Trust("blind"))
    replayed = experiment.by_age("whittle").weeks
    # Epochs are those of the replay, an hour later.
    assert weeks.sum() == pytest.approx(replayed.sum(), rel=0.1)
    assert run.crawls.sum() == experiment.clock(0)[0].horizon


def test_true_pings_equal_seen_contents():
    experiment = uploads()
    events = simulated_pings(experiment, Hub.of(1.0, 1.0, experiment.tested), 1)
    weeks, _ = play_pings(experiment, events, Trust("known", 1.0, 1.0))
    seen = experiment.observing(np.maximum(experiment.trained, 1e-6))
    assert weeks.sum() == pytest.approx(seen.weeks.sum(), rel=0.05)


def test_hub_that_dies_stops_announcing():
    experiment = uploads()
    hub, dead = (Hub.of(share, 0.5, experiment.tested) for share in (0.9, 0.0))
    events = simulated_pings(experiment, hub, 1, dead, change=0.5)
    clock, warm_up = experiment.clock(0)
    turn = warm_up + (clock.horizon - warm_up) / 2
    late = events.epoch > turn + 1
    assert (events.kind[late] == SILENT).all()
    assert (events.kind[~late] == ANNOUNCED).any()


def small_trace():
    origin = np.datetime64("2026-01-01", "s")
    return Trace(("blog", "news"), origin, np.array([0, 0, 1]), np.array([0, 2, 3]) * HOUR)


def test_pings_are_matched_to_items(tmp_path):
    path = tmp_path / "pings.csv"
    path.write_text(
        "source,utc,hub\n"
        "blog,2026-01-01T00:30:00Z,a\n"  # the first item
        "blog,2026-01-01T00:40:00Z,a\n"  # nothing new
        "blog,2026-01-01T03:10:00+01:00,a\n"  # the second, ten minutes after it
        "news,2026-01-02T12:00:00Z,b\n"  # too late for the third
        "other,2026-01-01T00:30:00Z,a\n"
    )
    announced, source, time = read_pings(path, small_trace())
    assert announced.tolist() == [True, True, False]
    assert source.tolist() == [0, 1]
    assert time.tolist() == [2400, 36 * HOUR]


def test_own_pings_are_played(tmp_path):
    experiment = uploads(weeks=8)
    trace, path = experiment.trace, tmp_path / "pings.csv"
    stamps = trace.origin + trace.time.astype("timedelta64[s]")
    rows = [f"{trace.names[i]},{t}Z" for i, t in zip(trace.source, stamps, strict=True)]
    path.write_text("\n".join(["source,utc", *rows, *rows[::7]]) + "\n")
    events = own_pings(experiment, str(path))
    assert not (events.kind == SILENT).any()
    assert (events.kind == FALSE).any()
    weeks, run = play_pings(experiment, events, Trust("learnt"))
    blind, _ = play_pings(experiment, events, Trust("blind"))
    assert weeks.sum() > 2 * blind.sum()
    assert run.recall[0] > 0.9


def test_wrong_ping_files_are_refused(tmp_path):
    path = tmp_path / "pings.csv"
    for content, name in {
        "source,time\nblog,2026-01-01\n": "utc",
        "source,utc\nblog,yesterday\n": "utc",
        "source,utc\nother,2026-01-01\n": "pings",
    }.items():
        path.write_text(content)
        with pytest.raises(ValueError, match=name):
            read_pings(path, small_trace())
    with pytest.raises(ValueError, match="precision"):
        Hub.of(0.5, 0.0, np.ones(2))
    with pytest.raises(ValueError, match="change"):
        simulated_pings(uploads(), Hub.of(0.5, 0.5, uploads().tested), 1, change=2.0)
