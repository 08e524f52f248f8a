"""Figures of the page `robots-bounds`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, save_figure


def save_bounds(scan: pd.DataFrame, robots: int, arrival_rate: float, capacity: int) -> None:
    """Draw the optimal cost over the weight between its bounds."""
    grid, optimum, lower = scan["gamma"], scan["optimum"], scan["lower bound"]
    small, large = scan["lossless curve"], scan["saturated curve"]
    upper = np.minimum(small, large)
    middle = grid[(optimum < small * (1 - 1e-9)) & (optimum < large * (1 - 1e-9))]
    fig, axis = figure(height=4.0)
    band = {"color": "grey", "alpha": 0.18, "linewidth": 0}
    axis.fill_between(grid, lower / grid, upper / grid, label="proved bounds", **band)
    lines = {
        "lossless curve": (small, COLOURS[1], "--"),
        "saturated curve": (large, COLOURS[2], "-."),
        "nobody starves less": (lower, COLOURS[3], ":"),
        "optimum": (optimum, COLOURS[0], "-"),
    }
    for name, (cost, colour, style) in lines.items():
        axis.plot(grid, cost / grid, color=colour, linestyle=style, label=name)
    low = float(lower.iloc[0] / grid.iloc[0])
    high = max(float(small.iloc[0] / grid.iloc[0]), low * 1.05)
    axis.set(xlabel="weight of starvation γ (μ = 1)", ylabel="cost / γ", xscale="log")
    axis.set_ylim(low - 0.12 * (high - low), high + 0.25 * (high - low))
    axis.legend(fontsize="small")
    between = (
        f"in between, for {middle.min():.2g} to {middle.max():.2g} on this grid, the optimum is "
        "another policy"
        if len(middle)
        else "on this grid one of the two curves is always optimal"
    )
    save_figure(
        "robots-bounds-gains",
        fig,
        scan,
        caption=f"Optimal cost divided by the weight, for $N = {robots}$, $\\lambda = "
        f"{arrival_rate:g}$, $\\mu = 1$, $K = {capacity}$, between the proved bounds. For small "
        "weights it is the cost of the lossless curve, for large ones that of the saturated curve; "
        f"{between}.",
        alt="The optimum falls from the level of the lossless curve at small weights to that of "
        "the least starvation at large ones, where it runs on the saturated curve; "
        f"{between}.",
    )
