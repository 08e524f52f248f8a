"""Figures of the page `learning-as-printed`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.sources import Sources
from analysis.learning.comparison import LearningCurves
from analysis.learning.scheme.thresholds import soft_threshold_value
from analysis.results import Estimate
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    ink,
    save_data,
    save_figure,
    save_table,
    save_value,
)
from scorecard.text import pluralise


def draw_reward(main: LearningCurves, levels: Mapping[str, float], kappa: float) -> None:
    """Draw the reward of the runs in blocks of epochs, with constant levels to compare with."""
    runs, horizon = main.expected.shape
    block = max(horizon // 100, 1)
    mean, low, high = main.curve(block)
    blocks = main.expected[:, : len(mean) * block].reshape(runs, -1, block).mean(axis=2)
    spread = np.quantile(blocks, [0.05, 0.95], axis=0)
    epochs = (np.arange(len(mean)) + 0.5) * block
    best, _, bounds, _ = levels.values()
    late = main.expected[:, horizon // 2 :].mean(axis=1)
    engaged = main.engaged.mean(axis=1)
    _save_runs(main.expected.mean(axis=1), late, engaged)
    data = {"epoch": epochs, "mean": mean, "low": low, "high": high, "5%": spread[0]}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        band = {"color": COLOURS[0], "linewidth": 0}
        axis.fill_between(epochs, *spread, **band, alpha=0.2, label="90% of the runs")
        axis.fill_between(epochs, low, high, **band, alpha=0.5)
        axis.plot(epochs, mean, color=COLOURS[0], label="mean of the runs, 95% band")
        colours = (COLOURS[2], COLOURS[1], ink(), COLOURS[3])
        looks = zip(colours, ("-", "--", "-.", ":"), levels.items(), strict=True)
        for colour, style, (name, value) in looks:
            label = f"{name}, {value:.1f}"
            axis.axhline(value, color=colour, linestyle=style, linewidth=1.2, label=label)
        axis.set(xlabel="epoch", ylabel="reward per epoch (value units)", xlim=(0, horizon))
        axis.set(ylim=(0.85 * min(low.min(), *levels.values()), 1.55 * max(levels.values())))
        add_legend(figure)
        return pd.DataFrame(data | {"95%": spread[1], **levels})

    save_figure(
        "learning-as-printed-curve",
        draw,
        caption=f"Reward of the printed scheme in blocks of {pluralise(block, 'epoch')}, {runs} "
        f"runs with $\\kappa = {kappa:g}$, states divided by the largest $u^*$. The last block "
        f"earns {mean[-1]:.2f}; the thresholds' upper bounds are worth {bounds:.2f}, the index "
        f"policy {best:.2f}.",
        alt=f"Learning curve: the mean over {runs} runs is {mean[0]:.0f} in the first block and "
        f"{mean[-1]:.0f} in the last; thresholds at their upper bounds are worth {bounds:.1f}, the "
        f"index policy {best:.1f}.",
        instances="learning-as-printed-runs",
        height=4.2,
    )
    samples = {
        "all": main.expected.mean(axis=1),
        "late": late,
        "engaged": engaged,
    }
    for name, sample in samples.items():
        estimate = Estimate.of(sample)
        save_value(f"printed-{name}", estimate.value, interval=estimate.interval, replications=runs)


def _save_runs(rewards: Floats, late: Floats, engaged: Floats) -> None:
    columns = {"run": np.arange(rewards.size), "reward": rewards, "late_reward": late}
    save_data(
        "learning-as-printed-runs",
        pd.DataFrame(columns | {"sources_crawled": engaged}),
        "One row a run of the printed scheme with both cures that did not diverge.",
        {
            "run": "number of the run",
            "reward": "mean reward per epoch, value units",
            "late_reward": "the same over the second half of the epochs, value units",
            "sources_crawled": "mean number of sources crawled at an epoch",
        },
    )


def draw_by_step(sources: Sources, by_step: pd.DataFrame) -> None:
    """Draw reward against kappa by c, with what the upper bounds are worth."""
    kappas = by_step["kappa"].to_numpy()
    grid = np.geomspace(kappas.min() / 1.5, kappas.max() * 1.5, 60)
    exact = [soft_threshold_value(sources, sources.u_star, k).average_reward for k in grid]
    ends = by_step.groupby("step", sort=False)["at_bounds"].mean()
    values_text = ", ".join(f"{100 * share:.0f}% at $c = {step:g}$" for step, share in ends.items())
    plain = ", ".join(f"{100 * share:.0f}% at c = {step:g}" for step, share in ends.items())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(grid, exact, color=COLOURS[0], label="thresholds at their upper bounds, exact")
        styles = zip(COLOURS[1:], "os^v", (9, 7, 6, 5), strict=False)
        for (colour, mark, size), (step, rows) in zip(
            styles, by_step.groupby("step", sort=False), strict=False
        ):
            spread = [rows["reward"] - rows["reward_low"], rows["reward_high"] - rows["reward"]]
            look = {"fmt": mark, "color": colour, "markersize": size, "markerfacecolor": "none"}
            axis.errorbar(rows["kappa"], rows["reward"], spread, label=f"$c = {step:g}$", **look)
        axis.set(xscale="log", xlabel=r"$\kappa$ (per scaled content)", ylim=(0, None))
        axis.set(ylabel="reward per epoch (value units)")
        axis.set_xticks(np.unique(kappas), [f"{k:g}" for k in np.unique(kappas)])
        axis.minorticks_off()
        add_legend(figure)
        return by_step

    save_figure(
        "learning-as-printed-steps",
        draw,
        caption="Reward of the printed scheme over the second halves of "
        f"{by_step['runs'].min()} runs or more of each $\\kappa$ and $c$, with 95% intervals, and "
        f"what the upper bounds are worth. Of the thresholds {values_text} end on their bounds.",
        alt="Reward against kappa: a curve for thresholds at their upper bounds, and marks for "
        f"runs with several step sizes. Of the thresholds {plain} end on their bounds.",
        height=3.4,
    )


def draw_steepness(sources: Sources, points: pd.DataFrame, runs: int) -> None:
    """Draw mean and deviation of the number of crawled sources against kappa."""
    grid = np.geomspace(points.index.min() / 1.5, points.index.max() * 1.5, 60)
    exact = [soft_threshold_value(sources, sources.u_star, k) for k in grid]
    mean, deviation = np.array([(v.engaged, v.engaged_std) for v in exact]).T
    columns = ("sources crawled", "their deviation")
    names = ("mean, runs", "standard deviation, runs")
    save_table(
        "learning-as-printed-steepness",
        points,
        f"Second halves of {runs} runs at each $\\kappa$, and thresholds at their upper bounds by "
        "renewal theory: reward per epoch, and mean and standard deviation of the number of "
        "sources crawled at an epoch.",
        formats=".3f",
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(grid, mean, color=COLOURS[0], label="mean, exact")
        axis.plot(
            grid, deviation, color=COLOURS[1], linestyle="--", label="standard deviation, exact"
        )
        for colour, mark, column, name in zip(COLOURS, "os", columns, names, strict=False):
            axis.plot(points.index, points[column], mark, color=colour, label=name)
        axis.set(xscale="log", xlabel="$\\kappa$ (per scaled content)", ylim=(0, None))
        axis.set(ylabel="sources crawled at an epoch")
        axis.set_xticks(points.index, [f"{k:g}" for k in points.index])
        axis.minorticks_off()
        add_legend(figure)
        return pd.DataFrame({"kappa": grid, "mean": mean, "standard deviation": deviation})

    save_figure(
        "learning-as-printed-kappa",
        draw,
        caption="Number of sources crawled at an epoch, mean and standard deviation, against "
        f"$\\kappa$: thresholds at their upper bounds (lines) and the second halves of {runs} runs "
        "each (marks).",
        alt="Mean and standard deviation of the number of crawled sources against kappa: from "
        f"{mean[0]:.2f} and {deviation[0]:.2f} at kappa {grid[0]:.2g} to {mean[-1]:.2f} and "
        f"{deviation[-1]:.2f} at {grid[-1]:.2g}.",
        height=3.6,
    )


def draw_divergence(runs: Mapping[str, LearningCurves], horizon: int) -> None:
    """Draw the share of runs that have diverged by an epoch, with the cures and without."""
    times = np.unique(np.geomspace(1, horizon, 300).astype(int))
    shares = {}
    for name, curves in runs.items():
        stopped = np.array([epoch for _, epoch in curves.diverged], dtype=float)
        total = len(stopped) + len(curves.expected)
        shares[name] = (stopped[:, None] < times).sum(axis=0) / total
    count = ", ".join(f"{len(c.diverged)} {name}" for name, c in runs.items())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        looks = zip(COLOURS, ("-", "--", "-.", ":"), shares.items(), strict=False)
        for colour, style, (name, share) in looks:
            width = 2 if style == ":" else 1.5
            line = {"color": colour, "linestyle": style, "linewidth": width, "label": name}
            axis.plot(times, 100 * share, **line)
        axis.set(xscale="log", xlabel="epoch", ylim=(-3, 103))
        axis.set_ylabel("runs that diverged so far (%)")
        add_legend(figure)
        return pd.DataFrame({"epoch": times, **shares})

    save_figure(
        "learning-as-printed-divergence",
        draw,
        caption=f"Share of {total} runs that had diverged by an epoch. At the end: {count}.",
        alt=f"Four step curves. Of {total} runs diverge: {count}.",
        height=3.4,
    )
    save_value("printed-neither", len(runs["with neither"].diverged))
