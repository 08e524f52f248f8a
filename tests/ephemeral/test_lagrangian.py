"""The Lagrangian index against its definition, and its propositions against exact fractions."""

from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from analysis.ephemeral import (
    LagrangianPolicy,
    TunedLagrangianPolicy,
    WhittlePolicy,
    crawl_price,
    four_sources,
    lagrangian_index,
    long_run_cycle,
    losses,
    optimal_average_reward,
    optimal_cycle,
    relaxed_problem,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import hard_sets, lognormal_sources, random_set, random_sources
from analysis.ephemeral.lagrangian import PricedSources
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.rollout import follow
from analysis.ephemeral.scheduler.register import spread_ages
from tests.ephemeral.sets import SETS, UNIT_COSTS, budgets, by_limit


def advantages_by_definition(decay, limit, charge, ages, crawls):
    """The crawl now less the best wait, until one of the ages at which a crawl is tried."""
    with mpmath.workdps(60):
        m, u, charge = mpmath.mpf(decay), mpmath.mpf(limit), mpmath.mpf(charge)
        surplus = {k: -u * mpmath.expm1(-m * k) - charge for k in {*ages, *crawls}}
        gain = max(mpmath.mpf(0), *(surplus[k] / k for k in crawls if k))
        advantages = []
        for age in ages:
            waits = [surplus[k] - gain * (k - age) for k in crawls if k > age]
            if gain == 0:
                waits.append(mpmath.mpf(0))  # to wait for ever
            advantages.append(surplus[age] - max(waits))
        return advantages


@pytest.mark.parametrize("cost", [1.0, 1.3])
@pytest.mark.parametrize("decay", [1e-14, 1e-12, 1e-6, 1e-3, 0.1, 0.7, 5.0, 1e3])
def test_index_equals_definition(decay, cost):
    ages, crawls = (0, 1, 2, 3, 9, 10, 11, 30, 10_000), (*range(45), 10_001, 10_002)
    for due, limit in ((1, 3.0), (2, 1e-6), (3, 1e6), (10, 3.0), (20, 3.0)):
        sources = by_limit([limit], [decay], cost)
        for factor in (0.9, 1 - 1e-9, 1.0, 1 + 1e-9):
            price = float(whittle_index_at_age(sources, [due])[0]) * factor
            charge = mpmath.mpf(price) * mpmath.mpf(cost)
            exact = advantages_by_definition(decay, sources.u_star[0], charge, ages, crawls)
            true = np.array([float(advantage / cost) for advantage in exact])
            found = lagrangian_index(sources, np.array(ages)[:, None], price)[:, 0]
            # The price itself is known to a rounding: no more than that is lost.
            assert (np.abs(found - true) <= 1e-12 * np.abs(true) + 4e-16 * price).all()


def test_source_never_due_has_its_surplus():
    sources = by_limit([2.0, 3.0], [0.5, 1e-9])
    index = lagrangian_index(sources, [4, 4], 3.0)
    assert_allclose(index, sources.state_at_age([4, 4]) - 3.0, rtol=1e-15)
    assert (index < 0).all()


def test_index_has_sign_of_excess():
    sources = lognormal_sources(50, 1)
    price = crawl_price(sources, 5)
    ages = np.arange(400)[:, None] * np.ones(50)
    index = lagrangian_index(sources, ages, price)
    excess = whittle_index_at_age(sources, ages) - price
    assert (np.diff(index, axis=0) >= 0).all()
    apart = np.abs(excess) > 1e-12 * price
    assert (np.sign(index) == np.sign(excess))[apart].all()


def test_orbit_content_has_age_index():
    sources = random_sources(30, 4)
    priced = PricedSources(sources, crawl_price(sources, 5))
    for age in (1, 2, 5, 20):
        by_content = priced.index_of_content(sources.state_at_age(np.full(30, age)))
        assert_allclose(by_content, priced.index(np.full(30, age)), rtol=1e-9, atol=1e-12)
    never = PricedSources(by_limit([1.0], [0.5]), 1.5)
    assert never.index_of_content([0.25])[0] == pytest.approx(0.25 - 1.5)
    assert never.index_of_content([2.0])[0] == pytest.approx(min(0.5, 1.0 * -np.expm1(-0.5)))


@pytest.mark.parametrize("name", SETS)
def test_bound_is_least_at_price(name):
    """It is convex in the price, and no smaller on either side."""
    sources = SETS[name]
    for budget in budgets(sources):
        price = crawl_price(sources, budget)
        least = PricedSources(sources, price).bound(budget)
        assert least == pytest.approx(relaxed_problem(sources, budget).bound, rel=1e-12)
        for factor in (0.5, 0.99, 1 - 1e-6, 1 + 1e-6, 1.01, 2.0):
            assert PricedSources(sources, price * factor).bound(budget) >= least * (1 - 1e-13)


def test_middle_of_interval_is_taken():
    sources = by_limit([1.0, 1.0, 0.4, 0.3], [np.log(2.0), np.log(2.0), 40.0, 40.0])
    relaxed = relaxed_problem(sources, 2)
    assert relaxed.subsidy > relaxed.smallest_subsidy + 0.05
    assert crawl_price(sources, 2) == pytest.approx(0.35, rel=1e-9)


# The losses of a run --------------------------------------------------------------------------


def tied(at_age=3):
    """Three sources of which one ties between two gaps at the multiplier."""
    rates = random_sources(3, 5)
    return rates, float(whittle_index_at_age(rates, [at_age] * 3)[1])


FAMILIES = {
    "table": (four_sources(), 2, None),
    "tie at the due age": (*tied(), None),
    "never crawled": (by_limit([5.0, 1.0, 1e-3], [0.3, 0.4, 0.2]), 1, None),
    "alpha near 0 and 1": (by_limit([1.0, 2.0, 3.0, 4.0], [300.0, 1e-9, 0.5, 40.0]), 2, None),
    "twelve decades": (by_limit(10.0 ** np.arange(-6, 7, 3), [0.1, 0.3, 0.7, 1.1, 2.0]), 2, None),
    "copies": (by_limit([2.0] * 6, [0.4] * 6), 2, None),
    "costs": (
        by_limit([2.0, 3.0, 1.0, 4.0], [0.4, 0.2, 0.9, 1.5], [1.0, 1.5, 2.0, 3.0]),
        4.0,
        None,
    ),
    "a wrong price": (random_sources(5, 6), 2, 0.8),
    "hard": (*hard_sets()["five sources"], None),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("start", ["equal", "spread", "just crawled"])
def test_losses_sum_to_bound_less_reward(name, start):
    sources, budget, factor = FAMILIES[name]
    if name == "tie at the due age":
        sources, price, budget = sources, budget, 1
    else:
        price = None if factor is None else factor * crawl_price(sources, budget)
    size, rng = len(sources), np.random.default_rng(1)
    starts = {"equal": np.full(size, 7), "spread": rng.integers(1, 30, size)}
    ages = starts.get(start, np.zeros(size, int))
    crawls, age, earned = [], ages.astype(float), 0.0
    for _ in range(300):  # a policy that is neither good nor always busy
        order = rng.permutation(size)
        fitting = np.cumsum(sources.cost[order]) <= budget
        arms = order[fitting][: rng.integers(0, size)]
        crawls.append(arms)
        earned += sources.state_at_age(age)[arms].sum()
        age += 1
        age[arms] = 1
    found = losses(sources, crawls, budget, ages=ages, price=price)
    assert found.reward.sum() == pytest.approx(earned, rel=1e-13)
    missing = 300 * found.bound - earned + found.carried
    assert abs(found.total - missing) <= 1e-12 * 300 * found.bound
    assert min(found.late.min(), found.early.min(), found.idle.min()) >= 0
    assert found.late.shape == found.early.shape == (size, 300)
    crawled = np.array([[i in arms for arms in crawls] for i in range(size)])
    assert not found.late[crawled].any()
    assert not found.early[~crawled].any()


@pytest.mark.parametrize("end", ["smallest_subsidy", "subsidy"])
def test_losses_agree_across_interval(end):
    sources = by_limit([1.0, 1.0, 0.4, 0.3], [np.log(2.0), np.log(2.0), 40.0, 40.0])
    price = getattr(relaxed_problem(sources, 2), end)
    cycle = long_run_cycle(sources, "whittle", 2)
    found = losses(sources, cycle.crawls, price=price)
    assert found.bound == pytest.approx(relaxed_problem(sources, 2).bound, rel=1e-12)
    expected = found.bound - cycle.average_reward
    assert found.total / cycle.period == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("instance", range(12))
@pytest.mark.parametrize("policy", ["whittle", "lagrangian", "myopic", "round-robin"])
def test_losses_of_cycle_are_its_gap(instance, policy):
    sources, budget = random_set(instance, 3)
    cycle = long_run_cycle(sources, policy, budget)
    found = losses(sources, cycle.crawls)
    bound = relaxed_problem(sources, budget).bound
    assert found.bound == pytest.approx(bound, rel=1e-12)
    assert abs(found.total / cycle.period - (bound - cycle.average_reward)) <= 1e-12 * bound
    assert found.carried == 0.0
    again = losses(sources, np.array([[i in c for c in cycle.crawls] for i in range(4)]))
    assert again.total == found.total


def test_losses_name_the_lockstep():
    sources = by_limit([1.0, 1.0, 0.45, 0.3], [np.log(2.0), np.log(2.0), 40.0, 40.0])
    found = losses(sources, [(0, 1), (2, 3)])
    assert found.late[:, 0] == pytest.approx([0, 0, 0.45 - found.price, 0], abs=1e-12)
    assert found.early[3, 1] == pytest.approx(found.price - 0.3)
    kept = losses(sources, [(0, 2), (1, 2)])
    assert kept.total == pytest.approx(0, abs=1e-12)


def test_largest_indices_lose_least():
    sources, rng = random_sources(5, 7), np.random.default_rng(2)
    price = crawl_price(sources, 2)
    for _ in range(50):
        ages = rng.integers(1, 12, 5)
        lost = {}
        for first in range(5):
            for second in range(first):
                found = losses(sources, [(first, second)], 2, ages=ages, price=price)
                lost[first, second] = found.total
        order = np.argsort(-lagrangian_index(sources, ages, price), kind="stable")[:2]
        assert lost[max(order), min(order)] <= min(lost.values()) + 1e-12


@pytest.mark.parametrize(
    ("crawls", "options", "name"),
    [
        ([()], {}, "crawls"),
        ([(0, 4)], {}, "crawls"),
        ([(0, 0)], {}, "crawls"),
        ([(0, 1, 2)], {"budget": 2}, "crawls"),
        (np.ones((3, 2), dtype=bool), {}, "crawls"),
        ([(0,)], {"ages": [1, 2]}, "ages"),
        ([(0,)], {"ages": [1, 2, 3, -1]}, "ages"),
        ([(0,)], {"ages": [1, 2, 3, 1.5]}, "ages"),
    ],
)
def test_wrong_runs_are_refused(crawls, options, name):
    with pytest.raises(ValueError, match=name):
        losses(four_sources(), crawls, **options)


# What index and Lagrangian index lose ---------------------------------------------------------


class ExactSources:
    """Sources (u*, alpha) of exact content X(k) = u* (1 - alpha^k): no code of the package."""

    def __init__(self, u_star, alpha):
        self.u_star = [Fraction(u) for u in u_star]
        self.alpha = [Fraction(a) for a in alpha]
        self.content = cache(self._content)

    def __len__(self):
        return len(self.u_star)

    def _content(self, i, age):
        if age is None:  # never crawled
            return self.u_star[i]
        return self.u_star[i] * (1 - self.alpha[i] ** age)

    def whittle(self, i, age):
        if age is None:
            return self.u_star[i]
        rise = self.content(i, age + 1) - self.content(i, age)
        return self.content(i, age) - age * rise

    def due(self, i, price):
        """First age at which the index is at least the price, None if there is none."""
        if price >= self.u_star[i]:
            return None
        age = 1
        while self.whittle(i, age) < price:
            age += 1
        return age

    def gain(self, i, price):
        age = self.due(i, price)
        return Fraction(0) if age is None else (self.content(i, age) - price) / age

    def lagrangian(self, i, age, price):
        due, gain = self.due(i, price), self.gain(i, price)
        if due is None:
            return self.content(i, age) - price
        if age is None:
            return gain
        if age < due:
            return self.content(i, age) - price - gain * age
        return gain - self.content(i, age + 1) + self.content(i, age)

    def bound(self, budget, price):
        return price * budget + sum(self.gain(i, price) for i in range(len(self)))

    def multipliers(self, budget):
        """Least and greatest minimiser of the bound: both are indices at some age."""
        low, high = Fraction(0), max(self.u_star)
        for _ in range(80):  # the slope changes at indices alone: bracket, then take them
            middle = (low + high) / 2
            if self.spending(middle) >= budget:
                low = middle
            else:
                high = middle
        greatest = self.nearest_index(high)
        spent = self.spending(greatest)
        if spent != budget:
            return greatest, greatest
        below = [
            self.whittle(i, due - 1)
            for i in range(len(self))
            if (due := self.due(i, greatest)) is not None and due > 1
        ]
        below += [u for u in self.u_star if u < greatest]
        return max(below, default=Fraction(0)), greatest

    def spending(self, price):
        dues = [self.due(i, price) for i in range(len(self))]
        return sum((Fraction(1, due) for due in dues if due is not None), Fraction(0))

    def nearest_index(self, price):
        """Return the index, at any age, or limit that is nearest to a number just above it."""
        found = []
        for i in range(len(self)):
            found.append(self.u_star[i])
            due = self.due(i, price)
            if due is not None:
                found += [self.whittle(i, age) for age in (due, due - 1) if age >= 1]
        return min(found, key=lambda index: abs(index - price))

    def play(self, rank, budget, ages, epochs=10_000):
        """Play an order of sources (largest rank first, ties to the smaller number) to its cycle.

        Returns the crawls of one period and the reward of each of its epochs.
        """
        ages, seen, crawls, rewards = list(ages), {}, [], []
        while tuple(ages) not in seen:
            assert len(crawls) < epochs
            seen[tuple(ages)] = len(crawls)
            order = sorted(range(len(self)), key=lambda i: (-rank(i, ages[i]), i))[:budget]
            crawls.append(tuple(sorted(order)))
            rewards.append(sum(self.content(i, ages[i]) for i in order))
            ages = [1 if i in order else None if a is None else a + 1 for i, a in enumerate(ages)]
        first = seen[tuple(ages)]
        return crawls[first:], rewards[first:]


@pytest.mark.parametrize("instance", range(60))
def test_all_but_one_earn_the_bound(instance):
    """With M = N - 1 nothing is lost after the second epoch, from any start (proposition)."""
    rng = np.random.default_rng([instance, 48])
    size = int(rng.integers(2, 7))
    ties = instance % 3 == 0  # alpha and u* whose index at age 1 is the same
    alpha = (
        [Fraction(1, 2)] * size
        if ties
        else [Fraction(int(a), 97) for a in rng.integers(1, 97, size)]
    )
    limit = [
        Fraction(int(u), 10)
        for u in (rng.integers(8, 12, size) if ties else rng.integers(1, 60, size))
    ]
    sources, budget = ExactSources(limit, alpha), size - 1
    for price in set(sources.multipliers(budget)):
        for rank in (sources.whittle, lambda i, k, p=price: sources.lagrangian(i, k, p)):
            ages = [int(a) for a in rng.integers(1, 20, size)]
            for epoch in range(12):
                order = sorted(range(size), key=lambda i: (-rank(i, ages[i]), i))[:budget]
                index = [sources.lagrangian(i, ages[i], price) for i in range(size)]
                lost = sum(
                    max(-index[i], 0) if i in order else max(index[i], 0) for i in range(size)
                )
                assert lost == 0 or epoch < 2
                ages = [1 if i in order else a + 1 for i, a in enumerate(ages)]


@pytest.mark.parametrize("instance", range(40))
def test_due_source_is_crawled_within_bound(instance):
    """Gaps are at most (N - M) d + 1 under either index (proposition)."""
    sources, budget = random_set(instance, 5, size=5)
    for policy in ("whittle", "lagrangian"):
        cycle = long_run_cycle(sources, policy, budget)
        relaxed = relaxed_problem(sources, budget)
        for i in np.flatnonzero(np.isfinite(relaxed.age)):
            gaps = cycle.gaps(int(i))
            assert gaps
            assert max(gaps) <= (5 - budget) * (relaxed.age[i] + 1) + 1


TINY = Fraction(1, 10**6)


def lockstep(u_c, u_f):
    """A and B fade by half in an epoch, C and F at once."""
    fast = Fraction(1, 10**12)
    return ExactSources(
        [1, 1, u_c / (1 - fast), u_f / (1 - fast)], [Fraction(1, 2)] * 2 + [fast] * 2
    )


def loss_of(sources, rank, ages):
    _, rewards = sources.play(rank, 2, ages)
    low, high = sources.multipliers(2)
    bound = sources.bound(2, high)
    assert bound == sources.bound(2, low) if low < high else True
    return 1 - sum(rewards) / len(rewards) / bound


@pytest.mark.parametrize("ages", [(None,) * 4, (2, 2, 1, 1), (5, 5, 9, 9)])
def test_index_loses_a_tenth_in_lockstep(ages):
    sources = lockstep(Fraction(1, 2) - TINY, Fraction(1, 4) + TINY)
    loss = loss_of(sources, sources.whittle, ages)
    assert Fraction(1, 10) - 3 * TINY < loss < Fraction(1, 10)


@pytest.mark.parametrize("theta", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_lockstep_loses_an_eighteenth(theta):
    sources = lockstep((3 + theta) / 8 - TINY, (2 + theta) / 8 + TINY)
    low, high = sources.multipliers(2)
    price = low + theta * (high - low)
    loss = loss_of(sources, lambda i, k: sources.lagrangian(i, k, price), (None,) * 4)
    supremum = 1 / (18 + 2 * theta)
    assert supremum - 3 * TINY < loss < supremum


def test_long_run_cycle_confirms_the_tenth():
    sources = by_limit([1.0, 1.0, 0.4999, 0.2501], [np.log(2.0), np.log(2.0), 12.0, 12.0])
    best = optimal_average_reward(sources, 2)
    assert best == pytest.approx(relaxed_problem(sources, 2).bound, rel=1e-12)
    cycle = long_run_cycle(sources, "whittle", 2)
    assert cycle.crawls == ((0, 1), (2, 3))
    assert 1 - cycle.average_reward / best == pytest.approx(0.09993, abs=2e-5)


def test_lagrangian_may_lose_more():
    """On four sources of due ages 1, 2, 3 and 6."""
    sources = ExactSources(["1", "1.75", "1.7", "1.3"], ["0.001", "0.45", "0.56", "0.6"])
    low, high = sources.multipliers(2)
    assert [sources.due(i, (low + high) / 2) for i in range(4)] == [1, 2, 3, 6]
    ages = [1, 2, 1, 3]  # the optimum crawls {1, 2}, {1, 4}, {1, 2}, {1, 3} in turn
    for _ in range(2):
        best = Fraction(0)
        for other in (1, 3, 1, 2):
            best += (sources.content(0, ages[0]) + sources.content(other, ages[other])) / 4
            ages = [1 if i in (0, other) else a + 1 for i, a in enumerate(ages)]
    assert best == Fraction(590723973, 250000000)
    rates = by_limit([float(u) for u in sources.u_star], [-np.log(float(a)) for a in sources.alpha])
    assert optimal_cycle(rates, 2).average_reward == pytest.approx(float(best), rel=1e-12)
    starts = [(None,) * 4, (1, 1, 1, 1), (3, 1, 2, 5), (2, 5, 1, None), (5, 3, None, 1)]
    for ages in starts:
        for share in (Fraction(0), Fraction(1, 2), Fraction(1)):
            price = low + share * (high - low)
            _, rewards = sources.play(lambda i, k, p=price: sources.lagrangian(i, k, p), 2, ages)
            assert 1 - sum(rewards) / len(rewards) / best == pytest.approx(0.04386, abs=5e-6)
        _, rewards = sources.play(sources.whittle, 2, ages)
        assert 1 - sum(rewards) / len(rewards) / best == pytest.approx(0.02510, abs=5e-6)


# The policies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("instance", range(8))
def test_policy_plays_exact_order(instance):
    rng = np.random.default_rng([instance, 1])
    alpha = [Fraction(int(a), 97) for a in rng.integers(20, 90, 4)]
    limit = [Fraction(int(u), 10) for u in rng.integers(5, 60, 4)]
    exact = ExactSources(limit, alpha)
    sources = by_limit([float(u) for u in limit], [-np.log(float(a)) for a in alpha])
    price = sum(exact.multipliers(2)) / 2
    assert crawl_price(sources, 2) == pytest.approx(float(price), rel=1e-9)
    ages = [int(a) for a in rng.integers(1, 9, 4)]
    rank = lambda i, k: exact.lagrangian(i, k, price)  # noqa: E731
    age, epochs = list(ages), 60
    policy = LagrangianPolicy(sources)
    for epoch in range(epochs):
        order = sorted(range(4), key=lambda i: (-rank(i, age[i]), i))[:2]
        seen = Observation(epoch, np.array(age), np.full(4, np.nan))
        assert policy.select(seen, 2).tolist() == sorted(order)
        age = [1 if i in order else a + 1 for i, a in enumerate(age)]


@pytest.mark.parametrize("name", SETS)
def test_policies_crawl_largest_indices(name):
    sources, rng = SETS[name], np.random.default_rng(6)
    for budget in range(1, len(sources) + 1):
        policy, tuned = LagrangianPolicy(sources), TunedLagrangianPolicy(sources, every=5)
        for epoch in range(20):
            age = rng.integers(1, 40, len(sources))
            seen = Observation(epoch, age, np.full(len(sources), np.nan))
            if name in UNIT_COSTS:
                rank = lagrangian_index(sources, age, crawl_price(sources, budget))
                order = sorted(range(len(sources)), key=lambda i, r=rank: (-r[i], i))
                assert policy.select(seen, budget).tolist() == sorted(order[:budget])
            chosen = tuned.select(seen, budget)
            assert np.unique(chosen).size == budget
            if epoch < 5:
                assert chosen.tolist() == WhittlePolicy(sources).select(seen, budget).tolist()
        assert (tuned.price is None) == (budget == len(sources))
        if tuned.price is not None:
            assert 0 <= tuned.price <= (sources.u_star / sources.cost).max()


def test_given_price_is_used():
    sources = random_sources(20, 8)
    solved = LagrangianPolicy(sources, crawl_price(sources, 2))
    default = long_run_cycle(sources, "lagrangian", 2)
    assert long_run_cycle(sources, solved, 2).crawls == default.crawls
    wrong = long_run_cycle(sources, LagrangianPolicy(sources, 0.0), 2)
    assert wrong.average_reward < default.average_reward


def test_tuned_price_approaches_the_solved_one():
    lost = []
    for seed in range(3):
        sources = random_sources(200, [seed, 9])
        bound, ages = relaxed_problem(sources, 20).bound, spread_ages(sources, 20, seed)
        policy, age, rewards = TunedLagrangianPolicy(sources), ages.copy(), []
        for epoch in range(1200):
            seen = Observation(epoch, age.copy(), np.full(200, np.nan))
            arms = policy.select(seen, 20)
            rewards.append(sources.state_at_age(age)[arms].sum())
            age += 1
            age[arms] = 1
        assert policy.price == pytest.approx(crawl_price(sources, 20), rel=0.02)
        index, _ = follow(sources, "whittle", 20, ages, 1200)
        lost.append([1 - np.mean(run[600:]) / bound for run in (rewards, index)])
    tuned, index = np.mean(lost, axis=0)
    assert tuned < index
