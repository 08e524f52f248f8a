"""The compiled loop and the rollout, on families made to break them."""

import numpy as np
import pytest

from analysis.ephemeral import (
    LagrangianPolicy,
    Observation,
    RolloutPolicy,
    WhittlePolicy,
    crawl_price,
    four_sources,
    long_run_cycle,
    losses,
    relaxed_bound,
    relaxed_problem,
)
from analysis.ephemeral.instances import hard_sets, random_sources
from analysis.ephemeral.rollout import AGES, follow
from analysis.ephemeral.scheduler.register import spread_ages
from tests.ephemeral.sets import SETS, UNIT_COSTS, by_limit

LOCKSTEP = by_limit([1.0, 1.0, 0.4999, 0.2501], [np.log(2.0), np.log(2.0), 25.0, 25.0])

FAMILIES = {
    "table": (four_sources(), 2),
    "never crawled": (by_limit([5.0, 1.0, 1e-3], [0.3, 0.4, 0.2]), 1),
    "alpha near 0 and 1": (by_limit([1.0, 2.0, 3.0, 4.0], [300.0, 1e-9, 0.5, 40.0]), 2),
    "twelve decades": (by_limit(10.0 ** np.arange(-6, 7, 3), [0.1, 0.3, 0.7, 1.1, 2.0]), 2),
    "copies": (by_limit([2.0] * 6, [0.4] * 6), 2),
    "ties of three kinds": (by_limit([2.0, 1.0, 0.5] * 2, [0.4, 0.8, 1.6] * 2), 3),
    "all but one": (random_sources(6, 31), 5),
    "one place": (random_sources(6, 32), 1),
    "lockstep": (LOCKSTEP, 2),
    "hard": hard_sets()["five sources"],
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("rule", ["whittle", "lagrangian", "rollout"])
def test_compiled_loop_plays_policies(name, rule):
    sources, budget = FAMILIES[name]
    relaxed = relaxed_problem(sources, budget)
    for price in {relaxed.smallest_subsidy, crawl_price(sources, budget), relaxed.subsidy}:
        policy = {
            "whittle": WhittlePolicy(sources),
            "lagrangian": LagrangianPolicy(sources, price),
            "rollout": RolloutPolicy(sources, 6, price),
        }[rule]
        age = np.random.default_rng(33).integers(1, 20, len(sources))
        age[-1] = AGES - 1  # the next one is not kept
        rewards, last = follow(sources, rule, budget, age, 40, price=price, ahead=6)
        for epoch in range(40):
            seen = Observation(epoch, age, np.full(len(sources), np.nan))
            arms = policy.select(seen, budget)
            assert rewards[epoch] == pytest.approx(sources.state_at_age(age)[arms].sum(), rel=1e-12)
            age = age + 1
            age[arms] = 1
        assert last.tolist() == age.tolist()


@pytest.mark.parametrize("name", UNIT_COSTS)
def test_rollout_loses_no_more_ahead(name):
    """Its set, and then those of the Lagrangian index, against those of that index alone."""
    sources, rng = SETS[name], np.random.default_rng(7)
    hidden = np.full(len(sources), np.nan)
    for budget in range(1, len(sources)):
        policy, base = RolloutPolicy(sources, epochs=8), LagrangianPolicy(sources)
        for _ in range(10):
            ages, lost = rng.integers(1, 12, len(sources)), []
            for first in (policy, base):
                age, crawls = ages.copy(), []
                for epoch in range(8):
                    chooser = first if epoch == 0 else base
                    crawls.append(chooser.select(Observation(epoch, age, hidden), budget))
                    age = age + 1
                    age[crawls[-1]] = 1
                lost.append(losses(sources, crawls, budget, ages=ages).total)
            assert lost[0] <= lost[1] * (1 + 1e-9) + 1e-12 * sources.u_star.max()


@pytest.mark.parametrize("epochs", [1, 2, 30])
@pytest.mark.parametrize("ages", [(2, 2, 1, 1), (5, 5, 9, 9)])
def test_rollout_breaks_lockstep(epochs, ages):
    policy = RolloutPolicy(LOCKSTEP, epochs)
    cycle = long_run_cycle(LOCKSTEP, policy, 2, initial_age=np.array(ages))
    assert cycle.average_reward == pytest.approx(relaxed_bound(LOCKSTEP, 2)[0], rel=1e-9)


@pytest.mark.parametrize("copies", [1, 10, 200])
def test_copies_of_equal_age_stay_in_step(copies):
    """From equal ages the index loses with any number of copies what it loses with one."""
    sources = LOCKSTEP.subset(np.repeat(np.arange(4), copies))
    rewards, _ = follow(sources, "whittle", 2 * copies, np.full(4 * copies, 2), 200)
    bound = relaxed_bound(sources, 2 * copies)[0]
    assert 1 - rewards[100:].mean() / bound == pytest.approx(0.1, abs=2e-4)


@pytest.mark.parametrize("rule", ["whittle", "lagrangian"])
def test_copies_of_stationary_ages_lose_little(rule):
    one, copies = random_sources(4, 34), 512
    sources = one.subset(np.repeat(np.arange(4), copies))
    relaxed = relaxed_problem(one, 2)
    gaps = np.where(np.isfinite(relaxed.age), relaxed.age, 1).repeat(copies)
    ages = np.floor(np.random.default_rng(35).random(gaps.size) * gaps).astype(np.int64) + 1
    rewards, _ = follow(sources, rule, 2 * copies, ages, 1200)
    assert 1 - rewards[600:].mean() / (copies * relaxed.bound) < 1e-3


def test_rollout_loses_less_than_its_base():
    lost = np.zeros(2)
    for number in range(5):
        sources = random_sources(50, [36, number])
        ages = spread_ages(sources, 5, number)
        for i, rule in enumerate(("lagrangian", "rollout")):
            rewards, _ = follow(sources, rule, 5, ages, 1500)
            lost[i] += 1 - rewards[500:].mean() / relaxed_bound(sources, 5)[0]
    assert lost[1] < 0.8 * lost[0]


def test_gap_of_due_source_attains_its_bound():
    """Three sources, two places, due ages of 1: the one that waits does so every other epoch."""
    sources = by_limit([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])
    cycle = long_run_cycle(sources, "whittle", 2)
    assert relaxed_problem(sources, 2).age.tolist() == [1.0, 1.0, 1.0]
    assert max(max(cycle.gaps(i)) for i in range(3)) == (3 - 2) * 1 + 1


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"rule": "best"}, "rule"),
        ({"budget": 5}, "budget"),
        ({"ages": [1, 1, 1]}, "ages"),
        ({"ages": [1, 1, 1, 0.5]}, "ages"),
        ({"ages": [1, 1, 1, -1]}, "ages"),
        ({"epochs": 0}, "epochs"),
        ({"price": -1.0}, "price"),
        ({"ahead": 0}, "ahead"),
    ],
)
def test_wrong_runs_are_refused(changed, name):
    right = {"sources": four_sources(), "rule": "whittle", "budget": 1, "ages": [1] * 4}
    with pytest.raises(ValueError, match=name):
        follow(**{**right, "epochs": 3, **changed})
