"""The relaxed problem by two methods, and sums with a misplaced index."""

import numpy as np
import pytest

from analysis.ephemeral.theory import relaxation


def test_the_two_readings_of_a_sum():
    state, once = np.tile([0.0, 4.0], 500), np.ones(1000)
    assert relaxation.as_printed(state, once) == 4
    assert relaxation.as_meant(state, once) == 2
    action = np.tile([1.0, 0.0], 500)
    assert relaxation.as_printed(state, action) == 2
    assert relaxation.as_meant(state, action) == 0


def test_linear_programme_equals_relaxation():
    gap = relaxation.worst_duality_gap(4, np.random.default_rng(5))
    assert gap < 1e-9
    with pytest.raises(ValueError, match="sets"):
        relaxation.worst_duality_gap(0, np.random.default_rng(5))
