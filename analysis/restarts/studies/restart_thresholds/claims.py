"""Claims of the page `restart-thresholds` on rows of the slides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints
from analysis.report import Claim, claim
from analysis.restarts.studies.restart_thresholds.experiment import AGREE, THIRD_PENALTY


def claims(
    discount: float,
    cycles: pd.DataFrame,
    by_condition: Sequence[bool],
    by_chance: Sequence[bool],
    best: Ints,
    ratios: Floats,
    roots: Floats,
    skipped: tuple[Floats, Floats, Floats],
    gaps: Sequence[Floats],
    same: int,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 13 to 16, 21 and 23.

    `by_condition`, `by_chance`: whether thresholds are optimal, for arms under the sufficient
    condition and for others; `best`: the best threshold in X at rising penalties; `ratios`,
    `roots`: slide 16's ratio, nan where it is 0/0, and the index by its definition, of arms under
    the condition; `skipped`: the same of an arm that never visits its second state, with the closed
    form of this page; `gaps`: as `gaps_at` returns them, of arms under the condition and the one
    that skips a state; `same`: in how many of their states both lines are the same.
    """
    c = cycles
    several = {"thresholds": len(c), "arms": c.arm.nunique()}
    printed_n = 1 / (discount * c.length_sum) - (1 - discount) / discount
    defined = ~np.isnan(ratios)
    visited = _near(ratios[defined], roots[defined], 1e-6)
    ratio, closed, root = skipped
    there = {"states": int(defined.sum()), "arms": len(roots), "closed": closed[1], "root": root[1]}
    index = visited and bool(np.isnan(ratio[1])) and _near(closed, root)
    climbs = bool((np.diff(best, axis=1) >= 0).all())
    thresholds = {"optimal": sum(by_condition), "arms": len(by_condition)}
    thresholds |= {"optimal_without": sum(by_chance), "arms_without": len(by_chance)}
    meet = {"states": sum(map(len, gaps)), "arms": len(gaps), "same": same}
    return [
        *(
            claim(row, _near(c.rate + THIRD_PENALTY * c.activity, c.priced), numbers=several)
            for row in ("C-C-D-N", "C-continuous")
        ),
        claim("C-L-M"),
        claim(
            "C-thm-D",
            _near(c.cost_sum / c.length_sum, c.rate),
            proof="thm-restart-cycle",
            numbers=several,
        ),
        claim("C-thm-N", _near(printed_n, c.activity), proof="thm-restart-cycle", numbers=several),
        claim("C-threshold", all(by_condition), proof="cor-restart-monotone", numbers=thresholds),
        claim("C-lem-klambda", climbs, proof="prop-restart-klambda", numbers={"arms": len(best)}),
        claim("C-thm-w", index, proof="thm-restart-threshold", numbers=there),
        claim("C-w-lines", _near(np.concatenate(gaps), 0, 1e-6), numbers=meet),
        claim("C-concl-closed", index, proof="thm-restart-threshold", numbers=there),
        claim("C-fig-klambda", figure="restart-thresholds-step"),
        claim("C-fig-w", figure="restart-thresholds-crossing"),
        claim("C-fig-last", figure="restart-thresholds-lines"),
    ]


def _near(left: ArrayLike, right: ArrayLike, tolerance: float = AGREE) -> bool:
    left, right = np.asarray(left), np.asarray(right)
    return bool((np.abs(left - right) <= tolerance * (1 + np.abs(right))).all())
