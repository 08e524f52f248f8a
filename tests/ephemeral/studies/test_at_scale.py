"""Studies at scale, at sizes where a second look is cheap."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import relaxed_bound, relaxed_problem
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.studies.at_scale import (
    against_compiled_ranking,
    bound_of_parts,
    cluster_plan,
    lognormal_sources,
    noise_of_parts,
    observed_row,
    predicates_of_limits,
    predicates_of_parts,
    price_of_limits,
    price_of_parts,
    ranked_in_full,
    without_infinities,
)


def bound_by_enumeration(sources, budget, least, most, subsidies):
    """The dual function with every allowed age up to 2000 tried."""
    ages = np.arange(1, 2001)[:, None]
    content = sources.state_at_age(ages)
    allowed = (ages >= least) & (ages <= most)
    values = []
    for subsidy in subsidies:
        rate = np.where(allowed, (content - subsidy * sources.cost) / ages, -np.inf).max(axis=0)
        rate = np.where(np.isinf(most), np.maximum(rate, 0), rate)  # or never
        values.append(subsidy * budget + rate.sum())
    return min(values)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.data())
def test_bound_under_limits_is_the_minimum_of_the_dual_function(seed, size, data):
    sources = lognormal_sources(size, np.random.default_rng(seed))
    least = np.array(data.draw(st.lists(st.integers(1, 30), min_size=size, max_size=size)))
    wide = st.sampled_from([0, 3, 50, np.inf])
    most = least + np.array(data.draw(st.lists(wide, min_size=size, max_size=size)))
    load = (1 / most).sum()
    budget = load + data.draw(st.floats(0.01, 1)) * (size - load)
    solution = relaxed_problem(sources, budget, min_age=least, max_age=most)
    subsidies = np.r_[0, solution.subsidy * np.r_[1, np.linspace(0.5, 1.5, 21)]]
    brute = bound_by_enumeration(sources, budget, least, most, subsidies)
    assert solution.bound == pytest.approx(brute, rel=1e-5)
    assert solution.bound <= relaxed_bound(sources, budget)[0] * (1 + 1e-9)
    assert solution.primal == pytest.approx(solution.bound, rel=1e-7)
    assert (solution.age >= least).all()
    assert (solution.age <= most).all()


def test_limits_out_of_range_are_refused():
    sources = lognormal_sources(10, np.random.default_rng(0))
    with pytest.raises(ValueError, match="max_age must ask for at most 1 an epoch, got 2"):
        relaxed_problem(sources, 1, max_age=5)
    with pytest.raises(ValueError, match="min_age must be at least 1 and not above max_age"):
        relaxed_problem(sources, 1, min_age=6, max_age=5)
    with pytest.raises(ValueError, match="whole numbers"):
        relaxed_problem(sources, 1, min_age=1.5)


def test_crawls_are_those_of_a_full_ranking():
    rng = np.random.default_rng(1)
    sources = lognormal_sources(5000, rng)
    assert ranked_in_full(sources, 50, spread_ages(sources, 50, rng), 40) == (40, 40)


def test_price_of_limits_is_at_least_that_of_the_bound():
    rng = np.random.default_rng(2)
    sources = lognormal_sources(4000, rng)
    limits = [(0, np.inf), (20, np.inf), (200, np.inf), (0, 150)]
    price = price_of_limits(sources, 40, limits, 400, 600, rng)
    assert (price.policy > price.relaxed - 2e-3).all()
    assert (price.policy < price.relaxed + 0.03).all()
    np.testing.assert_allclose(price.spent, [1, 1, 0.5, 1], rtol=1e-2)
    assert price.relaxed[0] == pytest.approx(0, abs=1e-12)


def test_parts_with_quotas_of_their_own_lose_and_a_shared_multiplier_does_not():
    rng = np.random.default_rng(3)
    sources = lognormal_sources(6000, rng)
    runs = price_of_parts(sources, 60, [5], 300, 600, 3)
    price = runs.set_index(["split", "exchange"]).loss
    bound = bound_of_parts(sources, 60, [5], 3).set_index("split").loss
    fixed = runs[~runs.exchange].set_index("split")
    assert (fixed.loss > bound - 2 * noise_of_parts(runs)).all()
    assert bound["by decay rate"] > bound["at random"] > 0
    assert price["by decay rate", False] == pytest.approx(bound["by decay rate"], rel=0.5)
    assert abs(price["by decay rate", True]) < 0.3 * bound["by decay rate"]


def test_observed_crawls_are_those_of_a_full_ranking_and_seeing_pays():
    row = observed_row((2000, 20, 120), np.random.default_rng(4))
    assert row["equal"] == 120
    assert row["gain"] > 0


def test_cluster_on_paper():
    plan = cluster_plan(1e10, 0.01, 100, 42.0, 1e10, 0.5)
    assert plan["sources"] == 1e8
    assert plan["memory"] == pytest.approx(4.2e9)
    assert plan["seconds"] == pytest.approx(0.5 * 1e8 * 32 / 1e10)
    assert (plan["messages"], plan["bytes"]) == (400, 3200)
    with pytest.raises(ValueError, match="machines must be an integer of at least 1, got 0"):
        cluster_plan(1e10, 0.01, 0, 42.0, 1e10, 0.5)


def test_sentences_on_limits_and_parts_turn_with_the_prices():
    rows = [(5, np.inf, 0.01), (50, np.inf, 0.1), (0, 150, 0.2), (0, 500, 0.05)]
    price = pd.DataFrame(rows, columns=["min_age", "max_age", "policy"]).assign(relaxed=0.005)
    said = predicates_of_limits(price)
    assert said["limits-dearer"] is True
    assert (said["min-first"], said["min-last"]) == (5, 50)
    assert (said["max-first"], said["max-last"]) == (150, 500)
    assert (said["max-low"], said["max-high"]) == (0.2, 0.05)
    assert said["gap"] == pytest.approx(0.195)
    other = price.assign(policy=[0.1, 0.01, 0.2, 0.05])
    assert predicates_of_limits(other)["limits-dearer"] is False
    alike = price.assign(policy=[0.1, 0.1, 0.2, 0.05])
    assert predicates_of_limits(alike)["limits-dearer"] is False
    simulated = pd.DataFrame({"exchange": [False, True], "loss": [0.05, -0.001]})
    assert predicates_of_parts(simulated, pd.Series([0.01, 0.02]))["multiplier-wins"] is True
    assert predicates_of_parts(simulated, pd.Series([0.001, 0.02]))["multiplier-wins"] is False


def test_the_ratios_to_a_compiled_ranking_say_at_how_many_sources():
    notes = ["N = 1e+07, M = 1e+05", "N = 1e+06, ages spread", "N = 1e+06, ages alike"]
    rows = pd.DataFrame(
        {
            "name": ["epoch of the calendar"] * 4 + ["the same in single precision"],
            "peer": ["compiled full ranking"] * 3 + ["a bare pass", "compiled full ranking"],
            "ratio": [44.0, 3.3, 2.4, 9.0, 99.0],
            "note": [*notes, "N = 1e+08, M = 1e+06", "N = 1e+05, M = 1e+03"],
        }
    )
    assert against_compiled_ranking(rows) == {
        "compiled-ratio": 44.0,
        "compiled-size": 1e7,
        "compiled-low": 2.4,
        "compiled-high": 3.3,
        "compiled-smaller": 1e6,
    }
    for wrong in (rows[1:], rows[:1], rows.assign(peer="compiled full ranking")):
        with pytest.raises(ValueError, match="two numbers of sources"):
            against_compiled_ranking(wrong)


def test_no_limit_is_shown_as_none():
    price = pd.DataFrame({"max_age": [np.inf, 8.0], "policy": [0.1, 0.2]})
    shown = without_infinities(price)
    assert shown["max_age"].isna().tolist() == [True, False]
    assert shown["policy"].tolist() == [0.1, 0.2]
