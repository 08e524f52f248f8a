"""The threshold scan against a full sort of the index of what is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, simulate, whittle_index
from analysis.ephemeral.optimum.costs import fill_budget
from analysis.ephemeral.scheduler.observed import ObservedScheduler, content_at_index


def many_sources(count, seed=0, **more):
    rng = np.random.default_rng(seed)
    utility, rate = rng.lognormal(0, 1, count), rng.lognormal(0, 1, count)
    return Sources(rate, utility, rng.lognormal(-2, 1, count), **more)


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("start", ["empty", "full"])
def test_crawls_equal_full_sort(costs, start):
    rng = np.random.default_rng(1)
    cost = rng.choice([0.5, 1.0, 3.0], 3_000) if costs else 1.0
    sources = many_sources(3_000, cost=cost)
    scheduler = ObservedScheduler(sources, 40, start)
    ranked = []
    for epoch in range(400):
        state = scheduler.state.copy()
        index = whittle_index(sources, state)
        budget = 40 if epoch < 200 else rng.choice([0.3, 20.0, 90.0])
        expected = fill_budget(
            np.where(sources.cost <= budget, index, -np.inf), sources.cost, budget, "stop"
        )
        brought = sources.u * rng.gamma(0.5, 2.0, len(sources))
        numbers, rewards = scheduler.crawl(brought, budget)
        np.testing.assert_array_equal(numbers, expected)
        np.testing.assert_array_equal(rewards, state[expected])
        state[expected] = 0
        np.testing.assert_allclose(scheduler.state, sources.alpha * state + brought, rtol=1e-15)
        ranked.append(scheduler.rebuilds)
    assert ranked[199] < 20  # most epochs are decided among the candidates


def test_deterministic_model_equals_simulate():
    sources = four_sources()
    scheduler = ObservedScheduler(sources, 2)
    run = simulate(sources, "whittle", 2, 60)
    for epoch in range(60):
        numbers, rewards = scheduler.crawl(sources.u)
        assert rewards.sum() == pytest.approx(run.reward[epoch], rel=1e-12)
        np.testing.assert_array_equal(numbers, np.flatnonzero(run.crawled[:, epoch]))


@given(
    decay=st.floats(1e-6, 20),
    cost=st.floats(0.1, 10),
    share=st.floats(1e-6, 1.5),
)
def test_content_at_index_inverts_the_index(decay, cost, share):
    source = Sources([2.0], [3.0], [decay], cost=cost)
    index = share * source.u_star[0] / cost
    content = content_at_index(source, index)
    assert whittle_index(source, content)[0] == pytest.approx(index, rel=1e-9)


def test_worthless_sources():
    sources = Sources([0.0, 1.0], [1.0, 1.0], [0.5, 0.5])
    assert content_at_index(sources, 0.0).tolist() == [0.0, 0.0]
    assert content_at_index(sources, 0.7)[0] == 0.7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: ObservedScheduler(s, 0), "budget"),
        (lambda s: ObservedScheduler(s, 1).crawl(s.u[:2]), "arrived"),
        (lambda s: ObservedScheduler(s, 1).crawl(s.u, -1), "budget"),
        (lambda s: content_at_index(s, -1), "index"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(four_sources())


@pytest.mark.parametrize("entry", [-1.0, np.nan, np.inf, True, "1"])
def test_wrong_content_is_refused(entry):
    scheduler = ObservedScheduler(four_sources(), 1)
    with pytest.raises(ValueError, match="arrived"):
        scheduler.crawl([entry] * 4)
    assert scheduler.state.tolist() == [0.0] * 4
