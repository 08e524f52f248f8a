"""The censored evaluation against the equations that it solves, for any policy."""

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from analysis.robots import RobotControl
from analysis.robots.censored import evaluate, improve
from analysis.robots.ordering import cut_and_order, successors


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 6), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_gain_and_bias_of_any_policy_solve_its_equations(robots, capacity, seed):
    rng = np.random.default_rng(seed)
    model = RobotControl(robots, 0.4, 1.0, capacity, 1.3)
    policy = rng.random(model.shape) < rng.random()
    policy[0, 0] = True
    try:
        gain, bias = evaluate(policy, policy, 0.4, 1.0, 1.3)
    except np.linalg.LinAlgError:
        reject()  # several recurrent classes
    departure, arrival = successors(policy, policy)
    width = model.shape[1]
    for state in range(1, bias.size):
        q, r = divmod(state, width)
        value = 1.3 * (q == 0) + 0.4 * r * (q == capacity) - gain
        for rate, target in ((1.0, departure[state]), (0.4 * r, arrival[state])):
            value += rate * (bias[target] - bias[state]) if target >= 0 else 0.0
        assert value == pytest.approx(0.0, abs=1e-9 * (1 + np.abs(bias[1:]).max()))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 6), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_only_successors_in_the_cut_come_later(robots, capacity, seed):
    policy = np.random.default_rng(seed).random((capacity + 1, robots + 1)) < 0.5
    policy[0, 0] = True
    moves = successors(policy, policy)
    order, cut = cut_and_order(policy, *moves)
    assert sorted(order) == list(range(1, policy.size))
    place = np.empty(policy.size, int)
    place[order] = np.arange(order.size)
    for state in order:
        for target in (moves[0][state], moves[1][state]):
            assert target < 0 or cut[target] >= 0 or place[target] < place[state]


def test_two_recurrent_classes_are_refused():
    model = RobotControl(2, 0.4, 1.0, 3, 1.0)
    never, always = np.zeros(model.shape, bool), np.ones(model.shape, bool)
    never[0, 0] = True
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(never, always, 0.4, 1.0, 1.0)


@pytest.mark.parametrize("sign", [1, -1])
def test_improvement_counts_its_changes_and_leaves_the_forced_action(sign):
    """Every state but (0, 0), where a robot is started by force, moves to the cheaper action."""
    policy = np.full((3, 4), sign > 0)
    policy[0, 0] = True
    bias = sign * np.arange(12.0)  # one more robot costs `sign`
    assert improve(bias, policy, 0.5) == 3 * 3 - 1
    expected = np.full((3, 4), sign < 0)
    expected[0, 0] = True
    expected[:, 3] = sign > 0  # with all robots active there is none to start
    np.testing.assert_array_equal(policy, expected)
    assert improve(bias, policy, 0.5) == 0
    assert improve(-bias, policy, 1.5) == 0  # within the slack an action stays
