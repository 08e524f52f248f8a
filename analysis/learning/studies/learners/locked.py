"""Three ordinary sources on which estimates confirm themselves.

Crawls of a source at one age k tell of u* (1 - e^{-mu k}) alone: each pair (u*, mu) of that product
explains them. Where the index of such a pair keeps the source at age k, nothing more is learned.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.sources import Sources
from analysis.learning.comparison import LearningCurves, compare_learners
from analysis.learning.studies.learners import side_by_side
from analysis.learning.studies.learners.page import late_losses
from analysis.report import save_table, save_value

SOURCES = Sources(
    np.array([7.0, 6.0, 33.0]), np.array([0.4, 2.0, 0.7]), np.array([0.95, 0.12, 0.61])
)
NAMES = {"ucb": "UCB", "forced": "forced", "thompson": "Thompson"}


def runs(horizon: int, replications: int, seed: int) -> dict[str, LearningCurves]:
    """Let the three ways to explore meet the same arrivals, one source crawled an epoch."""
    learners = side_by_side(SOURCES, 1)
    return compare_learners(
        SOURCES,
        {key: learners[f"certainty equivalence, {name}"] for key, name in NAMES.items()},
        1,
        horizon=horizon,
        replications=replications,
        seed=seed,
        utility=Utility("exponential"),
    )


def table(found: dict[str, LearningCurves]) -> pd.DataFrame:
    """Return the losses over the last fifth of the epochs in %, over the streams."""
    rows = {}
    for key, name in NAMES.items():
        late = 100 * late_losses(found[key])
        rows[name] = {
            "least (%)": late.min(),
            "mean (%)": late.mean(),
            "largest (%)": late.max(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("exploration")


def report(found: dict[str, LearningCurves]) -> None:
    """Save the table and the numbers that the page quotes."""
    rows = table(found)
    replications, horizon = found["ucb"].expected.shape
    save_value("learners-locked-rarest", float(SOURCES.arrival_rate.min()))
    save_value("learners-locked-most", float(SOURCES.arrival_rate.max()))
    for key, name in NAMES.items():
        save_value(f"learners-locked-{key}", float(rows["mean (%)"][name]))
        save_value(f"learners-locked-{key}-worst", float(rows["largest (%)"][name]))
    save_table(
        "learners-locked",
        rows,
        "Loss against the index policy on three sources with $M = 1$, over the last fifth of "
        f"{horizon} epochs, in {replications} streams of arrivals.",
        formats={"least (%)": ".3f", "mean (%)": ".3f", "largest (%)": ".3f"},
    )
