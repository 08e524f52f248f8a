"""Growth of content, contents under random controls, the relaxed problem, and printed sums."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from analysis.ephemeral import four_sources
from analysis.ephemeral.theory import model
from analysis.ephemeral.theory.model import growth_error, transient_checks


@pytest.mark.parametrize("share", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("period", [0.3, 1.0, 4.0])
def test_growth_over_an_epoch(share, period):
    assert growth_error(replace(four_sources(), period=period), share) < 1e-7


def test_transients_in_random_runs():
    seen = transient_checks(400, 30, np.random.default_rng(1))
    assert astuple(seen) == (True, True, True, True, True, 200, 30)


def test_two_readings_of_a_sum():
    state, once = np.tile([0.0, 4.0], 500), np.ones(1000)
    assert model.as_printed(state, once) == 4
    assert model.as_meant(state, once) == 2
    action = np.tile([1.0, 0.0], 500)
    assert model.as_printed(state, action) == 2
    assert model.as_meant(state, action) == 0


def test_linear_programme_equals_relaxation():
    assert model.worst_duality_gap(4, np.random.default_rng(5)) < 1e-9


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: transient_checks(1, 5, 4), "runs"),
        (lambda: transient_checks(4, 0, 4), "epochs"),
        (lambda: model.worst_duality_gap(0, 5), "sets"),
    ],
)
def test_wrong_counts_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
