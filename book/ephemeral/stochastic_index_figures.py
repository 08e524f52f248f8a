"""Figures of the stochastic index: how far the closed form is off, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.stochastic.simulation import Comparison
from book.ephemeral.shared import tabulate_rewards
from scorecard import COLOURS, add_legend, add_panels, ink, save_data, save_figure

STYLES = ("-", "--", "-.", ":", "-")
MARKERS = ("o", "s", "^", "v", "D")


def draw_deviation(grid: Floats, deviation: dict[float, Floats], law: str) -> None:
    """Draw the deviation of the closed form of source 1 from its true index, by arrival rate."""
    first = {rate: values[0] for rate, values in deviation.items()}
    farthest = [f"{np.nanmax(abs(values)):.0%} at {rate:g}" for rate, values in first.items()]
    wide = [
        f"{rate:g}: {np.nanmin(values):.0%} to {np.nanmax(values):+.0%}"
        for rate, values in first.items()
    ]
    columns = {
        f"closed form over index, less 1, rate {rate:g}": values for rate, values in first.items()
    }

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (rate, values) in zip(COLOURS, STYLES, first.items(), strict=False):
            label = f"{rate:g} per time unit"
            axis.plot(grid, 100 * values, style, color=colour, label=label)
        axis.axhline(0, color=ink(), linewidth=0.8)
        axis.axvline(1, color="grey", linewidth=0.8, linestyle=":")
        axis.set(
            xlabel="content of source 1 (units of u*)", ylabel="closed form above the index (%)"
        )
        add_legend(figure)
        return pd.DataFrame({"content (u*)": grid, **columns})

    save_figure(
        "stochastic-index-deviation",
        draw,
        caption="How far the deterministic closed form lies from the true index with random "
        f"content ({law} utilities), for source 1 alone and contents from "
        f"{grid[0]:.0%} of $u^*$ up. Farthest, by items per time unit: "
        f"{'; '.join(dict.fromkeys([farthest[0], farthest[-1]]))}.",
        alt="Curves of the relative deviation against the content, one an arrival rate. Range by "
        f"items per time unit: {'; '.join(wide)}.",
        height=3.8,
    )


def save_runs(plays: Mapping[float, Comparison]) -> None:
    """Save the reward of every run, before the control variate."""
    columns = {
        "rate": "items per time unit at each source",
        "replication": "number of the run; the policies of one rate share their arrivals",
        "policy": "policy",
        "reward": "reward per epoch, without control variate",
    }
    save_data(
        "stochastic-index-runs",
        tabulate_rewards(plays, "rate")[list(columns)],
        "One row a run and policy with random arrivals, by arrival rate.",
        columns,
    )


def draw_rewards(table: pd.DataFrame, budget: int, law: str, replications: int) -> None:
    """Draw the distance of each policy to the relaxed bound, against the arrival rate."""
    policies = table.groupby("policy", sort=False)
    ends = [
        f"{name}: {rows.below.iloc[0]:.1f}%, {rows.below.iloc[-1]:.1f}%" for name, rows in policies
    ]
    rates = table.rate.unique()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, marker, (name, rows) in zip(
            COLOURS, STYLES, MARKERS, policies, strict=False
        ):
            half = 100 * rows.half_width / rows.bound
            look = {"fmt": marker + style, "color": colour, "markersize": 4, "capsize": 2}
            axis.errorbar(rows.rate, rows.below, yerr=half, label=name, **look)
        axis.axhline(0, color=ink(), linewidth=0.8)
        axis.set(xscale="log", xlabel="items per time unit at each source")
        axis.set_ylabel("reward below the relaxed bound (%)")
        add_legend(figure)
        return table

    save_figure(
        "stochastic-index-rewards",
        draw,
        caption="What each policy earns, as a distance to the relaxed bound that holds for every "
        f"policy ($M = {budget}$, {law} utilities, 95% intervals over {replications} runs with "
        "greedy, whose reward is known exactly, as control variate). Lower is better; nearest to "
        f"the bound on average over the rates is *{policies['below'].mean().idxmin()}*.",
        alt="Curves of the distance to the bound against the arrival rate. At "
        f"{rates[0]:g} and at {rates[-1]:g}: {'; '.join(ends)}.",
        height=3.8,
    )
