"""Kernels are what their names say, applications have their costs, and the crawler its index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Sources, whittle_index_at_age
from analysis.restarts import whittle_index
from analysis.restarts.bandit import RestartBandit, index_scores, myopic_scores
from analysis.restarts.instances import (
    STRUCTURED_KERNELS,
    crawl_reward,
    crawler_arm,
    crawler_index,
    example_machines,
    example_queues,
    kernel_names,
    machine,
    queue,
    random_kernel,
    slide_arm,
    slide_arms,
    state_scores,
)
from analysis.restarts.joint import evaluate_scores, solve_joint
from tests.support import read_notebooks


@pytest.mark.parametrize("name", kernel_names())
@pytest.mark.parametrize("states", [2, 5, 25])
def test_kernels_are_monotone(name, states):
    for seed in range(5):
        arm = slide_arm(random_kernel(name, states, np.random.default_rng(seed)))
        assert arm.stochastically_monotone
        assert whittle_index(arm, 0.9).method == "closed form"


@pytest.mark.parametrize("name", kernel_names())
def test_wearing_kernels_only_wear(name):
    kernel = random_kernel(name, 6, np.random.default_rng(0))
    wears = name not in {"sorted-simplex", "lazy-simplex", "raised-tails", "sorted-quantiles",
                         "random-walk"}  # fmt: skip
    assert (not np.tril(kernel, -1).any()) == wears


def test_slide_arm_costs():
    arm = slide_arm(np.eye(5))
    assert arm.passive_cost.tolist() == [0, 1, 4, 9, 16]
    assert arm.active_cost.tolist() == [8] * 5
    assert arm.reset.tolist() == [1, 0, 0, 0, 0]


def test_instances_repeat():
    first, again = (slide_arms("lazy-simplex", 3, 4, np.random.default_rng(5)) for _ in range(2))
    assert all(np.array_equal(a.passive, b.passive) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0].passive, first[1].passive)
    same = slide_arms("lazy-simplex", 3, 4, np.random.default_rng(5), identical=True)
    assert same[0] is same[2]


@pytest.mark.parametrize("name", STRUCTURED_KERNELS)
def test_structured_kernels_stay_probability(name):
    assert np.allclose(np.diag(STRUCTURED_KERNELS[name](6, 0.4))[1:-1], 0.4)


def test_wrong_names_are_refused():
    with pytest.raises(ValueError, match="kernel"):
        random_kernel("wild", 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="states"):
        random_kernel("shock", 1, np.random.default_rng(0))
    for kernel in STRUCTURED_KERNELS.values():
        for stay in (-0.1, 1.5, float("nan")):
            with pytest.raises(ValueError, match="stay"):
                kernel(4, stay)
    with pytest.raises(ValueError, match="count"):
        slide_arms("shock", 0, 5, np.random.default_rng(0))


def test_pages_name_known_kernels():
    """What a page declares as its choices is what `random_kernel` knows."""
    declared = {
        (notebook.name, name): parameter.allowed
        for notebook in read_notebooks().values()
        for name, parameter in notebook.parameters.items()
        if name in {"kernel", "kernels", "named"}
    }
    assert len(declared) == 5
    assert set(declared.values()) == {f"{{{', '.join(kernel_names())}}}"}


# The arms of the applications


@settings(max_examples=60)
@given(st.floats(0.1, 10), st.floats(0.05, 0.98), st.sampled_from([0.5, 0.9, 0.999, 1.0]))
def test_crawler_index_matches_arm(u_star, alpha, discount):
    found = whittle_index(crawler_arm(u_star, alpha, 40), discount)
    if alpha > 0.6:  # else rewards of the last ages tie to rounding
        assert found.method == "closed form"
    closed = crawler_index(u_star, alpha, discount, np.arange(1, 40))
    assert np.allclose(found.index[:-1], closed, rtol=1e-9, atol=1e-9 * u_star)


@settings(max_examples=60)
@given(st.floats(0.1, 10), st.floats(0.05, 0.98), st.floats(0.01, 0.9999))
def test_crawler_index_first_order_bound(u_star, alpha, discount):
    ages = np.arange(1, 60)
    scale = u_star * (1 - alpha) * alpha**ages
    above = crawler_index(u_star, alpha, discount, ages) - crawler_index(u_star, alpha, 1.0, ages)
    slack = 1e-12 * u_star
    assert (above > -slack).all()
    assert (above <= 0.5 * ages * (ages + 1) * scale * (1 - discount) + slack).all()
    exact = [scale[k - 1] * sum(1 - discount**j for j in range(1, k + 1)) for k in ages]
    assert np.allclose(above, exact, atol=slack)


def test_crawler_index_limit():
    ages = np.arange(1, 30)
    limit = crawler_index(2.0, 0.8, 1.0, ages)
    gaps = [np.abs(crawler_index(2.0, 0.8, 1 - e, ages) - limit).max() for e in (1e-4, 1e-5, 1e-6)]
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.02)
    assert gaps[1] / gaps[2] == pytest.approx(10, rel=0.02)
    assert np.allclose(limit, crawl_reward(2.0, 0.8, ages) - ages * 0.4 * 0.8**ages)


@pytest.mark.parametrize("arms", [example_machines(4), example_queues(5)[:3]])
def test_optimum_index_and_rules_ordered(arms):
    bandit = RestartBandit(tuple(arms), 1, 0.95)
    best = solve_joint(bandit).values.flat[0]
    by = [
        evaluate_scores(bandit, scores).values.flat[0]
        for scores in (index_scores(bandit), myopic_scores(bandit), state_scores(arms))
    ]
    assert best <= min(by) + 1e-9
    # The myopic policy may win by a little; worst state first is far off on either.
    assert by[0] < 1.01 * best < by[2]


def test_queue_counts_losses():
    arm = queue([0.25, 0.5, 0.25], 3, 1.0, 2.0, loss_cost=10.0)
    assert arm.reset.tolist() == [0.25, 0.5, 0.25, 0.0]
    assert arm.passive[2].tolist() == [0.0, 0.0, 0.25, 0.75]
    assert arm.passive_cost.tolist() == [0.0, 1.0, 2.0 + 2.5, 3.0 + 10.0]
    assert arm.active_cost.tolist() == [2.0] * 4


def test_wrong_application_is_refused():
    with pytest.raises(ValueError, match="capacity"):
        queue([0.5, 0.3, 0.2], 1, 1.0, 1.0)
    with pytest.raises(ValueError, match="alpha"):
        crawler_arm(1.0, 1.5, 10)
    with pytest.raises(ValueError, match="ages"):
        crawler_arm(1.0, 0.5, 1)
    with pytest.raises(ValueError, match="running_cost"):
        machine(np.eye(2), [1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="wear"):
        machine([0.5, 0.5], [1.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="transmission_cost"):
        queue([0.5, 0.5], 3, 1.0, float("nan"))
    with pytest.raises(ValueError, match="arrivals"):
        queue(np.full((2, 2), 0.5), 3, 1.0, 1.0)
    with pytest.raises(ValueError, match="age"):
        crawler_index(1.0, 0.5, 0.9, [1, 0])
    with pytest.raises(ValueError, match="u_star"):
        crawler_arm(-1.0, 0.5, 10)


@settings(max_examples=40)
@given(st.floats(0.1, 5), st.floats(0.1, 3), st.floats(0.01, 2), st.integers(1, 60))
def test_average_index_matches_ephemeral_index(rate, utility, decay, age):
    source = Sources([rate], [utility], [decay])
    ours = crawler_index(source.u_star[0], source.alpha[0], 1.0, age)
    theirs = whittle_index_at_age(source, [age])[0]
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12 * source.u_star[0])
