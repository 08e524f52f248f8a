"""Every lemma about the switching curve, in fractions, on random instances and at exact ties."""

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest

from analysis.robots.controlled import structure
from analysis.robots.curve import ReducedQueue, optimal_sequence
from analysis.robots.curve.reduced import evaluate_exactly

INSTANCES = 200


@dataclass(frozen=True)
class Instance:
    """An exact optimum, mu = 1."""

    n: int
    k: int
    lam: Fraction
    gamma: Fraction
    optimum: structure.ExactOptimum

    def v(self, q, r):
        """V, with a lost page at a queue of K + 1."""
        return self.optimum.bias[min(q, self.k), r] + (q > self.k)

    def u(self, q, r):
        if (q, r) == (0, 0):
            return self.v(0, 1)
        return min(self.v(q, r), self.v(q, r + 1)) if r < self.n else self.v(q, r)

    def d(self, q, r):
        return self.v(q, r + 1) - self.v(q, r)

    def du(self, q, r):
        return self.u(q, r + 1) - self.u(q, r)

    def h(self, q, r):
        return self.v(q + 1, r) - self.v(q, r + 1)

    @property
    def decisions(self):
        """All (q, r) at which a robot may be started or not."""
        every = [(q, r) for q in range(self.k + 1) for r in range(self.n)]
        return [place for place in every if place != (0, 0)]


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


def test_ties_are_among_the_instances(instances):
    ties = [any(one.d(*place) == 0 for place in one.decisions) for one in instances]
    assert sum(ties) > INSTANCES // 4


def test_differences_of_the_optimality_equation(instances):
    # (DD) and (O1), from which everything else is derived.
    for one in instances:
        for q, r in one.decisions:
            left = ((q > 0) + one.lam * r) * one.d(q, r)
            right = one.lam * (one.u(q + 1, r) - one.v(q, r + 1)) if q < one.k else 0
            if q == one.k:
                right = one.lam * (1 + one.u(q, r) - one.v(q, r + 1))
            right += one.du(q - 1, r) if q > 0 else 0
            right += one.lam * r * one.du(min(q + 1, one.k), r - 1) if r > 0 else 0
            assert left == right
            if q < one.k:
                beyond = one.u(min(q + 2, one.k), r - 1) + (q + 2 > one.k) if r > 0 else 0
                gained = one.lam * r * (beyond - one.v(q + 1, r))
                assert one.v(q + 1, r) - one.u(q, r) == gained - one.optimum.gain


def test_early_start(instances):
    for one in instances:
        for q, r in one.decisions:
            if q + r < one.k:
                assert one.v(q + 1, r) <= one.v(q, r + 1) - one.optimum.gain
                assert one.d(q, r) < 0


def test_early_start_where_the_forced_state_begins(instances):
    for one in instances:
        assert one.v(1, 0) <= one.v(0, 1) - one.optimum.gain


def test_the_last_robot_is_dearer_by_a_fixed_amount(instances):
    for one in instances:
        assert one.d(one.k, one.n - 1) >= one.lam / (1 + one.lam * one.n)


def test_a_row_that_is_off_stays_off_at_a_full_queue(instances):
    # Lemma C (1).
    seen = 0
    for one in instances:
        for r in range(one.n - 1):
            if one.d(one.k - 1, r) >= 0 and one.d(one.k - 1, r + 1) >= 0:
                seen += 1
                assert one.d(one.k, r) >= one.lam / (1 + one.lam * (r + 1))
    assert seen > 20


def test_only_the_triangle_is_left(instances):
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
        for (q, r), loss, time in zip(triangle.boxes, found.losses, found.times, strict=True):
            assert loss - theta * time == one.d(q + shift, r)
    assert seen > 100


def test_the_steps_for_three_robots(instances):
    three = [one for one in instances if one.n == 3]
    assert len(three) > 30
    for one in three:
        k, lam, theta = one.k, one.lam, one.optimum.gain
        b, d1 = -one.d(k - 1, 2), max(one.d(k, 1), 0)
        if b >= 0:
            assert one.h(k - 1, 2) == 2 * lam - theta - 2 * lam * d1
            assert lam * one.h(k - 1, 2) <= -(1 + 2 * lam) * b - 2 * lam * d1
            assert theta >= 2 * lam + 2 * (1 - lam) * d1 + (1 + 2 * lam) * b / lam
        assert not one.d(k - 1, 1) >= 0 >= one.d(k - 1, 2)
        assert one.d(k - 1, 1) < 0 or one.d(k, 1) >= 0
        assert one.d(k, 0) < 0 or one.d(k, 1) >= 0
        assert one.d(k - 2, 2) < 0 or one.d(k - 1, 2) >= 0


def test_the_sequence_has_an_optimal_policy_at_the_weight(instances):
    for one in instances[:60]:
        found = optimal_sequence(one.n, one.lam, 1, one.k, exact=True)
        loss, starvation = found.costs[found.position(one.gamma)]
        assert loss + one.gamma * starvation == one.optimum.gain
