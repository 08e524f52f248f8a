"""Values and tables of the page `restart-thresholds`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.arrays import Bools
from analysis.report import save_table, save_value
from analysis.restarts.studies.restart_thresholds.experiment import THIRD_PENALTY
from analysis.restarts.whittle.threshold import Thresholds


def save_numbers(by_condition: Sequence[bool], by_chance: Sequence[bool], wrong: Bools) -> None:
    """Save the numbers that the page quotes; `wrong` marks states whose index is not the ratio."""
    save_value("restart-thresholds-instances", len(by_chance))
    save_value("restart-thresholds-chance", sum(by_chance))
    save_value("restart-thresholds-condition", sum(by_condition))
    save_value("restart-thresholds-off", 100 * float(wrong.mean()))


def of_penalty(lines: Thresholds) -> dict[str, float]:
    """Return the best threshold at the third penalty, its cost, and its active epochs in %."""
    best = int(lines.best(THIRD_PENALTY))
    return {
        "penalty": THIRD_PENALTY,
        "best": best + 1,
        "best-cost": float(lines.cost_at(THIRD_PENALTY)[best]),
        "best-activity": 100 * float(lines.activity[best]),
    }


def save_cycles(cycles: pd.DataFrame) -> None:
    """Save the cycles of the first arm."""
    first = cycles[cycles.arm == 0].drop(columns="arm").set_index("threshold")
    save_table(
        "restart-thresholds-cycles",
        first,
        "One arm, by threshold: cost and length of a cycle by the sums that define them and by "
        "elimination, cost and activity by the linear equations of the policy, and its cost at a "
        f"penalty of {THIRD_PENALTY:g}.",
        formats=".4f",
        labels={
            "cost_sum": "$L$, sums",
            "length_sum": "$M$, sums",
            "cost": "$L$, elimination",
            "length": "$M$, elimination",
            "rate": "$D$",
            "activity": "$N$",
            "priced": "$C_\\lambda$",
        },
    )
