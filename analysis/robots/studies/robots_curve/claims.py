"""What the page on the switching curve says to what the draft suspects, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analysis.report import Claim, claim, is_document_run
from analysis.robots.curve import OptimalSequence
from analysis.robots.studies.robots_curve.experiment import Shared, statements_hold


@dataclass(frozen=True)
class Checks:
    """What the page computes of its theorems.

    Attributes
    ----------
    statements : pandas.DataFrame
        The statements of the proof on exact values, as `statement_checks` returns them.
    sequence : OptimalSequence
        The optimal policies of one instance, over all weights.
    ends : pandas.DataFrame
        The closed forms of the first and the last box, as `ends` returns them.
    weights : pandas.DataFrame
        The rows of the draft's tables, as `table_weights` returns them.
    shared : Shared
        The counter-example.
    strange : int
        Random fleets that share a line and have no curve.
    live : pandas.DataFrame
        The growth criterion of small fleets, as `live_checks` returns it.
    certificate : pandas.DataFrame
        Whose code wrote the long checks, as `certificate` returns it.
    fleet : int
        Largest fleet of the long checks.
    convex : bool
        Whether all conditions hold for convex rates of two and three robots.
    shorter : float
        As `shortened_passage` returns it.
    """

    statements: pd.DataFrame
    sequence: OptimalSequence
    ends: pd.DataFrame
    weights: pd.DataFrame
    shared: Shared
    strange: int
    live: pd.DataFrame
    certificate: pd.DataFrame
    fleet: int
    convex: bool
    shorter: float


#: The number in the theorem on growth.
GROWN = 9


def said(found: Checks) -> dict[str, bool]:
    """Return what the page's theorems say in numbers, and whether it is so."""
    live, files = found.live, found.certificate
    negative = live["with a negative coefficient"]
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
        "boxes are only added as the weight rises": found.sequence.grows,
        "growth of small fleets, every curve": bool((negative == 0).all())
        and bool(live["all conditions"].all()),
        f"growth is checked up to {GROWN} robots": found.fleet == GROWN,
        "by the code as it is": bool((files["computed by code"] == files["the code is now"]).all()),
        "growth for convex rates of two and three robots": found.convex,
        "a passage of nine robots that one more shortens": found.shorter > 0,
    }


def require(found: Checks) -> pd.DataFrame:
    """Return what the page's theorems say in numbers.

    Raises ValueError where one fails for the document's parameters.
    """
    checked = said(found)
    failed = [name for name, holds in checked.items() if not holds]
    if failed and is_document_run():
        raise ValueError(f"checks must hold, got failures of {failed}")
    words = ["holds" if ok else "FAILS" for ok in checked.values()]
    return pd.DataFrame({"checked": words}, index=list(checked))


def claims(found: Checks) -> list[Claim]:
    """Return what the page says to what the draft suspects."""
    tried = int(found.statements["at optima"].sum())
    checked = said(found)
    curves = (name for name in checked if "statement" in name or "curves" in name)
    return [
        claim(
            "D-suspect",
            all(checked[name] for name in curves),
            proof="curve-theorem",
            numbers={"places": tried},
        )
    ]
