"""Simulated pings on recorded items, and pings of a file."""

import numpy as np
import pytest

from analysis.ephemeral.signals.simulation import ANNOUNCED, FALSE, SILENT, Trust
from analysis.trace import Experiment, publications
from analysis.trace.replay import Clock
from analysis.trace.signals import Hub, play_pings, read_pings, recorded_pings, simulated_pings
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
    pings, repairs = read_pings(path, small_trace(), now="2026-02-01")
    assert pings.announced.tolist() == [True, True, False]
    assert pings.source.tolist() == [0, 1]
    assert pings.time.tolist() == [2400, 36 * HOUR]
    assert len(pings) == 4
    assert {repair.what: repair.rows for repair in repairs} == {
        "other time zone, moved to UTC": (4,),
        "no source of the trace, left out": (6,),
    }


def match_slowly(rows, trace, window):
    """Each ping, in order of time, to the oldest item within the window that has none yet."""
    announced, false = set(), []
    for time, source in sorted(rows):
        own = [
            k
            for k in range(trace.time.size)
            if trace.source[k] == source and k not in announced
            if time - window * HOUR <= trace.time[k] <= time
        ]
        if own:
            announced.add(own[0])
        else:
            false.append((time, source))
    return sorted(announced), false


def written_pings(path, rows, trace):
    stamps = [trace.origin + np.timedelta64(int(time), "s") for time, _ in rows]
    lines = [f"{trace.names[i]},{t}Z" for (_, i), t in zip(rows, stamps, strict=True)]
    path.write_text("\n".join(["source,utc", *lines]) + "\n")


def test_unsorted_pings_equal_slow_matching(tmp_path):
    rng, path = np.random.default_rng(3), tmp_path / "pings.csv"
    for _ in range(40):
        time = np.sort(rng.integers(0, 100 * HOUR, 12))
        trace = Trace(
            ("a", "b", "c"), np.datetime64("2026-01-01", "s"), rng.integers(0, 3, 12), time
        )
        rows = sorted(
            {
                (int(t), int(i))
                for t, i in zip(
                    rng.integers(0, 120 * HOUR, 25), rng.integers(0, 3, 25), strict=True
                )
            }
        )
        rng.shuffle(rows)
        written_pings(path, rows, trace)
        window = float(rng.choice([0.5, 5.0, 50.0]))
        pings, _ = read_pings(path, trace, window, now="2026-06-01")
        announced, false = match_slowly([tuple(row) for row in rows], trace, window)
        assert np.flatnonzero(pings.announced).tolist() == announced
        assert sorted(zip(pings.time, pings.source, strict=True)) == false


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("blog,NaN", "time that cannot be read, left out"),
        ("blog,2030-01-01T00:00Z", "time after 2026-02-01, left out"),
        ("blog,1970-01-01", "time before 1990-01-01, left out"),
        (",2026-01-01T05:00:00Z", "no source, left out"),
        ("blog,2026-01-01T04:00:00Z", "duplicate, left out"),
        ("elsewhere,2026-01-01T04:00:00Z", "no source of the trace, left out"),
    ],
)
def test_bad_ping_is_left_out_and_named(row, what, tmp_path):
    path = tmp_path / "pings.csv"
    rows = [f"blog,2026-01-01T{hour:02}:00:00Z" for hour in range(23, 0, -1)]
    path.write_text("\n".join(["source,utc", *rows]))
    good, none = read_pings(path, small_trace(), now="2026-02-01")
    assert none == []
    path.write_text("\n".join(["source,utc", *rows, row]))
    pings, repairs = read_pings(path, small_trace(), now="2026-02-01")
    assert [(repair.what, repair.rows) for repair in repairs] == [(what, (25,))]
    np.testing.assert_array_equal(pings.announced, good.announced)
    np.testing.assert_array_equal(pings.time, good.time)


def test_million_pings_of_one_source(tmp_path):
    path, trace = tmp_path / "pings.csv", small_trace()
    stamp = np.datetime64("2026-01-01", "s") + np.arange(1_000_000).astype("timedelta64[s]")
    path.write_text("source,utc\nblog," + "Z\nblog,".join(stamp.astype(str)) + "Z\n")
    pings, repairs = read_pings(path, trace, now="2026-02-01")
    assert pings.announced.tolist() == [True, True, False]
    assert len(pings) == 1_000_000
    assert repairs == []


def test_own_pings_are_played(tmp_path):
    experiment = uploads(weeks=8)
    trace, path = experiment.trace, tmp_path / "pings.csv"
    stamps = trace.origin + trace.time.astype("timedelta64[s]")
    rows = [f"{trace.names[i]},{t}Z" for i, t in zip(trace.source, stamps, strict=True)]
    path.write_text("\n".join(["source,utc", *rows, *rows[::7]]) + "\n")
    pings, _ = read_pings(path, trace, duplicates="keep")
    events = recorded_pings(experiment, pings)
    assert not (events.kind == SILENT).any()
    assert (events.kind == FALSE).any()
    weeks, run = play_pings(experiment, events, Trust("learnt"))
    blind, _ = play_pings(experiment, events, Trust("blind"))
    assert weeks.sum() > 2 * blind.sum()
    assert run.recall[0] > 0.9


def test_wrong_ping_files_are_refused(tmp_path):
    path = tmp_path / "pings.csv"
    for content, name in {
        "": "empty",
        "source,utc\n": "header",
        "source,time\nblog,2026-01-01\n": "utc",
        "source,utc\nblog,yesterday\n": "too many rows",
        "source,utc\nother,2026-01-01\n": "pings of sources",
        "source;utc\nblog;2026-01-01\n": "semicolon",
    }.items():
        path.write_text(content)
        with pytest.raises(ValueError, match=f"path {path}.*{name}"):
            read_pings(path, small_trace())
    path.write_text("source,utc\nblog,2026-01-01\n")
    with pytest.raises(ValueError, match="window"):
        read_pings(path, small_trace(), 0.0)
    with pytest.raises(ValueError, match="pings"):
        recorded_pings(uploads(), read_pings(path, small_trace())[0])
    with pytest.raises(ValueError, match="precision"):
        Hub.of(0.5, 0.0, np.ones(2))
    with pytest.raises(ValueError, match="recall"):
        Hub(np.array([np.nan]), np.zeros(1))
    with pytest.raises(ValueError, match="false_rate"):
        Hub(np.zeros(2), np.zeros(1))
    with pytest.raises(ValueError, match="before"):
        simulated_pings(uploads(), Hub(np.zeros(2), np.zeros(2)), 1)
    with pytest.raises(ValueError, match="change"):
        simulated_pings(uploads(), Hub.of(0.5, 0.5, uploads().tested), 1, change=2.0)
