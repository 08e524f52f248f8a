import numpy as np
import pytest

from analysis.ephemeral import Sources, whittle_index
from analysis.ephemeral.theory.structure import (
    average_value,
    crawl_advantage,
    discounted_value,
    lemma_checks,
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


def test_advantage_changes_sign_at_index():
    for decay in DECAYS:
        source = Sources([decay], [1.0], [decay])
        x = np.linspace(1.001 * -np.expm1(-decay), 0.999, 15)
        for state in x:
            index = whittle_index(source, [state])[0]
            assert crawl_advantage(decay, 0.999 * index, state) > 0
            assert crawl_advantage(decay, min(1.001 * index, 0.9999), state) < 0


def test_gain_exceeds_constant_policies():
    """lambda_M = gamma(u) is the smaller end; the report prints the interval the other way."""
    table = lemma_checks([0.3], list(np.linspace(0.01, 0.99, 50)), [0.9])
    first = float(-np.expm1(-0.3)) ** 2
    inside = table["subsidy"] > first
    assert (table["gain"][inside] > 0).all()
    np.testing.assert_allclose(table["gain"][~inside], 0, atol=1e-14)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (discounted_value, (0.0, 0.1, 0.9, [0.5]), "decay"),
        (discounted_value, (0.5, 0.1, 1.0, [0.5]), "discount"),
        (average_value, (0.5, 1.0, [0.5]), "subsidy"),
        (average_value, (0.5, 0.1, [1.5]), "state"),
    ],
)
def test_wrong_input_is_named(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


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
