"""What the page on the curve's growth states in numbers, each with its check."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analysis.robots.studies.robots_growth.experiment import Convex, Orders

#: The number of robots in the theorem on small fleets.
GROWN = 9


@dataclass(frozen=True)
class Checks:
    """Results that the page's theorems rest on.

    Attributes
    ----------
    orders : Orders
        The optimal policies of one fleet at some rates.
    live, certificate : pandas.DataFrame
        As `live_checks` and `certificate` return them.
    fleet : int
        Largest fleet of the long checks.
    convex : Convex
        The polynomials for convex rates.
    shorter : float
        As `shortened_passage` returns it.
    """

    orders: Orders
    live: pd.DataFrame
    certificate: pd.DataFrame
    fleet: int
    convex: Convex
    shorter: float


def checked(found: Checks) -> dict[str, bool]:
    """Return each statement of the page, and whether its check holds."""
    files = found.certificate
    return {
        "boxes are only added as the weight rises": found.orders.only_added,
        "growth of small fleets, every curve": bool(
            (found.live["with a negative coefficient"] == 0).all()
            and found.live["all conditions"].all()
        ),
        f"growth is checked up to {GROWN} robots": found.fleet == GROWN,
        "by the code as it is": bool((files["computed by code"] == files["the code is now"]).all()),
        "growth for convex rates of two and three robots": found.convex.holds,
        "a passage of nine robots that one more shortens": found.shorter > 0,
    }
