"""Each printed equation of sections 4 to 6 against the value functions and counts."""

import numpy as np
import pytest

from analysis.ephemeral import four_sources
from analysis.ephemeral.theory.equations import (
    constant_policies,
    count_passages,
    ends_of_interval,
    equation_residuals,
    finite_horizon_checks,
    tie_residuals,
)


def test_literal_equation_fails():
    worst = equation_residuals([0.05, 0.7, 3.0], [0.1, 0.6], [0.5, 0.95])
    assert worst.literal > 0.01
    for name in ("average", "discounted", "solver", "threshold", "any_gain", "active"):
        assert 0 <= getattr(worst, name) < 1e-9, name


def test_finite_horizons_contract_and_stay_convex():
    start, excess, bend = finite_horizon_checks((0.7,), (0.1, 1.2), (0.3, 0.9))
    assert start == pytest.approx(1.2)  # at x = 0, where passivity earns 1.2
    assert excess < 1e-12
    assert bend > -1e-12


def test_interval_ends_are_indices():
    decay = 0.7
    first = float(np.expm1(-decay) ** 2)
    prices = [first - 1e-6, first + 1e-6, 1 - 1e-6, 1 + 1e-6]
    ends = ends_of_interval(constant_policies([decay], prices)).loc[decay]
    assert ends.lambda_M == prices[0]
    assert ends.lambda_m == prices[3]


def test_passages_from_zero_and_u():
    arms = four_sources()
    goals = np.random.default_rng(2).uniform(0.001, 0.999, (50, 1)) * arms.u_star
    eta = np.ceil(np.log1p(-goals / arms.u_star) / -arms.decay)
    np.testing.assert_array_equal(count_passages(arms, goals, fresh=False), eta)
    np.testing.assert_array_equal(count_passages(arms, goals, fresh=True), eta - 1)


def test_ties_agree_with_the_dynamic_program():
    assert max(tie_residuals([0.21, 0.7, 2.0], 20, np.random.default_rng(3))) < 1e-10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: tie_residuals([0.7], 0, rng), "cases"),
        (
            lambda rng: count_passages(four_sources(), 2 * four_sources().u_star, fresh=True),
            "state",
        ),
        (lambda rng: count_passages(four_sources(), np.zeros(4), fresh=True), r"state\[0\] must"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(4))
