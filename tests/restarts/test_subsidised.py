"""One subsidised arm by its equations, and what the definition says of its own error."""

import numpy as np
import pytest

from analysis.restarts import RestartArm, subsidised
from analysis.restarts.subsidised import Ties, index_by_definition, solve_subsidised
from analysis.results import NotConverged
from tests.restarts.support import (
    EPSILON,
    FAMILIES,
    action_values,
    draw,
    draw_arm,
    precise_index,
)

DISCOUNTS = (0.3, 0.9, 1.0)


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("subsidy", [-0.7, 0.4])
def test_subsidised_arm_solves_equations(discount, subsidy):
    """Both forms of the module's text, with an action of each kind in some state."""
    seen = set()
    for seed in range(4):
        arm, b = draw_arm(seed), discount
        found = solve_subsidised(arm, b, subsidy)
        g, h, v = found.gain, found.bias, found.values
        assert arm.reset @ h == pytest.approx(0, abs=1e-14)
        relative = (arm.passive_cost + b * arm.passive @ h, arm.active_cost + subsidy)
        np.testing.assert_allclose(g + h, np.minimum(*relative), atol=1e-13)
        passive = (1 - b) * arm.passive_cost + b * arm.passive @ v
        active = (1 - b) * (arm.active_cost + subsidy) + b * arm.reset @ v
        np.testing.assert_allclose(v, np.minimum(passive, active), atol=1e-13)
        assert arm.reset @ v == pytest.approx(g, abs=1e-13)
        assert found.policy.tolist() == (relative[1] < relative[0]).astype(int).tolist()
        assert found.residual == pytest.approx(np.abs(np.minimum(*relative) - g - h).max())
        assert found.residual < 1e-14
        assert found.converged
        assert found.method == "policy iteration"
        # From activity everywhere: each round but the last changes the policy.
        assert 1 <= found.iterations <= 6
        assert (found.iterations == 1) == bool(found.policy.all())
        seen |= set(found.policy.tolist())
    assert seen == {0, 1}


def test_subsidised_optimum_by_brute_force():
    for seed, b in ((0, 0.3), (1, 0.9), (2, 0.99)):
        arm = draw_arm(seed)
        best = solve_subsidised(arm, b, 0.1)
        least = subsidised.least_over_policies(arm, b, 0.1)
        np.testing.assert_allclose(least, best.values, atol=1e-13)
        np.testing.assert_allclose(
            np.minimum(*action_values(arm, b, 0.1, least)), least, atol=1e-13
        )
        gain, values = subsidised.evaluate_policy(arm, b, 0.1, best.policy)
        assert np.isnan(gain)
        np.testing.assert_allclose(values, best.values, atol=1e-13)
    average = solve_subsidised(arm, 1.0, 0.1)
    gain, bias = subsidised.evaluate_policy(arm, 1.0, 0.1, average.policy)
    assert gain == average.gain
    np.testing.assert_array_equal(bias, average.bias)
    passive, active = action_values(arm, 1.0, 0.1, bias)
    np.testing.assert_allclose(np.minimum(passive, active) - gain, bias, atol=1e-13)
    with pytest.raises(ValueError, match="states"):
        subsidised.least_over_policies(draw_arm(0, 13), 0.5, 0.0)
    with pytest.raises(ValueError, match="discount"):
        subsidised.least_over_policies(arm, 1.0, 0.0)


def test_several_classes_refused_on_average():
    arm = RestartArm(np.eye(2), [1.0, 0.0], [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="arm and policy, got 1: they have several closed classes"):
        subsidised.relative_values(arm, 1.0, 0.0, np.array([1, 0]))
    gain, _ = subsidised.relative_values(arm, 1.0, 0.0, np.array([0, 1]))
    assert gain == 0
    subsidised.relative_values(arm, 0.9, 0.0, np.array([1, 0]))
    with pytest.raises(NotConverged, match="singular to working precision"):
        subsidised.solve(np.zeros((2, 2)), np.ones((2, 1)))


def test_missing_mass_is_staying():
    short = RestartArm([[0.5 - 9e-10, 0.5], [0.25, 0.75]], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0])
    whole = RestartArm([[0.5, 0.5], [0.25, 0.75]], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0])
    for discount in DISCOUNTS:
        np.testing.assert_array_equal(
            *(subsidised.policy_system(arm, discount, np.zeros(2, int)) for arm in (short, whole))
        )


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_lines_are_ties(discount):
    """a + lambda s is what passivity saves, with costs counted from the least of either action."""
    arm = draw_arm(3)
    ties = Ties(arm, discount)
    idle, repair = arm.passive_cost, arm.active_cost
    assert ties.shift == idle.min() - repair.min()
    assert ties.spread == max(np.ptp(idle), np.ptp(repair))
    for policy in (np.array([1, 0, 1, 0, 1]), np.zeros(5, int), np.ones(5, int)):
        (at_zero,), (slope,) = ties.lines(policy)
        for subsidy in (-1.0, 0.0, 2.0):
            _, h = subsidised.relative_values(arm, discount, subsidy + ties.shift, policy)
            passive = idle + discount * arm.passive @ h
            saved = repair + subsidy + ties.shift - passive
            np.testing.assert_allclose(at_zero + subsidy * slope, saved, atol=1e-12)
    lines = np.array(ties.lines(policy, disturbed=3))
    assert lines.shape == (2, 4, 5)
    off = np.abs(lines[:, 1:] / lines[:, :1] - 1)
    assert off.max() < 1e-5
    assert np.median(off) > 1e-10


@pytest.mark.parametrize("family", FAMILIES)
def test_root_error_bound_holds(family):
    """Errors are relative to the size of an index and the spread; few are refused."""
    refused = 0
    for number in range(10):
        arm, discount = draw(family, number, 4)
        try:
            found, error = index_by_definition(arm, discount)
        except NotConverged:
            assert discount > 0.999999
            refused += 1
            continue
        true = precise_index(arm, discount)
        spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
        largest = np.abs([arm.passive_cost, arm.active_cost]).max()
        off = np.abs(found - true) - 4 * EPSILON * largest
        assert (off <= (error + EPSILON) * (np.abs(true) + spread)).all()
        assert EPSILON <= error <= subsidised.TOLERANCE
        assert discount > 0.99 or error < 1e-11
    assert refused <= 6


def test_equal_costs_tie_exactly():
    arm = RestartArm(np.eye(3)[[1, 2, 2]], [1.0, 0.0, 0.0], np.full(3, 2.0), np.full(3, 0.5))
    index, error = index_by_definition(arm, 0.9)
    assert index.tolist() == [1.5] * 3
    assert error == EPSILON


class ByHand(Ties):
    """Three states with made-up lines: passivity saves 0 in the first at subsidy 2, by slope 1."""

    def __init__(self, saves, sways):
        super().__init__(draw_arm(0, 3), 0.5)
        self.rounding, self.shift, self.spread = 0.5, -1.0, 4.0
        self.saves, self.sways, self.tried = np.array(saves), sways, []

    def lines(self, policy, disturbed=0):
        rows = 1 + disturbed
        at_zero = np.tile(self.saves - 2.0, (rows, 1))
        if disturbed:
            at_zero[1:, 0] += [0.0, 0.25, -0.125]
            at_zero[1:, 1:] += np.array([[0.0], [0.0], [0.5]])
        else:
            self.tried.append(policy.tolist())
            at_zero[0, 0] += self.sways * policy[1]
        return at_zero, np.ones((rows, 3))


def test_root_error_sums_disturbances():
    """A half of 1/4 over |2 - 1| + 4; up to a half of 1/2 an action is in doubt."""
    policy = np.array([0, 0, 1])
    clear = ByHand([0.0, 0.3, -0.3], 10.0)
    assert clear._error(2.0, 0, policy) == pytest.approx(0.125 / 5, rel=1e-12)
    assert clear.tried == []
    # The second state's actions cost alike to within rounding, which sways the root by 1.
    doubtful = ByHand([0.0, 0.25, -0.3], 1.0)
    assert doubtful._error(2.0, 0, policy) == pytest.approx(1.125 / 5, rel=1e-12)
    assert doubtful.tried == [[0, 0, 1], [0, 1, 1]]
    assert ByHand([0.0, -0.25, 0.25], 1.0)._error(2.0, 0, policy) == pytest.approx(1.125 / 5)
    # Where an action is wrong by more than that, nothing is known.
    assert ByHand([0.0, -0.3, -0.3], 1.0)._error(2.0, 0, policy) == np.inf
    assert ByHand([0.0, 0.3, 0.3], 1.0)._error(2.0, 0, policy) == np.inf
    # Of the state itself both actions cost the same.
    assert ByHand([0.0, 0.3, -0.3], 1.0)._error(2.0, 0, np.array([1, 0, 1])) == clear._error(
        2.0, 0, policy
    )
