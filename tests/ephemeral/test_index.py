import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, whittle_index, whittle_index_at_age

decays = st.floats(-10, np.log10(50)).map(lambda e: 10**e)


def one_source(decay, cost=1.0):
    return Sources([1.0], [1.0], [decay], cost=cost)


def printed_index(decay, state):
    """Theorem 1 as printed, with u* = 1/decay and 60 digits."""
    with mpmath.workdps(60):
        mu, x = mpmath.mpf(decay), mpmath.mpf(state)
        alpha = mpmath.exp(-mu)
        u = (1 - alpha) / mu
        eta = max(1, mpmath.ceil(mpmath.log((u - (1 - alpha) * x) / u) / mpmath.log(alpha)))
        return float(eta * ((1 - alpha) * x - u) + (1 - alpha**eta) / (1 - alpha) * u)


@given(decays, st.integers(1, 1000))
def test_index_at_age_is_theorem_1(decay, age):
    with mpmath.workdps(600):
        mu = mpmath.mpf(decay)
        alpha = mpmath.exp(-mu)
        x = (1 - alpha**age) / mu
        exact = float(age * (1 - alpha) * (x - 1 / mu) + (1 - alpha**age) / mu)
    assert whittle_index_at_age(one_source(decay), [age])[0] == pytest.approx(exact, rel=1e-13)


@given(decays, st.floats(1e-6, 1 - 1e-6))
def test_index_at_state_is_theorem_1(decay, share):
    state = share / decay
    computed = whittle_index(one_source(decay), [state])[0]
    assert computed == pytest.approx(printed_index(decay, state), rel=1e-9)


@given(decays, st.integers(0, 200))
def test_state_and_age_agree(decay, age):
    source = one_source(decay)
    if decay * age < 20:  # beyond, the state is u* to machine precision
        at_state = whittle_index(source, source.state_at_age([age]))[0]
        assert at_state == pytest.approx(
            whittle_index_at_age(source, [age])[0], rel=1e-8, abs=1e-12 / decay
        )


@given(decays, st.floats(0, 3), st.floats(0, 3))
def test_index_increases_with_content(decay, one, other):
    source = one_source(decay)
    low, high = sorted([one / decay, other / decay])
    assert whittle_index(source, [low])[0] <= whittle_index(source, [high])[0] * (1 + 1e-12)


@given(decays, st.floats(0, 3), st.floats(1e-3, 1e3))
def test_index_scales_with_content(decay, share, factor):
    base = whittle_index(one_source(decay), [share / decay])[0]
    scaled = Sources([factor], [1.0], [decay], cost=2.0)
    assert whittle_index(scaled, [factor * share / decay])[0] == pytest.approx(
        factor * base / 2, rel=1e-9
    )


def test_index_above_limit_is_content():
    sources = four_sources()
    np.testing.assert_allclose(whittle_index(sources, 1.5 * sources.u_star), 1.5 * sources.u_star)
    np.testing.assert_allclose(whittle_index(sources, sources.u_star), sources.u_star)


def test_index_rises_to_limit():
    sources = four_sources()
    np.testing.assert_allclose(whittle_index_at_age(sources, [10**6] * 4), sources.u_star)
    np.testing.assert_array_equal(whittle_index_at_age(sources, [0] * 4), 0)


@pytest.mark.parametrize("function", [whittle_index, whittle_index_at_age])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 3, -4], r"\[3\] must be a finite number in \[0, inf\), got -4"),
        ([1, 2], "4 sources"),
    ],
)
def test_wrong_input_is_named(function, values, message):
    with pytest.raises(ValueError, match=message):
        function(four_sources(), values)
