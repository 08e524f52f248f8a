"""Signals and beliefs: definitions, and what is refused or does not count."""

import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.ephemeral.signals.model import SignalBelief, Signals


def two_sources():
    return Sources([2.0, 1.0], [1.0, 2.0], [0.1, 0.5])


def belief_by_definition(signals, last, pings, time):
    """Y of each source, from the times of its pings since its last crawl."""
    sources = signals.sources
    worth = sources.u_star * (1 - np.asarray(signals.recall))
    worth = worth * -np.expm1(-sources.decay_rate * (time - last))
    for i, times in enumerate(pings):
        left = np.exp(-sources.decay_rate[i] * (time - np.array(times))).sum()
        worth[i] += np.asarray(signals.precision)[i] * sources.mean_utility[i] * left
    return worth


def test_belief_equals_definition():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        size = rng.integers(1, 5)
        sources = Sources(rng.random(size), rng.random(size) + 0.1, 10 ** rng.uniform(-4, 1, size))
        recall, precision = rng.random(size), rng.random(size) + 1e-6
        signals = Signals(sources, recall, np.minimum(precision, 1.0))
        belief, last, pings, time = SignalBelief(signals), np.zeros(size), [[]] * size, 0.0
        for _ in range(12):
            time += rng.random()
            arm = int(rng.integers(0, size))
            if rng.random() < 0.7:
                claimed = time - rng.random()
                counted = belief.observe_pings([arm], time, [claimed])
                assert counted[0] == (claimed > last[arm])
                if counted[0]:
                    pings = [p + [claimed] * (i == arm) for i, p in enumerate(pings)]
            else:
                belief.observe_crawls([arm], time)
                last[arm] = time
                pings = [[] if i == arm else p for i, p in enumerate(pings)]
        expected = belief_by_definition(signals, last, pings, time + 1)
        np.testing.assert_allclose(belief.worth(time + 1), expected, rtol=1e-9, atol=1e-300)


def test_future_pings_count_from_receipt():
    belief = SignalBelief(Signals(two_sources(), 0.5, 0.5))
    belief.observe_crawls([0, 1], 5.0)
    counted = belief.observe_pings([0, 0, 1], 6.0, [1e9, 4.0, np.inf])
    assert counted.tolist() == [True, False, True]  # the second is about what the crawl took
    other = SignalBelief(Signals(two_sources(), 0.5, 0.5))
    other.observe_crawls([0, 1], 5.0)
    other.observe_pings([0, 1], 6.0)
    np.testing.assert_array_equal(belief.worth(7.0), other.worth(7.0))


def test_source_without_items_stays_worthless():
    signals = Signals(Sources([0.0], [1.0], [0.1]), 0.9, 0.5)
    belief = SignalBelief(signals)
    belief.observe_pings(np.zeros(1_000_000, int), 1.0)
    assert belief.worth(1.0)[0] == 0.0
    assert belief.index(1.0)[0] == 0.0


def test_belief_index_rises_with_pings():
    belief = SignalBelief(Signals(two_sources(), 0.7, 0.4))
    before = belief.index(1.0)
    for _ in range(5):
        belief.observe_pings([0], 1.0)
        after = belief.index(1.0)
        assert after[0] > before[0]
        assert after[1] == before[1]
        before = after


def test_wrong_arguments_are_named():
    sources = two_sources()
    for name, arguments in {
        "recall": {"recall": 1.5, "precision": 1},
        "recall[1]": {"recall": [0.5, np.nan], "precision": 1},
        "precision[0]": {"recall": 0.5, "precision": 0},
        "precision": {"recall": 0.5, "precision": [0.1, 0.2, 0.3]},
        "rate of pings": {"recall": 0.5, "precision": 1e-320},
    }.items():
        with pytest.raises(ValueError, match=name.replace("[", r"\[")):
            Signals(sources, **arguments)
    belief = SignalBelief(Signals(sources, 0.5, 0.5), time=3.0)
    calls = {
        "numbers": lambda: belief.observe_pings([2], 4.0),
        "time": lambda: belief.observe_pings([0], 2.0),
        "claimed": lambda: belief.observe_pings([0], 4.0, [np.nan]),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=name):
            call()
    with pytest.raises(ValueError, match="time"):
        belief.worth(np.nan)
    with pytest.raises(ValueError, match="time"):
        belief.observe_crawls([0], np.inf)
    assert belief.time == 3.0  # nothing of a refused call is kept
    np.testing.assert_array_equal(belief.worth(3.0), 0.0)
