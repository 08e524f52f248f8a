from itertools import pairwise

import numpy as np
import pytest

from analysis.ephemeral import Arrivals, Sources, Utility
from analysis.ephemeral.stochastic.index import stochastic_index
from analysis.ephemeral.stochastic.values import (
    average_random_value,
    discount_to_crawl,
    discounted_random_value,
    random_source,
    stopping_value,
)


def one(cost=1.0, rate=3.0):
    return Sources([rate], [1.0], [0.6], cost=[cost])


@pytest.mark.parametrize("law", [Utility(), Utility("deterministic"), Utility("gamma", 9.0)])
def test_lattice_keeps_the_mean(law):
    sources = one()
    source = random_source(sources, 0, law, reach=3.0)  # so short that content passes the end
    following = source.chain @ source.state + source.excess
    np.testing.assert_allclose(following, source.alpha * source.state + source.mean, rtol=1e-10)
    np.testing.assert_allclose(source.chain.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("cost", [1.0, 2.5])
def test_average_value_ties_at_index(cost):
    """Under the index of a state as subsidy, that state is the threshold and gives the gain."""
    sources = one(cost)
    curve = stochastic_index(sources, 0, Utility())
    source = random_source(sources, 0, Utility(), points=300)
    for at in (60, 100):
        solution = average_random_value(source, float(curve.index[at]))
        threshold = source.state[solution.policy == 1][0]
        assert abs(threshold - curve.state[at]) < 0.02 * sources.u_star[0]
        expected = cost * curve.index[at] - curve.waiting[at]
        assert solution.gain == pytest.approx(expected, rel=2e-3)
        assert solution.residual < 1e-9
        assert source.ahead(solution.bias)[0] == pytest.approx(0, abs=1e-12)


def test_discounted_value_is_earned():
    sources, discount = one(), 0.8
    source = random_source(sources, 0, Utility(), points=300)
    solution = discounted_random_value(source, 1.0, discount)
    threshold = source.state[solution.policy == 1][0]
    content = Arrivals(sources).sample(60 * 4000, np.random.default_rng(5)).reshape(4000, 60)
    x, earned = np.full(4000, 1.2), np.zeros(4000)
    for t in range(60):
        crawl = x >= threshold
        earned += discount**t * np.where(crawl, x, 1.0)
        x = np.where(crawl, 0.0, source.alpha * x) + content[:, t]
    value = np.interp(1.2, source.state, solution.values)
    assert abs(earned.mean() - value) < 4 * earned.std() / np.sqrt(4000)


def test_waiting_raises_stopping_value():
    source = random_source(one(), 0, Utility())
    values = [stopping_value(source, g) for g in (-1.0, -0.5, -0.2)]
    for less, more in pairwise(values):
        assert (more >= less - 1e-12).all()
        assert (more >= source.state).all()


@pytest.mark.parametrize("cost", [1.0, 2.5])
def test_stopping_value_at_optimal_price(cost):
    """W = V + beta when g = C lambda - beta: one solves for stopping, one for the average."""
    source = random_source(one(cost), 0, Utility(), points=200)
    subsidy = 0.4 * source.state[-1] / 8 / cost
    solution = average_random_value(source, subsidy)
    value = stopping_value(source, cost * subsidy - solution.gain)
    np.testing.assert_allclose(value, solution.bias + solution.gain, rtol=1e-9)


def test_discount_to_first_crawl():
    sources, factor = one(), 0.7
    source = random_source(sources, 0, Utility(), points=300)
    policy = (source.state >= 4.0).astype(int)
    content = Arrivals(sources).sample(60 * 4000, np.random.default_rng(6)).reshape(4000, 60)
    x, waits = np.full(4000, 1.0), np.zeros(4000)
    waiting = x < 4.0
    for t in range(60):
        waits += waiting
        x = source.alpha * x + content[:, t]
        waiting &= x < 4.0
    expected = (factor**waits).mean()
    found = np.interp(1.0, source.state, discount_to_crawl(source, policy, factor))
    assert found == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: random_source(one(), 1, Utility()), "arm"),
        (lambda s: random_source(one(), 0, Utility("pareto", tail_index=1.5)), "second moment"),
        (lambda s: discounted_random_value(s, 1.0, 1.0), "discount"),
        (lambda s: stopping_value(s, 0.0), "waiting"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(random_source(one(), 0, Utility(), points=40))
