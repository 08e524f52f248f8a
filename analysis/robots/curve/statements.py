"""Each step of the proof of the switching curve, as a check on exact values.

A statement takes the relative values of a curve (`values.CurveValues`, mu = 1) and yields a `Case`
for each place that it is about: whether the hypotheses of its proof hold there (*given*), and
whether its conclusion does (*holds*).  At an optimum all hypotheses hold, so that every case has to
hold; at a curve that is not optimal a case has to hold wherever it is given.  Names are those of
the page on the switching curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from analysis.robots.curve.reduced import Box, ReducedQueue
from analysis.robots.curve.values import CurveValues
from analysis.robots.policy_chain import recurrent_class, successors


class Case(NamedTuple):
    """One place of one statement: whether its hypotheses and its conclusion hold there."""

    state: Box
    assumed: bool
    holds: bool


Statement = Callable[[CurveValues], Iterator[Case]]


def equation(x: CurveValues) -> Iterator[Case]:
    """Check the optimality equation in one line, and its difference in r."""
    k, n = x.capacity, x.robots
    for q in range(k + 1):
        for r in range(n + 1):
            if (q, r) == (0, 0):
                continue
            right = x.u(q - 1, r) if q or r else 0
            right += x.rates[r] * x.u(q + 1, r - 1) if r else 0
            yield Case((q, r), True, x.gain + (1 + x.rates[r]) * x.v(q, r) == right)
    for q, r in x.boxes:
        step = x.rates[r + 1] - x.rates[r]
        right = _difference(x, q - 1, r) + step * (x.u(q + 1, r) - x.v(q, r + 1))
        right += x.rates[r] * _difference(x, q + 1, r - 1) if r else 0
        yield Case((q, r), True, (1 + x.rates[r]) * x.d(q, r) == right)


def early_start(x: CurveValues) -> Iterator[Case]:
    """Check V(q+1, r) <= V(q, r+1) - theta, and d < 0, where q + r < K."""
    early = [(q, r) for q, r in _pairs(x) if q + r < x.capacity]
    chained: dict[Box, bool] = {}
    for q, r in sorted(early, key=lambda box: box[1]):
        chained[q, r] = x.u(q, r) <= x.v(q, r + 1) and (
            r == 0 or (x.u(q + 2, r - 1) <= x.v(q + 2, r - 1) and chained[q + 1, r - 1])
        )
        yield Case((q, r), chained[q, r], x.v(q + 1, r) <= x.v(q, r + 1) - x.gain)
    least = all(_is_least(x, q, r) for q, r in early)
    assumed = (
        least and all(chained.values()) and all(x.u(q + 1, r) <= x.v(q + 1, r) for q, r in early)
    )
    for q, r in early:
        if (q, r) != (0, 0):
            yield Case((q, r), assumed, x.d(q, r) < 0)


def last_robot(x: CurveValues) -> Iterator[Case]:
    """Check d(K, N-1) >= (lambda_N - lambda_(N-1)) / (1 + lambda_N)."""
    k, r = x.capacity, x.robots - 1
    assumed = _is_least(x, k, r) and x.u(k - 1, r) <= x.v(k - 1, r + 1)
    assumed = assumed and (r == 0 or x.u(k, r - 1) <= x.v(k, r))
    yield Case((k, r), assumed, x.d(k, r) >= (x.rates[-1] - x.rates[-2]) / (1 + x.rates[-1]))


def tables(x: CurveValues) -> Iterator[Case]:
    """Check what g and Delta are on and off the curve."""
    for r in range(x.robots + 1):
        height = x.f(r)
        for q in range(0 if r == 0 else -1, x.capacity + 1):
            if q > height:
                expected = x.e(q, r)
            elif q == height:
                expected = x.along(r)
            else:
                expected = x.e(q, r + 1) if q >= 0 else x.d(0, r) - x.gamma
            yield Case((q, r), True, x.g(q, r) == expected)
    for r in range(x.robots):
        for q in range(x.capacity + 1):
            if not x.on(q, r):
                expected = x.d(q, r)
            else:
                expected = x.d(q, r + 1) if x.on(q, r + 1) else 0
            yield Case((q, r), True, x.delta(q, r) == expected)


def steps_along(x: CurveValues) -> Iterator[Case]:
    """Check A_r, and e beside the curve, step by step along it."""
    for r in range(1, x.robots + 1):
        before, height, start = x.f(r - 1), x.f(r), x.along(r - 1)
        fall = before - height
        value = start
        for i in range(1, fall + 1):
            value = x.onwards(r, value)
            reached = x.e(before - i, r) if i < fall else x.along(r)
            yield Case((before - i, r), True, reached == value)
        if fall == 0:
            assumed = height in (-1, x.capacity) or (x.d(height + 1, r - 1) >= 0 >= x.d(height, r))
            yield Case((height, r), assumed, x.along(r) >= start)
        if before >= 1:
            assumed = not x.on(before - 1, r) or x.d(before - 1, r) <= 0
            yield Case((before - 1, r), assumed, x.e(before - 1, r) <= x.onwards(r, start))
        if before == 0:
            yield Case((0, r), True, x.onwards(r, start) == -x.gamma)
    full = x.f(0) == x.capacity
    yield Case((x.f(0), 0), True, x.along(0) == (1 if full else -x.gain))


def steps_fall(x: CurveValues) -> Iterator[Case]:
    """Check F_r(A_(r-1)) < A_(r-1)."""
    assumed = x.gain > 0 and _flat_rows_rise(x)
    for r in range(1, x.robots + 1):
        if x.f(r - 1) >= 0:
            start = x.along(r - 1)
            yield Case((x.f(r - 1), r), assumed, x.onwards(r, start) < start)


def page_less_than_lost(x: CurveValues) -> Iterator[Case]:
    """Check that one page more costs less than a lost page: e < 1."""
    states = [(q, r) for q, r in _states(x) if q < x.capacity]
    least = all(x.u(q + 1, r) <= x.v(q + 1, r + x.on(q, r)) for q, r in [*states, (0, 0)])
    assumed = least and all(x.u(0, r) <= x.v(0, r) for r in range(1, x.robots + 1))
    for q, r in states:
        yield Case((q, r), assumed, x.e(q, r) < 1)


def convex(x: CurveValues) -> Iterator[Case]:
    """Check that V is strictly convex in q on T, and that e exceeds A_r beyond the curve."""
    assumed = _all_hold(page_less_than_lost(x)) and _all_hold(steps_fall(x)) and _inside_steps(x)
    assumed = assumed and _flat_rows_rise(x) and _rises_at_empty_queue(x)
    for r in range(1, x.robots):
        if x.f(r - 1) == x.f(r) < x.capacity:
            assumed = assumed and x.d(x.f(r) + 1, r - 1) >= 0
        if r >= x.capacity and x.on(0, r):
            assumed = assumed and x.d(0, r) <= 0
    for r in range(x.robots + 1):
        height = x.f(r)
        if height < x.capacity:
            yield Case((height, r), assumed, x.e(height + 1, r) > x.along(r))
        for q in range(x.capacity):
            if x.inside(q, r) and (q, r) != (0, 0):
                yield Case((q, r), assumed, x.c(q, r) > 0)


def rows_rise(x: CurveValues) -> Iterator[Case]:
    """Check that d rises strictly in each row on T.

    Across the curve, from a box that is on to one that is off, (1 + lambda_r) s + (lambda_(r+1) -
    lambda_r) d(q+1, r) is positive, so that not both boxes are ties.
    """
    for q, r in x.boxes:
        if not x.inside(q, r) or q == x.capacity:
            continue
        s = x.s(q, r)
        if not x.on(q, r):
            yield Case(
                (q, r), _second_off(x, q, r) and _first_off(x, q, r) and x.c(q, r) > 0, s > 0
            )
        elif x.on(q + 1, r) and q > 0:
            yield Case(
                (q, r), _second_on(x, q, r) and _first_on(x, q, r) and _bends(x, q, r), s > 0
            )
        elif x.on(q + 1, r):
            rates = 1 / x.rates[r] - 1 / x.rates[r + 1]
            yield Case((q, r), x.gamma > x.gain, s == (x.gamma - x.gain) * rates > 0)
        else:
            assumed = _second_off(x, q, r) and _first_on(x, q, r)
            assumed = assumed and x.e(q + 1, r) > x.along(r)
            step = x.rates[r + 1] - x.rates[r]
            positive = (1 + x.rates[r]) * s + step * x.d(q + 1, r) > 0
            strict = s > 0 or not x.d(q, r) <= 0 <= x.d(q + 1, r)
            yield Case((q, r), assumed, positive and strict)


def columns_rise(x: CurveValues) -> Iterator[Case]:
    """Check that d rises in each column on T, strictly for q < K, and not from 0 to 0."""
    assumed = all(x.s(q, r) > 0 for q, r in _columns(x) if q < x.capacity) and all(
        _edge_fits(x, q, r) for q, r in _pairs(x) if r <= x.robots - 2
    )
    for q, r in _columns(x):
        rise = x.rho(q, r)
        zeros = x.d(q, r) == 0 == x.d(q, r + 1)
        yield Case((q, r), assumed, rise > 0 if q < x.capacity else rise >= 0 and not zeros)


def one_class(x: CurveValues) -> Iterator[Case]:
    """Check for one recurrent class, with (K, R) in it, R the number of rows that are all on."""
    queue = ReducedQueue(x.robots, x.capacity)
    starts = queue.curve_policy(x.curve)
    label = recurrent_class(*successors(starts, starts))
    rows = sum(height == x.capacity for height in x.curve)
    state = x.capacity * (x.robots + 1) + rows
    yield Case((x.capacity, rows), True, label.max() == 0 and label[state] == 0)


def falls_by_one(x: CurveValues) -> Iterator[Case]:
    """Check for falls of 0 or 1; where the curve falls further, a decision is the worse one."""
    fit = _signs_fit(x)
    for r in range(x.robots - 1):
        height, fall = x.f(r), x.f(r) - x.f(r + 1)
        yield Case((height, r), fit, fall <= 1)
        if fall >= 2 and height == x.capacity:
            yield Case((height, r), True, x.d(height, r) == x.rates[r + 1] - x.rates[r] > 0)
        elif fall >= 2:
            above = x.delta(height + 1, r - 1) if r else 0
            below = _difference(x, height - 2, r + 1)
            worst = x.d(height - 1, r + 1)
            assumed = x.gain > 0 and x.d(height, r) <= 0 <= above and below <= max(worst, 0)
            yield Case((height - 1, r + 1), assumed, worst < 0)


def gap_below_one(x: CurveValues) -> Iterator[Case]:
    """Check that one robot more costs less than a lost page: d < 1."""
    assumed = _all_hold(page_less_than_lost(x)) and all(x.u(q, r) <= x.v(q, r) for q, r in x.boxes)
    for q, r in x.boxes:
        yield Case((q, r), assumed, x.d(q, r) < 1)


#: The statements by their names, in the order of the proof.
STATEMENTS: Mapping[str, Statement] = {
    "The equation": equation,
    "Early start": early_start,
    "The last robot": last_robot,
    "Tables": tables,
    "Along the curve": steps_along,
    "Steps lead down": steps_fall,
    "A page costs less than a loss": page_less_than_lost,
    "Convex in the queue": convex,
    "Rows": rows_rise,
    "Columns": columns_rise,
    "One recurrent class": one_class,
    "Falls of 0 or 1": falls_by_one,
    "A robot costs less than a loss": gap_below_one,
}


class Count(NamedTuple):
    """Cases of a statement over many values: all, those that are given, those of them that fail."""

    cases: int
    assumed: int
    failed: int


def count_outcomes(values: Iterable[CurveValues]) -> dict[str, Count]:
    """Count the cases of each statement over many values."""
    counts = dict.fromkeys(STATEMENTS, Count(0, 0, 0))
    for x in values:
        for name, statement in STATEMENTS.items():
            for case in statement(x):
                cases, assumed, failed = counts[name]
                failed += case.assumed and not case.holds
                counts[name] = Count(cases + 1, assumed + case.assumed, failed)
    return counts


def _states(x: CurveValues) -> Iterator[Box]:
    every = ((q, r) for q in range(x.capacity + 1) for r in range(x.robots + 1))
    return (state for state in every if state != (0, 0))


def _pairs(x: CurveValues) -> Iterator[Box]:
    """Yield all boxes, (0, 0) among them."""
    return ((q, r) for q in range(x.capacity + 1) for r in range(x.robots))


def _columns(x: CurveValues) -> Iterator[Box]:
    return ((q, r) for q, r in x.boxes if r <= x.robots - 2 and x.inside(q, r))


def _difference(x: CurveValues, q: int, r: int) -> object:
    """Return Delta(q, r), extended below an empty and above a full queue."""
    if q < 0:
        return x.d(0, r)
    return x.delta(min(q, x.capacity), r)


def _is_least(x: CurveValues, q: int, r: int) -> bool:
    """Whether the decision in a box is the better one; at (0, 0) it is forced."""
    return (q, r) == (0, 0) or bool(x.u(q, r) <= min(x.v(q, r), x.v(q, r + 1)))


def _first_off(x: CurveValues, q: int, r: int) -> bool:
    """Whether the signs of d imply Delta(q, r) >= Delta(q-1, r) in a box that is off."""
    if q == 0:
        return True
    if not x.on(q - 1, r):
        return bool(x.s(q - 1, r) >= 0)
    return bool(x.d(q, r) >= 0 >= x.delta(q - 1, r))


def _first_on(x: CurveValues, q: int, r: int) -> bool:
    """Whether the signs of d imply Delta(q, r) >= Delta(q-1, r) in a box that is on."""
    if q == 0:
        return bool(x.delta(0, r) >= x.d(0, r)) if x.on(0, r + 1) else bool(x.d(0, r) <= 0)
    return bool(x.s(q - 1, r + 1) >= 0 if x.on(q, r + 1) else x.delta(q - 1, r) <= 0)


def _second_off(x: CurveValues, q: int, r: int) -> bool:
    """Whether the signs of d imply Delta(q+2, r-1) >= Delta(q+1, r-1), where (q+1, r) is off."""
    if q + 1 == x.capacity:
        return True
    if not x.on(q + 1, r - 1):
        return bool(x.s(q + 1, r - 1) >= 0)
    return x.on(q + 2, r - 1) or bool(x.d(q + 2, r - 1) >= 0)


def _second_on(x: CurveValues, q: int, r: int) -> bool:
    """Whether the signs of d imply Delta(q+2, r-1) >= Delta(q+1, r-1), where (q+1, r) is on."""
    if q + 1 == x.capacity:
        return True
    if x.on(q + 2, r):
        return bool(x.s(q + 1, r) >= 0)
    return bool(x.d(q + 1, r) <= 0 <= x.delta(q + 2, r - 1))


def _bends(x: CurveValues, q: int, r: int) -> bool:
    """Whether e grows along row r + 1, or across the curve, beside a box that is on."""
    if q + 1 < x.f(r):
        return bool(x.c(q, r + 1) > 0)
    return bool(x.along(r) > x.e(q, r + 1))


def _edge_fits(x: CurveValues, q: int, r: int) -> bool:
    """Whether the signs of d fit where column q leaves the curve between rows r and r + 2."""
    fits = True
    if x.on(q, r) and not x.on(q, r + 1):
        fits = x.d(q, r + 1) >= 0 and (q < x.capacity or x.d(q, r) <= 0)
    elif x.on(q, r + 1) and not x.on(q, r + 2):
        fits = x.d(q, r + 1) <= 0
    if q < x.capacity and x.inside(q, r) and x.on(q + 1, r) and not x.on(q + 1, r + 1):
        fits = fits and x.d(q, r) < 0
    return bool(fits)


def _signs_fit(x: CurveValues) -> bool:
    """Whether no decision in T is the worse one."""
    return all(_is_least(x, q, r) for q, r in x.boxes if x.inside(q, r))


def _flat_rows_rise(x: CurveValues) -> bool:
    """Whether A_r >= A_(r-1) in each row in which the curve does not fall."""
    rows = (r for r in range(1, x.robots + 1) if x.f(r - 1) == x.f(r))
    return all(x.along(r) >= x.along(r - 1) for r in rows)


def _inside_steps(x: CurveValues) -> bool:
    """Whether e(f(r-1) - 1, r) <= F_r(A_(r-1)) in each row."""
    rows = (r for r in range(1, x.robots + 1) if x.f(r - 1) >= 1)
    return all(x.e(x.f(r - 1) - 1, r) <= x.onwards(r, x.along(r - 1)) for r in rows)


def _rises_at_empty_queue(x: CurveValues) -> bool:
    """Whether (*) holds: d(0, r+1) >= d(0, r) if both are on and K <= r <= N - 2."""
    rows = range(x.capacity, x.robots - 1)
    return all(x.rho(0, r) >= 0 for r in rows if x.on(0, r) and x.on(0, r + 1))


def _all_hold(cases: Iterable[Case]) -> bool:
    return all(case.holds for case in cases)
