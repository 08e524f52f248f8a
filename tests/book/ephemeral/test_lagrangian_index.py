"""What the page on the Lagrangian index measures, against the models."""

import numpy as np
import pytest

from analysis.ephemeral import (
    LagrangianPolicy,
    Observation,
    crawl_price,
    losses,
    relaxed_bound,
)
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.rollout import follow
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
