"""Deterministic problems: the best of all cycles."""

from fractions import Fraction

import numpy as np
import pytest

from analysis.mdp import maximum_mean_cycle


def best_cycle(successors, rewards, start):
    """Largest mean of a cycle that the start leads to, by all paths that meet no state twice."""
    best = []

    def walk(path, earned):
        for target, reward in zip(successors[:, path[-1]], rewards[:, path[-1]], strict=True):
            if reward == -np.inf:
                continue
            if target in path:
                since = path.index(target)
                best.append(sum(earned[since:], Fraction(reward)) / (len(path) - since))
            else:
                walk([*path, target], [*earned, Fraction(reward)])

    walk([start], [])
    return max(best)


def drawn_forbidden(rng, states):
    rewards = rng.normal(size=(2, states))
    rewards[1, rng.integers(states)] = -np.inf
    return rewards


CYCLES = {
    "unlike": lambda rng, states: rng.normal(size=(2, states)),
    "many ties": lambda rng, states: rng.integers(3, size=(2, states)).astype(float),
    "near ties": lambda rng, states: 1 + 1e-10 * rng.integers(3, size=(2, states)),
    "rewards of ten decades": lambda rng, states: 10.0 ** rng.uniform(-5, 5, (2, states)),
    "forbidden actions": drawn_forbidden,
    "rewards of 1e-200": lambda rng, states: 1e-200 * rng.normal(size=(2, states)),
    "rewards of 1e200": lambda rng, states: 1e200 * rng.normal(size=(2, states)),
}


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("draw", CYCLES.values(), ids=CYCLES)
def test_best_mean_cycle(draw, count):
    for number in range(count):
        rng = np.random.default_rng(number)
        states = int(rng.integers(1, 6))
        successors = rng.integers(states, size=(2, states))
        rewards = draw(rng, states)
        unit = np.abs(rewards[np.isfinite(rewards)]).max()
        for start in range(states):
            solution, cycle = maximum_mean_cycle(successors, rewards, initial_state=start)
            truth = best_cycle(successors, rewards, start)
            assert abs(solution.gain - truth) <= 1e-11 * unit
            own = rewards[solution.policy[cycle], cycle].mean()
            assert own == pytest.approx(solution.gain, rel=1e-14, abs=1e-15 * unit)
            assert solution.residual <= 1e-11 * unit


def test_long_cycle_is_found():
    """A ring of 3,000 states that earns a billionth more, or less, than staying somewhere."""
    states = 3000
    around = np.arange(states)
    successors = np.stack([(around + 1) % states, around])
    rewards = np.stack([np.random.default_rng(0).normal(size=states), np.full(states, -9.0)])
    mean = float(sum(map(Fraction, rewards[0])) / states)
    for more in (-1e-9, 1e-9):
        rewards[1, 1234] = mean + more
        solution, cycle = maximum_mean_cycle(successors, rewards)
        assert solution.gain == pytest.approx(mean + max(more, 0.0), abs=1e-12)
        assert len(cycle) == (1 if more > 0 else states)


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
