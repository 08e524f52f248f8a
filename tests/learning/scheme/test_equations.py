import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import four_sources, whittle_index
from analysis.learning.scheme import equations
from analysis.learning.scheme.equations import (
    content_misses,
    engaged_law,
    feature_condition,
    features,
    fitted_thresholds,
    index_as_printed,
    inverse_errors,
    shot_noise,
    thinning_error,
)
from analysis.learning.scheme.lspe import LspeOptions

SOURCES = four_sources()


@settings(max_examples=20)
@given(st.integers(1, 30), st.floats(0.05, 2.0), st.integers(0, 2**32 - 1))
def test_first_equation_without_crawls(lifetime, decay, seed):
    arrivals = shot_noise(20.0, decay, 60, np.random.default_rng(seed))
    assert np.abs(content_misses(arrivals, decay, lifetime)).max() < 1e-9


def test_crawls_need_kept_content():
    arrivals = shot_noise(250.0, 0.7, 200, np.random.default_rng(0))
    crawls = range(3, 200, 7)
    assert np.abs(content_misses(arrivals, 0.7, 200, crawls)).max() < 1e-9
    assert np.abs(content_misses(arrivals, 0.7, 5, crawls)).max() > 1.0


def test_shot_noise_has_stated_mean():
    arrivals = shot_noise(250.0, 0.7, 20_000, np.random.default_rng(1))
    expected = 250 * (1 - np.exp(-0.7)) / 0.7
    assert arrivals.mean() == pytest.approx(expected, abs=4 * arrivals.std() / np.sqrt(20_000))


def test_poisson_items_are_uniform():
    assert thinning_error(25.0, 0.3) < 1e-12


@settings(max_examples=30)
@given(
    st.lists(st.floats(0.0, 0.99), min_size=4, max_size=4), st.sampled_from(["exceeding", "ceil"])
)
def test_printed_index_below_limit(share, rounding):
    state = np.array(share) * SOURCES.u_star
    found = index_as_printed(SOURCES, state, rounding)
    np.testing.assert_allclose(found, whittle_index(SOURCES, state), atol=1e-5)


def test_the_law_of_the_number_engaged():
    np.testing.assert_allclose(engaged_law([0.5, 0.5]), [0.25, 0.5, 0.25])
    assert engaged_law([0.1, 0.7, 0.3]) @ np.arange(4) == pytest.approx(1.1)


def test_features_are_those_of_section_five():
    np.testing.assert_array_equal(features(np.array([2.0, 3.0])), [2, 3, 4, 6, 9])
    assert features(np.ones((5, 4))).shape == (5, 14)


def test_printed_inverse_is_wrong():
    printed, corrected = inverse_errors(np.random.default_rng(0).normal(size=(40, 5)))
    assert printed[0] > 0.05
    assert corrected.max() < 1e-9


def test_standardised_features_are_well_conditioned():
    visited = SOURCES.state_at_age(np.random.default_rng(0).integers(1, 9, (500, 4)))
    assert feature_condition(SOURCES, visited) > 1e4
    assert feature_condition(SOURCES, visited, centred=True) < 50
    visited[:, 2] = visited[0, 2]
    assert feature_condition(SOURCES, visited, centred=True) == np.inf


def test_fitted_thresholds_follow_index():
    fit = fitted_thresholds(SOURCES, 1)
    assert fit.rewards["quadratic"] > 250
    assert fit.squares["quadratic"] >= fit.squares["shared"]


FOUR = four_sources()
TWO = FOUR.subset(np.array([0, 1]))
AT = np.random.default_rng(1).normal(0, 0.2, (2, 3))
#: (8) with its own source only, for the content of all.
OWN = LspeOptions.as_printed(projected=False, threshold="quadratic", gradient="own arm")


def test_recursion_needs_right_a():
    found = equations.check_recursion(TWO, AT, OWN)
    assert found.radius < 1
    assert found.end < 1e-9 < 1e-3 < found.printed_end


@pytest.mark.parametrize("options", [LspeOptions.corrected(), LspeOptions.as_printed()])
def test_threshold_form_from_program(options):
    form = equations.threshold_form(FOUR, options)
    assert form == ((0, 1, 2, 2) if options.threshold == "quadratic" else (0, 1, 1, 2))
