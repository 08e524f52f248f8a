"""Tables of the page `learning-scheme`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.learning.studies.numbers import error_text, save_gradient_errors
from analysis.report import save_table


def save_misses(misses: pd.DataFrame) -> None:
    """Save the table of `content_misses`; rounding errors are marked."""
    save_table(
        "learning-scheme-misses",
        misses.map(error_text),
        "The most by which the paper's (1) misses the content by its definition, for content that "
        "is dropped after $M$ epochs or never: without crawls, and crawled every 7 epochs.",
    )


def save_logit(logit: pd.DataFrame) -> None:
    """Save the table of `nearness_of_the_logit`."""
    save_table(
        "learning-scheme-logit",
        logit,
        "Long-run reward per epoch of the draw and of the step that it stands for, and what the "
        "printed $\\delta = 0.5$ is in value units, by what states are divided by.",
        formats=".2f",
    )


def save_engaged(law: Floats, kappa: float) -> None:
    """Save the law of the number of sources crawled with thresholds at their upper bounds."""
    save_table(
        "learning-scheme-engaged",
        pd.DataFrame({"sources crawled": np.arange(law.size), "probability": law}),
        "How many sources are crawled at an epoch where each draws alone: thresholds at $u^*_i$, "
        f"states divided by the largest $u^*$, $\\kappa = {kappa:g}$.",
        formats=".3f",
    )


def save_gradients(gradients: pd.DataFrame) -> None:
    """Save the error of each formula against the true gradient, with the paper's numbers."""
    note = " Equation numbers are the paper's."
    save_gradient_errors("learning-scheme-gradients", gradients, note)


def save_checks(checks: Mapping[str, float]) -> None:
    """Save the checks of the recursions, by what is checked."""
    save_table(
        "learning-scheme-checks",
        pd.Series(checks, name="value").map(error_text).rename_axis("check").to_frame(),
        "The recursions, run or solved as printed and as corrected.",
    )
