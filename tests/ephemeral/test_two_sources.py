"""Two sources: the index policy is exactly optimal, by the exact optimum and by brute force."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, long_run_cycle, optimal_cycle, whittle_index_at_age


def pair(seed):
    rng = np.random.default_rng([9, seed])
    return Sources(rng.lognormal(0, 1, 2), np.ones(2), rng.uniform(0.05, 2, 2))


def closed_form(sources):
    """X_1(1) + max(0, max_k (X_2(k) - gamma_1(1)) / k), source 1 the one of larger index."""
    first = whittle_index_at_age(sources, [1, 1])
    one = int(np.argmax(first))
    ages = np.arange(2, 2000)[:, None] * np.ones(2)
    other = sources.state_at_age(ages)[:, 1 - one]
    gain = ((other - first[one]) / np.arange(2, 2000)).max()
    return sources.state_at_age([1, 1])[one] + max(0.0, gain)


def best_runs(sources, longest=400):
    """Largest mean reward of runs of a crawls of one source and b of the other, in turn."""
    lengths = np.arange(1, longest)
    content = sources.state_at_age(np.arange(longest + 1)[:, None] * np.ones(2))
    a = (lengths - 1) * content[1, 0] + content[lengths + 1, 1]
    b = (lengths - 1) * content[1, 1] + content[lengths + 1, 0]
    runs = np.add.outer(a, b) / np.add.outer(lengths, lengths)
    return max(runs.max(), *content[1])


def check_pair(seed):
    sources = pair(seed)
    index = long_run_cycle(sources, "whittle", 1).average_reward
    assert index == pytest.approx(closed_form(sources), rel=1e-12)
    assert index == pytest.approx(best_runs(sources), rel=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_the_index_policy_is_optimal_with_two_sources(seed):
    check_pair(seed)


@pytest.mark.slow
def test_the_index_policy_is_optimal_on_a_thousand_pairs():
    for seed in range(60, 1060):
        check_pair(seed)


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_optimum_agrees(seed):
    sources = pair(seed)
    best = optimal_cycle(sources, 1)
    index = long_run_cycle(sources, "whittle", 1).average_reward
    assert index == pytest.approx(best.average_reward, rel=1e-9)


def test_with_three_sources_it_is_false():
    """A set on which the index policy loses 2.6% to the exact optimum."""
    u_star, decay = np.array([0.867, 1.136, 0.494]), np.array([1.075, 0.543, 1.051])
    three = Sources(u_star * decay, np.ones(3), decay)
    best = optimal_cycle(three, 1).average_reward
    index = long_run_cycle(three, "whittle", 1).average_reward
    assert index < 0.975 * best
