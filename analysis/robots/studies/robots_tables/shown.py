"""The two tables as the page shows them: printed, computed, their difference, and one picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.published import printed_number, printed_rows
from analysis.report import COLOURS, figure, save_figure
from analysis.robots.static.mm1k import critical_gamma
from analysis.robots.studies.robots_tables import (
    COLUMNS,
    Key,
    Results,
    TableRow,
    cell_id,
    is_printed,
)

TABLES = {"t1": "at most N_s robots (Table 1)", "t2": "no cap that binds (Table 2)"}


def switch(found: Results, table: str, *, document: bool) -> str:
    """Return a table of the draft as HTML, to unfold as computed, as printed, or as the difference.

    Parameters
    ----------
    found : Results
    table : {"t1", "t2"}
    document : bool
        Whether the parameters are the draft's; without that there is nothing to compare with.
    """
    views = {"Computed": computed_table(found, table, document=document)}
    if document:
        views |= {"As printed": printed_table(found, table)}
        views |= {"Computed less printed": difference_table(found, table)}
    return "".join(
        f"<details{' open' * (name == 'Computed')}><summary>{name}</summary>"
        f"{frame.to_html(border=0)}</details>"
        for name, frame in views.items()
    )


def _rows(found: Results, table: str) -> list[tuple[Key, TableRow]]:
    return [(key, row) for key, row in found.rows.items() if key[0] == table]


def _frame(found: Results, table: str, cells: Any) -> pd.DataFrame:
    """Return a table of the draft whose cells are what a function of row and column says."""
    content = {
        key[1:]: {name: cells(key, row, name) for name in COLUMNS[table]}
        for key, row in _rows(found, table)
    }
    frame = pd.DataFrame.from_dict(content, orient="index").rename(columns={"Nbar": "mean"})
    frame.index = pd.MultiIndex.from_tuples(list(content), names=["λ", "K", "γ"])
    return frame


def printed_table(found: Results, table: str) -> pd.DataFrame:
    """Return the table as the draft prints it."""
    return _frame(found, table, lambda key, _, name: printed_rows()[cell_id(key, name)].printed)


def computed_table(found: Results, table: str, *, document: bool) -> pd.DataFrame:
    """Return the table as computed, to the printed digits, with the exact optimum of Table 1."""

    def text(key: Key, row: TableRow, name: str) -> str:
        decimals = len(printed_rows()[cell_id(key, name)].printed.partition(".")[2])
        return f"{row.cells[name]:.{decimals}f}"

    frame = _frame(found, table, text)
    rows = _rows(found, table)
    if table == "t1":
        place = list(frame.columns).index("C_d") + 1
        frame.insert(place, "optimum", [f"{row.optimal_cost:.5f}" for _, row in rows])
    if document:
        frame["remark"] = [_remark(key, row) for key, row in rows]
    return frame


def _remark(key: Key, row: TableRow) -> str:
    if not is_printed(key, "C_d", row.cells["C_d"]):
        return "C_d misprinted"
    return "stops too early" if stops_too_early(row) else ""


def stops_too_early(row: TableRow) -> bool:
    """Whether the cost where Proposition 4 stops differs from the optimum in the fifth decimal."""
    return round(row.cells["C_d"], 5) != round(row.optimal_cost, 5)


def difference_table(found: Results, table: str) -> pd.DataFrame:
    """Return what was computed less what is printed, 0 where it rounds to the print."""

    def gap(key: Key, row: TableRow, name: str) -> str:
        if is_printed(key, name, row.cells[name]):
            return "0"
        return f"{row.cells[name] - printed_number(cell_id(key, name)):+.5f}"

    return _frame(found, table, gap)


def reference_table(found: Results) -> pd.DataFrame:
    """Return, for each row of Table 1, how many reference states give what is printed."""
    table = []
    for key, row in _rows(found, "t1"):
        if row.runs is None:
            continue
        inside = row.runs.updates >= 0
        updates, costs = row.runs.updates[inside], row.runs.cost[inside]
        counts = [is_printed(key, "N_iter", n + 1) for n in updates]
        table.append(
            {"λ": key[1], "K": key[2], "γ": key[3], "reference states": updates.size}
            | {"N_iter as printed": sum(counts)}
            | {"C_d as printed": sum(is_printed(key, "C_d", c) for c in costs)}
            | {"fewest updates": updates.min(), "most": updates.max()}
        )
    return pd.DataFrame(table).set_index(["λ", "K", "γ"])


def references_for_all(found: Results) -> list[tuple[int, int, int]]:
    """Return the reference states (q, r, s) that give N_iter as printed in every row."""
    sets = []
    for key, row in _rows(found, "t1"):
        if row.runs is not None:
            hits = np.argwhere(row.runs.updates == printed_number(cell_id(key, "N_iter")) - 1)
            sets.append({(int(q), int(r), int(s)) for s, q, r in hits})
    return sorted(set.intersection(*sets))


def savings(found: Results) -> pd.DataFrame:
    """Return the share of the static cost that control saves, for each row."""
    return pd.DataFrame(
        {
            "table": key[0],
            "lambda": float(key[1]),
            "K": int(key[2]),
            "gamma": float(key[3]),
            "saving": 1.0 - row.optimal_cost / row.cells["C_s"],
        }
        for key, row in found.rows.items()
    )


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
    axis.set_ylim(top=115)
    axis.legend(loc="upper center", ncols=2)
    most = data.groupby("table")["saving"].max()
    save_figure(
        "robots-tables-saving",
        fig,
        data,
        caption="Share of the static cost that control saves, for every row of the two tables, "
        "against the weight of starvation in units of its critical value. Without a cap control "
        "saves far more: it keeps spare robots for the moments when the queue runs empty.",
        alt="Two clouds of points. With at most the fixed number of robots control saves up to "
        f"{most['t1']:.0%}; without a cap up to {most['t2']:.0%}.",
    )
