"""The exact optimum of a few sources."""

import numpy as np
import pytest

from analysis.ephemeral import (
    four_sources,
    long_run_cycle,
    optimal_average_reward,
    optimal_cycle,
    relaxed_problem,
)
from analysis.ephemeral.instances import random_sources
from tests.families.ephemeral import fast_and_slow, optimum_by_linear_program

#: Sets on which the index policy does not earn the bound, and no age above 7 is needed.
NUMBERS = (19, 34, 35)


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
