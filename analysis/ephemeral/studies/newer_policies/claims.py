"""What the page `newer-policies` says to the rows on quality and on many copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.ephemeral.studies.how_good.experiment import EXACT, is_optimal
from analysis.ephemeral.studies.newer_policies.experiment import closes
from analysis.report import Claim, claim

#: A cut-off of our own: the mean loss up to which a policy passes for near-optimal.
_NEAR = 0.01


@dataclass(frozen=True)
class Results:
    """What the page computes."""

    instances: pd.DataFrame  # rows of `how_good.experiment.optimality_row`
    # Gap to the relaxed bound of the index policy on Table 1 at M = 2, with expected contents.
    stuck: float
    alike: list[float]  # `experiment.alike_gaps` of one source
    # As `experiment.gaps_against_copies` returns it, with the set's name as ``sources``.
    copies: pd.DataFrame
    kept: float  # share of random sets that keep a gap from random ages, with expected contents


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows on quality and on many copies."""
    optimal, loss = is_optimal(found.instances), 1 - found.instances["whittle"]
    random = found.copies[(found.copies.content == "random") & (found.copies.start == "together")]
    largest = random[random.copies == random.copies.max()]
    gaps = [{"gap": row.gap, "set": row.sources.replace("$", "")} for row in largest.itertuples()]
    fails = found.stuck > EXACT or found.kept > 0
    largest_alike = float(np.max(np.abs(found.alike)))
    copies = {
        "copies": int(random.copies.max()),
        "gaps": gaps,
        "stuck": found.stuck,
        "kept": found.kept,
    }
    quality = {
        "cut": _NEAR,
        "mean": loss.mean(),
        "most": loss.max(),
        "sets": len(optimal),
        "optimal": optimal.mean(),
    }
    return [
        claim(
            "A-r-intro-asym",
            closes(found.copies) and not optimal.all() and bool(loss.mean() < _NEAR),
            outcome="stays" if fails else "closes",
            numbers=quality | copies,
        ),
        claim(
            "A-s-asym-ww",
            outcome="closes" if largest_alike < EXACT else "stays",
            numbers={"numbers_of_copies": len(found.alike), "most": largest_alike},
        ),
        claim("A-s-asym-verloop", numbers=copies),
    ]
