"""D, N, L, M and the optimal threshold against simulation-free definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.restarts import RestartArm, optimal_threshold, thresholds, whittle_index
from analysis.restarts.whittle.definition import (
    least_over_policies,
    solve_subsidised,
)
from analysis.restarts.whittle.threshold import (
    cycle_by_definition,
    passive_excess,
    rates_by_equations,
)
from tests.restarts.support import ARMS, draw_arm


@settings(max_examples=40)
@given(ARMS, st.sampled_from([0.3, 0.9]))
def test_cycles_and_rates_equal_definition(arm, discount):
    found = thresholds(arm, discount)
    for k in range(arm.states + 1):
        cost, length = cycle_by_definition(arm, discount, k)
        assert found.elimination.cost[k] == pytest.approx(cost, rel=1e-9, abs=1e-9)
        assert found.elimination.length[k] == pytest.approx(length, rel=1e-9)
        rates = rates_by_equations(arm, discount, k)
        assert (found.cost_rate[k], found.activity[k]) == pytest.approx(rates, rel=1e-8, abs=1e-9)


@settings(max_examples=20)
@given(ARMS, st.floats(-4, 4))
def test_policy_iteration_by_brute_force(arm, subsidy):
    least = least_over_policies(arm, 0.9, subsidy)
    assert np.allclose(solve_subsidised(arm, 0.9, subsidy).values, least, atol=1e-10)


def test_never_active_above_largest_index():
    arm = draw_arm(4, 6, kind="one-step")
    largest = whittle_index(arm, 0.9).index.max()
    assert optimal_threshold(arm, 0.9, largest + 1) == arm.states


def test_unknown_order_is_refused():
    with pytest.raises(ValueError, match="order"):
        thresholds(draw_arm(0, 3), 0.9, order="random")


def test_never_active_arm_cost():
    """A third of all epochs in the first state and two thirds in the second."""
    arm = RestartArm([[0.5, 0.5], [0.25, 0.75]], [1, 0], [5.0, 2.0], [9.0, 9.0])
    assert passive_excess(arm) == pytest.approx(1.0, rel=1e-14)
