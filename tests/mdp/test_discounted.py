"""Discounted solvers: forms of their input, limits and tolerances."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from analysis.mdp import policy_iteration, solve_discounted
from analysis.mdp.discounted import METHODS, _allowed
from analysis.results import NotConverged


def random_problem(seed: int, actions: int = 3, states: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(states, 0.3), size=(actions, states))
    transitions = 0.98 * transitions + 0.02 / states
    return transitions, rng.normal(size=(actions, states))


def test_array_likes_are_read():
    transitions = np.array([[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.125, 0.875]]])
    rewards = np.array([[1.0, 0.0], [0.0, 2.0]])
    expected = solve_discounted(transitions, rewards, 0.9)
    forms = (
        transitions.tolist(),
        transitions.astype(object),
        transitions.astype(np.float32),
        pd.Series(list(transitions), index=["stay", "move"]),
    )
    for form in forms:
        found = solve_discounted(form, rewards, 0.9)
        np.testing.assert_array_equal(found.values, expected.values)
        assert policy_iteration(form, rewards).gain == policy_iteration(transitions, rewards).gain


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [np.asarray, list, lambda p: [sparse.csr_array(m) for m in p]])
def test_float32_rows_are_normalised(form, method):
    rng = np.random.default_rng(8)
    single = rng.dirichlet(np.full(40, 0.3), (2, 40)).astype(np.float32)
    rewards = rng.normal(size=(2, 40))
    whole = single.astype(float) / single.astype(float).sum(axis=-1, keepdims=True)
    assert np.abs(single.astype(float).sum(axis=-1) - 1).max() > 1e-8
    found = solve_discounted(form(single), rewards, 0.999, method=method)
    worth = rewards + 0.999 * whole @ found.values
    np.testing.assert_allclose(worth.max(axis=0), found.values, rtol=1e-12, atol=1e-12)
    exact = policy_iteration(whole, rewards).gain
    assert policy_iteration(form(single), rewards).gain == pytest.approx(exact, rel=1e-13)


def test_wrong_row_sums_are_refused():
    transitions, rewards = np.full((2, 3, 3), 1 / 3), np.arange(6.0).reshape(2, 3)
    for precision, apart in ((np.float32, 3e-6), (np.float64, 3e-9), (np.float16, 3e-3)):
        wrong = transitions.copy()
        wrong[1, 0] *= 1 + apart
        with pytest.raises(ValueError, match=r"sum to 1, got 1.0.* for action 1, state 0"):
            solve_discounted([transitions[0], wrong[1].astype(precision)], rewards, 0.9)
    # Of an action that is not allowed nothing is asked.
    rewards[1, 0] = -np.inf
    found = solve_discounted([transitions[0], wrong[1].astype(np.float32)], rewards, 0.9)
    assert found.policy[0] == 0


@pytest.mark.parametrize("method", ["policy iteration", "value iteration"])
def test_iteration_limit_is_exact(method):
    for seed in (1, 2, 3, 4):
        transitions, rewards = random_problem(seed)
        found = solve_discounted(transitions, rewards, 0.9, method=method)
        enough = solve_discounted(
            transitions, rewards, 0.9, method=method, max_iterations=found.iterations
        )
        assert enough.iterations == found.iterations
        if found.iterations > 1:
            with pytest.raises(NotConverged, match=f"after {found.iterations - 1} "):
                solve_discounted(
                    transitions, rewards, 0.9, method=method, max_iterations=found.iterations - 1
                )


def test_value_iteration_reports_residual():
    """Half of 5 * 0.95^2, for two states that are never left."""
    rewards, stay = np.array([[3.0, 8.0]]), np.eye(2)[None]
    with pytest.raises(NotConverged, match=r"a residual of 2\.26 after 3 iterations"):
        solve_discounted(stay, rewards, 0.95, method="value iteration", max_iterations=3)


def test_tolerance_is_relative():
    """Values times 1 - b: here 2 - 0.1 * 30 and 2 + 0.1 * 5, the largest 2.5 in size."""
    bias = np.array([-30.0, 5.0])
    assert _allowed(2.0, bias, 0.9, 1e-3, 1.0) == pytest.approx(2.5e-3, rel=1e-12)
    last = 16 * np.finfo(float).eps * 0.1 * 4.0
    assert _allowed(0.0, 0 * bias, 0.9, 1e-3, 4.0) == pytest.approx(last, rel=1e-12, abs=0)


def test_near_optimal_policy_may_stay():
    """Leaving state 0 is worth 0.001 of 2."""
    transitions = np.array([np.eye(2), [[0.0, 1.0], [0.0, 1.0]]])
    rewards = np.array([[1.0, 1.002], [0.999, 0.0]])
    assert solve_discounted(transitions, rewards, 0.5).policy.tolist() == [1, 0]
    coarse = solve_discounted(transitions, rewards, 0.5, tolerance=0.5)
    assert coarse.iterations == 1
    assert coarse.values[0] == pytest.approx(2.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("apart", [9e-10, -9e-10, 1e-13])
def test_missing_mass_is_shared(method, apart):
    """Methods would else put it where it suits them, which values near discount 1 show."""
    transitions, rewards = random_problem(10)
    given = transitions * (1 + apart * np.arange(transitions.shape[1])[:, None] / 10)
    discount = 1 - (1e-1 if method == "value iteration" else 1e-6)
    found = solve_discounted(given, rewards, discount, method=method, tolerance=1e-12)
    expected = solve_discounted(transitions, rewards, discount, tolerance=1e-12)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    assert policy_iteration(given, rewards).gain == pytest.approx(
        policy_iteration(transitions, rewards).gain, rel=1e-12
    )
