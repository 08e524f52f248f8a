"""Exact optima of two programs, and what the reduced problem makes of them."""

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest

from analysis.robots import structure
from analysis.robots.curve import ReducedQueue, optimal_sequence
from analysis.robots.curve.reduced import evaluate_exactly, rational
from analysis.robots.curve.values import curve_line, optimal_curve

INSTANCES = 60


@dataclass(frozen=True)
class Instance:
    """An exact optimum, mu = 1, found without the reduction by early starts."""

    n: int
    k: int
    lam: Fraction
    gamma: Fraction
    optimum: structure.ExactOptimum


@pytest.fixture(scope="module")
def instances():
    """Random optima; at every other one the weight is a breakpoint, where two actions tie."""
    rng = random.Random(5)
    found = []
    for number in range(INSTANCES):
        n, k = rng.randint(1, 4), rng.randint(2, 4)
        lam = Fraction(rng.randint(1, 60), rng.choice([5, 10, 40]))
        gamma = Fraction(rng.randint(1, 800), rng.choice([10, 100]))
        if number % 2 and n > 1:
            gamma = rng.choice(optimal_sequence(n, lam, 1, k, exact=True).breakpoints)
        optimum = structure.exact_optimum(n, lam, Fraction(1), k, gamma)
        found.append(Instance(n, k, lam, gamma, optimum))
    return found


def test_curve_values_match_exact_optimum(instances):
    ties = 0
    for one in instances:
        rates = [one.lam * r for r in range(one.n + 1)]
        x = curve_line(rates, one.k, one.optimum.curve).at(one.gamma)
        assert x.gain == rational(one.optimum.gain)
        shift = x.v(1, 0) - rational(one.optimum.bias[1, 0])
        for (q, r), value in zip(
            ((q, r) for q in range(one.k + 1) for r in range(one.n + 1)),
            one.optimum.bias.ravel(),
            strict=True,
        ):
            assert (q, r) == (0, 0) or x.v(q, r) == rational(value) + shift
        assert x.is_optimal
        ties += bool(x.ties)
        assert optimal_curve(rates, one.k, one.gamma).at(one.gamma).gain == x.gain
    assert ties > INSTANCES // 4


def test_triangle_gaps_match_optimum(instances):
    # K and gamma enter by theta alone: the gaps of the triangle problem are those of the optimum.
    seen = 0
    for one in instances:
        if one.k < one.n:
            continue
        seen += 1
        triangle, theta = ReducedQueue(one.n), one.optimum.gain
        shift = one.k - one.n
        table = triangle.curve_policy([height - shift for height in one.optimum.curve])
        rates = triangle.linear_rates(one.lam)
        found = evaluate_exactly(triangle, table, 1, rates)
        bias = one.optimum.bias
        for (q, r), loss, time in zip(triangle.boxes, found.losses, found.times, strict=True):
            assert loss - theta * time == bias[q + shift, r + 1] - bias[q + shift, r]
    assert seen > INSTANCES // 2


def test_sequence_matches_exact_gain(instances):
    for one in instances:
        found = optimal_sequence(one.n, one.lam, 1, one.k, exact=True)
        loss, starvation = found.costs[found.position(one.gamma)]
        assert loss + one.gamma * starvation == one.optimum.gain
