"""The rows of the draft's Tables 1 and 2, and the choices under which they agree.

mu = 1. A printed weight that is gamma(K) to its digits stands for gamma(K): 1.13 is 17/15 at
K = 15. Table 1 caps the robots at N_s, prints T h(x_hat) at the stop of Proposition 4 as C_d, and
one more than the number of updates as N_iter. Table 2 has no cap that binds, prints the optimum,
and its N_max is the largest number of active robots at which one more is started as the queue
empties. What the draft does not print of this is a choice: `Results` holds the rows under other
choices too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.mdp import policy_iteration
from analysis.robots.control import RobotControl, uniformised, without_cap
from analysis.robots.mm1k import critical_gamma, optimal_robots, static_cost
from analysis.robots.printed import STEP, TOLERANCE, ReferenceRuns, every_reference
from book.robots.shared import Key, cell_id, list_printed_rows, read_gamma
from scorecard import (
    COLOURS,
    NONE,
    Claim,
    add_legend,
    add_panels,
    claim,
    is_document_run,
    save_data,
    save_figure,
    save_table,
    save_value,
)
from scorecard.prints import printed_number, printed_rows
from scorecard.verdicts import add_words, judge

#: The reference state with which the counts of the draft come out (two others count the same).
REFERENCE = (1, 1, 1)
#: Most robots of a row: the work of Proposition 4 grows with their square, and takes minutes there.
MOST_ROBOTS = 400
#: Other reference states whose results a record keeps: so many, spread over all.
SAMPLE = 40
COLUMNS = {
    "t1": ("C_s", "N_s", "C_d", "N_min", "Nbar", "N_iter"),
    "t2": ("C_s", "N_s", "C_d", "N_min", "Nbar", "N_max"),
}


@dataclass(frozen=True)
class TableRow:
    """One row of Table 1 or 2."""

    cells: dict[str, float]  # the computed cells by their column
    robots: int  # N of the controlled queue
    optimal_cost: float  # its exact optimum
    max_robots: int  # most active robots under the optimal policy
    # Where Proposition 4 stops, by reference state (Table 1 only).
    runs: ReferenceRuns | None = field(default=None, repr=False)


def list_own_rows(
    arrival_rates: Sequence[float], K: int, gammas: Sequence[float], service_rate: float = 1.0
) -> list[Key]:
    """Return the rows of both tables for rates, a capacity and weights of a reader's own.

    What is empty or zero is as in the draft; without anything of a reader's own the rows are the
    printed ones, of which Table 2 has none at the smallest rate. Own weights have so many digits
    that `read_gamma` takes them as they are.

    `arrival_rates`: lambda of one robot; `K`: places in the queue, at least 2, or 0; `gammas`:
    weights of starvation. The draft's are 0.4, gamma(K) and 2.4, with mu = 1. Refuses rows with
    N_s above `MOST_ROBOTS`.
    """
    if K < 0 or K == 1:
        raise ValueError(f"K must be 0 or at least 2, got {K}")
    keys = _keys(arrival_rates, K, gammas) if arrival_rates or K or gammas else list_printed_rows()
    for _, rate, capacity, printed in keys:
        gamma = read_gamma(printed, int(capacity), service_rate)
        robots = optimal_robots(float(rate), gamma, int(capacity), service_rate)
        if robots > MOST_ROBOTS:
            raise ValueError(
                f"service_rate must leave N_s at {MOST_ROBOTS} at most, got {service_rate:g} and "
                f"N_s = {robots} at an arrival rate of {rate}, K = {capacity} and gamma = "
                f"{gamma:.6g}: take a smaller service_rate or larger arrival_rates"
            )
    return keys


def check_rows(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters with a row that `list_own_rows` refuses."""
    list_own_rows(*(parameters[name] for name in ("arrival_rates", "K", "gammas", "service_rate")))


def _keys(arrival_rates: Sequence[float], K: int, gammas: Sequence[float]) -> list[Key]:
    rates = [f"{rate:g}" for rate in arrival_rates] or ["0.01", "0.05", "0.1"]
    weights = [f"{gamma:.8f}" for gamma in gammas]
    return [
        (table, rate, str(places), gamma)
        for table in COLUMNS
        for rate in rates
        for places in ([K] if K else [5, 10, 15])
        for gamma in weights or ["0.4", f"{critical_gamma(places):.8f}", "2.4"]
    ]


def find_middle_row(keys: Sequence[Key], service_rate: float = 1.0) -> tuple[float, int, float]:
    """Return rate, capacity and weight of the middle row of Table 1."""
    capped = [key for key in keys if key[0] == "t1"]
    _, rate, capacity, gamma = capped[len(capped) // 2]
    return float(rate), int(capacity), read_gamma(gamma, int(capacity), service_rate)


def solve_table_1_row(
    arrival_rate: float,
    capacity: int,
    gamma: float,
    service_rate: float = 1.0,
    *,
    step: float = STEP,
    tolerance: float = TOLERANCE,
    spare: int = 0,
) -> TableRow:
    """Return a row of Table 1, where the robots are capped at N_s and some that are spare."""
    static, robots = _solve_static(arrival_rate, capacity, gamma, service_rate)
    model = RobotControl(robots + spare, arrival_rate, service_rate, capacity, gamma)
    optimum, runs = model.solve(), every_reference(model, step=step, tolerance=tolerance)
    updates, cost = runs.at(REFERENCE)
    cells = {"C_s": static, "N_s": robots, "C_d": cost, "N_min": optimum.min_robots}
    cells |= {"Nbar": optimum.mean_robots, "N_iter": updates + 1}
    return TableRow(cells, model.robots, optimum.gain, optimum.max_robots, runs)


def solve_table_2_row(
    arrival_rate: float,
    capacity: int,
    gamma: float,
    service_rate: float = 1.0,
    *,
    cap: Callable[[int, int], int] | None = None,
) -> TableRow:
    """Return a row of Table 2, where the robots are not capped."""
    static, robots = _solve_static(arrival_rate, capacity, gamma, service_rate)
    model, optimum = without_cap(arrival_rate, service_rate, capacity, gamma)
    if cap is not None:
        number = cap(robots, model.robots)
        model = RobotControl(number, arrival_rate, service_rate, capacity, gamma)
        optimum = model.solve()
    cells = {"C_s": static, "N_s": robots, "C_d": optimum.gain, "N_min": optimum.min_robots}
    cells |= {"Nbar": optimum.mean_robots, "N_max": optimum.last_start}
    return TableRow(cells, model.robots, optimum.gain, optimum.max_robots)


def _solve_static(arrival_rate: float, capacity: int, gamma: float, mu: float) -> tuple[float, int]:
    robots = optimal_robots(arrival_rate, gamma, capacity, mu)
    return float(static_cost(robots * arrival_rate / mu, gamma, capacity, mu)), robots


@dataclass(frozen=True)
class Results:
    """The rows of both tables, under the choices of this module and under others."""

    rows: dict[Key, TableRow]  # as this module reads the draft
    # Rows whose weight is gamma(K) rounded, with the printed digits as the weight.
    literal: dict[Key, TableRow]
    # Rows of Table 2 with other caps: N_s, twice N_s, and twice as many as change nothing.
    capped: list[dict[Key, TableRow]]
    # Mu, tau and the bound of the stopping rule.
    service_rate: float
    step: float
    tolerance: float
    half_rate_robots: int  # N_s of the first row with mu = 0.5, the other rate that the draft names
    second_method: dict[Key, float]  # C_d of the misprinted cells by policy iteration on all states


def solve_tables(
    keys: Sequence[Key], service_rate: float = 1.0, step: float = STEP, tolerance: float = TOLERANCE
) -> Results:
    """Solve rows of both tables, under the choices of this module and under others."""

    def solved(key: Key, gamma: float | None = None, **options: Any) -> TableRow:
        table, rate, capacity, printed = key
        weight = read_gamma(printed, int(capacity), service_rate) if gamma is None else gamma
        arguments = float(rate), int(capacity), weight, service_rate
        if table == "t2":
            return solve_table_2_row(*arguments, **options)
        return solve_table_1_row(*arguments, step=step, tolerance=tolerance, **options)

    rounded = [
        key for key in keys if read_gamma(key[3], int(key[2]), service_rate) != float(key[3])
    ]
    caps: list[Callable[[int, int], int]] = [
        lambda best, _: best,
        lambda best, _: 2 * best,
        lambda _, enough: 2 * enough,
    ]
    _, rate, capacity, weight = keys[0]
    _, half_rate = _solve_static(float(rate), int(capacity), float(weight), service_rate / 2)
    return Results(
        rows={key: solved(key) for key in keys},
        literal={key: solved(key, float(key[3])) for key in rounded},
        capped=[{key: solved(key, cap=cap) for key in keys if key[0] == "t2"} for cap in caps],
        service_rate=service_rate,
        step=step,
        tolerance=tolerance,
        half_rate_robots=half_rate,
        second_method={key: solve_on_all_states(key, service_rate) for key in MISPRINTED},
    )


def solve_on_all_states(key: Key, service_rate: float = 1.0) -> float:
    """Return C_d of a row of Table 2 by policy iteration on all states."""
    rate, capacity, weight = float(key[1]), int(key[2]), float(key[3])
    enough = without_cap(rate, service_rate, capacity, weight)[0].robots
    transitions, costs = uniformised(RobotControl(enough, rate, service_rate, capacity, weight))
    return -policy_iteration(transitions, -costs).gain


#: Rows of Table 2 whose C_d is a misprint.
MISPRINTED: tuple[Key, Key] = (("t2", "0.05", "10", "1.2"), ("t2", "0.05", "10", "2.4"))


def sample_other_references(runs: ReferenceRuns) -> tuple[Any, Any]:
    """Return updates and costs of other reference states than ours, spread over all of them."""
    q, r, s = REFERENCE
    reachable = runs.updates >= 0
    reachable[s, q, r] = False
    places = np.unique(np.linspace(0, reachable.sum() - 1, SAMPLE).astype(np.int64))
    return runs.updates[reachable][places], runs.cost[reachable][places]


def is_printed(key: Key, column: str, value: float) -> bool:
    """Whether a value rounds to what the draft prints in a cell."""
    id = cell_id(key, column)
    unit = 10.0 ** -len(printed_rows()[id].printed.partition(".")[2])
    return abs(value - printed_number(id)) <= unit / 2 * (1 + 1e-9)


TABLES = {"t1": "at most $N_s$ robots (Table 1)", "t2": "no cap that binds (Table 2)"}


def stops_too_early(row: TableRow) -> bool:
    """Whether the cost where Proposition 4 stops differs from the optimum in the fifth decimal."""
    return round(row.cells["C_d"], 5) != round(row.optimal_cost, 5)


def find_common_references(results: Results) -> list[tuple[int, int, int]]:
    """Return the reference states (q, r, s) that give N_iter as printed in every row."""
    sets = []
    for key, row in results.rows.items():
        if key[0] == "t1" and row.runs is not None:
            hits = np.argwhere(row.runs.updates == printed_number(cell_id(key, "N_iter")) - 1)
            sets.append({(int(q), int(r), int(s)) for s, q, r in hits})
    return sorted(set.intersection(*sets))


def compute_savings(results: Results) -> pd.DataFrame:
    """Return the share of the static cost that control saves, for each row."""
    return pd.DataFrame(
        {
            "table": key[0],
            "lambda": float(key[1]),
            "K": int(key[2]),
            "gamma": float(key[3]),
            "saving": 1.0 - row.optimal_cost / row.cells["C_s"],
        }
        for key, row in results.rows.items()
    )


def saves_more_uncapped(results: Results) -> bool:
    """Whether control saves more without a cap in every row that both tables have."""
    return all(
        row.optimal_cost < results.rows["t1", *key[1:]].optimal_cost
        for key, row in results.rows.items()
        if key[0] == "t2"
    )


# Values and tables


def save_counts(claims: list[Claim]) -> None:
    """Count the cells of both tables by their verdict, for the prose."""
    cells = [claim for claim in claims if claim.id.startswith(("D-t1-0", "D-t2-0"))]
    verdicts = [judge(printed_rows()[claim.id], add_words(claim)).verdict for claim in cells]
    save_value("robots-tables-cells", len(cells))
    save_value("robots-tables-plain", verdicts.count("matches"))
    save_value("robots-tables-under", verdicts.count("matches under"))
    save_value("robots-tables-explained", verdicts.count("explained"))


def save_tables(results: Results, *, document: bool) -> None:
    """Save both tables in the draft's layout: computed, and as printed and less printed beside."""
    styles = {name: f".{digits}f" for name, digits in DECIMALS.items() if name != "Nbar"}
    for number, table in enumerate(TABLES, 1):
        computed = tabulate_computed(results, table, document=document)
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
                tabulate_printed(results, table),
                f"The draft's Table {number}, as it prints it.",
            )
            save_table(
                f"robots-tables-{number}-difference",
                tabulate_differences(results, table),
                f"The draft's Table {number}, computed less printed; 0 where the computed cell "
                "rounds to the printed one.",
            )


def save_cells(results: Results, *, document: bool) -> None:
    """Save every cell of both tables, one a row."""
    cells = [
        {"table": key[0][1:], "lambda": key[1], "K": key[2], "gamma": f"{float(key[3]):g}"}
        | {"cell": name, "computed": row.cells[name]}
        | ({"printed": printed_rows()[cell_id(key, name)].printed} if document else {})
        for key, row in results.rows.items()
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


def save_predicates(results: Results) -> None:
    """Save what the page's sentences depend on."""
    capped = {key: row for key, row in results.rows.items() if key[0] == "t1"}
    free = [row for key, row in results.rows.items() if key[0] == "t2"]
    saving = compute_savings(results)
    largest = saving.groupby("table")["saving"].max()
    save_value("robots-tables-rows", len(list_printed_rows()))
    save_value("robots-tables-saving-capped", largest["t1"])
    save_value("robots-tables-saving-free", largest["t2"])
    save_value("robots-tables-half", results.half_rate_robots)
    save_value("robots-tables-capped-rows", len(capped))
    save_value("robots-tables-unconverged", sum(map(stops_too_early, capped.values())))
    other = sum(row.max_robots != row.cells["N_max"] for row in free)
    save_value("robots-tables-other-most", other)
    save_value("robots-tables-own", not is_document_run())
    if is_document_run():
        save_value("robots-tables-references-for-all", len(find_common_references(results)))


#: Decimals of the columns that are no whole numbers, as the draft prints them.
DECIMALS = {"C_s": 5, "C_d": 5, "Nbar": 1}


def _rows_of_table(results: Results, table: str) -> list[tuple[Key, TableRow]]:
    return [(key, row) for key, row in results.rows.items() if key[0] == table]


def _tabulate_cells(results: Results, table: str, cells: Any) -> pd.DataFrame:
    """Return a table of the draft with cells from a function of row and column."""
    content = {
        key[1:]: {name: cells(key, row, name) for name in COLUMNS[table]}
        for key, row in _rows_of_table(results, table)
    }
    frame = pd.DataFrame.from_dict(content, orient="index").rename(columns={"Nbar": "mean"})
    frame.index = _index(list(content))
    return frame


def _index(rows: list[tuple[str, str, str]]) -> pd.MultiIndex:
    short = [(rate, capacity, f"{float(gamma):g}") for rate, capacity, gamma in rows]
    return pd.MultiIndex.from_tuples(short, names=["λ", "K", "γ"])


def tabulate_printed(results: Results, table: str) -> pd.DataFrame:
    """Return the table as the draft prints it."""
    return _tabulate_cells(
        results, table, lambda key, _, name: printed_rows()[cell_id(key, name)].printed
    )


def tabulate_computed(results: Results, table: str, *, document: bool) -> pd.DataFrame:
    """Return the table as computed, with the exact optimum of Table 1."""

    def cell(_: Key, row: TableRow, name: str) -> float:
        return row.cells[name] if name in DECIMALS else int(row.cells[name])

    frame = _tabulate_cells(results, table, cell)
    rows = _rows_of_table(results, table)
    if table == "t1":
        position = list(frame.columns).index("C_d") + 1
        frame.insert(position, "optimum", [row.optimal_cost for _, row in rows])
    remarks = [_describe_row(key, row, document=document) for key, row in rows]
    if not any(remarks):
        return frame
    return frame.assign(remark=[remark or NONE for remark in remarks])


def _describe_row(key: Key, row: TableRow, *, document: bool) -> str:
    if document and not is_printed(key, "C_d", row.cells["C_d"]):
        return "C_d misprinted"
    return "stops too early" if stops_too_early(row) else ""


def tabulate_differences(results: Results, table: str) -> pd.DataFrame:
    """Return the computed cells less the printed ones, 0 where it rounds to the print."""

    def gap(key: Key, row: TableRow, name: str) -> str:
        if is_printed(key, name, row.cells[name]):
            return "0"
        return f"{row.cells[name] - printed_number(cell_id(key, name)):+.5f}"

    return _tabulate_cells(results, table, gap)


def tabulate_references(results: Results, *, document: bool) -> pd.DataFrame:
    """Return, for each row of Table 1, how many reference states there are and where they stop.

    With the draft's parameters also how many give what is printed.
    """
    table, rows = [], []
    for key, row in _rows_of_table(results, "t1"):
        if row.runs is None:
            continue
        reachable = row.runs.updates >= 0
        updates, costs = row.runs.updates[reachable], row.runs.cost[reachable]
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


# Claims


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the cells of both tables, and on section 4."""
    cells = [_cell(results, key, name) for key in results.rows for name in COLUMNS[key[0]]]
    return [*cells, *_section_4(results)]


def _cell(results: Results, key: Key, column: str) -> Claim:
    alternatives = _list_other_values(results, key, column)
    if key in results.literal:
        alternatives.append(results.literal[key].cells[column])
    explained = _misprint(results, key, column)
    return claim(
        cell_id(key, column),
        results.rows[key].cells[column],
        alternatives=alternatives,
        explained=explained,
        independent=None if explained is None else results.second_method[key],
    )


def _list_other_values(results: Results, key: Key, column: str) -> list[float]:
    """Return a cell under other choices of what the draft does not print, if it rests on any."""
    row = results.rows[key]
    if key[0] == "t1" and row.runs is not None and column in ("C_d", "N_iter"):
        updates, costs = sample_other_references(row.runs)
        if column == "C_d":
            return [*costs, row.optimal_cost, results.step * row.cells["C_d"]]
        return [*(updates + 1), row.cells["N_iter"] - 1]
    if key[0] == "t2" and column not in ("C_s", "N_s"):
        others = [rows[key].cells[column] for rows in results.capped]
        return [*others, row.max_robots] if column == "N_max" else others
    return []


def _misprint(results: Results, key: Key, column: str) -> float | None:
    """Return the cell that is printed in place of a misprinted one; None for all others."""
    first, neighbour = MISPRINTED
    if column == "C_d" and key == first:
        return results.rows[neighbour].cells["C_d"]
    if column == "C_d" and key == neighbour:
        return results.rows["t1", *neighbour[1:]].cells["C_d"]
    return None


def _section_4(results: Results) -> list[Claim]:
    capped = {key: row for key, row in results.rows.items() if key[0] == "t1"}
    fitting = sum(
        all(is_printed(key, name, row.cells[name]) for name in ("N_min", "Nbar"))
        for key, row in capped.items()
    )
    cheaper = sum(row.optimal_cost < row.cells["C_s"] for row in results.rows.values())
    between = sum(
        row.cells["N_min"] < row.cells["Nbar"] < row.cells["N_s"] for row in capped.values()
    )
    rate_and_step = (results.service_rate, results.step)
    half, first = results.half_rate_robots, printed_number(cell_id(next(iter(results.rows)), "N_s"))
    fleets = sum(is_printed(key, "N_s", row.cells["N_s"]) for key, row in results.rows.items())
    rows = len(results.rows)
    halved = {"half_rate": half, "printed": first, "as_printed": fleets, "rows": rows}
    averages = {"as_printed": fitting, "rows": len(capped)}
    intuition = {"cheaper": cheaper, "rows": rows, "between": between, "capped": len(capped)}
    return [
        claim("D-mu05", half == first, numbers=halved),
        claim("D-t1-N", fitting == len(capped), numbers=averages),
        claim("D-t1-caption", rate_and_step),
        claim("D-t2-caption", rate_and_step),
        claim("D-tau", results.step),
        claim("D-tol", results.tolerance),
        claim("D-intuition", cheaper == rows and between == len(capped), numbers=intuition),
    ]


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
