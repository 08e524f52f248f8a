"""What the page on the curve's growth states in numbers, each with its check."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analysis.robots.studies.robots_growth.experiment import Convex, Orders

#: The number of robots in the theorem on small fleets.
GROWN = 9


@dataclass(frozen=True)
class Checks:
    """Results that the page's theorems rest on."""

    orders: Orders  # the optimal policies of one fleet at some rates
    live: pd.DataFrame  # as `live_checks` returns it
    fleet: int  # largest fleet of the long checks
    convex: Convex  # the polynomials for convex rates
    shorter: float  # as `shortened_passage` returns it


def checked(found: Checks) -> dict[str, bool]:
    """Return each statement of the page, and whether its check holds."""
    return {
        "boxes are only added as the weight rises": found.orders.only_added,
        "growth of small fleets, every curve": bool(
            (found.live["with a negative coefficient"] == 0).all()
            and found.live["all conditions"].all()
        ),
        f"growth is checked up to {GROWN} robots": found.fleet == GROWN,
        "growth for convex rates of two and three robots": found.convex.holds,
        "a passage of nine robots that one more shortens": found.shorter > 0,
    }
