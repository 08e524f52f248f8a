"""Robots that together bring less or more than each for itself: solvers against each other."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis.mdp import policy_iteration
from analysis.robots import RobotControl, full_chain, proposition_4
from analysis.robots.controlled import structure
from analysis.robots.controlled.queue import uniformised
from analysis.robots.curve import optimal_sequence


@st.composite
def models(draw):
    """Models whose robots hinder or help each other, in any way."""
    robots = draw(st.integers(1, 6))
    steps = draw(st.lists(st.floats(0.05, 2), min_size=robots, max_size=robots))
    return RobotControl(
        robots,
        draw(st.floats(0.1, 0.6)),
        1.0,
        draw(st.integers(2, 6)),
        draw(st.floats(0.05, 50)),
        speedup=(0.0, *np.cumsum(steps)),
    )


SPLIT = (0.0, 1.6487143945399791, 1.8987143945399791, 2.0237143945399794, 2.2737143945399794, 3.0)


@settings(max_examples=40)
@given(models())
@example(RobotControl(5, 0.5, 1.0, 2, 5.0, speedup=SPLIT))  # two closed classes on the way
def test_three_solvers_agree(model):
    gain = model.solve().gain
    transitions, costs = uniformised(model)
    assert policy_iteration(transitions, -costs).gain == pytest.approx(-gain, rel=1e-8)
    sequence = optimal_sequence(model.robots, model.arrival_rates, 1.0, model.capacity)
    assert sequence.gain(model.gamma) == pytest.approx(gain, rel=1e-8)


@settings(max_examples=40)
@given(models(), st.integers(0, 2**32 - 1))
def test_gain_is_starvation_and_loss(model, seed):
    rates, r = model.arrival_rates, np.arange(model.robots + 1)
    starts = np.random.default_rng(seed).integers(0, 2, model.shape)
    solutions = [model.solve(), model.evaluate(model.static_policy())]
    with suppress(ValueError):  # a policy of several recurrent classes
        solutions.append(model.evaluate(starts))
    for solution in solutions:
        law = solution.occupancy
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        assert solution.starvation == pytest.approx(law[0].sum(), abs=1e-14)
        assert solution.loss_rate == pytest.approx(law[-1] @ rates, rel=1e-9, abs=1e-14)
        assert solution.mean_robots == pytest.approx((law * r).sum(), rel=1e-9)
        parts = model.gamma * solution.starvation + solution.loss_rate
        assert solution.gain == pytest.approx(parts, rel=1e-9, abs=1e-12)
        # Every page that is indexed was brought and not lost.
        brought = law.sum(axis=0) @ rates
        indexed = model.service_rate * (1 - solution.starvation)
        assert indexed == pytest.approx(brought - solution.loss_rate, rel=1e-8, abs=1e-11)


@settings(max_examples=40)
@given(models())
def test_bounds_hold_for_any_speedup(model):
    gain = model.solve().gain
    assert structure.starvation_bound(model) <= gain * (1 + 1e-9)
    for curve, cost in (
        (structure.lossless_curve, structure.lossless_cost),
        (structure.saturated_curve, structure.saturated_cost),
    ):
        evaluated = model.evaluate(model.curve_policy(curve(model)))
        assert evaluated.gain == pytest.approx(cost(model), rel=1e-8)
        assert gain <= cost(model) * (1 + 1e-9)


def test_linear_speedup_changes_nothing():
    plain = RobotControl(4, 0.3, 1.0, 4, 1.2).solve()
    linear = RobotControl(4, 0.3, 1.0, 4, 1.2, speedup=(0, 1, 2, 3, 4)).solve()
    assert linear.gain == pytest.approx(plain.gain, rel=1e-13)
    np.testing.assert_array_equal(linear.policy, plain.policy)


def test_optimum_need_not_be_curve():
    model = RobotControl(3, 3.0, 1.0, 3, 1900.0, speedup=(0, 1, 3.1 / 3, 3.2 / 3))
    solution = model.solve()
    assert solution.gain == pytest.approx(42.3992, abs=1e-4)
    assert not solution.is_switching_curve
    assert solution.policy[3, :3].tolist() == [False, True, False]


@pytest.mark.parametrize("speedup", [(0, 1), (0, 1, 1, 2), (1, 2, 3, 4), (0, 1, 2, np.nan)])
def test_wrong_speedup_is_refused(speedup):
    with pytest.raises(ValueError, match="speedup"):
        RobotControl(3, 0.3, 1.0, 4, 1.0, speedup=speedup)


@pytest.mark.parametrize("process", [proposition_4, full_chain])
def test_printed_process_refuses_speedup(process):
    model = RobotControl(2, 0.3, 1.0, 3, 1.0, speedup=(0, 1, 1.5))
    with pytest.raises(ValueError, match="speedup"):
        process(model)
