import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, whittle_index, whittle_index_at_age
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.theory.definition import (
    index_by_definition,
    index_by_solver,
    simulated_index,
)

decays = st.floats(-10, np.log10(50)).map(lambda e: 10**e)
shares = st.one_of(st.floats(-12, 0).map(lambda e: 10**e), st.floats(0.01, 3))


@settings(max_examples=300)
@given(decays, st.floats(1e-3, 1e3), shares, st.floats(0.1, 10))
def test_closed_form_is_the_definition(decay, rate, share, cost):
    """x anywhere from 1e-12 u* to 3 u*."""
    source = Sources([rate], [1.0], [decay], cost=cost)
    state = share * source.u_star
    defined = index_by_definition(source, state)
    np.testing.assert_allclose(whittle_index(source, state), defined, rtol=1e-9, atol=0)


@settings(max_examples=100)
@given(decays, st.floats(1e-3, 1e3), st.sampled_from([1.0, 1 - 1e-15, 1 + 1e-15, 1 - 1e-9]))
def test_closed_form_is_the_definition_on_the_limit(decay, rate, share):
    source = Sources([rate], [1.0], [decay])
    state = share * source.u_star
    defined = index_by_definition(source, state)
    np.testing.assert_allclose(whittle_index(source, state), defined, rtol=1e-9)


@settings(max_examples=200)
@given(decays, st.integers(1, 50))
def test_closed_form_at_an_age_is_the_definition(decay, age):
    source = Sources([1.0], [1.0], [decay])
    defined = index_by_definition(source, source.state_at_age([age]))
    np.testing.assert_allclose(whittle_index_at_age(source, [age]), defined, rtol=1e-9)


def test_definition_at_an_empty_source_is_nothing():
    np.testing.assert_array_equal(index_by_definition(four_sources(), np.zeros(4)), 0)


@pytest.mark.parametrize("share", [0.2, 0.5034, 0.75, 0.97, 1.0, 1.4])
@pytest.mark.parametrize("arm", [0, 1, 3])
def test_generic_solver_finds_the_same_subsidy(arm, share):
    sources = four_sources()
    state = share * sources.u_star[arm]
    expected = whittle_index(sources, np.full(4, state))[arm]
    assert index_by_solver(sources, arm, state) == pytest.approx(expected, rel=1e-9)


def test_simulated_index_without_much_randomness_is_the_closed_form():
    source = Sources([1e4], [1e-2], [0.7])
    state = float(0.8 * source.u_star[0])
    estimate = simulated_index(
        Arrivals(source, Utility("deterministic")), 0, state, 20_000, np.random.default_rng(1)
    )
    assert estimate.value == pytest.approx(whittle_index(source, [state])[0], rel=5e-3)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (index_by_definition, ([1.0, 2.0],), r"state must have shape \(4,\)"),
        (index_by_definition, ([1.0, 2.0, 3.0, -1.0],), r"state\[3\]"),
        (index_by_solver, (9, 1.0), r"arm must be an integer in \[0, 3\], got 9"),
        (index_by_solver, (0, -1.0), "state must be"),
    ],
)
def test_wrong_input_is_named(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(four_sources(), *arguments)


def test_too_few_ages_digits_and_epochs_are_named():
    with pytest.raises(ValueError, match="ages must be at least 36"):
        index_by_solver(four_sources(), 0, 1.0, ages=5)
    with pytest.raises(ValueError, match="digits must be an integer of at least 40"):
        index_by_definition(four_sources(), np.ones(4), digits=16)
    with pytest.raises(ValueError, match="epochs must be an integer of at least 1000"):
        simulated_index(Arrivals(four_sources()), 0, 1.0, 10, np.random.default_rng(0))
