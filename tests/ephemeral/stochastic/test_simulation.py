import numpy as np
import pytest
from scipy.stats import poisson

from analysis.ephemeral import (
    Sources,
    four_sources,
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
from analysis.ephemeral.policies import POLICIES, named_policy
from analysis.ephemeral.stochastic.simulation import IndexTable, compare, simulate_random
from tests.ephemeral.stochastic.lattice import lattice_average_reward


def some_sources():
    return Sources(
        [3.0, 1.0, 8.0, 0.3, 2.0],
        [1.0, 2.0, 0.5, 6.0, 1.0],
        [0.5, 0.2, 1.4, 0.05, 0.6],
        cost=[1.0, 0.5, 2.0, 1.0, 1.5],
    )


@pytest.mark.parametrize("policy", POLICIES)
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


@pytest.mark.parametrize("start", ["empty", "fresh"])
@pytest.mark.parametrize(("size", "budget"), [(4, 3), (5, 2), (7, 5), (3, 3), (6, 1)])
def test_compiled_round_robin_crawls_in_turn(start, size, budget):
    """After k epochs k M crawls have gone round: each source has had its share to within one."""
    sources = Sources(np.arange(1.0, size + 1), np.ones(size), np.geomspace(0.1, 40, size))
    for horizon in range(1, 3 * size):
        content = np.ones((size, horizon))
        run = simulate_random(sources, "round-robin", budget, content, initial_state=start)
        crawls = np.rint(run.frequency * horizon).astype(int)
        expected = np.bincount(np.arange(horizon * budget) % size, minlength=size)
        np.testing.assert_array_equal(crawls, expected)


class PrintedTheorem:
    """The theorem's index to the letter, in NumPy; the compiled rules are held against it."""

    def __init__(self, sources, short):
        self.sources, self.short = sources, short

    def select(self, observation, budget, rng):
        s, x = self.sources, observation.state
        inside = 1 - x / s.u_star
        safe = np.where(inside > 0, inside, 1.0)
        eta = np.where(inside > 0, np.ceil(np.log(safe) / -s.decay), 0)
        last = x if self.short else (1 - s.alpha**eta) * s.u_star
        gamma = (eta * ((1 - s.alpha) * x - s.u) + last) / s.cost
        return np.sort(np.argsort(-gamma, kind="stable")[:budget])


@pytest.mark.parametrize(("rule", "short"), [("theorem", False), ("remark", True)])
def test_printed_forms_are_played_as_printed(rule, short):
    sources = some_sources()
    content = Arrivals(sources).sample(400, np.random.default_rng(2))
    fast = simulate_random(sources, rule, 2, content)
    slow = simulate_random(sources, PrintedTheorem(sources, short), 2, content)
    np.testing.assert_allclose(fast.reward, slow.reward, rtol=1e-10)


def test_grid_index_plays_alike():
    sources = some_sources()
    content = Arrivals(sources).sample(2000, np.random.default_rng(3))
    step = sources.u_star / 5000
    grid = np.arange(20_000)[:, None] * step
    table = IndexTable(whittle_index(sources, grid).T, step)
    by_table = simulate_random(sources, table, 2, content)
    by_rule = simulate_random(sources, "whittle", 2, content)
    assert by_table.average_reward == pytest.approx(by_rule.average_reward, rel=1e-3)


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


def test_common_random_numbers_make_differences_precise():
    result = compare(
        Arrivals(four_sources()), ["whittle", "round-robin"], 1, 300, 20, np.random.default_rng(6)
    )
    gap = result.difference("whittle", "round-robin")
    apart = np.hypot(result.reward("whittle").half_width, result.reward("round-robin").half_width)
    assert gap.half_width < apart
    assert gap.interval[0] > 40


def test_round_robin_earns_its_exact_mean():
    sources = four_sources()
    result = compare(
        Arrivals(sources, Utility("gamma", variation=3.0)), ["round-robin"], 1, 800, 30,
        np.random.default_rng(7), warm_up=8,
    )  # fmt: skip
    exact = sources.state_at_age([4, 4, 4, 4]).mean()
    estimate = result.reward("round-robin")
    assert abs(estimate.value - exact) < 2.5 * estimate.half_width


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


def test_wrong_tables_and_laws_are_named():
    with pytest.raises(ValueError, match="values"):
        IndexTable(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="probabilities"):
        lattice_average_reward(
            Sources([1.0] * 2, [1.0] * 2, [1.0] * 2), [[0, 1]] * 2, [[0.5, 0.5], [0.5, 0.4]],
            lambda x: x, 1,
        )  # fmt: skip
