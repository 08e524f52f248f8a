"""Exact relative values of switching curves, and the differences that the theorem uses.

With mu = 1 and lambda_r the rate of r active robots, the policy of a curve f has relative values
V(q, r) and a cost per unit of time theta, affine in the weight of starvation gamma:

    theta + (1(q>0) + lambda_r) V(q, r) = gamma 1(q=0) + lambda_r 1(q=K)
                            + 1(q>0) U(q-1, r) + lambda_r U(min(q+1, K), r-1),

U(q, r) = V(q, r+1) where q <= f(r) (the box is *on*), else V(q, r).  For an optimal curve U is the
smaller of the two.  With V(K+1, r) = V(K, r) + 1, U(K+1, r) = U(K, r) + 1 and, for r >= 1, U(-1, r)
= V(0, r) + gamma, this reads theta + (1 + lambda_r) V(q, r) = U(q-1, r) + lambda_r U(q+1, r-1).
All numbers are rationals of python-flint.

`draw_optima` and `draw_other_curves` draw random instances for the statements of the theorem:
optima, and curves that are not optimal.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Bools
from analysis.results import NotConverged
from analysis.robots.control import RobotControl
from analysis.robots.curve.reduced import Box, Curve, ReducedQueue, rational, solve_fractions

Table = NDArray[Any]

#: Policies that exact policy iteration may try.
MOST_POLICIES = 200


@dataclass(frozen=True)
class CurveValues:
    """Relative values of the policy of a curve at one weight, mu = 1.

    A robot is started where q <= f(r), r < N, with f(r) = -1 for nowhere.  The rates are lambda_0 =
    0 < ... < lambda_N, the gain is theta, and `bias`, shape (K + 1, N + 1), holds V but for (0, 0).
    """

    curve: Curve
    rates: tuple[Any, ...]
    gamma: Any
    gain: Any
    bias: Table = field(repr=False)

    @property
    def robots(self) -> int:
        """Available robots N."""
        return len(self.rates) - 1

    @property
    def capacity(self) -> int:
        """Places in the queue K."""
        return int(self.bias.shape[0]) - 1

    def f(self, r: int) -> int:
        """Return the height of the curve, -1 at r = N."""
        return self.curve[r] if r < self.robots else -1

    def on(self, q: int, r: int) -> bool:
        """Whether a robot is started in the box."""
        return q <= self.f(r)

    def inside(self, q: int, r: int) -> bool:
        """Whether (q, r) is in T: q + r >= K, or no robot is left to start."""
        return q + r >= self.capacity or r == self.robots

    def v(self, q: int, r: int) -> Any:
        """Return V(q, r); a page more at a full queue is lost."""
        return self.bias[q, r] if q <= self.capacity else self.bias[self.capacity, r] + 1

    def u(self, q: int, r: int) -> Any:
        """Return U(q, r), the value after the decision of the curve."""
        if q < 0:
            return self.v(0, r) + self.gamma
        if q > self.capacity:
            return self.u(self.capacity, r) + 1
        return self.v(q, r + 1) if self.on(q, r) else self.v(q, r)

    def d(self, q: int, r: int) -> Any:
        """Return V(q, r+1) - V(q, r): a robot is worth starting where it is negative."""
        return self.v(q, r + 1) - self.v(q, r)

    def e(self, q: int, r: int) -> Any:
        """Return V(q+1, r) - V(q, r)."""
        return self.v(q + 1, r) - self.v(q, r)

    def c(self, q: int, r: int) -> Any:
        """Return e(q+1, r) - e(q, r)."""
        return self.e(q + 1, r) - self.e(q, r)

    def s(self, q: int, r: int) -> Any:
        """Return d(q+1, r) - d(q, r)."""
        return self.d(q + 1, r) - self.d(q, r)

    def rho(self, q: int, r: int) -> Any:
        """Return d(q, r+1) - d(q, r)."""
        return self.d(q, r + 1) - self.d(q, r)

    def g(self, q: int, r: int) -> Any:
        """Return U(q+1, r) - U(q, r)."""
        return self.u(q + 1, r) - self.u(q, r)

    def delta(self, q: int, r: int) -> Any:
        """Return U(q, r+1) - U(q, r)."""
        return self.u(q, r + 1) - self.u(q, r)

    def along(self, r: int) -> Any:
        """Return A_r, the step of V across the curve in row r."""
        height = self.f(r)
        if height < 0:
            return -self.gamma
        if height == self.capacity:
            return 1 + 0 * self.gamma
        return self.v(height + 1, r) - self.v(height, r + 1)

    def onwards(self, r: int, x: Any) -> Any:
        """Return F_r(x) = -theta + lambda_r x."""
        return -self.gain + self.rates[r] * x

    @property
    def boxes(self) -> Iterator[Box]:
        """All (q, r) in which a robot may be started or not, (0, 0) left out."""
        every = ((q, r) for r in range(self.robots) for q in range(self.capacity + 1))
        return (box for box in every if box != (0, 0))

    @cached_property
    def ties(self) -> tuple[Box, ...]:
        """The boxes in which starting a robot and not starting one are worth the same."""
        return tuple(box for box in self.boxes if self.d(*box) == 0)

    @property
    def is_optimal(self) -> bool:
        """Whether the curve solves the optimality equation: no other decision is better."""
        return all(self.d(*box) <= 0 if self.on(*box) else self.d(*box) >= 0 for box in self.boxes)


@dataclass(frozen=True)
class CurveLine:
    """Relative values of the policy of a curve at every weight gamma, mu = 1.

    theta and V are affine in gamma: `losses` is (theta, V) at gamma = 0, and `starvation` what each
    gains with gamma, S first.
    """

    curve: Curve
    rates: tuple[Any, ...]
    losses: tuple[Any, Table] = field(repr=False)
    starvation: tuple[Any, Table] = field(repr=False)

    def at(self, gamma: Any) -> CurveValues:
        """Return the values at a weight."""
        weight = rational(gamma)
        gain, bias = (
            zero + weight * slope for zero, slope in zip(self.losses, self.starvation, strict=True)
        )
        return CurveValues(self.curve, self.rates, weight, gain, bias)

    def optimal_range(self) -> tuple[Any, Any]:
        """Return the least and the largest weight at which the curve is optimal.

        The largest is None where it is optimal at all larger weights; it is below the least where
        it never is.
        """
        low, high = rational(0), None
        for q, r in self.at(0).boxes:
            sign = -1 if q <= self.curve[r] else 1
            gap, slope = (
                sign * (table[q, r + 1] - table[q, r])
                for _, table in (self.losses, self.starvation)
            )
            if slope == 0 and gap < 0:
                return rational(1), rational(0)
            if slope > 0:
                low = max(low, -gap / slope)
            if slope < 0:
                high = -gap / slope if high is None else min(high, -gap / slope)
        return low, high


def curve_line(rates: Sequence[Any], capacity: int, curve: Curve) -> CurveLine:
    """Return the relative values of a curve's policy at every weight, in rational numbers.

    Rates are total rates with 0..N active robots, whole or fractions, rising from 0, in the unit of
    mu; f(r) >= K - 1 - r.  Raises ValueError if the policy has several recurrent classes, or a rate
    is a float.
    """
    exact = tuple(map(rational, rates))
    queue = ReducedQueue(len(exact) - 1, capacity)
    equations = queue.coefficients(queue.curve_policy(curve), rational(1), exact)
    try:
        solved = [list(map(rational, row)) for row in solve_fractions(*equations)]
    except ValueError:
        raise ValueError(f"curve must have one recurrent class, got {curve}") from None
    parts = []
    for column in (0, 1):
        bias = {state: row[column] for state, row in zip(queue.states[:-1], solved, strict=False)}
        bias[queue.states[-1]] = rational(0)
        gain = solved[-1][column]
        parts.append((gain, _below(queue, bias, exact, gain, column)))
    return CurveLine(tuple(curve), exact, *parts)


def _below(
    queue: ReducedQueue, closed_values: dict[Box, Any], rates: Sequence[Any], gain: Any, weight: int
) -> Table:
    """Return a table of all values: where q + r < K every box is on, and the rest follows."""
    table = np.full(queue.shape, None, dtype=object)
    for state, value in closed_values.items():
        table[state] = value
    for total in range(queue.top - 1, 0, -1):
        for q in range(max(0, total - queue.robots + 1), total + 1):
            r = total - q
            value = (weight if q == 0 else table[q - 1, r + 1]) - gain
            if r > 0:
                value += rates[r] * table[q + 1, r]
            table[q, r] = value / (rates[r] + (q > 0))
    table[0, 0] = 0 * gain  # it is never entered
    return table


def optimal_curve(rates: Sequence[Any], capacity: int, gamma: Any) -> CurveLine:
    """Return an optimal curve: found in floating point, improved in rational numbers.

    Rates as in `curve_line`; the weight gamma is positive.  Raises ValueError if the optimal policy
    that was found is no switching curve, and NotConverged after 200 policies.
    """
    weight = rational(gamma)
    speedup = tuple(float(rational(rate) / rational(rates[1])) for rate in rates)
    model = RobotControl(
        len(rates) - 1, _float(rates[1]), 1.0, capacity, _float(weight), speedup=speedup
    )
    table = model.solve().policy[:, :-1]
    for _ in range(MOST_POLICIES):
        line = curve_line(rates, capacity, _as_curve(table))
        values = line.at(weight)
        if values.is_optimal:
            return line
        table = table.copy()
        for box in values.boxes:
            table[box] = values.d(*box) < 0 or (values.d(*box) == 0 and table[box])
    raise NotConverged(f"more than {MOST_POLICIES} policies")


def _as_curve(table: Bools) -> Curve:
    """Return the curve of a table of decisions, shape (K + 1, N)."""
    heights = tuple(int(height) - 1 for height in table.sum(axis=0))
    falls = all(earlier >= later for earlier, later in pairwise(heights))
    if not falls or (np.arange(len(table))[:, None] <= heights).tolist() != table.tolist():
        raise ValueError(f"the optimal policy must be a switching curve, got {table.tolist()}")
    return heights


def _float(number: Any) -> float:
    exact = rational(number)
    return float(Fraction(int(exact.p), int(exact.q)))


#: lambda and gamma over six decades, in the unit of mu.
SCALES = [Fraction(x) for x in ("1/1000", "1/30", "1/5", "1", "1", "1", "5", "30", "1000")]


def draw_rate(rng: random.Random) -> Fraction:
    """Return a random rate, over about eight decades."""
    return Fraction(rng.randint(1, 12), rng.choice([1, 2, 3, 7, 10])) * rng.choice(SCALES)


def linear_rates(robots: int, arrival_rate: Any) -> list[Any]:
    """Return the rates of robots that work each for itself."""
    return [arrival_rate * r for r in range(robots + 1)]


def draw_optima(seed: int, number: int) -> Iterator[CurveValues]:
    """Yield exact optima, N = 1..8, K = 1..10, each at a weight and at both ends of its range.

    At the ends a box is tied.
    """
    rng = random.Random(seed)
    for _ in range(number):
        robots, capacity = rng.randint(1, 8), rng.randint(1, 10)
        weight = draw_rate(rng) * rng.choice([1, 10])
        line = optimal_curve(linear_rates(robots, draw_rate(rng)), capacity, weight)
        yield line.at(weight)
        yield from (line.at(end) for end in line.optimal_range() if end)


def draw_other_curves(seed: int, number: int, largest: int = 5) -> Iterator[CurveValues]:
    """Yield exact values of curves that start early, at weights at which they are not optimal.

    Half of the curves are random ones, half an optimal one with a box more or less; N and K are up
    to `largest`. At least `number` values come, those of one curve together.
    """
    rng = random.Random(seed)
    while number > 0:
        robots, capacity = rng.randint(1, largest), rng.randint(1, largest)
        rates = linear_rates(robots, draw_rate(rng))
        curve = _random_curve(rng, robots, capacity)
        if rng.random() < 0.5:
            curve = _neighbour(
                rng, optimal_curve(rates, capacity, draw_rate(rng) * 10).curve, capacity
            )
        line = curve_line(rates, capacity, curve)
        for weight in (draw_rate(rng) * 10, *(end for end in line.optimal_range() if end)):
            values = line.at(weight)
            if not values.is_optimal:
                number -= 1
                yield values


def _random_curve(rng: random.Random, robots: int, capacity: int) -> Curve:
    heights = [capacity]
    for r in range(robots):
        heights.append(rng.randint(max(-1, capacity - 1 - r), heights[-1]))
    return tuple(heights[1:])


def _neighbour(rng: random.Random, curve: Curve, capacity: int) -> Curve:
    """Return a curve with one box more or less."""
    rows = range(len(curve))
    changed = ((*curve[:r], curve[r] + step, *curve[r + 1 :]) for r in rows for step in (-1, 1))
    allowed = [
        heights
        for heights in changed
        if all(earlier >= later for earlier, later in pairwise((capacity, *heights)))
        and all(heights[r] >= max(-1, capacity - 1 - r) for r in rows)
    ]
    return rng.choice(allowed)
