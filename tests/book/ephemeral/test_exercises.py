"""Numbers of the solutions, each against another method or against the property it states."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.ephemeral import (
    Arrivals,
    Sources,
    Utility,
    dual_descent,
    four_sources,
    index_by_definition,
    long_run_cycle,
    relaxed_bound,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import lognormal_sources
from analysis.ephemeral.relaxed import due_ages
from book.ephemeral import exercises


def test_source_2_uncrawled_below_ratio():
    found = exercises.solve_four_sources()
    assert found["solution-below"] == 0.0
    assert 0.0 < found["solution-above"] < 0.2
    barely = Sources([250, 250], [1.0, 1.0001 * found["solution-ratio"]], [0.7, 0.7])
    assert long_run_cycle(barely, "whittle", 1).frequency[1] > 0


def test_source_4_overtakes_source_3():
    found, four = exercises.solve_four_sources(), four_sources()
    assert found["solution-waits"] < found["solution-holds"] < found["solution-comes"]
    assert long_run_cycle(four, "whittle", 3).gaps(3) == (found["solution-period"],)
    ages = np.full(4, found["solution-period"])
    index = index_by_definition(four, four.state_at_age(ages))[3]
    assert found["solution-comes"] == pytest.approx(index)


def test_printed_formula_loses_digits():
    assert 0.01 < exercises.solve_four_sources()["solution-slow"] < 0.1


def test_price_every_epoch_is_descent():
    four = four_sources()
    price, spent = exercises.simulate_seldom_price(four, 2.0, 200, 1)
    run = dual_descent(four, 2.0, 200)
    np.testing.assert_allclose(price, run.subsidy, atol=1e-9)
    np.testing.assert_array_equal(spent, run.spent)


def test_seldom_price_keeps_budget():
    found = exercises.solve_dual_descent()
    assert found["solution-tenth-spent"] == pytest.approx(2, abs=0.01)
    assert found["solution-tenth"] < 1
    multiplier = found["solution-costs-multiplier"]
    assert found["solution-costs-price"] == pytest.approx(multiplier, abs=0.2)
    # Steps that start small and fade fast do not arrive; steps that start large do.
    assert found["solution-a2-p10"] > 10 > 0.1 > found["solution-a20-p10"]


def test_solutions_on_wrong_decay():
    found = exercises.solve_how_good()
    assert found["solution-cycle"] == 0.0
    pair = Sources([250, 250], [1.0, 0.4], [0.7, 0.7])
    assert sorted(long_run_cycle(pair, "whittle", 1).gaps(0)) == [1, 2]
    assert found["solution-multiplier"] == pytest.approx((1 - pair.alpha[0]) * pair.u[0])
    assert found["solution-blind"] < found["solution-seeing"] - 3
    assert found["solution-knowing"] == pytest.approx(found["solution-seeing"], abs=1)


def test_solutions_on_copies_keep_gap():
    found = exercises.solve_newer_policies()
    assert found["solution-equal"] > 0.005
    assert found["solution-both"] == 0.0


def test_solutions_on_costs_and_limits():
    found = exercises.solve_costs_and_budgets()
    assert found["solution-index"] == 0.0
    assert found["solution-value"] == pytest.approx(0.5)
    assert found["solution-allowed-60"] < found["solution-ranked-60"] == found["solution-without"]
    assert found["solution-ranked-120"] == pytest.approx(found["solution-allowed-120"])
    assert found["solution-ranked-120"] < found["solution-without"]
    assert found["solution-ranked-150"] > found["solution-without"]


def test_allowed_crawls_use_best_others():
    alone = Sources([250.0, 250.0], [1.0, 1e-9], [0.7, 0.7])
    reward = exercises.reward_when_allowed(alone, 3, 300)
    assert reward == pytest.approx(alone.state_at_age(np.full(2, 3))[0] / 3, rel=1e-6)


def test_batches_vary_as_formula():
    found = exercises.solve_stochastic_arrivals()
    four = four_sources()
    wild = (
        Arrivals(four, Utility("gamma", variation=found["solution-variability"])).variance
        / four.u**2
    )
    few = replace(four, arrival_rate=np.full(4, found["solution-items"]))
    np.testing.assert_allclose(Arrivals(few, Utility("exponential")).variance / few.u**2, wild)
    batch = found["solution-batch"]
    batches = replace(
        four, arrival_rate=four.arrival_rate / batch, mean_utility=four.mean_utility * batch
    )
    np.testing.assert_allclose(Arrivals(batches).variance / batches.u**2, wild)
    assert found["solution-one"] == pytest.approx(four.u[0])


def test_solutions_at_scale_match_oracles():
    found = exercises.solve_at_scale()
    assert found["solution-alike"] > found["solution-spread"] > 0.01
    sources = lognormal_sources(20_000, np.random.default_rng(1))
    (less, price), (more, _) = (relaxed_bound(sources, budget) for budget in (200, 202))
    # The multiplier is the slope of the bound.
    regained = exercises.solve_many_machines()["solution-regained"]
    assert regained == pytest.approx((more - less) / 2 * 200 / less, rel=1e-2)
    # A source waits from its due age under half the multiplier on, until it is crawled or for ever.
    half, whole = (due_ages(sources, level) for level in (price / 2, price))
    for ages, level in ((half, price / 2), (whole, price)):
        due = np.isfinite(ages)
        at, before = (np.where(due, ages - early, 1e6) for early in (0, 1))
        assert (whittle_index_at_age(sources, at)[due] > level * (1 - 1e-12)).all()
        assert (whittle_index_at_age(sources, before) < level * (1 + 1e-12)).all()
    crawled = np.isfinite(whole)
    expected = (1 - half[crawled] / whole[crawled]).sum() + (~crawled & np.isfinite(half)).sum()
    assert found["solution-waiting"] == pytest.approx(expected, rel=0.02)
