import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, whittle_index, whittle_index_at_age
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.theory.definition import index_by_definition, index_from_passages
from analysis.mdp.cycles import maximum_mean_cycle

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
def test_closed_form_at_limit(decay, rate, share):
    source = Sources([rate], [1.0], [decay])
    state = share * source.u_star
    defined = index_by_definition(source, state)
    np.testing.assert_allclose(whittle_index(source, state), defined, rtol=1e-9)


@settings(max_examples=200)
@given(decays, st.integers(1, 50))
def test_closed_form_at_age(decay, age):
    source = Sources([1.0], [1.0], [decay])
    defined = index_by_definition(source, source.state_at_age([age]))
    np.testing.assert_allclose(whittle_index_at_age(source, [age]), defined, rtol=1e-9)


def test_definition_at_empty_source():
    np.testing.assert_array_equal(index_by_definition(four_sources(), np.zeros(4)), 0)


def index_by_solver(sources, arm, state, ages=400, steps=60):
    """The index by bisection on the subsidy, each time with a generic solver.

    The states are the orbit of `state` without a crawl and the orbit that follows a crawl, both cut
    off after `ages` epochs; the last state of each repeats itself.
    """
    decay, cost = float(sources.decay[arm]), float(sources.cost[arm])
    u_star = float(sources.u_star[arm])
    assert decay * ages >= 36
    epochs = np.arange(ages)
    off_orbit = u_star + (state - u_star) * np.exp(-decay * epochs)
    on_orbit = u_star * -np.expm1(-decay * (epochs + 1))
    content = np.concatenate([off_orbit, on_orbit])
    wait = np.arange(1, 2 * ages + 1)
    wait[[ages - 1, 2 * ages - 1]] -= 1
    successors = np.array([wait, np.full(2 * ages, ages)])
    low, high = 0.0, max(state, u_star) / cost
    for _ in range(steps):
        subsidy = 0.5 * (low + high)
        rewards = np.array([np.full(2 * ages, cost * subsidy), content])
        bias = maximum_mean_cycle(successors, rewards, initial_state=ages)[0].bias
        gain_of_crawling = rewards[1, 0] + bias[ages] - rewards[0, 0] - bias[1]
        low, high = (subsidy, high) if gain_of_crawling > 0 else (low, subsidy)
    return 0.5 * (low + high)


@pytest.mark.parametrize("share", [0.2, 0.5034, 0.75, 0.97, 1.0, 1.4])
@pytest.mark.parametrize("arm", [0, 1, 3])
def test_generic_solver_finds_the_same_subsidy(arm, share):
    sources = four_sources()
    state = share * sources.u_star[arm]
    expected = whittle_index(sources, np.full(4, state))[arm]
    assert index_by_solver(sources, arm, state) == pytest.approx(expected, rel=1e-9)


def test_passages_with_little_noise():
    source = Sources([1e4], [1e-2], [0.7])
    state = float(0.8 * source.u_star[0])
    arrivals = Arrivals(source, Utility("deterministic"))
    content = arrivals.sample(20_000, np.random.default_rng(1))[0]
    estimate = index_from_passages(content, float(source.alpha[0]), state)
    assert estimate.value == pytest.approx(whittle_index(source, [state])[0], rel=5e-3)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (index_by_definition, ([1.0, 2.0],), "state"),
        (index_by_definition, ([1.0, 2.0, 3.0, -1.0],), r"state\[3\]"),
    ],
)
def test_wrong_input_is_named(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(four_sources(), *arguments)


def test_too_few_digits_are_named():
    with pytest.raises(ValueError, match="digits"):
        index_by_definition(four_sources(), np.ones(4), digits=16)
