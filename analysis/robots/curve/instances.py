"""Random exact instances for the statements of the theorem: optima, and curves that are not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from analysis.robots.curve.diagrams import Curve
from analysis.robots.curve.values import CurveValues, curve_line, optimal_curve

#: lambda and gamma over six decades, in the unit of mu.
SCALES = [Fraction(x) for x in ("1/1000", "1/30", "1/5", "1", "1", "1", "5", "30", "1000")]


def rate(rng: random.Random) -> Fraction:
    """Return a random rate, over about eight decades."""
    return Fraction(rng.randint(1, 12), rng.choice([1, 2, 3, 7, 10])) * rng.choice(SCALES)


def linear(robots: int, arrival_rate: Any) -> list[Any]:
    """Return the rates of robots that work each for itself."""
    return [arrival_rate * r for r in range(robots + 1)]


def optima(seed: int, number: int) -> Iterator[CurveValues]:
    """Yield exact optima, N = 1..8, K = 1..10, each at a weight and at both ends of its range.

    At the ends a box is tied.
    """
    rng = random.Random(seed)
    for _ in range(number):
        robots, capacity = rng.randint(1, 8), rng.randint(1, 10)
        weight = rate(rng) * rng.choice([1, 10])
        line = optimal_curve(linear(robots, rate(rng)), capacity, weight)
        yield line.at(weight)
        yield from (line.at(end) for end in line.optimal_range() if end)


def other_curves(seed: int, number: int, largest: int = 5) -> Iterator[CurveValues]:
    """Yield exact values of curves that start early, at weights at which they are not optimal.

    Half of the curves are random ones, half an optimal one with a box more or less; N and K are up
    to `largest`. At least `number` values come, those of one curve together.
    """
    rng = random.Random(seed)
    while number > 0:
        robots, capacity = rng.randint(1, largest), rng.randint(1, largest)
        rates = linear(robots, rate(rng))
        curve = _random_curve(rng, robots, capacity)
        if rng.random() < 0.5:
            curve = _neighbour(rng, optimal_curve(rates, capacity, rate(rng) * 10).curve, capacity)
        line = curve_line(rates, capacity, curve)
        for weight in (rate(rng) * 10, *(end for end in line.optimal_range() if end)):
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
        other
        for other in changed
        if all(before >= after for before, after in pairwise((capacity, *other)))
        and all(other[r] >= max(-1, capacity - 1 - r) for r in rows)
    ]
    return rng.choice(allowed)
