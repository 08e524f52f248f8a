"""The scheduler against a full sort of all sources, epoch by epoch."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from analysis.ephemeral import Sources, four_sources, whittle_index_at_age
from analysis.ephemeral.optimum.costs import fill_budget
from analysis.ephemeral.relaxed import due_ages, relaxed_bound
from analysis.ephemeral.scheduler import epoch as epoch_kernel
from analysis.ephemeral.scheduler.calendar import bend_of, shares
from analysis.ephemeral.scheduler.core import Scheduler, scheduler_from_parquet
from analysis.ephemeral.scheduler.register import spread_ages


@njit
def index_at_age(limit, decay, bend, age):
    rank = np.empty(limit.size)
    for i in range(limit.size):
        rank[i] = limit[i] * shares(decay[i], bend[i], age[i])[0]
    return rank


class FullSort:
    """The policy by its rules, looking at every source at every epoch."""

    def __init__(self, sources, budget, ages=None, *, min_age=0, max_age=None):
        if ages is None:
            ages = spread_ages(sources, budget, max_age=max_age)
        self.limit, self.decay, self.bend, self.cost = columns(sources)
        size = len(sources)
        self.budget = budget
        self.age = np.broadcast_to(ages, size).astype(float)
        self.least = np.broadcast_to(min_age, size).copy()
        self.most = np.broadcast_to(np.inf if max_age is None else max_age, size).copy()
        self.here = np.ones(size, dtype=bool)

    def crawl(self, budget=None):
        budget = self.budget if budget is None else budget
        rank = self.ranks()
        overdue = self.age - self.most
        rank[overdue >= 0] = 1e200 + 1e198 * overdue[overdue >= 0]
        may = (self.age >= self.least) | (overdue >= 0)
        may &= self.here & (self.cost <= budget * (1 + 1e-12))
        chosen = fill_budget(np.where(may, rank, -np.inf), self.cost, budget, "stop")
        rewards = -np.expm1(-self.decay * self.age)[chosen] * (self.limit * self.cost)[chosen]
        self.age += 1
        self.age[chosen] = 1
        return chosen, rewards

    def ranks(self):
        return index_at_age(self.limit, self.decay, self.bend, self.age)

    def add(self, sources, ages):
        size = len(sources)
        for name, column in zip(("limit", "decay", "bend", "cost"), columns(sources), strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), column]))
        self.age = np.concatenate([self.age, np.broadcast_to(ages, size)])
        self.least = np.concatenate([self.least, np.zeros(size, int)])
        self.most = np.concatenate([self.most, np.full(size, np.inf)])
        self.here = np.concatenate([self.here, np.ones(size, bool)])

    def rerate(self, numbers, sources):
        for name, column in zip(("limit", "decay", "bend", "cost"), columns(sources), strict=True):
            getattr(self, name)[numbers] = column


def columns(sources):
    small = sources.decay < 0.5  # exp(-y) - 1 + y without cancellation, by another series
    terms = [(-sources.decay) ** n / np.prod(np.arange(1.0, n + 1)) for n in range(24, 1, -1)]
    bend = np.where(small, np.sum(terms, axis=0), np.expm1(-sources.decay) + sources.decay)
    return sources.u_star / sources.cost, sources.decay.copy(), bend, sources.cost.copy()


def same_crawl(scheduler, reference, budget=None):
    numbers, rewards = scheduler.crawl(budget)
    expected, expected_rewards = reference.crawl(budget)
    order = np.argsort(numbers)
    np.testing.assert_array_equal(numbers[order], np.sort(expected))
    np.testing.assert_allclose(
        rewards[order], expected_rewards[np.argsort(expected)], rtol=1e-12, atol=1e-300
    )


def many_sources(count, seed=0, **more):
    rng = np.random.default_rng(seed)
    utility, rate = rng.lognormal(0, 1, count), rng.lognormal(0, 1, count)
    return Sources(rate, utility, rng.lognormal(-3, 1, count), **more)


# A few values each, so that equal sources and equal indices are common.
RATES = st.sampled_from([0.0, 1e-5, 0.5, 1.0, 3.0, 250.0, 1e5])
DECAYS = st.sampled_from([1e-14, 1e-6, 0.01, 0.3, 0.7, 1.0, 5.0, 1e3])
COSTS = st.sampled_from([0.1, 1.0, 1.0001, 2.0, 7.0])


@st.composite
def some_sources(draw, size, costs):
    def column(values):
        return draw(st.lists(values, min_size=size, max_size=size))

    cost = column(COSTS) if costs else 1.0
    return Sources(column(RATES), column(RATES), column(DECAYS), cost=cost)


@given(data=st.data(), costs=st.booleans())
@settings(max_examples=60)
def test_crawls_equal_full_sort(data, costs):
    size = data.draw(st.integers(1, 9))
    sources = data.draw(some_sources(size, costs))
    budget = data.draw(st.sampled_from([0.5, 1.0, 2.0, 3.3, 20.0]))
    ages = np.array(data.draw(st.lists(st.integers(0, 3000), min_size=size, max_size=size)))
    least = np.array(data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size)))
    scheduler = Scheduler(sources, budget, ages, min_age=least)
    reference = FullSort(sources, budget, ages, min_age=least)
    actions = st.sampled_from(["crawl", "crawl", "budget", "add", "remove", "rerate", "ages"])
    for action in data.draw(st.lists(actions, min_size=1, max_size=60)):
        here = np.flatnonzero(reference.here)
        if action == "crawl":
            same_crawl(scheduler, reference)
        elif action == "budget":
            same_crawl(scheduler, reference, data.draw(st.sampled_from([0.0, 1.0, 2.5, 9.0])))
        elif action == "add":
            more = data.draw(some_sources(data.draw(st.integers(1, 3)), costs))
            age = data.draw(st.integers(0, 40))
            numbers = scheduler.add(more, age)
            assert numbers.tolist() == list(
                range(reference.here.size, reference.here.size + len(more))
            )
            reference.add(more, age)
        elif action == "remove" and here.size > 1:
            number = data.draw(st.sampled_from(here.tolist()))
            scheduler.remove(number)
            reference.here[number] = False
        elif action == "rerate" and here.size:
            numbers = np.array(data.draw(st.permutations(here.tolist())))[:3]
            more = data.draw(some_sources(numbers.size, costs))
            scheduler.rerate(numbers, more)
            reference.rerate(numbers, more)
        elif action == "ages":
            expected = np.where(reference.here, reference.age, 0)
            np.testing.assert_array_equal(scheduler.ages, expected)
    assert len(scheduler) == reference.here.sum()


@given(data=st.data())
@settings(max_examples=40)
def test_maximal_ages_come_first(data):
    size = data.draw(st.integers(2, 8))
    sources = data.draw(some_sources(size, False))
    most = np.array(data.draw(st.lists(st.integers(size, 40), min_size=size, max_size=size)))
    least = np.array(data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)))
    least = np.minimum(least, most)
    ages = np.array(data.draw(st.lists(st.integers(1, 60), min_size=size, max_size=size)))
    scheduler = Scheduler(sources, 1, ages, min_age=least, max_age=most)
    reference = FullSort(sources, 1, ages, min_age=least, max_age=most)
    for _ in range(80):
        same_crawl(scheduler, reference)


@pytest.mark.sampled
@pytest.mark.parametrize("start", ["alike", "spread"])
@pytest.mark.parametrize("costs", ["equal", "three", "all different"])
def test_thousands_of_sources(start, costs):
    rng = np.random.default_rng(3)
    cost = 1.0
    if costs != "equal":
        three = rng.choice([0.5, 1.0, 4.0], 20_000)
        cost = three if costs == "three" else rng.lognormal(0, 1, 20_000)
    sources = many_sources(20_000, cost=cost)
    ages = 1 if start == "alike" else spread_ages(sources, 200, rng)
    scheduler, reference = Scheduler(sources, 200, ages), FullSort(sources, 200, ages)
    for epoch in range(120):
        same_crawl(scheduler, reference, [None, 150.0, 400.0][epoch % 3 if epoch > 60 else 0])


@given(st.floats(1e-14, 1e3), st.integers(0, 100_000))
def test_kernel_agrees_with_the_closed_form(decay, age):
    source = Sources([1.0], [1.0], [decay])
    limit, m, bend, _ = columns(source)
    assert bend_of(m[0]) == pytest.approx(bend[0], rel=2e-15)
    index, content = shares(m[0], bend_of(m[0]), float(age))
    assert index * limit[0] == pytest.approx(whittle_index_at_age(source, [age])[0], rel=4e-15)
    assert content * limit[0] == pytest.approx(source.state_at_age([age])[0], rel=4e-15)


@pytest.mark.parametrize("budget", [0.0, 0.3, 0.999])
def test_tiny_budget_crawls_nothing(budget):
    cost = np.random.default_rng(0).choice([1.0, 2.0, 5.0], 500)
    scheduler = Scheduler(many_sources(500, cost=cost), 20)
    for _ in range(40):
        scheduler.crawl()
    before, level = scheduler.rebuilds, scheduler.threshold
    for _ in range(5):
        assert scheduler.crawl(budget)[0].size == 0
    assert scheduler.rebuilds == before
    assert scheduler.threshold == level
    assert level > 0


def test_first_epoch_without_budget():
    cost = np.random.default_rng(0).choice([1.0, 2.0], 50)
    scheduler = Scheduler(many_sources(50, cost=cost), 5)
    assert scheduler.crawl(0)[0].size == 0
    assert scheduler.rebuilds == 0


def test_few_sources_sorted_once():
    """Only 30 of 3,000 sources cost less than the budget, and none of these is near its turn."""
    cost, rate = np.full(3000, 50.0), np.full(3000, 100.0)
    cost[::100], rate[::100] = 1.0, 0.001
    scheduler = Scheduler(Sources(rate, np.ones(3000), np.full(3000, 0.1), cost=cost), 500.0)
    reference = FullSort(Sources(rate, np.ones(3000), np.full(3000, 0.1), cost=cost), 500.0)
    for _ in range(40):
        same_crawl(scheduler, reference)
    before = scheduler.rebuilds
    same_crawl(scheduler, reference, 10.0)
    assert scheduler.rebuilds <= before + 1


def test_equal_sources_sorted_once():
    """All are tied, and a threshold on the tie itself would never be low enough."""
    scheduler = Scheduler(Sources(np.ones(3000), np.ones(3000), np.ones(3000)), 1)
    scheduler.crawl()
    assert scheduler.rebuilds == 1


def test_sampled_threshold_changes_nothing(monkeypatch):
    seen = []
    count_all = epoch_kernel.demand
    monkeypatch.setattr(
        epoch_kernel, "demand", lambda *given: seen.append(given[6:]) or count_all(*given)
    )
    sources = many_sources(120_000)
    ages = spread_ages(sources, 6000, np.random.default_rng(1))
    scheduler, reference = Scheduler(sources, 6000, ages), FullSort(sources, 6000, ages)
    for _ in range(4):
        same_crawl(scheduler, reference)
    assert scheduler.rebuilds == 1
    assert min(every for (every,) in seen[1:]) > 4


def test_reward_approaches_relaxed_bound():
    sources = many_sources(20_000, seed=2)
    scheduler = Scheduler(sources, 400, spread_ages(sources, 400, np.random.default_rng(0)))
    for _ in range(300):
        scheduler.crawl()
    reward = np.mean([scheduler.crawl()[1].sum() for _ in range(300)])
    bound, subsidy = relaxed_bound(sources, 400)
    assert 0.995 * bound < reward < 1.0001 * bound  # an average over a window can be above
    assert scheduler.threshold == pytest.approx(subsidy, rel=0.05)


def test_maximal_ages_share_budget():
    scheduler = Scheduler(four_sources(), 1, max_age=4)
    with pytest.raises(ValueError, match="max_age"):
        scheduler.add(four_sources(), max_age=4)
    assert len(scheduler) == scheduler.ages.size == 4
    scheduler.add(four_sources())  # these ask for nothing
    scheduler.remove([0, 1])
    scheduler.add(four_sources().subset(slice(2)), max_age=4)
    assert len(scheduler) == 8


def test_new_costs_respect_maximal_ages():
    scheduler, twin = (Scheduler(four_sources(), 1.5, max_age=4) for _ in range(2))
    dear = Sources(np.ones(2), np.ones(2), np.ones(2), cost=[1.0, 4.0])
    with pytest.raises(ValueError, match="sources"):
        scheduler.rerate([2, 0], dear)
    for _ in range(20):  # nothing has changed
        for one, other in zip(scheduler.crawl(), twin.crawl(), strict=True):
            np.testing.assert_array_equal(np.sort(one), np.sort(other))
    scheduler.rerate([3, 1], Sources(np.ones(2), np.ones(2), np.ones(2), cost=[1.0, 2.0]))
    assert scheduler.crawl()[0].size == 1


def test_lowered_budget_refuses_excess():
    scheduler = Scheduler(four_sources(), 1, max_age=4)
    scheduler.budget = 0.5
    scheduler.add(four_sources())
    with pytest.raises(ValueError, match="max_age"):
        scheduler.add(four_sources(), max_age=1000)


def test_maximal_ages_fill_budget():
    count = 49  # 49 times 1/49 adds up to more than 1 in some orders
    for size in range(1, count + 1):
        sources = Sources(np.ones(size), np.ones(size), np.ones(size), cost=np.full(size, 0.1))
        assert len(Scheduler(sources, 0.1, max_age=size)) == size


def test_plan_lists_crawls():
    sources, labels = many_sources(40), [f"feed {number}" for number in range(40)]
    plan, twin = Scheduler(sources, 9).plan(20, labels), Scheduler(sources, 9)
    crawls = [sorted(zip(*twin.crawl(), strict=True)) for _ in range(20)]
    rows = [(epoch, *row) for epoch, crawl in enumerate(crawls) for row in crawl]
    assert list(plan.columns) == ["epoch", "source", "expected_reward"]
    listed = [(epoch, labels[number], reward) for epoch, number, reward in rows]
    assert list(plan.itertuples(index=False, name=None)) == listed
    assert Scheduler(sources, 9).plan(20)["source"].tolist() == [number for _, number, _ in rows]


@given(data=st.data(), costs=st.booleans(), limited=st.booleans())
@settings(max_examples=50)
def test_demand_has_one_rule(data, costs, limited):
    """By brute force: a source counts from its minimal age on, by its index, overdue or not."""
    size = data.draw(st.integers(1, 30))
    sources = data.draw(some_sources(size, costs))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    least, ages = rng.integers(0, 6, size), rng.integers(0, 90, size)
    limits = {"min_age": least, "max_age": rng.integers(20, 60, size) if limited else None}
    scheduler = Scheduler(sources, float(sources.cost.sum()) / 3, ages, **limits)
    limit, decay, _, cost = columns(sources)
    bend = np.array([bend_of(one) for one in decay])
    for _ in range(data.draw(st.integers(1, 12))):
        scheduler.crawl()
        age = scheduler.ages
        index = index_at_age(limit, decay, bend, age.astype(float))
        levels = np.concatenate([[0.0, 1.7, 1e3], index[:5], np.nextafter(index[:5], np.inf)])
        dearest = rng.choice([np.inf, 1.0])
        may = (age >= least) & (cost <= dearest)
        expected = [cost[may & (index >= level)].sum() for level in levels]
        found = scheduler.demand(levels, most_cost=dearest)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        unsorted = Scheduler(sources, float(sources.cost.sum()), age, **limits)
        np.testing.assert_allclose(unsorted.demand(levels, most_cost=dearest), found, rtol=1e-12)
        assert scheduler.demand(levels[3], most_cost=dearest) == pytest.approx(found[3])
    assert scheduler.demand([]).shape == (0,)
    assert scheduler.demand(levels[:4].reshape(2, 2)).shape == (2, 2)


@pytest.mark.parametrize("costs", [False, True])
def test_floor_excludes_small_indices(costs):
    rng = np.random.default_rng(0)
    cost = rng.choice([1.0, 2.0], 300) if costs else 1.0
    sources = many_sources(300, cost=cost)
    scheduler, reference = Scheduler(sources, 20), FullSort(sources, 20)
    for epoch in range(60):
        index = index_at_age(reference.limit, reference.decay, reference.bend, reference.age)
        floor = float(np.sort(index)[-8]) if epoch % 2 else 0.0
        reference.least = np.where(index >= floor, 0, np.inf)
        expected, _ = reference.crawl()
        numbers, _ = scheduler.crawl(floor=floor)
        np.testing.assert_array_equal(np.sort(numbers), np.sort(expected))
    assert scheduler.threshold > epoch_kernel.WAITING


def test_removed_source_keeps_number():
    scheduler, twin = (
        Scheduler(four_sources(), 1, min_age=2),
        Scheduler(four_sources(), 1, min_age=2),
    )
    for _ in range(30):
        ages = scheduler.ages
        scheduler.remove([2, 0])
        again = four_sources().subset(np.array([0, 2]))
        assert scheduler.add(again, ages[[0, 2]], min_age=2, numbers=[0, 2]).tolist() == [0, 2]
        np.testing.assert_array_equal(scheduler.ages, twin.ages)
        for one, other in zip(scheduler.crawl(), twin.crawl(), strict=True):
            np.testing.assert_array_equal(one, other)
    assert len(scheduler) == scheduler.ages.size == 4
    scheduler.remove(1)
    dear = Sources([1.0], [1.0], [1.0], cost=[0.5])
    scheduler.add(dear, 7, min_age=0, max_age=9, numbers=[1])
    assert scheduler.ages[1] == 7
    assert scheduler.add(dear).tolist() == [4]


@pytest.mark.sampled
def test_memory_per_source():
    count = 300_000
    sources = many_sources(count)
    for ages in (1, spread_ages(sources, 3_000, np.random.default_rng(0))):
        scheduler = Scheduler(sources, 3_000, ages)
        for _ in range(80):  # the arrays never shrink, so the last size is the largest
            scheduler.crawl()
        assert scheduler.nbytes <= 64 * count


def test_wrong_arguments_are_named():
    four = four_sources()
    new = Scheduler(four, 1)
    calls = [
        ("budget", lambda: Scheduler(four, 0)),
        ("budget", lambda: Scheduler(four, np.inf)),
        ("budget", lambda: new.crawl(-1)),
        *(
            ("ages", lambda ages=ages: Scheduler(four, 1, ages))
            for ages in ("new", -1, 1.5, [1, 2])
        ),
        ("max_age", lambda: Scheduler(four, 1, max_age=3)),
        ("min_age", lambda: Scheduler(four, 1, min_age=9, max_age=8)),
        ("precision", lambda: Scheduler(four, 1, precision="half")),
        ("floor", lambda: new.crawl(floor=-1)),
        ("subsidy", lambda: new.demand(-1.0)),
        ("most_cost", lambda: new.demand(1.0, most_cost=np.nan)),
        ("numbers", lambda: new.add(four, numbers=[0, 1, 2, 3])),
        ("numbers", lambda: new.add(four, numbers=[4, 5, 6, 7])),
        ("numbers", lambda: new.add(four, numbers=[1, 1, 2, 3])),
        ("numbers", lambda: new.remove(4)),
        ("numbers", lambda: new.remove([1, 1])),
        ("numbers", lambda: new.rerate([1], four)),
        ("names", lambda: new.plan(1, ["a"])),
        ("epochs", lambda: new.plan(0)),
    ]
    for name, call in calls:
        with pytest.raises(ValueError, match=name):
            call()
    new.budget = -1.0
    with pytest.raises(ValueError, match="budget"):
        new.crawl()


def test_second_removal_is_refused():
    scheduler = Scheduler(four_sources(), 1, 1)
    scheduler.remove(2)
    with pytest.raises(ValueError, match="there is no source 2 any more"):
        scheduler.remove([0, 2])
    assert scheduler.ages.tolist() == [1, 1, 0, 1]


def test_ages_are_spread_by_default():
    sources = Sources(*(np.repeat(column, 500) for column in ([1.0, 3.0], [1.0, 0.5], [0.1, 0.4])))
    scheduler = Scheduler(sources, 100)
    due = due_ages(sources, relaxed_bound(sources, 100)[1])
    for kind in (slice(0, 500), slice(500, 1000)):
        most = int(min(due[kind][0], np.ceil(10 / sources.decay[kind][0])))
        counts = np.bincount(scheduler.ages[kind], minlength=most + 1)[1:]
        assert counts.size == most
        assert np.ptp(counts) <= 2
    for _ in range(30):
        scheduler.crawl()
    added = scheduler.add(sources.subset(slice(500, 1000)))
    assert np.unique(scheduler.ages[added]).size > 1
    limited = Scheduler(sources, 100, max_age=20)
    assert limited.ages.max() <= 20


def test_spread_ages_lose_less_than_equal_ones():
    """On copies of four sources whose equal ages keep them in step for ever."""
    kinds = ([1.0, 1.0, 0.4999, 0.2501], [np.log(2.0), np.log(2.0), 12.0, 12.0])
    u_star, decay = (np.repeat(column, 50) for column in kinds)
    sources = Sources(u_star * decay, np.ones(200), decay)
    bound = relaxed_bound(sources, 100)[0]
    lost = {}
    for name, ages in (("equal", 2), ("spread", None)):
        scheduler = Scheduler(sources, 100, ages)
        earned = [scheduler.crawl()[1].sum() for _ in range(400)]
        lost[name] = 1 - np.mean(earned[200:]) / bound
    assert lost["equal"] == pytest.approx(0.0999, abs=1e-3)
    assert lost["spread"] < 0.02


# Rates in single precision, and sources that come from a file a part at a time.


def rounded(sources):
    """Sources whose u*/C and mu T are those that single precision stores."""
    limit = (sources.u_star / sources.cost).astype(np.float32).astype(float)
    decay = sources.decay.astype(np.float32).astype(float)
    return Sources(limit * decay, np.ones(limit.size), decay)


@pytest.mark.parametrize("precision", ["double", "single"])
def test_crawls_equal_published_index(precision):
    sources = many_sources(20_000)
    stored = sources if precision == "double" else rounded(sources)
    age = spread_ages(sources, 200, np.random.default_rng(1))
    scheduler = Scheduler(sources, 200, age, precision=precision)
    for _ in range(40):
        numbers, rewards = scheduler.crawl()
        index = whittle_index_at_age(stored, age)
        np.testing.assert_array_equal(np.sort(numbers), np.sort(np.argsort(-index)[:200]))
        np.testing.assert_allclose(rewards, stored.state_at_age(age)[numbers], rtol=1e-12)
        exact = whittle_index_at_age(sources, age)
        assert exact[numbers].min() > np.sort(exact)[-200] * (1 - 1e-6)
        age += 1
        age[numbers] = 1


@pytest.mark.parametrize(("precision", "size"), [("single", 20), ("double", 28)])
def test_bytes_a_source(precision, size):
    few, many = (Scheduler(many_sources(n), 200, precision=precision) for n in (20_000, 60_000))
    assert (many.nbytes - few.nbytes) / 40_000 == pytest.approx(size, abs=0.1)


@pytest.mark.parametrize(
    ("rate", "decay", "what"),
    [(1e39, 1.0, "u"), (1e-39, 1.0, "u"), (1e-40, 1e-40, "mu T")],
)
def test_unrepresentable_rates_are_refused(rate, decay, what):
    sources = Sources([1.0, rate], [1.0, 1.0], [1.0, decay])
    with pytest.raises(ValueError, match=f"sources must have {what}.* range of float32"):
        Scheduler(sources, 1, precision="single")
    assert len(Scheduler(sources, 1)) == 2


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_file_equals_table(tmp_path, rows):
    rng, count = np.random.default_rng(2), 60
    table = pd.DataFrame(
        {
            "name": [f"source {n}" for n in range(count)],
            "arrival_rate": rng.lognormal(0, 1, count),
            "mean_utility": rng.lognormal(0, 1, count),
            "decay_rate": rng.lognormal(-3, 1, count),
            "cost": rng.choice([1.0, 2.0], count),
            "age": rng.integers(1, 30, count),
            "min_age": rng.integers(0, 4, count),
            "max_age": rng.integers(100, 200, count),
        }
    )
    path = tmp_path / "sources.parquet"
    table.to_parquet(path)
    table.to_csv(tmp_path / "sources.csv", index=False)
    assert Sources.from_parquet(path) == Sources.from_frame(table)
    assert Sources.from_csv(tmp_path / "sources.csv") == Sources.from_frame(table)
    limits = {"min_age": table.min_age, "max_age": table.max_age, "precision": "double"}
    whole = Scheduler(Sources.from_frame(table), 5, table.age, **limits)
    parts = scheduler_from_parquet(path, 5, precision="double", rows=rows)
    for _ in range(40):
        for one, other in zip(whole.crawl(), parts.crawl(), strict=True):
            np.testing.assert_array_equal(np.sort(one), np.sort(other))


def test_file_errors_name_rows(tmp_path):
    path = tmp_path / "sources.parquet"
    rates = {"arrival_rate": [1.0] * 5, "mean_utility": [1.0] * 5}
    pd.DataFrame(rates).to_parquet(path)
    with pytest.raises(ValueError, match=r"sources\.parquet"):
        scheduler_from_parquet(path, 1)
    pd.DataFrame(rates | {"decay_rate": [1.0, 1.0, 1.0, -2.0, 1.0]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"sources.parquet, rows 2 to 3: decay_rate\[1\] must be"):
        scheduler_from_parquet(path, 1, rows=2)
    pd.DataFrame(rates | {"decay_rate": [1.0] * 5}).head(0).to_parquet(path)
    with pytest.raises(ValueError, match="must hold at least one source"):
        scheduler_from_parquet(path, 1)
    path.write_text("news, blog")
    with pytest.raises(ValueError, match=r"sources\.parquet: "):
        scheduler_from_parquet(path, 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": 0}, r"^budget must"),
        ({"budget": 1, "period": -1.0}, r"^period must"),
        ({"budget": 1, "precision": "half"}, "precision"),
        ({"budget": 1, "rows": 0}, r"^rows must"),
    ],
)
def test_argument_errors_name_argument(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        scheduler_from_parquet(tmp_path / "none.parquet", **wrong)
