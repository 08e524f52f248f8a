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


@pytest.mark.parametrize("kind", ["any", "permutation", "long tail", "all fixed"])
@pytest.mark.parametrize("states", [1, 2, 7, 64, 500])
def test_only_policy_is_walked_to_its_cycle(kind, states):
    """With one action the gain is the mean of the cycle that a walk, step by step, runs into."""
    rng = np.random.default_rng([states, len(kind)])
    following = {
        "any": rng.integers(states, size=states),
        "permutation": rng.permutation(states),
        "long tail": np.maximum(np.arange(states) - 1, 0),
        "all fixed": np.arange(states),
    }[kind]
    rewards = rng.normal(size=states)
    for start in {0, states // 2, states - 1}:
        walk = [start]
        while (state := int(following[walk[-1]])) not in walk:
            walk.append(state)
        cycle = walk[walk.index(state) :]
        solution, own = maximum_mean_cycle([following], [rewards], initial_state=start)
        assert sorted(own) == sorted(cycle)
        assert solution.gain == pytest.approx(rewards[cycle].mean(), abs=1e-13)
        assert solution.residual < 1e-11


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
