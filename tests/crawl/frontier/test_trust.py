"""Pings that wait, how fetches label them, and what is left after a restart."""

import json
import math

import numpy as np
import pytest

from analysis.crawl.frontier.trust import BELIEVED, DELAY, MOST_WAITING, REPEAT, Trust

DECAY = np.full(3, 1e-5)
NUMBER = {"a": 0, "b": 1, "c": 2}


def row(trust, hub="hub", time=1e6):
    return next(row for row in trust.table(time) if row["hub"] == hub)


@pytest.mark.parametrize(
    ("pings", "dates", "true"),
    [
        ([1000], [900], 1), ([1000], [1100], 1), ([1000], [1300], 0),
        ([1000 + DELAY + 1], [1000], 0), ([1000, 2000, 3000], [950, 960, 970], 1),
        ([1000, 2000], [900, 1950], 2), ([1000, 1100], [900], 1), ([500, 1000], [990], 1),
        ([], [900], 0), ([1000], [], 0),
    ],
)  # fmt: skip
def test_ping_announces_recent_item(pings, dates, true):
    """Each ping is given an item of its own, dated just before it."""
    trust = Trust()
    for time in pings:
        trust.ping("hub", "a", time)
    ages = sorted(5000.0 - date for date in dates)
    trust.crawl("a", 5000.0, items=len(dates), ages=ages, hubs=["hub"])
    assert (row(trust)["true"], row(trust)["false"]) == (true, len(pings) - true)


def test_labels_equal_largest_matching():
    """The greedy labels are as many as any assignment of items to pings can reach."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(0)
    for _ in range(200):
        pings = np.sort(rng.uniform(0, 20 * DELAY, rng.integers(1, 12)))
        dates = np.sort(rng.uniform(0, 20 * DELAY, rng.integers(1, 12)))
        trust = Trust()
        counted = np.array([trust.ping("hub", "a", t) for t in pings])
        late = pings[counted, None] - dates
        fits = (late <= DELAY) & (late >= -120.0)
        best = fits[linear_sum_assignment(-fits.astype(float))].sum()
        end = 30 * DELAY
        trust.crawl("a", end, items=dates.size, ages=np.sort(end - dates).tolist())
        assert trust.counts["hub"]["true"] == best


def test_undated_items_fit_any_ping():
    trust = Trust()
    for time in (1000.0, 2000.0, 3000.0):
        trust.ping("hub", "a", time)
    trust.crawl("a", 9000.0, items=2)
    assert (row(trust)["true"], row(trust)["false"]) == (2, 1)


def test_odd_times_are_harmless():
    """From the future, before the last fetch, NaN, twice, after a clock that was set back."""
    trust = Trust()
    assert trust.ping("hub", "a", 1000.0, claimed=1e12)
    assert trust.expected(NUMBER, DECAY, 1000.0) == {0: pytest.approx(0.5)}
    trust.crawl("a", 2000.0, items=0)
    assert not trust.ping("hub", "a", 3000.0, claimed=1999.0)
    assert trust.ping("hub", "a", 3000.0, claimed=math.nan)
    assert not trust.ping("hub", "a", 3000.0 + REPEAT / 2)
    assert trust.ping("hub", "b", 10.0)
    assert trust.expected(NUMBER, DECAY, 0.0).keys() == {0, 1}


def test_marks_count_once():
    trust = Trust()
    assert [trust.ping("hub", "a", 0.0, mark=mark) for mark in "xxyx"] == [True, False, True, False]


@pytest.mark.parametrize("size", [10**5])
def test_flood_is_bounded(size):
    """However many pings come, few wait, and one fetch ends their credit."""
    trust = Trust()
    for k in range(size):
        trust.ping("liar", "a", k * REPEAT)
    assert row(trust, "liar")["ignored"] == size - MOST_WAITING
    end = size * REPEAT
    expected = trust.expected(NUMBER, DECAY, end)[0]
    assert expected <= 0.5 * MOST_WAITING
    trust.crawl("a", end, items=0)
    trust.ping("liar", "a", end + 1)
    assert trust.expected(NUMBER, DECAY, end + 1)[0] < 0.15
    for k in range(20):
        trust.ping("liar", "b", end + 2 + k * REPEAT)
    trust.crawl("b", end + 1e4, items=0)
    trust.ping("liar", "b", end + 1e4 + 1)
    assert trust.expected(NUMBER, DECAY, end + 1e4 + 1)[1] < 0.06


def test_liar_is_not_believed_honest_is():
    trust = Trust()
    for day in range(40):
        for hub, source in (("liar", "a"), ("honest", "b")):
            trust.ping(hub, source, day * 1e4)
            trust.crawl(source, day * 1e4 + 100, items=int(source == "b"), ages=[105.0])
    assert not trust.is_believed("liar", 4e5)
    assert row(trust, "liar")["precision_high"] < 0.2
    honest = row(trust, "honest", 4e5)
    assert honest["precision_low"] < honest["precision"] < honest["precision_high"]
    assert honest["precision"] > 0.9 > BELIEVED
    assert honest["recall"] > 0.9


def test_ping_adds_to_what_is_expected():
    """Another ping never lowers it, of whatever hub."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        trust, before = Trust(), 0.0
        for k in range(20):
            trust.ping(str(rng.integers(3)), "a", 1000.0 * k, mark=str(k))
            now = trust.expected(NUMBER, np.zeros(3), 2e4)[0]
            assert now >= before
            before = now


def test_recall_counts_unannounced_items():
    trust = Trust()
    trust.crawl("a", 100.0, items=4, ages=[1.0, 2.0, 3.0, 4.0], hubs=["mute"])
    assert row(trust, "mute", 100.0)["recall"] == pytest.approx(1 / 6, abs=1e-4)


def test_delivered_items_are_checked():
    """An item that a hub delivered is true if the feed lists it."""
    trust = Trust()
    trust.deliver("hub", "a", 10.0, ["x", "y", "z"])
    assert not trust.expected(NUMBER, DECAY, 10.0)  # they are here, and no reason for a fetch
    trust.crawl("a", 20.0, items=1, ages=[5.0], listed=["x", "z", "w"])
    assert (row(trust)["true"], row(trust)["false"], row(trust)["delivered"]) == (2, 1, 3)


def test_hub_falls_silent():
    trust = Trust()
    for day in range(200):
        trust.ping("hub", "a", day * 86_400.0)
        trust.crawl("a", day * 86_400.0 + 100, items=1, ages=[110.0])
    assert row(trust, time=200 * 86_400.0)["alive"]
    dead = row(trust, time=260 * 86_400.0)
    assert not dead["alive"]
    assert dead["recall"] == 0


def test_state_is_restored():
    """Also calls after the state are repeated, from what was written of them."""
    rng, trust = np.random.default_rng(2), Trust()
    calls = []
    for k in range(300):
        hub, source, time = f"h{rng.integers(3)}", "abc"[rng.integers(3)], 500.0 * k
        if rng.random() < 0.7:
            call = ["ping", {"hub": hub, "source": source, "time": time, "mark": str(k % 7)}]
        elif rng.random() < 0.5:
            call = ["deliver", {"hub": hub, "source": source, "time": time, "names": [str(k)]}]
        else:
            items = int(rng.integers(3))
            ages = [100.0 * i for i in range(items)]
            call = ["crawl", {"source": source, "time": time, "items": items, "hubs": ["h0"]}]
            call[1] |= {"ages": ages, "listed": [str(k - 1)]}
        calls.append(call)
    for call in calls[:200]:
        trust.apply(call)
    trust.crawl("a", 1e5, items=0), trust.crawl("b", 1e5, items=0), trust.crawl("c", 1e5, items=0)
    again = Trust()
    again.restore(json.loads(json.dumps(trust.state())))
    for call in json.loads(json.dumps(calls[200:])):
        trust.apply(call)
        again.apply(call)
    assert again.table(2e5) == trust.table(2e5)
    assert again.expected(NUMBER, DECAY, 2e5) == pytest.approx(trust.expected(NUMBER, DECAY, 2e5))


def test_other_calls_are_refused():
    with pytest.raises(ValueError, match="event"):
        Trust().apply(["__init__", {}])
