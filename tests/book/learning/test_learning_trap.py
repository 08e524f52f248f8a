"""The trap, the rule at a price, wrong decisions with items, and the proofs of the page."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from analysis.ephemeral import whittle_index_at_age
from book.learning import learning_trap as page


def test_trap_probability_is_positive():
    """Simulated with an interval; the formulas of the two-age fit against a search."""
    found = page.estimate_trapped_share(4000, 200, 1.0, np.random.default_rng(1))
    assert 0.0 < found.low < found.share < found.high < 0.05
    assert found.share > 0.5 * found.early  # few leave late
    x, mean = 6.6, 9.9
    alpha = np.linspace(1e-4, 1 - 1e-4, 20001)
    scale = (x + 7 * mean) / (1 - alpha + 7 * (1 - alpha**2))
    contents = scale * (1 - alpha), scale * (1 - alpha**2)
    likelihood = x * np.log(contents[0]) + 7 * mean * np.log(contents[1]) - contents[0]
    best = alpha[np.argmax(likelihood - 7 * contents[1])]
    assert best == pytest.approx(mean / x - 1, abs=1e-3)


def test_exact_first_crawl_never_traps():
    """Worths that hardly vary: the first crawl finds 9, and 9.9/9 - 1 is the true alpha."""
    assert page.estimate_trapped_share(300, 20, 1e-3, np.random.default_rng(1)).share == 0.0


def test_priced_loss_within_bound():
    found = page.run_at_price(30.0, 0.2, 6.0, crawls=1000, streams=40, seed=1)
    assert (found.optimistic <= found.bound).all()
    assert (np.diff(found.optimistic, axis=1) >= -1e-9).all()
    growth = found.optimistic.mean(axis=0)
    late = growth[-1] - growth[-2], growth[3] - growth[2]
    crawls = found.crawls
    assert late[0] / (crawls[-1] - crawls[-2]) < late[1] / (crawls[3] - crawls[2])


def test_beliefs_predict_where_alternating():
    table = page.follow_beliefs(49)
    trapped = table[table.gap == 2]
    assert (trapped.error < 1e-12).all()
    assert trapped.loss.to_numpy() == pytest.approx(7 / 60, abs=1e-12)
    assert 59 / 139 < trapped.alpha.min() < 0.45
    assert 0.84 < trapped.alpha.max() < 0.8620
    others = table[(table.gap != 2) & ((table.alpha - 0.1).abs() > 1e-6)]
    assert (others.error > 1e-3).all()  # what another cycle finds contradicts its belief


def test_index_matches_library():
    truth = page.example_sources()
    for age in (1, 2, 5, 40):
        found = page.index_at_age(truth.u_star, truth.decay, age)
        np.testing.assert_allclose(
            found, whittle_index_at_age(truth, np.array([age, age])), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("u", "mu", "v", "nu"), [(10, 2.3, 13, 0.7), (1, 1e-3, 1, 20), (8, 1, 8, 1)]
)
def test_distance_matches_integral(u, mu, v, nu):
    def roots(s):
        return (np.sqrt(u * mu * np.exp(-mu * s)) - np.sqrt(v * nu * np.exp(-nu * s))) ** 2

    exact = quad(roots, 0, 1, epsabs=1e-13)[0]
    assert page.squared_distance(u, mu, v, nu) == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_likelihood_of_items_is_supermartingale():
    """E exp{[l - l0 + H]/2} of one crawl, by the Poisson integral, and its equality at worth phi.

    With worths v(s) = e^{-mu0 s} <= 1 = phi the chord bounds E e^{sv}; at mu0 = 0 it is exact.
    """
    rng = np.random.default_rng(3)
    for _ in range(300):
        (u0, u), (mu0, mu), k = np.exp(rng.uniform(-1, 2, 2)), np.exp(rng.uniform(-3, 1, 2)), 3.0
        s, width = np.linspace(0, k, 4001, retstep=True)
        here, there = u * mu * np.exp(-mu * s), u0 * mu0 * np.exp(-mu0 * s)
        rate, worth = u0 * mu0, np.exp(-mu0 * s)
        root = (np.sqrt(here) - np.sqrt(there)) ** 2
        exponent = rate * np.expm1(worth * np.log(here / there) / 2) - (here - there) / 2 + root / 2
        assert np.trapezoid(exponent, dx=width) <= 1e-6
        stays = rate * np.expm1(worth * np.log(here / there)) - (here - there)
        assert np.trapezoid(stays, dx=width) <= 1e-6


def test_wrong_decisions_within_bound():
    found = page.run_on_items(600, 40, 1)
    assert (found.wrong <= found.bound).all()
    late = found.wrong[:, -1] - found.wrong[:, np.searchsorted(found.epochs, 100)]
    assert late.mean() < 0.2 * found.wrong[:, -1].mean()
    assert (found.wrong[:, -1] > 0).any()


# Lines of the proof that a floor of crawls at two kinds of ages is enough, one by one.


def exponential_phi(mean, reach):
    """The phi of exponential worths for |s| <= reach/phi."""
    return mean / (1 / reach - 1 / math.expm1(reach))


def test_exponential_contents_have_light_tails():
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


def test_exponential_worths_satisfy_chord_inequality():
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


def test_likelihood_is_supermartingale():
    """With log E e^{sX} = (m0/phi)(e^{s phi} - 1) the exponent of one crawl is 0 exactly."""
    rng = np.random.default_rng(2)
    m, m0, phi = np.exp(rng.uniform(-5, 5, (3, 1000)))
    s = np.log(m / m0) / (2 * phi)
    moved = m0 / phi * np.expm1(s * phi) - (m - m0) / (2 * phi)
    added = (np.sqrt(m) - np.sqrt(m0)) ** 2 / (2 * phi)
    assert (np.abs(moved + added) <= 1e-12 * (m + m0) / phi).all()


def test_content_moves_within_log_distance():
    rng = np.random.default_rng(3)
    mu, k, far = (
        np.exp(rng.uniform(-6, 3, 2000)),
        rng.integers(1, 60, 2000),
        rng.uniform(0, 1, 2000),
    )
    moved = np.log(np.expm1(-mu * np.exp(far) * k) / np.expm1(-mu * k))
    assert (moved <= far * (1 + 1e-9)).all()  # and log u* by as much again
    assert (moved >= 0).all()


def test_net_point_near_in_likelihood():
    """6 eta u t for the contents and (e^{2 eta} - 1) u t for the means stay below phi."""
    share = np.linspace(1e-6, 0.5, 1000)  # eta, at most a half; phi = 10 eta u t
    assert (6 * share + np.expm1(2 * share) <= 10 * share).all()


@pytest.mark.parametrize(("size", "budget"), [(2, 1), (3, 2), (5, 2), (6, 1), (4, 4)])
def test_floor_disturbs_counted_epochs(size, budget):
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
