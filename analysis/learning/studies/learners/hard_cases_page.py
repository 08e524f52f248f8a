"""Figure, table, numbers and sentences of the page's section on cases where learning is hard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.learning.studies.learners.hard_cases import CASES, INFORMED, LEARNERS
from analysis.report import (
    COLOURS,
    figure,
    listed,
    plus_minus,
    save_figure,
    save_table,
    save_value,
)

#: Cases in which the arrival rates do not change.
CONSTANT = ("empty start", "sparse and heavy")
MARKERS = ("o", "s", "^", "D", "v", "x", "P", "*", "<", ">")


def holding(table: pd.DataFrame) -> dict[str, list[str]]:
    """Return the cases in which each learner holds."""
    learned = table[table.learner != INFORMED]
    return {name: list(rows.case[rows.holds]) for name, rows in _by(learned, "learner")}


def most_robust(table: pd.DataFrame) -> str:
    """Return the learner whose largest regret over the cases is the smallest."""
    learned = table[table.learner != INFORMED]
    worst = {name: float(rows.regret.max()) for name, rows in _by(learned, "learner")}
    return min(worst, key=worst.__getitem__)


def sentences(table: pd.DataFrame, limit: float) -> str:
    """Say, in Markdown, who loses least in each case, and who holds where."""
    lines = []
    for case, rows in _by(table[table.learner != INFORMED], "case"):
        best = rows.loc[rows.regret.idxmin()]
        rivals = [
            row.learner
            for row in _rows(rows)
            if row.learner != best.learner and row.low <= best.high
        ]
        shared = f"; the intervals of {listed(rivals)} overlap with its own" if rivals else ""
        fails = list(rows.learner[~rows.holds])
        whole = len(fails) == len(rows)
        verdict = (
            "none holds" if whole else f"all hold but {listed(fails)}" if fails else "all hold"
        )
        lines.append(
            f"- *{case}*: {best.learner} loses least, {100 * best.regret:.1f}% of the "
            f"bound{shared}. Within {100 * limit:.0f}% of the informed index policy, "
            f"{verdict}."
        )
    robust = most_robust(table)
    held = holding(table)[robust]
    lost = [case for case in CASES if case not in held]
    end = f"It does not hold in: {listed(lost)}." if lost else "It holds in every case."
    lines.append(f"\nThe smallest loss in the worst case has **{robust}**. {end}")
    return "\n".join(lines)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return regret in % of the bound with half the interval, learners by cases."""
    text = [
        plus_minus(100 * row.regret, 50 * (row.high - row.low), 1)
        + ("" if row.holds else " (does not hold)")
        for row in _rows(table)
    ]
    wide = table.assign(text=text).pivot(index="learner", columns="case", values="text")
    return wide.loc[[INFORMED, *LEARNERS], list(CASES)].rename_axis(None, axis=1)


def save_regrets(table: pd.DataFrame, limit: float) -> None:
    """Save the table of `shown`."""
    save_table(
        "learners-hard-regrets",
        shown(table).rename_axis("learner"),
        "Regret in % of the relaxed bound, with half a 95% interval. A learner does not "
        f"hold in a case if it may lose more than {100 * limit:.0f}% of the bound to the index "
        "policy that knows the rates.",
    )


def memory_costs(table: pd.DataFrame) -> bool:
    """Return whether UCB has a greater mean regret with a memory wherever rates are constant."""
    mean = table.set_index(["case", "learner"]).regret
    return all(bool(mean[case, "UCB with a memory"] > mean[case, "UCB"]) for case in CONSTANT)


def report(table: pd.DataFrame, replications: int, limit: float) -> None:
    """Save the figure and the numbers that the page quotes."""
    _draw(table, replications)
    save_value("learners-hard-limit", limit)
    save_value("learners-memory-costs", memory_costs(table))
    save_value("learners-hard-replications", replications)
    for row in _rows(table):
        name = f"learners-hard-{_slug(row.case)}-{_slug(row.learner)}"
        save_value(name, 100 * row.regret, interval=(100 * row.low, 100 * row.high),
                   replications=replications)  # fmt: skip


def _draw(table: pd.DataFrame, replications: int) -> None:
    fig, axis = figure(height=4.2)
    names = [INFORMED, *LEARNERS]
    for number, name in enumerate(names):
        rows = table[table.learner == name].set_index("case").loc[list(CASES)]
        place = np.arange(len(CASES)) + 0.12 * (number - (len(names) - 1) / 2)
        middle = 100 * rows.regret
        reach = 100 * np.array([rows.regret - rows.low, rows.high - rows.regret])
        axis.errorbar(
            place, middle, reach, fmt=MARKERS[number], color=COLOURS[(number - 1) % len(COLOURS)],
            label=name, capsize=2, markersize=5,
        )  # fmt: skip
    axis.set(xticks=range(len(CASES)), xticklabels=CASES, ylabel="regret (% of the relaxed bound)")
    axis.axhline(0, color="black", linewidth=0.6)
    fig.legend(loc="outside lower center", ncols=3, fontsize="small")
    best = {
        case: rows.loc[rows.regret.idxmin(), "learner"]
        for case, rows in _by(table[table.learner != INFORMED], "case")
    }
    leaders = "; ".join(f"{case}: {name}" for case, name in best.items())
    worst = {case: float(rows.regret.max()) for case, rows in _by(table, "case")}
    caption = (
        f"Regret against the relaxed bound: mean of {replications} draws of sources and arrivals "
        f"with 95% intervals. The learner that loses least, {leaders}."
    )
    alt = "Regret in % of the bound by case and learner. " + "; ".join(
        f"{case}: least {best[case]}, most {100 * value:.0f}" for case, value in worst.items()
    )
    save_figure("learners-hard", fig, table, caption, f"{alt}.")


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples())


def _by(table: pd.DataFrame, column: str) -> list[tuple[str, Any]]:
    return [(str(key), rows) for key, rows in table.groupby(column, sort=False)]


def _slug(name: str) -> str:
    return name.lower().replace(",", "").replace(" ", "-")
