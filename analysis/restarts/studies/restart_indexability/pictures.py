"""Figures of the page `restart-indexability`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.report import COLOURS, figure, save_figure

PENALTY = r"penalty $\lambda$ (cost per active epoch)"


def draw_level(
    grid: Floats, level: Floats, printed: Floats, index: Floats, critical: Floats, discount: float
) -> None:
    """Draw where the level crosses the critical value of each state, and where the printed does."""
    fig, axis = figure(height=3.8)
    right = r"$W_\lambda = (1-b)\lambda + b\,\sum QV_\lambda$"
    axis.plot(grid, level, color=COLOURS[0], label=right)
    dashed = {"color": COLOURS[1], "linestyle": "--"}
    axis.plot(grid, printed, **dashed, label=r"as printed, $\lambda + b\,\sum QV_\lambda$")
    axis.hlines(critical, grid[0], index, color="grey", linewidth=0.7)
    dots = {"color": "black", "markersize": 4}
    axis.plot(index, critical, "o", **dots, label=r"$W_\lambda = \nu(x)$: the index of each state")
    room = 0.35 * np.ptp(level)
    axis.set(xlabel=PENALTY, ylabel="cost per epoch", xlim=(grid[0], grid[-1]))
    axis.set_ylim(level[0] - room, level[-1] + room)
    axis.legend(loc="lower right")
    save_figure(
        "restart-indexability-level",
        fig,
        pd.DataFrame({"subsidy": grid, "W": level, "W_printed": printed}),
        caption="Where $W_\\lambda$ crosses the level $\\nu(x)$ of a state (grey), the state turns "
        f"passive. One arm with {index.size} states and no structure, $b = {discount:g}$. The "
        "printed $W_\\lambda$ crosses elsewhere.",
        alt=f"A rising concave curve crosses {index.size} horizontal lines, once each; the "
        "crossings are the indices. A steeper dashed curve, the printed one, crosses the lines at "
        "other penalties.",
    )


def draw_sets(grid: Floats, index: Floats, critical: Floats) -> None:
    """Draw from which penalty on each state is passive."""
    states = np.arange(1, index.size + 1)
    fig, axis = figure(height=3.4)
    axis.hlines(states, index, grid[-1], color=COLOURS[0], linewidth=5)
    axis.hlines(states, grid[0], index, color=COLOURS[1], linewidth=1, linestyle=":")
    axis.plot(index, states, "o", color="black", markersize=4)
    axis.set(xlabel=PENALTY, ylabel="state", xlim=(grid[0], grid[-1]), yticks=states)
    turning = ", ".join(str(x + 1) for x in np.argsort(index))
    save_figure(
        "restart-indexability-sets",
        fig,
        pd.DataFrame({"state": states, "index": index, "nu": critical}),
        caption="The same arm: each state is active (dotted) up to its index (dot) and passive "
        f"(bar) from there on. The states turn passive in the order {turning}.",
        alt="One horizontal line a state, dotted below its index and a thick bar from it on. "
        "No bar ever ends: the passive set only grows. States turn passive in the order "
        f"{turning}.",
    )
