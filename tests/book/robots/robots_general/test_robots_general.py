"""Laws against the way in which they are drawn, and simulated costs against exact ones."""

import numpy as np
import pytest

from book.robots.robots_general import (
    LAWS,
    count_covering_intervals,
    make_controlled_case,
    make_fixed_case,
    make_sampler,
    make_service_law,
    simulate_cases,
)


@pytest.mark.parametrize("law", LAWS)
def test_draws_have_law_moments(law):
    exact = make_service_law(law, 3.0)
    drawn = make_sampler(law, 3.0)(np.random.default_rng(1), 400_000)
    assert drawn.mean() == pytest.approx(1.0, abs=0.015)
    assert drawn.var() == pytest.approx(exact.variation, abs=0.15)


def test_simulated_costs_match_exact():
    model = {"arrival_rate": 0.12, "capacity": 4, "gamma": 1.2}
    cases = [
        make_fixed_case("hyper-exponential", variation=3.0, **model),
        make_controlled_case(10, **model),
    ]
    check = simulate_cases(cases, 8, seed=3)
    assert check["controlled"].tolist() == [False, True]
    assert count_covering_intervals(check) == 2
    assert (check["half-width"] < 0.1 * check["exact"]).all()
    assert count_covering_intervals(check.assign(exact=2 * check["exact"])) == 0


def test_wrong_law_is_named():
    with pytest.raises(ValueError, match=r"^law "):
        make_service_law("uniform", 1.0)
