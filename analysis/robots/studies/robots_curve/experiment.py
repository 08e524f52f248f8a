"""What the page on the switching curve computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.results import NotConverged
from analysis.robots.controlled.control import RobotControl, without_cap
from analysis.robots.curve import (
    OptimalSequence,
    ReducedQueue,
    lossless_until,
    optimal_range,
    optimal_sequence,
    saturated_from,
)
from analysis.robots.curve.statements import STATEMENTS, tally
from analysis.robots.curve.values import (
    CurveValues,
    curve_line,
    draw_optima,
    draw_other_curves,
    linear_rates,
    optimal_curve,
)
from analysis.robots.static.mm1k import optimal_robots
from analysis.robots.studies.robots_tables.experiment import read_gamma, row_keys

#: Three robots that share a line: lambda_r in the unit of mu. With K = 3 they need no curve.
SHARED = [Fraction(0), Fraction(3), Fraction(31, 10), Fraction(16, 5)]
#: Fleets for which the policies that a search would have to evaluate are counted: (N, K, lambda).
SEARCHED = [(4, 6, 0.3), (8, 10, 0.15), (16, 16, 0.1), (16, 5, 0.1), (40, 15, 0.03)]
#: Boxes of a fleet whose optimal policies are found in fractions within seconds.
MOST_EXACT = 120


# The theorem on exact values ----------------------------------------------------------------------


def statement_checks(number: int, others: int, seed: int) -> pd.DataFrame:
    """Return how often each statement of the proof held: at optima, and off them where it follows.

    `number`: random optima, each at a weight and at both ends of its range; `others`: values of
    curves that are not optimal.
    """
    right, wrong = tally(draw_optima(seed, number)), tally(draw_other_curves(seed, others))
    table = pd.DataFrame(
        {
            "at optima": [right[name].cases for name in STATEMENTS],
            "of them true": [right[name].given - right[name].failed for name in STATEMENTS],
            "hypotheses elsewhere": [wrong[name].given for name in STATEMENTS],
            "conclusions": [wrong[name].given - wrong[name].failed for name in STATEMENTS],
        },
        index=pd.Index(STATEMENTS, name="statement"),
    )
    return table


def statements_hold(table: pd.DataFrame) -> bool:
    """Whether no statement of such a table has failed, and each has been tried at optima."""
    true = table["at optima"] == table["of them true"]
    follows = table["hypotheses elsewhere"] == table["conclusions"]
    return bool(true.all() and follows.all() and (table["at optima"] > 0).all())


@dataclass(frozen=True)
class Shared:
    """The robots that share a line, K = 3."""

    # The costs theta between which no curve is optimal.
    low: float
    high: float
    # The statements that fail at the ties before, at which the optima are curves.
    failing: tuple[str, ...]
    # D(3, 1) and d(3, 0) at the tie that ends the curves.
    tied: float
    above: float


def shared_line() -> Shared:
    """Follow the optimal policies of robots that share a line, in rational numbers."""
    sequence = optimal_sequence(3, SHARED, 1, 3, exact=True)
    assert sequence.costs is not None
    curve, values = [2, 1, 0], []
    for gamma, (q, r) in zip(sequence.breakpoints, sequence.switched, strict=True):
        values.append(curve_line(SHARED, 3, tuple(curve)).at(gamma))
        if r and curve[r - 1] < q:
            break
        curve[r] = q
    last = len(values)
    gains = [
        float(loss + gamma * starved)
        for gamma, (loss, starved) in zip(sequence.breakpoints, sequence.costs[1:], strict=True)
    ]
    failing = tuple(name for name, count in tally(values).items() if count.failed)
    d = [_number(values[-1].d(3, r)) for r in (1, 0)]
    return Shared(gains[last - 1], gains[last], failing, *d)


def shared_lines(instances: int, robots: int, rng: np.random.Generator) -> int:
    """Count random concave rates (N robots, K >= N) with an optimum that is no switching curve."""
    strange = 0
    for _ in range(instances):
        steps = np.sort(np.exp(rng.uniform(-3, 1.5, size=robots)))[::-1]
        found = optimal_sequence(robots, [0.0, *np.cumsum(steps)])
        strange += not found.are_curves
    return strange


def steps_of_an_optimum(robots: int, arrival_rate: float, capacity: int, gamma: float) -> Any:
    """Return the exact optimum that the picture of the proof shows."""
    lam, weight = (Fraction(x).limit_denominator(10**6) for x in (arrival_rate, gamma))
    return optimal_curve(linear_rates(robots, lam), capacity, weight).at(weight)


def along_the_curve(values: CurveValues) -> pd.DataFrame:
    """Return f(r), A_r and the next step F_(r+1)(A_r) of each row."""
    rows = range(values.robots)
    return pd.DataFrame(
        {
            "r": rows,
            "f(r)": [values.f(r) for r in rows],
            "A": [_number(values.along(r)) for r in rows],
            "F": [_number(values.onwards(r + 1, values.along(r))) for r in rows],
        }
    )


def _number(exact: Any) -> float:
    return float(Fraction(int(exact.p), int(exact.q)))


# What follows -------------------------------------------------------------------------------------


def ends(robots: int, arrival_rate: float, capacities: Sequence[int]) -> pd.DataFrame:
    """Return the closed forms of the first and the last box beside what the search finds (mu = 1).

    The search follows all optimal policies, whatever their shape, in rational numbers.
    """
    lam = Fraction(arrival_rate).limit_denominator(10**6)
    rows = []
    for capacity in capacities:
        found = optimal_sequence(robots, lam, 1, capacity, exact=True)
        first, last = (closed(robots, lam, capacity) for closed in (lossless_until, saturated_from))
        edges = [(found.breakpoints[k], found.switched[k]) for k in (0, -1)]
        rows.append(
            {
                "K": capacity,
                "first box": str(first.box),
                "from γ": float(first.gamma),
                "last box": str(last.box),
                "from γ on": float(last.gamma),
                "as the search": edges == [(first.gamma, first.box), (last.gamma, last.box)],
            }
        )
    return pd.DataFrame(rows).set_index("K")


def policies_evaluated(weights: int) -> pd.DataFrame:
    """Return how many policies each way to an optimum evaluates, over weights from 0.01 to 100.

    Policy iteration tries a few; a search along the growing curves evaluates those from the first
    one on; a search among curves with falls of 0 or 1 has them all before it.
    """
    rows = []
    for robots, capacity, lam in SEARCHED:
        tried, steps = [], []
        for gamma in np.geomspace(0.01, 100, weights):
            solution = RobotControl(robots, lam, 1.0, capacity, float(gamma)).solve()
            tried.append(solution.iterations)
            lowest = np.maximum(capacity - 1 - np.arange(robots), -1)
            steps.append(1 + int((solution.curve - lowest).sum()))
        rows.append(
            {
                "N": robots,
                "K": capacity,
                "policy iteration": f"{min(tried)} to {max(tried)}",
                "box by box": f"{min(steps)} to {max(steps)}",
                "curves": f"{_gentle(robots, capacity):.3g}",
                "ratio": float(np.mean(steps) / np.mean(tried)),
            }
        )
    return pd.DataFrame(rows).set_index(["N", "K"])


def _gentle(robots: int, capacity: int) -> int:
    """Count the curves with falls of 0 or 1 that are off at (K, N - 1)."""
    ways = {capacity: 1, capacity - 1: 1}
    for _ in range(robots - 1):
        after: dict[int, int] = {}
        for height, number in ways.items():
            for lower in {height, max(height - 1, -1)}:
                after[lower] = after.get(lower, 0) + number
        ways = after
    return sum(ways.values()) - ways.get(capacity, 0)


# All weights at once ------------------------------------------------------------------------------


def sequence_of(robots: int, arrival_rate: float, capacity: int) -> OptimalSequence:
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


def index_rises(index: Floats) -> bool:
    """Whether the index rises with r, and no slower from (q, r + 1) to (q + 1, r)."""
    along = (index[:, :-1] <= index[:, 1:]).all()
    return bool(along and (index[:-1, 1:] <= index[1:, :-1]).all())


def table_weights() -> pd.DataFrame:
    """Return for each row of Tables 1 and 2 the breakpoints next to its weight (mu = 1)."""
    rows = []
    for table, rate_text, places, printed in row_keys():
        capacity, lam = int(places), float(rate_text)
        gamma = read_gamma(printed, capacity, 1.0)
        if table == "t1":
            model = RobotControl(
                optimal_robots(lam, gamma, capacity, 1.0), lam, 1.0, capacity, gamma
            )
            solution = model.solve()
        else:
            model, solution = without_cap(lam, 1.0, capacity, gamma)
        queue = ReducedQueue(model.robots, capacity)
        low, high = optimal_range(queue, solution.policy, 1.0, model.arrival_rates)
        rows.append(
            {
                "table": table[1:],
                "λ": rate_text,
                "K": capacity,
                "N": model.robots,
                "γ": gamma,
                "from": low,
                "to": high,
                "largest fall": int(-np.diff(solution.curve).min()),
            }
        )
    return pd.DataFrame(rows)
