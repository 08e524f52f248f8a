"""Every restart arm is indexable: certificates, and passive sets on a grid of subsidies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from analysis.restarts import whittle_index
from analysis.restarts.instances import example_queues
from analysis.restarts.whittle.definition import solve_subsidised
from analysis.restarts.whittle.indexability import (
    certify_indexability,
    critical_values,
    restart_level,
)
from tests.restarts.support import ARMS, action_values, draw_arm


@settings(max_examples=40)
@given(ARMS)
def test_passive_sets_are_nested(arm):
    index, critical = whittle_index(arm, 0.9).index, critical_values(arm, 0.9)
    level = -np.inf
    for subsidy in np.linspace(index.min() - 1, index.max() + 1, 15):
        if np.abs(index - subsidy).min() < 1e-6:
            continue
        passive, active = action_values(
            arm, 0.9, subsidy, solve_subsidised(arm, 0.9, subsidy).values
        )
        assert ((passive < active) == (index < subsidy)).all()
        before, level = level, restart_level(arm, 0.9, subsidy)
        assert level > before
        assert ((passive < active) == (critical < level)).all()


def test_certificate_near_discount_one():
    assert certify_indexability(example_queues()[3], 0.99999).residual < 1e-11


@pytest.mark.parametrize("discount", [0.9, 0.9999, 1 - 1e-7])
def test_wrong_order_is_not_certified(discount, monkeypatch):
    from analysis.restarts import thresholds
    from analysis.restarts.whittle import indexability

    arm = draw_arm(0, 6)
    monkeypatch.setattr(indexability, "thresholds", lambda a, b, order: thresholds(a, b))
    assert not certify_indexability(arm, discount).holds


def test_discount_one_is_refused():
    with pytest.raises(ValueError, match="discount"):
        certify_indexability(draw_arm(0, 3), 1)
