"""Value functions, lemmas and the printed equations of sections 4 and 5."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, whittle_index
from analysis.ephemeral.theory.equations import (
    average_value,
    constant_policies,
    crawl_advantage,
    discounted_value,
    ends_of_interval,
    equation_residuals,
    finite_horizon_checks,
    finite_horizon_value,
    gain_by_solver,
    lemma_checks,
    tie_residuals,
    value_at_gain,
)

DECAYS = [0.01, 0.05, 0.21, 0.7, 2.0, 4.0]
SUBSIDIES = [0.001, 0.02, 0.1, 0.3, 0.6, 0.9, 0.99]
DISCOUNTS = [0.3, 0.9, 0.99, 0.9999]
HOLD = [
    "lipschitz",
    "discounted_monotone",
    "discounted_convex",
    "vanishing_discount",
    "monotone",
    "convex",
    "slope",
    "threshold",
    "gain",
]
X = np.linspace(0, 1, 41)


@pytest.mark.parametrize("decay", [0.1, 0.7, 3.0])
@pytest.mark.parametrize("subsidy", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("discount", [0.5, 0.95])
def test_value_functions_solve_their_equations(decay, subsidy, discount):
    x = np.linspace(0, 1, 57)
    following = 1 - (1 - x) * np.exp(-decay)
    fresh = np.array([-np.expm1(-decay)])
    value = discounted_value(decay, subsidy, discount, x)
    wait = subsidy + discount * discounted_value(decay, subsidy, discount, following)
    crawl = x + discount * discounted_value(decay, subsidy, discount, fresh)
    np.testing.assert_allclose(value, np.maximum(wait, crawl), rtol=1e-12)
    value, gain = average_value(decay, subsidy, x)
    wait = subsidy + average_value(decay, subsidy, following)[0]
    np.testing.assert_allclose(value + gain, np.maximum(wait, x), atol=1e-12)
    assert average_value(decay, subsidy, fresh)[0] == pytest.approx(0, abs=1e-12)


def test_lemmas_hold_over_a_wide_grid():
    table = lemma_checks(DECAYS, SUBSIDIES, DISCOUNTS, points=40)
    assert len(table) == len(DECAYS) * len(SUBSIDIES)
    for column in HOLD:
        assert (table[column] > -1e-7).all(), column
    assert (table["nested"].dropna() > 0).all()


def test_a_wrong_statement_would_be_seen():
    """The constant that the report prints in the proof of Lemma 1 (2) does not bound the slope."""
    table = lemma_checks([0.05, 0.21], [0.1, 0.5], [0.99])
    assert (table["printed_constant"] < -0.01).all()


def test_gain_exceeds_constant_policies():
    """lambda_M = gamma(u) is the smaller end; the report prints the interval the other way."""
    table = lemma_checks([0.3], list(np.linspace(0.01, 0.99, 50)), [0.9])
    first = float(-np.expm1(-0.3)) ** 2
    inside = table["subsidy"] > first
    assert (table["gain"][inside] > 0).all()
    np.testing.assert_allclose(table["gain"][~inside], 0, atol=1e-14)


def test_advantage_changes_sign_at_index():
    for decay in DECAYS:
        source = Sources([decay], [1.0], [decay])
        x = np.linspace(1.001 * -np.expm1(-decay), 0.999, 15)
        for state in x:
            index = whittle_index(source, [state])[0]
            assert crawl_advantage(decay, 0.999 * index, state) > 0
            assert crawl_advantage(decay, min(1.001 * index, 0.9999), state) < 0


@pytest.mark.parametrize(
    ("decay", "age"), [(0.05, 1), (0.05, 6), (0.7, 1), (0.7, 2), (0.7, 6), (3.0, 2)]
)
def test_advantage_near_index(decay, age):
    """A little below the index, crawling now gains (gamma - lambda) / eta."""
    sources = Sources([decay], [1.0], [decay])
    before, after = -np.expm1(-decay * np.array([age - 1.0, age]))
    state = 0.3 * before + 0.7 * after  # off the orbit; eta is the age
    gamma = float(whittle_index(sources, [state])[0])
    less = 1e-5 * gamma
    advantage = float(crawl_advantage(decay, gamma - less, state))
    assert advantage == pytest.approx(less / age, rel=1e-4)


@pytest.mark.parametrize("decay", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("subsidy", [0.02, 0.4, 1.3])
@pytest.mark.parametrize("last", ["crawl", "best"])
def test_finite_horizons_tend_to_value(decay, subsidy, last):
    discount = 0.8
    limit = discounted_value(decay, subsidy, discount, X)
    start = np.abs(finite_horizon_value(decay, subsidy, discount, 0, X, last=last) - limit).max()
    for horizon in (1, 5, 40):
        found = finite_horizon_value(decay, subsidy, discount, horizon, X, last=last)
        assert np.abs(found - limit).max() <= discount**horizon * start + 1e-12


def test_finite_horizon_beats_all_controls():
    decay, subsidy, discount, horizon, x = 0.4, 0.3, 0.9, 6, 0.25
    best = -np.inf
    for code in range(2 ** (horizon + 1)):
        content, total = x, 0.0
        for epoch in range(horizon + 1):
            crawl = code >> epoch & 1
            total += discount**epoch * (content if crawl else subsidy)
            content = -np.expm1(-decay) + (0 if crawl else np.exp(-decay) * content)
        best = max(best, total)
    found = finite_horizon_value(decay, subsidy, discount, horizon, x, last="best")
    assert found == pytest.approx(best, rel=1e-14)


@pytest.mark.parametrize("decay", [0.05, 0.35, 2.0])
@pytest.mark.parametrize("subsidy", [-0.5, 0.0, 0.1, 0.5, 0.95])
def test_gain_by_a_generic_solver(decay, subsidy):
    assert gain_by_solver(decay, subsidy) == pytest.approx(
        average_value(decay, subsidy, X)[1], rel=1e-12
    )


@pytest.mark.parametrize("gain", [0.35, 0.6, 2.0])
def test_equation_10_alone_has_many_solutions(gain):
    decay, subsidy = 0.7, 0.3
    value = value_at_gain(decay, subsidy, gain, X)
    following = 1 - (1 - X) * np.exp(-decay)
    wait = subsidy + value_at_gain(decay, subsidy, gain, following)
    np.testing.assert_allclose(value + gain, np.maximum(wait, X), atol=1e-12)
    assert abs(float(value_at_gain(decay, subsidy, gain, -np.expm1(-decay)))) > 0.01


def test_true_gain_vanishes_at_u():
    value, gain = average_value(0.7, 0.3, X)
    np.testing.assert_allclose(value_at_gain(0.7, 0.3, gain, X), value, atol=1e-14)
    assert value_at_gain(0.7, 0.3, gain, -np.expm1(-0.7)) == pytest.approx(0, abs=1e-14)


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


def test_ties_agree_with_the_dynamic_program():
    assert max(tie_residuals([0.21, 0.7, 2.0], 20, np.random.default_rng(3))) < 1e-10


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (discounted_value, (0.0, 0.1, 0.9, [0.5]), "decay"),
        (discounted_value, (0.5, 0.1, 1.0, [0.5]), "discount"),
        (average_value, (0.5, 1.0, [0.5]), "subsidy"),
        (average_value, (0.5, 0.1, [1.5]), "state"),
        (finite_horizon_value, (0.7, 0.1, 1.0, 3, X), "discount"),
        (value_at_gain, (0.7, 0.3, 0.3, X), "gain"),
        (gain_by_solver, (0.0, 0.3), "decay"),
        (tie_residuals, ([0.7], 0, 4), "cases"),
    ],
)
def test_wrong_input_is_named(function, arguments, name):
    with pytest.raises(ValueError, match=name):
        function(*arguments)
