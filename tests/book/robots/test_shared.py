"""Shared by pages on robots: printed weights, exact sequences, checks that stop a page."""

import pytest

from analysis.results import NotConverged
from analysis.robots.control import RobotControl
from book.robots import shared


@pytest.mark.parametrize(
    ("printed", "capacity", "weight"),
    [("1.13", 15, 17 / 15), ("1.4", 5, 1.4), ("1.2", 10, 1.2), ("0.4", 15, 0.4)],
)
def test_printed_weight_is_critical_one(printed, capacity, weight):
    assert shared.read_gamma(printed, capacity) == weight


def test_fast_robots_solved_in_fractions():
    sequence = shared.solve_sequence(24, 10.0, 3)
    assert all(isinstance(point, float) for point in sequence.breakpoints)
    assert sequence.are_curves
    for weight in (0.01, 1.0, 1e3, 1e6):
        gain = RobotControl(24, 10.0, 1.0, 3, weight).solve().gain
        assert sequence.gain(weight) == pytest.approx(gain, rel=1e-9)


def test_fast_robots_refused_by_name():
    with pytest.raises(NotConverged, match=r"arrival_rate .* robots .* capacity"):
        shared.solve_sequence(40, 10.0, 30)


def test_failed_check_stops_page():
    assert shared.require_checks({"one": True}).loc["one", "checked"] == "holds"
    with pytest.raises(ValueError, match="two"):
        shared.require_checks({"one": True, "two": False})
