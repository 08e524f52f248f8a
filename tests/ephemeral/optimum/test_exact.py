"""The exact optimum of a few sources."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from analysis.ephemeral import (
    Sources,
    four_sources,
    long_run_cycle,
    optimal_average_reward,
    optimal_cycle,
    relaxed_bound,
    relaxed_problem,
)
from analysis.ephemeral.instances import hard_sets, random_set, random_sources, wide_set
from analysis.ephemeral.optimum.exact import guided_cycle
from analysis.ephemeral.optimum.static import schedule_reward
from analysis.results import NotConverged
from tests.ephemeral.sets import SETS, budgets

#: Sets on which the index policy does not earn the bound, and no age above 7 is needed.
NUMBERS = (19, 34, 35)


def fast_and_slow(number):
    """Three or four sources, u* lognormal and decays log-uniform from 0.03 to 2."""
    rng = np.random.default_rng([29, number])
    size = 3 + number % 2
    limit = rng.lognormal(0.0, 1.0, size)
    decay = np.exp(rng.uniform(np.log(0.03), np.log(2.0), size))
    return Sources(limit * decay, np.ones(size), decay)


def optimum_by_linear_program(sources, budget, oldest=7):
    """Long-run reward of the best policy on joint ages up to `oldest`, by occupation measures."""
    size = len(sources)
    states = list(product(range(1, oldest + 1), repeat=size))
    number = {ages: row for row, ages in enumerate(states)}
    sets = [
        arms
        for arms in product((0, 1), repeat=size)
        if np.dot(arms, sources.cost) <= budget * (1 + 1e-12)
    ]
    content = sources.state_at_age(np.arange(1.0, oldest + 1)[:, None])
    scale = max(float(content.max()), 1e-300)
    reward = np.empty(len(states) * len(sets))
    flow = np.zeros((len(states) + 1, reward.size))
    for column, (ages, arms) in enumerate(product(states, sets)):
        reward[column] = sum(content[k - 1, i] for i, k in enumerate(ages) if arms[i]) / scale
        after = tuple(1 if a else min(k + 1, oldest) for k, a in zip(ages, arms, strict=True))
        flow[number[ages], column] += 1.0
        flow[number[after], column] -= 1.0
    flow[-1] = 1.0
    right = np.append(np.zeros(len(states)), 1.0)
    return -linprog(-reward, A_eq=flow, b_eq=right, method="highs").fun * scale


@pytest.mark.parametrize("name", SETS)
def test_optimum_equals_linear_program(name):
    sources = SETS[name].subset(slice(-3, None))
    for budget in budgets(sources)[:2]:
        found = optimal_cycle(sources, budget)
        truth = optimum_by_linear_program(sources, budget, 6)
        assert found.average_reward <= found.upper <= relaxed_bound(sources, budget)[0] * (1 + 1e-9)
        assert found.average_reward == pytest.approx(truth, rel=1e-7, abs=1e-12)
        assert optimal_average_reward(sources, budget) == found.average_reward


def test_too_many_ages_are_given_up():
    """A slow source beside fast ones needs more joint ages than there can be."""
    sources = Sources([250.0] * 3, [1.0, 0.7, 0.2], [0.7, 1e-10, 0.35])
    with pytest.raises(NotConverged, match="max_states = 1000"):
        optimal_cycle(sources, 1)
    with pytest.raises(NotConverged, match=r"it lies in \[\S+, \S+\].*max_states = 30 or"):
        optimal_cycle(Sources([5.0, 3.0, 2.0], [1.0] * 3, [0.02] * 3), 1, max_states=30)


@pytest.mark.parametrize(
    "numbers", [range(15), pytest.param(range(15, 568), marks=pytest.mark.slow)]
)
def test_fast_and_slow_sources_are_solved(numbers):
    """The gap closes up to rounding."""
    for sources in map(fast_and_slow, numbers):
        found = optimal_cycle(sources, 1)
        assert 0.0 <= found.gap <= 1e-11 * found.upper
        assert found.states <= 200_000
        assert found.upper <= relaxed_bound(sources, 1)[0] * (1 + 1e-12)
        played = listed(found.crawls, len(sources))
        assert (played.sum(axis=0) == 1).all()
        assert schedule_reward(sources, played) == pytest.approx(found.average_reward, rel=1e-12)


def test_optimum_knows_costs_that_just_fit():
    """Costs 1 and 1 + 1e-4 at a budget of 2: a pair with the dearer source does not fit."""
    sources = SETS["costs 1 and 1 + 1e-4"]
    fits = optimal_average_reward(sources, 2.0001)
    assert optimal_average_reward(sources, 2.0) < fits
    assert fits == pytest.approx(optimum_by_linear_program(sources, 2.0001), rel=1e-7)


def test_unusable_budget_is_left():
    """A budget is a cost, not a number of sources."""
    sources = four_sources()
    assert optimal_average_reward(sources, 1.5) == optimal_average_reward(sources, 1)


@pytest.mark.parametrize("number", NUMBERS)
def test_last_age_suffices(number):
    """A linear program over all joint ages up to a limit, which has neither of the two cut-offs."""
    sources = random_sources(3, np.random.default_rng([3, number]))
    found = optimal_cycle(sources, 1)
    enough = int(found.last_age.max())
    assert found.states > 0
    assert enough <= 7
    tried = {oldest: optimum_by_linear_program(sources, 1, oldest) for oldest in (2, 3, enough)}
    assert tried[enough] == pytest.approx(found.average_reward, rel=1e-8)
    assert tried[2] <= tried[3] * (1 + 1e-8) <= tried[enough] * (1 + 2e-8)
    assert tried[2] < found.average_reward * (1 - 1e-6)


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("number", range(8))
def test_cycle_earns_its_reward(number, costs):
    rng = np.random.default_rng([4, number])
    sources = random_sources(3, rng, costs=costs)
    budget = sources.cost.max() * rng.uniform(1.0, 1.6)
    found = optimal_cycle(sources, budget)
    age, earned = np.full(3, 1e9), 0.0
    for turn in range(2):
        for crawls in map(list, found.crawls):
            assert sources.cost[crawls].sum() <= budget * (1 + 1e-12)
            assert not turn or not found.states or (age[crawls] <= found.last_age[crawls]).all()
            earned += turn * sources.state_at_age(age)[crawls].sum()
            age += 1
            age[crawls] = 1
    assert earned / len(found.crawls) == pytest.approx(found.average_reward, rel=1e-12)
    assert found.gap == found.upper - found.average_reward >= 0


def shares_of_waiting(sources, factor):
    """Tell whether every source waits at most `factor` times the share that is proved."""
    relaxed = relaxed_problem(sources, 1)
    due = np.where(np.isfinite(relaxed.age), relaxed.age, 1)
    part = np.maximum(0.0, (sources.state_at_age(due) - relaxed.subsidy) / due)
    cycle = long_run_cycle(sources, "whittle", 1)
    best = optimal_cycle(sources, 1)
    for crawls, earned in (
        (cycle.crawls, cycle.average_reward),
        (best.crawls, best.average_reward),
    ):
        missing = relaxed.bound - earned + 1e-13  # up to rounding
        for arm in range(len(sources)):
            times = np.flatnonzero([arm in arms for arms in crawls])
            gaps = np.diff(times, append=times[:1] + len(crawls))
            for age in range(1, int(gaps.max(initial=1)) + 2):
                rise = sources.u[arm] * np.exp(-sources.decay[arm] * age)
                left = np.maximum(gaps - age, 0).sum() if gaps.size else len(crawls)
                if left / len(crawls) * (part[arm] - rise) > factor * missing:
                    return False
    return True


def test_waits_respect_bound():
    sets = [fast_and_slow(number) for number in range(8)]
    assert all(shares_of_waiting(sources, 1.0) for sources in sets)
    assert not all(shares_of_waiting(sources, 0.5) for sources in sets)


def listed(crawls, size):
    return np.array([[i in arms for arms in crawls] for i in range(size)])


@pytest.mark.parametrize("instance", range(10))
def test_cycle_is_between_policies_and_bound(instance):
    sources, _ = wide_set(instance, 2)
    budget = 1 + instance % (len(sources) - 1)
    found = guided_cycle(sources, budget, max_states=300)
    for policy in ("whittle", "lagrangian"):
        earned = long_run_cycle(sources, policy, budget).average_reward
        assert found.average_reward >= earned * (1 - 1e-12)
    assert found.average_reward <= found.upper == pytest.approx(relaxed_bound(sources, budget)[0])
    schedule = listed(found.crawls, len(sources))
    assert (schedule.sum(axis=0) == budget).all()
    assert schedule_reward(sources, schedule) == pytest.approx(found.average_reward, rel=1e-9)


@pytest.mark.sampled
def test_cycle_is_usually_optimal():
    lost = []
    for instance in range(12):
        sources, budget = random_set(instance, 6)
        best = optimal_cycle(sources, budget).average_reward
        lost.append(1 - guided_cycle(sources, budget).average_reward / best)
    assert max(lost) < 1e-3
    assert np.mean(np.array(lost) < 1e-9) > 0.8
    assert min(lost) > -1e-9


def test_lockstep_is_broken():
    decay = np.array([np.log(2.0), np.log(2.0), 25.0, 25.0])
    sources = Sources(np.array([1.0, 1.0, 0.4999, 0.2501]) * decay, np.ones(4), decay)
    found = guided_cycle(sources, 2, max_states=50)
    assert found.average_reward == pytest.approx(relaxed_bound(sources, 2)[0], rel=1e-9)


def test_hard_sets_lose_less():
    for sources, budget in hard_sets().values():
        found = guided_cycle(sources, budget)
        assert (
            found.average_reward > 1.01 * long_run_cycle(sources, "whittle", budget).average_reward
        )


@pytest.mark.parametrize(
    ("sources", "options", "name"),
    [
        (Sources([1.0] * 13, [1.0] * 13, [1.0] * 13), {}, "sources"),
        (Sources([1.0, 1.0], [1.0, 1.0], [1.0, 1.0], cost=[1.0, 2.0]), {}, "sources"),
        (four_sources(), {"budget": 5}, "budget"),
        (four_sources(), {"max_states": -1}, "max_states"),
    ],
)
def test_wrong_arguments_are_refused(sources, options, name):
    with pytest.raises(ValueError, match=name):
        guided_cycle(sources, **{"budget": 1, **options})
