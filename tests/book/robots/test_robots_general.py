"""Other indexing times, other robots: checks can fail, and laws match their samples."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.robots import critical_gamma, general_cost
from analysis.robots.mg1k import exponential
from book.robots import exercises
from book.robots import robots_general as page
from tests.support import assert_turns, verdicts

TRUE = page.Checks(1e-14, 1e-9, 0, 6, 1e-12, 0.0, 0.0)


def test_announced_work_is_done():
    said = verdicts(page.claims(TRUE))
    future = [said[f"D-fut-{name}"] for name in ("general", "alike", "hetero", "open", "area")]
    assert set(future) == {"done"}
    assert said["D-concl-mg1k"] == "does not hold"
    assert said["D-concl-companion"] == "context"


@pytest.mark.parametrize(
    ("wrong", "row"),
    [
        ({"closed": 1e-3}, "D-fut-general"),
        ({"balance": 1e-3}, "D-fut-general"),
        ({"misses": 3}, "D-fut-general"),
        ({"neighbours": -1e-6}, "D-fut-area"),
        ({"placement": -1e-6}, "D-fut-hetero"),
        ({"placement": -1e-6}, "D-fut-area"),
        ({"placement": -1e-6}, "D-fut-open"),
        ({"alike": 1e-3}, "D-fut-alike"),
    ],
)
def test_disagreement_leaves_it_open(wrong, row):
    assert_turns(page.claims, TRUE, replace(TRUE, **wrong), [row])


def test_model_checks_hold():
    closed, balance = page.measure_errors([0.4, 6.0], [0.0, 4.0], 5)
    assert closed < 1e-10
    assert balance < 1e-6
    assert page.alike_error() < 1e-9
    assert page.compare_neighbouring_fleets([0.0, 0.04], 2.0, 8) >= 0
    assert abs(page.placement_gap(2.0, 8)) < 1e-12
    losses = page.measure_margin_losses(20, np.random.default_rng(1))
    assert losses.min() > -1e-12
    assert (losses > 1e-9).any()


def test_variability_needs_fewer_robots():
    found = page.solve_by_variability([0.4, 6.0], [0.0, 1.0, 4.0], 0.1, 5)
    assert 0.4 < critical_gamma(5) < 6.0
    assert (np.diff(found.loads[0]) < 0).all()
    assert found.numbers[0, 0] > found.numbers[0, -1]
    best = found.loads[:, 1]
    for g, load in zip(found.gammas, best, strict=True):
        costs = [general_cost(x * load, g, 5, exponential()) for x in (0.98, 1.0, 1.02)]
        assert min(costs) == costs[1]
    assert (page.starvation_steps([0.0, 1.0, 4.0], 5) > 0).all()
    assert page.falls_below_critical(found, critical_gamma(5))
    rising = replace(found, loads=found.loads[:, ::-1])
    assert not page.falls_below_critical(rising, critical_gamma(5))
    assert not page.falls_below_critical(found, 0.1)


def test_control_and_idle_robots_save():
    scan = page.scan_fleets([0.0, 0.06], 2.0, 6)
    assert (scan["cost, controlled"] < scan["cost, fixed"]).all()
    assert (scan["cost, controlled, any idle robot"] <= scan["cost, controlled"] + 1e-12).all()
    assert scan["fast, fixed"].is_monotonic_decreasing


def test_one_fast_beats_two_slow():
    table = exercises.compare_fast_and_slow()
    assert (table["cost, fast"] < table["cost, slow"]).all()


@pytest.mark.parametrize("law", page.LAWS)
def test_draws_have_law_moments(law):
    exact = page.make_service_law(law, 3.0)
    drawn = page.make_sampler(law, 3.0)(np.random.default_rng(1), 400_000)
    assert drawn.mean() == pytest.approx(1.0, abs=0.015)
    assert drawn.var() == pytest.approx(exact.variation, abs=0.15)


def test_simulated_costs_match_exact():
    model = {"arrival_rate": 0.12, "capacity": 4, "gamma": 1.2}
    cases = [
        page.make_fixed_case("hyper-exponential", variation=3.0, **model),
        page.make_controlled_case(10, **model),
    ]
    check = page.simulate_cases(cases, 8, seed=3)
    assert check["controlled"].tolist() == [False, True]
    assert page.count_covering_intervals(check) == 2
    assert (check["half-width"] < 0.1 * check["exact"]).all()
    assert page.count_covering_intervals(check.assign(exact=2 * check["exact"])) == 0
