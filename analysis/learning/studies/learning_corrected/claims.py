"""Verdict of the page `learning-corrected` on its row of the 2019 paper."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from analysis.report import Claim, claim


def claims(engaged: Floats, budget: int) -> list[Claim]:
    """Return the verdict on its row; `engaged` counts the sources of each epoch and run."""
    drawn = np.asarray(engaged)
    return [
        claim(
            "B-online-choice",
            True,
            basis="judged",
            outcome="kept" if (drawn == budget).all() else "broken",
            numbers={"budget": budget, "epochs": drawn.size},
        )
    ]
