"""Ciw's simulation against the exact static, general-service and controlled results."""

import numpy as np
import pytest

from analysis.results import Estimate
from analysis.robots import GeneralQueue, RobotControl, loss_rate, starvation_probability
from analysis.robots.mg1k import deterministic, lognormal
from analysis.robots.simulation import simulate_queue

REPLICATIONS = 8


def exponential(rng, size):
    return rng.exponential(1.0, size)


def intervals(seed, *args, **options):
    """99.9% intervals of starvation, loss rate and mean robots over independent runs."""
    runs = [
        simulate_queue(*args, horizon=2500.0, warmup=100.0, rng=rng, **options)
        for rng in np.random.default_rng(seed).spawn(REPLICATIONS)
    ]
    table = np.array([[run.starvation, run.loss_rate, run.mean_robots] for run in runs])
    return [Estimate.of(column, 0.999).interval for column in table.T]


def test_static_queue():
    starvation, loss, robots = intervals(1, 8, 0.11, 4, exponential)
    assert starvation[0] < starvation_probability(0.88, 4) < starvation[1]
    assert loss[0] < loss_rate(0.88, 4) < loss[1]
    np.testing.assert_allclose(robots, 8.0)


def test_constant_indexing_times():
    starvation, loss, _ = intervals(2, 6, 0.2, 3, lambda rng, size: np.ones(size))
    exact = GeneralQueue(1.2, 3, deterministic()).measures()
    assert starvation[0] < exact[0] < starvation[1]
    assert loss[0] < exact[1] < loss[1]


def test_lognormal_indexing_times():
    sigma = np.log(3.0) ** 0.5
    starvation, loss, _ = intervals(
        3, 6, 0.15, 4, lambda rng, size: rng.lognormal(-(sigma**2) / 2, sigma, size)
    )
    exact = GeneralQueue(0.9, 4, lognormal(2.0)).measures()
    assert starvation[0] < exact[0] < starvation[1]
    assert loss[0] < exact[1] < loss[1]


@pytest.mark.parametrize("gamma", [0.5, 3.0])
def test_controlled_queue(gamma):
    exact = RobotControl(12, 0.12, 1.0, 4, gamma).solve()
    starvation, loss, robots = intervals(4, 12, 0.12, 4, exponential, policy=exact.policy)
    assert starvation[0] < exact.starvation < starvation[1]
    assert loss[0] < exact.loss_rate < loss[1]
    assert robots[0] < exact.mean_robots < robots[1]


def test_runs_repeat_with_seed():
    runs = [
        simulate_queue(3, 0.4, 3, exponential, horizon=50.0, rng=np.random.default_rng(7))
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert runs[0].cost(2.0) == 2 * runs[0].starvation + runs[0].loss_rate


def test_wrong_call_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="warmup"):
        simulate_queue(1, 1.0, 2, exponential, horizon=10.0, warmup=10.0, rng=rng)
    with pytest.raises(ValueError, match="policy"):
        simulate_queue(1, 1.0, 2, exponential, horizon=1.0, policy=np.ones((2, 2)), rng=rng)
