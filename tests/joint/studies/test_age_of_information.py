"""The study of the page `age-of-information`: closed forms, definitions, simulations."""

import numpy as np
import pytest
from scipy.integrate import quad

from analysis.joint.studies.age_of_information import experiment
from analysis.results import Estimate


@pytest.mark.parametrize("discipline", experiment.DISCIPLINES)
@pytest.mark.parametrize("load", [0.3, 0.8])
def test_closed_forms_hold_in_simulations(discipline, load):
    """Of ages page by page, and of worths by the simulation of crawler and engine."""
    rngs = np.random.default_rng(7).spawn(12)
    ages = [experiment.simulated_age(load, discipline, 12000, rng) for rng in rngs]
    age = Estimate.of(ages, level=0.9999)
    exact = experiment.mean_age(load, discipline)
    assert age.low - 0.01 * exact <= exact <= age.high + 0.01 * exact
    worths = [experiment.simulated_worth(load, 0.4, discipline, 2500.0, rng) for rng in rngs]
    worth = Estimate.of(worths, level=0.9999)
    exact = experiment.mean_worth(load, 0.4, discipline)
    assert worth.low - 0.01 * exact <= exact <= worth.high + 0.01 * exact
    assert worth.half_width < 0.2 * exact


@pytest.mark.parametrize("discipline", experiment.SHARED)
def test_ages_of_one_among_several_sources_hold_in_simulations(discipline):
    for load, share in ((0.4, 0.3), (1.7, 0.6)):
        rngs = np.random.default_rng(8).spawn(12)
        ages = [experiment.simulated_age(load, discipline, 20000, rng, share) for rng in rngs]
        age, exact = Estimate.of(ages, 0.9999), experiment.mean_age(load, discipline, share)
        assert age.low <= exact <= age.high
        assert age.half_width < 0.06 * exact


def balance_of_last_come(load, most):
    """Mean age last come first served, with at most so many pages: balances as linear equations."""
    chance = load ** np.arange(most + 1)
    chance = chance / chance.sum()
    size = 3 * (most + 1)  # age now, once the page in service is done, once the freshest waiting is
    rates, grown = np.zeros((size, size)), np.repeat(chance, 3)
    for q in range(most + 1):
        for part in range(3):
            row = rates[3 * q + part]
            row[3 * q + part] += load * (q < most) + (q > 0)
            if part == 0 or (part == 1 and q > 1):
                row[3 * (q - 1) + part] -= load * (q > 0)  # a page arrives
            if q < most:
                row[3 * (q + 1) + min(part + 1, 2)] -= 1  # a page is indexed
    for part in (1, 2):  # nothing is in service, or waiting: as the age before it
        rates[part] = 0
        rates[part, [0, part]], grown[part] = [-1, 1], 0
    return float(np.linalg.solve(rates, grown)[::3].sum())


@pytest.mark.parametrize("load", [0.1, 0.45, 0.8])
def test_the_age_last_come_is_that_of_its_balances(load):
    exact = experiment.mean_age(load, experiment.DISCIPLINES[3])
    assert balance_of_last_come(load, 200) == pytest.approx(exact, rel=1e-10)


def test_worths_are_transforms_of_times_in_the_queue():
    """An exponential law, and the fixed point of a busy period: b = s/(s + mu + lambda (1 - b))."""
    for load, decay in ((0.2, 0.1), (0.7, 2.0), (0.95, 0.01)):
        law = lambda t, r=1 - load, m=decay: r * np.exp(-(r + m) * t)  # noqa: E731
        expected = quad(law, 0, np.inf)[0]
        first, last, _, patient = experiment.DISCIPLINES
        assert experiment.mean_worth(load, decay, first) == pytest.approx(expected, rel=1e-9)
        busy = experiment.mean_worth(load, decay, last)
        assert busy == pytest.approx(1 / (1 + decay + load * (1 - busy)), rel=1e-12)
        waits = experiment.mean_worth(load, decay, patient)
        assert waits == pytest.approx((1 - load + load * busy) / (1 + decay), rel=1e-12)


def test_best_loads_are_the_best_of_a_grid():
    loads = np.linspace(0.01, 0.99, 9801)
    first = experiment.DISCIPLINES[0]
    age, worth = experiment.best_loads(0.3)
    ages = [experiment.mean_age(load, first) for load in loads]
    worths = [load * experiment.mean_worth(load, 0.3, first) for load in loads]
    assert age == pytest.approx(loads[np.argmin(ages)], abs=2e-4)
    assert worth == pytest.approx(loads[np.argmax(worths)], abs=2e-4)
    assert age == pytest.approx(0.531, abs=5e-4)  # Kaul, Yates, Gruteser (2012)
