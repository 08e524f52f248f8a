"""The joint optimum and policies' values against enumeration, a public solver and the bound."""

from __future__ import annotations

from functools import reduce
from itertools import permutations

import numpy as np
import pytest

from analysis.mdp import solve_discounted
from analysis.restarts.bandit import (
    RestartBandit,
    index_scores,
    level_ties,
    myopic_scores,
    relaxed_bound,
)
from analysis.restarts.instances import slide_arms
from analysis.restarts.joint import JointModel, evaluate_scores, solve_joint
from analysis.restarts.subsidised import solve_subsidised
from tests.restarts.support import draw_arm, draw_bandit, over_families, precise_index, scale


def small(seed: int, budget: int = 1, sizes: tuple[int, ...] = (2, 3, 4)) -> RestartBandit:
    return RestartBandit(tuple(draw_arm(seed + n, k) for n, k in enumerate(sizes)), budget, 0.9)


def enumerated(bandit: RestartBandit) -> tuple[np.ndarray, np.ndarray]:
    """Rewards (states, actions) and kernel (states, actions, states), by Kronecker products."""
    actions = JointModel(bandit).actions
    kernels, rewards = [], []
    for action in actions:
        parts, costs = [], []
        for n, arm in enumerate(bandit.arms):
            active = n in action
            parts.append(np.tile(arm.reset, (arm.states, 1)) if active else arm.passive)
            costs.append(arm.active_cost if active else arm.passive_cost)
        kernels.append(reduce(np.kron, parts))
        rewards.append(-reduce(np.add.outer, costs).ravel())
    return np.stack(rewards, axis=1), np.stack(kernels, axis=1)


def prioritised(bandit: RestartBandit, scores: list[np.ndarray]) -> np.ndarray:
    """The action in each joint state, arms sorted by score and then by number."""
    actions = JointModel(bandit).actions
    chosen = []
    for state in np.ndindex(bandit.shape):
        ranked = sorted(range(len(state)), key=lambda n: (-scores[n][state[n]], n))
        chosen.append(actions.index(tuple(sorted(ranked[: bandit.budget]))))
    return np.array(chosen)


@pytest.mark.parametrize("budget", [1, 2])
def test_ties_go_to_lower_arm(budget):
    bandit = small(0, budget)
    assert (evaluate_scores(bandit, [np.zeros(k) for k in bandit.shape]).policy == 0).all()
    scores = [np.arange(k) % 2.0 for k in bandit.shape]
    found = evaluate_scores(bandit, scores).policy
    assert (found.ravel() == prioritised(bandit, scores)).all()


@pytest.mark.parametrize("ties", ["best", "worst"])
@pytest.mark.parametrize("budget", [1, 2])
def test_tie_rules_bound_every_order(budget, ties):
    # Every arm has a score of 0, 1 or 2, so that many tie; an order of the arms breaks ties.
    bandit = small(5, budget)
    scores = [np.arange(k) % 3.0 for k in bandit.shape]
    extreme = evaluate_scores(bandit, scores, ties=ties).values
    sign = 1 if ties == "best" else -1
    for order in permutations(range(3)):
        ranked = [table - 0.1 * order[n] for n, table in enumerate(scores)]
        assert (sign * (evaluate_scores(bandit, ranked).values - extreme) >= -1e-8).all()
    # No tie is broken better (worse) in one step, and the action taken is one of the highest.
    allowed = JointModel(bandit).highest_actions(scores)
    rewards, kernel = enumerated(bandit)
    to_go = (1 - bandit.discount) * -rewards + bandit.discount * (kernel @ extreme.ravel())
    improved = sign * np.where(allowed.reshape(len(allowed), -1).T, sign * to_go, np.inf).min(
        axis=1
    )
    assert np.allclose(improved, extreme.ravel(), atol=1e-8)
    chosen = evaluate_scores(bandit, scores, ties=ties).policy
    assert np.take_along_axis(allowed, chosen[None], axis=0).all()


def test_no_ties_nothing_to_break():
    bandit = small(1)
    index = index_scores(bandit)
    values = [evaluate_scores(bandit, index, ties=t).values for t in ("lower arm", "best", "worst")]
    assert np.allclose(values, values[0], atol=1e-8)


def test_new_arms_tie():
    rng = np.random.default_rng(0)
    kernels = ("lazy-wearing", "shock", "sorted-simplex")
    arms = tuple(slide_arms(name, 1, 5, rng)[0] for name in kernels)
    scores = index_scores(RestartBandit(arms, 1, 0.9))
    assert scores[0][0] == scores[1][0] == scores[2][0] == pytest.approx(-8)


def test_only_ties_are_levelled():
    scores = [np.array([1.0, 2.0 + 1e-13]), np.array([2.0, 1.0 + 1e-6, 5.0])]
    found = level_ties(scores)
    assert found[0][1] == found[1][0] == 2.0
    assert found[1][1] == scores[1][1]
    assert [len(table) for table in found] == [2, 3]


def test_too_many_joint_states():
    rng = np.random.default_rng(0)
    bandit = RestartBandit(tuple(slide_arms("one-step", 100, 3, rng)), 1, 0.9)
    assert bandit.joint_states == 3**100
    with pytest.raises(ValueError, match=r"at most 2000000 joint states .* got 5.15e\+47"):
        solve_joint(bandit)


def test_wrong_bandit_and_scores_are_refused():
    with pytest.raises(ValueError, match="budget"):
        small(0, 3)
    bandit = small(0)
    with pytest.raises(ValueError, match="scores"):
        evaluate_scores(bandit, [np.zeros(2)] * 3)
    with pytest.raises(ValueError, match="scores"):
        evaluate_scores(bandit, [np.zeros(2)] * 2)
    with pytest.raises(ValueError, match="arms"):
        RestartBandit((bandit.arms[0], 2), 1, 0.9)
    with pytest.raises(ValueError, match="scores"):
        evaluate_scores(bandit, [np.zeros(2), np.full(3, np.nan), np.zeros(4)])
    with pytest.raises(ValueError, match="initial_state"):
        relaxed_bound(bandit, (0, 0, 4))
    with pytest.raises(ValueError, match="discount"):
        RestartBandit(bandit.arms, 1, 1)


# On families of arms that are made to break solvers


@over_families(2, 20)
def test_optimum_and_bound_of_families(family, count):
    """The joint optimum is that of the enumerated problem, and no policy or bound passes it."""
    for number in range(count):
        system = draw_bandit(family, number)
        rewards, kernel = enumerated(system)
        solved = solve_discounted(
            kernel.transpose(1, 0, 2), rewards.T, system.discount, method="policy iteration"
        )
        best = -(1 - system.discount) * solved.values.reshape(system.shape)
        size = 1e-7 * (1e-300 + np.abs(rewards).max())
        found = solve_joint(system)
        np.testing.assert_allclose(found.values, best, rtol=0, atol=size)
        for ties in ("lower arm", "best", "worst"):
            valued = evaluate_scores(system, index_scores(system), ties=ties)
            states = np.arange(valued.policy.size)
            chosen = valued.policy.ravel()
            own = np.linalg.solve(
                np.eye(states.size) - system.discount * kernel[states, chosen],
                -(1 - system.discount) * rewards[states, chosen],
            )
            np.testing.assert_allclose(valued.values.ravel(), own, rtol=0, atol=size)
            assert (valued.values >= best - size).all()
        bound, price = relaxed_bound(system)
        assert bound <= best[0, 0, 0] + size
        assert abs(bound - dual(system, price)) <= size + 1e-9 * abs(price)
        for other in (price - 0.1, price + 0.1):
            assert dual(system, other) <= bound + size + 1e-9 * abs(price)


def dual(system: RestartBandit, price: float) -> float:
    """The value of the relaxed problem at a price, each arm solved by policy iteration."""
    values = [solve_subsidised(arm, system.discount, price).values[0] for arm in system.arms]
    return float(sum(values)) - system.budget * price


@over_families(3, 50)
def test_scores_of_families(family, count):
    """Scores are those of each arm alone, ties levelled."""
    for number in range(count):
        system = draw_bandit(family, number)
        for arm, by_index, myopic in zip(
            system.arms, index_scores(system), myopic_scores(system), strict=True
        ):
            index = precise_index(arm, system.discount)
            every = np.abs(np.concatenate(index_scores(system))).max()
            assert (np.abs(by_index - index) <= 1e-9 * (scale(arm, index) + every)).all()
            np.testing.assert_array_equal(myopic, arm.passive_cost - arm.active_cost)
