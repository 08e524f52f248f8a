"""Restart bandits on arms made to break them: the index by its definition in ball arithmetic."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from analysis.mdp import solve_discounted
from analysis.restarts import (
    RestartArm,
    RestartBandit,
    certify_indexability,
    evaluate_scores,
    index_scores,
    myopic_scores,
    optimal_threshold,
    relaxed_bound,
    simulate,
    solve_joint,
    thresholds,
    whittle_index,
    whittle_indices,
)
from analysis.restarts.subsidised import solve_subsidised
from analysis.restarts.whittle import METHODS
from analysis.results import NotConverged
from tests.restarts.support import FAMILIES as ARMS
from tests.restarts.support import draw, precise_index
from tests.restarts.test_joint import enumerated

#: Arms of each family in ``make check``, and in ``make proofs``: 2,000 in all.
FEW, MANY = 8, 200


@cache
def truth(family: str, number: int) -> tuple[RestartArm, float, np.ndarray]:
    """An arm, a discount and the arm's index."""
    arm, discount = draw(family, number)
    return arm, discount, precise_index(arm, discount)


def scale(arm: RestartArm, index: np.ndarray) -> np.ndarray:
    """What an error is relative to."""
    every = np.concatenate([arm.passive_cost, arm.active_cost])
    spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
    return np.abs(index) + spread + 1e-7 * np.abs(every).max()


def right(arm: RestartArm, found: np.ndarray, index: np.ndarray) -> bool:
    """Whether an index has nine digits; nan stands for none."""
    return bool(((np.abs(found - index) <= 1e-9 * scale(arm, index)) | np.isnan(found)).all())


def every_method(family: str, count: int) -> None:
    """Each method is right or does not converge; elimination always does.

    The closed form and the ratio refuse arms without thresholds, and the definition, at discount 1,
    those of which a policy has several closed classes.
    """
    for number in range(count):
        arm, discount, index = truth(family, number)
        threshold = whittle_index(arm, discount).method == "closed form"
        for method in METHODS:
            try:
                found = whittle_index(arm, discount, method=method)
            except NotConverged:
                assert method == "definition", number
                continue
            except ValueError:
                allowed = discount == 1 if method == "definition" else not threshold
                assert allowed, (number, method)
                assert method not in ("auto", "elimination"), number
                continue
            assert found.residual <= 1e-9
            assert right(arm, found.index, index), (number, method)
            assert method == "ratio" or np.isfinite(found.index).all()


def batches(family: str, count: int) -> None:
    """A batch has the index of each arm."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        assert right(arm, whittle_indices([arm, arm], discount)[1], index), number


def certificates(family: str, count: int) -> None:
    """No certificate is given to a wrong index, and none refused where digits are not short."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        if discount < 1:
            found = certify_indexability(arm, discount)
            assert right(arm, found.crossings, index[found.order])
            assert found.holds or discount > 0.9999, (number, found.residual)


def nested(family: str, count: int) -> None:
    """Nested policies cost what the best policy costs, at every subsidy."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        found = thresholds(arm, discount, order="critical")
        assert right(arm, found.crossings, np.sort(index))
        if discount > 0.9999:
            continue
        for subsidy in (index.min() - 1, float(np.median(index)), index.max() + 1):
            best = float(arm.reset @ solve_subsidised(arm, discount, subsidy).values)
            size = abs(subsidy) + np.abs(arm.passive_cost).max() + np.abs(arm.active_cost).max()
            assert abs(found.cost_at(subsidy).min() - best) <= 1e-9 * size
            at = found.cost_at(subsidy)[found.best(subsidy)]
            assert abs(at - best) <= 1e-9 * size


def best_thresholds(family: str, count: int) -> None:
    """The best threshold passes a state that is visited where the subsidy passes its index."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        if (np.diff(index) <= 0).any() or (np.diff(thresholds(arm, discount).activity) >= 0).any():
            continue
        for k, tie in enumerate(index):
            nudge = 1e-7 * scale(arm, index)[k]
            if np.abs(np.delete(index, k) - tie).min(initial=np.inf) > 2 * nudge:
                below, above = optimal_threshold(arm, discount, [tie - nudge, tie + nudge])
                assert (below, above) == (k, k + 1)


def bandit(family: str, number: int) -> RestartBandit:
    """Three small arms of a family."""
    rng = np.random.default_rng([number, 3])
    arms = [draw(family, 3 * number + n, int(rng.integers(1, 4)))[0] for n in range(3)]
    return RestartBandit(arms, int(rng.integers(1, 3)), float(rng.choice([0.5, 0.9, 0.999])))


def joint(family: str, count: int) -> None:
    """The joint optimum is that of the enumerated problem, and no policy or bound passes it."""
    for number in range(count):
        system = bandit(family, number)
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


def scores(family: str, count: int) -> None:
    """Scores are those of each arm alone, ties levelled."""
    for number in range(count):
        system = bandit(family, number)
        for arm, by_index, myopic in zip(
            system.arms, index_scores(system), myopic_scores(system), strict=True
        ):
            index = precise_index(arm, system.discount)
            every = np.abs(np.concatenate(index_scores(system))).max()
            assert (np.abs(by_index - index) <= 1e-9 * (scale(arm, index) + every)).all()
            np.testing.assert_array_equal(myopic, arm.passive_cost - arm.active_cost)


def simulated(family: str, count: int) -> None:
    """A simulated cost is the policy's value, to its interval.

    A tenth of each passive epoch leads anywhere: what happens in fewer than one of all paths is in
    no interval.
    """
    for number in range(count):
        drawn = bandit(family, number)
        arms = [
            RestartArm(
                0.9 * arm.passive + 0.1 / arm.states, arm.reset, arm.passive_cost, arm.active_cost
            )
            for arm in drawn.arms
        ]
        system = RestartBandit(arms, drawn.budget, 0.9)
        ranked = index_scores(system)
        value = evaluate_scores(system, ranked).values[0, 0, 0]
        paths = simulate(
            system, {"index": ranked}, paths=400, epochs=250, rng=np.random.default_rng(number)
        )
        mean = paths.mean("index", level=1 - 1e-9)
        room = paths.tail + 1e-9 * np.abs(paths.costs).max()
        assert mean.low - room <= value <= mean.high + room


CHECKS = {
    "whittle_index": (every_method, 2 * FEW, MANY),
    "whittle_indices": (batches, 2 * FEW, MANY),
    "certify_indexability": (certificates, FEW, MANY),
    "thresholds": (nested, FEW, MANY),
    "optimal_threshold": (best_thresholds, FEW, MANY),
    "joint problem": (joint, 2, 20),
    "scores": (scores, 3, 50),
    "simulate": (simulated, 1, 10),
}


@pytest.mark.parametrize("family", ARMS)
@pytest.mark.parametrize("name", CHECKS)
def test_definition(name, family):
    check, few, _ = CHECKS[name]
    check(family, few)


@pytest.mark.slow
@pytest.mark.parametrize("family", ARMS)
@pytest.mark.parametrize("name", CHECKS)
def test_definition_of_many(name, family):
    check, _, many = CHECKS[name]
    check(family, many)
