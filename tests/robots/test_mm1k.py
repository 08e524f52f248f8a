"""The static model against its definition, its own limits and brute force."""

import math

import numpy as np
import pytest

from analysis.robots import mm1k


def test_extreme_loads_do_not_overflow():
    assert mm1k.static_cost(0.0, 1.0, 3) == 1.0
    assert mm1k.static_cost(1e200, 1.0, 1000) == pytest.approx(1e200)
    assert mm1k.starvation_probability(1e200, 1000) == 0.0
    assert mm1k.full_probability(0.0, 3) == 0.0


@pytest.mark.parametrize("gamma", [0.01, 0.5, 1.0])
def test_optimal_load_rises_with_capacity(gamma):
    loads = [mm1k.optimal_load(gamma, capacity) for capacity in range(2, 200)]
    assert (np.diff(loads) > 0).all()


@pytest.mark.parametrize("gamma", [1.02, 1.1, 1.5, 2.0, 3.4, 3.5, 50.0])
def test_optimal_load_turns_once(gamma):
    turn = mm1k.turning_capacity(gamma)
    loads = np.array([mm1k.optimal_load(gamma, k) for k in range(2, 2 * turn + 20)])
    steps = np.diff(loads)
    assert (steps[: turn - 2] > 0).all()
    assert (steps[turn - 2 :] < 0).all()


def test_turning_capacity_growth_rate():
    for excess in (1e-2, 1e-3, 1e-4):
        assert mm1k.turning_capacity(1 + excess) * excess / 4 == pytest.approx(
            1, abs=2 * excess**0.5
        )


@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0, 1.7, 30.0])
def test_load_tends_to_one(gamma):
    x = mm1k.limiting_drift(gamma, 1.0)
    capacity = 20_000
    best = mm1k.optimal_load(gamma, capacity)
    assert capacity * math.log(best) == pytest.approx(x, abs=1e-3)
    assert capacity * mm1k.static_cost(best, gamma, capacity) == pytest.approx(
        mm1k.limiting_cost(x, gamma), rel=1e-3
    )
    assert mm1k.limiting_drift(1 / gamma) == pytest.approx(-x, abs=1e-12)


def test_large_capacity_approximation():
    for balanced in np.linspace(3.1, 9.9, 35):
        for gamma in (0.3, 1.0, 2.5):
            approximate = mm1k.large_capacity_robots(1 / balanced, gamma)
            if abs(gamma * (balanced % 1) - (1 - balanced % 1)) > 0.05:
                assert approximate == mm1k.optimal_robots(1 / balanced, gamma, 3000)
