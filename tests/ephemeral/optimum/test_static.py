import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import (
    Observation,
    Sources,
    four_sources,
    long_run_cycle,
    optimal_average_reward,
    relaxed_bound,
    relaxed_problem,
    simulate,
)
from analysis.ephemeral.optimum.static import (
    RandomPolicy,
    SchedulePolicy,
    best_periods,
    constant_gaps,
    fluid_frequencies,
    fluid_reward,
    random_frequencies,
    random_reward,
    schedule_reward,
    spread_schedule,
)
from tests.ephemeral.sets import QUICK, SETS


def random_sources(seed, size):
    rng = np.random.default_rng(seed)
    return Sources(
        rng.uniform(1, 9, size), rng.uniform(0.5, 2, size), rng.uniform(0.1, 2, size),
        cost=rng.uniform(0.5, 2, size),
    )  # fmt: skip


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(0.1, 0.9), st.sampled_from(["fluid", "random"]))
def test_frequencies_are_optimal(seed, share, kind):
    """No feasible direction improves: checked by random exchanges of cost between two sources."""
    sources = random_sources(seed, 5)
    budget = share * sources.cost.sum()
    solve, value = {
        "fluid": (fluid_frequencies, fluid_reward),
        "random": (random_frequencies, random_reward),
    }[kind]
    best = solve(sources, budget)
    assert (best.frequency * sources.cost).sum() == pytest.approx(budget, rel=1e-9)
    assert best.average_reward == pytest.approx(value(sources, best.frequency))
    rng = np.random.default_rng(seed)
    for _ in range(30):
        i, j = rng.choice(5, 2, replace=False)
        moved = best.frequency.copy()
        cost = 0.02 * rng.random()
        moved[i] += cost / sources.cost[i]
        moved[j] -= cost / sources.cost[j]
        if (moved >= 0).all() and (moved <= 1).all():
            assert value(sources, moved) <= best.average_reward * (1 + 1e-12)


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_fluid_formula_overestimates(budget):
    sources = four_sources()
    assert fluid_frequencies(sources, budget).average_reward > relaxed_bound(sources, budget)[0]


def test_fluid_formula_exact_at_integers():
    sources = four_sources()
    frequency = np.array([1.0, 0.5, 0.25, 0.125])
    schedule = np.zeros((4, 8), dtype=bool)
    for i, gap in enumerate((1, 2, 4, 8)):
        schedule[i, ::gap] = True
    assert fluid_reward(sources, frequency) == pytest.approx(schedule_reward(sources, schedule))


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_random_draws_earn_their_formula(budget):
    sources = four_sources()
    best = random_frequencies(sources, budget)
    rng = np.random.default_rng(1)
    run = simulate(sources, RandomPolicy(best.frequency), budget, 20_000, rng=rng)
    assert run.average_reward == pytest.approx(best.average_reward, rel=5e-3)
    np.testing.assert_allclose(run.crawled.mean(axis=1), best.frequency, atol=0.01)
    assert (run.crawled.sum(axis=0) == budget).all()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_spread_schedule_meets_targets(seed, size):
    rng = np.random.default_rng(seed)
    budget = int(rng.integers(1, size))
    f = rng.dirichlet(np.ones(size)) * budget
    while f.max() > 1:
        f = 0.5 * f + 0.5 * budget / size
    schedule = spread_schedule(f, budget, 200)
    assert schedule.sum(axis=0).max() <= budget
    counts = schedule.cumsum(axis=1)
    targets = f[:, None] * np.arange(1, 201)
    assert np.abs(counts - targets).max() <= (1 if budget == 1 else 2) + 1e-6


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_feasible_schedules_stay_below_optimum(budget):
    sources = four_sources()
    optimum = optimal_average_reward(sources, budget)
    relaxed = relaxed_problem(sources, budget)
    spread = schedule_reward(sources, spread_schedule(relaxed.frequency, budget, 8400))
    gaps, periodic = best_periods(sources, budget)
    draws = random_frequencies(sources, budget).average_reward
    assert draws < min(spread, periodic)
    assert max(spread, periodic) <= optimum * (1 + 1e-9)
    played = np.zeros((4, 12), dtype=bool)
    for i, gap in enumerate(gaps):
        if gap:
            played[i, ::gap] = True
    assert schedule_reward(sources, played) == pytest.approx(periodic)


def test_constant_gaps_of_the_four_sources():
    sources = four_sources()
    assert constant_gaps(long_run_cycle(sources, "whittle", 1))
    assert constant_gaps(long_run_cycle(sources, "round-robin", 1))
    assert not constant_gaps(long_run_cycle(sources, "whittle", 2))
    assert not constant_gaps(long_run_cycle(sources, "whittle", 3))


def test_best_periods_respect_collisions():
    """Gaps 2 and 3 share a crawler only if they never meet, and they always do."""
    sources = Sources([9.0, 9.0], [1.0, 1.0], [0.01, 0.006])
    gaps, _ = best_periods(sources, 1, 6)
    assert gaps not in {(2, 3), (3, 2)}


def test_schedule_is_repeated():
    policy = SchedulePolicy(np.array([[True, False], [False, True]]))
    seen = [
        policy.select(Observation(t, np.ones(2, int), np.ones(2)), 1).tolist() for t in range(4)
    ]
    assert seen == [[0], [1], [0], [1]]


@pytest.mark.parametrize("name", QUICK)
def test_schedule_earns_its_reward(name):
    sources = SETS[name]
    schedule = np.random.default_rng(3).random((len(sources), 7)) < 0.4
    schedule[:, 0] = True
    run = simulate(sources, SchedulePolicy(schedule), len(sources), 7 * 40)
    late = run.reward[7 * 39 :].mean()
    assert late == pytest.approx(schedule_reward(sources, schedule), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: fluid_frequencies(s, 5), "budget"),
        (lambda s: random_frequencies(s, 0), "budget"),
        (lambda s: fluid_reward(s, [2, 0, 0, 0]), "frequency"),
        (lambda s: fluid_reward(s, [0.5]), "frequency"),
        (lambda s: random_reward(s, [0.1] * 3), "frequency"),
        (lambda s: RandomPolicy([0.5, 1.5]), "frequency"),
        (lambda s: RandomPolicy([0.5]).select(None, 1), "rng"),
        (lambda s: SchedulePolicy(np.ones(3)), "schedule"),
        (lambda s: schedule_reward(s, np.ones((2, 2), bool)), "schedule"),
        (lambda s: spread_schedule([0.5, 0.5], 3, 5), "budget"),
        (lambda s: best_periods(s, 5), "budget"),
        (lambda s: best_periods(Sources([1.0] * 6, [1.0] * 6, [1.0] * 6), 1), "at most 5"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(four_sources())


def test_frequencies_are_at_most_one():
    rng = np.random.default_rng(2)
    for _ in range(60):
        size = int(rng.integers(2, 12))
        sources = Sources(
            rng.uniform(1, 300, size), rng.uniform(0, 2, size), rng.uniform(0.02, 2, size)
        )
        for budget in {1, size // 2, size - 1}:
            for optimum in (random_frequencies, fluid_frequencies):
                assert optimum(sources, budget).frequency.max() <= 1
