import numpy as np
import pytest
from scipy.integrate import quad

from analysis.ephemeral import whittle_index_at_age
from analysis.learning.studies.trap import decisions
from analysis.learning.studies.trap.experiment import example


def test_the_index_is_that_of_the_package():
    truth = example()
    for age in (1, 2, 5, 40):
        found = decisions.index(truth.u_star, truth.decay, age)
        np.testing.assert_allclose(
            found, whittle_index_at_age(truth, np.array([age, age])), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("u", "mu", "v", "nu"), [(10, 2.3, 13, 0.7), (1, 1e-3, 1, 20), (8, 1, 8, 1)]
)
def test_the_distance_of_two_laws_of_items_is_its_integral(u, mu, v, nu):
    def roots(s):
        return (np.sqrt(u * mu * np.exp(-mu * s)) - np.sqrt(v * nu * np.exp(-nu * s))) ** 2

    exact = quad(roots, 0, 1, epsabs=1e-13)[0]
    assert decisions.distance(u, mu, v, nu) == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_the_likelihood_of_items_is_a_supermartingale_with_its_distance():
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


def test_wrong_decisions_keep_to_their_bound_on_forty_streams_and_end():
    found = decisions.play_items(600, 40, 1)
    assert (found.wrong <= found.bound).all()
    late = found.wrong[:, -1] - found.wrong[:, np.searchsorted(found.epochs, 100)]
    assert late.mean() < 0.2 * found.wrong[:, -1].mean()
    assert (found.wrong[:, -1] > 0).any()
