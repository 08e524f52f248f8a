"""Deterministic problems: the best of all cycles."""

import numpy as np
import pytest

from analysis.mdp.cycles import maximum_mean_cycle


def test_equal_cycles_terminate():
    successors = [[4, 2, 2, 0, 2], [3, 3, 4, 1, 3]]
    rewards = [[1.0, 0.0, 0.0, 1.0, 2.0], [1.0, 1.0, 1.0, 2.0, 0.0]]
    solution, _ = maximum_mean_cycle(successors, rewards, max_iterations=20)
    assert solution.gain == 1.5
    assert solution.residual < 1e-12


def test_any_initial_policy():
    rng = np.random.default_rng(3)
    successors, rewards = rng.integers(9, size=(3, 9)), rng.random((3, 9))
    gains = {
        maximum_mean_cycle(successors, rewards, initial_policy=rng.integers(3, size=9))[0].gain
        for _ in range(20)
    }
    assert max(gains) - min(gains) < 1e-12
    best = maximum_mean_cycle(successors, rewards)[0]
    again = maximum_mean_cycle(successors, rewards, initial_policy=best.policy)[0]
    assert again.iterations == 1
    rewards[2, 4] = -np.inf
    for wrong in ([0] * 8, [3] * 9, [-1] * 9, [2] * 9):
        with pytest.raises(ValueError, match="initial_policy"):
            maximum_mean_cycle(successors, rewards, initial_policy=wrong)
