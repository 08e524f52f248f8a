"""Ephemeral content: each public function against its definition, on families made to break it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import lcm

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog

from analysis.ephemeral import (
    Arrivals,
    Environment,
    FTVAPolicy,
    IDPolicy,
    LagrangianPolicy,
    LPUpdatePolicy,
    MyopicPolicy,
    Observation,
    PingedScheduler,
    PrintedPolicy,
    Reliability,
    RolloutPolicy,
    RoundRobinPolicy,
    SchedulePolicy,
    Scheduler,
    SignalBelief,
    Signals,
    Sources,
    TunedLagrangianPolicy,
    Utility,
    WhittlePolicy,
    bound_at_price,
    compare,
    crawl_price,
    dual_descent,
    index_by_definition,
    lagrangian_index,
    long_run_cycle,
    losses,
    optimal_average_reward,
    optimal_cycle,
    relaxed_bound,
    relaxed_problem,
    signal_index,
    simulate,
    simulate_random,
    stochastic_bound,
    stochastic_index,
    timetable,
    whittle_index,
    whittle_index_at_age,
)
from analysis.ephemeral.lagrangian import PricedSources
from analysis.ephemeral.optimum.static import schedule_reward
from analysis.ephemeral.relaxed import due_ages
from analysis.ephemeral.scheduler.register import queued_sources
from analysis.ephemeral.signals.index import one_ping_index, one_ping_reach
from analysis.ephemeral.timetables.copies import (
    LONGEST_PERIOD,
    frequencies,
    two_level,
    whole,
)
from analysis.results import NotConverged
from tests.families import Slow

DECAYS = (1e-100, 1e-14, 1e-10, 1e-3, 0.5, 5.0, 1e3, 1e100)
RATES = 10.0 ** np.array([-5.0, -2.0, 1.0, 5.0])


def unlike(seed, size, cost=1.0):
    rng = np.random.default_rng(seed)
    return Sources(*rng.lognormal([[1], [0], [-1]], [[1], [0.5], [0.7]], (3, size)), cost=cost)


def fast_and_slow(number):
    """Three or four sources, u* lognormal and decays log-uniform from 0.03 to 2."""
    rng = np.random.default_rng([29, number])
    size = 3 + number % 2
    limit = rng.lognormal(0.0, 1.0, size)
    decay = np.exp(rng.uniform(np.log(0.03), np.log(2.0), size))
    return Sources(limit * decay, np.ones(size), decay)


#: Small sets of sources, by what is hard about them.
SETS = {
    "one source": Sources([3.0], [1.0], [0.3]),
    "equal sources": Sources([2.0] * 3, [1.0] * 3, [0.4] * 3),
    "ties of two kinds": Sources([2.0, 2.0, 1.0], [1.0, 1.0, 2.0], [0.4] * 3),
    "costs 1 and 1 + 1e-4": Sources([2.0] * 3, [1.0] * 3, [0.3, 0.5, 0.9], [1.0, 1.0001, 1.0]),
    "rates over ten decades": Sources(RATES, np.ones(4), np.full(4, 0.3)),
    "decay 1e-14": Sources([250.0] * 3, [1.0, 0.7, 0.2], [1e-14] * 3),
    "joint decay 1e-10": Sources([250.0] * 3, [1.0, 0.7, 0.2], [1e-10] * 3),
    "decay 1e3": Sources([250.0] * 3, [1.0, 0.7, 0.2], [1e3] * 3),
    "one that brings nothing": Sources([0.0, 2.0], [1.0, 1.0], [1.0, 0.5]),
    "unlike": unlike(1, 3),
    "costs of all kinds": unlike(2, 3, [0.5, 1.3, 2.0]),
}


def on_sets(check, *left_out):
    """One family a set of sources."""
    return {
        name: lambda sources=sources: check(sources)
        for name, sources in SETS.items()
        if name not in left_out
    }


def budgets(sources):
    """Costs per epoch: of the dearest source, half of all, and all."""
    total = float(sources.cost.sum())
    return sorted({float(sources.cost.max()), max(total / 2, float(sources.cost.max())), total})


def best_gap(value, guess):
    """Whole number k >= 1 of the largest value, among those near a guess; values have one peak."""
    near = [k for k in range(int(guess) - 2, int(guess) + 4) if k >= 1]
    return max(near, key=value)


def index_in_mpmath(decay, state, limit):
    """Subsidy at which waiting and crawling tie, from the best gap of the cycle that follows."""
    with mpmath.workdps(80 + int(2 * max(0.0, -np.log10(decay)))):
        m, x, u = (mpmath.mpf(float(number)) for number in (decay, state, limit))
        if x >= u:
            return x
        gain = -(u - x) * mpmath.expm1(-m)  # of one epoch of waiting: the best, as they shrink
        guess = mpmath.ceil(-mpmath.log1p(-x / u) / m) if x > 0 else 1

        def value(k):
            return -u * mpmath.expm1(-m * k) - gain * k

        return value(best_gap(value, guess))


# Index ------------------------------------------------------------------------------------------


def index_at_ages():
    for decay in DECAYS:
        sources = Sources([3.0], [2.0], [decay], cost=[1.0001])
        for age in (0, 1, 2, 3, 10, 1000, 10**9, 10**15):
            with mpmath.workdps(300):
                state = -mpmath.expm1(-mpmath.mpf(decay) * age)  # a share of u*
                m = mpmath.mpf(decay)
                step = -mpmath.expm1(-m)
                truth = age * (step * state - step) + state  # Theorem 1 at eta = k
                truth *= mpmath.mpf(float(sources.u_star[0])) / mpmath.mpf(1.0001)
            found = whittle_index_at_age(sources, [age])[0]
            assert found == pytest.approx(float(truth), rel=4e-14)


def index_in_states():
    rng = np.random.default_rng(0)
    for decay in DECAYS:
        sources = Sources([3.0], [2.0], [decay], cost=[1.0001])
        u, limit = sources.u[0], sources.u_star[0]
        shares = [1e-9, 0.3, 1 - 1e-6, 1.0, 1.5, *rng.random(4)]
        for state in [0.0, u, u * (1 - 1e-15), 7.5 * u, *(limit * share for share in shares)]:
            truth = float(index_in_mpmath(decay, state, limit) / mpmath.mpf(1.0001))
            assert whittle_index(sources, [state])[0] == pytest.approx(truth, rel=1e-12)


def definition_in_states():
    for decay in DECAYS:
        sources = Sources([3.0], [2.0], [decay], cost=[1.0001])
        u, limit = sources.u[0], sources.u_star[0]
        for state in (0.0, 1e-20 * u, u, 7.5 * u, 0.3 * limit, limit, 2 * limit):
            truth = float(index_in_mpmath(decay, state, limit) / mpmath.mpf(1.0001))
            found = index_by_definition(sources, [state], digits=np.int64(40))[0]
            assert found == pytest.approx(truth, rel=1e-13)


# Sources ----------------------------------------------------------------------------------------


def contents_of_sources():
    for decay, period in product(DECAYS, (1.0, 1e-3)):
        sources = Sources([3.0], [2.0], [decay / period], period=period)
        with mpmath.workdps(250):
            m = mpmath.mpf(float(sources.decay[0]))
            limit = mpmath.mpf(6.0) / mpmath.mpf(float(sources.decay_rate[0]))
            assert sources.u[0] == pytest.approx(float(-limit * mpmath.expm1(-m)), rel=1e-14)
            age = 10**9
            truth = float(-limit * mpmath.expm1(-m * age))
        assert sources.state_at_age([age])[0] == pytest.approx(truth, rel=1e-14)


def sources_out_of_range():
    for decay in (1e-300, 1e-101, 1e101, 1e300):
        with pytest.raises(ValueError, match=r"decay_rate\[1\] times the period must be in"):
            Sources([1.0, 1.0], [1.0, 1.0], [1.0, decay])
    with pytest.raises(ValueError, match="must be a finite number"):
        Sources([1e300], [1e10], [1.0])
    with pytest.raises(ValueError, match="at least one source"):
        Sources([], [], [])


def moments_of_utilities():
    laws = [Utility(law) for law in ("deterministic", "exponential", "uniform")]
    laws += [Utility("gamma", v) for v in (1e-3, 1.0, 40.0)]
    laws += [Utility("lognormal", v) for v in (1e-3, 1.0, 40.0)]
    for law in laws:
        items = Arrivals(Sources([50.0], [1.0], [1e-9]), law)
        assert items.variance[0] == pytest.approx(50 * law.second_moment, rel=1e-8)
    for tail in (2.0, 2.01, 3.0, 50.0):
        second = Utility("pareto", tail_index=tail).second_moment
        if tail == 2.0:
            assert second == np.inf
            continue
        low = (tail - 1) / tail
        by_tail = low**2 + 2 * low**tail * quad(np.power, low, np.inf, args=(1 - tail,))[0]
        assert second == pytest.approx(by_tail, rel=1e-6)


def means_of_arrivals():
    rng = np.random.default_rng(1)
    laws = [Utility(), Utility("uniform"), Utility("gamma", 2.0), Utility("lognormal", 0.5)]
    for law, decay in product(laws, (1e-14, 0.3, 30.0, 1e3)):
        arrivals = Arrivals(Sources([4.0, 0.0], [2.0, 1.0], [decay] * 2), law)
        drawn = arrivals.sample(4000, rng)
        error = 5 * np.sqrt(arrivals.variance[0] / 4000)
        assert abs(drawn[0].mean() - arrivals.mean[0]) < error
        assert not drawn[1].any()


def too_many_arrivals():
    for law in (Utility(), Utility("uniform")):
        with pytest.raises(ValueError, match="arrival_rate"):
            Arrivals(Sources([1e12], [1.0], [1.0]), law).sample(2, np.random.default_rng(0))


# Optima and bounds ------------------------------------------------------------------------------


def relaxed_by_linear_program(sources, budget):
    """Largest reward of frequencies of gaps that spend the budget, by HiGHS."""
    solution = relaxed_problem(sources, budget)
    longest = solution.age[np.isfinite(solution.age)].max(initial=2.0)
    gaps = np.arange(1.0, min(4 * longest, 400.0) + 1)
    content = sources.state_at_age(gaps[:, None]).T  # source by gap
    scale = max(float(content.max()), 1e-300)
    rows = np.kron(np.eye(len(sources)), np.ones(gaps.size))
    spent = (sources.cost[:, None] / gaps).ravel()[None]
    found = linprog(
        -(content / gaps / scale).ravel(),
        A_ub=np.vstack([rows, spent]),
        b_ub=np.append(np.ones(len(sources)), budget),
        method="highs",
    )
    return -found.fun * scale


def relaxed_against_linear_program(sources):
    for budget in budgets(sources):
        truth = relaxed_by_linear_program(sources, budget)
        solution = relaxed_problem(sources, budget)
        assert solution.bound == pytest.approx(truth, rel=1e-6, abs=1e-12)
        assert solution.primal == pytest.approx(solution.bound, rel=1e-12, abs=1e-300)
        assert (solution.frequency @ sources.cost) == pytest.approx(budget, rel=1e-14)
        assert solution.smallest_subsidy <= solution.subsidy
        order = np.arange(len(sources))[::-1]
        other = relaxed_bound(sources.subset(order), budget)
        assert other == pytest.approx((solution.bound, solution.subsidy), rel=1e-13)


def relaxed_with_ages_without_end():
    """The slow source is due after 1e5 epochs: no list of ages could hold them."""
    sources = Sources([250.0] * 3, [1.0, 0.7, 0.2], [0.7, 1e-10, 0.35])
    for budget in (0.3, 1.0, 2.5):
        solution = relaxed_problem(sources, budget)
        assert solution.primal == pytest.approx(solution.bound, rel=1e-13)
        assert solution.frequency.sum() == pytest.approx(budget, rel=1e-14)
        for factor in (0.9, 1 - 1e-6, 1 + 1e-6, 1.1):
            price = factor * solution.subsidy
            assert bound_at_price(sources, budget, price) >= solution.bound * (1 - 1e-14)


def budgets_that_rounding_raises():
    """Ten costs of 0.1 add up to less than 1, in which they fit."""
    sources = unlike(3, 10, cost=0.1)
    assert relaxed_bound(sources, 1.0)[0] == pytest.approx(sources.u.sum(), rel=1e-13)
    assert dual_descent(sources, 1.0, 5, step=1e-9).spent[0] == pytest.approx(1.0)
    assert optimal_average_reward(sources, 1.0) == pytest.approx(sources.u.sum(), rel=1e-13)


def prices(sources):
    if (sources.cost != 1).any():
        sources = Sources(sources.arrival_rate, sources.mean_utility, sources.decay_rate)
    gaps = np.arange(1.0, 3001)[:, None]
    content = sources.state_at_age(gaps)
    for share in (0.0, 0.03, 0.5, 1.0, 3.0):
        price = share * float(sources.u.max())
        brute = price + np.maximum((content - price) / gaps, 0).max(axis=0).sum()
        assert bound_at_price(sources, 1, price) == pytest.approx(brute, rel=1e-12, abs=1e-300)


def prices_of_slow_sources():
    """Best gaps of millions of epochs, in high precision."""
    for decay in (1e-14, 1e-10):
        sources = Sources([250.0, 50.0], [1.0, 1.0], [decay, 3 * decay])
        for price in (1.0, 1e5, 1e9):
            total = mpmath.mpf(price)
            for m, u, limit in zip(sources.decay, sources.u, sources.u_star, strict=True):
                middle = np.sqrt(2 * price / (u * m))
                with mpmath.workdps(60):
                    rates = [
                        (
                            -mpmath.mpf(float(limit)) * mpmath.expm1(-mpmath.mpf(float(m)) * k)
                            - price
                        )
                        / k
                        for k in (int(middle * 1.001**j) + 1 for j in range(-9, 10))
                    ]
                    total += max(0, *rates)
            assert bound_at_price(sources, 1, price) == pytest.approx(float(total), rel=1e-8)


def optimum_by_linear_program(sources, budget, oldest=7):
    """Long-run reward of the best policy on joint ages up to `oldest`, by occupation measures."""
    size = len(sources)
    states = list(product(range(1, oldest + 1), repeat=size))
    number = {ages: place for place, ages in enumerate(states)}
    sets = [
        arms
        for arms in product((0, 1), repeat=size)
        if np.dot(arms, sources.cost) <= budget * (1 + 1e-12)
    ]
    content = sources.state_at_age(np.arange(1.0, oldest + 1)[:, None])
    scale = max(float(content.max()), 1e-300)
    reward = np.empty(len(states) * len(sets))
    flow = np.zeros((len(states) + 1, reward.size))
    for column, (ages, arms) in enumerate(product(states, sets)):
        reward[column] = sum(content[k - 1, i] for i, k in enumerate(ages) if arms[i]) / scale
        after = tuple(1 if a else min(k + 1, oldest) for k, a in zip(ages, arms, strict=True))
        flow[number[ages], column] += 1.0
        flow[number[after], column] -= 1.0
    flow[-1] = 1.0
    right = np.append(np.zeros(len(states)), 1.0)
    return -linprog(-reward, A_eq=flow, b_eq=right, method="highs").fun * scale


def optimum_against_linear_program(sources, oldest=6):
    if len(sources) > 3:
        sources = sources.subset(slice(len(sources) - 3, None))
    for budget in budgets(sources)[:2]:
        found = optimal_cycle(sources, budget)
        truth = optimum_by_linear_program(sources, budget, oldest)
        assert found.average_reward <= found.upper <= relaxed_bound(sources, budget)[0] * (1 + 1e-9)
        assert found.average_reward == pytest.approx(truth, rel=1e-7, abs=1e-12)
        assert optimal_average_reward(sources, budget) == found.average_reward


def optimum_given_up():
    """A slow source beside fast ones needs more joint ages than there can be: it says so."""
    sources = Sources([250.0] * 3, [1.0, 0.7, 0.2], [0.7, 1e-10, 0.35])
    with pytest.raises(NotConverged, match=r"needs \S+ joint ages.*max_states = 1000"):
        optimal_cycle(sources, 1)
    with pytest.raises(NotConverged, match=r"it lies in \[\S+, \S+\].*max_states = 30 or"):
        optimal_cycle(Sources([5.0, 3.0, 2.0], [1.0] * 3, [0.02] * 3), 1, max_states=30)


def optimum_of_fast_and_slow(numbers):
    """Fading of two decades and limits over ten-folds: the gap closes up to rounding."""
    for number in numbers:
        sources = fast_and_slow(number)
        found = optimal_cycle(sources, 1)
        assert 0.0 <= found.gap <= 1e-11 * found.upper
        assert found.states <= 200_000
        assert found.upper <= relaxed_bound(sources, 1)[0] * (1 + 1e-12)
        played = np.zeros((len(sources), len(found.crawls)), dtype=bool)
        for epoch, arms in enumerate(found.crawls):
            played[list(arms), epoch] = True
        assert (played.sum(axis=0) == 1).all()
        assert schedule_reward(sources, played) == pytest.approx(found.average_reward, rel=1e-12)


def optimum_up_to_costs():
    """Costs 1 and 1 + 1e-4 at a budget of 2: a pair with the dearer source does not fit."""
    sources = SETS["costs 1 and 1 + 1e-4"]
    fits = optimal_average_reward(sources, 2.0001)
    assert optimal_average_reward(sources, 2.0) < fits
    assert fits == pytest.approx(optimum_by_linear_program(sources, 2.0001), rel=1e-7)


# Runs of policies -------------------------------------------------------------------------------


def whole_budgets(sources):
    return sorted({1, len(sources)})


def cycle_by_hand(sources, budget):
    """Average reward of the index policy on integer ages, ranks in high precision."""
    limits = [mpmath.mpf(float(u)) for u in sources.u_star]
    ages, seen, rewards = [0] * len(sources), {}, []

    def content(i, age):
        return -limits[i] * mpmath.expm1(-mpmath.mpf(float(sources.decay[i])) * age)

    def index(i, age):
        x = content(i, age)
        return index_in_mpmath(sources.decay[i], x, limits[i]) / mpmath.mpf(float(sources.cost[i]))

    ranks, step = {}, 0
    while tuple(ages) not in seen:
        seen[tuple(ages)] = step
        for i, age in enumerate(ages):
            if (i, age) not in ranks:
                at_zero = age == 0
                ranks[i, age] = (mpmath.mpf(0) if at_zero else index(i, age), content(i, age))
        order = sorted(range(len(ages)), key=lambda i: (-ranks[i, ages[i]][0], i))
        rewards.append(sum(ranks[i, ages[i]][1] for i in order[:budget]))
        oldest = np.maximum(np.minimum(sources.settled_age, 1e9), 2)
        ages = [min(age + 1, int(oldest[i])) for i, age in enumerate(ages)]
        for i in order[:budget]:
            ages[i] = 1
        step += 1
    return float(sum(rewards[seen[tuple(ages)] :]) / (step - seen[tuple(ages)]))


def cycles(sources):
    for budget in whole_budgets(sources):
        truth = cycle_by_hand(sources, budget)
        found = long_run_cycle(sources, "whittle", budget)
        assert found.average_reward == pytest.approx(truth, rel=1e-9, abs=1e-300)
        for policy in ("myopic", "greedy", "round-robin"):
            other = long_run_cycle(sources, policy, budget)
            assert other.frequency.sum() == pytest.approx(budget)
            gaps = [np.array(other.gaps(i), float)[:, None] for i in range(len(sources))]
            earned = sum(sources.state_at_age(gap)[:, i].sum() for i, gap in enumerate(gaps))
            assert other.average_reward == pytest.approx(
                earned / other.period, rel=1e-12, abs=1e-300
            )


def cycles_that_do_not_show():
    sources = Sources([250.0] * 2, [1.0, 0.7], [0.7, 1e-10])
    with pytest.raises(NotConverged, match=r"within max_epochs = 500 epochs .*a longer period"):
        long_run_cycle(sources, "whittle", 1, max_epochs=500)
    tiny = Sources([20.0, 10.0], [1.0, 1.0], [1e-100] * 2)
    assert long_run_cycle(tiny, "round-robin", 1).average_reward == pytest.approx(30.0, rel=1e-12)


def runs(sources):
    for budget, policy in product(whole_budgets(sources), ("whittle", "greedy", "round-robin")):
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
                left = np.delete(index, arms)
                assert index[arms].min() >= left.max(initial=0) * (1 - 1e-9)
            age += 1
            age[arms] = 1
        assert run.average_reward == pytest.approx(total / 60, rel=1e-12, abs=1e-300)


def random_runs(sources):
    """The compiled loop against policy objects that play one epoch at a time."""
    rng = np.random.default_rng(0)
    content = rng.gamma(0.5, 2.0, (len(sources), 80)) * sources.u[:, None]
    objects = {
        "whittle": WhittlePolicy(sources),
        "theorem": PrintedPolicy(sources),
        "remark": PrintedPolicy(sources, short=True),
        "myopic": MyopicPolicy(sources),
        "round-robin": RoundRobinPolicy(),
    }
    for budget, (name, policy) in product(whole_budgets(sources), objects.items()):
        for options in ({}, {"observed": False}, {"lifetime": 3, "warm_up": 20}):
            one = simulate_random(sources, name, budget, content, **options)
            other = simulate_random(sources, policy, budget, content, **options)
            np.testing.assert_allclose(one.reward, other.reward, rtol=1e-10, atol=1e-300)
            np.testing.assert_array_equal(one.frequency, other.frequency)


def comparisons(sources):
    arrivals, rng = Arrivals(sources), np.random.default_rng(2)
    found = compare(arrivals, ["whittle", "greedy"], 1, 30, 3, rng, warm_up=5)
    for number, stream in enumerate(np.random.default_rng(2).spawn(3)):
        content = arrivals.sample(30, stream)
        for name in ("whittle", "greedy"):
            run = simulate_random(sources, name, 1, content, warm_up=5)
            assert found.rewards[name][number] == run.average_reward
            np.testing.assert_array_equal(found.frequencies[name][number], run.frequency)
    gap = found.rewards["whittle"] - found.rewards["greedy"]
    assert found.difference("whittle", "greedy").value == pytest.approx(gap.mean())


def environments():
    """Content with a lifetime, by exact fractions: what each epoch brought fades, then goes."""
    sources = Sources([4.0, 4.0], [1.0, 1.0], [np.log(2.0)] * 2)
    content = np.array([[8.0, 1.0, 4.0, 2.0, 16.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
    for lifetime in (1, 2, 3, np.inf):
        played = Environment(sources, content, lifetime=lifetime)
        crawls = [[0], [], [1], [], [0]]
        since = [-1, -1]
        for epoch, arms in enumerate(crawls):
            for i in (0, 1):
                arrived = range(max(since[i], 0), epoch)
                worth = [
                    Fraction(content[i, t]) / 2 ** (epoch - t - 1)
                    for t in arrived
                    if epoch - t <= lifetime
                ]
                assert played.state[i] == pytest.approx(float(sum(worth)), rel=1e-14)
            earned = played.state[arms]
            np.testing.assert_array_equal(played.step(arms), earned)
            for i in arms:
                since[i] = epoch


def schedules(sources):
    rng = np.random.default_rng(3)
    listed = rng.random((len(sources), 7)) < 0.4
    listed[:, 0] = True
    run = simulate(sources, SchedulePolicy(listed), len(sources), 7 * 40)
    late = run.reward[7 * 39 :].mean()
    assert late == pytest.approx(schedule_reward(sources, listed), rel=1e-12, abs=1e-300)


def selections(sources):
    rng = np.random.default_rng(4)
    hidden = np.full(len(sources), np.nan)
    for _ in range(20):
        age = rng.integers(1, 40, len(sources))
        seen = np.where(rng.random(len(sources)) < 0.5, sources.state_at_age(age), hidden)
        for budget in range(1, len(sources) + 1):
            for policy, rank in (
                (WhittlePolicy(sources), whittle_index_at_age(sources, age)),
                (MyopicPolicy(sources), sources.state_at_age(age) / sources.cost),
            ):
                chosen = policy.select(Observation(0, age, hidden), budget)
                order = sorted(range(len(sources)), key=lambda i, r=rank: (-r[i], i))
                assert sorted(chosen) == sorted(order[:budget])
                mixed = policy.select(Observation(0, age, seen), budget)
                left = np.delete(rank, mixed)
                assert rank[mixed].min() >= left.max(initial=0) * (1 - 1e-9)


def lagrangian_indices(sources):
    """The crawl now less the best wait for one, in high precision."""
    ages = np.array([0, 1, 2, 3, 5, 30, 10**4])
    for budget in budgets(sources):
        price = crawl_price(sources, budget)
        found = lagrangian_index(sources, ages[:, None] * np.ones(len(sources)), price)
        for i, due in enumerate(due_ages(sources, price)):
            charge = mpmath.mpf(price) * mpmath.mpf(float(sources.cost[i]))
            limit, decay = (mpmath.mpf(float(a[i])) for a in (sources.u_star, sources.decay))

            def surplus(k, limit=limit, decay=decay, charge=charge):
                return -limit * mpmath.expm1(-decay * k) - charge

            with mpmath.workdps(60):
                gain = mpmath.mpf(0)
                if np.isfinite(due):
                    gap = best_gap(lambda k, s=surplus: s(k) / k, due)
                    gain = surplus(gap) / gap
                for k, age in enumerate(ages.tolist()):
                    wait = mpmath.mpf(0)
                    if np.isfinite(due):
                        near = range(max(age + 1, int(due) - 3), max(age + 1, int(due) - 3) + 8)
                        wait = max(surplus(n) - gain * (n - age) for n in near)
                    true = float((surplus(age) - wait) / float(sources.cost[i]))
                    # The price is known to a rounding, and so is u* of the source.
                    assert abs(found[k, i] - true) <= 1e-12 * abs(true) + 1e-15 * price


def least_multipliers(sources):
    """The bound is least at the price: it is convex, and no smaller on either side."""
    for budget in budgets(sources):
        price = crawl_price(sources, budget)
        least = PricedSources(sources, price).bound(budget)
        assert least == pytest.approx(relaxed_problem(sources, budget).bound, rel=1e-12)
        for factor in (0.5, 0.99, 1 - 1e-6, 1 + 1e-6, 1.01, 2.0):
            other = PricedSources(sources, price * factor).bound(budget)
            assert other >= least * (1 - 1e-13)


def lagrangian_selections(sources):
    rng = np.random.default_rng(6)
    hidden = np.full(len(sources), np.nan)
    for budget in range(1, len(sources) + 1):
        policy = LagrangianPolicy(sources)
        tuned = TunedLagrangianPolicy(sources, every=5)
        price = crawl_price(sources, budget) if (sources.cost == 1).all() else None
        for epoch in range(20):
            age = rng.integers(1, 40, len(sources))
            seen = Observation(epoch, age, hidden)
            if price is not None:
                rank = lagrangian_index(sources, age, price)
                order = sorted(range(len(sources)), key=lambda i, r=rank: (-r[i], i))
                assert policy.select(seen, budget).tolist() == sorted(order[:budget])
            chosen = tuned.select(seen, budget)
            assert np.unique(chosen).size == budget
            if epoch < 5:
                assert chosen.tolist() == WhittlePolicy(sources).select(seen, budget).tolist()
        assert (tuned.price is None) == (budget == len(sources))
        if tuned.price is not None:
            assert 0 <= tuned.price <= (sources.u_star / sources.cost).max()


def rollouts(sources):
    """Its set loses no more in the epochs ahead than that of the Lagrangian index."""
    if (sources.cost != 1).any():
        with pytest.raises(ValueError, match="sources"):
            RolloutPolicy(sources)
        return
    rng = np.random.default_rng(7)
    hidden = np.full(len(sources), np.nan)
    for budget in range(1, len(sources)):
        policy, base = RolloutPolicy(sources, epochs=8), LagrangianPolicy(sources)
        for _ in range(10):
            ages, lost = rng.integers(1, 12, len(sources)), []
            for first in (policy, base):
                age, crawls = ages.copy(), []
                for epoch in range(8):
                    chooser = first if epoch == 0 else base
                    crawls.append(chooser.select(Observation(epoch, age, hidden), budget))
                    age = age + 1
                    age[crawls[-1]] = 1
                lost.append(losses(sources, crawls, budget, ages=ages).total)
            assert lost[0] <= lost[1] * (1 + 1e-9) + 1e-12 * sources.u_star.max()


def descents(sources):
    """The recursion, one epoch at a time, and its subsidy near the relaxed problem's."""
    scale = float((sources.u_star / sources.cost).max())
    for budget in budgets(sources)[:1]:
        run = dual_descent(sources, budget, 50, step=0.1 * scale)
        age, price = np.ones(len(sources)), 0.0
        for t in range(50):
            crawl = whittle_index_at_age(sources, age) >= price
            np.testing.assert_allclose(run.subsidy[t], price, rtol=1e-9, atol=1e-12 * scale)
            spent = sources.cost[crawl].sum()
            assert run.spent[t] == pytest.approx(spent, abs=1e-12)
            assert run.reward[t] == pytest.approx(sources.state_at_age(age)[crawl].sum(), rel=1e-12)
            price = max(0.0, run.subsidy[t] + 0.1 * scale / (t + 1) ** 0.6 * (spent - budget))
            age = np.where(crawl, 0, age) + 1


# Random content ---------------------------------------------------------------------------------


def stochastic_near_the_fluid():
    """So many small items that the content hardly varies: the index is Theorem 1's."""
    sources = Sources([1e6, 1e6], [1e-3, 2e-3], [0.3, 1.0], cost=[1.0, 1.0001])
    curves = [stochastic_index(sources, i, Utility("deterministic"), points=500) for i in (0, 1)]
    for i, curve in enumerate(curves):
        inside = curve.state < 0.95 * sources.u_star[i]
        states = np.repeat(curve.state[inside][:, None], 2, axis=1)
        truth = whittle_index(sources, np.minimum(states, 1e9))[:, i]
        np.testing.assert_allclose(curve.index[inside], truth, atol=5e-3 * sources.u_star[i])
        assert curve.indexable
    for budget in (1.0001, 2.0001):
        bound = stochastic_bound(sources, curves, budget)[0]
        assert bound == pytest.approx(relaxed_bound(sources, budget)[0], rel=5e-3)


def stochastic_in_extremes():
    """Within the error that it gives, or refused."""
    cases = {"one item in 1e5 epochs": (1e-5, 0.3), "slow": (4.0, 1e-3), "fast": (4.0, 30.0)}
    for rate, decay in cases.values():
        sources = Sources([rate], [1.0], [decay])
        try:
            curve = stochastic_index(sources, 0, Utility(), tolerance=5e-3, max_points=500)
        except NotConverged as error:
            refused = str(error)
            assert "raise max_points" in refused
            continue
        assert np.isfinite(curve.index).all()
        assert curve.index[0] == pytest.approx(0, abs=2 * curve.error + 1e-9 * sources.u_star[0])
        everything = sources.u[0]
        assert stochastic_bound(sources, [curve], 1)[0] == pytest.approx(
            everything, abs=5 * curve.error + 1e-2 * sources.u_star[0]
        )


def stochastic_ties():
    sources = Sources([5.0] * 3, [1.0] * 3, [0.5] * 3)
    curves = [stochastic_index(sources, i, Utility(), tolerance=0.02) for i in range(3)]
    bounds = [stochastic_bound(sources.subset(np.array(order)), curves, budget)
              for budget in (1, 3) for order in ([0, 1, 2], [2, 0, 1])]  # fmt: skip
    for one, other in (bounds[:2], bounds[2:]):
        assert one == other
    assert bounds[2][0] == pytest.approx(sources.u.sum(), rel=0.02)
    single = stochastic_bound(sources.subset(slice(1)), curves[:1], 1 / 3)[0]
    assert bounds[0][0] == pytest.approx(3 * single, rel=1e-9)


# Pings ------------------------------------------------------------------------------------------

SHARES = (0.0, 1e-6, 0.5, 1 - 1e-6, 1.0)


def drawn_with_pings(recall, precision, pings, decay):
    """A source of u* = 1 with so many pings an epoch, or none where no item is announced."""
    arrival = pings * precision / recall if recall * precision > 0 else 1.0
    return Signals(Sources([arrival], [decay / arrival], [decay]), recall, precision)


def signals_in_extremes():
    for recall, precision in product(SHARES, SHARES):
        if recall > 0 == precision:
            with pytest.raises(ValueError, match="precision"):
                drawn_with_pings(recall, precision, 1.0, 0.1)
            continue
        for pings, decay in product((1e-3, 1.0, 100.0), (1e-4, 0.1, 20.0)):
            signals = drawn_with_pings(recall, precision, pings, decay)
            source = signals.sources
            expected = pings if recall > 0 else 0.0
            assert signals.ping_rate[0] == pytest.approx(expected)
            steady = signals.unannounced[0] + pings * signals.jump[0] / decay
            assert steady == pytest.approx(1.0)  # u*, of both parts
            worth = np.array([[0.0, 1e-3, 0.5, 1.0]]) * min(one_ping_reach(signals)[0], 2.0)
            index = one_ping_index(signals, worth)[0]
            assert (np.diff(index) >= 0).all()
            assert (index >= -np.expm1(-decay) * worth[0] * (1 - 1e-9)).all()
            assert (index <= worth[0] * (1 + 1e-9)).all()
            belief = SignalBelief(signals)
            belief.observe_pings([0] * 3, 1.0)
            silent = signals.unannounced[0] * -np.expm1(-decay)
            assert belief.worth(1.0)[0] == pytest.approx(silent + 3 * signals.jump[0])
            assert source.u_star[0] == pytest.approx(1.0)


def signal_indices_in_extremes():
    """Within the error that it gives of the closed form, or refused."""
    found = 0
    for recall, pings, decay in product(SHARES[1:], (1e-3, 1.0, 30.0), (1e-3, 0.1, 20.0)):
        for precision in (1e-6, 0.5, 1.0):
            signals = drawn_with_pings(recall, precision, pings, decay)
            try:
                curve = signal_index(signals, 0, tolerance=0.02, points=60, max_points=240)
            except NotConverged as error:
                refused = str(error)
                assert "raise max_points" in refused
                continue
            inside = curve.state <= one_ping_reach(signals)[0]
            closed = one_ping_index(signals, curve.state[inside][None, :])[0]
            # Corners of the closed form are blurred by more than the error away from them.
            np.testing.assert_allclose(curve.index[inside], closed, atol=0.06)
            assert (curve.index <= curve.state * (1 + 1e-6) + 0.06).all()
            found += 1
    assert found > 40


def estimates_of_reliability():
    """Counts without end, or that fade at once."""
    for memory in (1e-3, 60.0, np.inf):
        trust = Reliability(memory, weight=1e-3)
        for time in range(20):
            trust.observe_ping("hub", "blog", float(time))
            trust.observe_crawl("blog", float(time), 1, {"hub": time % 2})
        weights = np.exp(-(19.0 - np.arange(20)) / memory)
        true = weights @ (np.arange(20) % 2)
        of_hub = (1 + true) / (2 + weights.sum())
        expected = (1e-3 * of_hub + true) / (1e-3 + weights.sum())
        assert trust.precision("hub", "blog", 19.0) == pytest.approx(expected)
        assert trust.recall("hub", 19.0) == pytest.approx((1 + true) / (2 + weights.sum()))


def pinged_crawls(sources):
    """Crawls of the largest indices at the expected worth, kept apart from the scheduler's."""
    rng, size = np.random.default_rng(47), len(sources)
    scheduler = PingedScheduler(sources, float(sources.cost.max()), 0.7)
    last, pings = np.zeros(size), np.zeros(size)
    for epoch in range(1, 40):
        arm = int(rng.integers(0, size))
        scheduler.ping([arm], 0.4)
        pings = pings * sources.alpha
        pings[arm] += 0.4 * sources.mean_utility[arm]
        worth = sources.u_star * 0.3 * -np.expm1(-sources.decay * (epoch - last)) + pings
        np.testing.assert_allclose(scheduler.worth, worth, rtol=1e-9, atol=1e-300)
        numbers, taken = scheduler.crawl()
        np.testing.assert_allclose(taken, worth[numbers], rtol=1e-9, atol=1e-300)
        index = whittle_index(sources, worth)
        # The crawls stop at the first that is too dear for the rest, so that the first is there.
        assert index[numbers].max() >= index.max() * (1 - 1e-9)
        last[numbers], pings[numbers] = epoch, 0.0


# Schedulers -------------------------------------------------------------------------------------


def first_that_fit(sources, index, budget):
    """Sources of largest index, by the rule `stop`: until one is too dear for the rest."""
    index = np.where(sources.cost > budget * (1 + 1e-12), -1.0, index)
    order = [i for i in np.lexsort((np.arange(index.size), -index)) if index[i] >= 0]
    room = np.cumsum(sources.cost[order]) <= budget * (1 + 1e-12)
    return np.array(order, int)[: int(np.argmin(np.append(room, False)))]


def ranked_in_full(sources, budget, epochs=60):
    """Crawls of the rule `stop` by a ranking of all sources."""
    age, crawls = np.ones(len(sources)), []
    for _ in range(epochs):
        arms = first_that_fit(sources, whittle_index_at_age(sources, age), budget)
        crawls.append((age[arms], arms))
        age = age + 1
        age[arms] = 1
    return crawls


def schedulers(sources):
    """Rewards and not numbers: a tie to the last bit may fall another way."""
    for budget in budgets(sources):
        scheduler = Scheduler(sources, budget, 1)
        for age, arms in ranked_in_full(sources, budget):
            truth = sum(sources.state_at_age(np.full(len(sources), a))[i]
                        for a, i in zip(age, arms, strict=True))  # fmt: skip
            numbers, rewards = scheduler.crawl()
            assert numbers.size == arms.size
            assert rewards.sum() == pytest.approx(truth, rel=1e-9, abs=1e-300)


def queued_crawls(sources):
    """Through a queue that moves: the crawls are worth those of a ranking of other sources."""
    for budget in budgets(sources):
        scheduler = Scheduler(sources, budget, 1, price=0.0, index_rate=5.0)
        for epoch in range(30):
            queue = scheduler.queue = (0, 3, 40)[epoch % 3]
            seen, ages = queued_sources(sources, 5.0, queue), scheduler.ages
            index = whittle_index_at_age(seen, ages)
            arms = first_that_fit(sources, index, budget)
            numbers, rewards = scheduler.crawl()
            assert numbers.size == arms.size
            truth = index[arms].sum()
            assert index[numbers].sum() == pytest.approx(truth, rel=1e-9, abs=1e-300)
            found = seen.state_at_age(ages)[numbers]
            np.testing.assert_allclose(rewards, found, rtol=1e-9, atol=1e-300)


def demands(sources):
    """With maximal ages and without, below and above the threshold: one rule, that of the index."""
    for budget, most in product(budgets(sources), (None, 50)):
        scheduler = Scheduler(sources, budget, np.arange(len(sources)) + 45, max_age=most)
        for _ in range(12):
            scheduler.crawl()
        index = whittle_index_at_age(sources, scheduler.ages)
        levels = np.sort(np.concatenate([[0.0], *(index * f for f in (0.5, 1 - 1e-9, 1 + 1e-9))]))
        truth = [sources.cost[index >= level].sum() for level in levels]
        np.testing.assert_allclose(scheduler.demand(levels), truth, rtol=1e-12, atol=1e-12)
        assert [scheduler.demand(level) for level in levels] == pytest.approx(truth)


def timetables(sources):
    if (sources.cost != 1).any():
        with pytest.raises(ValueError, match="costs of 1"):
            timetable(sources, 1)
        return
    for budget in whole_budgets(sources):
        found = timetable(sources, budget)
        assert found.verify()
        assert found.bound == pytest.approx(relaxed_bound(sources, budget)[0], rel=1e-9)
        crawls = [found.crawls(epoch) for epoch in range(512)]
        assert max(arms.size for arms in crawls) <= budget
        for i in range(len(sources)):
            times = [epoch for epoch, arms in enumerate(crawls) if i in arms]
            own = found.gap[found.source == i]
            if own.size == 1:
                assert {late - early for early, late in pairwise(times)} <= {int(own[0])}


def hosts_of(sources):
    """One host for all, one for each, and two: crawls of a host lie apart at every epoch."""
    if (sources.cost != 1).any():
        return
    size = len(sources)
    for hosts in (np.zeros(size, int), np.arange(size), np.arange(size) % 2):
        for least in (1, 3):
            found = timetable(sources, 1, hosts=hosts.tolist(), host_gap=least)
            assert found.verify()
            assert found.average_reward <= found.bound * (1 + 1e-12)
            last = np.full(size, -least)
            for epoch in range(256):
                arms = found.crawls(epoch)
                assert arms.size <= 1
                assert (epoch - last[hosts[arms]] >= least).all()
                last[hosts[arms]] = epoch


def copies_of(sources):
    """Two levels: counts fill the budget, gaps earn no more than the bound."""
    if (sources.cost != 1).any():
        return
    for copies in (1, 7):
        frequency = frequencies(sources, 1)
        due = [int(k) for k in np.round(1 / frequency[whole(frequency)])]
        if lcm(*due) > LONGEST_PERIOD:
            with pytest.raises(ValueError, match="common multiple"):
                two_level(sources, 1, copies)
            continue
        plan = two_level(sources, 1, copies)
        assert (plan.counts.sum(axis=0) <= copies).all()
        assert -1e-9 <= plan.loss <= 1


def advised(kind, epochs=60):
    """Crawls fill the budget; no run beats the price of its crawls and N maxima, on its path."""

    def check(sources):
        if (sources.cost != 1).any():
            with pytest.raises(ValueError, match="sources"):
                kind(sources, 1)
            return
        for budget in whole_budgets(sources):
            policy = kind(sources, budget)
            rng = np.random.default_rng(3)
            run = simulate(sources, policy, budget, epochs, initial_state="fresh", rng=rng)
            assert (run.crawled.sum(axis=0) == budget).all()
            age, earned = np.ones(len(sources)), 0.0
            for chosen in run.crawled.T:
                earned += sources.state_at_age(age)[chosen].sum()
                age = np.where(chosen, 1.0, age + 1.0)
            assert run.reward.sum() == pytest.approx(earned, rel=1e-12)
            price = relaxed_problem(sources, budget).subsidy if budget < len(sources) else 0.0
            gaps = np.arange(1.0, epochs + 2)[:, None]
            most = np.maximum(0.0, ((sources.state_at_age(gaps) - price) / gaps).max(axis=0))
            allowed = epochs * budget * price + (epochs + 1) * most.sum()
            assert earned <= allowed * (1 + 1e-12)
            if budget == len(sources):
                assert earned == pytest.approx(epochs * sources.u.sum(), rel=1e-12)

    return check


def myopic_program(sources):
    """One epoch ahead the program is the myopic policy; further ahead it fills the budget."""
    advised(lambda sources, _: LPUpdatePolicy(sources, 3), 12)(sources)
    if (sources.cost == 1).all():
        for budget in whole_budgets(sources):
            age = np.arange(1, len(sources) + 1)
            crawl, value = LPUpdatePolicy(sources, 1).plan(age, budget)
            content = sources.state_at_age(age)
            best = np.sort(content)[::-1][:budget].sum()
            assert value == pytest.approx(best, rel=1e-9, abs=1e-12)
            assert crawl @ content == pytest.approx(best, rel=1e-9, abs=1e-12)


FAMILIES = {
    "Arrivals": {"decays from 1e-14 to 1e3": means_of_arrivals, "too many": too_many_arrivals},
    "Environment": {"lifetimes, by exact fractions": environments},
    "FTVAPolicy": on_sets(advised(FTVAPolicy)),
    "IDPolicy": on_sets(advised(IDPolicy)),
    "LagrangianPolicy, TunedLagrangianPolicy": on_sets(lagrangian_selections),
    "LPUpdatePolicy": on_sets(myopic_program),
    "MyopicPolicy, WhittlePolicy": on_sets(selections),
    "PingedScheduler": on_sets(pinged_crawls),
    "Reliability": {"memories of all lengths": estimates_of_reliability},
    "RolloutPolicy": on_sets(rollouts),
    "SchedulePolicy": on_sets(schedules, "decay 1e-14", "joint decay 1e-10"),
    "Scheduler": on_sets(schedulers),
    "Scheduler.demand": on_sets(demands),
    "Scheduler.queue": on_sets(queued_crawls),
    "Signals, SignalBelief": {"extremes": signals_in_extremes},
    "Sources": {"decays of 200 decades": contents_of_sources, "out of range": sources_out_of_range},
    "Utility": {"second moments": moments_of_utilities},
    "bound_at_price": {
        **on_sets(prices, "decay 1e-14", "joint decay 1e-10"),
        "gaps of millions": prices_of_slow_sources,
    },
    "compare": on_sets(comparisons, "decay 1e3", "rates over ten decades"),
    "crawl_price": on_sets(least_multipliers),
    "dual_descent": on_sets(descents),
    "index_by_definition": {"decays of 200 decades": definition_in_states},
    "lagrangian_index": on_sets(lagrangian_indices),
    "long_run_cycle": {**on_sets(cycles), "no cycle in time": cycles_that_do_not_show},
    "optimal_average_reward": {"costs that just fit": optimum_up_to_costs},
    "optimal_cycle": {
        **on_sets(optimum_against_linear_program),
        "too many ages": optimum_given_up,
        "fast and slow": lambda: optimum_of_fast_and_slow(range(15)),
        "fast and slow, many": Slow(lambda: optimum_of_fast_and_slow(range(568))),
    },
    "relaxed_bound": {"a budget that rounding raises": budgets_that_rounding_raises},
    "relaxed_problem": {
        **on_sets(relaxed_against_linear_program),
        "ages without end": relaxed_with_ages_without_end,
    },
    "signal_index": {"extremes": signal_indices_in_extremes},
    "simulate": on_sets(runs),
    "simulate_random, PrintedPolicy": on_sets(random_runs),
    "stochastic_bound": {"ties": stochastic_ties},
    "stochastic_index": {
        "near the fluid": stochastic_near_the_fluid,
        "extremes": stochastic_in_extremes,
    },
    "timetable": {
        **on_sets(timetables),
        **{f"hosts, {name}": check for name, check in on_sets(hosts_of).items()},
    },
    "timetables.copies.two_level": on_sets(copies_of),
    "whittle_index": {"decays of 200 decades": index_in_states},
    "whittle_index_at_age": {"decays of 200 decades": index_at_ages},
}
