"""The numbers that the text and the solutions of the page on the curve's growth quote."""

from __future__ import annotations

from fractions import Fraction

from scipy.optimize import brentq

from analysis.report import save_values
from analysis.robots.curve import optimal_sequence
from analysis.robots.studies.robots_growth.claims import Checks
from analysis.robots.studies.robots_growth.experiment import Orders


def save_orders(orders: Orders) -> None:
    """Save how many rates and orders there are, and whether boxes are only added."""
    save_values(
        "robots-growth",
        {
            "rates": len(orders.rates),
            "orders": orders.different,
            "orders-differ": orders.different > 1,
            "only-added": orders.only_added,
        },
    )


def save_found(found: Checks) -> None:
    """Save what the page quotes of its checks."""
    save_values(
        "robots-growth",
        {"fleet": found.fleet, "nine-shorter": found.shorter, "convex": found.convex.polynomials},
    )


def index_gap(rate: float) -> float:
    """Return the index of the box (K, 0) less that of (K-1, 2), for three robots and K = 3."""
    index = optimal_sequence(3, Fraction(rate).limit_denominator(10**6), 1, exact=True).index()
    return float(index[3, 0] - index[2, 2])


def ties() -> tuple[float, float]:
    """Return the two rates between 1/4 and 2 at which these boxes have the same index."""
    low = brentq(index_gap, 0.25, 0.5, xtol=1e-6)
    return float(low), float(brentq(index_gap, 1.0, 2.0, xtol=1e-6))


def save_solutions() -> None:
    """Save the numbers that the solutions quote."""
    low, high = ties()
    save_values("robots-growth", {"tie-low": low, "tie-high": high})
