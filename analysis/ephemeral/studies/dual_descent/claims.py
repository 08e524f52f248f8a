"""What the page on dual descent says to the row that names the method."""

from __future__ import annotations

from analysis.ephemeral.studies.dual_descent.experiment import Results
from analysis.report import Claim, claim

#: How near the last price and the reward have to come to the relaxed problem's.
PRICE_TOLERANCE = 0.1
REWARD_TOLERANCE = 1e-3


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the row that names the method."""
    rows = found.by_budget.xs(found.rule, level="steps")
    price = float(rows["distance"].max())
    reward = float(rows["reward / bound of the budget"].sub(1).abs().max())
    solves = price <= PRICE_TOLERANCE and reward <= REWARD_TOLERANCE
    return [
        claim(
            "A-s-dev-dual",
            outcome="solves" if solves else "misses",
            numbers={"price": PRICE_TOLERANCE, "reward": REWARD_TOLERANCE},
        )
    ]
