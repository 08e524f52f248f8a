import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.ephemeral import Sources, whittle_index, whittle_index_at_age

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
