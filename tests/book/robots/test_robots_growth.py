"""The growth of the switching curve: computations and statements of the page."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from analysis.robots import RobotControl
from analysis.robots.curve import ReducedQueue, growth, optimal_sequence
from analysis.robots.curve.growth import newly_addable_boxes
from analysis.robots.curve.reduced import addable_boxes, generate_curves
from book.robots import robots_growth as page
from book.robots import shared


@pytest.fixture(scope="module")
def found():
    return page.Checks(
        orders=page.find_orders(3, 3, [0.1, 1.0]),
        live=page.check_small_fleets(3),
        fleet=growth.largest_checked_fleet(),
        convex=page.check_convex_rates(),
        shorter=page.measure_shortened_passage(),
    )


def test_page_statements_are_checked(found):
    assert (shared.require_checks(page.list_checks(found))["checked"] == "holds").all()


def test_failed_check_stops_page(found):
    negative = found.live.assign(**{"with a negative coefficient": 1})
    for wrong in (
        {"fleet": 8}, {"shorter": -1.0}, {"live": negative},
        {"orders": replace(found.orders, only_added=False)},
        {"convex": replace(found.convex, holds=False)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^checks "):
            shared.require_checks(page.list_checks(replace(found, **wrong)))


@pytest.mark.parametrize(("robots", "capacity", "rate"), [(3, 3, 0.1), (4, 2, 2.0), (2, 5, 8.0)])
def test_box_starts_at_its_index(robots, capacity, rate):
    table = page.find_orders(robots, capacity, [rate]).table
    finite = np.sort(table.loc[(table["index"] > 0) & np.isfinite(table["index"]), "index"])
    assert (np.diff(table.sort_values("order")["index"].dropna()) >= 0).all()
    for weight in np.sqrt(finite[:-1] * finite[1:])[np.diff(np.log(finite)) > 1e-6]:
        policy = RobotControl(robots, rate, 1.0, capacity, float(weight)).solve().policy
        started = [bool(policy[q, r]) for q, r in zip(table["q"], table["r"], strict=True)]
        assert started == (table["index"] <= weight).tolist()


def test_order_depends_on_rate():
    assert page.find_orders(3, 3, [0.1, 1.0]).different == 2
    assert page.find_orders(3, 3, [1.0]).different == 1


def test_shared_line_gives_up_curves(monkeypatch):
    # Concave rates: the same code finds optima that are no curves.
    sequence = optimal_sequence(3, [0.0, 3.0, 3.1, 3.2], 1.0, 3)
    monkeypatch.setattr(page, "solve_sequence", lambda *_: sequence)
    assert not page.find_orders(3, 3, [3.0]).only_added


def test_grown_fleet_is_largest_checked():
    assert growth.largest_checked_fleet() == growth.ON_THE_WAY == page.GROWN


@pytest.mark.parametrize(
    ("robots", "capacity", "grown"), [(6, "4", 5), (9, ">= 9", 8), (2, ">= 2", 1)]
)
def test_failing_capacity_ends_growth(monkeypatch, tmp_path, robots, capacity, grown):
    written = growth.read_checked_fleets()
    hit = (written["robots"] == robots) & (written["capacity"] == capacity)
    written.loc[hit & (written["looked at"] == "on the way"), "holds"] = False
    written.to_csv(tmp_path / "checked.csv", index=False)
    monkeypatch.setattr(growth, "PROOFS", tmp_path / "checked.csv")
    assert growth.largest_checked_fleet() == grown


def test_growth_meets_few_curves():
    table = page.tabulate_proofs(3)
    assert (table["met on the way"] <= table["falling by 0 or 1"]).all()


def test_convex_rates_checked_at_every_curve(monkeypatch):
    convex = page.check_convex_rates()
    assert convex.holds
    # (i) has a polynomial a box, (ii) one for each box that an addition makes addable.
    places = [
        (queue, c) for queue in (ReducedQueue(2), ReducedQueue(3)) for c in generate_curves(queue)
    ]
    second = sum(
        len(newly_addable_boxes(queue, c, x, "all"))
        for queue, c in places
        for x in addable_boxes(queue, c)
    )
    assert convex.polynomials == sum(len(queue.boxes) for queue, _ in places) + second == 100
    # Three robots of which the second and the third bring little more: one condition fails.
    concave = [0, 3, 4, 5]
    monkeypatch.setattr(
        page, "convex_rates", lambda n, _: lambda x: [rate * x for rate in concave[: n + 1]]
    )
    assert not page.check_convex_rates().holds


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(7, 2)])
def test_solutions_for_two_and_three_robots(rate):
    found = optimal_sequence(2, rate, 1, exact=True).breakpoints
    assert found == (2 * rate / (1 + rate), 1 + 2 * rate)
    low, high = page.find_ties()
    assert page.index_gap(0.9 * low) > 0 > page.index_gap(1.1 * low)
    assert page.index_gap(0.9 * high) < 0 < page.index_gap(1.1 * high)
