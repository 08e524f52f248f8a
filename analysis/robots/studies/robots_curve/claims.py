"""Claims of the page on the switching curve on what the draft suspects, and their checks."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analysis.report import MACHINE_CHECKED, Claim, claim
from analysis.robots.curve import OptimalSequence
from analysis.robots.studies.robots_curve.experiment import Shared, statements_hold


@dataclass(frozen=True)
class Checks:
    """What the page computes of its theorems."""

    # The statements of the proof on exact values, as `statement_checks` returns them.
    statements: pd.DataFrame
    sequence: OptimalSequence  # the optimal policies of one instance, over all weights
    ends: pd.DataFrame  # the closed forms of the first and the last box, as `ends` returns them
    weights: pd.DataFrame  # the rows of the draft's tables, as `table_weights` returns them
    shared: Shared  # the counter-example
    strange: int  # random fleets that share a line and have no curve


def checked(found: Checks) -> dict[str, bool]:
    """Return each statement of the page, and whether its check holds."""
    return {
        "each statement of the proof, on exact values": statements_hold(found.statements),
        "all optimal policies of one instance are curves": found.sequence.are_curves,
        "optimal curves of the draft's tables fall by 0 or 1": bool(
            (found.weights["largest fall"] <= 1).all()
        ),
        "the first and the last box, in closed form": bool(found.ends["as the search"].all()),
        "robots that share a line have no curve": found.shared.low < found.shared.high
        and found.strange > 0,
        "of the proof, they break the columns alone": found.shared.failing == ("Columns",),
    }


def claims(found: Checks) -> list[Claim]:
    """Return the page's claims on what the draft suspects."""
    tried = int(found.statements["at optima"].sum())
    holds = checked(found)
    suspected = all(holds[name] for name in holds if "statement" in name or "curves" in name)
    return [
        claim(
            "D-suspect", suspected, basis=MACHINE_CHECKED, proof="curve-theorem",
            numbers={"places": tried},
        )
    ]  # fmt: skip
