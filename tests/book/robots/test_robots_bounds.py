"""Bounds, closed forms and inequalities: the page's checks hold, and fail where they should."""

from fractions import Fraction

import numpy as np

from book.robots import robots_bounds as page


def test_optimum_within_bounds():
    scan = page.compute_bounds(3, 0.4, 3, points=21)
    assert all(page.check_bounds(scan).values())
    below = scan.assign(optimum=0.99 * scan["lower bound"])
    assert not page.check_bounds(below)["within the bounds"]
    convex = scan.assign(optimum=scan["gamma"] ** 2)
    assert not page.check_bounds(convex)["concave in the weight"]
    assert not page.check_bounds(scan.assign(optimum=-scan["gamma"]))["rising in the weight"]


def test_closed_forms_are_exact():
    assert page.count_exact_closed_forms(3, np.random.default_rng(1)) == {
        "one robot": 3,
        "small": 3,
        "large": 3,
    }
    assert max(page.measure_curve_errors(3, 0.4, 3).values()) < 1e-10


def test_step_loses_w_inequality():
    found = page.make_counterexample(Fraction(1, 4))
    assert all(found.before[name] >= 0 for name in ("S", "C", "CU", "W"))
    assert found.after["W"] < 0


def test_inequalities_hold_in_exact_arithmetic():
    seen = page.search_exactly(6, 15, np.random.default_rng(2))
    assert seen.curves == 6
    assert not seen.strange
    said = page.describe_inequalities(seen.slacks)
    assert said.stack().str.startswith("holds").all()
    worse = page.describe_inequalities(seen.slacks - Fraction(1, 10**6))
    assert worse.stack().str.startswith("FAILS").any()


def test_random_optima_are_curves():
    assert page.count_float_curves(20, np.random.default_rng(3)) == 20
