"""What the page on the switching curve computes and claims."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.results import NotConverged
from analysis.robots import RobotControl
from analysis.robots.curve import ReducedQueue, optimal_sequence
from analysis.robots.curve.reduced import generate_curves
from analysis.robots.curve.values import curve_line
from analysis.robots.studies.robots_bounds.experiment import require
from analysis.robots.studies.robots_curve import claims, experiment, numbers
from tests.support import assert_turns, verdicts


@pytest.fixture(scope="module")
def found():
    return claims.Checks(
        statements=experiment.statement_checks(6, 40, 1),
        sequence=optimal_sequence(4, 0.3, 1.0, 3),
        ends=experiment.ends(4, 0.2, [2, 5]),
        weights=experiment.table_weights(),
        shared=experiment.shared_line(),
        strange=3,
    )


def test_the_conjecture_holds_and_is_proved(found):
    (claim,) = claims.claims(found)
    assert verdicts([claim]) == {"D-suspect": "holds under"}
    assert claim.basis == "proved, machine-checked"
    assert claim.proof == "curve-theorem"
    assert (require(claims.checked(found))["checked"] == "holds").all()


def test_robots_that_share_a_line_turn_the_verdict(monkeypatch, found):
    # The same code on concave rates: the statement on columns fails, and optima are no curves.
    line = curve_line(experiment.SHARED, 3, (2, 2, 2))
    _, end = line.optimal_range()
    monkeypatch.setattr(experiment, "draw_optima", lambda seed, number: [line.at(end)])
    statements = experiment.statement_checks(1, 10, 1)
    failed = statements["of them true"] < statements["at optima"]
    assert failed[failed].index.tolist() == ["Columns"]
    sequence = optimal_sequence(3, [0.0, 3.0, 3.1, 3.2], 1.0, 3)
    for wrong in ({"statements": statements}, {"sequence": sequence}):
        assert_turns(claims.claims, (found,), (replace(found, **wrong),), ["D-suspect"])


def test_a_curve_that_falls_by_two_turns_the_verdict(found):
    weights = found.weights.assign(**{"largest fall": 2})
    assert_turns(claims.claims, (found,), (replace(found, weights=weights),), ["D-suspect"])


def test_a_check_that_fails_stops_the_page(found):
    wrong_ends = found.ends.assign(**{"as the search": False})
    for wrong in (
        {"strange": 0}, {"ends": wrong_ends},
        {"shared": replace(found.shared, failing=("Rows", "Columns"))},
        {"shared": replace(found.shared, high=found.shared.low)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="checks must hold"):
            require(claims.checked(replace(found, **wrong)))


def test_the_weights_of_the_tables_lie_within_their_ranges(found):
    assert len(found.weights) == 45
    assert (found.weights["from"] <= found.weights["γ"]).all()
    assert (found.weights["γ"] <= found.weights["to"]).all()


def test_robots_that_share_a_line_often_have_no_curve(found):
    assert experiment.shared_lines(30, 3, np.random.default_rng(0)) > 5
    assert experiment.shared_lines(5, 1, np.random.default_rng(0)) == 0
    assert (found.shared.low, found.shared.high) == pytest.approx((40.660, 44.330), abs=1e-3)
    assert found.shared.tied == 0 < found.shared.above


def test_gentle_curves_are_counted():
    assert [experiment._gentle(n, n + 2) for n in (1, 2, 5)] == [1, 3, 31]
    for robots, capacity in ((4, 2), (5, 3), (6, 1)):
        queue = ReducedQueue(robots, capacity)
        listed = sum(1 for _ in generate_curves(queue, "gentle"))
        assert experiment._gentle(robots, capacity) == listed


def test_policy_iteration_evaluates_fewer_policies_than_there_are_boxes():
    table = experiment.policies_evaluated(5)
    assert (table["ratio"] > 1).all()


def test_values_along_the_curve_are_those_of_the_optimum():
    values = experiment.steps_of_an_optimum(7, 0.3, 5, 3.0)
    steps = experiment.along_the_curve(values)
    assert values.is_optimal
    assert (steps["F"] < steps["A"]).all()
    assert steps["f(r)"].tolist() == list(values.curve)


def test_fast_robots_are_followed_in_fractions_or_refused_by_name():
    sequence = experiment.sequence_of(24, 10.0, 3)
    assert all(isinstance(point, float) for point in sequence.breakpoints)
    assert sequence.are_curves
    for weight in (0.01, 1.0, 1e3, 1e6):
        gain = RobotControl(24, 10.0, 1.0, 3, weight).solve().gain
        assert sequence.gain(weight) == pytest.approx(gain, rel=1e-9)
    with pytest.raises(NotConverged, match=r"arrival_rate = 10 .* robots = 40 and capacity = 30"):
        experiment.sequence_of(40, 10.0, 30)


def test_the_words_on_the_index_follow_from_it():
    rising = np.array([[0.0, 0.1, 0.2], [0.3, 0.5, 0.9], [1.0, 2.0, np.inf]])
    assert experiment.index_rises(rising)
    assert not experiment.index_rises(rising[::-1])
    assert not experiment.index_rises(rising[:, ::-1])


def test_the_least_index_of_the_solution_is_positive():
    assert numbers.least_index_above(6, 0.1, 2) > 0
