import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, whittle_index, whittle_index_at_age
from analysis.ephemeral.theory.formula import orbit, printed_eta, printed_index


def test_printed_theorem_below_limit():
    sources = four_sources()
    x = np.linspace(0, 0.999, 500)[:, None] * sources.u_star
    np.testing.assert_allclose(
        printed_index(sources, x), whittle_index(sources, x), rtol=1e-9, atol=1e-9
    )


def test_printed_theorem_from_limit():
    sources = four_sources()
    for share in (1.0 + 1e-12, 1.5, 4.0):
        np.testing.assert_array_equal(printed_index(sources, share * sources.u_star), 0)


def test_remark_holds_on_orbit():
    sources = four_sources()
    ages = np.arange(1, 9)[:, None] * np.ones(4)
    states = sources.state_at_age(ages)
    short = ages * ((1 - sources.alpha) * states - sources.u) + states  # eta is the age
    np.testing.assert_allclose(short, whittle_index_at_age(sources, ages), rtol=1e-9)
    between = sources.state_at_age(ages + 0.5)
    off = np.abs(printed_index(sources, between, "remark") - whittle_index(sources, between))
    assert (off.max(axis=0) > 0.05 * sources.u_star).all()


def test_the_ceiling_flips_on_computed_orbits():
    sources = Sources(np.ones(400), np.ones(400), np.geomspace(0.01, 2, 400))
    eta = printed_eta(sources, orbit(sources, 6))
    flipped = eta != np.arange(1, 7)[:, None]
    assert flipped.mean() > 0.2
    assert (eta - np.arange(1, 7)[:, None])[flipped].max() == 1


def test_an_orbit_is_the_closed_form():
    sources = four_sources()
    ages = np.arange(1, 31)[:, None] * np.ones(4)
    np.testing.assert_allclose(orbit(sources, 30), sources.state_at_age(ages), rtol=1e-12)


def test_unknown_forms_are_named():
    with pytest.raises(ValueError, match="form"):
        printed_index(four_sources(), np.ones(4), "short")
