"""The chain of a policy: its classes against SciPy, its evaluation against the equations."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from analysis.mdp import recurrent_classes
from analysis.robots import RobotControl
from analysis.robots.policy_chain import (
    cut_and_order,
    cycle_values,
    cycle_visits,
    evaluate,
    lead_to,
    recurrent_class,
    successors,
)


def random_policy(robots: int, capacity: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    policy = rng.random((capacity + 1, robots + 1)) < rng.random()
    policy[0, 0], policy[:, -1] = True, False
    return policy


POLICIES = st.builds(
    random_policy, st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1)
)  # fmt: skip


def adjacency(moves) -> sparse.csr_array:
    """Return the graph of the moves of a policy, (0, 0) included."""
    states = moves[0].size
    edges = [(state, int(target)) for to in moves for state, target in enumerate(to) if target >= 0]
    source, target = np.array(edges).T
    return sparse.csr_array((np.ones(source.size), (source, target)), shape=(states, states))


@given(POLICIES)
def test_classes_match_scipy(policy):
    moves = successors(policy, policy)
    label = recurrent_class(*moves)
    expected = recurrent_classes(adjacency(moves)[1:, 1:])
    classes = [np.flatnonzero(label == number) - 1 for number in range(label.max() + 1)]
    assert {tuple(members) for members in classes} == {tuple(members) for members in expected}


@given(POLICIES)
def test_any_class_becomes_the_only_one(policy):
    label = recurrent_class(*successors(policy, policy))
    for number in range(label.max() + 1):
        single = recurrent_class(*successors(*[lead_to(policy, label == number)] * 2))
        np.testing.assert_array_equal(single == 0, label == number)
        assert single.max() == 0


# The censored evaluation


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


# The chain on the cut, against dense linear algebra and fractions.


def random_chain(seed: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    near = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 3
    chain = rng.random((size, size)) * near
    return chain / chain.sum(axis=1, keepdims=True), rng.random(size), 0.1 + rng.random(size)


@pytest.mark.parametrize("seed", range(5))
def test_values_and_visits_solve_equations(seed):
    chain, costs, times = random_chain(seed, 25)
    gain, (cost, time, bias) = cycle_values(chain, costs, times)
    np.testing.assert_allclose(bias, cost - gain * time, atol=1e-11)
    np.testing.assert_allclose(bias, costs - gain * times + chain @ bias, atol=1e-11)
    visits = cycle_visits(chain, times)
    np.testing.assert_allclose(visits @ chain, visits, rtol=1e-12)
    assert gain == pytest.approx(visits @ costs / (visits @ times), rel=1e-13)


def test_rare_states_keep_their_digits():
    # A walk that drifts to 0: state i is visited (1e-6)^i as often as its neighbour.
    size, up = 12, 1e-6
    chain = np.diag(np.full(size - 1, up), 1) + np.diag(np.full(size - 1, 1 - up), -1)
    chain[0, 0], chain[-1, -1] = 1 - up, up
    visits = cycle_visits(chain, np.ones(size))
    ratio = float(Fraction(up) / (1 - Fraction(up)))
    np.testing.assert_allclose(visits[1:] / visits[:-1], ratio, rtol=1e-13)


def test_transient_last_state_is_corrected():
    chain = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    gain, _ = cycle_values(chain, np.array([100.0, 1.0, 3.0]), np.array([1000.0, 1.0, 1.0]))
    assert gain == pytest.approx(2.0)


def test_two_recurrent_classes_are_refused():
    with pytest.raises(ValueError, match="chain"):
        cycle_values(np.eye(3), np.ones(3), np.ones(3))
