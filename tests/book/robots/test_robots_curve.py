"""The switching curve: computations and claims of the page."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.robots.curve import ReducedQueue, optimal_sequence
from analysis.robots.curve.reduced import generate_curves
from analysis.robots.curve.values import curve_line
from book.robots import robots_curve as page
from book.robots import shared
from tests.support import assert_turns, verdicts


@pytest.fixture(scope="module")
def found():
    return page.Checks(
        statements=page.count_statement_checks(6, 40, 1),
        sequence=optimal_sequence(4, 0.3, 1.0, 3),
        ends=page.compare_ends(4, 0.2, [2, 5]),
        weights=page.find_table_weights(),
        shared=page.follow_shared_line(),
        strange=3,
    )


def test_conjecture_holds_and_is_proved(found):
    (claim,) = page.claims(found)
    assert verdicts([claim]) == {"D-suspect": "holds under"}
    assert claim.basis == "proved, machine-checked"
    assert claim.proof == "curve-theorem"
    assert (shared.require_checks(page.list_checks(found))["checked"] == "holds").all()


def test_shared_line_turns_verdict(monkeypatch, found):
    # The same code on concave rates: the statement on columns fails, and optima are no curves.
    line = curve_line(page.SHARED, 3, (2, 2, 2))
    _, end = line.optimal_range()
    monkeypatch.setattr(page, "draw_optima", lambda seed, number: [line.at(end)])
    statements = page.count_statement_checks(1, 10, 1)
    failed = statements["of them true"] < statements["at optima"]
    assert failed[failed].index.tolist() == ["Columns"]
    sequence = optimal_sequence(3, [0.0, 3.0, 3.1, 3.2], 1.0, 3)
    for wrong in ({"statements": statements}, {"sequence": sequence}):
        assert_turns(page.claims, found, replace(found, **wrong), ["D-suspect"])


def test_steep_curve_turns_verdict(found):
    weights = found.weights.assign(**{"largest fall": 2})
    assert_turns(page.claims, found, replace(found, weights=weights), ["D-suspect"])


def test_failed_check_stops_page(found):
    wrong_ends = found.ends.assign(**{"as the search": False})
    for wrong in (
        {"strange": 0}, {"ends": wrong_ends},
        {"shared": replace(found.shared, failing=("Rows", "Columns"))},
        {"shared": replace(found.shared, high=found.shared.low)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^checks "):
            shared.require_checks(page.list_checks(replace(found, **wrong)))


def test_table_weights_within_ranges(found):
    assert len(found.weights) == 45
    assert (found.weights["from"] <= found.weights["γ"]).all()
    assert (found.weights["γ"] <= found.weights["to"]).all()


def test_shared_line_often_has_no_curve(found):
    assert page.count_shared_lines(30, 3, np.random.default_rng(0)) > 5
    assert page.count_shared_lines(5, 1, np.random.default_rng(0)) == 0
    assert (found.shared.low, found.shared.high) == pytest.approx((40.660, 44.330), abs=1e-3)
    assert found.shared.above > 0


def test_gentle_curves_are_counted():
    assert [page._count_gentle_curves(n, n + 2) for n in (1, 2, 5)] == [1, 3, 31]
    for robots, capacity in ((4, 2), (5, 3), (6, 1)):
        queue = ReducedQueue(robots, capacity)
        listed = sum(1 for _ in generate_curves(queue, "gentle"))
        assert page._count_gentle_curves(robots, capacity) == listed


def test_policy_iteration_evaluates_few_policies():
    table = page.count_evaluated_policies(5)
    assert (table["ratio"] > 1).all()


def test_values_along_curve_are_optimal():
    values = page.list_optimum_steps(7, 0.3, 5, 3.0)
    steps = page.list_curve_values(values)
    assert values.is_optimal
    assert (steps["F"] < steps["A"]).all()
    assert steps["f(r)"].tolist() == list(values.curve)


def test_index_sentence_follows_index():
    rising = np.array([[0.0, 0.1, 0.2], [0.3, 0.5, 0.9], [1.0, 2.0, np.inf]])
    assert page.index_rises(rising)
    assert not page.index_rises(rising[::-1])
    assert not page.index_rises(rising[:, ::-1])


def test_least_index_is_positive():
    assert page.least_index_above(6, 0.1, 2) > 0
