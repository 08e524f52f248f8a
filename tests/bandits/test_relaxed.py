"""Bound and Lagrangian index against linear programmes, and simulation against exact chains."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from analysis.bandits import Arm, index_scores, relaxed_problem, simulate
from analysis.bandits.relaxed import _solve_one_class
from analysis.mdp import policy_iteration
from analysis.mdp.chains import stationary_law
from tests.bandits.adversarial import FAMILIES as ARMS
from tests.bandits.adversarial import draw, passive_advantage


def few(count, states, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Arm(rng.dirichlet(np.ones(states), (2, states)), rng.normal(size=(2, states)))
        for _ in range(count)
    ]


def bound_by_occupation(arms, budget, discount, initial):
    """The relaxed bound as a linear programme in shares of time: no subsidy, no policy."""
    sizes = [2 * arm.states for arm in arms]
    starts = np.cumsum([0, *sizes])
    equal, right, active = [], [], np.zeros(starts[-1])
    for arm, start, first in zip(arms, starts, initial, strict=False):
        states = arm.states
        active[start + states : start + 2 * states] = 1.0
        for target in range(states):
            row = np.zeros(starts[-1])
            row[start : start + 2 * states] = -discount * arm.transitions[:, :, target].ravel()
            row[start + target] += 1.0
            row[start + states + target] += 1.0
            equal.append(row)
            right.append((1 - discount) * (target == first))
        if discount == 1:
            row = np.zeros(starts[-1])
            row[start : start + 2 * states] = 1.0
            equal.append(row)
            right.append(1.0)
    rewards = np.concatenate([arm.rewards.ravel() for arm in arms])
    solved = linprog(
        -rewards, A_eq=np.vstack([*equal, active]), b_eq=np.append(right, budget), method="highs"
    )
    return -solved.fun


@pytest.mark.parametrize("discount", [0.5, 0.95, 1.0])
def test_bound_is_that_of_linear_programme(discount):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        arms = few(2 + seed % 4, 1 + seed % 5, seed)
        initial = [int(rng.integers(arm.states)) for arm in arms]
        budget = 1 + seed % (len(arms) - 1) if len(arms) > 2 else 1
        found = relaxed_problem(arms, budget, discount, initial_state=initial)
        expected = bound_by_occupation(arms, budget, discount, initial)
        assert found.bound == pytest.approx(expected, abs=1e-8)
        assert found.interval[0] <= found.subsidy <= found.interval[1]


def check_hard_arms(family, numbers):
    """The bound is that of the linear programme; no simulated policy passes it.

    A tenth of each epoch leads anywhere, so that averages are those of one class and settle.
    """
    for number in numbers:
        arms = []
        for n in range(3):
            arm, _ = draw(family, 3 * number + n)
            scale = max(float(np.abs(arm.rewards).max()), 1e-300)
            arms.append(Arm(0.9 * arm.transitions + 0.1 / arm.states, arm.rewards / scale))
        budget = 1 + number % 2
        for discount in (0.9, 1.0):
            found = relaxed_problem(arms, budget, discount)
            exact = bound_by_occupation(arms, budget, discount, [0, 0, 0])
            assert abs(found.bound - exact) < 1e-7, (number, discount)
        try:
            policies = {"index": index_scores(arms), "lagrangian": found.index}
        except ValueError:
            policies = {"lagrangian": found.index}
        run = {"epochs": 200, "paths": 40, "warm_up": 100, "rng": number}
        for earned in simulate(arms, policies, budget, **run).values():
            assert earned.low - earned.half_width <= found.bound + 1e-9


@pytest.mark.parametrize("family", ARMS)
def test_no_run_of_hard_arms_beats_bound(family):
    check_hard_arms(family, range(2))


@pytest.mark.slow
@pytest.mark.parametrize("family", ARMS)
def test_no_run_of_forty_sets_beats_bound(family):
    check_hard_arms(family, range(2, 40))


@pytest.mark.parametrize("discount", [0.7, 1.0])
def test_lagrangian_index_is_advantage_at_subsidy(discount):
    arms = few(4, 5, 3)
    found = relaxed_problem(arms, 2, discount)
    for arm, index in zip(arms, found.index, strict=True):
        expected = -passive_advantage(arm, discount, found.subsidy)
        np.testing.assert_allclose(index, expected, atol=1e-8)


@pytest.mark.parametrize("family", ARMS)
def test_dense_solution_is_that_of_policy_iteration(family):
    solved = 0
    for number in range(30):
        arm, _ = draw(family, number)
        for subsidy in (-1.0, 0.0, 0.3):
            rewards = arm.rewards + np.array([[subsidy], [0.0]])
            found = _solve_one_class(arm, rewards)
            if found is None:
                continue
            solved += 1
            exact = policy_iteration(arm.transitions, rewards)
            size = np.abs(rewards).max()
            assert found[0] == pytest.approx(exact.gain, abs=1e-10 * size)
            assert 0 <= found[1] <= 1 + 1e-12
            # The share is a slope of the convex gain: no tangent is above it.
            for other in (subsidy - 0.5, subsidy + 0.5):
                moved = policy_iteration(
                    arm.transitions, arm.rewards + np.array([[other], [0.0]])
                ).gain
                assert moved >= found[0] + found[1] * (other - subsidy) - 1e-9 * size
    assert solved >= (0 if family == "frozen" else 20)


def test_interval_of_multipliers_is_found():
    """Two arms of one state: any subsidy between their differences of rewards does."""
    arms = [Arm(np.ones((2, 1, 1)), [[0.0], [worth]]) for worth in (1.0, 3.0)]
    found = relaxed_problem(arms, 1)
    assert found.interval == pytest.approx((1.0, 3.0))
    assert found.subsidy == pytest.approx(2.0)
    assert found.bound == pytest.approx(3.0)
    assert [index.tolist() for index in found.index] == [[-1.0], [1.0]]


def test_no_policy_earns_more_than_bound():
    """The exact optimum of the joint problem, all sets of one arm allowed."""
    for seed in range(5):
        arms = few(3, 2, seed)
        joint = list(product(range(2), repeat=3))
        kernels, rewards = np.empty((3, 8, 8)), np.empty((3, 8))
        for active, (s, now) in product(range(3), enumerate(joint)):
            actions = [int(i == active) for i in range(3)]
            rewards[active, s] = sum(
                arm.rewards[a, x] for arm, a, x in zip(arms, actions, now, strict=True)
            )
            for t, later in enumerate(joint):
                kernels[active, s, t] = np.prod([
                    arm.transitions[a, x, y]
                    for arm, a, x, y in zip(arms, actions, now, later, strict=True)
                ])  # fmt: skip
        best = policy_iteration(kernels, rewards).gain
        assert best <= relaxed_problem(arms, 1).bound + 1e-9


def test_simulated_reward_is_that_of_joint_chain():
    arms, budget = few(3, 2, 7), 1
    scores = index_scores(arms)
    joint = list(product(range(2), repeat=3))
    chain, reward = np.zeros((8, 8)), np.zeros(8)
    for s, now in enumerate(joint):
        active = int(np.argmax([scores[i][x] for i, x in enumerate(now)]))
        for t, later in enumerate(joint):
            chain[s, t] = np.prod([
                arm.transitions[int(i == active), x, y]
                for i, (arm, x, y) in enumerate(zip(arms, now, later, strict=True))
            ])  # fmt: skip
        reward[s] = sum(arms[i].rewards[int(i == active), x] for i, x in enumerate(now))
    exact = float(stationary_law(chain) @ reward)
    run = {"epochs": 400, "paths": 400, "warm_up": 50, "rng": 1}
    found = simulate(arms, {"index": scores}, budget, **run)["index"]
    assert abs(found.value - exact) < 4 * found.half_width / 1.96


def test_arms_may_differ_in_size():
    arms = [*few(2, 3, 1), *few(1, 1, 2), *few(2, 6, 3)]
    policies = {"index": index_scores(arms), "lagrangian": relaxed_problem(arms, 2).index}
    found = simulate(arms, policies, 2, epochs=300, paths=30, rng=0, warm_up=20)
    bound = relaxed_problem(arms, 2).bound
    assert all(one.low < bound for one in found.values())


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"arms": [1, 2]}, "arms"),
        ({"budget": 3}, "budget"),
        ({"paths": 1}, "paths"),
        ({"scores": {"a": [[0.0, 1.0]]}}, "scores"),
        ({"scores": {"a": [[0.0, 1.0], [0.0, 1.0], [0.0]]}}, "scores"),
        ({"scores": {"a": [[0.0, 1.0], [0.0, 1.0], [0.0, np.nan]]}}, "scores"),
        ({"initial_state": [0, 0]}, "initial_state"),
        ({"initial_state": [0, 0, 2]}, "initial_state"),
    ],
)
def test_wrong_arguments_are_named(changed, named):
    arms = few(3, 2)
    right = {"arms": arms, "scores": {"a": index_scores(arms)}, "budget": 1, "epochs": 2}
    with pytest.raises(ValueError, match=named):
        simulate(**{**right, "paths": 2, "rng": 0, **changed})
