from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import (
    Observation,
    RoundRobinPolicy,
    Sources,
    WhittlePolicy,
    four_sources,
    long_run_cycle,
    relaxed_bound,
    simulate,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import wide_set
from analysis.ephemeral.policies import POLICIES, named_policy
from analysis.ephemeral.simulation import follow_to_cycle, long_run
from analysis.results import NotConverged
from tests.ephemeral.sets import SETS, index_in_mpmath


def different_sources(size):
    """Sources of all speeds: some hold their limit after one epoch, some after a thousand."""
    decay = np.geomspace(50.0, 0.05, size)
    return Sources(np.arange(1.0, size + 1), np.ones(size), decay)


def cycle_by_hand(sources, budget):
    """Average reward of the index policy on integer ages, ranks in high precision."""
    limits = [mpmath.mpf(float(u)) for u in sources.u_star]
    oldest = np.maximum(np.minimum(sources.settled_age, 1e9), 2)
    ages, steps, rewards, ranks = [0] * len(sources), {}, [], {}

    def rank(i, age):
        """Index and content of a source."""
        content = -limits[i] * mpmath.expm1(-mpmath.mpf(float(sources.decay[i])) * age)
        index = index_in_mpmath(sources.decay[i], content, limits[i]) if age else mpmath.mpf(0)
        return index / mpmath.mpf(float(sources.cost[i])), content

    while tuple(ages) not in steps:
        steps[tuple(ages)] = len(rewards)
        for key in enumerate(ages):
            if key not in ranks:
                ranks[key] = rank(*key)
        order = sorted(range(len(ages)), key=lambda i: (-ranks[i, ages[i]][0], i))[:budget]
        rewards.append(sum(ranks[i, ages[i]][1] for i in order))
        ages = [1 if i in order else min(k + 1, int(oldest[i])) for i, k in enumerate(ages)]
    cycle = rewards[steps[tuple(ages)] :]
    return float(sum(cycle) / len(cycle))


@pytest.mark.parametrize("name", SETS)
def test_cycle_earns_its_gaps(name):
    sources = SETS[name]
    for budget in {1, len(sources)}:
        truth = cycle_by_hand(sources, budget)
        found = long_run_cycle(sources, "whittle", budget)
        assert found.average_reward == pytest.approx(truth, rel=1e-9, abs=1e-300)
        for policy in ("myopic", "greedy", "round-robin"):
            cycle = long_run_cycle(sources, policy, budget)
            assert cycle.frequency.sum() == pytest.approx(budget)
            gaps = [np.array(cycle.gaps(i), float)[:, None] for i in range(len(sources))]
            earned = sum(sources.state_at_age(gap)[:, i].sum() for i, gap in enumerate(gaps))
            expected = earned / cycle.period
            assert cycle.average_reward == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_cycle_of_least_decay():
    tiny = Sources([20.0, 10.0], [1.0, 1.0], [1e-100] * 2)
    assert long_run_cycle(tiny, "round-robin", 1).average_reward == pytest.approx(30.0, rel=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_run_collects_content_at_ages(name):
    sources = SETS[name]
    for budget, policy in product({1, len(sources)}, ("whittle", "greedy", "round-robin")):
        run = simulate(sources, policy, budget, 60, initial_state="fresh")
        age, total = np.ones(len(sources)), 0.0
        for epoch in range(60):
            arms = np.flatnonzero(run.crawled[:, epoch])
            assert arms.size == budget
            exact = sources.state_at_age(age)
            np.testing.assert_allclose(run.state[:, epoch], exact, rtol=1e-12)
            total += exact[arms].sum()
            if policy == "whittle":
                index = whittle_index_at_age(sources, age)
                waiting = np.delete(index, arms)
                assert index[arms].min() >= waiting.max(initial=0) * (1 - 1e-9)
            age += 1
            age[arms] = 1
        assert run.average_reward == pytest.approx(total / 60, rel=1e-12, abs=1e-300)


@given(st.integers(1, 12), st.data())
@settings(max_examples=40)
def test_round_robin_is_cyclic(size, data):
    """N crawls in a row are one of each source, from the first epoch on and for ever."""
    budget = data.draw(st.integers(1, size))
    start = data.draw(st.sampled_from(["empty", "fresh", "full"]))
    run = simulate(different_sources(size), "round-robin", budget, 30, initial_state=start)
    turns = (np.arange(30)[:, None] * budget + np.arange(budget)) % size
    expected = np.zeros((size, 30), dtype=bool)
    expected[turns, np.arange(30)[:, None]] = True
    np.testing.assert_array_equal(run.crawled, expected)


@given(st.integers(1, 12), st.data())
@settings(max_examples=40)
def test_round_robin_shares_cycle(size, data):
    budget = data.draw(st.integers(1, size))
    sources = different_sources(size)
    cycle = long_run_cycle(sources, "round-robin", budget)
    np.testing.assert_allclose(cycle.frequency, budget / size, rtol=1e-14)
    # Of its gaps, of mean N/M, a share is the whole number below and the rest the one above.
    below, rest = divmod(size, budget)
    gaps = np.array([[below], [below + 1]]) * np.ones(size)
    content = sources.state_at_age(gaps)
    mean = ((budget - rest) * content[0] + rest * content[1]).sum() / size
    assert cycle.average_reward == pytest.approx(mean, rel=1e-13)


@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=9),
    st.lists(st.integers(1, 9), min_size=8, max_size=8),
)
@settings(max_examples=40)
def test_round_robin_survives_budget_changes(ages, budgets):
    age, size, crawled = np.array(ages), len(ages), []
    for epoch, wanted in enumerate(budgets):
        seen = Observation(epoch, age, np.full(size, np.nan))
        arms = RoundRobinPolicy().select(seen, min(wanted, size - 1))
        (first,) = arms[~np.isin((arms - 1) % size, arms)]  # they are one block around the circle
        crawled += ((first + np.arange(arms.size)) % size).tolist()
        age = age + 1
        age[arms] = 1
    np.testing.assert_array_equal(np.diff(crawled) % size, 1)


def test_rounded_state_keeps_index():
    """The state of source 1 at age 2 computes to a ceiling of 3 in the printed short form."""
    sources = four_sources()
    by_age = WhittlePolicy(sources)
    for budget in (1, 2, 3):
        run = simulate(sources, "whittle", budget, 200)
        ages = np.zeros(4, dtype=int)
        hidden = np.full(4, np.nan)
        for epoch in range(200):
            arms = by_age.select(Observation(epoch, ages, hidden), budget)
            np.testing.assert_array_equal(np.flatnonzero(run.crawled[:, epoch]), arms)
            ages += 1
            ages[arms] = 1


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("budget", [0, -1, 5, 1.5])
def test_policy_checks_budget(name, budget):
    seen = Observation(0, np.ones(4, dtype=int), np.ones(4))
    with pytest.raises(ValueError, match=rf"budget must be an integer in \[1, 4\], got {budget}"):
        named_policy(name, four_sources()).select(seen, budget, None)


def test_cycles_entered_from_other_ages():
    """From its own ages a cycle is entered at once; a set has two cycles of unlike reward."""
    sources, rng = wide_set(6, 1)
    size, earned = len(sources), []
    plain = long_run_cycle(sources, "whittle", 1)
    same = long_run_cycle(sources, "whittle", 1, initial_age=np.zeros(size, int))
    assert (same.start, same.crawls) == (plain.start, plain.crawls)
    for _ in range(5):
        cycle = long_run_cycle(sources, "whittle", 1, initial_age=rng.integers(1, 13, size))
        age = np.full(size, 10**6)  # one pass of its crawls leaves the ages of the cycle
        for arms in cycle.crawls:
            age += 1
            age[list(arms)] = 1
        again = long_run_cycle(sources, "whittle", 1, initial_age=age)
        assert again.start == 0
        assert again.crawls == cycle.crawls
        earned.append(cycle.average_reward)
    assert max(earned) <= relaxed_bound(sources, 1)[0] * (1 + 1e-12)
    assert max(earned) > 1.001 * min(earned)


class Alternating:
    """Crawls source 0 at every second epoch, source 1 else, and notes the ages it is shown."""

    def __init__(self):
        self.ages = []

    def select(self, observation, budget, rng):
        self.ages.append(observation.age.tolist())
        return np.array([observation.epoch % 2])


@pytest.mark.parametrize(
    ("initial_state", "ages"),
    [
        ("empty", [[0, 0], [1, 1], [2, 1], [1, 2], [2, 1]]),
        ("fresh", [[1, 1], [1, 2], [2, 1], [1, 2], [2, 1]]),
    ],
)
def test_policy_sees_ages(initial_state, ages):
    policy = Alternating()
    sources = Sources([1.0, 1.0], [1.0, 1.0], [1.0, 1.0])
    simulate(sources, policy, 1, 5, initial_state=initial_state)
    assert policy.ages == ages


def test_long_run_is_cycle():
    found = long_run(four_sources(), "whittle", 2)
    cycle = long_run_cycle(four_sources(), "whittle", 2)
    assert (found.start, found.crawls, found.repeats) == (cycle.start, cycle.crawls, True)


def test_long_run_averages_without_cycle():
    """Twenty sources that decay alike: their ages hardly ever come twice."""
    size = 20
    alike = Sources(np.linspace(1.0, 2.9, size), np.ones(size), np.full(size, 0.3))
    with pytest.raises(NotConverged, match="max_epochs"):
        long_run_cycle(alike, "whittle", 3, max_epochs=4000)
    found = long_run(alike, "whittle", 3, max_epochs=4000)
    assert not found.repeats
    assert found.period == 2000
    assert found.frequency.sum() == pytest.approx(3)
    run = simulate(alike, "whittle", 3, 8000)
    assert found.average_reward == pytest.approx(run.reward[4000:].mean(), rel=1e-3)


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 60))
def test_state_leads_to_cycle(period, before, horizon):
    def step(n):
        return -n, n + 1 if n + 1 < before + period else before

    passed, first = follow_to_cycle(step, 0, horizon, key=int)
    assert first == (before if horizon >= before + period else None)
    assert passed == [-n for n in range(min(horizon, before + period))]


def test_state_may_change_in_place():
    def step(state):
        state += 1
        state %= 3
        return int(state[0]), state

    passed, first = follow_to_cycle(step, np.array([5]), 10, key=np.ndarray.tobytes)
    assert (passed, first) == ([0, 1, 2, 0], 1)
