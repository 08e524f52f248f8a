"""The simulation in continuous time: exact gains, closed forms of queues, and part I as a limit."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from analysis.joint import Engine, JointSystem, queued_index, simulate_engine
from analysis.joint.simulation import ORDERS_OF_INDEXING
from analysis.results import Estimate


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
