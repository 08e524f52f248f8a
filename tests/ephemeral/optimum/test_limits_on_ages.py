"""The relaxed problem with gaps confined to intervals: the least of the dual function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import relaxed_bound, relaxed_problem
from analysis.ephemeral.instances import lognormal_sources


def bound_by_enumeration(sources, budget, least, most, subsidies):
    """The dual function with every allowed age up to 2000 tried."""
    ages = np.arange(1, 2001)[:, None]
    content = sources.state_at_age(ages)
    allowed = (ages >= least) & (ages <= most)
    values = []
    for subsidy in subsidies:
        rate = np.where(allowed, (content - subsidy * sources.cost) / ages, -np.inf).max(axis=0)
        rate = np.where(np.isinf(most), np.maximum(rate, 0), rate)  # or never
        values.append(subsidy * budget + rate.sum())
    return min(values)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.data())
def test_limited_bound_minimises_dual(seed, size, data):
    sources = lognormal_sources(size, np.random.default_rng(seed))
    least = np.array(data.draw(st.lists(st.integers(1, 30), min_size=size, max_size=size)))
    wide = st.sampled_from([0, 3, 50, np.inf])
    most = least + np.array(data.draw(st.lists(wide, min_size=size, max_size=size)))
    load = (1 / most).sum()
    budget = load + data.draw(st.floats(0.01, 1)) * (size - load)
    solution = relaxed_problem(sources, budget, min_age=least, max_age=most)
    subsidies = np.r_[0, solution.subsidy * np.r_[1, np.linspace(0.5, 1.5, 21)]]
    brute = bound_by_enumeration(sources, budget, least, most, subsidies)
    assert solution.bound == pytest.approx(brute, rel=1e-5)
    assert solution.bound <= relaxed_bound(sources, budget)[0] * (1 + 1e-9)
    assert solution.primal == pytest.approx(solution.bound, rel=1e-7)
    assert (solution.age >= least).all()
    assert (solution.age <= most).all()


def test_limits_out_of_range_are_refused():
    sources = lognormal_sources(10, np.random.default_rng(0))
    with pytest.raises(ValueError, match="max_age"):
        relaxed_problem(sources, 1, max_age=5)
    with pytest.raises(ValueError, match="min_age"):
        relaxed_problem(sources, 1, min_age=6, max_age=5)
    with pytest.raises(ValueError, match="whole numbers"):
        relaxed_problem(sources, 1, min_age=1.5)
