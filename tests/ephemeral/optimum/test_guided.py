"""The guided search against both index policies, the exact optimum and the bound."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, long_run_cycle, optimal_cycle, relaxed_bound
from analysis.ephemeral.instances import hard_sets, random_set, wide_set
from analysis.ephemeral.optimum.guided import guided_cycle
from analysis.ephemeral.optimum.schedules import schedule_reward


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
