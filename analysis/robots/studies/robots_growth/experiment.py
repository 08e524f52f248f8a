"""What the page on the growth of the switching curve computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from analysis.robots.curve import ReducedQueue, check
from analysis.robots.curve.growth import check_curve, convex_rates, prove_growth
from analysis.robots.curve.reduced import evaluate_exactly, generate_curves
from analysis.robots.studies.robots_curve.experiment import sequence_of


@dataclass(frozen=True)
class Orders:
    """In which order boxes are added to the optimal curve, at some rates."""

    # Columns rate, q, r, order and index (the weight at which the box is added); order 0 and
    # index 0 for boxes of every optimal curve.
    table: pd.DataFrame
    rates: list[float]  # lambda, in the unit of mu
    only_added: bool  # whether at each rate all optima are curves and none gives up a box

    @property
    def different(self) -> int:
        """How many different orders the rates have."""
        return len({tuple(found["order"]) for _, found in self.table.groupby("rate")})


def orders(robots: int, capacity: int, rates: Sequence[float]) -> Orders:
    """Return the order in which boxes are added as the weight rises, for each rate (mu = 1).

    `rates`: lambda, each once.
    """
    rows, only_added = [], True
    for rate in rates:
        found = sequence_of(robots, rate, capacity)
        only_added &= found.grows and found.are_curves
        places = {box: place for place, box in enumerate(found.switched, start=1)}
        index = found.index()
        rows += [
            (rate, q, r, places.get((q, r), 0 if index[q, r] == 0 else np.nan), index[q, r])
            for q in range(capacity + 1)
            for r in range(robots)
        ]
    table = pd.DataFrame(rows, columns=["rate", "q", "r", "order", "index"])
    return Orders(table, list(rates), bool(only_added))


@dataclass(frozen=True)
class Convex:
    """The conditions for convex rates: how many polynomials, and whether all hold."""

    polynomials: int
    holds: bool


def live_checks(largest: int) -> pd.DataFrame:
    """Check the growth criterion for every curve of small fleets, one row a problem."""
    rows = []
    for number in range(2, largest + 1):
        for queue in check.list_problems(number):
            found = [check_curve(queue, curve) for curve in generate_curves(queue)]
            rows.append(
                {
                    "N": number,
                    "K": f"{queue.capacity or f'{number} or more'}",
                    "curves": len(found),
                    "polynomials": sum(one.polynomials for one in found),
                    "with a negative coefficient": sum(len(one.negative) for one in found),
                    "all conditions": all(one.holds for one in found),
                }
            )
    return pd.DataFrame(rows).set_index(["N", "K"])


def growth_proofs(largest: int) -> pd.DataFrame:
    """Return what the search meets on the way for all K >= N, one row a fleet."""
    fleets = range(2, largest + 1)
    proofs = [prove_growth(ReducedQueue(number)) for number in fleets]
    return pd.DataFrame(
        {
            "falling by 0 or 1": [2**number - 1 for number in fleets],
            "met on the way": [proof.curves for proof in proofs],
            "signs of polynomials": [proof.polynomials for proof in proofs],
            "intervals of λ": [len(proof.intervals) for proof in proofs],
        },
        index=pd.Index(fleets, name="N"),
    )


def summary_of_checks() -> pd.DataFrame:
    """Return curves and polynomials for each number of robots, over all capacities."""
    found = check.read_checked_fleets()
    by = found.groupby(["looked at", "robots"])
    table = by.agg(
        problems=("capacity", "size"), curves=("curves", "sum"),
        polynomials=("polynomials", "sum"), holds=("holds", "all"),
    )  # fmt: skip
    return table.drop(columns="holds").loc[table["holds"]]


def certificate() -> pd.DataFrame:
    """Return the hash of the code that wrote the two files, beside that of the code as it is."""
    files = (check.PROOFS, check.INSTANCES)
    written = {path.name: pd.read_csv(path)["code"].unique() for path in files}
    return pd.DataFrame(
        {
            "computed by code": {name: ", ".join(codes) for name, codes in written.items()},
            "the code is now": check.code_hash(),
        }
    ).rename_axis("file")


def shortened_passage() -> float:
    """Return how much shorter one robot more makes a passage of nine.

    The curve K-1 on rows 0..7, K-2 on row 8 with lambda = mu, at the box (K-2, 8).
    """
    nine, flat = ReducedQueue(9), (8,) * 8 + (7,)
    policy, rates = nine.curve_policy(flat), nine.linear_rates(Fraction(1))
    times = evaluate_exactly(nine, policy, 1, rates).times
    return -float(times[nine.boxes.index((7, 8))])


def convex_checks() -> Convex:
    """Check the polynomials for convex rates of two and three robots."""
    found = [
        check_curve(ReducedQueue(n), curve, rates=convex_rates(n, 12))
        for n in (2, 3)
        for curve in generate_curves(ReducedQueue(n))
    ]
    return Convex(sum(one.polynomials for one in found), all(one.holds for one in found))
