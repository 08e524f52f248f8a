"""Figures of the page `learners`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.learning.hard_cases import CASES, INFORMED, LEARNERS
from analysis.results import student_band
from book.learning.learners import Runs, accumulate_loss, group_rows, late_losses
from scorecard import COLOURS, add_legend, add_panels, fold_names, ink, save_data, save_figure

STYLES = {
    "certainty equivalence, UCB": (COLOURS[0], "-"),
    "certainty equivalence, forced": (COLOURS[5], "--"),
    "certainty equivalence, Thompson": (COLOURS[2], "-."),
    "LSPE(0), corrected": (COLOURS[3], (0, (5, 1, 1, 1))),
    "Whittle-index Q-learning": (COLOURS[1], "--"),
    "UCWhittle": (COLOURS[1], "-."),
    "joint Q-learning": (COLOURS[4], ":"),
    "age-blind UCB1": (COLOURS[6], (0, (1, 1))),
}
LEAST_LOSS = 0.01
"""Per cent; where a smaller loss is drawn."""


def draw_loss(id: str, runs: Runs, size: int) -> None:
    """Draw the share of the index policy's reward that was lost so far, with 95% bands."""
    data = []
    for budget, learners in runs.items():
        for name, curves in learners.items():
            if len(curves.expected) < 2:
                continue
            epochs, lost = accumulate_loss(curves)
            mean, low, high = student_band(lost)
            row = {"budget": budget, "learner": name, "epoch": epochs, "mean": mean}
            data.append(pd.DataFrame(row | {"low": low, "high": high}))
    frame = pd.concat(data)
    last = frame.groupby(["budget", "learner"], sort=False)["mean"].last()
    values_text = "; ".join(
        f"M = {budget}: " + ", ".join(f"{n} {v:.2g}" for n, v in last[budget].items())
        for budget in runs
    )
    least = "; ".join(f"{last[budget].idxmin()} at $M = {budget}$" for budget in runs)
    count = max(len(c.expected) for row in runs.values() for c in row.values())
    _save_runs(f"{id}-runs", runs, size)

    def draw(figure: Figure) -> pd.DataFrame:
        panels = zip(add_panels(figure, len(runs), sharey=True), runs, strict=True)
        for axis, budget in panels:
            by_name = frame[frame.budget == budget].groupby("learner", sort=False)
            for name, rows in by_name:
                colour, style = STYLES[str(name)]
                least = rows[["low", "high", "mean"]].clip(lower=LEAST_LOSS)
                band = {"color": colour, "alpha": 0.2, "linewidth": 0}
                axis.fill_between(rows.epoch, least["low"], least["high"], **band)
                axis.plot(rows.epoch, least["mean"], color=colour, linestyle=style, label=name)
            axis.set(xscale="log", yscale="log", title=f"$M = {budget}$", xlabel="epoch")
            axis.set(xlim=(rows.epoch.min(), rows.epoch.max()), ylim=(LEAST_LOSS, 100))
        figure.supylabel("loss so far (% of the index policy's reward)")
        add_legend(figure)
        return frame

    save_figure(
        id,
        draw,
        f"Share of the index policy's reward that was lost so far, {size} sources, mean of {count} "
        f"runs with 95% bands (smaller losses are drawn as {LEAST_LOSS:g}%). A flat line is a loss "
        "that never stops; one that falls tenfold in a tenfold time loses nothing more. The "
        f"least at the end: {least}.",
        f"Loss so far on logarithmic axes for {size} sources. Per cent lost at the end: "
        f"{values_text}.",
        instances=f"{id}-runs",
        height=4.2,
    )


def _save_runs(id: str, runs: Runs, size: int) -> None:
    """Save what every single run lost."""
    frames = [
        pd.DataFrame(
            {
                "budget": budget,
                "learner": name,
                "run": np.arange(len(curves.expected)),
                "loss": 100 * (1 - curves.expected.sum(axis=1) / curves.reference.sum()),
                "late_loss": 100 * late_losses(curves),
                "found": curves.reward,
            }
        )
        for budget, learners in runs.items()
        for name, curves in learners.items()
    ]
    save_data(
        id,
        pd.concat(frames, ignore_index=True),
        f"One row a run that did not diverge, of a learner at a budget, with {size} sources.",
        {
            "budget": "sources crawled at each epoch",
            "learner": "name of the learner",
            "run": "number of the run among those that did not diverge",
            "loss": "share of the index policy's expected reward that was lost, %",
            "late_loss": "the same over the last fifth of the epochs, %",
            "found": "content found per epoch, value units",
        },
    )


def draw_hard_cases(table: pd.DataFrame, replications: int) -> None:
    """Draw the regret of each learner with 95% intervals, one panel a case."""
    names = [INFORMED, *LEARNERS]
    best = {
        case: rows.loc[rows.regret.idxmin(), "learner"]
        for case, rows in group_rows(table[table.learner != INFORMED], "case")
    }
    leaders = "; ".join(f"{case}: {name}" for case, name in best.items())
    worst = {case: float(rows.regret.max()) for case, rows in group_rows(table, "case")}
    caption = (
        f"Regret against the relaxed bound: mean of {replications} draws of sources and arrivals "
        f"with 95% intervals. The learner that loses least, {leaders}."
    )
    alt = "Regret in % of the bound by case and learner. " + "; ".join(
        f"{case}: least {best[case]}, most {100 * value:.0f}" for case, value in worst.items()
    )

    def draw(figure: Figure) -> pd.DataFrame:
        panels = add_panels(figure, len(CASES), 2, sharex=True, sharey=True)
        height = np.arange(len(names))[::-1]
        for axis, case in zip(panels, CASES, strict=True):
            rows = table[table.case == case].set_index("learner")
            rows = 100 * rows.loc[names, ["regret", "low", "high"]]
            bar = {"capsize": 2, "markersize": 5, "linestyle": "none"}
            reach = np.array([rows.regret - rows.low, rows.high - rows.regret])
            axis.errorbar(rows.regret, height, xerr=reach, fmt="o", color=COLOURS[0], **bar)
            axis.plot(rows.regret.iloc[0], height[0], "o", color=ink(), markersize=6)
            axis.axvline(0, color=ink(), linewidth=0.6)
            axis.set_yticks(height, fold_names(figure, names))
            axis.set_title(case)
        figure.supxlabel("regret (% of the relaxed bound)")
        return table

    save_figure(
        "learners-hard",
        draw,
        caption,
        f"{alt}.",
        height=5.6,
    )
