"""The figure of the page on the curve's growth."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap

from analysis.report import figure, save_figure
from analysis.robots.studies.robots_curve.pictures import ALWAYS, HIGH, LOW, NEVER
from analysis.robots.studies.robots_growth.experiment import Orders


def draw_orders(orders: Orders) -> None:
    """Draw the boxes of a fleet with their places in the order, one panel a rate."""
    table, rates = orders.table, orders.rates
    capacity, robots = int(table["q"].max()), int(table["r"].max()) + 1
    fig, axes = figure(
        1,
        len(rates),
        width=1.2 + 2.3 * len(rates),
        height=min(6.0, 1.7 + 0.3 * robots),
        sharey=True,
    )
    for axis, rate in zip(np.atleast_1d(axes), rates, strict=True):
        found = table[table["rate"] == rate]
        places = found.pivot(index="r", columns="q", values="order").to_numpy()
        ranked = np.ma.masked_where(np.isnan(places) | (places == 0), places)
        grid = np.arange(capacity + 2) - 0.5, np.arange(robots + 1) - 0.5
        settled = np.ma.masked_where(~ranked.mask, np.isnan(places))
        axis.pcolormesh(*grid, settled, cmap=ListedColormap([ALWAYS, NEVER]), vmin=0, vmax=1)
        axis.pcolormesh(*grid, ranked, cmap=LinearSegmentedColormap.from_list("", [LOW, HIGH]))
        for (r, q), place in np.ma.ndenumerate(ranked):
            axis.text(q, r, f"{place:.0f}", ha="center", va="center", fontsize=9)
        axis.set(title=f"λ = {rate:g}", xlabel="pages left, q", xticks=range(capacity + 1))
        axis.set(yticks=range(robots))
        axis.grid(False)
    np.atleast_1d(axes)[0].set_ylabel("robots already active, r")
    differ = "the orders differ" if orders.different > 1 else "the order is the same"
    save_figure(
        "robots-growth-order",
        fig,
        table,
        caption=f"The order in which boxes are added to the optimal curve as the weight of "
        f"starvation rises, for $N = {robots}$, $K = {capacity}$, $\\mu = 1$, one panel for each "
        "rate $\\lambda$. Green boxes are in every optimal curve, orange ones in none.",
        alt=f"Grids of {capacity + 1} queue lengths by {robots} numbers of active robots, one for "
        f"each of {len(rates)} rates, with the boxes numbered as they are added"
        + (f"; between the rates {differ}." if len(rates) > 1 else "."),
    )
