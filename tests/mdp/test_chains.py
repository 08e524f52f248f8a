"""Recurrent classes and stationary laws against definitions and closed forms."""

import numpy as np
import pytest
from scipy import sparse

from analysis.mdp import recurrent_classes, stationary_law


def test_birth_and_death_law_is_geometric():
    rates = sparse.csr_array(np.diag(np.full(30, 0.2), 1) + np.diag(np.full(30, 1.0), -1))
    expected = 0.2 ** np.arange(31)
    np.testing.assert_allclose(stationary_law(rates), expected / expected.sum(), rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_balance_holds_for_random_chains(seed):
    rates = np.random.default_rng(seed).random((12, 12))
    law = stationary_law(sparse.csr_array(rates))
    np.testing.assert_allclose(law @ rates, law * rates.sum(axis=1), rtol=1e-12)


def test_stored_zeros_are_no_edges():
    entries = [1.0, 1.0, 0.0], ([0, 1, 0], [0, 1, 1])
    chain = sparse.csr_array(entries, shape=(2, 2))
    assert [members.tolist() for members in recurrent_classes(chain)] == [[0], [1]]
    np.testing.assert_allclose(stationary_law(chain, 0), [1.0, 0.0])


def test_only_the_class_that_the_start_reaches_has_mass():
    rates = np.zeros((5, 5))
    rates[0, 1] = rates[1, 2] = rates[2, 1] = rates[3, 4] = rates[4, 3] = 1.0
    chain = sparse.csr_array(rates)
    assert [members.tolist() for members in recurrent_classes(chain)] == [[1, 2], [3, 4]]
    np.testing.assert_allclose(stationary_law(chain, 0), [0, 0.5, 0.5, 0, 0])
    np.testing.assert_allclose(stationary_law(chain, 3), [0, 0, 0, 0.5, 0.5])
    rates[0, 3] = 1.0
    with pytest.raises(ValueError, match="initial_state must lead to one recurrent class, got 2"):
        stationary_law(sparse.csr_array(rates), 0)
