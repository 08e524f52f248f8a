"""The numbers that the text and the solutions of the page on the switching curve quote."""

from __future__ import annotations

import numpy as np

from analysis.report import save_value
from analysis.robots import RobotControl
from analysis.robots.curve import check, optimal_sequence
from analysis.robots.studies.robots_curve.claims import Checks


def save_found(found: Checks) -> None:
    """Save what the page quotes of its checks."""
    statements, weights, shared = found.statements, found.weights, found.shared
    save_value("robots-curve-places", int(statements["at optima"].sum()))
    save_value("robots-curve-places-true", int(statements["of them true"].sum()))
    save_value("robots-curve-elsewhere", int(statements["hypotheses elsewhere"].sum()))
    save_value("robots-curve-table-weights", len(weights))
    inside = (weights["from"] <= weights["γ"]) & (weights["γ"] <= weights["to"])
    save_value("robots-curve-table-inside", int(inside.sum()))
    save_value("robots-curve-narrowest", float((weights["to"] / weights["from"] - 1).min()))
    save_value("robots-curve-shared-low", shared.low)
    save_value("robots-curve-shared-high", shared.high)
    save_value("robots-curve-shared-tie", shared.above)
    save_value("robots-curve-shared-strange", found.strange)
    save_value("robots-curve-fleet", check.largest_checked_fleet())


def save_shared_optimum() -> None:
    """Save the optimum of three robots that share a line, at a weight without a curve."""
    model = RobotControl(3, 3.0, 1.0, 3, 1900.0, speedup=(0.0, 1.0, 3.1 / 3, 3.2 / 3))
    best = model.solve()
    save_value("robots-curve-shared-cost", best.gain)
    save_value("robots-curve-shared-first", best.bias[3, 1] - best.bias[3, 0])
    save_value("robots-curve-shared-second", best.bias[3, 2] - best.bias[3, 1])


def least_index_above(robots: int, rate: float, capacity: int) -> float:
    """Return the least index of the boxes in the rows r >= K."""
    index = optimal_sequence(robots, rate, 1.0, capacity).index()
    return float(np.min(index[:, capacity:]))


def save_solutions() -> None:
    """Save the numbers that the solutions quote."""
    save_value("robots-curve-least-index", least_index_above(16, 0.1, 2))
