"""Claims of the page `robots-tables` on rows of the robot study."""

from __future__ import annotations

from analysis.published import printed_number
from analysis.report import Claim, claim
from analysis.robots.studies.robots_tables.experiment import (
    COLUMNS,
    MISPRINTED,
    Key,
    Results,
    cell_id,
    is_printed,
    others_of,
)


def claims(found: Results) -> list[Claim]:
    """Return the page\'s claims on the cells of both tables, and to section 4."""
    cells = [_cell(found, key, name) for key in found.rows for name in COLUMNS[key[0]]]
    return [*cells, *_section_4(found)]


def _cell(found: Results, key: Key, column: str) -> Claim:
    alternatives = _by_other_choices(found, key, column)
    if key in found.literal:
        alternatives.append(found.literal[key].cells[column])
    explained = _misprint(found, key, column)
    return claim(
        cell_id(key, column),
        found.rows[key].cells[column],
        alternatives=alternatives,
        explained=explained,
        independent=None if explained is None else found.second_method[key],
    )


def _by_other_choices(found: Results, key: Key, column: str) -> list[float]:
    """Return a cell under other choices of what the draft does not print, if it rests on any."""
    row = found.rows[key]
    if key[0] == "t1" and row.runs is not None and column in ("C_d", "N_iter"):
        updates, costs = others_of(row.runs)
        if column == "C_d":
            return [*costs, row.optimal_cost, found.step * row.cells["C_d"]]
        return [*(updates + 1), row.cells["N_iter"] - 1]
    if key[0] == "t2" and column not in ("C_s", "N_s"):
        others = [rows[key].cells[column] for rows in found.capped]
        return [*others, row.max_robots] if column == "N_max" else others
    return []


def _misprint(found: Results, key: Key, column: str) -> float | None:
    """Return the cell that stands in the place of a misprinted one; None for all others."""
    first, neighbour = MISPRINTED
    if column == "C_d" and key == first:
        return found.rows[neighbour].cells["C_d"]
    if column == "C_d" and key == neighbour:
        return found.rows["t1", *neighbour[1:]].cells["C_d"]
    return None


def _section_4(found: Results) -> list[Claim]:
    capped = {key: row for key, row in found.rows.items() if key[0] == "t1"}
    fitting = sum(
        all(is_printed(key, name, row.cells[name]) for name in ("N_min", "Nbar"))
        for key, row in capped.items()
    )
    cheaper = sum(row.optimal_cost < row.cells["C_s"] for row in found.rows.values())
    between = sum(
        row.cells["N_min"] < row.cells["Nbar"] < row.cells["N_s"] for row in capped.values()
    )
    rate_and_step = (found.service_rate, found.step)
    half, first = found.half_rate_robots, printed_number(cell_id(next(iter(found.rows)), "N_s"))
    fleets = sum(is_printed(key, "N_s", row.cells["N_s"]) for key, row in found.rows.items())
    rows = len(found.rows)
    halved = {"half_rate": half, "printed": first, "as_printed": fleets, "rows": rows}
    averages = {"as_printed": fitting, "rows": len(capped)}
    intuition = {"cheaper": cheaper, "rows": rows, "between": between, "capped": len(capped)}
    return [
        claim("D-mu05", half == first, numbers=halved),
        claim("D-t1-N", fitting == len(capped), numbers=averages),
        claim("D-t1-caption", rate_and_step),
        claim("D-t2-caption", rate_and_step),
        claim("D-tau", found.step),
        claim("D-tol", found.tolerance),
        claim("D-intuition", cheaper == rows and between == len(capped), numbers=intuition),
    ]
