"""Claims of the page `restart-indexability` on rows of the slides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.report import Claim, claim
from analysis.restarts.studies.restart_indexability.experiment import AGREE
from analysis.restarts.whittle.definition import SubsidisedSolution
from analysis.restarts.whittle.indexability import Indexability


def claims(
    discount: float,
    certificates: Sequence[Indexability],
    indices: Sequence[Floats],
    roots: Sequence[Floats],
    subsidies: Floats,
    levels: Floats,
    grid: Floats,
    solved: Sequence[SubsidisedSolution],
    readings: pd.DataFrame,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 7 and 10 to 12.

    `certificates`: of every arm that is checked; `indices`, `roots`: the index of some arms, by
    elimination and as the root of its definition; `levels`: W of these arms at the subsidies, with
    both corrections; `solved`: what was found there.
    """
    certified = sum(certificate.holds for certificate in certificates)
    worst = max(
        float(np.abs(index - root).max()) for index, root in zip(indices, roots, strict=True)
    )
    printed = levels + discount * subsidies
    passive = np.array([one.policy == 0 for one in solved])
    first = grid[passive.argmax(axis=0)]
    within = (first >= indices[0] - AGREE) & (first <= indices[0] + np.diff(grid).max())
    counts, never = _wrong_sets(readings)
    proof, checked = "thm-restart-indexable", {"arms": len(certificates), "certified": certified}
    checked["subsidies"] = len(grid)
    grows = bool((passive[1:] >= passive[:-1]).all())
    rises = bool((np.diff(printed, axis=1) > 0).all())
    return [
        claim(
            "C-exists",
            worst < AGREE and bool(within.all()),
            proof=proof,
            numbers={"arms": len(roots)},
        ),
        claim(
            "C-thm-indexable",
            certified == len(certificates) and grows,
            proof=proof,
            numbers=checked,
        ),
        claim("C-def-indexable"),
        claim("C-def-index"),
        claim("C-lem-Pi", never, numbers=counts),
        claim("C-lem-W", rises, proof=proof, numbers={"arms": len(levels)}),
        claim("C-w-formula", never, numbers=counts),
        claim("C-noframework"),
        claim("C-inefficient"),
    ]


def _wrong_sets(readings: pd.DataFrame) -> tuple[dict[str, int], bool]:
    """Count how often each reading is wrong, and whether one with the printed level never is."""
    wrong = readings.set_index(["ratio", "level"]).wrong
    counts = {
        "sets": int(readings.checked.iloc[0]),
        "fixed_printed": int(wrong["fixed times", "printed"]),
        "stopping_printed": int(wrong["stopping times", "printed"]),
        "fixed_corrected": int(wrong["fixed times", "corrected"]),
        "stopping_corrected": int(wrong["stopping times", "corrected"]),
    }
    return counts, bool(wrong.xs("printed", level="level").min() == 0)
