"""The rows of the two tables: conventions, and what holds in each."""

import pytest

from analysis.robots.studies.robots_tables import read_gamma, table_1_row, table_2_row


def test_printed_weights_that_round_the_critical_one_stand_for_it():
    assert read_gamma("1.13", 15) == 17 / 15
    assert read_gamma("1.4", 5) == 1.4
    assert read_gamma("1.2", 10) == 1.2
    assert read_gamma("0.4", 15) == 0.4


@pytest.mark.parametrize("gamma", ["0.4", "1.13", "2.4"])
def test_rows_agree_with_each_other(gamma):
    weight = read_gamma(gamma, 15)
    capped, free = table_1_row(0.1, 15, weight), table_2_row(0.1, 15, weight)
    assert capped.static_cost == free.static_cost
    assert free.optimal_cost < capped.optimal_cost < capped.static_cost
    assert capped.stopped_cost == pytest.approx(capped.optimal_cost, abs=1e-4)
    assert capped.min_robots < capped.mean_robots < capped.static_robots
