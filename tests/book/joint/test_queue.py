"""The page `queue`: its two limits, and a formula that is no bound."""

import pytest

from analysis.ephemeral import four_sources
from book.joint import queue as page


def test_fast_engine_needs_room():
    last = page.measure_fast_engine_errors(four_sources(), [1e14], 4000, 0.3).iloc[-1]
    assert max(last["room"], last["priced"]) < 1e-9
    assert last["crowded"] > 0.05


def test_equal_pages_give_robot_control(monkeypatch):
    for rate, places, worth, lost in [(1.7, 4, 2.0, 1.0), (0.6, 7, 0.5, 3.0)]:
        joint, split = page.compare_control_models(rate, places, worth, lost)
        assert joint == pytest.approx(split, abs=1e-9)
    right = page.RobotControl
    monkeypatch.setattr(page, "RobotControl", lambda *a, gamma: right(*a, gamma=1.1 * gamma))
    joint, split = page.compare_control_models(1.7, 4, 2.0, 1.0)
    assert abs(joint - split) > 1e-4


def test_formula_exceeds_crawls_index_does_not():
    formula, index = page.measure_formula_excess(60)
    assert formula > 1.2
    assert index == pytest.approx(1.0)
