"""The growth criterion: its polynomials against numbers, its counts, and that it can fail."""

from fractions import Fraction

import pandas as pd
import pytest
from flint import fmpz_poly

from analysis.results import NotConverged
from analysis.robots.curve import ReducedQueue, growth, optimal_sequence
from analysis.robots.curve.growth import (
    check_curve,
    convex_rates,
    curve_polynomials,
    map_to_interval,
    prove_growth,
)
from analysis.robots.curve.reduced import add_box, addable_boxes, evaluate_exactly, generate_curves


@pytest.mark.parametrize(("robots", "number"), [(1, 1), (2, 4), (3, 13), (4, 41), (5, 131)])
def test_number_of_curves(robots, number):
    found = list(generate_curves(ReducedQueue(robots)))
    assert len(found) == len(set(found)) == number
    assert len(list(generate_curves(ReducedQueue(robots), "gentle"))) == 2**robots - 1


@pytest.mark.parametrize("family", ["all", "gentle"])
@pytest.mark.parametrize("queue", [ReducedQueue(4), ReducedQueue(5, 2), ReducedQueue(5, 3)])
def test_additions_reach_whole_family(queue, family):
    every = set(generate_curves(queue, family))
    reached, waiting = {queue.lossless_curve()}, [queue.lossless_curve()]
    while waiting:
        curve = waiting.pop()
        for box in addable_boxes(queue, curve, family):
            after = add_box(curve, box)
            assert sum(after) == sum(curve) + 1
            waiting += [after] if after not in reached else []
            reached.add(after)
    assert reached == every


@pytest.mark.parametrize("queue", [ReducedQueue(3), ReducedQueue(4, 2), ReducedQueue(4, 3)])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(7, 2)])
def test_polynomials_match_exact_gaps(queue, rate):
    for curve in list(generate_curves(queue))[::5]:
        found = curve_polynomials(queue, curve)
        exact = evaluate_exactly(queue, queue.curve_policy(curve), 1, queue.linear_rates(rate))

        def at(polynomial):
            value = Fraction(0)
            for coefficient in reversed(polynomial.coeffs()):
                value = value * rate + int(coefficient)
            return value

        scale = at(found.determinant)
        assert scale > 0
        gaps = dict(zip(queue.boxes, zip(exact.losses, exact.times, strict=True), strict=True))
        for box, (loss, time) in gaps.items():
            assert at(found.losses[box]) == scale * loss
            assert at(found.times[box]) == scale * time
        (q, r), x = queue.boxes[0], queue.boxes[-1]
        expected = gaps[q, r][0] * gaps[x][1] - gaps[x][0] * gaps[q, r][1]
        assert at(found.later((q, r), x)) == scale * expected


def test_polynomial_mapped_to_interval():
    polynomial = fmpz_poly([2, -3, 1])  # negative between 1 and 2
    assert min(map_to_interval(polynomial, ((0, 1), (1, 1))).coeffs()) >= 0
    assert max(map_to_interval(polynomial, ((1, 1), (2, 1))).coeffs()) <= 0
    assert min(map_to_interval(polynomial, ((2, 1), (1, 0))).coeffs()) >= 0
    halved = map_to_interval(polynomial, ((1, 2), (4, 3)))  # at s = 1: lambda = 5/5
    assert halved(1) == 0


@pytest.mark.parametrize("robots", [2, 3])
def test_criterion_holds_for_convex_rates(robots):
    queue = ReducedQueue(robots)
    rates = convex_rates(robots, len(queue.states) + 1)
    assert rates(1) == [r * (r + 1) // 2 for r in range(robots + 1)]
    found = [check_curve(queue, curve, rates=rates) for curve in generate_curves(queue)]
    assert all(one.holds for one in found)
    assert sum(one.polynomials for one in found) == {2: 12, 3: 88}[robots]


def test_criterion_fails_for_concave_rates():
    queue = ReducedQueue(3)

    def shared(x):
        return [0, 30 * x, 31 * x, 32 * x]

    found = [check_curve(queue, curve, rates=shared) for curve in generate_curves(queue)]
    assert {kind for one in found for kind, _, _ in one.negative} == {"ii"}


def test_false_growth_is_not_proved(monkeypatch):
    def of_shared(queue, curve):
        return curve_polynomials(queue, curve, lambda x: [0, 30 * x, 31 * x, 32 * x])

    monkeypatch.setattr(growth, "curve_polynomials", of_shared)
    with pytest.raises(NotConverged, match="more than 30 intervals"):
        prove_growth(ReducedQueue(3), max_intervals=30)


def test_criterion_fails_for_nine_robots():
    # A curve that no optimum meets: below a long flat piece one robot more shortens the time.
    queue = ReducedQueue(9)
    curve = (8,) * 8 + (7,)
    found = check_curve(queue, curve, "gentle")
    assert found.negative == [("i", (7, 8), (7, 8))]
    exact = evaluate_exactly(queue, queue.curve_policy(curve), 1, queue.linear_rates(1))
    assert exact.times[queue.boxes.index((7, 8))] < 0


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1), Fraction(6)])
def test_search_meets_optimal_curves(rate):
    queue = ReducedQueue(5)
    search = growth._Search(queue, "gentle", ((0, 1), (1, 0)), {})
    assert search.succeeds()
    found = optimal_sequence(5, rate, 1, exact=True)
    for number in range(len(found)):
        curve = tuple(int(height) - 1 for height in found.policy(number)[:, :-1].sum(axis=0))
        assert curve in search.polynomials_of


def test_divided_intervals_cover_line(monkeypatch):
    monkeypatch.setattr(
        growth._Search, "succeeds", lambda search: sum(sum(search.interval, ())) >= 7
    )
    found = sorted(
        prove_growth(ReducedQueue(2)).intervals, key=lambda ends: ends[0][0] / ends[0][1]
    )
    assert len(found) > 3
    assert (found[0][0], found[-1][1]) == ((0, 1), (1, 0))
    assert [left[1] for left in found[:-1]] == [right[0] for right in found[1:]]


def _compared(rows):
    written = pd.read_csv(growth.PROOFS, dtype={"capacity": str}).drop(columns="code")
    wanted = written[written["robots"].isin({row["robots"] for row in rows})]
    pd.testing.assert_frame_equal(pd.DataFrame(rows), wanted.reset_index(drop=True))


def _rows(robots):
    found = []
    for queue in growth.list_problems(robots):
        if robots <= growth.EVERY_CURVE:
            found.append(growth.check_every_curve(queue))
        found.append(growth.check_on_the_way(queue))
    return found


@pytest.mark.parametrize("robots", [2, 3, 4])
def test_small_fleets_match_record(robots):
    _compared(_rows(robots))


@pytest.mark.slow
@pytest.mark.parametrize("robots", range(5, growth.ON_THE_WAY + 1))
def test_large_fleets_match_record(robots):
    _compared(_rows(robots))


@pytest.mark.slow
def test_instances_match_record():
    found = [
        growth.compute_instance(robots, rate)
        for robots, rates in growth.RATES.items()
        for rate in rates
    ]
    written = pd.read_csv(growth.INSTANCES).drop(columns="code")
    written["arrival rate"] = written["arrival rate"].astype(str)
    pd.testing.assert_frame_equal(pd.DataFrame(found), written)


@pytest.mark.slow
def test_record_has_current_code():
    # Run `python -m analysis.robots.curve.growth` (twenty minutes) after a change of that code.
    for path in (growth.PROOFS, growth.INSTANCES):
        assert set(pd.read_csv(path)["code"]) == {growth.code_hash()}, path.name


def test_record_covers_every_capacity():
    written = pd.read_csv(growth.PROOFS)
    assert written["holds"].all()
    way = written[written["looked at"] == "on the way"]
    for robots in range(2, growth.ON_THE_WAY + 1):
        capacities = way.loc[way["robots"] == robots, "capacity"].astype(str).tolist()
        assert capacities == [*map(str, range(2, robots)), f">= {robots}"]
