"""Figures of the page `robots-tables`."""

from __future__ import annotations

from analysis.robots.static.mm1k import critical_gamma
from book.robots.robots_tables import TABLES, Results, compute_savings, saves_more_uncapped
from scorecard import COLOURS, figure, save_figure


def draw_savings(results: Results) -> None:
    """Draw what control saves in each row of the two tables."""
    data = compute_savings(results)
    fig, axis = figure(height=3.6)
    for mark, colour, (table, label) in zip("os", COLOURS, TABLES.items(), strict=False):
        rows = data[data["table"] == table]
        weights = rows["gamma"] / [critical_gamma(k, results.service_rate) for k in rows["K"]]
        axis.plot(weights, 100 * rows["saving"], mark, color=colour, markersize=5, label=label)
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set(xlabel="γ / γ(K)", ylabel="saving of control over a fixed number (%)")
    axis.set_ylim(0, 115)
    axis.legend(loc="upper center", ncols=2)
    most = data.groupby("table")["saving"].max()
    comparison = (
        "Without a cap control saves more in every row: it keeps spare robots for the moments "
    )
    comparison += "when the queue runs empty."
    save_figure(
        "robots-tables-saving",
        fig,
        data,
        caption="Share of the static cost that control saves, for every row of the two tables, "
        "against the weight of starvation in units of its critical value. "
        + comparison
        * saves_more_uncapped(results),
        instances="robots-tables-cells",
        alt="Points, one a row of each table. With at most the fixed number of robots control "
        f"saves up to {most['t1']:.1%}; without a cap up to {most['t2']:.1%}.",
    )
