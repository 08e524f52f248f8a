"""Closed forms and inequalities of the controlled queue, in rational arithmetic where it can be."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.robots import RobotControl, structure

rates = st.fractions(Fraction(1, 20), 4, max_denominator=20)
weights = st.fractions(Fraction(1, 100), 60, max_denominator=100)


@settings(max_examples=25)
@given(st.integers(1, 4), rates, rates, st.integers(2, 4), weights)
def test_exact_optima_satisfy_inequalities(robots, arrival_rate, service_rate, capacity, gamma):
    exact = structure.exact_optimum(robots, arrival_rate, service_rate, capacity, gamma)
    model = RobotControl(
        robots, float(arrival_rate), float(service_rate), capacity, float(gamma)
    )  # fmt: skip
    assert float(exact.gain) == pytest.approx(model.solve().gain, rel=1e-10)
    slacks = structure.inequalities(exact.bias, gamma / service_rate)
    assert all(slack >= 0 for slack in slacks.values()), slacks
    # The optimality equation, without rounding, wherever the operator does not use (0, 0).
    image = structure.apply_operator(exact.bias, arrival_rate, service_rate, gamma)
    event_rate = arrival_rate * robots + service_rate
    violation = image - event_rate * exact.bias
    # TV = V + theta/nu up to gamma 1(q=0) and losses, which are boundary values here.
    entered = [(q, r) for q in range(capacity + 1) for r in range(robots + 1) if q + r > 1]
    assert {violation[state] for state in entered} == {exact.gain}


@settings(max_examples=30)
@given(st.integers(1, 6), rates, st.integers(2, 6), weights)
def test_curves_have_closed_form_costs(robots, arrival_rate, capacity, gamma):
    model = RobotControl(robots, float(arrival_rate), 1.0, capacity, float(gamma))
    lossless = model.evaluate(model.curve_policy(structure.lossless_curve(model)))
    assert lossless.gain == pytest.approx(structure.lossless_cost(model), rel=1e-9)
    assert lossless.loss_rate == pytest.approx(0.0, abs=1e-12)
    saturated = model.evaluate(model.curve_policy(structure.saturated_curve(model)))
    assert saturated.gain == pytest.approx(structure.saturated_cost(model), rel=1e-9)
    exact = structure.exact_costs(robots, arrival_rate, Fraction(1), capacity, gamma)
    assert [float(cost) for cost in exact] == pytest.approx([lossless.gain, saturated.gain])


@pytest.mark.parametrize(("robots", "capacity"), [(2, 2), (3, 4), (5, 3)])
def test_curves_are_optimal_at_extremes(robots, capacity):
    small = RobotControl(robots, 0.4, 1.0, capacity, 1e-4)
    assert small.solve().gain == pytest.approx(structure.lossless_cost(small), rel=1e-9)
    large = RobotControl(robots, 0.4, 1.0, capacity, 1e4)
    assert large.solve().gain == pytest.approx(structure.saturated_cost(large), rel=1e-9)


def test_inequalities_without_w_are_not_closed():
    # All other inequalities hold, and W fails one step later: no proof can go through these alone.
    columns = [[Fraction(1), Fraction(0), Fraction(0)], [Fraction(-1), Fraction(-1), Fraction(0)]]
    values = np.array(columns, dtype=object).T
    before = structure.inequalities(values, Fraction(0))
    assert set(before) == {"S", "C", "CU", "W", "X2", "early"}  # R and D need two robots
    assert all(before[name] >= 0 for name in ("S", "C", "CU", "X2"))
    unit = Fraction(1)
    after = structure.apply_operator(values, unit, unit, Fraction(0)) / 2
    assert structure.inequalities(after, Fraction(0))["W"] == Fraction(-1, 2)


@settings(max_examples=20)
@given(st.integers(1, 4), rates, rates, st.integers(2, 4), weights)
def test_iterated_slacks_match_operator(robots, lam, mu, capacity, gamma):
    bias = np.full((capacity + 1, robots + 1), Fraction(0))
    event_rate = lam * robots + mu
    least = {}
    for _ in range(6):
        bias = structure.apply_operator(bias, lam, mu, gamma) / event_rate
        for name, slack in structure.inequalities(bias, gamma / mu).items():
            least[name] = min(slack, least.get(name, slack))
    assert structure.iterate_slacks(robots, lam, mu, capacity, gamma, 6) == least


@settings(max_examples=20)
@given(st.integers(1, 4), rates, rates, st.integers(2, 4), weights)
def test_iterates_satisfy_inequalities(robots, lam, mu, capacity, gamma):
    least = structure.iterate_slacks(robots, lam, mu, capacity, gamma, 60)
    assert all(least[name] >= 0 for name in ("S", "R", "C", "CU", "W") if name in least), least
