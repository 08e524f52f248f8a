"""Recurrent classes and stationary laws against exact fractions and closed forms."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from analysis.mdp import recurrent_classes, stationary_law
from analysis.results import NotConverged


def ring(states):
    return np.roll(np.eye(states), 1, axis=1)


def fractions(values):
    return [[Fraction(value) for value in row] for row in values]


def solved(matrix, right):
    """The solution of a linear system of fractions, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def closed_sets(chain):
    """Recurrent classes, by who leads to whom."""
    states = range(len(chain))
    leads = [{s} for s in states]
    for _ in states:
        leads = [set().union(*(leads[t] | {t} for t in states if chain[s][t]), {s}) for s in states]
    return {frozenset(leads[s]) for s in states if all(s in leads[t] for t in leads[s])}


def exact_law(rates):
    """Stationary law of rates that all communicate, exactly: balance, and a sum of 1."""
    size = len(rates)
    matrix = [[rates[i][j] for i in range(size)] for j in range(size)]
    for j in range(size):
        matrix[j][j] = -sum(rate for i, rate in enumerate(rates[j]) if i != j)
    matrix[-1] = [Fraction(1)] * size
    return solved(matrix, [Fraction(0)] * (size - 1) + [Fraction(1)])


def test_recurrent_classes_of_graphs():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        states = int(rng.integers(1, 7))
        edges = rng.random((states, states)) < rng.uniform(0.05, 0.5)
        chain = np.where(edges, 10.0 ** rng.uniform(-300, 0, edges.shape), 0.0)
        found = recurrent_classes(sparse.csr_array(chain))
        assert {frozenset(members.tolist()) for members in found} == closed_sets(edges)
        assert all((np.diff(members) > 0).all() for members in found)
        assert len(found) == len(closed_sets(edges))


def decomposable(power):
    """Two blocks of four states; one in 2^power leaves a block."""
    rng = np.random.default_rng(power)
    rates = np.kron(np.eye(2), np.ones((4, 4))) * rng.integers(1, 9, (8, 8))
    rates[1, 6], rates[5, 2] = 0.5**power, 3 * 0.5**power
    return rates


def geometric(states, ratio):
    """A queue in which each state is `ratio` times as likely as the one before."""
    rates = np.diag(np.full(states - 1, ratio), 1) + np.diag(np.ones(states - 1), -1)
    law = [Fraction(ratio) ** k for k in range(states)]
    return rates, [p / sum(law) for p in law]


LAWS = {
    **{f"left once in 2^{k}": decomposable(k) for k in (1, 20, 60, 900)},
    "a periodic chain": ring(7),
    "one state": np.ones((1, 1)),
    "a queue that is mostly empty": geometric(60, 2.0**-16),
    "a queue that is mostly full": geometric(60, 2.0**16),
}


@pytest.mark.parametrize("chain", LAWS.values(), ids=LAWS)
def test_stationary_law(chain):
    """Each probability has 13 digits, in this order of the states and another."""
    rates, law = chain if isinstance(chain, tuple) else (chain, exact_law(fractions(chain)))
    truth = np.array(law, float)
    order = np.random.default_rng(0).permutation(len(rates))
    for places in (np.arange(len(rates)), order):
        mixed = rates[np.ix_(places, places)]
        for given in (mixed, sparse.csc_array(mixed), sparse.coo_matrix(mixed)):
            np.testing.assert_allclose(stationary_law(given), truth[places], rtol=1e-13)


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
    exact = np.array(exact_law(fractions(rates)), float)
    np.testing.assert_allclose(law, exact, rtol=1e-12, atol=1e-306)


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
