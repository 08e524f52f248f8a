r"""All optimal policies of a controlled queue, for every weight of starvation at once.

Along the parameter t (gamma for one capacity, theta in the triangle problem) a policy stays optimal
until the gap d = l - t w of one of its boxes changes sign; there that box is switched, and on it
goes, as in the parametric simplex method.  No shape of the policies is assumed: a box may be
started, stopped and started again, and whether the policies are switching curves is seen from the
result.  At t = 0+ the lossless policy is optimal, which starts no box.

With fewer places than robots, and rates that robots do not bring each for itself, a switch can
close a second class of states, of the same cost theta at the parameter t where it happens.  Beyond
t one of the two is cheaper, and the other has to be left.  What is open at t is by how much the
values of the two classes differ: the switched box asks for a difference delta on one side of where
its own gap vanishes, and as delta moves there, boxes are switched whose gaps vanish, one after the
other, until one class is closed (`reunite_classes`).  All gaps are affine in delta, and their
slopes are differences of the probability to end in one of the classes.

Both ends of the sequence are known in closed form.  As gamma rises from 0, the *lossless* curve
f_0(r) = max(K - 1 - r, -1) is optimal until the box (K - m, m) is tied, m = min(K, N - 1)
(`lossless_until`); and the *saturated* curve f*, K on all rows but the last and K - 1 there, is
optimal from where (K, N - 2) is tied (`saturated_from`).  With mu = 1 the first is the zero in
theta of delta_m, where

    A_0 = -theta, p_0 = 1, delta_0 = lambda / (1 + lambda),   A_r = -theta + lambda r A_(r-1),
    p_r = (A_r + lambda r p_(r-1)) / (1 + lambda r),
    delta_r = lambda (r delta_(r-1) + p_r) / (1 + lambda (r+1)),

with (K delta_(K-1) + p_K) / (K + 1) for delta_K, the box at an empty queue; and there theta = gamma
S_0.  The second is theta = mu + 2 lambda (N - 1), less mu for K = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import check_integer, check_positive
from analysis.results import NotConverged
from analysis.robots.curve.reduced import (
    Box,
    Entry,
    Evaluation,
    Pair,
    ReducedQueue,
    check_rates,
    evaluate,
    evaluate_exactly,
    solve_floats,
    solve_fractions,
)

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
        number = check_integer("number", number, 0, len(self) - 1)
        table = self.queue.curve_policy(self.queue.lossless_curve())
        for box in self.switched[:number]:
            table[box] = not table[box]
        return table

    def gain(self, gamma: float) -> float:
        """Return the least cost per unit of time at a weight of starvation."""
        if self.costs is None:
            raise ValueError("gain needs a queue of one capacity, got the triangle problem")
        loss, starvation = self.costs[self.position(check_positive("gamma", gamma))]
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
        check_positive("rates", rates)
    floats = check_rates(queue, [float(rate) for rate in law])
    mu = check_positive("service_rate", service_rate)
    solve = evaluate_exactly if exact else evaluate
    system: Any = solve_fractions if exact else solve_floats
    numbers: tuple[Any, Sequence[Any]] = (service_rate, list(law)) if exact else (mu, floats)

    table = queue.curve_policy(queue.lossless_curve())
    costs: list[Any] = []
    breakpoints: list[Any] = []
    switched: list[Box] = []
    parameter: Any = 0
    for _ in range(max_policies):
        evaluation = solve(queue, table, *numbers)
        costs.append(evaluation.cost)
        following, box = next_switch(queue, table, evaluation)
        if box is None:
            lines = None if queue.is_triangle else tuple(costs)
            return OptimalSequence(queue, tuple(breakpoints), tuple(switched), lines)
        parameter = max(parameter, following)
        loss, starvation = evaluation.cost or (parameter, 0)
        gain = loss + parameter * starvation
        for switched_box in chain(
            [box], reunite_classes(queue, table, box, parameter, gain, numbers, system)
        ):
            breakpoints.append(parameter)
            switched.append(switched_box)
            table[switched_box] = not table[switched_box]
        costs += [evaluation.cost] * (len(breakpoints) - len(costs))
    raise NotConverged(f"more than {max_policies} optimal policies")


def next_switch(
    queue: ReducedQueue, table: Bools, evaluation: Evaluation
) -> tuple[Any, Box | None]:
    """Return where the first gap of a policy changes sign as t rises, and its box (None: never)."""
    least: Any = None
    box, slope = None, 0
    for x, loss, time in zip(queue.boxes, evaluation.losses, evaluation.times, strict=True):
        leaves = time < -evaluation.scale if table[x] else time > evaluation.scale
        if leaves and (box is None or loss / time < least):
            least, box, slope = loss / time, x, time
    if box is not None and abs(slope) < CLEAR * evaluation.scale:
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
    mu = check_positive("service_rate", service_rate)
    evaluation = evaluate(queue, table, mu, check_rates(queue, rates))
    low, high = 0.0, math.inf
    for x, loss, time in zip(queue.boxes, evaluation.losses, evaluation.times, strict=True):
        sign = -1.0 if table[x] else 1.0
        if abs(time) > evaluation.scale:
            if sign * time > 0:
                high = min(high, loss / time)
            else:
                low = max(low, loss / time)
        elif sign * loss < -evaluation.scale:
            return math.inf, 0.0
    return low, high


#: Slopes in delta that are rounding, in double precision.
ROUNDING = 1e-11


def reunite_classes(
    queue: ReducedQueue,
    table: Bools,
    box: Box,
    parameter: Any,
    gain: Any,
    rates: tuple[Any, Sequence[Any]],
    solve: Callable[[Sequence[Entry], Sequence[Pair]], Sequence[Sequence[Any]]],
) -> Iterator[Box]:
    """Yield the boxes that are to be switched at one parameter until one class is closed.

    `box` was switched at the parameter t, where the cost is theta, the gain; `table`, shape (K + 1,
    N + 1), says where a robot is started since then, and the caller switches in it what is yielded.
    `rates` are mu and the total arrival rates with 0..N active robots, `solve` is `solve_floats` or
    `solve_fractions` of `reduced`.  Raises NotConverged if there are more than two closed classes,
    no box is left to switch, or switches do not end.
    """
    for _ in queue.boxes:
        label = queue.closed_classes(table)
        if label.max() < 1:
            return
        if label.max() > 1:
            raise NotConverged("several classes of states close at the same parameter")
        gaps, slopes = _gaps(queue, table, label, parameter, gain, rates, solve)
        position_of = {candidate: number for number, candidate in enumerate(queue.boxes)}
        switched = position_of[box]
        gap_sign = -1 if table[box] else 1  # sign of the gap of the box that was switched
        direction = gap_sign if slopes[switched] > 0 else -gap_sign
        start = -gaps[switched] / slopes[switched]
        rounding = ROUNDING if isinstance(start, float) else 0
        following: dict[Box, Any] = {}
        for candidate, number in position_of.items():
            slope = direction * slopes[number]
            if candidate != box and (slope > rounding if table[candidate] else slope < -rounding):
                following[candidate] = -(gaps[number] + start * slopes[number]) / slope
        if not following:
            raise NotConverged("no box leads out of a class that is left")
        box = min(following, key=lambda candidate: following[candidate])
        yield box
    raise NotConverged("more switches at one parameter than there are boxes")


def _gaps(
    queue: ReducedQueue,
    table: Bools,
    class_of: Ints,
    parameter: Any,
    gain: Any,
    rates: tuple[Any, Sequence[Any]],
    solve: Callable[[Sequence[Entry], Sequence[Pair]], Sequence[Sequence[Any]]],
) -> tuple[list[Any], list[Any]]:
    """Return each box's gap where both classes are worth the same, and its slope in delta.

    Of each class one equation says nothing new, its cost being known; of the two, one gives way to
    the difference delta, the other to the value of the reference, which is 0.
    """
    entries, costs = queue.coefficients(table, *rates)
    reference = len(queue.states) - 1
    first, second = (int(np.flatnonzero(class_of == number)[0]) for number in (0, 1))
    equations = [x for x in entries if x[0] not in (first, second) and x[1] != reference]
    equations += [
        (first, column, sign) for column, sign in ((first, 1), (second, -1)) if column != reference
    ]
    equations.append((second, reference, 1))
    right = [(loss + parameter * time - gain, 0) for loss, time in costs]
    right[first], right[second] = (0, 1), (0, 0)
    solution = [*solve(equations, right)[:reference], (0, 0)]
    return queue.gaps([x[0] for x in solution]), queue.gaps([x[1] for x in solution])


class Threshold(NamedTuple):
    """Where one box is tied.

    Attributes
    ----------
    box : (int, int)
        q pages are left, r robots are active.
    gain, gamma : number
        The least cost per unit of time theta, and the weight of starvation, there.
    """

    box: Box
    gain: Any
    gamma: Any


def lossless_until(
    robots: int, arrival_rate: Any, capacity: int, service_rate: Any = 1
) -> Threshold:
    """Return up to where the curve K - 1 - r solves the optimality equation.

    For K >= N it is optimal up to there and not beyond; for K < N, where no recurrent state asks
    for the box, it has the least cost for a while longer.

    Parameters
    ----------
    robots : int
        Available robots N, at least 2.
    arrival_rate, service_rate : number
        lambda and mu; fractions give exact thresholds.
    capacity : int
        Places in the queue K, at least 1.

    Raises
    ------
    ValueError
        If an argument is out of range, or the weight beyond double precision.

    Examples
    --------
    >>> from fractions import Fraction
    >>> lossless_until(2, Fraction(1, 2), 2).gain
    Fraction(2, 3)
    """
    rate = _load(robots, arrival_rate, capacity, service_rate)
    last = min(capacity, robots - 1)
    zero = 0 * rate
    # Each as (constant, -slope in theta): no sum has terms of two signs.
    step, page, gap = zero + 1, (zero + 1, zero), (rate / (1 + rate), zero)
    for r in range(1, last + 1):
        total = rate * r
        step = 1 + total * step
        page = total * page[0] / (1 + total), (step + total * page[1]) / (1 + total)
        weight = rate * (r + 1) + (0 if r == capacity else 1)
        gap = (rate * (r * gap[0] + page[0]) / weight, rate * (r * gap[1] + page[1]) / weight)
    gain = gap[0] / gap[1]
    births = product = zero + 1
    for q in range(capacity):
        product = product * rate * min(robots, capacity - q)
        births = births + product
    return _threshold((capacity - last, last), gain, gain * births, service_rate)


def saturated_from(
    robots: int, arrival_rate: Any, capacity: int, service_rate: Any = 1
) -> Threshold:
    """Return from where on the curve K, ..., K, K - 1 is optimal.

    Parameters
    ----------
    robots, arrival_rate, capacity, service_rate
        As in `lossless_until`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the weight beyond double precision.

    Examples
    --------
    >>> saturated_from(3, 1.0, 4).gain
    5.0
    """
    rate = _load(robots, arrival_rate, capacity, service_rate)
    load, extra = rate * robots, rate * (robots - 1)
    gain = (1 if capacity > 1 else 0) + 2 * extra
    total, power = 0 * rate + 1, 0 * rate + 1
    for _ in range(capacity):
        power = power * load
        total = total + power
    return _threshold((capacity, robots - 2), gain, gain * total - extra * power, service_rate)


def _load(robots: int, arrival_rate: Any, capacity: int, service_rate: Any) -> Any:
    """Return lambda / mu of checked arguments."""
    robots = check_integer("robots", robots, 2)
    capacity = check_integer("capacity", capacity, 1)
    check_positive("arrival_rate", arrival_rate), check_positive("service_rate", service_rate)
    return arrival_rate / service_rate


def _threshold(box: Box, gain: Any, gamma: Any, service_rate: Any) -> Threshold:
    """Return a threshold in the unit of time of the rates."""
    if not math.isfinite(gamma):
        raise ValueError(f"the weight at which {box} is tied must be finite, got {gamma}")
    return Threshold(box, gain * service_rate, gamma * service_rate)
