"""The page `age-of-information`: closed forms, definitions, simulations."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve

from analysis.results import Estimate
from book.joint import age_of_information as page


@pytest.mark.parametrize("discipline", page.DISCIPLINES)
@pytest.mark.parametrize("load", [0.3, 0.8])
def test_closed_forms_match_simulations(discipline, load):
    """Of ages page by page, and of worths by the simulation of crawler and engine."""
    rngs = np.random.default_rng(7).spawn(12)
    ages = [page.simulate_age(load, discipline, 12000, rng) for rng in rngs]
    age = Estimate.of(ages, level=0.9999)
    exact = page.mean_age(load, discipline)
    assert age.low - 0.01 * exact <= exact <= age.high + 0.01 * exact
    worths = [page.simulate_worth(load, 0.4, discipline, 2500.0, rng) for rng in rngs]
    worth = Estimate.of(worths, level=0.9999)
    exact = page.mean_worth(load, 0.4, discipline)
    assert worth.low - 0.01 * exact <= exact <= worth.high + 0.01 * exact
    assert worth.half_width < 0.2 * exact


@pytest.mark.parametrize("discipline", page.DISCIPLINES)
def test_shared_ages_match_simulations(discipline):
    heavy = 0.75 if discipline == page.DISCIPLINES[0] else 1.6
    for load, share in ((0.4, 0.3), (heavy, 0.6)):
        rngs = np.random.default_rng(8).spawn(12)
        ages = [page.simulate_age(load, discipline, 8000, rng, share) for rng in rngs]
        age, exact = Estimate.of(ages, 0.9999), page.mean_age(load, discipline, share)
        assert age.low <= exact <= age.high
        assert age.half_width < 0.15 * exact


def age_of_balances(load, share, discipline, most):
    """Mean age with at most so many pages, from the balances of ages as linear equations.

    Unknown (q, j) is the mean, on q pages there, of the age once the next j of them are indexed. A
    page that arrives takes its place in the order of service: those ages that include it are zero
    if it is of the source, and else as before it came.
    """
    first, last, lossy, _ = page.DISCIPLINES
    most = 1 if discipline == lossy else most
    chance = load ** np.arange(most + 1)
    chance = chance / chance.sum()
    at = {
        (q, j): n for n, (q, j) in enumerate((q, j) for q in range(most + 1) for j in range(q + 1))
    }
    cells, grown = [], np.empty(len(at))
    for (q, j), row in at.items():
        grown[row] = chance[q]
        cells.append((row, row, load * (q < most) + (q > 0)))
        if q < most:
            cells.append((row, at[q + 1, j + 1], -1.0))
        if q > 0:
            place = {first: q, last: 1}.get(discipline, min(q, 2))
            kept = at[q - 1, j] if j < place else at[q - 1, j - 1]
            cells.append((row, kept, -load * (1.0 if j < place else 1 - share)))
    rows, columns, values = zip(*cells, strict=True)
    rates = csc_array((values, (rows, columns)), shape=(len(at), len(at)))
    found = spsolve(rates, grown)
    return sum(found[at[q, 0]] for q in range(most + 1))


@pytest.mark.parametrize("discipline", page.DISCIPLINES)
@pytest.mark.parametrize(("load", "share"), [(0.1, 1.0), (0.55, 0.07), (0.35, 0.8), (0.6, 1.0)])
def test_mean_ages_match_balances(discipline, load, share):
    exact = page.mean_age(load, discipline, share)
    assert age_of_balances(load, share, discipline, 60) == pytest.approx(exact, rel=1e-9)


def test_last_come_age_as_published():
    """Inoue and others (2019), equation 70, for exponential times of indexing."""
    for load in (0.05, 0.5, 0.95):
        expected = load + (1 - load) ** 2 * (1 + load) / load + 2
        assert page.mean_age(load, page.DISCIPLINES[3]) == pytest.approx(expected, rel=1e-12)


def test_infinite_mean_age_refused():
    with pytest.raises(ValueError, match=r"^load "):
        page.mean_age(1.0, page.DISCIPLINES[0], 0.5)


def test_worths_are_transforms():
    """An exponential law, and the fixed point of a busy period: b = s/(s + mu + lambda (1 - b))."""
    for load, decay in ((0.2, 0.1), (0.7, 2.0), (0.95, 0.01)):
        law = lambda t, r=1 - load, m=decay: r * np.exp(-(r + m) * t)  # noqa: E731
        expected = quad(law, 0, np.inf)[0]
        first, last, _, patient = page.DISCIPLINES
        assert page.mean_worth(load, decay, first) == pytest.approx(expected, rel=1e-9)
        busy = page.mean_worth(load, decay, last)
        assert busy == pytest.approx(1 / (1 + decay + load * (1 - busy)), rel=1e-12)
        waits = page.mean_worth(load, decay, patient)
        assert waits == pytest.approx((1 - load + load * busy) / (1 + decay), rel=1e-12)


def test_best_loads_beat_grid():
    loads = np.linspace(0.01, 0.99, 9801)
    first = page.DISCIPLINES[0]
    age, worth = page.find_best_loads(0.3)
    ages = [page.mean_age(load, first) for load in loads]
    worths = [load * page.mean_worth(load, 0.3, first) for load in loads]
    assert age == pytest.approx(loads[np.argmin(ages)], abs=2e-4)
    assert worth == pytest.approx(loads[np.argmax(worths)], abs=2e-4)
    assert age == pytest.approx(0.531, abs=5e-4)  # Kaul, Yates, Gruteser (2012)
