from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import (
    Sources,
    bound_at_price,
    dual_descent,
    four_sources,
    long_run_cycle,
    optimal_average_reward,
    optimal_cycle,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import lognormal_sources
from analysis.ephemeral.relaxed import due_ages, relaxed_bound, relaxed_problem
from tests.ephemeral.sets import SETS, budgets, relaxed_by_linear_program, unlike


def random_sources(rng, size, *, costs=False):
    return Sources(
        10 ** rng.uniform(-1, 3, size),
        10 ** rng.uniform(-2, 1, size),
        10 ** rng.uniform(-1.5, 1, size),
        cost=rng.uniform(0.3, 3, size) if costs else 1.0,
    )


def bound_by_enumeration(sources, budget, subsidies, least=1, most=np.inf):
    """The dual function over a grid of subsidies, with every allowed age up to 3000 tried."""
    ages = np.arange(1, 3001)[:, None]
    content = sources.state_at_age(ages)
    allowed = (ages >= least) & (ages <= most)
    values = []
    for subsidy in subsidies:
        rate = np.where(allowed, (content - subsidy * sources.cost) / ages, -np.inf).max(axis=0)
        rate = np.where(np.isinf(most), np.maximum(rate, 0), rate)  # or never
        values.append(subsidy * budget + rate.sum())
    return min(values)


@pytest.mark.parametrize("name", SETS)
def test_bound_is_that_of_linear_programme(name):
    sources = SETS[name]
    for budget in budgets(sources):
        solution = relaxed_problem(sources, budget)
        truth = relaxed_by_linear_program(sources, budget)
        assert solution.bound == pytest.approx(truth, rel=1e-6, abs=1e-12)
        assert solution.primal == pytest.approx(solution.bound, rel=1e-12, abs=1e-300)
        assert (solution.frequency @ sources.cost) == pytest.approx(budget, rel=1e-14)
        assert solution.smallest_subsidy <= solution.subsidy


def test_ages_without_end_are_solved():
    """The slow source is due after 1e5 epochs: no list of ages could hold them."""
    sources = Sources([250.0] * 3, [1.0, 0.7, 0.2], [0.7, 1e-10, 0.35])
    for budget in (0.3, 1.0, 2.5):
        solution = relaxed_problem(sources, budget)
        assert solution.primal == pytest.approx(solution.bound, rel=1e-13)
        assert solution.frequency.sum() == pytest.approx(budget, rel=1e-14)
        for factor in (0.9, 1 - 1e-6, 1 + 1e-6, 1.1):
            price = factor * solution.subsidy
            assert bound_at_price(sources, budget, price) >= solution.bound * (1 - 1e-14)


def test_rounding_may_raise_budget():
    """Ten costs of 0.1 add up to less than 1, in which they fit."""
    sources = unlike(3, 10, cost=0.1)
    assert relaxed_bound(sources, 1.0)[0] == pytest.approx(sources.u.sum(), rel=1e-13)
    assert dual_descent(sources, 1.0, 5, step=1e-9).spent[0] == pytest.approx(1.0)
    assert optimal_average_reward(sources, 1.0) == pytest.approx(sources.u.sum(), rel=1e-13)


@given(st.integers(0, 10**6), st.floats(0, 3))
def test_due_age_reaches_subsidy(seed, factor):
    sources = random_sources(np.random.default_rng(seed), 5, costs=True)
    subsidy = factor * float(np.median(whittle_index_at_age(sources, [3] * 5)))
    ages = due_ages(sources, subsidy)
    never = np.isinf(ages)
    assert (sources.u_star[never] / sources.cost[never] <= subsidy).all()
    due = np.where(never, 1, ages)
    slack = 1e-12 * subsidy
    assert (whittle_index_at_age(sources, due)[~never] >= subsidy - slack).all()
    assert (whittle_index_at_age(sources, due - 1)[~never & (due > 1)] <= subsidy + slack).all()


@pytest.mark.parametrize("share", [1 / 3, 0.5, 2 / 3, 1.0])
@pytest.mark.parametrize("kind", ["unlike", "equal", "equal but one", "costs of a tenth"])
def test_subsidy_ignores_order(kind, share):
    rates = {
        "unlike": random_sources(np.random.default_rng(38), 5).arrival_rate,
        "equal": np.full(5, 3.0),
        "equal but one": np.array([3.0, 3.0, 3.0, 3.0, 9.0]),
        "costs of a tenth": np.array([1.0, 1.0, 2.0, 5.0, 5.0]),
    }[kind]
    cost = 0.1 if kind == "costs of a tenth" else 1.0
    budget = 5 * cost * share
    found = set()
    for order in permutations(range(5)):
        sources = Sources(rates[list(order)], np.ones(5), np.full(5, 0.3), cost=cost)
        solution = relaxed_problem(sources, budget)
        found.add((solution.subsidy, solution.smallest_subsidy, tuple(sorted(solution.age))))
        spent = (solution.frequency * sources.cost).sum()
        assert spent == pytest.approx(budget, rel=1e-14)
    assert len(found) == 1


@pytest.mark.parametrize(("size", "budget"), [(1000, 150), (1000, 130.5), (4, 1.5), (7, 7)])
def test_equal_sources_meet_budget(size, budget):
    """At the multiplier itself they all tie, and the shorter of two ages asks for more."""
    solution = relaxed_problem(Sources(np.ones(size), np.ones(size), np.full(size, 0.2)), budget)
    assert solution.frequency.sum() == pytest.approx(budget, rel=1e-14)
    gap = 1 / solution.frequency
    assert (np.floor(gap * (1 + 1e-14)) >= solution.age).all()
    assert (gap <= solution.age + 1).all()
    short = np.floor(gap * (1 + 1e-14))
    share = short + 1 - gap  # of the gaps that are short
    earned = -np.expm1(-0.2 * short) * share - np.expm1(-0.2 * (short + 1)) * (1 - share)
    assert (earned / 0.2 / gap).sum() == pytest.approx(solution.primal, rel=1e-13)


def test_flat_dual_gives_interval():
    """At M = 1 sources 1 and 2 share the crawler over a whole interval of subsidies."""
    sources = four_sources()
    ends = relaxed_problem(sources, 1)
    assert ends.smallest_subsidy == pytest.approx(sources.u_star[3], rel=1e-12)
    second = whittle_index_at_age(sources, [2] * 4)[:2].min()
    assert ends.subsidy == pytest.approx(second, rel=1e-12)
    for subsidy in np.linspace(ends.smallest_subsidy, ends.subsidy, 5):
        assert bound_by_enumeration(sources, 1, [subsidy]) == pytest.approx(ends.bound, rel=1e-9)
    single = relaxed_problem(sources, 2)
    assert single.smallest_subsidy == pytest.approx(single.subsidy, rel=1e-9)


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_index_is_optimal_for_four(budget):
    sources = four_sources()
    optimum = optimal_cycle(sources, budget)
    assert optimum.upper == pytest.approx(optimum.average_reward, rel=1e-9)
    index = long_run_cycle(sources, "whittle", budget).average_reward
    assert index == pytest.approx(optimum.average_reward, rel=1e-12)
    assert optimum.average_reward <= relaxed_bound(sources, budget)[0] * (1 + 1e-12)


# Gaps confined to intervals.


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.data())
def test_limited_bound_minimises_dual(seed, size, data):
    sources = lognormal_sources(size, np.random.default_rng(seed))
    least = np.array(data.draw(st.lists(st.integers(1, 30), min_size=size, max_size=size)))
    wide = st.sampled_from([0, 3, 50, np.inf])
    most = least + np.array(data.draw(st.lists(wide, min_size=size, max_size=size)))
    load = (1 / most).sum()
    budget = load + data.draw(st.floats(0.01, 1)) * (size - load)
    solution = relaxed_problem(sources, budget, min_age=least, max_age=most)
    subsidies = np.r_[0, solution.subsidy * np.r_[1, np.linspace(0.5, 1.5, 21)]]
    brute = bound_by_enumeration(sources, budget, subsidies, least, most)
    assert solution.bound == pytest.approx(brute, rel=1e-5)
    assert solution.bound <= relaxed_bound(sources, budget)[0] * (1 + 1e-9)
    assert solution.primal == pytest.approx(solution.bound, rel=1e-7)
    assert (solution.age >= least).all()
    assert (solution.age <= most).all()


@pytest.mark.parametrize(
    ("least", "most", "message"),
    [
        (0, 5, "min_age"),
        (1, 1, "max_age must ask for at most 2 an epoch"),
        ([1, 1, 7, 1], 5, "not above max_age, got 7 and 5 for source 2"),
        (1, [5, 2.5, 5, 5], "whole numbers, or max_age inf, got 1 and 2.5 for source 1"),
    ],
)
def test_wrong_age_limits_name_source(least, most, message):
    with pytest.raises(ValueError, match=message):
        relaxed_problem(four_sources(), 2, min_age=least, max_age=most)


def test_negative_subsidy_is_named():
    with pytest.raises(ValueError, match="subsidy"):
        due_ages(four_sources(), -1.0)
