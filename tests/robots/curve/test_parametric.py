"""All optimal policies at once: against brute force, solvers and fractions; split classes."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.results import NotConverged
from analysis.robots import RobotControl
from analysis.robots.curve import ReducedQueue, optimal_range, optimal_sequence
from analysis.robots.curve.parametric import next_switch, reunite_classes
from analysis.robots.curve.reduced import evaluate, evaluate_exactly, solve_floats

MODELS = [
    (1, 0.7, 1.0, 3), (2, 0.3, 1.0, 2), (3, 1.4, 1.0, 5), (4, 0.25, 1.0, 4), (5, 0.6, 2.0, 3),
    (6, 2.5, 1.0, 1), (7, 0.1, 0.4, 6), (8, 0.2, 1.0, 9), (9, 1.0, 1.0, 4), (16, 0.1, 1.0, 5),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_costs_match_solver(model):
    # 100 weights for each of ten models.
    robots, arrival_rate, service_rate, capacity = model
    found = optimal_sequence(robots, arrival_rate, service_rate, capacity)
    assert found.grows
    assert found.are_curves
    for gamma in np.exp(np.random.default_rng(0).uniform(-5, 5, size=100)):
        solution = RobotControl(*model, float(gamma)).solve()
        assert found.gain(float(gamma)) == pytest.approx(solution.gain, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_speedup_lines_match_averages(seed):
    rng = np.random.default_rng(seed)
    robots, capacity, rate = int(rng.integers(1, 5)), int(rng.integers(1, 5)), rng.uniform(0.1, 2)
    speedup = np.append(0.0, np.cumsum(rng.uniform(0.1, 2, robots)))
    found = optimal_sequence(robots, rate * speedup, 1.0, capacity)
    for gamma in (0.05, 0.7, 5.0, 80.0):
        solution = RobotControl(robots, rate, 1.0, capacity, gamma, speedup=speedup).solve()
        lost, starved = found.costs[np.searchsorted(found.breakpoints, gamma)]
        assert solution.loss_rate == pytest.approx(lost, rel=1e-6, abs=1e-9)
        assert solution.starvation == pytest.approx(starved, rel=1e-6)
        assert found.gain(gamma) == pytest.approx(lost + gamma * starved, rel=1e-12)


@pytest.mark.parametrize(
    ("robots", "capacity"), [(2, 1), (2, 2), (2, 4), (3, 1), (3, 2), (3, 3), (3, 5)]
)
@pytest.mark.parametrize("arrival_rate", [Fraction(1, 5), Fraction(1), Fraction(3)])
def test_sequence_by_brute_force(robots, capacity, arrival_rate):
    queue = ReducedQueue(robots, capacity)
    rates = queue.linear_rates(arrival_rate)
    lines = []
    for chosen in itertools.product([False, True], repeat=len(queue.boxes)):
        table = queue.curve_policy(queue.lossless_curve())
        for box, starts in zip(queue.boxes, chosen, strict=True):
            table[box] = starts
        # Of a policy with several recurrent classes each is that of another policy, too.
        with contextlib.suppress(ValueError):
            lines.append(evaluate_exactly(queue, table, 1, rates).cost)
    assert len(lines) > 2 ** len(queue.boxes) / 3
    losses, starvation = np.array(lines, dtype=float).T
    found = optimal_sequence(robots, float(arrival_rate), 1.0, capacity)
    for gamma in np.geomspace(1e-3, 1e4, 50):
        least = (losses + gamma * starvation).min()
        assert found.gain(float(gamma)) == pytest.approx(least, rel=1e-10)


@settings(max_examples=25)
@given(st.integers(2, 6), st.floats(0.05, 1), st.integers(2, 7), st.floats(0.01, 200))
def test_policy_is_optimal_in_range(robots, rate, capacity, gamma):
    found = optimal_sequence(robots, rate, 1.0, capacity)
    number = found.position(gamma)
    queue = found.queue
    low, high = optimal_range(queue, found.policy(number), 1.0, queue.linear_rates(rate))
    assert low * (1 - 1e-8) <= gamma <= high * (1 + 1e-8)
    edges = [0.0, *found.breakpoints, math.inf]
    assert (low, high) == pytest.approx(edges[number : number + 2], rel=1e-7, abs=1e-12)
    model = RobotControl(robots, rate, 1.0, capacity, gamma)
    assert model.evaluate(found.policy(number)).gain == pytest.approx(found.gain(gamma), rel=1e-8)


def test_inferior_policy_has_no_range():
    queue = ReducedQueue(3, 3)
    table = queue.curve_policy([3, 3, 3])  # the last robot, too
    low, high = optimal_range(queue, table, 1.0, queue.linear_rates(0.5))
    assert low > high


@pytest.mark.parametrize("robots", [1, 2, 5, 8])
def test_triangle_matches_large_capacities(robots):
    # The same boxes in the same order, at weights with the same cost.
    triangle = optimal_sequence(robots, 0.2)
    assert len(triangle) == robots * (robots + 1) // 2
    for capacity in (max(robots, 2), robots + 4):
        found = optimal_sequence(robots, 0.2, 1.0, capacity)
        shift = capacity - robots
        assert [(q - shift, r) for q, r in found.switched] == list(triangle.switched)
        thetas = [found.gain(float(gamma)) for gamma in found.breakpoints]
        assert thetas == pytest.approx(triangle.breakpoints, rel=1e-9)


@settings(max_examples=25)
@given(st.integers(2, 7), st.floats(0.05, 1), st.integers(2, 8))
def test_index_rises_with_state(robots, rate, capacity):
    index = optimal_sequence(robots, rate, 1.0, capacity).index()
    slack = 1 + 1e-9
    assert (index[:, :-1] <= index[:, 1:] * slack).all()
    assert (index[:-1, 1:] <= index[1:, :-1] * slack).all()
    assert index[capacity, robots - 1] == math.inf
    assert (index[np.add.outer(np.arange(capacity + 1), np.arange(robots)) < capacity] == 0).all()


@pytest.mark.parametrize("robots", [2, 3, 5, 8])
@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(37, 10)])
def test_last_index_closed_form(robots, rate):
    found = optimal_sequence(robots, rate, Fraction(3, 2), exact=True)
    assert found.switched[-1] == (robots, robots - 2)
    assert found.breakpoints[-1] == Fraction(3, 2) + 2 * rate * (robots - 1)


def test_rounding_is_refused():
    with pytest.raises(NotConverged, match="compute with exact=True"):
        optimal_sequence(8, 3.7, 1.5)


def test_shared_line_breaks_curve():
    # Concave rates: at gamma = 1900 a robot is started at (3, 1) and not at (3, 0).
    found = optimal_sequence(3, [0, 3, 3.1, 3.2], 1.0, 3)
    assert not found.are_curves
    policy = found.policy(found.position(1900))
    assert policy[3, :3].tolist() == [False, True, False]
    exact = optimal_sequence(3, [0, 3, Fraction(31, 10), Fraction(16, 5)], 1, exact=True)
    between = [float(point) for point in exact.breakpoints[-2:]]
    assert between == pytest.approx([40.660, 44.330], abs=1e-3)
    assert found.gain(1900) == pytest.approx(42.3992, abs=1e-4)


def test_policy_limit_is_kept():
    with pytest.raises(NotConverged, match="more than 3"):
        optimal_sequence(4, 0.5, max_policies=3)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="rates"):
        optimal_sequence(3, -0.5)
    with pytest.raises(ValueError, match="rates"):
        optimal_sequence(3, [0, 1, 1, 2])
    with pytest.raises(ValueError, match="rates"):
        optimal_sequence(3, [0, 1, 2])
    with pytest.raises(ValueError, match="rates"):
        optimal_sequence(3, 0.5, 1, exact=True)
    with pytest.raises(ValueError, match="capacity"):
        optimal_sequence(3, 0.5, 1.0, 0)
    with pytest.raises(ValueError, match="gain needs a queue of one capacity"):
        optimal_sequence(3, 0.5).gain(1.0)
    with pytest.raises(ValueError, match="number"):
        optimal_sequence(3, 0.5).policy(99)
    with pytest.raises(ValueError, match="curve"):
        ReducedQueue(3).curve_policy([1])


def test_stopped_box_has_no_index():
    found = optimal_sequence(2, 0.5)
    twice = type(found)(found.queue, (1.0, 2.0), ((2, 0), (2, 0)), None)
    assert not twice.grows
    with pytest.raises(ValueError, match="has no index"):
        twice.index()


@pytest.mark.parametrize("solve", [evaluate, evaluate_exactly])
def test_several_classes_are_refused(solve):
    queue = ReducedQueue(3, 2)
    table = queue.curve_policy(queue.lossless_curve())
    table[2, 1] = table[1, 2] = True
    with pytest.raises(ValueError, match="one recurrent class"):
        solve(queue, table, 1, [0, 1, 2, 3])


def test_saturated_curve_is_last():
    queue = ReducedQueue(3, 4)
    table = queue.curve_policy([4, 4, 3])
    assert next_switch(queue, table, evaluate(queue, table, 1.0, [0, 0.5, 1, 1.5])) == (None, None)


#: Robots that hinder each other; the first two met random searches, where the sequence went round
#: in circles or met a policy without one cost.
STEPS = [
    (1.6487143945399791, 0.25, 0.125, 0.25, 1.0),
    (1.6487143945399791, 0.15468237634089924, 0.125, 0.25, 1.0),
    (2.0, 0.25, 0.125, 0.25, 1.0),
]


@pytest.mark.parametrize("steps", STEPS)
def test_costs_beyond_split_match_solver(steps):
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


@pytest.mark.parametrize(
    ("rates", "capacity", "splits"),
    [
        ([Fraction(2, 5) * r for r in range(5)], 3, False),
        ([0, 1, Fraction(9, 8), Fraction(19, 16), Fraction(21, 16), Fraction(29, 16)], 2, True),
    ],
)
def test_fractions_match_floats(rates, capacity, splits):
    robots = len(rates) - 1
    exact = optimal_sequence(robots, rates, 1, capacity, exact=True, max_policies=50)
    floats = optimal_sequence(robots, [float(rate) for rate in rates], 1.0, capacity)
    assert exact.switched == floats.switched
    assert (len(set(exact.breakpoints)) < len(exact.breakpoints)) == splits
    assert all(isinstance(point, Fraction) for point in exact.breakpoints)
    np.testing.assert_allclose(
        [float(x) for x in exact.breakpoints], floats.breakpoints, rtol=1e-11
    )


def test_reunite_one_or_three_classes():
    queue = ReducedQueue(8, 3)
    rates = (1.0, [0.5 * r for r in range(9)])
    table = queue.curve_policy(queue.lossless_curve())
    assert list(reunite_classes(queue, table, (2, 2), 1.0, 1.0, rates, solve_floats)) == []
    table[:, [3, 5]] = True
    with pytest.raises(NotConverged, match="several classes"):
        next(reunite_classes(queue, table, (2, 3), 1.0, 1.0, rates, solve_floats))


@given(st.integers(1, 6), st.integers(0, 3), st.data())
def test_large_capacity_has_one_class(robots, more, data):
    queue = ReducedQueue(robots, max(robots + more, 2))
    table = queue.curve_policy(queue.lossless_curve())
    for box in queue.boxes:
        table[box] = data.draw(st.booleans())
    assert queue.closed_classes(table).max() == 0
