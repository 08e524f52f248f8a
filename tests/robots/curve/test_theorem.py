"""The theorem of the switching curve: every statement of its proof, in rational numbers.

On exact optima, ties among them, each statement holds at each place. On curves that are not optimal
it holds wherever what its proof uses is given. Statements that are false are refuted by the same
code.
"""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from analysis.robots.curve import lossless_until, optimal_sequence, saturated_from
from analysis.robots.curve.reduced import rational
from analysis.robots.curve.statements import STATEMENTS, count_outcomes
from analysis.robots.curve.values import (
    curve_line,
    draw_optima,
    draw_other_curves,
    draw_rate,
    linear_rates,
    optimal_curve,
)
from book.robots.robots_curve import SHARED


def _assert_all_hold(values):
    found = count_outcomes(values)
    assert {name: count.failed for name, count in found.items() if count.failed} == {}
    assert all(count.assumed == count.cases > 0 for count in found.values()), found


def _assert_all_follow(values, least):
    found = count_outcomes(values)
    assert {name: count.failed for name, count in found.items() if count.failed} == {}
    assert min(count.assumed for count in found.values()) >= least, found


@pytest.fixture(scope="module")
def some():
    """Optima of all sizes, two of three at ties."""
    return list(draw_optima(1, 40))


@pytest.fixture(scope="module")
def others():
    """Curves at weights at which they are not optimal."""
    return list(draw_other_curves(1, 250))


def test_statements_hold_at_optima(some):
    _assert_all_hold(some)
    assert sum(bool(x.ties) for x in some) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_statements_hold_at_many_optima(seed):
    _assert_all_hold(list(draw_optima(seed, 250)))


def test_steps_follow_off_optimum(others):
    _assert_all_follow(others, least=10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_steps_follow_at_many_curves(seed):
    _assert_all_follow(list(draw_other_curves(seed, 2000, largest=7)), least=50)


def test_each_statement_can_fail(some, others):
    x = next(x for x in some if x.robots == 5 and x.capacity > 3)
    moved = x.bias.copy()
    moved[x.capacity, 2] += 1
    closed_twice = curve_line(linear_rates(3, Fraction(1)), 2, (1, 0, -1)).at(1)
    wrong = [
        *others,
        replace(x, bias=moved),
        replace(x, gain=-10 * x.gain - 10),
        replace(closed_twice, curve=(-1, -1, 2)),
    ]
    false = {
        name
        for name, statement in STATEMENTS.items()
        if any(not case.holds for values in wrong for case in statement(values))
    }
    assert false == set(STATEMENTS)


def test_settled_ties_are_curves(some):
    # No two neighbours, one a row and column, and the values stay the same.
    several = 0
    for x in some:
        assert len({q for q, _ in x.ties}) == len({r for _, r in x.ties}) == len(x.ties)
        several += len(x.ties) > 1
        negative = np.array(
            [
                [(q, r) == (0, 0) or x.d(q, r) < 0 for r in range(x.robots)]
                for q in range(x.capacity + 1)
            ]
        )
        for chosen in itertools.product([False, True], repeat=len(x.ties)):
            table = negative.copy()
            for box, starts in zip(x.ties, chosen, strict=True):
                table[box] = starts
            heights = table.sum(axis=0) - 1
            assert (table == (np.arange(x.capacity + 1)[:, None] <= heights)).all()
            assert set(-np.diff(heights)) <= {0, 1}
            other = curve_line(x.rates, x.capacity, tuple(map(int, heights))).at(x.gamma)
            assert other.gain == x.gain
            assert (other.bias == x.bias).all()


def test_lossless_curve_is_strict():
    rng = random.Random(3)
    for _ in range(20):
        robots, capacity = rng.randint(1, 6), rng.randint(1, 6)
        curve = tuple(max(capacity - 1 - r, -1) for r in range(robots))
        line = curve_line(linear_rates(robots, draw_rate(rng)), capacity, curve)
        low, high = line.optimal_range()
        assert low == 0
        x = line.at(rational(1) if high is None else high / 2)
        assert all(x.d(q, r) > 0 for q, r in x.boxes if x.inside(q, r))


def test_neighbouring_ranges_meet():
    # The set of weights with a curve has no gap and no end: each range begins where one ended.
    rng = random.Random(4)
    for _ in range(6):
        robots, capacity = rng.randint(2, 5), rng.randint(1, 6)
        rates = linear_rates(robots, draw_rate(rng))
        line = optimal_curve(rates, capacity, Fraction(1, 10**9))
        _, end = line.optimal_range()
        while end is not None:
            (q, r), *rest = line.at(end).ties
            assert rest == []
            line = curve_line(rates, capacity, (*line.curve[:r], q, *line.curve[r + 1 :]))
            begin, end = line.optimal_range()
            assert line.at(begin).ties == ((q, r),)
        assert line.curve == (capacity,) * (robots - 1) + (capacity - 1,)


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("robots", [2, 3, 5, 7])
def test_end_thresholds_have_closed_forms(robots, capacity):
    # Each is tied alone, and its curve is optimal on one side of that weight exactly.
    lam = draw_rate(random.Random(robots + 100 * capacity))
    rates = linear_rates(robots, lam)
    first, last = lossless_until(robots, lam, capacity), saturated_from(robots, lam, capacity)
    lossless = tuple(max(capacity - 1 - r, -1) for r in range(robots))
    saturated = (capacity,) * (robots - 1) + (capacity - 1,)
    for curve, end, at in ((lossless, 1, first), (saturated, 0, last)):
        line = curve_line(rates, capacity, curve)
        assert line.optimal_range()[end] == rational(at.gamma)
        x = line.at(at.gamma)
        assert x.gain == rational(at.gain)
        assert x.ties == (at.box,)
    assert curve_line(rates, capacity, lossless).optimal_range()[0] == 0
    assert curve_line(rates, capacity, saturated).optimal_range()[1] is None
    assert last.gain == (1 if capacity > 1 else 0) + 2 * lam * (robots - 1)


def test_lossless_curve_with_few_places():
    # K < N: the lossless curve has the least cost exactly while d(1, K - 1) >= 0.
    rng = random.Random(5)
    for _ in range(12):
        capacity = rng.randint(2, 4)
        robots, lam = capacity + rng.randint(1, 3), draw_rate(rng)
        lossless = tuple(max(capacity - 1 - r, -1) for r in range(robots))
        curve = curve_line(linear_rates(robots, lam), capacity, lossless)
        first = lossless_until(robots, lam, capacity).gamma
        for weight in (first, first * Fraction(101, 100), first * 2, first * 30):
            best = optimal_curve(linear_rates(robots, lam), capacity, weight).at(weight)
            least = curve.at(weight).gain == best.gain
            assert least == (best.d(1, capacity - 1) >= 0)


def test_thresholds_bound_sequence():
    mu, lam = Fraction(3, 2), Fraction(2, 5)
    for robots, capacity in ((4, 6), (5, 3)):
        found = optimal_sequence(robots, lam, mu, capacity, exact=True)
        first = lossless_until(robots, lam, capacity, mu)
        last = saturated_from(robots, lam, capacity, mu)
        assert (found.breakpoints[0], found.switched[0]) == (first.gamma, first.box)
        assert (found.breakpoints[-1], found.switched[-1]) == (last.gamma, last.box)
        loss, starvation = found.costs[-1]
        assert loss + last.gamma * starvation == last.gain
    assert lossless_until(2, lam, 7, mu).gain == 2 * lam * mu / (lam + mu)


@pytest.mark.parametrize("closed", [lossless_until, saturated_from])
def test_thresholds_keep_digits(closed):
    for lam, robots, capacity in ((1e-6, 12, 9), (1e4, 12, 30), (0.3, 40, 40)):
        exact = closed(robots, Fraction(lam), capacity).gamma
        assert closed(robots, lam, capacity).gamma == pytest.approx(float(exact), rel=1e-13)
    with pytest.raises(ValueError, match="robots"):
        closed(1, 0.5, 3)
    with pytest.raises(ValueError, match="capacity"):
        closed(2, 0.5, 0)
    with pytest.raises(ValueError, match="arrival_rate"):
        closed(2, -0.5, 3)
    with pytest.raises(ValueError, match="the weight at which"):
        closed(100, 1e3, 200)


# What is false ------------------------------------------------------------------------------------


def test_rise_at_full_queue_not_strict(some):
    # With > at q = K the statement on columns is false: two robots, (K - 1, 1) tied.
    first = lossless_until(2, Fraction(1, 2), 3)
    assert first.box == (2, 1)
    x = curve_line(linear_rates(2, Fraction(1, 2)), 3, (2, 1)).at(first.gamma)
    assert x.rho(3, 0) == 0
    inside = [(y, r) for y in some for r in range(y.robots - 1)]
    assert any(y.rho(y.capacity, r) == 0 for y, r in inside)
    assert all(y.rho(y.capacity, r) >= 0 for y, r in inside)


def _shared_at_breakpoints():
    sequence = optimal_sequence(3, SHARED, 1, 3, exact=True)
    curve = [2, 1, 0]
    for gamma, (q, r) in zip(sequence.breakpoints[:4], sequence.switched[:4], strict=True):
        assert curve[r] == q - 1
        yield curve_line(SHARED, 3, tuple(curve)).at(gamma)
        curve[r] = q


def test_concave_rates_break_columns():
    found = count_outcomes(list(_shared_at_breakpoints()))
    assert {name for name, count in found.items() if count.failed} == {"Columns"}
    assert all(count.assumed == count.cases for count in found.values())


def test_concave_rates_lose_curve():
    *_, x = _shared_at_breakpoints()
    assert x.ties == ((3, 1),)
    assert x.d(3, 0) > 0
    assert rational(40660) < 1000 * x.gain < rational(40661)
    for gamma in (1850, 1900, 1930):
        with pytest.raises(ValueError, match="must be a switching curve"):
            optimal_curve(SHARED, 3, gamma)


def test_wrong_rates_are_refused():
    with pytest.raises(ValueError, match="rates"):
        curve_line([0, 0.5, 1.0], 3, (2, 1))
    with pytest.raises(ValueError, match="one recurrent class"):
        curve_line(linear_rates(3, Fraction(1)), 2, (-1, -1, 2))
