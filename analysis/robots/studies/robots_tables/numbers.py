"""Values and tables of the page `robots-tables`."""

from __future__ import annotations

import pandas as pd

from analysis.published import printed_rows
from analysis.report import Claim, is_document_run, save_data, save_table, save_value
from analysis.report.scorecard import judge
from analysis.robots.studies.robots_tables.experiment import (
    COLUMNS,
    DECIMALS,
    TABLES,
    Results,
    cell_id,
    computed_table,
    difference_table,
    printed_table,
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
    """Keep what the page's sentences depend on."""
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
