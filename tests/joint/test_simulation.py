"""The simulation in continuous time: page by page, exact gains, queues in closed form, part I."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from analysis.joint import (
    Engine,
    JointSystem,
    batch_value,
    frozen_index,
    frozen_reward,
    queued_index,
    simulate_engine,
)
from analysis.joint.simulation import ORDERS_OF_INDEXING, event_times
from analysis.results import Estimate
from tests.joint.test_index import ENGINES


@pytest.mark.parametrize("name", ENGINES)
def test_queued_index(name):
    """At the lengths of the queue in the table, the index with a frozen queue at each age."""
    engine, _ = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 0.1, 30.0])
    for fresh in (False, True):
        table = queued_index(sources, engine, price=0.1, fresh=fresh, ages=4)
        age = np.arange(1, 5)[:, None] * np.ones(3)
        for row, q in enumerate(table.queues):
            exact = frozen_index(sources, engine, age, int(q), price=0.1, fresh=fresh)
            np.testing.assert_allclose(table.index[row], exact, rtol=1e-12, atol=1e-15)
            value, pages = batch_value(sources, engine, np.minimum(age, table.window[row]), int(q))
            expected = frozen_reward(sources, engine, age, int(q), price=0.1, fresh=fresh)
            np.testing.assert_allclose(value - 0.1 * pages, expected, rtol=1e-9, atol=1e-12)


def followed(sources, engine, policy, budget, epochs, rng):
    """First come first served, page by page, from the random numbers that a run draws."""
    length = sources.period * (epochs + 1)
    streams = rng.spawn(len(sources) + 1)
    rates = [*sources.arrival_rate, engine.index_rate]
    *births, done = (event_times(*each, length) for each in zip(streams, rates, strict=True))
    last, waiting, earned = np.zeros(len(sources)), [], 0.0
    done = done[done >= sources.period]
    for epoch in range(epochs):
        now = (epoch + 1) * sources.period
        ages = np.round((now - last) / sources.period).astype(int)
        queue = len(waiting)
        row = int(np.flatnonzero(policy.queues == queue)[0])
        worst = np.minimum(ages, policy.index.shape[1]) - 1
        index = policy.index[row, worst, np.arange(len(sources))]
        for i in np.argsort(-index, kind="stable")[:budget]:
            if index[i] <= 0 or queue > policy.stop:
                continue
            since = max(last[i], now - policy.window[row, i])
            batch = [b for b in births[i] if since <= b < now][::-1]
            waiting += [(i, b) for b in batch][: engine.places - len(waiting)]
            last[i] = now
        for time in done[(done >= now) & (done < now + sources.period)]:
            if waiting:
                i, birth = waiting.pop(0)
                fade = np.exp(-sources.decay_rate[i] * (time - birth))
                earned += sources.mean_utility[i] * fade
    return earned / epochs


@pytest.mark.parametrize("name", ENGINES)
def test_simulated_engine(name):
    engine, _ = ENGINES[name]
    if engine.index_rate > 1e6:
        engine = Engine(200.0, engine.places)
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 0.1, 3.0])
    every = np.arange(engine.places + 1)
    for options in ({"index": "blind"}, {"price": 0.1, "fresh": True}, {"price": 0.3}):
        policy = queued_index(sources, engine, ages=6, queues=every, **options)
        found = simulate_engine(sources, engine, policy, 2, 60, rng=np.random.default_rng(3))
        exact = followed(sources, engine, policy, 2, 60, np.random.default_rng(3))
        assert found.average_reward == pytest.approx(exact, rel=1e-10)


def runs(number, *given, seed=1, **options):
    return [
        simulate_engine(*given, rng=np.random.default_rng([seed, run]), **options)
        for run in range(number)
    ]


def estimate(*given, **options):
    earned = [run.average_reward for run in runs(*given, **options)]
    return Estimate.of(earned, level=0.9999)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("blind", {}),
        ("blind", {"stop": 1}),
        ("priced", {"price": 0.9}),
        ("frozen", {"price": 0.2}),
        ("frozen", {"price": 0.2, "stop": 2}),
    ],
)
def test_run_matches_exact_gain(name, options):
    sources, engine = Sources([0.8, 0.5, 1.5], [1.0, 2.0, 0.8], [0.4, 0.2, 1.1]), Engine(0.9, 4)
    system = JointSystem(sources, 2, engine, 5)
    exact = system.gain(system.index_policy(name, **options))
    policy = queued_index(sources, engine, name, ages=5, **options)
    found = estimate(12, sources, engine, policy, 2, 6000, warm_up=100)
    assert found.low <= exact <= found.high
    assert found.half_width < 0.05 * exact


@pytest.mark.parametrize(
    ("order", "preempt"), [("first", False), ("last", False), ("last", True), ("worth", True)]
)
def test_short_epochs_match_queue_delays(order, preempt):
    """Transforms of the time in an M/M/1 queue, first come or last come, pre-emptive or not."""
    rate, fade, speed, period = 0.7, 0.4, 1.0, 0.01
    source = Sources([rate], [1.0], [fade], period=period)
    engine = Engine(speed, 400)
    total = rate + speed + fade
    busy = (total - np.sqrt(total**2 - 4 * rate * speed)) / (2 * rate)
    load, delta = rate / speed, speed / (speed + fade)
    exact = (
        rate
        * {
            "first": (speed - rate) / (speed - rate + fade),
            "last": busy if preempt else delta * (1 - load + load * busy),
            "worth": busy,
        }[order]
    )
    policy = queued_index(source, engine, "blind", queues=[0, 400])
    found = estimate(
        12, source, engine, policy, 1, 300_000, order=order, preempt=preempt, warm_up=20_000
    )
    assert found.low / period <= exact <= found.high / period / np.exp(-fade * period)
    assert found.half_width / period < 0.1 * exact


def test_orders_keep_counts_and_crawls():
    sources, engine = four_sources(), Engine(350.0, 500)
    policy = queued_index(sources, engine, "frozen", price=0.1, queues=[0, 250, 500])
    found = [
        simulate_engine(
            sources, engine, policy, 1, 40, order=order, preempt=preempt, push_out=out,
            rng=np.random.default_rng(4),
        )
        for order in ORDERS_OF_INDEXING for preempt in (False, True) for out in (False, True)
    ]  # fmt: skip
    for run in found[1:]:
        assert (run.indexed, run.lost, run.queue) == (
            found[0].indexed, found[0].lost, found[0].queue,
        )  # fmt: skip
        np.testing.assert_array_equal(run.frequency, found[0].frequency)
        assert run.average_reward >= found[0].average_reward


def test_one_source_has_one_order():
    source, engine = Sources([30.0], [1.0], [0.8]), Engine(20.0, 25)
    policy = queued_index(source, engine, "blind")
    for preempt, out in np.ndindex(2, 2):
        rewards = {
            simulate_engine(
                source, engine, policy, 1, 200, order=order, preempt=bool(preempt),
                push_out=bool(out), rng=np.random.default_rng(2),
            ).average_reward
            for order in ("last", "worth", "loss")
        }  # fmt: skip
        assert len(rewards) == 1


def test_index_is_interpolated():
    sources, engine = four_sources(), Engine(350.0, 700)
    coarse = queued_index(sources, engine, ages=3, price=0.2, fresh=True)
    row = int(np.searchsorted(coarse.queues, 350))
    fine = queued_index(sources, engine, ages=3, price=0.2, fresh=True, queues=[0, 333, 367])
    between = np.interp(
        [333.0, 367.0], coarse.queues[row - 1 : row + 2].astype(float),
        coarse.index[row - 1 : row + 2, 1, 0],
    )  # fmt: skip
    np.testing.assert_allclose(between, fine.index[1:, 1, 0], rtol=0.02)


def test_wrong_run_is_refused():
    sources, engine = four_sources(), Engine(350.0, 50)
    policy, rng = queued_index(sources, engine, "blind"), np.random.default_rng(1)
    with pytest.raises(ValueError, match="horizon and warm_up"):
        simulate_engine(sources, engine, policy, 1, 10**6, rng=rng)
    with pytest.raises(ValueError, match="policy"):
        simulate_engine(Sources([1.0], [1.0], [1.0]), engine, policy, 1, 10, rng=rng)
    with pytest.raises(ValueError, match="queues"):
        queued_index(sources, engine, queues=[0, 5, 5])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queues", [800, 0]),
        ("queues", [0, 400, 800]),
        ("index", np.full((2, 2, 4), np.nan)),
        ("index", np.zeros((2, 0, 4))),
        ("window", np.full((1, 4), 2.0)),
        ("window", np.full((2, 4), -2.0)),
        ("stop", -5),
        ("stop", 1.5),
    ],
)
def test_wrong_table_is_refused(field, value):
    policy = queued_index(four_sources(), Engine(500.0, 800), "blind", ages=2, queues=[0, 800])
    with pytest.raises(ValueError, match=f"index|{field}"):
        replace(policy, **{field: value})
