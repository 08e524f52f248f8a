"""The controlled queue: solvers against each other, closed forms, theorems and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.mdp import relative_value_iteration
from analysis.robots import RobotControl, static_cost, without_cap
from analysis.robots.controlled import control, structure
from analysis.robots.controlled.queue import uniformised
from tests.robots import high_precision

models = st.builds(
    RobotControl,
    robots=st.integers(1, 7),
    arrival_rate=st.floats(0.02, 3),
    service_rate=st.floats(0.3, 3),
    capacity=st.integers(1, 7),
    gamma=st.floats(0.02, 50),
)


@settings(max_examples=40)
@given(models)
def test_static_policy_matches_static_cost(model):
    rho = model.robots * model.arrival_rate / model.service_rate
    static = model.evaluate(model.static_policy())
    assert static.gain == pytest.approx(
        static_cost(rho, model.gamma, model.capacity, model.service_rate), rel=1e-9
    )
    assert static.min_robots == static.max_robots == model.robots
    assert static.residual < 1e-9
    assert model.solve().gain <= static.gain * (1 + 1e-12)


def test_large_queue_has_small_residual():
    solution = RobotControl(300, 1 / 300, 1.0, 30, 1.1).solve()
    assert solution.residual < 1e-9
    assert solution.is_switching_curve


@pytest.mark.parametrize(
    "model",
    [
        RobotControl(19, 0.0071853760636864964, 1.0, 2, 0.018755174498325925),
        RobotControl(54, 0.0032473344506071026, 1.0, 2, 0.01999655879986414),
    ],
)
def test_several_classes_on_the_way(model):
    transitions, costs = uniformised(model)
    other = relative_value_iteration(transitions, -costs, step=1.0, tolerance=1e-11)
    solution = model.solve()
    assert solution.gain == pytest.approx(-other.gain, abs=1e-10)
    assert solution.residual < 1e-12


def test_several_classes_are_refused():
    # The draft's own example: N = 2, always restart at arrivals, never start at departures.
    model = RobotControl(2, 0.4, 1.0, 3, 1.0)
    never, always = np.zeros(model.shape, bool), np.ones(model.shape, bool)
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(never, always)


def test_wrong_call_is_refused():
    model = RobotControl(3, 0.5, 1.0, 4, 1.0)
    with pytest.raises(ValueError, match="max_iterations"):
        model.solve(max_iterations=0)
    with pytest.raises(ValueError, match="curve"):
        model.curve_policy([1, 2])
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(np.ones((2, 2)))


def test_long_cut_is_refused(monkeypatch):
    model = RobotControl(3, 0.4, 1.0, 4, 1.0)
    policy = model.solve().policy
    monkeypatch.setattr(control, "LARGEST_CUT", 0)
    with pytest.raises(ValueError, match="capacity"):
        model.solve()
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(policy)


@pytest.mark.parametrize("capacity", [2, 5, 9])
def test_more_robots_do_not_help(capacity):
    model, solution = without_cap(0.2, 1.0, capacity, 1.3)
    assert solution.max_robots < model.robots
    larger = RobotControl(4 * model.robots, 0.2, 1.0, capacity, 1.3).solve()
    assert larger.gain == pytest.approx(solution.gain, rel=1e-10)
    fewer = RobotControl(solution.max_robots - 1, 0.2, 1.0, capacity, 1.3).solve()
    assert fewer.gain > solution.gain
    assert larger.last_start == solution.last_start


@pytest.mark.parametrize(
    "parameters", [(5, 1e3, 1.0, 3, 1e-9), (2, 1e6, 1e-6, 4, 1.0), (8, 0.5, 1.0, 30, 1e-6)]
)
def test_tiny_gain_respects_bounds(parameters):
    model = RobotControl(*parameters)
    solution = model.solve()
    assert structure.starvation_bound(model) <= solution.gain * (1 + 1e-12)
    assert solution.gain <= structure.lossless_cost(model) * (1 + 1e-12)


def extreme_model(rng: np.random.Generator) -> RobotControl:
    """Rates and weights over many decades, small enough for 100 digits."""
    robots, capacity = rng.integers(1, [6, 9])
    exponents = rng.uniform([-5, -3, -6], [5, 3, 6])
    arrival_rate, service_rate, gamma = 10.0**exponents
    return RobotControl(robots, arrival_rate, service_rate, capacity, gamma)


@pytest.mark.parametrize("seed", range(200))
def test_optimum_in_100_digits(seed):
    model = extreme_model(np.random.default_rng(seed))
    solution = model.solve()
    assert high_precision.relative_excess(model, solution) == pytest.approx((0.0, 0.0), abs=1e-13)
    assert solution.is_switching_curve


@pytest.mark.parametrize(
    ("parameters", "optimum"),
    [
        ((6, 6.959611458591513, 0.26506322959510215, 8, 5.6573763531500006e-06), 9.301554e-22),
        ((3, 1e5, 1.0, 6, 1e6), 6.172778e-27),
        ((2, 1.9902266666755782e-05, 102.5886295276941, 1, 653.0749984244242), 653.0747),
    ],
)
def test_tiny_optimum_has_right_policy(parameters, optimum):
    model = RobotControl(*parameters)
    solution = model.solve()
    assert solution.gain == pytest.approx(optimum, rel=1e-6)
    assert high_precision.relative_excess(model, solution) == pytest.approx((0.0, 0.0), abs=1e-13)
