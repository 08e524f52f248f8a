"""Claims of the page `orders` on the work that the report announces."""

from __future__ import annotations

from analysis.joint.studies.orders.experiment import Check
from analysis.report import Claim, claim


def claims(found: Check) -> list[Claim]:
    """Return the page's claims on the two rows on the dynamics of the indexing engine.

    They are done if the simulated model is the one that is solved exactly, no policy and order earn
    more than the bound, and the engine's dynamics are no formality: they take from the reward.
    """
    inside = found.simulated.low <= found.exact <= found.simulated.high
    matters = found.simulated.high < found.without
    numbers = {
        "exact": found.exact,
        "ends": (found.simulated.low, found.simulated.high),
        "best": found.best,
        "bound": found.bound,
    }
    return [
        claim(row, bool(inside and matters and found.best <= found.bound), numbers=numbers)
        for row in ("A-r-intro-engine", "A-r-fut-engine")
    ]
