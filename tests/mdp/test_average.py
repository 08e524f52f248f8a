"""What the solvers for average rewards refuse; their answers stand in test_definitions."""

import numpy as np
import pytest

from analysis.mdp import policy_iteration, relative_value_iteration
from analysis.results import NotConverged


def random_problem(seed: int, actions: int = 3, states: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(states, 0.3), size=(actions, states))
    transitions = 0.98 * transitions + 0.02 / states
    return transitions, rng.normal(size=(actions, states))


def test_state_dependent_gain_is_refused() -> None:
    stay = np.eye(2)[None]
    rewards = np.array([[0.0, 1.0]])
    with pytest.raises(ValueError, match="weakly communicating"):
        policy_iteration(stay, rewards)
    with pytest.raises(NotConverged):
        relative_value_iteration(stay, rewards, max_iterations=100)


@pytest.mark.parametrize(
    ("transitions", "rewards", "message"),
    [
        (np.eye(2)[None], [[1.0, 2.0, 3.0]], "shape"),
        (np.eye(2)[None], [1.0, 2.0], "rewards"),
        (np.eye(2)[None] / 2, [[1.0, 2.0]], "sum to 1"),
        (np.array([[[2.0, -1.0], [0.0, 1.0]]]), [[1.0, 2.0]], "non-negative, got -1"),
        (np.eye(2)[None], [[1.0, np.nan]], "rewards"),
        (np.eye(2)[None], [[1.0, np.inf]], "finite"),
        (np.eye(2)[None], [[1.0, -np.inf]], "at least one action in state 1"),
    ],
)
def test_wrong_problem_is_refused(transitions, rewards, message) -> None:
    for solve in (policy_iteration, relative_value_iteration):
        with pytest.raises(ValueError, match=message):
            solve(transitions, rewards)
