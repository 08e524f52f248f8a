"""What the page on the Lagrangian index measures, against the models."""

import numpy as np
import pytest

from analysis.ephemeral import (
    LagrangianPolicy,
    Observation,
    crawl_price,
    losses,
    relaxed_bound,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.rollout import RolloutPolicy, follow
from book.ephemeral import exercises
from book.ephemeral import lagrangian_index as page


@pytest.mark.parametrize("edge", [1e-6, 1e-3, 1e-2])
def test_lockstep_stays_below_supremum(edge):
    frame = page.measure_lockstep(edge)
    assert (frame.loss < frame.supremum).all()
    assert (frame.loss > frame.supremum - 4 * edge).all()
    assert frame["optimum below bound"].abs().max() < 1e-9


def test_run_loss_is_the_loss_identity():
    sources = random_sources(40, 1)
    ages = np.random.default_rng(2).integers(1, 20, 40)
    _, middle = follow(sources, "lagrangian", 4, ages, 100)
    age, crawls = middle.astype(np.int64), []
    policy = LagrangianPolicy(sources)
    for epoch in range(100):
        crawls.append(policy.select(Observation(epoch, age, np.full(40, np.nan)), 4))
        age = age + 1
        age[crawls[-1]] = 1
    lost = losses(sources, crawls, 4, ages=middle)
    found = page.measure_run(sources, "lagrangian", ages, 200)
    assert found == pytest.approx(lost.total / 100 / relaxed_bound(sources, 4)[0], rel=1e-9)


@pytest.mark.parametrize("rule", ["whittle", "lagrangian", "rollout"])
def test_compiled_loop_plays_the_policies(rule):
    sources, ages = random_sources(30, 3), np.random.default_rng(4).integers(1, 20, 30)
    rewards, last = follow(sources, rule, 5, ages, 60, ahead=10)
    policy = {"lagrangian": LagrangianPolicy(sources), "rollout": RolloutPolicy(sources, 10)}
    age = ages.copy()
    for epoch in range(60):
        if rule == "whittle":
            arms = np.argsort(-whittle_index_at_age(sources, age), kind="stable")[:5]
        else:
            arms = policy[rule].select(Observation(epoch, age, np.full(30, np.nan)), 5)
        assert rewards[epoch] == pytest.approx(sources.state_at_age(age)[arms].sum(), rel=1e-12)
        age = age + 1
        age[arms] = 1
    assert last.tolist() == age.tolist()


def test_right_price_is_the_solved_one():
    wrong, other = page.measure_losses_by_price([1.0], 2, 400, 5)
    assert wrong.loss.tolist() == pytest.approx(other.right.tolist(), abs=1e-15)
    sources = random_sources(page.PRICED, [5, 9, 0])
    assert crawl_price(sources, page.PRICED // page.ONE_IN) > 0


def test_worse_set_is_worse():
    found = page.measure_worse_set(4, 1)
    assert found["worse-is-worse"]
    assert found["worse-low"] == pytest.approx(0.04386, abs=1e-5)
    assert found["worse-index-high"] == pytest.approx(0.02510, abs=1e-5)


def test_solutions_hold():
    found = exercises.solve_lagrangian_index()
    assert found["solution-third"] == pytest.approx(1 / 11, abs=1e-4)
    assert found["solution-apart"] == 0.0
