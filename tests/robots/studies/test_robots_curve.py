"""What the page on the switching curve computes and claims."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from analysis.robots.curve import check
from analysis.robots.studies import robots_curve as study
from analysis.robots.studies import robots_curve_exercises as exercises
from tests.support import assert_turns, verdicts


def test_the_proved_fleet_is_the_largest_that_was_checked():
    assert study.largest_proved_fleet() == check.ON_THE_WAY


@pytest.mark.parametrize(
    ("robots", "capacity", "proved"), [(6, "4", 5), (9, ">= 9", 8), (2, ">= 2", 1)]
)
def test_one_capacity_that_fails_ends_the_proof(monkeypatch, tmp_path, robots, capacity, proved):
    written = study.checked_fleets()
    hit = (written["robots"] == robots) & (written["capacity"] == capacity)
    written.loc[hit & (written["looked at"] == "on the way"), "holds"] = False
    written.to_csv(tmp_path / "checked.csv", index=False)
    monkeypatch.setattr(check, "PROOFS", tmp_path / "checked.csv")
    assert study.largest_proved_fleet() == proved


def test_the_weights_of_the_tables_lie_within_their_ranges():
    weights = study.table_weights()
    assert len(weights) == 45
    assert (weights["from"] <= weights["γ"]).all()
    assert (weights["γ"] <= weights["to"]).all()


def test_robots_that_share_a_line_often_have_no_curve():
    assert study.shared_lines(30, 3, np.random.default_rng(0)) > 5
    assert study.shared_lines(5, 1, np.random.default_rng(0)) == 0


@pytest.fixture(scope="module")
def found():
    shorter, _ = study.shortened_passage()
    live = study.live_checks(3)
    return study.Checks(9, live, True, True, True, shorter, False, 3)


def test_the_conjecture_holds_for_small_fleets(found):
    assert verdicts(study.claims(found)) == {"D-suspect": "holds under"}
    assert (study.require(found)["checked"] == "holds").all()


def test_a_condition_that_fails_turns_the_verdict(found):
    negative = found.live.assign(**{"with a negative coefficient": 1})
    for wrong in ({"live": negative}, {"are_curves": False}, {"fleet": 2}):
        assert_turns(study.claims, (found,), (replace(found, **wrong),), ["D-suspect"])


@pytest.mark.parametrize(
    "wrong",
    [{"fleet": 8}, {"grows": False}, {"convex": False}, {"shorter": -1.0},
     {"shared_is_curve": True}, {"strange": 0}],
)  # fmt: skip
def test_a_check_that_fails_stops_the_page(found, wrong):
    with pytest.raises(ValueError, match="checks must hold"):
        study.require(replace(found, **wrong))


def test_growth_meets_few_curves():
    table = study.growth_proofs(3)
    assert (table["met on the way"] <= table["falling by 0 or 1"]).all()
    polynomials, holds = study.convex_checks()
    assert holds
    assert polynomials > 50


def test_the_words_on_the_index_follow_from_it():
    rising = np.array([[0.0, 0.1, 0.2], [0.3, 0.5, 0.9], [1.0, 2.0, np.inf]])
    assert study.index_rises(rising)
    assert not study.index_rises(rising[::-1])
    assert not study.index_rises(rising[:, ::-1])


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(7, 2)])
def test_the_solutions_for_two_and_three_robots(rate):
    assert exercises.two_robots(rate) == (2 * rate / (1 + rate), 1 + 2 * rate)
    low, high = exercises.ties()
    assert exercises.index_gap(0.9 * low) > 0 > exercises.index_gap(1.1 * low)
    assert exercises.index_gap(0.9 * high) < 0 < exercises.index_gap(1.1 * high)
    assert exercises.least_index_above(6, 0.1, 2) > 0
