"""All optimal policies of a controlled queue, for every weight of starvation at once.

Along the parameter t (gamma for one capacity, theta in the triangle problem) a policy stays optimal
until the gap d = l - t w of one of its boxes changes sign; there that box is switched, and on it
goes, as in the parametric simplex method.  No shape of the policies is assumed: a box may be
started, stopped and started again, and whether the policies are switching curves is seen from the
result.  At t = 0+ the lossless policy is optimal, which starts no box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_integer
from analysis.results import NotConverged
from analysis.robots.checks import positive
from analysis.robots.curve.reduced import (
    Box,
    Evaluation,
    ReducedQueue,
    check_rates,
    evaluate,
    evaluate_exactly,
    solve_floats,
    solve_fractions,
)
from analysis.robots.curve.split import reunite

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: A slope is taken for known to six digits if it exceeds the size of rounding so many times.
CLEAR = 300.0


@dataclass(frozen=True)
class OptimalSequence:
    """The optimal policies of a controlled queue, in the order in which they become optimal.

    Attributes
    ----------
    queue : ReducedQueue
        The problem.
    breakpoints : tuple
        The parameters t_1 <= t_2 <= ... at which the policy changes: gamma, or theta in the
        triangle problem; floats, or exact fractions on request.
    switched : tuple of (int, int)
        The box (q, r) that is switched at each breakpoint.
    costs : tuple of pairs, or None
        (L, S) of each policy, one more than breakpoints: theta = L + gamma S.  None in the
        triangle problem.
    """

    queue: ReducedQueue
    breakpoints: tuple[Any, ...]
    switched: tuple[Box, ...] = field(repr=False)
    costs: tuple[tuple[Any, Any], ...] | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.breakpoints) + 1

    def position(self, parameter: Any) -> int:
        """Return which of the policies, counted from 0, is optimal at a parameter."""
        return sum(bool(point < parameter) for point in self.breakpoints)

    def policy(self, number: int) -> Bools:
        """Return the table of a policy, shape (K + 1, N + 1), by its place in the sequence."""
        check_integer("number", number, 0, len(self) - 1)
        table = self.queue.curve_policy(self.queue.lossless_curve())
        for box in self.switched[:number]:
            table[box] = not table[box]
        return table

    def gain(self, gamma: float) -> float:
        """Return the least cost per unit of time at a weight of starvation."""
        if self.costs is None:
            raise ValueError("gain needs a queue of one capacity, got the triangle problem")
        loss, starvation = self.costs[self.position(positive("gamma", gamma))]
        return float(loss) + gamma * float(starvation)

    @property
    def grows(self) -> bool:
        """Whether boxes are only ever added, each once."""
        return len(set(self.switched)) == len(self.switched)

    @property
    def are_curves(self) -> bool:
        """Whether every policy is a switching curve."""
        tables = (self.policy(number)[:, :-1] for number in range(len(self)))
        return all(bool((t[1:] <= t[:-1]).all() and (t[:, 1:] <= t[:, :-1]).all()) for t in tables)

    def index(self) -> Floats:
        """Return the parameter from which a robot is started in each state, shape (K + 1, N).

        0 where it always is, infinite where it never is.

        Raises
        ------
        ValueError
            If a box is stopped again, so that it has no index.
        """
        if not self.grows:
            raise ValueError("a box is stopped again as the parameter rises: it has no index")
        table = np.where(self.policy(0)[:, :-1], 0.0, math.inf)
        for box, point in zip(self.switched, self.breakpoints, strict=True):
            table[box] = float(point)
        return table


def optimal_sequence(
    robots: int,
    rates: Any,
    service_rate: Any = 1.0,
    capacity: int | None = None,
    *,
    exact: bool = False,
    max_policies: int = 100_000,
) -> OptimalSequence:
    """Return all optimal policies of a controlled queue, for every weight of starvation.

    Parameters
    ----------
    robots : int
        Available robots N.
    rates : number, or sequence of N + 1 numbers
        Pages per unit of time of one robot, each working for itself; or the total rate with
        0..N active robots, rising from 0.
    service_rate : number
        Pages indexed per unit of time, mu.
    capacity : int, optional
        Places in the queue K.  Without it, the triangle problem of all K >= N, whose parameter is
        the cost per unit of time theta.
    exact : bool
        Compute in rational numbers; rates are then integers or `fractions.Fraction`, and
        python-flint has to be installed.
    max_policies : int
        Limit on the number of policies.

    Raises
    ------
    ValueError
        If an argument is out of range.
    NotConverged
        If the limit is reached, or rounding hides where a box is switched: with fast robots, whose
        queue is hardly ever short, relative values are large. Exact numbers are then needed.
    """
    queue = ReducedQueue(robots, capacity)
    one_rate = np.ndim(rates) == 0
    law: Any = queue.linear_rates(rates) if one_rate else rates
    if one_rate:
        positive("rates", rates)
    floats = check_rates(queue, [float(rate) for rate in law])
    mu = positive("service_rate", service_rate)
    solve = evaluate_exactly if exact else evaluate
    system: Any = solve_fractions if exact else solve_floats
    numbers: tuple[Any, Sequence[Any]] = (service_rate, list(law)) if exact else (mu, floats)

    table = queue.curve_policy(queue.lossless_curve())
    costs: list[Any] = []
    breakpoints: list[Any] = []
    switched: list[Box] = []
    now: Any = 0
    for _ in range(max_policies):
        found = solve(queue, table, *numbers)
        costs.append(found.cost)
        following, box = next_switch(queue, table, found)
        if box is None:
            lines = None if queue.is_triangle else tuple(costs)
            return OptimalSequence(queue, tuple(breakpoints), tuple(switched), lines)
        now = max(now, following)
        loss, starvation = found.cost or (now, 0)
        gain = loss + now * starvation
        for each in chain([box], reunite(queue, table, box, now, gain, numbers, system)):
            breakpoints.append(now)
            switched.append(each)
            table[each] = not table[each]
        costs += [found.cost] * (len(breakpoints) - len(costs))
    raise NotConverged(f"more than {max_policies} optimal policies")


def next_switch(queue: ReducedQueue, table: Bools, found: Evaluation) -> tuple[Any, Box | None]:
    """Return where the first gap of a policy changes sign as t rises, and its box (None: never)."""
    least: Any = None
    box, slope = None, 0
    for x, loss, time in zip(queue.boxes, found.losses, found.times, strict=True):
        leaves = time < -found.scale if table[x] else time > found.scale
        if leaves and (box is None or loss / time < least):
            least, box, slope = loss / time, x, time
    if box is not None and abs(slope) < CLEAR * found.scale:
        raise NotConverged(
            f"rounding hides where box {box} is switched, since the queue is hardly ever short: "
            "compute with exact=True"
        )
    return least, box


def optimal_range(
    queue: ReducedQueue, table: Bools, service_rate: float, rates: ArrayLike
) -> tuple[float, float]:
    """Return the parameters between which a policy is optimal (low above high: for none).

    Parameters
    ----------
    queue : ReducedQueue
        The problem.
    table : ndarray of bool, shape (K + 1, N + 1)
        Where a robot is started.
    service_rate, rates
        mu, and the total rates with 0..N active robots.
    """
    mu = positive("service_rate", service_rate)
    found = evaluate(queue, table, mu, check_rates(queue, rates))
    low, high = 0.0, math.inf
    for x, loss, time in zip(queue.boxes, found.losses, found.times, strict=True):
        sign = -1.0 if table[x] else 1.0
        if abs(time) > found.scale:
            if sign * time > 0:
                high = min(high, loss / time)
            else:
                low = max(low, loss / time)
        elif sign * loss < -found.scale:
            return math.inf, 0.0
    return low, high
