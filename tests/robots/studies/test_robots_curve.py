"""What the page on the switching curve computes and claims."""

import numpy as np
import pytest

from analysis.robots.curve import check
from analysis.robots.studies import robots_curve as study


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
