"""A switch that closes a second class of states: one of the two is left, at the same weight."""

import dataclasses
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.results import NotConverged
from analysis.robots import RobotControl
from analysis.robots.curve import ReducedQueue, optimal_sequence
from analysis.robots.curve.reduced import solve_floats
from analysis.robots.curve.split import reunite

#: Robots that hinder each other; the first two met random searches, where the sequence went round
#: in circles or met a policy without one cost.
STEPS = [
    (1.6487143945399791, 0.25, 0.125, 0.25, 1.0),
    (1.6487143945399791, 0.15468237634089924, 0.125, 0.25, 1.0),
    (2.0, 0.25, 0.125, 0.25, 1.0),
]


@pytest.mark.parametrize("steps", STEPS)
def test_costs_beyond_the_split_are_those_of_the_solver(steps):
    model = RobotControl(5, 0.5, 1.0, 2, 1.0, speedup=(0.0, *np.cumsum(steps)))
    found = optimal_sequence(5, model.arrival_rates, 1.0, 2, max_policies=50)
    (twice,) = {point for point in found.breakpoints if found.breakpoints.count(point) > 1}
    assert len(found.costs) == len(found)
    for gamma in twice * np.array([0.5, 0.99, 1, 1.01, 1.2, 2, 20]):
        best = dataclasses.replace(model, gamma=gamma).solve().gain
        assert found.gain(gamma) == pytest.approx(best, rel=1e-11)
    for number, (before, after) in enumerate(pairwise(found.breakpoints)):
        if before < after:
            gamma = (before + after) / 2
            table = found.policy(number + 1)
            evaluated = dataclasses.replace(model, gamma=gamma).evaluate(table)
            assert evaluated.gain == pytest.approx(found.gain(gamma), rel=1e-11)


def test_a_split_is_the_same_in_fractions():
    rates = [0, 1, Fraction(9, 8), Fraction(19, 16), Fraction(21, 16), Fraction(29, 16)]
    exact = optimal_sequence(5, rates, 1, 2, exact=True, max_policies=50)
    floats = optimal_sequence(5, [float(rate) for rate in rates], 1.0, 2, max_policies=50)
    assert exact.switched == floats.switched
    assert len(set(exact.breakpoints)) < len(exact.breakpoints)
    np.testing.assert_allclose(
        [float(x) for x in exact.breakpoints], floats.breakpoints, rtol=1e-11
    )


def test_three_classes_are_refused_and_one_needs_no_switch():
    queue = ReducedQueue(8, 3)
    rates = (1.0, [0.5 * r for r in range(9)])
    table = queue.curve_policy(queue.lossless_curve())
    assert list(reunite(queue, table, (2, 2), 1.0, 1.0, rates, solve_floats)) == []
    table[:, [3, 5]] = True
    with pytest.raises(NotConverged, match="several classes"):
        next(reunite(queue, table, (2, 3), 1.0, 1.0, rates, solve_floats))


@given(st.integers(1, 6), st.integers(0, 3), st.data())
def test_with_a_place_for_each_robot_there_is_one_class(robots, more, data):
    queue = ReducedQueue(robots, max(robots + more, 2))
    table = queue.curve_policy(queue.lossless_curve())
    for box in queue.boxes:
        table[box] = data.draw(st.booleans())
    assert queue.closed_classes(table).max() == 0
