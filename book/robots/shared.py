"""Shared by pages of this part: rows of the draft's tables, optimal curves, checks and colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pandas as pd

from analysis.results import NotConverged
from analysis.robots.curve import OptimalSequence, optimal_sequence
from analysis.robots.mm1k import critical_gamma
from scorecard import is_document_run
from scorecard.prints import printed_rows

Key = tuple[str, str, str, str]

#: Boxes of a fleet whose optimal policies are found in fractions within seconds.
MOST_EXACT = 120
#: Grounds that bear black letters on a light page and on a dark one.
ALWAYS, NEVER, LOW, HIGH = "#cfe6c8", "#f2cfb8", "#fff6d0", "#74b9dc"


def list_printed_rows() -> list[Key]:
    """Return table, rate, capacity and weight of each printed row, as printed."""
    stems = {id.rsplit("-", 1)[0] for id in printed_rows() if id.startswith(("D-t1-0", "D-t2-0"))}
    parts = (stem.split("-") for stem in stems)
    keys: list[Key] = [(table, rate, places, gamma) for _, table, rate, places, gamma in parts]
    return sorted(keys, key=lambda key: (key[0], *map(float, key[1:])))


def cell_id(key: Key, column: str) -> str:
    """Return the id of a printed cell."""
    return f"D-{'-'.join(key)}-{column}"


def read_gamma(printed: str, capacity: int, service_rate: float = 1.0) -> float:
    """Return the weight that is printed: gamma(K) if it rounds to the print."""
    digits = len(printed.partition(".")[2])
    critical = critical_gamma(capacity, service_rate)
    return critical if f"{critical:.{digits}f}" == printed else float(printed)


def solve_sequence(robots: int, arrival_rate: float, capacity: int) -> OptimalSequence:
    """Return the optimal policies for every weight; where rounding hides them, from fractions."""
    try:
        return optimal_sequence(robots, arrival_rate, 1.0, capacity)
    except NotConverged as error:
        if robots * (capacity + 1) > MOST_EXACT:
            raise NotConverged(
                f"arrival_rate = {arrival_rate:g} is too high for robots = {robots} and capacity = "
                f"{capacity}: robots so fast hardly ever leave the queue short, and rounding hides "
                f"the weights; take at most {MOST_EXACT} boxes, robots * (capacity + 1), or slower "
                "robots"
            ) from error
    exact = optimal_sequence(robots, Fraction(str(arrival_rate)), 1, capacity, exact=True)
    assert exact.costs is not None
    return replace(
        exact,
        breakpoints=tuple(map(float, exact.breakpoints)),
        costs=tuple((float(loss), float(starvation)) for loss, starvation in exact.costs),
    )


def require_checks(checks: Mapping[str, bool]) -> pd.DataFrame:
    """Return the checks as a table.

    Raises ValueError where one fails for the document's parameters.
    """
    failed = [name for name, holds in checks.items() if not holds]
    if failed and is_document_run():
        raise ValueError(f"checks must hold, got failures of {failed}")
    verdicts = ["holds" if ok else "FAILS" for ok in checks.values()]
    return pd.DataFrame({"checked": verdicts}, index=list(checks))
