"""Experiments (3) and (4), against the myopic policy.

Frames of systems are those of `analysis.restarts.systems.myopic_gaps` and `exact_costs`.
"""

from __future__ import annotations

import pandas as pd

from analysis.restarts.systems import fullest_bin

#: Width of the bins of the histograms, in %; the slides print none.
BIN = 0.5
#: How much dearer, relatively, one exact cost is than another to count as dearer.
DEARER = 1e-6


def table_of(large: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each generator: the saving of the index policy and that of other policies.

    `large`: systems of one size and budget; `cells`: systems of all sizes and budgets, with the
    policy that looks two epochs ahead.
    """
    by = large.groupby("kernel", sort=False)
    systems = by.eps.size()
    ahead = cells.assign(ahead=100 * (1 - cells["index"] / cells.lookahead))
    size, budget = large.arms.iloc[0], large.budget.iloc[0]
    ahead = ahead[(ahead.arms == size) & (ahead.budget == budget)]
    columns = pd.DataFrame(
        {
            "systems": systems,
            "least": by.eps.min(),
            "median": by.eps.median(),
            "greatest": by.eps.max(),
            "half-width": (by.high.mean() - by.low.mean()) / 2,
            "in one bin": 100 * by.eps.agg(fullest_bin, 1) / systems,
            "two epochs": ahead.groupby("kernel", sort=False).ahead.median(),
            "above bound": by.gap.median(),
        }
    )
    return columns.reindex(large.kernel.unique())


def losses_of_the_index(small: pd.DataFrame) -> pd.DataFrame:
    """Return the systems on which the myopic policy is cheaper than the index with its best ties.

    `small`: systems solved exactly. With ``loss``, by what percentage the index policy costs more,
    greatest first.
    """
    loss = 100 * (small.index_best / small.myopic - 1)
    return small.assign(loss=loss)[loss > 100 * DEARER].sort_values("loss", ascending=False)
