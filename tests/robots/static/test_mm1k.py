"""The static model against its definition, its own limits and brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.robots.static import limits, mm1k

capacities = st.integers(1, 60)
weights = st.floats(1e-4, 1e4)


def stationary_law(arrivals: float, capacity: int, services: float = 1.0) -> np.ndarray:
    """Solve the birth-death chain's balance equations as they stand."""
    generator = np.diag(np.full(capacity, arrivals), 1) + np.diag(np.full(capacity, services), -1)
    generator -= np.diag(generator.sum(axis=1))
    system = np.vstack([generator.T, np.ones(capacity + 1)])
    return np.linalg.lstsq(system, np.append(np.zeros(capacity + 1), 1.0), rcond=None)[0]


@pytest.mark.parametrize("rho", [0.05, 0.7, 0.999, 1.0, 1.0001, 3.0])
@pytest.mark.parametrize("capacity", [1, 2, 5, 15])
def test_cost_equals_definition(rho, capacity):
    law = stationary_law(2.5 * rho, capacity, 2.5)
    expected = 1.3 * law[0] + 2.5 * rho * law[-1]
    assert mm1k.static_cost(rho, 1.3, capacity, 2.5) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("offset", [-1e-15, -1e-9, 0.0, 1e-12, 1e-6])
def test_cost_keeps_digits_at_one(offset):
    exact = float(
        (Fraction(1.4) + Fraction(1 + offset) ** 6)
        / sum(Fraction(1 + offset) ** i for i in range(6))
    )
    assert mm1k.static_cost(1 + offset, 1.4, 5) == pytest.approx(exact, rel=1e-15)


def test_extreme_loads_do_not_overflow():
    assert mm1k.static_cost(0.0, 1.0, 3) == 1.0
    assert mm1k.static_cost(1e200, 1.0, 1000) == pytest.approx(1e200)
    assert mm1k.starvation_probability(1e200, 1000) == 0.0
    assert mm1k.full_probability(0.0, 3) == 0.0


@given(weights, capacities)
def test_no_load_beats_optimal_load(gamma, capacity):
    best = mm1k.optimal_load(gamma, capacity)
    least = mm1k.static_cost(best, gamma, capacity)
    around = best * np.exp(np.linspace(-3, 3, 201))
    assert (mm1k.static_cost(around, gamma, capacity) >= least * (1 - 1e-12)).all()
    # Lemma 1: below, at or above 1 as gamma is below, at or above gamma(K).
    critical = mm1k.critical_gamma(capacity)
    if abs(gamma / critical - 1) > 1e-9:
        assert (best > 1) == (gamma > critical)


@pytest.mark.parametrize("capacity", [2, 3, 10, 100, 1000])
def test_critical_weight_balances_load(capacity):
    critical = mm1k.critical_gamma(capacity, 3.0)
    assert mm1k.optimal_load(critical, capacity, 3.0) == pytest.approx(1.0, abs=1e-14)


@given(weights, st.floats(1.001, 100), capacities)
def test_optimal_load_rises_with_gamma(gamma, factor, capacity):
    assert mm1k.optimal_load(gamma * factor, capacity) > mm1k.optimal_load(gamma, capacity)


@given(weights, capacities, st.floats(0.01, 100), st.floats(0.02, 3))
def test_cost_scales_with_time_unit(gamma, capacity, unit, rate):
    assert mm1k.static_cost(0.8, gamma * unit, capacity, unit) == pytest.approx(
        unit * mm1k.static_cost(0.8, gamma, capacity), rel=1e-12
    )
    assert mm1k.optimal_load(gamma * unit, capacity, unit) == pytest.approx(
        mm1k.optimal_load(gamma, capacity), rel=1e-12
    )


@given(weights, capacities, st.floats(0.05, 3))
def test_optimal_robots_by_brute_force(gamma, capacity, arrival_rate):
    numbers = np.arange(1, 400)
    costs = mm1k.static_cost(numbers * arrival_rate, gamma, capacity)
    best = mm1k.optimal_robots(arrival_rate, gamma, capacity)
    if best < 400:
        assert mm1k.static_cost(best * arrival_rate, gamma, capacity) <= costs.min() * (1 + 1e-13)


def test_at_least_one_robot():
    assert mm1k.optimal_robots(50.0, 0.1, 5) == 1
    assert limits.large_capacity_robots(50.0, 0.1) == 1


@pytest.mark.parametrize("gamma", [0.01, 0.5, 1.0])
def test_optimal_load_rises_with_capacity(gamma):
    loads = [mm1k.optimal_load(gamma, capacity) for capacity in range(2, 200)]
    assert (np.diff(loads) > 0).all()


@pytest.mark.parametrize("gamma", [1.02, 1.1, 1.5, 2.0, 3.4, 3.5, 50.0])
def test_optimal_load_turns_once(gamma):
    turn = limits.turning_capacity(gamma)
    loads = np.array([mm1k.optimal_load(gamma, k) for k in range(2, 2 * turn + 20)])
    steps = np.diff(loads)
    assert (steps[: turn - 2] > 0).all()
    assert (steps[turn - 2 :] < 0).all()


def test_turning_capacity_growth_rate():
    for excess in (1e-2, 1e-3, 1e-4):
        assert limits.turning_capacity(1 + excess) * excess / 4 == pytest.approx(
            1, abs=2 * excess**0.5
        )


@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0, 1.7, 30.0])
def test_load_tends_to_one(gamma):
    x = limits.limiting_drift(gamma, 1.0)
    capacity = 20_000
    best = mm1k.optimal_load(gamma, capacity)
    assert capacity * math.log(best) == pytest.approx(x, abs=1e-3)
    assert capacity * mm1k.static_cost(best, gamma, capacity) == pytest.approx(
        limits.limiting_cost(x, gamma), rel=1e-3
    )
    assert limits.limiting_drift(1 / gamma) == pytest.approx(-x, abs=1e-12)


@pytest.mark.parametrize("excess", [2.0**-50, 2.0**-40, -(2.0**-40), 2.0**-20])
def test_drift_keeps_digits(excess):
    """Of x^2/2 + x^3/6 + x^4/24 and the same at -x, a ratio of 1 + 2x/3 + 2x^2/9 + ..."""
    x = limits.limiting_drift(1 + excess)
    assert x == pytest.approx(1.5 * math.log1p(excess), rel=max(1e-14, excess**2))


def test_large_capacity_approximation():
    for balanced in np.linspace(3.1, 9.9, 35):
        for gamma in (0.3, 1.0, 2.5):
            approximate = limits.large_capacity_robots(1 / balanced, gamma)
            if abs(gamma * (balanced % 1) - (1 - balanced % 1)) > 0.05:
                assert approximate == mm1k.optimal_robots(1 / balanced, gamma, 3000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mm1k.static_cost(1.0, 1.0, 0), "capacity"),
        (lambda: mm1k.static_cost(1.0, 1.0, 2.5), "capacity"),
        (
            lambda: mm1k.static_cost(-1.0, 1.0, 5),
            "rho",
        ),
        (lambda: mm1k.static_cost("x", 1.0, 5), "rho"),
        (lambda: mm1k.static_cost(1.0, 0.0, 5), "gamma"),
        (lambda: mm1k.optimal_load(1.0, 5, -1.0), "service_rate"),
        (lambda: mm1k.optimal_load(math.nan, 5), "gamma"),
        (lambda: mm1k.optimal_robots(0.0, 1.0, 5), "arrival_rate"),
        (lambda: limits.turning_capacity(1.0), "gamma"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
