"""The index as it is printed, where it holds, and the formulas of section 6."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import (
    Sources,
    four_sources,
    long_run_cycle,
    whittle_index,
    whittle_index_at_age,
)
from analysis.ephemeral.theory.formula import (
    count_passages,
    index_as_maximum,
    orbit,
    printed_eta,
    printed_index,
    run_from_above,
)


def test_printed_theorem_below_limit():
    sources = four_sources()
    x = np.linspace(0, 0.999, 500)[:, None] * sources.u_star
    np.testing.assert_allclose(
        printed_index(sources, x), whittle_index(sources, x), rtol=1e-9, atol=1e-9
    )


def test_printed_theorem_from_limit():
    sources = four_sources()
    for share in (1.0 + 1e-12, 1.5, 4.0):
        np.testing.assert_array_equal(printed_index(sources, share * sources.u_star), 0)


def test_remark_holds_on_orbit():
    sources = four_sources()
    ages = np.arange(1, 9)[:, None] * np.ones(4)
    states = sources.state_at_age(ages)
    short = ages * ((1 - sources.alpha) * states - sources.u) + states  # eta is the age
    np.testing.assert_allclose(short, whittle_index_at_age(sources, ages), rtol=1e-9)
    between = sources.state_at_age(ages + 0.5)
    off = np.abs(printed_index(sources, between, "remark") - whittle_index(sources, between))
    assert (off.max(axis=0) > 0.05 * sources.u_star).all()


def test_the_ceiling_flips_on_computed_orbits():
    sources = Sources(np.ones(400), np.ones(400), np.geomspace(0.01, 2, 400))
    eta = printed_eta(sources, orbit(sources, 6))
    flipped = eta != np.arange(1, 7)[:, None]
    assert flipped.mean() > 0.2
    assert (eta - np.arange(1, 7)[:, None])[flipped].max() == 1


def test_an_orbit_is_the_closed_form():
    sources = four_sources()
    ages = np.arange(1, 31)[:, None] * np.ones(4)
    np.testing.assert_allclose(orbit(sources, 30), sources.state_at_age(ages), rtol=1e-12)


@settings(max_examples=100)
@given(st.floats(0.02, 20), st.floats(0.01, 100), st.floats(0, 0.999), st.floats(0.2, 5))
def test_index_is_maximum_of_lines(decay, rate, share, cost):
    source = Sources([rate], [1.0], [decay], cost=cost)
    state = share * source.u_star
    np.testing.assert_allclose(
        index_as_maximum(source, state), whittle_index(source, state), rtol=1e-9, atol=1e-12 * rate
    )


def test_printed_index_never_crawls_above():
    sources = four_sources()
    above = np.array([0.01, -200.0, -50.0, -50.0])
    reward, crawls = run_from_above(sources, 1, above, 400, above="printed")
    assert crawls[0] == 0
    own, crawls = run_from_above(sources, 1, above, 400)
    assert crawls[0] == 200
    long_run = long_run_cycle(sources, "whittle", 1).average_reward
    assert own[200:].mean() == pytest.approx(long_run, rel=1e-9)
    assert reward[200:].mean() < 0.9 * long_run


def test_passages_from_zero_and_u():
    arms = four_sources()
    goals = np.random.default_rng(2).uniform(0.001, 0.999, (50, 1)) * arms.u_star
    eta = np.ceil(np.log1p(-goals / arms.u_star) / -arms.decay)
    np.testing.assert_array_equal(count_passages(arms, goals, fresh=False), eta)
    np.testing.assert_array_equal(count_passages(arms, goals, fresh=True), eta - 1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda four: printed_index(four, np.ones(4), "short"), "form"),
        (lambda four: index_as_maximum(four, np.full(4, 999.0)), "state"),
        (lambda four: run_from_above(four, 5, np.zeros(4), 9), "budget"),
        (lambda four: run_from_above(four, 1, np.zeros(3), 9), "excess"),
        (lambda four: count_passages(four, 2 * four.u_star, fresh=True), "state"),
        (lambda four: count_passages(four, np.zeros(4), fresh=True), r"state\[0\] must"),
    ],
)
def test_wrong_input_is_named(call, name):
    with pytest.raises(ValueError, match=name):
        call(four_sources())
