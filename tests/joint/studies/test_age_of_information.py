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


def test_worths_are_transforms_of_times_in_the_queue():
    """An exponential law, and the fixed point of a busy period: b = s/(s + mu + lambda (1 - b))."""
    for load, decay in ((0.2, 0.1), (0.7, 2.0), (0.95, 0.01)):
        law = lambda t, r=1 - load, m=decay: r * np.exp(-(r + m) * t)  # noqa: E731
        expected = quad(law, 0, np.inf)[0]
        first, last, _ = experiment.DISCIPLINES
        assert experiment.mean_worth(load, decay, first) == pytest.approx(expected, rel=1e-9)
        busy = experiment.mean_worth(load, decay, last)
        assert busy == pytest.approx(1 / (1 + decay + load * (1 - busy)), rel=1e-12)


def test_best_loads_are_the_best_of_a_grid():
    loads = np.linspace(0.01, 0.99, 9801)
    first = experiment.DISCIPLINES[0]
    age, worth = experiment.best_loads(0.3)
    ages = [experiment.mean_age(load, first) for load in loads]
    worths = [load * experiment.mean_worth(load, 0.3, first) for load in loads]
    assert age == pytest.approx(loads[np.argmin(ages)], abs=2e-4)
    assert worth == pytest.approx(loads[np.argmax(worths)], abs=2e-4)
    assert age == pytest.approx(0.531, abs=5e-4)  # Kaul, Yates, Gruteser (2012)
