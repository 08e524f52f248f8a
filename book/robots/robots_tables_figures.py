"""Figures of the page `robots-tables`."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from analysis.robots.mm1k import critical_gamma
from book.robots.robots_tables import TABLES, Results, compute_savings, saves_more_uncapped
from scorecard import COLOURS, add_legend, add_panels, save_figure


def draw_savings(results: Results) -> None:
    """Draw what control saves in each row of the two tables."""
    data = compute_savings(results)
    most = data.groupby("table")["saving"].max()
    comparison = (
        "Without a cap control saves more in every row: it keeps spare robots for the moments "
        "when the queue runs empty."
    )
    weights = data["gamma"] / [critical_gamma(k, results.service_rate) for k in data["K"]]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for mark, colour, (table, label) in zip("os", COLOURS, TABLES.items(), strict=False):
            of_table = data["table"] == table
            look = {"color": colour, "markersize": 5, "label": label}
            axis.plot(weights[of_table], 100 * data["saving"][of_table], mark, **look)
        axis.axvline(1, color="grey", linewidth=0.8)
        axis.set(xlabel="γ / γ(K)", ylabel="saving of control over a fixed number (%)")
        axis.set_ylim(0, 115)
        add_legend(figure)
        return data

    save_figure(
        "robots-tables-saving",
        draw,
        caption="Share of the static cost that control saves, for every row of the two tables, "
        "against the weight of starvation in units of its critical value. "
        + comparison
        * saves_more_uncapped(results),
        instances="robots-tables-cells",
        alt="Points, one a row of each table. With at most the fixed number of robots control "
        f"saves up to {most['t1']:.1%}; without a cap up to {most['t2']:.1%}.",
    )
