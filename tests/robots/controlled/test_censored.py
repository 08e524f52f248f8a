"""The censored evaluation against the equations that it solves, for any policy."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.robots import RobotControl
from analysis.robots.controlled.censored import cut_and_order, evaluate
from analysis.robots.controlled.graph import recurrent_class, successors


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_gain_and_bias_solve_equations(robots, capacity, seed):
    rng = np.random.default_rng(seed)
    model = RobotControl(robots, 0.4, 1.0, capacity, 1.3)
    policy = rng.random(model.shape) < rng.random()
    policy[0, 0] = True
    departure, arrival = successors(policy, policy)
    assume(recurrent_class(departure, arrival).max() == 0)
    rates = model.departure_rates, model.arrival_rates
    gain, cost, time, bias = evaluate(policy, policy, *rates, 1.3)
    np.testing.assert_allclose(bias, cost - gain * time, atol=1e-9 * cost[1:].max())
    width = model.shape[1]
    for state in range(1, bias.size):
        q, r = divmod(state, width)
        value = 1.3 * (q == 0) + 0.4 * r * (q == capacity) - gain
        for rate, target in ((1.0, departure[state]), (0.4 * r, arrival[state])):
            value += rate * (bias[target] - bias[state]) if target >= 0 else 0.0
        assert value == pytest.approx(0.0, abs=1e-9 * (1 + np.abs(bias[1:]).max()))


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_only_cut_successors_come_later(robots, capacity, seed):
    policy = np.random.default_rng(seed).random((capacity + 1, robots + 1)) < 0.5
    policy[0, 0] = True
    moves = successors(policy, policy)
    order, cut = cut_and_order(policy, *moves)
    assert sorted(order) == list(range(1, policy.size))
    position = np.empty(policy.size, int)
    position[order] = np.arange(order.size)
    for state in order:
        for target in (moves[0][state], moves[1][state]):
            assert target < 0 or cut[target] >= 0 or position[target] < position[state]
