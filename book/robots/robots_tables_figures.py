"""Figures of the page `robots-tables`."""

from __future__ import annotations

from analysis.robots.static.mm1k import critical_gamma
from book.robots.robots_tables import TABLES, Results, saves_more_uncapped, savings
from scorecard import COLOURS, figure, save_figure


def save_savings(found: Results) -> None:
    """Draw what control saves in each row of the two tables."""
    data = savings(found)
    fig, axis = figure(height=3.6)
    for mark, colour, (table, label) in zip("os", COLOURS, TABLES.items(), strict=False):
        part = data[data["table"] == table]
        weights = part["gamma"] / [critical_gamma(k, found.service_rate) for k in part["K"]]
        axis.plot(weights, 100 * part["saving"], mark, color=colour, markersize=5, label=label)
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set(xlabel="γ / γ(K)", ylabel="saving of control over a fixed number (%)")
    axis.set_ylim(0, 115)
    axis.legend(loc="upper center", ncols=2)
    most = data.groupby("table")["saving"].max()
    more = "Without a cap control saves more in every row: it keeps spare robots for the moments "
    more += "when the queue runs empty."
    save_figure(
        "robots-tables-saving",
        fig,
        data,
        caption="Share of the static cost that control saves, for every row of the two tables, "
        "against the weight of starvation in units of its critical value. "
        + more
        * saves_more_uncapped(found),
        instances="robots-tables-cells",
        alt="Points, one a row of each table. With at most the fixed number of robots control "
        f"saves up to {most['t1']:.1%}; without a cap up to {most['t2']:.1%}.",
    )
