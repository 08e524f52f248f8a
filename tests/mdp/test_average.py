"""Average-reward solvers against each other, a public package and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quantecon.markov import DiscreteDP
from scipy import sparse
from scipy.optimize import linprog

from analysis.mdp import maximum_mean_cycle, policy_iteration, relative_value_iteration
from analysis.results import NotConverged


def random_problem(seed: int, actions: int = 3, states: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(states, 0.3), size=(actions, states))
    transitions = 0.98 * transitions + 0.02 / states
    return transitions, rng.normal(size=(actions, states))


def gain_by_linear_program(transitions: np.ndarray, rewards: np.ndarray) -> float:
    """Largest long-run reward over stationary state-action frequencies."""
    actions, states = rewards.shape
    balance = np.concatenate([np.eye(states) - transitions[a].T for a in range(actions)], axis=1)
    equal = np.vstack([balance, np.ones(actions * states)])
    right = np.append(np.zeros(states), 1.0)
    return -linprog(-rewards.ravel(), A_eq=equal, b_eq=right).fun


@pytest.mark.parametrize("seed", range(8))
def test_solvers_match_linear_programme(seed: int) -> None:
    transitions, rewards = random_problem(seed)
    exact = gain_by_linear_program(transitions, rewards)
    by_policy = policy_iteration(transitions, rewards)
    by_value = relative_value_iteration(transitions, rewards)
    assert by_policy.gain == pytest.approx(exact, abs=1e-9)
    assert by_value.gain == pytest.approx(exact, abs=1e-9)
    np.testing.assert_array_equal(by_policy.policy, by_value.policy)


@pytest.mark.parametrize("seed", range(4))
def test_discounted_solver_tends_to_gain(seed: int) -> None:
    transitions, rewards = random_problem(seed)
    ours = policy_iteration([sparse.csr_array(p) for p in transitions], rewards)
    peer = DiscreteDP(rewards.T, transitions.transpose(1, 0, 2), 1 - 1e-6)
    answer = peer.solve(method="policy_iteration")
    assert ours.gain == pytest.approx(float(answer.v.mean()) * 1e-6, abs=1e-5)
    np.testing.assert_array_equal(ours.policy, answer.sigma)


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_policy_iteration_has_no_unit(unit: float) -> None:
    transitions, rewards = random_problem(5)
    ours, scaled = (
        policy_iteration(transitions, rewards),
        policy_iteration(transitions, rewards * unit),
    )
    assert scaled.gain / unit == pytest.approx(ours.gain, rel=1e-11)
    np.testing.assert_array_equal(scaled.policy, ours.policy)
    successors = transitions.argmax(axis=2)
    cycle, _ = maximum_mean_cycle(successors, rewards)
    scaled_cycle, _ = maximum_mean_cycle(successors, rewards * unit)
    assert scaled_cycle.gain / unit == pytest.approx(cycle.gain, rel=1e-11)


def test_residual_bounds_violation() -> None:
    transitions, rewards = random_problem(11)
    for solution in (
        policy_iteration(transitions, rewards),
        relative_value_iteration(transitions, rewards),
    ):
        best = (rewards + transitions @ solution.bias).max(axis=0)
        violation = np.abs(best - solution.gain - solution.bias).max()
        assert violation <= max(2 * solution.residual, 1e-12)


def test_better_class_is_kept() -> None:
    # Action 0 stays; action 1 moves round. Staying pays 1, 2, 3; moving costs 5 once.
    stay, move = np.eye(3), np.roll(np.eye(3), 1, axis=1)
    rewards = np.array([[1.0, 2.0, 3.0], [-5.0, -5.0, -5.0]])
    solution = policy_iteration(np.array([stay, move]), rewards)
    assert solution.gain == pytest.approx(3.0)
    np.testing.assert_array_equal(solution.policy, [1, 1, 0])
    assert relative_value_iteration(np.array([stay, move]), rewards).gain == pytest.approx(3.0)


def test_state_dependent_gain_is_refused() -> None:
    stay = np.eye(2)[None]
    rewards = np.array([[0.0, 1.0]])
    with pytest.raises(ValueError, match="weakly communicating"):
        policy_iteration(stay, rewards)
    with pytest.raises(NotConverged):
        relative_value_iteration(stay, rewards, max_iterations=100)


def test_forbidden_actions_are_never_chosen() -> None:
    transitions, rewards = random_problem(5)
    rewards[0, 2:] = -np.inf
    solution = policy_iteration(transitions, rewards)
    assert (solution.policy[2:] > 0).all()
    assert relative_value_iteration(transitions, rewards).gain == pytest.approx(solution.gain)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.floats(0.1, 50), st.floats(-5, 5))
def test_gain_is_affine_in_rewards(seed: int, scale: float, shift: float) -> None:
    transitions, rewards = random_problem(seed, actions=2, states=5)
    plain = policy_iteration(transitions, rewards).gain
    changed = policy_iteration(transitions, scale * rewards + shift).gain
    assert changed == pytest.approx(scale * plain + shift, abs=1e-7)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 12))
def test_mean_cycle_matches_policy_iteration(seed: int, actions: int, states: int) -> None:
    rng = np.random.default_rng(seed)
    successors = rng.integers(states, size=(actions, states))
    successors[0] = (np.arange(states) + 1) % states  # so that every state reaches every other
    rewards = rng.normal(size=(actions, states))
    transitions = np.eye(states)[successors]
    solution, cycle = maximum_mean_cycle(successors, rewards)
    assert solution.gain == pytest.approx(policy_iteration(transitions, rewards).gain, abs=1e-9)
    assert rewards[solution.policy[cycle], cycle].mean() == pytest.approx(solution.gain, abs=1e-9)
    assert solution.residual < 1e-9


def test_mean_cycle_gain_of_start() -> None:
    successors = np.array([[0, 1]])
    rewards = np.array([[1.0, 2.0]])
    assert maximum_mean_cycle(successors, rewards, initial_state=0)[0].gain == 1.0
    assert maximum_mean_cycle(successors, rewards, initial_state=1)[0].gain == 2.0


@pytest.mark.parametrize(
    ("transitions", "rewards", "message"),
    [
        (np.eye(2)[None], [[1.0, 2.0, 3.0]], "shape"),
        (np.eye(2)[None], [1.0, 2.0], "rewards"),
        (np.eye(2)[None] / 2, [[1.0, 2.0]], "sum to 1"),
        (np.array([[[2.0, -1.0], [0.0, 1.0]]]), [[1.0, 2.0]], "non-negative, got -1"),
        (np.eye(2)[None], [[1.0, np.nan]], r"rewards\[0, 1\] must be a number"),
        (np.eye(2)[None], [[1.0, np.inf]], "finite"),
        (np.eye(2)[None], [[1.0, -np.inf]], "at least one action in state 1"),
    ],
)
def test_wrong_problem_is_refused(transitions, rewards, message) -> None:
    for solve in (policy_iteration, relative_value_iteration):
        with pytest.raises(ValueError, match=message):
            solve(transitions, rewards)


def test_wrong_option_is_refused() -> None:
    transitions, rewards = random_problem(0)
    with pytest.raises(ValueError, match="reference"):
        relative_value_iteration(transitions, rewards, reference=7)
    with pytest.raises(ValueError, match="step"):
        relative_value_iteration(transitions, rewards, step=0.0)
    with pytest.raises(ValueError, match="initial"):
        policy_iteration(transitions, rewards, initial=[0, 1])
    with pytest.raises(ValueError, match="successors"):
        maximum_mean_cycle([[0, 2]], [[1.0, 1.0]])
    with pytest.raises(ValueError, match="initial_state"):
        maximum_mean_cycle([[0, 1]], [[1.0, 1.0]], initial_state=2)
