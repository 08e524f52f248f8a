"""Lines of the proof that a floor of crawls at two kinds of ages is enough, one by one."""

import itertools
import math

import numpy as np
import pytest


def exponential_phi(mean, reach):
    """The phi of exponential worths for |s| <= reach/phi."""
    return mean / (1 / reach - 1 / math.expm1(reach))


def test_contents_of_exponential_worths_have_light_tails():
    """log E e^{sX} = (rate/mu) log[(1 - s xi e^{-mu k})/(1 - s xi)] <= (m/phi)(e^{s phi} - 1)."""
    rng = np.random.default_rng(1)
    for _ in range(4000):
        mu, xi, reach, rate = np.exp(rng.uniform((-6, -2, 0, -2), (3, 2, 2.5, 3)))
        k, phi = int(rng.integers(1, 40)), exponential_phi(xi, reach)
        s = rng.uniform(-1, 1) * reach / phi
        assert s * xi < 1
        here = rate / mu * (math.log1p(-s * xi * math.exp(-mu * k)) - math.log1p(-s * xi))
        content = rate * xi / mu * -math.expm1(-mu * k)
        assert here <= content / phi * math.expm1(s * phi) * (1 + 1e-9) + 1e-9 * content
    assert exponential_phi(1.0, 1.0) == pytest.approx(2.39, abs=5e-3)


def test_exponential_worths_at_any_age_have_the_inequality_of_the_chord():
    """E r^{v/phi} <= 1 + E v (r - 1)/phi, also at ages where log r exceeds its bound w at age 0."""
    ages = np.linspace(0, 60, 4001)  # in units of 1/mu
    for reach in np.geomspace(1, 12, 60):
        z = reach + ages
        needed = np.exp(-ages) / (1 / z - 1 / np.expm1(z))
        assert needed.max() <= exponential_phi(1.0, reach) * (1 + 1e-12)
        phi, mean = exponential_phi(1.0, reach), np.exp(-ages)
        for log_r in (z, reach - ages, np.minimum(reach - ages, 0), -z, -30 * z):
            s = log_r / phi * mean
            left = s / (1 - s)
            assert (s < 1).all()
            assert (left <= mean / phi * np.expm1(log_r) * (1 + 1e-9) + 1e-12).all()


def test_the_likelihood_with_its_distance_is_a_supermartingale():
    """With log E e^{sX} = (m0/phi)(e^{s phi} - 1) the exponent of one crawl is 0 exactly."""
    rng = np.random.default_rng(2)
    m, m0, phi = np.exp(rng.uniform(-5, 5, (3, 1000)))
    s = np.log(m / m0) / (2 * phi)
    moved = m0 / phi * np.expm1(s * phi) - (m - m0) / (2 * phi)
    added = (np.sqrt(m) - np.sqrt(m0)) ** 2 / (2 * phi)
    assert (np.abs(moved + added) <= 1e-12 * (m + m0) / phi).all()


def test_a_content_moves_by_at_most_twice_the_distance_of_logarithms():
    rng = np.random.default_rng(3)
    mu, k, far = (
        np.exp(rng.uniform(-6, 3, 2000)),
        rng.integers(1, 60, 2000),
        rng.uniform(0, 1, 2000),
    )
    moved = np.log(np.expm1(-mu * np.exp(far) * k) / np.expm1(-mu * k))
    assert (moved <= far * (1 + 1e-9)).all()  # and log u* by as much again
    assert (moved >= 0).all()


def test_a_net_point_is_near_in_likelihood():
    """6 eta u t for the contents and (e^{2 eta} - 1) u t for the means stay below phi."""
    share = np.linspace(1e-6, 0.5, 1000)  # eta, at most a half; phi = 10 eta u t
    assert (6 * share + np.expm1(2 * share) <= 10 * share).all()


@pytest.mark.parametrize(("size", "budget"), [(2, 1), (3, 2), (5, 2), (6, 1), (4, 4)])
def test_epochs_that_the_floor_disturbs_are_as_few_as_counted(size, budget):
    """Whatever the indices are; and in all others each source has f crawls of both kinds."""
    rng = np.random.default_rng(size)
    for wild, horizon in itertools.product((False, True), (60, 600)):
        age, young, older = np.ones(size, int), np.zeros(size, int), np.zeros(size, int)
        fixed, disturbed = rng.permutation(size) / size, 0
        for t in range(1, horizon + 1):
            f = math.log1p(t) ** 1.5
            first, both = age == 1, (young < f) | (older < f)
            due = np.where(first, young < f, both)
            held = first & (young >= f) & (older < f)
            if not (due.any() or held.any()):
                assert (young >= f).all()
                assert (older >= f).all()
            values = rng.random(size) if wild else fixed
            order = np.lexsort((-values, ~(due & first), ~due))
            crawled = [i for i in order if not held[i]][:budget]
            disturbed += bool(due[crawled].any() or held.any())
            assert not due.any() or due[crawled].any()
            young[crawled] += first[crawled]
            older[crawled] += ~first[crawled]
            age += 1
            age[crawled] = 1
        assert disturbed <= size * (4 * math.ceil(math.log1p(horizon) ** 1.5) + 2)
