"""The rows of the robot study's Tables 1 and 2, and the choices under which they come out.

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

from analysis.mdp import policy_iteration
from analysis.published import printed_number, printed_rows
from analysis.robots.controlled.control import RobotControl, without_cap
from analysis.robots.controlled.queue import uniformised
from analysis.robots.printed import STEP, TOLERANCE, ReferenceRuns, every_reference
from analysis.robots.static.mm1k import critical_gamma, optimal_robots, static_cost

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
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class TableRow:
    """One row of Table 1 or 2."""

    cells: dict[str, float]  # the computed cells by their column
    robots: int  # N of the controlled queue
    optimal_cost: float  # its exact optimum
    max_robots: int  # most active robots under the optimal policy
    # Where Proposition 4 stops, by reference state (Table 1 only).
    runs: ReferenceRuns | None = field(default=None, repr=False)


def row_keys() -> list[Key]:
    """Return table, rate, capacity and weight of each printed row, as printed."""
    stems = {id.rsplit("-", 1)[0] for id in printed_rows() if id.startswith(("D-t1-0", "D-t2-0"))}
    parts = (stem.split("-") for stem in stems)
    keys: list[Key] = [(table, rate, places, gamma) for _, table, rate, places, gamma in parts]
    return sorted(keys, key=lambda key: (key[0], *map(float, key[1:])))


def own_keys(
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
    keys = _keys(arrival_rates, K, gammas) if arrival_rates or K or gammas else row_keys()
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
    """Refuse parameters with a row that `own_keys` refuses."""
    own_keys(*(parameters[name] for name in ("arrival_rates", "K", "gammas", "service_rate")))


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


def middle_row(keys: Sequence[Key], service_rate: float = 1.0) -> tuple[float, int, float]:
    """Return rate, capacity and weight of the middle row of Table 1."""
    capped = [key for key in keys if key[0] == "t1"]
    _, rate, capacity, gamma = capped[len(capped) // 2]
    return float(rate), int(capacity), read_gamma(gamma, int(capacity), service_rate)


def cell_id(key: Key, column: str) -> str:
    """Return the id of a printed cell."""
    return f"D-{'-'.join(key)}-{column}"


def read_gamma(printed: str, capacity: int, service_rate: float = 1.0) -> float:
    """Return the weight that a printed one stands for: gamma(K) if it rounds to the print."""
    digits = len(printed.partition(".")[2])
    critical = critical_gamma(capacity, service_rate)
    return critical if f"{critical:.{digits}f}" == printed else float(printed)


def table_1_row(
    arrival_rate: float,
    capacity: int,
    gamma: float,
    service_rate: float = 1.0,
    *,
    step: float = STEP,
    tolerance: float = TOLERANCE,
    spare: int = 0,
) -> TableRow:
    """Return a row of Table 1, where the robots are capped at N_s.

    `spare`: robots above N_s.
    """
    static, robots = _static(arrival_rate, capacity, gamma, service_rate)
    model = RobotControl(robots + spare, arrival_rate, service_rate, capacity, gamma)
    optimum, runs = model.solve(), every_reference(model, step=step, tolerance=tolerance)
    updates, cost = runs.at(REFERENCE)
    cells = {"C_s": static, "N_s": robots, "C_d": cost, "N_min": optimum.min_robots}
    cells |= {"Nbar": optimum.mean_robots, "N_iter": updates + 1}
    return TableRow(cells, model.robots, optimum.gain, optimum.max_robots, runs)


def table_2_row(
    arrival_rate: float,
    capacity: int,
    gamma: float,
    service_rate: float = 1.0,
    *,
    cap: Callable[[int, int], int] | None = None,
) -> TableRow:
    """Return a row of Table 2, where the robots are not capped."""
    static, robots = _static(arrival_rate, capacity, gamma, service_rate)
    model, optimum = without_cap(arrival_rate, service_rate, capacity, gamma)
    if cap is not None:
        number = cap(robots, model.robots)
        model = RobotControl(number, arrival_rate, service_rate, capacity, gamma)
        optimum = model.solve()
    cells = {"C_s": static, "N_s": robots, "C_d": optimum.gain, "N_min": optimum.min_robots}
    cells |= {"Nbar": optimum.mean_robots, "N_max": optimum.last_start}
    return TableRow(cells, model.robots, optimum.gain, optimum.max_robots)


def _static(arrival_rate: float, capacity: int, gamma: float, mu: float) -> tuple[float, int]:
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
            return table_2_row(*arguments, **options)
        return table_1_row(*arguments, step=step, tolerance=tolerance, **options)

    rounded = [
        key for key in keys if read_gamma(key[3], int(key[2]), service_rate) != float(key[3])
    ]
    caps: list[Callable[[int, int], int]] = [
        lambda best, _: best,
        lambda best, _: 2 * best,
        lambda _, enough: 2 * enough,
    ]
    _, rate, capacity, weight = keys[0]
    _, half_rate = _static(float(rate), int(capacity), float(weight), service_rate / 2)
    return Results(
        rows={key: solved(key) for key in keys},
        literal={key: solved(key, float(key[3])) for key in rounded},
        capped=[{key: solved(key, cap=cap) for key in keys if key[0] == "t2"} for cap in caps],
        service_rate=service_rate,
        step=step,
        tolerance=tolerance,
        half_rate_robots=half_rate,
        second_method={key: solved_on_all_states(key, service_rate) for key in MISPRINTED},
    )


def solved_on_all_states(key: Key, service_rate: float = 1.0) -> float:
    """Return C_d of a row of Table 2 by policy iteration on all states."""
    rate, capacity, weight = float(key[1]), int(key[2]), float(key[3])
    enough = without_cap(rate, service_rate, capacity, weight)[0].robots
    transitions, costs = uniformised(RobotControl(enough, rate, service_rate, capacity, weight))
    return -policy_iteration(transitions, -costs).gain


#: Rows of Table 2 whose C_d is a misprint.
MISPRINTED: tuple[Key, Key] = (("t2", "0.05", "10", "1.2"), ("t2", "0.05", "10", "2.4"))


def others_of(runs: ReferenceRuns) -> tuple[Any, Any]:
    """Return updates and costs of other reference states than ours, spread over all of them."""
    q, r, s = REFERENCE
    inside = runs.updates >= 0
    inside[s, q, r] = False
    places = np.unique(np.linspace(0, inside.sum() - 1, SAMPLE).astype(np.int64))
    return runs.updates[inside][places], runs.cost[inside][places]


def is_printed(key: Key, column: str, value: float) -> bool:
    """Whether a value rounds to what the draft prints in a cell."""
    id = cell_id(key, column)
    unit = 10.0 ** -len(printed_rows()[id].printed.partition(".")[2])
    return abs(value - printed_number(id)) <= unit / 2 * (1 + 1e-9)


TABLES = {"t1": "at most $N_s$ robots (Table 1)", "t2": "no cap that binds (Table 2)"}


def stops_too_early(row: TableRow) -> bool:
    """Whether the cost where Proposition 4 stops differs from the optimum in the fifth decimal."""
    return round(row.cells["C_d"], 5) != round(row.optimal_cost, 5)


def references_for_all(found: Results) -> list[tuple[int, int, int]]:
    """Return the reference states (q, r, s) that give N_iter as printed in every row."""
    sets = []
    for key, row in found.rows.items():
        if key[0] == "t1" and row.runs is not None:
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


def saves_more_uncapped(found: Results) -> bool:
    """Whether control saves more without a cap in every row that both tables have."""
    return all(
        row.optimal_cost < found.rows["t1", *key[1:]].optimal_cost
        for key, row in found.rows.items()
        if key[0] == "t2"
    )
