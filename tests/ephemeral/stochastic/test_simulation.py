from itertools import product

import numpy as np
import pytest
from scipy.stats import poisson

from analysis.ephemeral import (
    Sources,
    four_sources,
    simulate,
    whittle_index,
    whittle_index_at_age,
)
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.kernels import (
    h,
    kth_largest,
    mark_top,
    relative_index,
    relative_index_at_age,
)
from analysis.ephemeral.policies import POLICIES, named_policy, top
from analysis.ephemeral.stochastic.simulation import (
    Environment,
    IndexTable,
    compare,
    random_trajectory,
    simulate_random,
)
from analysis.ephemeral.theory.formula import printed_index
from analysis.mdp.chains import stationary_law
from tests.ephemeral.sets import SETS

COMPILED = [name for name, policy in POLICIES.items() if policy.rule is not None]


def some_sources():
    return Sources(
        [3.0, 1.0, 8.0, 0.3, 2.0],
        [1.0, 2.0, 0.5, 6.0, 1.0],
        [0.5, 0.2, 1.4, 0.05, 0.6],
        cost=[1.0, 0.5, 2.0, 1.0, 1.5],
    )


def play(environment, policy, budget):
    rewards = []
    while environment.epoch < environment.horizon:
        arms = policy.select(environment.observation, budget, None)
        rewards.append(environment.step(arms).sum())
    return np.array(rewards)


@pytest.mark.parametrize("start", ["empty", "fresh", "full"])
def test_no_randomness_is_deterministic(start):
    sources = four_sources()
    content = np.repeat(sources.u[:, None], 60, axis=1)
    environment = Environment(sources, content, initial_state=start)
    rewards = play(environment, named_policy("whittle", sources), 2)
    expected = simulate(sources, "whittle", 2, 60, initial_state=start).reward
    np.testing.assert_allclose(rewards, expected, rtol=1e-12)


def test_unobserved_content_is_hidden():
    sources = four_sources()
    content = Arrivals(sources).sample(5, np.random.default_rng(4))
    environment = Environment(sources, content, observed=[True, False, True, False])
    environment.step([0])
    state = environment.observation.state
    np.testing.assert_array_equal(np.isnan(state), [False, True, False, True])
    np.testing.assert_array_equal(state[[0, 2]], environment.state[[0, 2]])
    np.testing.assert_array_equal(environment.observation.age, [1, 1, 1, 1])


@pytest.mark.parametrize("lifetime", [[3, 1], [2, np.inf]])
@pytest.mark.parametrize("initial", ["empty", [3.0, 4.0]])
def test_old_content_is_dropped(initial, lifetime):
    sources = Sources([5.0, 0.5], [2.0, 3.0], [0.4, 1.5])
    content = Arrivals(sources).sample(40, np.random.default_rng(5))
    environment = Environment(sources, content, lifetime=lifetime, initial_state=initial)
    rng = np.random.default_rng(6)
    start = np.zeros(2) if initial == "empty" else np.array(initial)
    brought = np.column_stack([start, content])  # column t is one period old at epoch t
    last = np.zeros(2, dtype=int)
    for epoch in range(40):
        for i in range(2):
            first = int(max(last[i], epoch - lifetime[i] + 1))
            ages = epoch - np.arange(first, epoch + 1)
            expected = (sources.alpha[i] ** ages * brought[i, first : epoch + 1]).sum()
            assert environment.state[i] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        arms = np.flatnonzero(rng.random(2) < 0.3)
        there = environment.state[arms]
        np.testing.assert_array_equal(environment.step(arms), there)
        last[arms] = epoch + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lifetime": [1, 2, 0, 4]}, "lifetime"),
        ({"lifetime": [1, 2]}, "lifetime"),
        ({"observed": [True]}, "observed"),
        ({"content": np.ones((3, 5))}, "content"),
        ({"content": -np.ones((4, 5))}, "content"),
    ],
)
def test_wrong_environment_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Environment(four_sources(), **{"content": np.ones((4, 5)), **arguments})


def test_wrong_steps_are_named():
    environment = Environment(four_sources(), np.ones((4, 1)))
    for arms in ([4], [-1], [1, 1], [True, False, False, False], [[1]], [0.5], None):
        with pytest.raises(ValueError, match="arms"):
            environment.step(arms)
    assert environment.epoch == 0
    environment.step([1])
    with pytest.raises(ValueError, match="at most 1 times"):
        environment.step([1])


@pytest.mark.parametrize("policy", COMPILED)
@pytest.mark.parametrize("observed", [True, False, [True, False, False, True, True]])
@pytest.mark.parametrize("lifetime", [np.inf, [2, 3, 1, np.inf, 5]])
@pytest.mark.parametrize(("budget", "start"), [(2, "fresh"), (3, "empty")])
def test_compiled_run_equals_policy(policy, observed, lifetime, budget, start):
    sources = some_sources()
    content = Arrivals(sources).sample(300, np.random.default_rng(1))
    options = {"observed": observed, "lifetime": lifetime, "initial_state": start, "warm_up": 7}
    fast = simulate_random(sources, policy, budget, content, **options)
    slow = simulate_random(sources, named_policy(policy, sources), budget, content, **options)
    np.testing.assert_allclose(fast.reward, slow.reward, rtol=1e-10)
    np.testing.assert_array_equal(fast.frequency, slow.frequency)
    assert fast.frequency.sum() == pytest.approx(budget)


@pytest.mark.parametrize("name", SETS)
def test_compiled_run_equals_policy_on_hard_sets(name):
    sources = SETS[name]
    rng = np.random.default_rng(0)
    content = rng.gamma(0.5, 2.0, (len(sources), 80)) * sources.u[:, None]
    for budget, rule in product({1, len(sources)}, COMPILED):
        policy = named_policy(rule, sources)
        for options in ({}, {"observed": False}):
            fast = simulate_random(sources, rule, budget, content, **options)
            slow = simulate_random(sources, policy, budget, content, **options)
            np.testing.assert_allclose(fast.reward, slow.reward, rtol=1e-10, atol=1e-300)
            np.testing.assert_array_equal(fast.frequency, slow.frequency)


class Printed:
    """Crawls the sources of the largest printed index."""

    def __init__(self, sources, form):
        self.sources, self.form = sources, form

    def select(self, observation, budget, rng):
        return top(printed_index(self.sources, observation.state, self.form), budget)


@pytest.mark.parametrize("form", ["theorem", "remark"])
def test_printed_forms_are_played_as_printed(form):
    sources = some_sources()
    content = Arrivals(sources).sample(400, np.random.default_rng(2))
    fast = simulate_random(sources, form, 2, content)
    run = random_trajectory(sources, Printed(sources, form), 2, content)
    np.testing.assert_allclose(run.reward, fast.reward, rtol=1e-10)
    np.testing.assert_allclose(run.crawled.mean(axis=1), fast.frequency)
    environment = Environment(sources, content)
    environment.step(np.flatnonzero(run.crawled[:, 0]))
    np.testing.assert_allclose(run.state[:, 1], environment.state)


def test_grid_index_plays_alike():
    sources = some_sources()
    content = Arrivals(sources).sample(2000, np.random.default_rng(3))
    step = sources.u_star / 5000
    grid = np.arange(20_000)[:, None] * step
    table = IndexTable(whittle_index(sources, grid).T, step)
    by_table = simulate_random(sources, table, 2, content)
    by_rule = simulate_random(sources, "whittle", 2, content)
    assert by_table.average_reward == pytest.approx(by_rule.average_reward, rel=1e-3)


def lattice_average_reward(sources, values, probabilities, priority, budget):
    """Average reward of a priority rule when content lives two periods, exactly.

    `values` and `probabilities` are the law of each source's U_i. A source is described by what the
    last epoch but one left, p_i (0 if it was crawled then), and what the last epoch brought: its
    content is alpha_i p_i + U_i, and the vector p is a finite Markov chain.
    """
    left = [np.concatenate([[0.0], point]) for point in values]
    states = list(product(*(range(len(levels)) for levels in left)))
    number = {state: row for row, state in enumerate(states)}
    transition, reward = np.zeros((len(states),) * 2), np.zeros(len(states))
    for row, state in enumerate(states):
        old = sources.alpha * np.array([left[i][k] for i, k in enumerate(state)])
        for draw in product(*(range(len(point)) for point in values)):
            chance = np.prod([probabilities[i][k] for i, k in enumerate(draw)])
            content = old + np.array([values[i][k] for i, k in enumerate(draw)])
            arms = top(priority(content), budget)
            reward[row] += chance * content[arms].sum()
            following = [k + 1 for k in draw]
            for arm in arms:
                following[arm] = 0
            transition[row, number[tuple(following)]] += chance
    return float(stationary_law(transition) @ reward)


def poisson_law(mean, xibar):
    counts = np.arange(int(poisson.isf(1e-13, mean)) + 1)
    law = poisson.pmf(counts, mean)
    return counts * xibar, law / law.sum()


@pytest.mark.parametrize("rule", ["whittle", "myopic"])
def test_simulation_equals_exact_chain(rule):
    """Poisson content that does not fade and lives two periods: a finite chain, no sampling."""
    sources = Sources([0.3, 0.2], [1.0, 2.5], [1e-9, 2e-9])
    laws = [poisson_law(r, x) for r, x in zip((0.3, 0.2), (1.0, 2.5), strict=True)]
    priority = (lambda x: x) if rule == "myopic" else (lambda x: whittle_index(sources, x))
    exact = lattice_average_reward(sources, [v for v, _ in laws], [p for _, p in laws], priority, 1)
    result = compare(
        Arrivals(sources, Utility("deterministic")),
        [rule],
        1,
        4000,
        40,
        np.random.default_rng(5),
        lifetime=2,
        warm_up=10,
    )
    estimate = result.reward(rule)
    assert abs(estimate.value - exact) < 2.5 * estimate.half_width
    assert estimate.half_width < 0.02 * exact


def test_compare_spawns_one_stream_a_replication():
    arrivals = Arrivals(SETS["costs of all kinds"])
    found = compare(arrivals, ["whittle", "greedy"], 1, 30, 3, np.random.default_rng(2), warm_up=5)
    for number, stream in enumerate(np.random.default_rng(2).spawn(3)):
        content = arrivals.sample(30, stream)
        for name in ("whittle", "greedy"):
            run = simulate_random(arrivals.sources, name, 1, content, warm_up=5)
            assert found.rewards[name][number] == run.average_reward
            np.testing.assert_array_equal(found.frequencies[name][number], run.frequency)
    gap = found.rewards["whittle"] - found.rewards["greedy"]
    assert found.difference("whittle", "greedy").value == pytest.approx(gap.mean())


def test_common_random_numbers_make_differences_precise():
    result = compare(
        Arrivals(four_sources()), ["whittle", "round-robin"], 1, 300, 20, np.random.default_rng(6)
    )
    gap = result.difference("whittle", "round-robin")
    apart = np.hypot(result.reward("whittle").half_width, result.reward("round-robin").half_width)
    assert gap.half_width < apart
    assert gap.interval[0] > 40


def test_selection_marks_the_largest():
    rng = np.random.default_rng(8)
    for size in (1, 2, 9, 50, 333):
        for count in {1, min(3, size), max(1, size // 2), size}:
            values = np.round(rng.normal(size=size), 1)  # with ties
            work, chosen = np.empty(size), np.zeros(size, dtype=bool)
            mark_top(values, count, work, chosen)
            expected = np.sort(np.argsort(-values, kind="stable")[:count])
            np.testing.assert_array_equal(np.flatnonzero(chosen), expected)
            assert kth_largest(values, count, work) == np.sort(values)[-count]


def test_scalar_index_is_the_vector_index():
    sources = some_sources()
    ages = np.arange(1, 60)[:, None] * np.ones(5)
    scale = sources.u_star / sources.cost
    for i in range(5):
        decay = sources.decay[i]
        mine = [relative_index_at_age(decay, h(decay), k) * scale[i] for k in ages[:, i]]
        np.testing.assert_allclose(mine, whittle_index_at_age(sources, ages)[:, i], rtol=1e-13)
        shares = np.linspace(0, 1.3, 40)
        mine = [relative_index(decay, h(decay), share) * scale[i] for share in shares]
        states = shares[:, None] * sources.u_star
        np.testing.assert_allclose(mine, whittle_index(sources, states)[:, i], rtol=1e-12)


def test_wrong_table_is_named():
    with pytest.raises(ValueError, match="values"):
        IndexTable(np.ones(3), np.ones(3))
