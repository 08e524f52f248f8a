"""Laws against the way in which they are drawn, and simulated costs against exact ones."""

import numpy as np
import pytest

from analysis.robots.studies.robots_general import (
    LAWS,
    SimulatedCase,
    service_law,
    service_sampler,
    simulated_cost,
)
from analysis.sweep import mean_interval, sweep


@pytest.mark.parametrize("law", LAWS)
def test_draws_have_the_moments_of_the_law(law):
    exact = service_law(law, 3.0)
    drawn = service_sampler(law, 3.0)(np.random.default_rng(1), 400_000)
    assert drawn.mean() == pytest.approx(1.0, abs=0.015)
    assert drawn.var() == pytest.approx(exact.variation, abs=0.15)


def test_simulated_costs_are_the_exact_ones():
    cases = [
        SimulatedCase("hyper-exponential", 8, 0.12, 4, 1.2, variation=3.0),
        SimulatedCase("exponential", 10, 0.12, 4, 1.2, controlled=True),
    ]
    runs = sweep(simulated_cost, cases, seed=3, replications=8, jobs=1, progress=False)
    for case, costs in zip(cases, runs, strict=True):
        _, low, high = mean_interval(costs, 0.999)
        assert low < case.exact_cost() < high


def test_wrong_laws_are_named():
    with pytest.raises(ValueError, match=r"law must be one of constant, .*, got 'uniform'"):
        service_law("uniform", 1.0)
    with pytest.raises(ValueError, match="law of a controlled queue must be one of exponential"):
        SimulatedCase("constant", 8, 0.12, 4, 1.2, controlled=True).exact_cost()
