"""Crawls by observed content and by pings against a full ranking at every epoch."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, whittle_index
from analysis.ephemeral.optimum.costs import fill_budget
from analysis.ephemeral.scheduler import state as state_of
from analysis.ephemeral.scheduler.contents import (
    NEVER,
    ObservedScheduler,
    PingedScheduler,
    content_at_index,
)
from analysis.ephemeral.signals.model import SignalBelief, Signals
from tests.ephemeral.scheduler.test_core import many_sources
from tests.ephemeral.scheduler.test_state import saved_arrays
from tests.ephemeral.sets import SETS

# Observed contents.


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("start", ["empty", "full"])
def test_crawls_equal_full_sort_of_contents(costs, start):
    rng = np.random.default_rng(1)
    cost = rng.choice([0.5, 1.0, 3.0], 3_000) if costs else 1.0
    sources = many_sources(3_000, cost=cost)
    scheduler = ObservedScheduler(sources, 40, start)
    ranked = []
    for epoch in range(400):
        state = scheduler.state.copy()
        index = whittle_index(sources, state)
        budget = 40 if epoch < 200 else rng.choice([0.3, 20.0, 90.0])
        expected = fill_budget(
            np.where(sources.cost <= budget, index, -np.inf), sources.cost, budget, "stop"
        )
        brought = sources.u * rng.gamma(0.5, 2.0, len(sources))
        numbers, rewards = scheduler.crawl(brought, budget)
        np.testing.assert_array_equal(numbers, expected)
        np.testing.assert_array_equal(rewards, state[expected])
        state[expected] = 0
        np.testing.assert_allclose(scheduler.state, sources.alpha * state + brought, rtol=1e-15)
        ranked.append(scheduler.rebuilds)
    assert ranked[199] < 20  # most epochs are decided among the candidates


@given(
    decay=st.floats(1e-6, 20),
    cost=st.floats(0.1, 10),
    share=st.floats(1e-6, 1.5),
)
def test_content_at_index_inverts_the_index(decay, cost, share):
    source = Sources([2.0], [3.0], [decay], cost=cost)
    index = share * source.u_star[0] / cost
    content = content_at_index(source, index)
    assert whittle_index(source, content)[0] == pytest.approx(index, rel=1e-9)


def test_worthless_sources():
    sources = Sources([0.0, 1.0], [1.0, 1.0], [0.5, 0.5])
    assert content_at_index(sources, 0.0).tolist() == [0.0, 0.0]
    assert content_at_index(sources, 0.7)[0] == 0.7


@pytest.mark.parametrize("entry", [-1.0, np.nan, np.inf, True, "1"])
def test_wrong_contents_are_refused(entry):
    scheduler = ObservedScheduler(four_sources(), 1)
    with pytest.raises(ValueError, match="arrived"):
        scheduler.crawl([entry] * 4)
    assert scheduler.state.tolist() == [0.0] * 4


# Contents expected from pings.


def drawn_sources(rng, size, costs=False):
    return Sources(
        10 ** rng.uniform(-2, 0.5, size),
        rng.uniform(0.5, 2, size),
        10 ** rng.uniform(-3, 0, size),
        cost=rng.uniform(0.5, 2, size) if costs else 1.0,
    )


def full_ranking(sources, worth, budget):
    """Sources in order of index until one costs more than the rest; none that costs too much."""
    index, left, taken = whittle_index(sources, worth), budget * (1 + 1e-12), []
    for i in np.argsort(-index, kind="stable"):
        if sources.cost[i] > budget * (1 + 1e-12):
            continue
        if sources.cost[i] > left:
            break
        left -= sources.cost[i]
        taken.append(int(i))
    return sorted(taken)


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("recall", [0.0, 0.6, 1.0])
def test_crawls_equal_full_ranking(costs, recall):
    rng = np.random.default_rng(1)
    for size, budget in ((3, 1), (40, 3), (300, 7)):
        sources = drawn_sources(rng, size, costs)
        scheduler = PingedScheduler(sources, budget * (1.5 if costs else 1), recall)
        belief = SignalBelief(Signals(sources, recall, 1.0))
        for _ in range(250):
            number = rng.poisson(size / 20)
            arms, times = rng.integers(0, size, number), scheduler.epoch - rng.random(number)
            counted = scheduler.ping(arms, 0.3, times)
            belief._pings *= np.exp(-sources.decay * (scheduler.epoch - belief._at))
            belief._at[:] = scheduler.epoch
            left = np.exp(-sources.decay[arms] * (scheduler.epoch - times))
            np.add.at(belief._pings, arms[counted], left[counted] * 0.3)
            age = -np.expm1(-sources.decay * (scheduler.epoch - belief.last))
            pings = belief._pings * sources.mean_utility
            worth = sources.u_star * (1 - recall) * age + pings
            np.testing.assert_allclose(scheduler.worth, worth, rtol=1e-9, atol=1e-12)
            expected = full_ranking(sources, scheduler.worth, scheduler.budget)
            numbers, taken = scheduler.crawl()
            index = whittle_index(sources, worth)
            if (index > 1e-12).sum() > 2 * budget:  # else ties of rounding decide
                assert numbers.tolist() == expected
            np.testing.assert_allclose(taken, worth[numbers], rtol=1e-9, atol=1e-12)
            belief.observe_crawls(numbers, scheduler.epoch - 1.0)


@pytest.mark.parametrize("name", SETS)
def test_pinged_crawls_of_hard_sets(name):
    """Crawls of the largest indices at the expected worth, kept apart from the scheduler's."""
    sources, rng = SETS[name], np.random.default_rng(47)
    scheduler = PingedScheduler(sources, float(sources.cost.max()), 0.7)
    last, pings = np.zeros((2, len(sources)))
    for epoch in range(1, 40):
        arm = int(rng.integers(0, len(sources)))
        scheduler.ping([arm], 0.4)
        pings = pings * sources.alpha
        pings[arm] += 0.4 * sources.mean_utility[arm]
        worth = sources.u_star * 0.3 * -np.expm1(-sources.decay * (epoch - last)) + pings
        np.testing.assert_allclose(scheduler.worth, worth, rtol=1e-9, atol=1e-300)
        numbers, taken = scheduler.crawl()
        np.testing.assert_allclose(taken, worth[numbers], rtol=1e-9, atol=1e-300)
        index = whittle_index(sources, worth)
        # The crawls stop at the first that is too dear for the rest, so that the first is there.
        assert index[numbers].max() >= index.max() * (1 - 1e-9)
        last[numbers], pings[numbers] = epoch, 0.0


def test_ping_never_delays_a_crawl():
    rng = np.random.default_rng(2)
    sources = drawn_sources(rng, 200)
    scheduler = PingedScheduler(sources, 4, rng.random(200))
    for _ in range(300):
        before = scheduler.due
        scheduler.ping(rng.integers(0, 200, 50), rng.random(50))
        assert (scheduler.due <= before).all()
        with_ping, without = copy.deepcopy(scheduler), copy.deepcopy(scheduler)
        chosen = without.crawl()[0]
        if chosen.size:
            with_ping.ping(chosen[:1], 0.5)
            assert chosen[0] in with_ping.crawl()[0]
        scheduler.crawl()


def test_few_sources_are_ranked():
    rng = np.random.default_rng(3)
    sources = drawn_sources(rng, 20_000)
    scheduler = PingedScheduler(sources, 20, 0.9)
    for _ in range(400):
        scheduler.ping(rng.integers(0, 20_000, 100), 0.1)
        scheduler.crawl()
    before, ranked = scheduler.rebuilds, []
    for _ in range(100):
        scheduler.ping(rng.integers(0, 20_000, 100), 0.1)
        ranked.append(int((scheduler.due <= scheduler.epoch).sum()))
        scheduler.crawl()
    assert np.mean(ranked) < 2000
    assert scheduler.rebuilds - before < 15


def heap_is_sound(scheduler):
    *_, due, heap, place = scheduler._heap
    children = np.arange(1, len(scheduler))
    assert (due[heap[children]] >= due[heap[(children - 1) // 2]]).all()
    assert (place[heap] == np.arange(len(scheduler))).all()


def test_million_pings_of_one_source():
    rng = np.random.default_rng(4)
    sources = drawn_sources(rng, 100)
    scheduler = PingedScheduler(sources, 2, 0.5)
    for _ in range(50):
        scheduler.crawl()
    scheduler.ping(np.full(1_000_000, 7), 1e-7)
    heap_is_sound(scheduler)
    for _ in range(50):
        scheduler.crawl()
        heap_is_sound(scheduler)


def test_late_and_future_pings():
    scheduler = PingedScheduler(Sources([1.0, 1.0], [1.0, 1.0], [0.1, 0.1]), 1, recall=1.0)
    scheduler.ping([0], 1.0)
    assert scheduler.crawl()[0].tolist() == [0]
    counted = scheduler.ping([0, 0, 1, 1], 1.0, [1.0, 1.5, 1e300, -np.inf])
    assert counted.tolist() == [False, True, True, False]
    assert scheduler.worth == pytest.approx([np.exp(-0.05), 1.0])
    assert scheduler.crawl()[0].tolist() == [1]


def test_empty_source_waits_for_ping():
    scheduler = PingedScheduler(Sources([0.0, 1.0, 1.0], [1.0] * 3, [0.1] * 3), 1, recall=0.0)
    for _ in range(200):
        assert scheduler.crawl()[0].tolist() != [0]
    assert scheduler.due[0] == NEVER
    scheduler.ping([0], 1.0)
    assert scheduler.worth[0] == 1.0
    assert scheduler.due[0] < NEVER


def test_recall_may_be_set_anew():
    rng = np.random.default_rng(5)
    sources = drawn_sources(rng, 30)
    scheduler, other = PingedScheduler(sources, 2, 0.9), PingedScheduler(sources, 2, 0.0)
    scheduler.set_recall(np.arange(30), 0.0)
    for _ in range(100):
        arms = rng.integers(0, 30, 3)
        for each in (scheduler, other):
            each.ping(arms, 0.5)
        assert scheduler.crawl()[0].tolist() == other.crawl()[0].tolist()
    worth = other.worth
    other.set_recall([3], 0.5)
    age = -np.expm1(-sources.decay[3] * (other.epoch - other._last[3]))
    assert other.worth[3] == pytest.approx(worth[3] - 0.5 * sources.u_star[3] * age)
    heap_is_sound(other)


def played_scheduler(epochs, costs=False, names=None):
    """A scheduler after some epochs of pings, of which the last came since its last crawl."""
    rng = np.random.default_rng(6)
    drawn = drawn_sources(rng, 60, costs)
    sources = Sources(
        drawn.arrival_rate, drawn.mean_utility, drawn.decay_rate, drawn.cost, 0.5, names
    )
    scheduler = PingedScheduler(sources, 3, rng.random(60))
    for _ in range(epochs):
        scheduler.ping(rng.integers(0, 60, 4), 0.4)
        scheduler.crawl()
    scheduler.ping(rng.integers(0, 60, 4), 0.4)
    return scheduler


def crawls_that_follow(scheduler):
    rng, taken = np.random.default_rng(7), []
    for epoch in range(100):
        scheduler.ping(rng.integers(0, 60, 4), 0.3)
        if epoch == 50:
            scheduler.set_recall([5, 9], [0.2, 0.9])
        numbers, worth = scheduler.crawl()
        taken.append((numbers.tolist(), worth.tolist()))
    return taken


@pytest.mark.parametrize("epochs", [0, 3, 300])
@pytest.mark.parametrize("way", ["save", "pickle", "copy", "deepcopy"])
def test_restored_scheduler_crawls_the_same(epochs, way, tmp_path):
    for costs, names in ((False, None), (True, [*"ab", 3, *range(57)])):
        scheduler, path = played_scheduler(epochs, costs, names), tmp_path / "state.npz"
        if way == "save":
            scheduler.save(path)
            other = PingedScheduler.load(path)
        elif way == "pickle":
            other = pickle.loads(pickle.dumps(scheduler))
        else:
            other = getattr(copy, way)(scheduler)
        assert other.sources == scheduler.sources
        heap_is_sound(other)
        before = scheduler.worth
        following = crawls_that_follow(other)
        np.testing.assert_array_equal(scheduler.worth, before)  # nothing is shared
        assert following == crawls_that_follow(scheduler)


def test_spoilt_state_is_refused(tmp_path):
    scheduler, path = played_scheduler(50), tmp_path / "state.npz"
    scheduler.save(path)
    whole = path.read_bytes()
    _, arrays = saved_arrays(path)
    for content in (b"", whole[:-100], whole[: len(whole) // 2], b"PK" + whole[9:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="that `save` wrote"):
            PingedScheduler.load(path)
    changes = {
        "worth": [(0, np.nan), (1, -1.0)], "steady": [(0, np.inf)], "at": [(0, -1), (3, 10**9)],
        "last": [(0, 51)], "counts": [(0, 0), (1, -1)], "cuts": [(0, np.nan)],
        "numbers": [(0, 0.0), (1, -1.0), (2, np.nan), (3, 0.9)], "rates": [(2, 0.0)],
    }  # fmt: skip
    for name, entries in changes.items():
        for place, value in entries:
            altered = {key: array.copy() for key, array in arrays.items()}
            altered[name][place] = value
            np.savez(path, digest=state_of._digest(altered), **altered)  # with a digest that fits
            with pytest.raises(ValueError, match="that `save` wrote"):
                PingedScheduler.load(path)
        shorter = arrays[name][:-1] if name != "cuts" else arrays[name][None]
        for other in (shorter, arrays[name].astype(np.float32)):
            altered = arrays | {name: other}
            np.savez(path, digest=state_of._digest(altered), **altered)
            with pytest.raises(ValueError, match="that `save` wrote"):
                PingedScheduler.load(path)


def test_wrong_arguments_are_named():
    sources = Sources([1.0, 1.0], [1.0, 1.0], [0.1, 0.1])
    scheduler, observed = PingedScheduler(sources, 1), ObservedScheduler(sources, 1)
    calls = [
        ("numbers", lambda: scheduler.ping([2])),
        ("precision", lambda: scheduler.ping([0], np.nan)),
        ("when", lambda: scheduler.ping([0], 1.0, [np.nan])),
        ("recall", lambda: scheduler.set_recall([0], 1.5)),
        ("numbers", lambda: scheduler.set_recall([0, 0], 0.5)),
        ("budget", lambda: scheduler.crawl(-1)),
        ("budget", lambda: ObservedScheduler(sources, 0)),
        ("budget", lambda: observed.crawl(sources.u, -1)),
        ("arrived", lambda: observed.crawl(sources.u[:1])),
        ("index", lambda: content_at_index(sources, -1)),
    ]
    for name, call in calls:
        with pytest.raises(ValueError, match=name):
            call()
    assert (scheduler.worth >= 0).all()
