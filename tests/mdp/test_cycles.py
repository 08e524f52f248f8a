"""Deterministic systems: the cycle that a start runs into, and the best of all cycles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.mdp.cycles import follow_to_cycle, maximum_mean_cycle


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


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 60))
def test_state_leads_to_cycle(period, before, horizon):
    def step(n):
        return -n, n + 1 if n + 1 < before + period else before

    passed, first = follow_to_cycle(step, 0, horizon, key=int)
    assert first == (before if horizon >= before + period else None)
    assert passed == [-n for n in range(min(horizon, before + period))]


def test_state_may_change_in_place():
    def step(state):
        state += 1
        state %= 3
        return int(state[0]), state

    passed, first = follow_to_cycle(step, np.array([5]), 10, key=np.ndarray.tobytes)
    assert (passed, first) == ([0, 1, 2, 0], 1)
