"""Many copies: the relaxed bound attained exactly, and what an order without conditions loses."""

from math import lcm

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, relaxed_problem, simulate
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.stochastic.replicas import simulate_replicas
from analysis.ephemeral.timetables.copies import (
    LONGEST_PERIOD,
    enough_copies,
    frequencies,
    in_order,
    two_level,
    whole,
)
from tests.ephemeral.sets import SETS, UNIT_COSTS
from tests.ephemeral.timetables.test_table import drawn


def check_copies(instance, size=4):
    sources, budget = random_set(instance, 1, size)
    enough = enough_copies(sources, budget)
    if np.isnan(enough):  # all due ages whole: proved from n' K on where all divide the longest, K
        gaps = np.round(1 / (f := frequencies(sources, budget))[f > 0])
        enough = (gaps > 1).sum() * gaps.max() if (gaps.max() % gaps == 0).all() else 30
    sizes = [max(1, int(np.ceil(enough))), int(np.ceil(enough)) + 1]
    for copies in sizes:
        plan = two_level(sources, budget, copies)
        assert plan.counts.sum(axis=0).tolist() == [budget * copies] * plan.counts.shape[1]
        assert abs(plan.loss) < 1e-10, (instance, copies, plan.rule)


@drawn(40)
def test_many_copies_attain_bound(seeds):
    for seed in seeds:
        check_copies(seed)


def test_due_ages_without_common_one():
    """Due ages 3, 4, 4 and 6: the longest is no common multiple."""
    sources, budget = random_set(54, 1)
    assert np.isnan(enough_copies(sources, budget))
    for copies in (2, 3, 4, 5):
        assert abs(two_level(sources, budget, copies).loss) < 1e-12


@pytest.mark.parametrize(("instance", "copies"), [(1, 3), (5, 7), (8, 4), (54, 3)])
def test_rewards_equal_copy_simulation(instance, copies):
    sources, budget = random_set(instance, 1)
    plan = two_level(sources, budget, copies)
    period = plan.counts.shape[1]
    turns = -(-600 // period)
    run = simulate(plan.expanded(), plan, budget * copies, 2 * turns * period)
    late = run.reward[turns * period :].mean() / copies
    assert late == pytest.approx(plan.average_reward, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_order_keeps_shares(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    share = rng.dirichlet(np.ones(size))
    counts = in_order(share, 1, 3000)
    off = np.cumsum(counts, axis=1) - share[:, None] * np.arange(1, 3001)
    assert np.abs(off).max() <= 1 - 1 / (2 * size - 2) + 1e-6
    assert (counts.sum(axis=0) == 1).all()


def check_order(instance):
    """Gaps of an order alone, crawl by crawl: which occur, how often, and what they lose."""
    sources, budget = random_set(instance, 1)
    frequency = frequencies(sources, budget)
    crawled = np.flatnonzero((frequency > 0) & (frequency < 1 - 1e-9))
    if not crawled.size:
        return
    always = int((frequency > 1 - 1e-9).sum())
    k = np.floor(1 / frequency[crawled] + 1e-9)
    copies = int(np.random.default_rng(instance).choice([13, 37, 101]))
    if copies < 1 + k.max() or (copies * (1 - frequency[crawled])).min() < 1:
        return
    epochs = 400
    share = frequency[crawled] / frequency[crawled].sum()
    counts = in_order(share, copies * (budget - always), epochs)
    fractional, lost, allowed = ~whole(frequency)[crawled], 0.0, 0.0
    for row, i, least, mixed in zip(counts, crawled, k, fractional, strict=True):
        epoch = np.repeat(np.arange(epochs), row)
        gap = epoch[copies:] - epoch[:-copies]
        begins = epoch[:-copies]
        most = least + 1 if mixed else least  # gaps of the relaxed problem
        assert least - 1 <= gap.min() <= gap.max() <= most + 1
        for off in (gap < least, gap > most):
            assert np.bincount(begins[off], minlength=1).max() <= 1
        decay = sources.decay[i]
        content = sources.u_star[i] * -np.expm1(-decay * np.arange(gap.max() + 3))
        at, slope = content[int(least)], np.diff(content)[int(least)]
        lost += (at + slope * (gap - least) - content[gap]).sum()
        few = sources.u_star[i] * np.expm1(-decay) ** 2 * np.exp(-decay * (least - 1))
        allowed += few * (1 + np.exp(-decay) * mixed)
    assert lost / epochs <= allowed + 1e-9
    plan = two_level(sources, budget, copies)
    assert plan.loss <= allowed / (copies * plan.bound) + 1e-12


@drawn(15)
def test_order_loss_is_bounded(seeds):
    for seed in seeds:
        check_order(seed)


def test_equal_types_are_tied():
    alike = Sources(np.ones(4), np.ones(4), np.full(4, 0.3))
    frequency = frequencies(alike, 3)
    assert frequency.sum() == pytest.approx(3)
    assert (~whole(frequency)).sum() <= 1
    assert abs(two_level(alike, 3, 5).loss) < 1e-12


def test_index_keeps_gap():
    copies = 1000
    kept = 1 - simulate_replicas(four_sources(), 2, copies).average_reward / (
        relaxed_problem(four_sources(), 2).bound
    )
    assert kept > 1e-4
    assert abs(two_level(four_sources(), 2, copies).loss) < 1e-12


def test_what_is_no_plan_is_refused():
    with pytest.raises(ValueError, match="copies"):
        two_level(four_sources(), 2, 0)
    with pytest.raises(ValueError, match="cost"):
        two_level(Sources([1, 1], [1, 1], [1, 1], cost=[1, 2]), 1, 3)


@pytest.mark.parametrize("name", UNIT_COSTS)
def test_plans_of_hard_sets_fill_budget(name):
    sources = SETS[name]
    frequency = frequencies(sources, 1)
    due = [int(k) for k in np.round(1 / frequency[whole(frequency)])]
    for copies in (1, 7):
        if lcm(*due) > LONGEST_PERIOD:
            with pytest.raises(ValueError, match="common multiple"):
                two_level(sources, 1, copies)
            continue
        plan = two_level(sources, 1, copies)
        assert (plan.counts.sum(axis=0) <= copies).all()
        assert -1e-9 <= plan.loss <= 1
