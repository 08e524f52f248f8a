"""The long exact checks of the growth criterion: ``python -m analysis.robots.curve.check``.

Writes ``checked.csv`` and ``checked_instances.csv`` beside this file, which the page on the
switching curve quotes: what was computed, and a hash of the code that computed it.  A test fails if
the code has changed since.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from analysis.fingerprint import fingerprint
from analysis.robots.curve.growth import check_curve, prove_growth
from analysis.robots.curve.parametric import optimal_sequence
from analysis.robots.curve.reduced import ReducedQueue, generate_curves

FOLDER = Path(__file__).parent
PROOFS = FOLDER / "checked.csv"
INSTANCES = FOLDER / "checked_instances.csv"

#: Largest fleet at which every curve is looked at, and at which only those on the way are.
EVERY_CURVE, ON_THE_WAY = 7, 9
#: Fleets and rates (lambda, mu = 1) whose optimal policies are all computed in fractions.
RATES = {
    12: [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)],
    16: [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2)],
}


@cache
def code_hash() -> str:
    """Return the hash of all code that computes what is written."""
    return fingerprint(["analysis.robots.curve.check"], ignore_docstrings=True)[:12]


def list_problems(robots: int) -> Iterator[ReducedQueue]:
    """Yield the problems of a fleet: K = 2, ..., N - 1, and all K >= N at once."""
    yield from (ReducedQueue(robots, capacity) for capacity in range(2, robots))
    yield ReducedQueue(robots)


def check_every_curve(queue: ReducedQueue) -> dict[str, Any]:
    """Check the criterion at every curve of a problem; return the row of the result."""
    checks = [check_curve(queue, curve) for curve in generate_curves(queue)]
    return _row(
        queue,
        "every curve",
        holds=all(check.holds for check in checks),
        curves=len(checks),
        polynomials=sum(check.polynomials for check in checks),
        intervals=1,
    )


def check_on_the_way(queue: ReducedQueue) -> dict[str, Any]:
    """Prove the growth of a problem's optimal curves; return the row of the result."""
    proof = prove_growth(queue)
    return _row(
        queue,
        "on the way",
        holds=True,
        curves=proof.curves,
        polynomials=proof.polynomials,
        intervals=len(proof.intervals),
    )


def _row(queue: ReducedQueue, looked_at: str, **facts: Any) -> dict[str, Any]:
    capacity = f">= {queue.robots}" if queue.is_triangle else str(queue.capacity)
    return {"robots": queue.robots, "capacity": capacity, "looked at": looked_at, **facts}


def compute_instance(robots: int, arrival_rate: Fraction) -> dict[str, Any]:
    """Compute all optimal policies of one rate, for all K >= N and all gamma, in fractions."""
    sequence = optimal_sequence(robots, arrival_rate, 1, exact=True)
    return {
        "robots": robots,
        "arrival rate": str(arrival_rate),
        "optimal policies": len(sequence),
        "all are curves": sequence.are_curves,
        "boxes are only added": sequence.grows,
    }


def read_checked_fleets() -> pd.DataFrame:
    """Return what the long exact checks found: one row for each problem and way of looking."""
    return pd.read_csv(PROOFS, dtype={"capacity": str})


def largest_checked_fleet() -> int:
    """Return N such that the growth of the curve is checked for 2..N robots and every capacity."""
    fleets = read_checked_fleets()
    fleets = fleets[(fleets["looked at"] == "on the way") & fleets["holds"]]
    robots = 1
    while {*map(str, range(2, robots + 1)), f">= {robots + 1}"} == set(
        fleets.loc[fleets["robots"] == robots + 1, "capacity"]
    ):
        robots += 1
    return robots


def main() -> None:
    """Run all checks and write the two files."""
    code = code_hash()  # of what runs: files may change while it does
    rows = []
    for robots in range(2, ON_THE_WAY + 1):
        for queue in tqdm(list(list_problems(robots)), desc=f"{robots} robots", unit="problem"):
            if robots <= EVERY_CURVE:
                rows.append(check_every_curve(queue))
            rows.append(check_on_the_way(queue))
    pd.DataFrame(rows).assign(code=code).to_csv(PROOFS, index=False)
    pairs = [(robots, rate) for robots, rates in RATES.items() for rate in rates]
    instances = [compute_instance(*pair) for pair in tqdm(pairs, desc="instances")]
    pd.DataFrame(instances).assign(code=code).to_csv(INSTANCES, index=False)


if __name__ == "__main__":
    main()
