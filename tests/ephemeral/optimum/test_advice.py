"""Policies on the relaxed problem: FTVA, ID and LP-update, against their definitions."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from analysis.ephemeral import (
    Observation,
    Sources,
    four_sources,
    relaxed_problem,
    simulate,
)
from analysis.ephemeral.instances import random_set, random_sources
from analysis.ephemeral.optimum.advice import (
    FTVAPolicy,
    IDPolicy,
    LPUpdatePolicy,
    SingleSourcePolicies,
)
from tests.ephemeral.sets import SETS, UNIT_COSTS

DRAWN = [random_set(number, 1) for number in range(12)]


def stationary(single, arm):
    """Solve the chain of one source's ages."""
    last = int(single.gap[arm]) + 1
    chain = np.zeros((last, last))
    for age in range(1, last + 1):
        ages = np.full(single.gap.size, age)
        crawl = single.crawl_probability(ages)[arm]
        chain[age - 1, 0] += crawl
        chain[age - 1, min(age, last - 1)] += 1 - crawl
    left = np.vstack([chain.T - np.eye(last), np.ones(last)])
    return np.linalg.lstsq(left, np.append(np.zeros(last), 1.0), rcond=None)[0]


class Places:
    """A generator whose numbers are given."""

    def __init__(self, place):
        self.place = place

    def random(self, size):
        return np.full(size, self.place)


def test_advice_follows_relaxed_law():
    for sources, budget in DRAWN:
        relaxed = relaxed_problem(sources, budget)
        single = SingleSourcePolicies.of(sources, budget)
        earned = 0.0
        grid = (np.arange(500) + 0.5) / 500
        drawn = np.array([single.stationary_age(Places(place)) for place in grid])
        for arm in range(len(sources)):
            if single.gap[arm] == 0:
                assert relaxed.frequency[arm] == 0.0
                continue
            law = stationary(single, arm)
            ages = np.arange(1, law.size + 1)
            crawl = np.array(
                [single.crawl_probability(np.full(len(sources), age))[arm] for age in ages]
            )
            assert law @ crawl == pytest.approx(relaxed.frequency[arm], rel=1e-12)
            content = sources.state_at_age(ages[:, None])[:, arm]
            earned += (law * crawl) @ content
            share = np.bincount(drawn[:, arm], minlength=law.size + 1)[1:] / grid.size
            assert share == pytest.approx(law, abs=4e-3)
        assert earned == pytest.approx(relaxed.bound, rel=1e-9)


def test_single_gap_is_periodic():
    single = SingleSourcePolicies(np.array([0, 1, 1, 2, 2]), np.array([0.0, 1.0, 0.3, 1.0, 0.3]))
    assert single.aperiodic().tolist() == [True, True, True, False, True]


def test_crawls_follow_four_levels():
    sources = four_sources()
    rng = np.random.default_rng(5)
    for budget in (1, 2, 3):
        for _ in range(50):
            policy = FTVAPolicy(sources, budget)
            policy.single = SingleSourcePolicies(np.array([1, 2, 3, 4]), np.ones(4))
            virtual = rng.integers(1, 5, 4)
            policy.virtual_age = virtual.copy()
            ages = rng.integers(1, 5, 4)
            chosen = policy.select(Observation(0, ages, np.full(4, np.nan)), budget, rng)
            asked, agree = virtual >= [1, 2, 3, 4], virtual == ages
            level = np.select([asked & agree, asked, ~agree], [0, 1, 2], 3)
            left = np.setdiff1d(np.arange(4), chosen)
            assert chosen.size == budget
            assert level[chosen].max() <= level[left].min()
            assert policy.virtual_age.tolist() == np.where(asked, 1, virtual + 1).tolist()


def test_agreement_persists():
    """Gaps 1, 2, 2 fill a budget of two: after the first crawls nothing is lost any more."""
    sources = Sources([5.0, 2.0, 2.0], [1.0] * 3, [0.5] * 3)
    assert SingleSourcePolicies.of(sources, 2).gap.tolist() == [1, 2, 2]
    for seed in range(20):
        policy = FTVAPolicy(sources, 2)
        policy.virtual_age = np.array([1, 1, 2])
        run = simulate(sources, policy, 2, 60, rng=np.random.default_rng(seed))
        bound = relaxed_problem(sources, 2).bound
        assert run.reward[-20:].mean() == pytest.approx(bound, rel=1e-12)


def test_id_policy_follows_longest_prefix():
    rng = np.random.default_rng(7)
    for _ in range(60):
        size = int(rng.integers(2, 7))
        budget = int(rng.integers(1, size))
        sources = random_sources(size, rng)
        policy = IDPolicy(sources, budget)
        ages = rng.integers(1, 9, size)
        seed = int(rng.integers(10**6))
        chosen = policy.select(
            Observation(0, ages, np.full(size, np.nan)), budget, np.random.default_rng(seed)
        )
        draws = np.random.default_rng(seed).random(size)
        ideal = draws < policy.single.crawl_probability(ages)
        followed = 0
        while followed < size:
            crawls = int(ideal[: followed + 1].sum())
            if crawls > budget or followed + 1 - crawls > size - budget:
                break
            followed += 1
        assert chosen.size == budget
        begun = [arm for arm in range(followed) if ideal[arm]]
        assert [arm for arm in chosen if arm < followed] == begun


def value_by_flows(sources, ages, budget, epochs):
    """The same program by probabilities of age and action at each epoch."""
    reach = [sorted({age + t} | set(range(1, t + 1))) for age in ages for t in range(epochs)]
    columns = [
        (arm, t, age, crawl)
        for arm, t in product(range(len(ages)), range(epochs))
        for age in reach[arm * epochs + t]
        for crawl in (0, 1)
    ]
    place = {column: number for number, column in enumerate(columns)}
    reward = np.array(
        [
            crawl * sources.state_at_age(np.full(len(ages), age))[arm]
            for arm, _, age, crawl in columns
        ]
    )
    limit = np.zeros((epochs, len(columns)))
    rows, right = [], []
    for (_, t, _, crawl), number in place.items():
        limit[t, number] = crawl
    for arm, t in product(range(len(ages)), range(epochs)):
        for age in reach[arm * epochs + t]:
            row = np.zeros(len(columns))
            row[[place[arm, t, age, 0], place[arm, t, age, 1]]] = 1.0
            if t:
                for before in reach[arm * epochs + t - 1]:
                    for crawl in (0, 1):
                        if (1 if crawl else before + 1) == age:
                            row[place[arm, t - 1, before, crawl]] -= 1.0
            rows.append(row)
            right.append(float(t == 0))
    found = linprog(
        -reward, limit, np.full(epochs, budget), np.array(rows), right, method="highs-ipm"
    )
    return -found.fun


def test_lookahead_equals_enumeration():
    rng = np.random.default_rng(11)
    for size, budget, epochs in ((2, 1, 4), (3, 1, 3), (3, 2, 5), (4, 2, 3)):
        sources = random_sources(size, rng)
        ages = rng.integers(1, 7, size)
        policy = LPUpdatePolicy(sources, epochs)
        crawl, value = policy.plan(ages, budget)
        assert value == pytest.approx(value_by_flows(sources, ages, budget, epochs), rel=1e-7)
        assert crawl.sum() <= budget + 1e-9
        assert ((crawl >= -1e-9) & (crawl <= 1 + 1e-9)).all()


def test_wrong_calls_are_named():
    dear = Sources([1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 2.0])
    for make in (
        lambda: FTVAPolicy(dear, 1),
        lambda: IDPolicy(dear, 1),
        lambda: LPUpdatePolicy(dear),
    ):
        with pytest.raises(ValueError, match="sources"):
            make()
    with pytest.raises(ValueError, match="epochs"):
        LPUpdatePolicy(four_sources(), 9)
    seen = Observation(0, np.ones(4, dtype=int), np.full(4, np.nan))
    for policy in (FTVAPolicy(four_sources(), 1), IDPolicy(four_sources(), 1)):
        with pytest.raises(ValueError, match="rng"):
            policy.select(seen, 1)
        with pytest.raises(ValueError, match="budget"):
            policy.select(seen, 2, np.random.default_rng(1))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("make", "epochs"),
    [(FTVAPolicy, 60), (IDPolicy, 60), (lambda s, _: LPUpdatePolicy(s, 3), 12)],
    ids=["FTVA", "ID", "LP-update"],
)
def test_no_run_beats_price_of_its_crawls(make, epochs, name):
    """On its path, the price of all crawls and a maximum for each source."""
    sources = SETS[name]
    if name not in UNIT_COSTS:
        with pytest.raises(ValueError, match="sources"):
            make(sources, 1)
        return
    for budget in {1, len(sources)}:
        rng = np.random.default_rng(3)
        run = simulate(
            sources, make(sources, budget), budget, epochs, initial_state="fresh", rng=rng
        )
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


@pytest.mark.parametrize("name", UNIT_COSTS)
def test_one_epoch_ahead_is_myopic(name):
    sources = SETS[name]
    age = np.arange(1, len(sources) + 1)
    content = sources.state_at_age(age)
    for budget in {1, len(sources)}:
        crawl, value = LPUpdatePolicy(sources, 1).plan(age, budget)
        best = np.sort(content)[::-1][:budget].sum()
        assert value == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert crawl @ content == pytest.approx(best, rel=1e-9, abs=1e-12)
