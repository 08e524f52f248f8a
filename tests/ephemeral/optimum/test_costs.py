from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, long_run_cycle, relaxed_bound
from analysis.ephemeral.optimum.costs import FILLS, exact_sets, fill_budget, simulate_costs
from analysis.ephemeral.optimum.exact import optimal_cycle


def priced_sources(seed, size=4):
    rng = np.random.default_rng(seed)
    return Sources(
        rng.uniform(1, 9, size), rng.uniform(0.5, 2, size), rng.uniform(0.2, 1.5, size),
        cost=rng.choice([0.5, 1, 1.5, 2, 3], size),
    )  # fmt: skip


def test_each_fill_on_a_small_case():
    gamma, cost = [9.0, 8.0, 7.0, 1.0], [2.0, 2.0, 1.0, 1.0]
    expected = {
        "stop": [0],
        "skip": [0, 2],
        "reach": [0, 1],
        "debt": [0, 1],
        "value": [0, 2],
        "index": [0, 2],
    }
    for fill in FILLS:
        assert fill_budget(gamma, cost, 3.0, fill).tolist() == expected[fill], fill


def test_two_knapsacks_differ():
    """One dear source worth 3 x 5 = 15 against two cheap ones worth 6 + 4 = 10."""
    gamma, cost = [5.0, 6.0, 4.0], [3.0, 1.0, 1.0]
    assert fill_budget(gamma, cost, 3.0, "value").tolist() == [0]
    assert fill_budget(gamma, cost, 3.0, "index").tolist() == [1, 2]


@given(st.integers(0, 10**6), st.floats(0.1, 1))
def test_fills_keep_or_reach_the_budget(seed, share):
    rng = np.random.default_rng(seed)
    gamma, cost = rng.uniform(0, 9, 6), rng.uniform(0.2, 3, 6)
    budget = share * cost.sum()
    spent = {fill: cost[fill_budget(gamma, cost, budget, fill)].sum() for fill in FILLS}
    for fill in ("stop", "skip", "value", "index"):
        assert spent[fill] <= budget * (1 + 1e-9)
    assert spent["stop"] <= spent["skip"] + 1e-12
    assert spent["reach"] >= budget * (1 - 1e-9)
    values = {fill: (gamma * cost)[fill_budget(gamma, cost, budget, fill)].sum() for fill in FILLS}
    best = max(
        (gamma * cost)[list(some)].sum()
        for size in range(7)
        for some in combinations(range(6), size)
        if cost[list(some)].sum() <= budget * (1 + 1e-12)
    )
    assert values["value"] == pytest.approx(best)


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("budget", [1, 2, 3])
def test_unit_costs_give_index_policy(fill, budget):
    run = simulate_costs(four_sources(), fill, budget)
    cycle = long_run_cycle(four_sources(), "whittle", budget)
    assert run.average_reward == pytest.approx(cycle.average_reward, rel=1e-12)
    assert run.average_cost == run.largest_cost == budget
    np.testing.assert_allclose(run.frequency, cycle.frequency)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from([3.0, 3.5, 4.0]))
def test_rewards_against_the_exact_optimum(seed, budget):
    sources = priced_sources(seed)
    budget = min(budget, float(sources.cost.sum()))
    optimum = optimal_cycle(sources, budget, tolerance=1e-6).upper
    bound = relaxed_bound(sources, budget)[0]
    for fill in FILLS:
        run = simulate_costs(sources, fill, budget)
        assert run.period > 0
        if fill in ("stop", "skip", "value", "index"):
            assert run.largest_cost <= budget * (1 + 1e-9)
            assert run.average_reward <= optimum * (1 + 1e-9)
        if fill == "debt":
            assert run.average_cost <= budget * (1 + 1e-9)
            assert run.average_reward <= bound * (1 + 1e-9)


def test_reach_overshoots_and_debt_does_not():
    sources = priced_sources(3)
    reach, debt = (simulate_costs(sources, fill, 3.3) for fill in ("reach", "debt"))
    assert reach.average_cost > 3.3
    assert debt.average_cost <= 3.3 * (1 + 1e-9)
    assert debt.largest_cost > 3.3


def test_a_least_age_is_kept():
    sources = four_sources()
    run = simulate_costs(sources, "value", 1.0, least_age=[3, 1, 1, 1])
    assert run.frequency[0] <= 1 / 3 + 1e-12
    assert run.average_reward < simulate_costs(sources, "value", 1.0).average_reward


def test_equality_of_costs_can_be_infeasible():
    sources = Sources([1.0] * 3, [1.0] * 3, [1.0] * 3, cost=[2.0, 2.0, 5.0])
    assert exact_sets(sources, 3.0) == []
    assert exact_sets(sources, 4.0) == [(0, 1)]
    assert exact_sets(sources, 7.0) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: simulate_costs(s, "greedy", 1), "fill"),
        (lambda s: simulate_costs(s, "stop", 0.5), "budget"),
        (lambda s: simulate_costs(s, "debt", 5), "budget"),
        (lambda s: simulate_costs(s, "stop", 1, horizon=1), "horizon"),
        (lambda s: simulate_costs(s, "stop", 1, least_age=0), "least_age"),
        (lambda s: fill_budget([1.0], [0.0], 1, "stop"), "cost"),
        (lambda s: fill_budget([1.0, 2.0], [1.0], 1, "stop"), "gamma"),
        (lambda s: fill_budget([1.0] * 13, [1.0] * 13, 1, "value"), "sources"),
        (lambda s: exact_sets(s, 0), "budget"),
        (lambda s: exact_sets(s, 99.0), "budget"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(four_sources())
