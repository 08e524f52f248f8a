"""What the page on costs and budgets says to the rows on costs."""

from __future__ import annotations

from analysis.ephemeral.studies.costs_and_budgets.experiment import Results
from analysis.report import Claim, claim


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows on costs."""
    spent, carried = found.instances["reach_cost"], found.instances["debt_cost"]
    overshoots = bool((spent > 1 + 1e-9).any())
    return [
        claim(
            "A-r-thm1-policy",
            not found.differ,
            condition=overshoots,
            numbers={
                "spent": spent.mean(),
                "instances": len(spent),
                "carried": (carried.min(), carried.max()),
            },
        ),
        claim("A-r-costs"),
    ]
