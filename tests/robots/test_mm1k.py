"""The static model against its definition in 120 digits, its own limits and brute force."""

import math
from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest

from analysis import robots
from analysis.robots import FleetControl, GeneralQueue, RobotControl, RobotKind, mg1k, mm1k
from analysis.robots import static_theory as theory

CONTEXT = mpmath.mp.clone()
CONTEXT.dps = 120
exact = CONTEXT.mpf

FAR = [10.0**k for k in range(-5, 6)]
BESIDE_ONE = [1 - 1e-14, 1 - 1e-9, 1.0, 1 + 1e-9, 1 + 1e-14]
CAPACITIES = [1, 2, 7, 60]
WEIGHTS = [1e-12, 1e-3, 1.0, 1e3, 1e12]


def static_law(rho, capacity):
    """P(X = 0) and P(X = K) as the definition has them."""
    total = CONTEXT.fsum(exact(rho) ** i for i in range(capacity + 1))
    return 1 / total, exact(rho) ** capacity / total


def close(found, true, rel=1e-12):
    assert found == pytest.approx(float(true), rel=rel, abs=0), (found, true)


@pytest.mark.parametrize("loads", [FAR, BESIDE_ONE], ids=["far", "beside one"])
def test_static_probabilities(loads):
    for rho, capacity in product(loads, CAPACITIES):
        empty, full = static_law(rho, capacity)
        close(robots.starvation_probability(rho, capacity), empty)
        close(robots.full_probability(rho, capacity), full)


@pytest.mark.parametrize("loads", [FAR, BESIDE_ONE], ids=["far", "beside one"])
def test_static_cost(loads):
    for rho, capacity, mu in product(loads, CAPACITIES, [1e-5, 3.0]):
        empty, full = static_law(rho, capacity)
        close(robots.loss_rate(rho, capacity, mu), exact(rho) * exact(mu) * full)
        for gamma in WEIGHTS:
            cost = exact(gamma) * empty + exact(rho) * exact(mu) * full
            close(robots.static_cost(rho, gamma, capacity, mu), cost)


def test_optimal_load():
    """The load of least cost is where the slope of the cost changes its sign."""
    for gamma, capacity in product([*WEIGHTS, 1e-200, 1e200], CAPACITIES):
        rho = robots.optimal_load(gamma, capacity)
        signs = []
        for factor in (1 - exact("1e-11"), 1 + exact("1e-11")):
            x = exact(rho) * factor
            first = CONTEXT.fsum((capacity + 1 - i) * x**i for i in range(capacity + 1))
            second = CONTEXT.fsum((i + 1) * x**i for i in range(capacity))
            signs.append(CONTEXT.sign(x**capacity * first / second - exact(gamma)))
        assert signs == [-1, 1], (gamma, capacity, rho)


def test_optimal_load_near_one():
    for capacity in CAPACITIES:
        critical = robots.critical_gamma(capacity)
        for gap in (-1e-6, -1e-12, 0.0, 1e-12, 1e-6):
            rho = robots.optimal_load(critical * (1 + gap), capacity)
            assert np.sign(rho - 1) == np.sign(gap)
            assert abs(rho - 1) <= abs(gap) + 1e-15


def refused(call, *names):
    with pytest.raises(ValueError, match="must") as caught:
        call()
    assert all(name in str(caught.value) for name in names), caught.value


def test_numbers_beyond_floats_are_refused():
    refused(lambda: robots.critical_gamma(3, 1.5e308), "service_rate")
    refused(lambda: robots.loss_rate(1e300, 3, 1e300), "rho", "service_rate")
    refused(lambda: robots.static_cost([1.0, 1e300], 1.0, 3, 1e300), "rho")
    refused(lambda: robots.optimal_load(1e308, 1, 1e-308 / 4), "gamma", "service_rate")
    refused(lambda: robots.optimal_load(2.0, 10**18), "capacity")
    refused(lambda: robots.optimal_robots(1e-308, 1.0, 3, 1e308), "arrival_rate")
    refused(lambda: robots.optimal_robots(1e308, 1.0, 3, 1e-308), "arrival_rate")
    refused(lambda: robots.large_capacity_robots(1e-308, 1.0, 1e308), "arrival_rate")
    refused(lambda: robots.limiting_cost(1e308, 1.0, 1e10), "x")
    refused(lambda: robots.infinite_capacity_cost(1e300, 1.0, 1e300), "rho")
    refused(lambda: robots.turning_capacity(1 + 1e-9), "gamma")
    refused(lambda: RobotKind(0.5, 10**400), "available")
    refused(lambda: RobotControl(2, 0.5, 1.0, 10**400, 1.0), "capacity")
    refused(lambda: RobotControl(10**6, 0.5, 1.0, 10**6, 1.0), "capacity")
    refused(lambda: GeneralQueue(0.5, 10**6, mg1k.exponential()), "capacity")
    refused(lambda: GeneralQueue(1e4, 3, mg1k.deterministic()), "arrival_rate")
    refused(lambda: FleetControl([RobotKind(0.5, 10**6)], 1.0, 10**6, 1.0), "kinds")
    refused(lambda: robots.optimal_fleet([RobotKind(0.5, 10**9)], 1.0, 3), "kinds")
    few = mg1k.exponential()
    refused(lambda: robots.optimal_general_robots(1e-9, 1.0, 3, few), "arrival_rate")
    refused(lambda: robots.optimal_general_load(1e-9, 3, few), "gamma")


def test_critical_gamma():
    for capacity, mu in product([1, 2, 10, 10**9], [1e-300, 1.0, 1e300]):
        close(robots.critical_gamma(capacity, mu), exact(mu) * (capacity + 2) / capacity, 1e-15)


def test_optimal_robots():
    """No number of robots costs less, of all up to where losses alone cost more."""
    for rate, gamma, capacity in product([0.03, 0.5, 7.0], [1e-3, 0.7, 1.5, 50.0], [1, 2, 9]):
        best = robots.optimal_robots(rate, gamma, capacity)
        cost = partial(robots.static_cost, gamma=gamma, capacity=capacity)
        most = int(np.ceil((cost(best * rate) + 1) / rate)) + 1
        numbers = np.arange(1, max(most, 2))
        assert cost(best * rate) <= cost(numbers * rate).min() * (1 + 1e-13)


def test_turning_capacity():
    """K_0 by the weights at which the best load stops rising, from the exponential sums."""
    for ratio in (1.2, 1.5, 2.0, 3.0, 10.0, 1e6):
        least = next(k for k in range(2, 400) if theory.turning_gamma(k) <= ratio)
        assert robots.turning_capacity(ratio) == least
        assert robots.turning_capacity(ratio * 1e-5, 1e-5) == least


def test_limiting_drift():
    for gamma in (1e-300, 1e-6, 1 - 1e-13, 1.0, 1 + 1e-13, 3.0, 1e6, 1e300):
        x = exact(robots.limiting_drift(gamma))
        ratio = []
        for step in (-exact("1e-12"), exact("1e-12")):
            at = x + step * (abs(x) or 1)
            value = (CONTEXT.expm1(at) - at) / (CONTEXT.expm1(-at) + at) if at else exact(1)
            ratio.append(CONTEXT.sign(value - exact(gamma)))
        assert ratio == [-1, 1], gamma


def test_limiting_cost():
    for x, gamma, mu in product(
        [-700.0, -3.0, -1e-9, 0.0, 1e-300, 1e-9, 3.0, 700.0, 1e5], WEIGHTS, [1e-3, 10.0]
    ):
        at, cost = exact(x), exact(gamma) + exact(mu)
        if x:
            cost = at * (exact(gamma) + exact(mu) * CONTEXT.exp(at)) / CONTEXT.expm1(at)
        close(robots.limiting_cost(x, gamma, mu), cost)


def test_infinite_capacity_cost():
    for rho, gamma in product([0.0, *FAR, *BESIDE_ONE], WEIGHTS):
        cost = exact(gamma) * max(0, 1 - exact(rho)) + 3 * max(0, exact(rho) - 1)
        close(robots.infinite_capacity_cost(rho, gamma, 3.0), cost)


def test_large_capacity_robots():
    """The approximation is what (16) says, by brute force over the numbers beside mu/lambda."""
    for rate, gamma in product([0.3, 0.07, 0.5, 1.0, 3.0, 1e9], [1e-3, 1.0, 1e3]):
        balanced = 1 / rate
        costs = {
            n: robots.infinite_capacity_cost(n / balanced, gamma)
            for n in (int(np.floor(balanced)), int(np.ceil(balanced)))
        }
        least = min(costs.values())
        assert robots.large_capacity_robots(rate, gamma) == max(
            1, max(n for n, cost in costs.items() if cost == least)
        )


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
