"""Values and tables of the page `robots-tables`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.published import printed_number, printed_rows
from analysis.report import NONE, Claim, is_document_run, save_data, save_table, save_value
from analysis.report.scorecard import judge
from analysis.robots.studies.robots_tables.experiment import (
    COLUMNS,
    TABLES,
    Key,
    Results,
    TableRow,
    cell_id,
    is_printed,
    references_for_all,
    row_keys,
    saves_more_uncapped,
    savings,
    stops_too_early,
)


def save_counts(claims: list[Claim]) -> None:
    """Count the cells of both tables by what the scorecard says of them, for the prose."""
    cells = [claim for claim in claims if claim.id.startswith(("D-t1-0", "D-t2-0"))]
    verdicts = [judge(printed_rows()[claim.id], claim).verdict for claim in cells]
    save_value("robots-tables-cells", len(cells))
    save_value("robots-tables-plain", verdicts.count("matches"))
    save_value("robots-tables-under", verdicts.count("matches under"))
    save_value("robots-tables-explained", verdicts.count("explained"))


def save_tables(found: Results, *, document: bool) -> None:
    """Save both tables in the draft's layout: computed, and as printed and less printed beside."""
    styles = {name: f".{digits}f" for name, digits in DECIMALS.items() if name != "Nbar"}
    for number, table in enumerate(TABLES, 1):
        computed = computed_table(found, table, document=document)
        exact = {"optimum": ".5f"} if "optimum" in computed else {}
        what = TABLES[table].partition(" (")[0]
        save_table(
            f"robots-tables-{number}",
            computed,
            f"The draft's Table {number}, recomputed: {what}."
            if document
            else f"Rows as in Table {number} of the draft, for parameters of one's own: {what}.",
            formats=styles | exact | {"mean": ".1f"},
            instances="robots-tables-cells",
        )
        if document:
            save_table(
                f"robots-tables-{number}-printed",
                printed_table(found, table),
                f"The draft's Table {number}, as it prints it.",
            )
            save_table(
                f"robots-tables-{number}-difference",
                difference_table(found, table),
                f"The draft's Table {number}, computed less printed; 0 where the computed cell "
                "rounds to the printed one.",
            )


def save_cells(found: Results, *, document: bool) -> None:
    """Publish every cell of both tables, one a row."""
    cells = [
        {"table": key[0][1:], "lambda": key[1], "K": key[2], "gamma": f"{float(key[3]):g}"}
        | {"cell": name, "computed": row.cells[name]}
        | ({"printed": printed_rows()[cell_id(key, name)].printed} if document else {})
        for key, row in found.rows.items()
        for name in COLUMNS[key[0]]
    ]
    columns = {
        "table": "number of the draft's table",
        "lambda": "pages that a robot brings per unit of time",
        "K": "places in the queue",
        "gamma": "weight of starvation, in lost pages per unit of time",
        "cell": "column of the table",
        "computed": "what comes out: costs per unit of time in lost pages, robots, or iterations",
    }
    printed = {"printed": "what the draft prints"} if document else {}
    save_data(
        "robots-tables-cells",
        pd.DataFrame(cells),
        "One row a cell of the tables that set static against dynamic control.",
        columns | printed,
    )


def save_predicates(found: Results) -> None:
    """Save what the page's sentences depend on."""
    capped = {key: row for key, row in found.rows.items() if key[0] == "t1"}
    free = [row for key, row in found.rows.items() if key[0] == "t2"]
    saving = savings(found)
    largest = saving.groupby("table")["saving"].max()
    save_value("robots-tables-rows", len(row_keys()))
    save_value("robots-tables-saving-capped", largest["t1"])
    save_value("robots-tables-saving-free", largest["t2"])
    save_value("robots-tables-half", found.half_rate_robots)
    save_value("robots-tables-capped-rows", len(capped))
    save_value("robots-tables-unconverged", sum(map(stops_too_early, capped.values())))
    other = sum(row.max_robots != row.cells["N_max"] for row in free)
    save_value("robots-tables-other-most", other)
    save_value("robots-tables-free-saves-more", saves_more_uncapped(found))
    save_value("robots-tables-own", not is_document_run())
    if is_document_run():
        save_value("robots-tables-references-for-all", len(references_for_all(found)))


#: Decimals of the columns that are no whole numbers, as the draft prints them.
DECIMALS = {"C_s": 5, "C_d": 5, "Nbar": 1}


def _rows(found: Results, table: str) -> list[tuple[Key, TableRow]]:
    return [(key, row) for key, row in found.rows.items() if key[0] == table]


def _frame(found: Results, table: str, cells: Any) -> pd.DataFrame:
    """Return a table of the draft whose cells are what a function of row and column says."""
    content = {
        key[1:]: {name: cells(key, row, name) for name in COLUMNS[table]}
        for key, row in _rows(found, table)
    }
    frame = pd.DataFrame.from_dict(content, orient="index").rename(columns={"Nbar": "mean"})
    frame.index = _index(list(content))
    return frame


def _index(rows: list[tuple[str, str, str]]) -> pd.MultiIndex:
    short = [(rate, capacity, f"{float(gamma):g}") for rate, capacity, gamma in rows]
    return pd.MultiIndex.from_tuples(short, names=["λ", "K", "γ"])


def printed_table(found: Results, table: str) -> pd.DataFrame:
    """Return the table as the draft prints it."""
    return _frame(found, table, lambda key, _, name: printed_rows()[cell_id(key, name)].printed)


def computed_table(found: Results, table: str, *, document: bool) -> pd.DataFrame:
    """Return the table as computed, with the exact optimum of Table 1."""

    def cell(_: Key, row: TableRow, name: str) -> float:
        return row.cells[name] if name in DECIMALS else int(row.cells[name])

    frame = _frame(found, table, cell)
    rows = _rows(found, table)
    if table == "t1":
        place = list(frame.columns).index("C_d") + 1
        frame.insert(place, "optimum", [row.optimal_cost for _, row in rows])
    remarks = [_remark(key, row, document=document) for key, row in rows]
    if not any(remarks):
        return frame
    return frame.assign(remark=[remark or NONE for remark in remarks])


def _remark(key: Key, row: TableRow, *, document: bool) -> str:
    if document and not is_printed(key, "C_d", row.cells["C_d"]):
        return "C_d misprinted"
    return "stops too early" if stops_too_early(row) else ""


def difference_table(found: Results, table: str) -> pd.DataFrame:
    """Return what was computed less what is printed, 0 where it rounds to the print."""

    def gap(key: Key, row: TableRow, name: str) -> str:
        if is_printed(key, name, row.cells[name]):
            return "0"
        return f"{row.cells[name] - printed_number(cell_id(key, name)):+.5f}"

    return _frame(found, table, gap)


def reference_table(found: Results, *, document: bool) -> pd.DataFrame:
    """Return, for each row of Table 1, how many reference states there are and where they stop.

    With the draft's parameters also how many give what is printed.
    """
    table, rows = [], []
    for key, row in _rows(found, "t1"):
        if row.runs is None:
            continue
        inside = row.runs.updates >= 0
        updates, costs = row.runs.updates[inside], row.runs.cost[inside]
        rows.append(key[1:])
        table.append({"reference states": updates.size})
        if document:
            counts = [is_printed(key, "N_iter", n + 1) for n in updates]
            table[-1] |= {"N_iter as printed": sum(counts)}
            table[-1] |= {"C_d as printed": sum(is_printed(key, "C_d", c) for c in costs)}
        else:
            same = np.round(costs, 5) == round(row.optimal_cost, 5)
            table[-1] |= {"C_d is the optimum": int(same.sum())}
        table[-1] |= {"fewest updates": updates.min(), "most": updates.max()}
    return pd.DataFrame(table, _index(rows))
