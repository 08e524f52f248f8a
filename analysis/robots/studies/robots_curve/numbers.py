"""The numbers that the text and the solutions of the page on the switching curve quote."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import brentq

from analysis.report import save_value
from analysis.robots import RobotControl
from analysis.robots.curve import optimal_sequence
from analysis.robots.studies.robots_curve.claims import Checks


def save_found(found: Checks) -> None:
    """Keep what the page quotes of its checks."""
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
    save_value("robots-curve-fleet", found.fleet)
    save_value("robots-curve-nine-shorter", found.shorter)


def save_shared_optimum() -> None:
    """Keep the optimum of three robots that share a line, at a weight without a curve."""
    model = RobotControl(3, 3.0, 1.0, 3, 1900.0, speedup=(0.0, 1.0, 3.1 / 3, 3.2 / 3))
    best = model.solve()
    save_value("robots-curve-shared-cost", best.gain)
    save_value("robots-curve-shared-first", best.bias[3, 1] - best.bias[3, 0])
    save_value("robots-curve-shared-second", best.bias[3, 2] - best.bias[3, 1])


def two_robots(rate: Fraction) -> tuple[Fraction, Fraction]:
    """Return the two indices of the triangle of two robots, in the unit of mu = 1, exactly."""
    first, second = optimal_sequence(2, rate, 1, exact=True).breakpoints
    return first, second


def index_gap(rate: float) -> float:
    """Return the index of the box (K, 0) less that of (K-1, 2), for three robots and K = 3."""
    index = optimal_sequence(3, Fraction(rate).limit_denominator(10**6), 1, exact=True).index()
    return float(index[3, 0] - index[2, 2])


def ties() -> tuple[float, float]:
    """Return the two rates between 1/4 and 2 at which these boxes have the same index."""
    low = brentq(index_gap, 0.25, 0.5, xtol=1e-6)
    return float(low), float(brentq(index_gap, 1.0, 2.0, xtol=1e-6))


def least_index_above(robots: int, rate: float, capacity: int) -> float:
    """Return the least index of the boxes in the rows r >= K."""
    index = optimal_sequence(robots, rate, 1.0, capacity).index()
    return float(np.min(index[:, capacity:]))


def save_solutions() -> None:
    """Keep the numbers that the solutions quote."""
    low, high = ties()
    save_value("robots-curve-tie-low", low)
    save_value("robots-curve-tie-high", high)
    save_value("robots-curve-least-index", least_index_above(16, 0.1, 2))
