"""What the page `learners` computes: all learners on the same arrivals; crawls at one age.

Settings are each learner's defaults, and do not depend on the budget. Only the scheme of 2019 has a
second set: with many sources its products of states are too many, and sums of states too large for
their square, so it keeps constant thresholds and linear features, and updates the inverse of B.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.checks import check_kind, check_whole
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.sources import Sources
from analysis.learning.baselines import LARGEST_TABLE, AgeBlindUcb, JointQ, JointQOptions
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.learning.comparison import LearningCurves, compare_at_budgets, compare_learners
from analysis.learning.loop import CompiledLearner
from analysis.learning.regret.hard_cases import INFORMED
from analysis.learning.scheme.lspe import Lspe, LspeOptions
from analysis.learning.uc_whittle import UcWhittle
from analysis.learning.whittle_q import WhittleQ
from analysis.results import Estimate

Runs = Mapping[int, Mapping[str, LearningCurves]]
SHORT = {
    "ce": "certainty equivalence, UCB",
    "forced": "certainty equivalence, forced",
    "thompson": "certainty equivalence, Thompson",
    "wq": "Whittle-index Q-learning",
    "ucw": "UCWhittle",
    "lspe": "LSPE(0), corrected",
    "joint": "joint Q-learning",
    "blind": "age-blind UCB1",
}
FEW = 8
"""Sources up to which the 2019 scheme keeps quadratic thresholds and features."""
MANY = {"threshold": "constant", "features": "linear", "regulariser": "sherman-morrison"}
"""What it changes for more; B begins at the identity, so that its inverse is always there."""
#: Cases in which the arrival rates do not change.
CONSTANT = ("empty start", "sparse and heavy")
#: Three ordinary sources on which estimates confirm themselves. Crawls of a source at one age k
#: determine u* (1 - e^{-mu k}) alone: each pair (u*, mu) of that product explains them. Where the
#: index of such a pair keeps the source at age k, nothing more is learned.
ONE_AGE = Sources(
    np.array([7.0, 6.0, 33.0]), np.array([0.4, 2.0, 0.7]), np.array([0.95, 0.12, 0.61])
)
#: Ways to explore that are played on them, by the short names of values.
WAYS = {"ucb": "UCB", "forced": "forced", "thompson": "Thompson"}


def side_by_side(sources: Sources, budget: int) -> dict[str, Callable[[], CompiledLearner]]:
    """Return a function that makes a new learner of each kind, by name.

    Returns: for `compare_learners`; joint Q-learning only where its table is small enough.
    """
    check_kind("sources", sources, Sources)
    size = len(sources)
    budget = check_whole("budget", budget, 1, size)
    many = {} if size <= FEW else MANY
    learners: dict[str, Callable[[], CompiledLearner]] = {
        "certainty equivalence, UCB": _certainty(size, "ucb", 2),
        "certainty equivalence, forced": _certainty(size, "forced", 4),
        "certainty equivalence, Thompson": _certainty(size, "thompson", 2),
        "LSPE(0), corrected": partial(Lspe, sources, LspeOptions.corrected(**many)),
        "Whittle-index Q-learning": partial(WhittleQ, size),
        "UCWhittle": partial(UcWhittle, size),
    }
    if JointQOptions().oldest ** size * comb(size, budget) <= LARGEST_TABLE:
        learners["joint Q-learning"] = partial(JointQ, size, budget)
    learners["age-blind UCB1"] = partial(AgeBlindUcb, size)
    return learners


def compare(
    sources: Sources, budgets: list[int], *, horizon: int, replications: int, seed: int
) -> dict[int, dict[str, LearningCurves]]:
    """Run all learners on the same arrivals, with exponential utilities, at each budget.

    Keys: curves by budget and by learner.
    """
    return compare_at_budgets(
        sources,
        {budget: side_by_side(sources, budget) for budget in budgets},
        horizon=horizon,
        replications=replications,
        seed=seed,
        utility=Utility("exponential"),
    )


def one_age_runs(horizon: int, replications: int, seed: int) -> dict[str, LearningCurves]:
    """Run the three exploration rules on the same arrivals, one source crawled an epoch."""
    learners = side_by_side(ONE_AGE, 1)
    return compare_learners(
        ONE_AGE,
        {key: learners[f"certainty equivalence, {name}"] for key, name in WAYS.items()},
        1,
        horizon=horizon,
        replications=replications,
        seed=seed,
        utility=Utility("exponential"),
    )


def late_loss(curves: LearningCurves) -> float:
    """Return the loss over the last fifth of the epochs, in %."""
    return float(100 * late_losses(curves).mean())


def late_losses(curves: LearningCurves) -> Floats:
    """Return the share lost over the last fifth of the epochs, by run."""
    late = slice(-(curves.reference.size // 5), None)
    return 1 - curves.expected[:, late].mean(axis=1) / curves.reference[late].mean()


def within(runs: Runs, limit: float) -> pd.DataFrame:
    """Return for each way to explore whether its loss is within a limit, in %.

    `limit`: per cent that the upper end of the 95% interval must not exceed.
    """
    rows = {}
    for budget, learners in runs.items():
        for name, curves in learners.items():
            if name.startswith("certainty"):
                loss = curves.loss
                rows[f"M = {budget}, {name.split(', ')[1]}"] = {
                    "loss (%)": 100 * loss.value,
                    "upper end (%)": 100 * loss.high,
                    f"within {limit:g}%": bool(100 * loss.high < limit),
                }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("certainty equivalence")


def difference(one: LearningCurves, other: LearningCurves) -> Estimate:
    """Loss of the one above that of the other, paired by streams where neither diverged."""
    if one.expected.shape != other.expected.shape:
        mine, theirs = one.loss, other.loss
        ends = (mine.low - theirs.high, mine.high - theirs.low)
        return Estimate(
            mine.value - theirs.value, *ends, min(mine.replications, theirs.replications)
        )
    return Estimate.of((other.expected - one.expected).sum(axis=1) / one.reference.sum())


def lost_so_far(curves: LearningCurves) -> tuple[Floats, Floats]:
    """Return epochs at equal ratios, and the loss until then in each run, in %."""
    horizon = curves.reference.size
    epochs = np.unique(np.geomspace(min(10, horizon), horizon, 60).astype(int))
    earned = np.cumsum(curves.expected, axis=1)[:, epochs - 1]
    return epochs, 100 * (1 - earned / np.cumsum(curves.reference)[epochs - 1])


def holding(table: pd.DataFrame) -> dict[str, list[str]]:
    """Return the cases in which each learner holds."""
    learned = table[table.learner != INFORMED]
    return {name: list(rows.case[rows.holds]) for name, rows in groups(learned, "learner")}


def most_robust(table: pd.DataFrame) -> str:
    """Return the learner whose largest regret over the cases is the smallest."""
    learned = table[table.learner != INFORMED]
    worst = {name: float(rows.regret.max()) for name, rows in groups(learned, "learner")}
    return min(worst, key=worst.__getitem__)


def memory_costs(table: pd.DataFrame) -> bool:
    """Return whether UCB has a greater mean regret with a memory wherever rates are constant."""
    mean = table.set_index(["case", "learner"]).regret
    return all(bool(mean[case, "UCB with a memory"] > mean[case, "UCB"]) for case in CONSTANT)


def rows_of(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table as named tuples."""
    return list(table.itertuples())


def groups(table: pd.DataFrame, column: str) -> list[tuple[str, Any]]:
    """Return the groups of equal values in a column, in the order of the table."""
    return [(str(key), rows) for key, rows in table.groupby(column, sort=False)]


def _certainty(size: int, exploration: str, forced: int) -> Callable[[], CompiledLearner]:
    options = CertaintyEquivalenceOptions(
        exploration, forced=forced, confidence=0.5, spread=1.0, floor=0.0
    )
    return partial(CertaintyEquivalence, size, options)
