"""The closed form of the index against its definition: in high precision, and by a solver."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import (
    Sources,
    four_sources,
    index_by_definition,
    whittle_index,
    whittle_index_at_age,
)
from analysis.mdp.cycles import maximum_mean_cycle
from tests.ephemeral.sets import index_in_mpmath

DECAYS = (1e-100, 1e-14, 1e-10, 1e-3, 0.5, 5.0, 1e3, 1e100)


@pytest.mark.parametrize("decay", DECAYS)
def test_index_equals_definition(decay):
    sources = Sources([3.0], [2.0], [decay], cost=[1.0001])
    u, limit = sources.u[0], sources.u_star[0]
    shares = [1e-9, 0.3, 1 - 1e-6, 1.0, 1.5, 2.0, *np.random.default_rng(0).random(4)]
    for state in [0.0, 1e-20 * u, u, u * (1 - 1e-15), 7.5 * u, *(limit * s for s in shares)]:
        truth = float(index_in_mpmath(decay, state, limit) / mpmath.mpf(1.0001))
        assert whittle_index(sources, [state])[0] == pytest.approx(truth, rel=1e-12)
        defined = index_by_definition(sources, [state], digits=np.int64(40))[0]
        assert defined == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("decay", DECAYS)
def test_index_at_age_equals_theorem(decay):
    sources = Sources([3.0], [2.0], [decay], cost=[1.0001])
    for age in (0, 1, 2, 3, 10, 1000, 10**9, 10**15):
        with mpmath.workdps(300):
            state = -mpmath.expm1(-mpmath.mpf(decay) * age)  # a share of u*
            step = -mpmath.expm1(-mpmath.mpf(decay))
            truth = age * (step * state - step) + state  # Theorem 1 at eta = k
            truth *= mpmath.mpf(float(sources.u_star[0])) / mpmath.mpf(1.0001)
        found = whittle_index_at_age(sources, [age])[0]
        assert found == pytest.approx(float(truth), rel=4e-14)


@settings(max_examples=200)
@given(
    st.floats(-10, np.log10(50)).map(lambda e: 10**e),
    st.floats(1e-3, 1e3),
    st.one_of(
        st.floats(-12, 0).map(lambda e: 10**e),
        st.floats(0.01, 3),
        st.sampled_from([1.0, 1 - 1e-15, 1 + 1e-15, 1 - 1e-9]),
    ),
    st.floats(0.1, 10),
)
def test_index_equals_decimal_definition(decay, rate, share, cost):
    source = Sources([rate], [1.0], [decay], cost=cost)
    state = share * source.u_star
    defined = index_by_definition(source, state)
    np.testing.assert_allclose(whittle_index(source, state), defined, rtol=1e-9, atol=0)


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
def test_generic_solver_finds_same_subsidy(arm, share):
    sources = four_sources()
    state = share * sources.u_star[arm]
    expected = whittle_index(sources, np.full(4, state))[arm]
    assert index_by_solver(sources, arm, state) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("state", "digits", "name"),
    [
        ([1.0, 2.0], 60, "state"),
        ([1.0, 2.0, 3.0, -1.0], 60, r"state\[3\]"),
        ([1.0] * 4, 16, "digits"),
    ],
)
def test_wrong_input_is_named(state, digits, name):
    with pytest.raises(ValueError, match=name):
        index_by_definition(four_sources(), state, digits=digits)
