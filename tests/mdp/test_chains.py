"""Recurrent classes and stationary laws against definitions and closed forms."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from analysis.mdp import recurrent_classes, stationary_law
from analysis.results import NotConverged


def test_stored_zeros_are_no_edges():
    entries = [1.0, 1.0, 0.0], ([0, 1, 0], [0, 1, 1])
    chain = sparse.csr_array(entries, shape=(2, 2))
    assert [members.tolist() for members in recurrent_classes(chain)] == [[0], [1]]
    np.testing.assert_allclose(stationary_law(chain, 0), [1.0, 0.0])


def test_law_of_reached_class():
    rates = np.zeros((5, 5))
    rates[1, 2] = rates[2, 1] = rates[3, 4] = rates[4, 3] = 1.0
    rates[0, 1] = 1e-300
    chain = sparse.csr_array(rates)
    assert [members.tolist() for members in recurrent_classes(chain)] == [[1, 2], [3, 4]]
    np.testing.assert_allclose(stationary_law(chain, 0), [0, 0.5, 0.5, 0, 0])
    np.testing.assert_allclose(stationary_law(chain, 3), [0, 0, 0, 0.5, 0.5])
    rates[0, 3] = 1.0
    with pytest.raises(ValueError, match="initial_state"):
        stationary_law(sparse.csr_array(rates), 0)


def test_wrong_chain_is_named():
    for wrong, message in (
        (np.ones((2, 3)), "rates"),
        (np.array([[0.0, -1.0], [1.0, 0.0]]), "rates"),
        (np.array([[0.0, np.inf], [1.0, 0.0]]), "rates.* must be a finite number"),
        ([[0.0, 1.0], [1.0, 0.0]], "rates"),
    ):
        with pytest.raises(ValueError, match=message):
            stationary_law(wrong)
    with pytest.raises(NotConverged, match="floats can hold"):
        stationary_law(sparse.diags_array([[1e-300] * 200, [1e300] * 200], offsets=[1, -1]))


def law_in_fractions(rates):
    """The elimination without rounding."""
    rate = [[Fraction(x) for x in row] for row in rates.tolist()]
    for last in range(len(rate) - 1, 0, -1):
        leaving = sum(rate[last][:last])
        for row in rate[:last]:
            row[last] /= leaving
            row[:last] = [x + row[last] * y for x, y in zip(row, rate[last][:last], strict=False)]
    mass = [Fraction(1)]
    for state in range(1, len(rate)):
        mass.append(sum(mass[i] * rate[i][state] for i in range(state)))
    return [float(x / sum(mass)) for x in mass]


@pytest.mark.parametrize("decades", [5, 45, 60, 150, 250, 300])
@pytest.mark.parametrize("seed", range(20))
def test_distant_rates_keep_digits(decades, seed):
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 8)
    rates = 10 ** rng.uniform(-decades, decades, (size, size))
    rates[rng.random((size, size)) < rng.choice([0.0, 0.3, 0.6])] = 0.0
    np.fill_diagonal(rates, 0.0)
    ring = 10 ** rng.uniform(-decades, decades, size)
    rates[np.arange(size), (np.arange(size) + 1) % size] = ring
    law = stationary_law(sparse.csr_array(rates))
    np.testing.assert_allclose(law, law_in_fractions(rates), rtol=1e-12, atol=1e-306)


@pytest.mark.parametrize("ratio", [1e3, 1e6])
def test_likely_states_beyond_unlikely(ratio):
    """Sixty steps down to a state too unlikely for a float, and as many up again."""
    up = np.array([1.0] * 60 + [ratio] * 60)
    down = np.array([ratio] * 60 + [1.0] * 60)
    law = stationary_law(sparse.diags_array([up, down], offsets=[1, -1]).tocsr())
    share = 0.5 * (1 - 1 / ratio)  # one half at each end, if it were a geometric law
    assert law[0] == pytest.approx(share, rel=1e-12)
    assert law[-1] == pytest.approx(share, rel=1e-12)


def test_wide_band_is_refused(monkeypatch):
    monkeypatch.setattr("analysis.mdp.chains.LARGEST_BAND", 12 * 23)
    rates = np.random.default_rng(0).random((12, 12))
    assert stationary_law(rates).sum() == pytest.approx(1.0)
    monkeypatch.setattr("analysis.mdp.chains.LARGEST_BAND", 12 * 23 - 1)
    with pytest.raises(ValueError, match="rates"):
        stationary_law(rates)
