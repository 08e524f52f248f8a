"""Linear rules against the exact evaluation, searches of every rule, and the draft's line."""

import itertools

import numpy as np
import pytest

from analysis.robots import FleetControl, RobotControl, RobotKind
from analysis.robots.general.linear import LinearRule, compute_gains, tune_rules

KINDS = (RobotKind(0.9, 2, 0.1), RobotKind(0.35, 2, 0.02))


@pytest.mark.parametrize("substitution", [False, True])
def test_stacked_rules_match_single(substitution):
    model = FleetControl(KINDS, 1.3, 3, 4.0, substitution)
    rng = np.random.default_rng(5)
    rules = [
        LinearRule(tuple(rng.uniform(0, 2, 2)), tuple(rng.uniform(0.1, 6, 2)), order)
        for order in ((0, 1), (1, 0))
        for _ in range(20)
    ]
    policies = np.stack([rule.policy(model) for rule in rules])
    exact = [model.evaluate(policy).gain for policy in policies]
    np.testing.assert_allclose(compute_gains(model, policies), exact, rtol=1e-6)


def test_rule_decides_one_state():
    model = FleetControl(KINDS, 1.0, 3, 4.0)
    policy = LinearRule((1.5, 0.5), (1.75, 2.5), (1, 0)).policy(model)
    assert policy[0, 0, 1, 0] == 1  # level 1.5: both are wanted, slow ones are tried first
    assert policy[0, 0, 0, 2] == 0  # level 1: no slow one is idle
    assert policy[0, 2, 0, 0] == 1  # level 2: slow ones alone are wanted
    assert policy[1, 2, 0, 0] == -1
    assert policy[2, 2, 0, 0] == 1
    assert policy[0, 3, 0, 0] == -1
    assert LinearRule((1.0, 1.0), (0.0, 0.0), (1, 0)).policy(model)[0, 0, 0, 0] == 1


def test_rule_is_optimal_for_equal_robots():
    # The optimum of the study is a switching line in these.
    for gamma, capacity in ((1.2, 4), (6.0, 3)):
        model = FleetControl((RobotKind(0.4, 2), RobotKind(0.4, 1)), 1.0, capacity, gamma)
        optimum = RobotControl(3, 0.4, 1.0, capacity, gamma).solve().gain
        for rule in tune_rules(model):
            assert model.evaluate(rule.policy(model)).gain == pytest.approx(optimum, rel=1e-4)


def test_search_beats_grid():
    weights, thresholds = (0.25, 0.5, 1.0, 1.5, 2.0), np.arange(0.5, 5.5, 0.5)
    for gamma, kinds in ((3.0, KINDS), (12.0, (RobotKind(0.6, 1, 0.9), RobotKind(0.25, 2)))):
        model = FleetControl(kinds, 1.0, 2, gamma)
        rules = itertools.product(
            itertools.product(weights, repeat=2),
            itertools.product(thresholds.tolist(), repeat=2),
            ((0, 1), (1, 0)),
        )
        chains = {}
        for rule in itertools.starmap(LinearRule, rules):
            policy = rule.policy(model)
            chains[policy.tobytes()] = policy
        least = compute_gains(model, np.stack(list(chains.values()))).min()
        _, found = tune_rules(model)
        assert model.evaluate(found.policy(model)).gain < 1.01 * least
        assert model.evaluate(found.policy(model)).gain >= model.solve().gain * (1 - 1e-9)


def test_starts_balance_arrivals():
    model = FleetControl(KINDS, 1.0, 3, 4.0)
    policy = LinearRule((1.3, 0.6), (2.6, 3.1), (0, 1)).policy(model)
    value = model.evaluate(policy)
    law, starts = value.occupancy.reshape(-1), np.zeros(2)
    for event, (source, left, rate) in enumerate(model.events):
        started = policy[event].reshape(-1)[left]
        for kind in range(2):
            starts[kind] += law[source] @ (rate * (started == kind))
    arrivals = [k.arrival_rate * n for k, n in zip(KINDS, value.mean_robots, strict=True)]
    np.testing.assert_allclose(starts, arrivals, rtol=1e-10)
