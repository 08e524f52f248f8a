"""Learnt reliability: counts, hubs that turn or die, and state that is saved, killed or changed."""

import json
import math

import numpy as np
import pytest

from analysis.ephemeral.signals.reliability import MOST_MARKS, Reliability


def labelled(trust, hub, source, time, pings, true, items=None):
    for _ in range(pings):
        trust.observe_ping(hub, source, time)
    trust.observe_crawl(source, time, true if items is None else items, {hub: true})


def test_estimates_are_faded_counts():
    rng = np.random.default_rng(1)
    weight = 4.0
    for trial in range(300):
        memory = (30.0, 1e-3, math.inf)[trial % 3]
        trust, rows, time = Reliability(memory, weight=weight), [], 0.0
        for _ in range(10):
            time += rng.exponential(10)
            pings, source = int(rng.integers(0, 5)), str(rng.integers(0, 2))
            true = int(rng.integers(0, pings + 1))
            items = true + int(rng.integers(0, 3))
            labelled(trust, "hub", source, time, pings, true, items)
            rows.append((time, source, pings, true, items))
        time += rng.exponential(20)
        left = np.exp([(t - time) / memory for t, *_ in rows])
        source, pings, true, items = (
            np.array(column) for column in list(zip(*rows, strict=True))[1:]
        )
        of_hub = (1 + left @ true) / (2 + left @ pings)
        assert trust.recall("hub", time) == pytest.approx((1 + left @ true) / (2 + left @ items))
        for name in ("0", "1", "new"):
            own = left * (source == name)
            expected = (weight * of_hub + own @ true) / (weight + own @ pings)
            assert trust.precision("hub", name, time) == pytest.approx(expected)


def test_repeated_mark_is_ignored():
    trust = Reliability()
    assert trust.observe_ping("hub", "blog", 1.0, mark="/a")
    assert not trust.observe_ping("hub", "blog", 2.0, mark="/a")
    assert trust.observe_ping("other", "blog", 2.0, mark="/a")
    assert trust.waiting("blog") == {"hub": 1, "other": 1}
    trust.observe_crawl("blog", 3.0, 1, {"hub": 1, "other": 1})
    assert trust.observe_ping("hub", "blog", 4.0, mark="/a")


def test_many_pings_take_little_memory():
    trust = Reliability(weight=10.0)
    for n in range(100_000):
        trust.observe_ping("hub", "blog", 1.0, mark=n)
    assert sum(len(marks) for marks in trust._marks.values()) == MOST_MARKS
    trust.observe_crawl("blog", 2.0, 1, {"hub": 1})
    assert trust.precision("hub", "blog", 2.0) < 1e-4
    assert trust.waiting("blog") == {}


def test_turned_hub_loses_trust():
    trust = Reliability(60.0)
    for day in range(365):
        labelled(trust, "hub", "blog", float(day), 1, 1)
    assert trust.precision("hub", "blog", 365.0) > 0.9
    for day in range(365, 400):
        labelled(trust, "hub", "blog", float(day), 24, 0)
    turned = trust.precision("hub", "blog", 400.0)
    assert turned < 0.1
    assert turned < trust.precision("hub", "blog", 1000.0) < 0.55  # distrust heals by itself


def test_silent_hub_counts_as_dead():
    trust = Reliability(death_rate=0.01)
    for day in range(100):
        labelled(trust, "hub", "blog", float(day), 1, 1)
    assert trust.alive("hub", 101.0)
    assert trust.recall("hub", 101.0) > 0.9
    assert not trust.alive("hub", 120.0)
    assert trust.recall("hub", 120.0) == 0.0
    trust.observe_ping("hub", "blog", 121.0)
    assert trust.alive("hub", 121.0)
    table = trust.table(121.0).set_index("hub")
    assert table.loc["hub", "sources"] == 1
    assert table.loc["hub", "recall"] == trust.recall("hub", 121.0)


def test_surplus_announcements_label_pings():
    trust = Reliability()
    trust.observe_crawl("blog", 1.0, 5, {"hub": 3})
    assert trust.precision("hub", "blog", 1.0) == pytest.approx(0.5)
    assert trust.recall("hub", 1.0) == pytest.approx(4 / 7)


def played(trust, rng, start, stop):
    for day in range(start, stop):
        for hub in ("a", "b"):
            for _ in range(rng.integers(0, 3)):
                trust.observe_ping(hub, str(rng.integers(0, 3)), float(day))
        trust.observe_crawl(str(rng.integers(0, 3)), float(day), 2, {"a": int(rng.integers(0, 3))})


def test_restored_state_continues(tmp_path):
    path = tmp_path / "trust.json"
    for memory in (20.0, math.inf):
        one, other = (Reliability(memory, death_rate=0.1) for _ in range(2))
        played(one, np.random.default_rng(1), 0, 50)
        played(other, np.random.default_rng(1), 0, 50)
        one.save(path)
        one = Reliability.load(path)
        for trust in (one, other):
            played(trust, np.random.default_rng(2), 50, 80)
        assert one.table(90.0).equals(other.table(90.0))
        assert one.precision("a", "1", 90.0) == other.precision("a", "1", 90.0)
        assert one.waiting("2") == other.waiting("2")


def test_killed_writer_leaves_the_old_state(tmp_path, monkeypatch):
    path = tmp_path / "trust.json"
    trust = Reliability()
    labelled(trust, "hub", "blog", 1.0, 3, 1)
    trust.save(path)
    before = path.read_bytes()
    labelled(trust, "hub", "blog", 2.0, 3, 1)
    monkeypatch.setattr(json, "dumps", lambda state: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trust.save(path)
    assert path.read_bytes() == before


def test_state_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "trust.json"
    trust = Reliability(60.0)
    labelled(trust, "hub", "blog", 1.0, 3, 1)
    trust.observe_ping("hub", "news", 2.0)
    trust.save(path)
    good = json.loads(path.read_text())

    def with_change(change):
        state = json.loads(json.dumps(good))
        change(state)
        return json.dumps(state)

    for content in (
        "", "{}", "[]", "null", path.read_text()[:-20],
        with_change(lambda s: s.update(reliability=2)),
        with_change(lambda s: s["settings"].__setitem__(0, -1.0)),
        with_change(lambda s: s["settings"].__setitem__(0, "many")),
        with_change(lambda s: s["hubs"][0].__setitem__(0, 7)),
        with_change(lambda s: s["hubs"][0].__setitem__(4, float("nan"))),
        with_change(lambda s: s["hubs"][0].__setitem__(2, 1e9)),
        with_change(lambda s: s["hubs"][0].pop()),
        with_change(lambda s: s["pairs"][0].__setitem__(3, -1.0)),
        with_change(lambda s: s["waiting"][0].__setitem__(2, 0)),
        with_change(lambda s: s["waiting"][0].append(1)),
    ):  # fmt: skip
        path.write_text(content)
        with pytest.raises(ValueError, match="trust"):
            Reliability.load(path)


def test_wrong_arguments_are_named():
    trust = Reliability()
    trust.observe_ping("hub", "blog", 5.0)
    calls = {
        "hub": lambda: trust.observe_ping(3, "blog", 6.0),
        "source": lambda: trust.observe_crawl(None, 6.0, 1),
        "time": lambda: trust.observe_ping("hub", "blog", 4.0),
        "mark": lambda: trust.observe_ping("hub", "blog", 6.0, mark=[]),
        "items": lambda: trust.observe_crawl("blog", 6.0, -1),
        "announced": lambda: trust.observe_crawl("blog", 6.0, 1, {"hub": 2}),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=name):
            call()
    with pytest.raises(ValueError, match="time"):
        trust.precision("hub", "blog", math.nan)
    assert trust.waiting("blog") == {"hub": 1}
    assert trust.time == 5.0
