"""The policies of a crawl: what they choose, and what they keep."""

import sys
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from scrapy.settings import Settings

from analysis.crawl import FeedServer, Frontier, IndexPolicy, Outcome, TurnPolicy, policies
from analysis.crawl.frontier.state import FAILED, FORBIDDEN, FOUND, NEVER
from analysis.crawl.local.site import Fault
from analysis.crawl.local.transport import crawl_in_process, crawl_over_http, write_sources
from analysis.crawl.policies import constant_gaps, listing_index
from analysis.crawl.settings import crawl_settings
from analysis.ephemeral import (
    Arrivals,
    LagrangianPolicy,
    Observation,
    Sources,
    WhittlePolicy,
    compare,
    crawl_price,
    four_sources,
    lagrangian_index,
    simulate,
    simulate_random,
    timetable,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.policies import POLICIES, named_policy
from analysis.trace.experiment import Experiment
from analysis.trace.trace import WEEK, publications
from tests.crawl.support import SETS, crawl_log, some_settings, some_site, some_sources


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_index_policy_ranks_by_index(sources):
    """The chosen sources are those of largest index, by a sort in Python."""
    rng = np.random.default_rng(len(sources))
    age = rng.integers(0, 10 ** rng.integers(1, 7, len(sources)))
    seen = Observation(0, age, np.full(len(sources), np.nan))
    value = whittle_index_at_age(sources, age)
    order = sorted(range(len(sources)), key=lambda i: (-value[i], i))
    policy = IndexPolicy(sources)
    for budget in {1, (len(sources) + 1) // 2, len(sources)}:
        assert policy.select(seen, budget).tolist() == sorted(order[:budget])


@pytest.mark.parametrize("trouble", [False, True])
def test_index_policy_equals_sort(trouble):
    sources, rng = some_sources(30), np.random.default_rng(1)
    hosts = list(range(15)) * 2
    both = (policies.index(sources, 4, 1.0), WhittlePolicy(sources))
    crawls = [Frontier(p, hosts, 4, rng=np.random.default_rng(0)) for p in both]
    shares = [0.79, 0.2, 0.01] if trouble else [1, 0, 0]
    for _ in range(150):
        arms = [crawl.choose().tolist() for crawl in crawls]
        assert arms[0] == arms[1]
        for source in arms[0]:
            kind = rng.choice([FOUND, FAILED, FORBIDDEN], p=shares)
            delay = float(source % 3) if trouble else 0.0
            for crawl in crawls:
                crawl.settle(Outcome(source, str(kind), delay=delay))
    assert (FORBIDDEN in crawls[0].kind) == trouble


def test_index_policy_memory_is_bounded():
    """Forty sources, ten of which always fail."""
    policy = IndexPolicy(some_sources(40))
    crawl = Frontier(policy, list(range(40)), 4, rng=np.random.default_rng(0), patience=2)
    for _ in range(400):
        for i in crawl.choose().tolist():
            crawl.settle(Outcome(i, FAILED if i < 10 else FOUND))
    held = [value.size for value in vars(policy).values() if isinstance(value, np.ndarray)]
    assert held == [40]


def test_a_turn_survives_a_restart():
    one, other = TurnPolicy(5), TurnPolicy(5)
    one.record_choice(np.array([3, 1]))
    other.restore(one.state())
    assert other.select(None, 3).tolist() == one.select(None, 3).tolist() == [0, 2, 4]


def test_learners_alone_have_a_longest_age():
    """Thirty days, or eight times as long as a fetch of each source takes."""
    sources = some_sources(4)
    learned = policies.listing_index(sources, 1, 3600.0, 86_400.0)
    assert policies.default_max_age(learned, 60, 1, 3600.0) == 30 * 24
    assert policies.default_max_age(learned, 5_000, 10, 3600.0) == 8 * 500
    assert policies.default_max_age(policies.index(sources, 1, 3600.0), 60, 1, 3600.0) == NEVER


# The timetable: the sources of the epoch, whatever was found.


def test_the_policy_is_the_timetable():
    policy, table = constant_gaps(four_sources(), 2, 3600.0), timetable(four_sources(), 2)
    for epoch in range(20):
        seen = Observation(epoch, np.full(4, 7), np.full(4, np.nan))
        assert policy.select(seen, 2).tolist() == table.crawls(epoch).tolist()
        assert policy.select(seen, 2).size == 2


def due(site, epochs):
    """Source and epoch of each crawl, by the entries of the timetable alone."""
    table = timetable(site.sources, 2)
    rows = zip(table.source.tolist(), table.gap.tolist(), table.phase.tolist(), strict=True)
    return sorted(
        (epoch, source) for source, gap, phase in rows for epoch in range(phase, epochs, gap)
    )


def fetched(folder):
    log = crawl_log(folder)
    return sorted(zip(log["epoch"].tolist(), log["source"].tolist(), strict=True))


def test_local_crawl_follows_timetable(tmp_path):
    epochs = 64
    site = some_site(epochs=epochs)
    settings = some_settings(site, epochs=epochs, policy="constant_gaps")
    crawl_in_process(site, settings, folder=tmp_path)
    assert fetched(tmp_path) == due(site, epochs)
    assert len(due(site, epochs)) > epochs
    log = crawl_log(tmp_path)
    for source in range(6):  # and every item that appeared by the last fetch is found
        mine = log[log["source"] == source]
        last = mine["epoch"].max() * site.seconds
        assert mine["items"].sum() == (np.floor(site.published[source]) <= last).sum()


def test_failed_source_shifts_no_other(tmp_path):
    """The clock is all the state: after the failures its epochs are those of the timetable."""
    epochs, down = 64, 20
    faults = np.zeros((6, epochs), dtype=int)
    faults[0, :down] = Fault.SILENCE
    site = some_site(epochs=epochs, faults=faults)
    settings = some_settings(site, epochs=epochs, policy="constant_gaps")
    crawl_in_process(site, settings, folder=tmp_path)
    others = [row for row in fetched(tmp_path) if row[1] != 0]
    assert others == [row for row in due(site, epochs) if row[1] != 0]
    mine = [row for row in fetched(tmp_path) if row[1] == 0]
    assert set(mine) <= set(due(site, epochs))
    assert mine[-3:] == [row for row in due(site, epochs) if row[1] == 0][-3:]


@pytest.mark.sampled
@pytest.mark.process
def test_http_crawl_follows_timetable(tmp_path):
    site = some_site(epochs=16)
    with FeedServer(site) as server:
        write_sources(tmp_path / "sources.csv", site.sources, server.urls())
        settings = some_settings(site, epochs=16, policy="constant_gaps") | {
            "CRAWL_SOURCES": str(tmp_path / "sources.csv"), "JOBDIR": str(tmp_path / "state"),
        }  # fmt: skip
        crawl_over_http([settings])
    assert fetched(tmp_path / "state") == due(site, 16)


# One policy object, and one name, in simulations, on a trace and in a crawl.


class Oldest:
    """A reader's own policy: the sources of largest age, the later one first among equals."""

    def select(self, observation, budget, rng=None):
        age = observation.age
        return np.sort(np.lexsort((-np.arange(age.size), -age))[:budget])


def turns(size, budget, horizon):
    """Crawls of `Oldest` from equal ages: (horizon, budget)."""
    return (size - 1 - np.arange(horizon * budget) % size).reshape(horizon, budget)


def sources(size=6):
    return Sources(np.linspace(1, 2, size), np.ones(size), np.full(size, 0.3))


def test_own_policy_in_simulations():
    run = simulate(sources(), Oldest(), 2, 9, initial_state="fresh")
    assert [np.flatnonzero(c).tolist() for c in run.crawled.T] == np.sort(turns(6, 2, 9)).tolist()
    rng = np.random.default_rng(0)
    content = Arrivals(sources()).sample(9, rng)
    other = simulate_random(sources(), Oldest(), 2, content)
    assert other.average_reward > 0
    found = compare(Arrivals(sources()), {"own": Oldest(), "index": "whittle"}, 2, 20, 4, rng)
    assert sorted(found.rewards) == ["index", "own"]


def test_own_policy_on_trace():
    trial = Experiment(publications("upload"), 0, 8 * WEEK, 9 * WEEK, half_life=24.0, budget=1)
    visits = trial.visits(Oldest())
    size, horizon = len(trial.trace), visits.horizon
    order = np.argsort(visits.epoch, kind="stable")
    assert visits.arm[order].tolist() == turns(size, 1, horizon).ravel().tolist()
    assert trial.by_age(Oldest()).weeks.sum() > 0


@pytest.mark.parametrize("name", POLICIES)
def test_policy_name_on_trace(name):
    trial = Experiment(publications("upload"), 0, 8 * WEEK, 9 * WEEK, half_life=24.0, budget=1)
    one = trial.visits(name)
    other = trial.visits(named_policy(name, trial.sources(trial.trained)))
    assert one.arm.tolist() == other.arm.tolist()
    assert one.epoch.tolist() == other.epoch.tolist()


@pytest.mark.parametrize("name", POLICIES)
def test_policy_name_in_crawl(name):
    site = some_site(epochs=8)
    crawl = crawl_in_process(site, some_settings(site, 2, 8) | {"CRAWL_POLICY": name})
    assert len(crawl.store.frame()) == 16
    if name == "whittle":
        index = crawl_in_process(site, some_settings(site, 2, 8, "index"))
        assert crawl.store.frame().equals(index.store.frame())


class ByAdvantage:
    """The Lagrangian index policy by its definition, at one price."""

    def __init__(self, sources, budget):
        self.sources, self.price = sources, crawl_price(sources, budget)

    def select(self, observation, budget, rng=None):
        index = lagrangian_index(self.sources, observation.age, self.price)
        return np.sort(np.argsort(-index, kind="stable")[:budget])


@pytest.mark.parametrize("budget", [1, 3, 11])
def test_lagrangian_crawl_ranks_at_one_price(budget, monkeypatch):
    """Whatever number of sources is asked for: hosts that limit fetches make it differ."""
    module = ModuleType("my_policies")
    module.by_advantage = lambda sources, budget, seconds: ByAdvantage(sources, budget)
    monkeypatch.setitem(sys.modules, "my_policies", module)
    site = some_site(size=12, epochs=25)
    logs = []
    for policy in ("lagrangian", "my_policies.by_advantage"):
        given = some_settings(site, budget, 25) | {"CRAWL_POLICY": policy}
        logs.append(crawl_in_process(site, given).store.frame())
    assert len(logs[0]) == 25 * budget
    assert logs[0].equals(logs[1])


def test_lagrangian_crawl_has_an_order():
    """A crawl takes the choices for 1, 2, 3, ... sources as an order of preference."""
    settings = crawl_settings(Settings({"CRAWL_BUDGET": 4, "CRAWL_POLICY": "lagrangian"}))
    nested = 0
    for seed in (3, 36):
        some, age = random_sources(12, seed), np.random.default_rng(seed).integers(1, 40, 12)
        seen = Observation(0, age, np.full(12, np.nan))
        policy, own = settings.policy(some, 4, 3600.0), ByAdvantage(some, 4)
        for count in range(1, 13):
            assert policy.select(seen, count).tolist() == own.select(seen, count).tolist()
        # At a price of its own for each number there is no order on the second of the two.
        priced = [set(LagrangianPolicy(some).select(seen, n).tolist()) for n in range(1, 13)]
        nested += all(fewer < more for fewer, more in pairwise(priced))
    assert nested < 2


class LearnedAdvantage:
    """The Lagrangian index policy by its definition, at the price of what was learned so far."""

    def __init__(self, sources, budget, seconds, half_life):
        self.learner, self.budget = listing_index(sources, budget, seconds, half_life), budget
        self.fetched, self.prices = np.zeros(len(sources), dtype=bool), []

    def observe(self, outcomes):
        self.learner.observe(outcomes)
        self.fetched[[outcome.source for outcome in outcomes]] = True

    def select(self, observation, budget, rng=None):
        whittle, some = self.learner.index(observation.age), self.learner.estimates
        rank = np.full(len(some), np.inf)
        if self.fetched.any():
            rows = (some.arrival_rate, some.mean_utility, some.decay_rate)
            known = Sources(*(row[self.fetched] for row in rows))
            self.prices.append(crawl_price(known, min(self.budget, len(known))))
            rank = lagrangian_index(some, observation.age, self.prices[-1])
        rank = np.where(np.isfinite(whittle), rank, np.inf)
        return np.sort(np.argsort(-rank, kind="stable")[:budget])


@pytest.mark.sampled
@pytest.mark.parametrize("budget", [1, 4, 12])
def test_learned_lagrangian_crawl_ranks_at_learned_price(budget, monkeypatch):
    """The price follows the rates; on some epochs the order is not that of Whittle's index."""
    module, made = ModuleType("my_policies"), []

    def by_advantage(sources, budget, seconds, half_life):
        made.append(LearnedAdvantage(sources, budget, seconds, half_life))
        return made[-1]

    module.by_advantage = by_advantage
    monkeypatch.setitem(sys.modules, "my_policies", module)
    site = some_site(size=12, epochs=60)
    own = "analysis.crawl.policies."
    logs = {}
    for policy in (own + "listing_lagrangian", "my_policies.by_advantage", own + "listing_index"):
        given = some_settings(site, budget, 60) | {"CRAWL_POLICY": policy}
        crawl = crawl_in_process(site, given | {"CRAWL_HALF_LIFE": 2 * site.seconds})
        logs[policy] = crawl.store.frame()
        if policy.endswith("lagrangian"):
            last = crawl.frontier.policy.price
    first, second, whittle = logs.values()
    assert len(first) == 60 * budget
    assert first.equals(second)
    assert first.equals(whittle) == (budget == 12)
    prices = made[0].prices
    assert last == pytest.approx(prices[-1])
    assert np.ptp(prices[len(prices) // 2 :]) > 0.01 * last


def test_learned_lagrangian_crawl_survives_restart(tmp_path):
    """The price is solved for again; a crawl that ranked by another index passes on its rates."""
    site = some_site(size=12, epochs=40)
    given = some_settings(site, 3, 40, "listing_lagrangian", CRAWL_HALF_LIFE=2 * site.seconds)
    whole = crawl_in_process(site, given).store.frame()
    for epochs in (1, 17, 40):
        crawl = crawl_in_process(site, given | {"CRAWL_EPOCHS": epochs}, folder=tmp_path / "one")
    assert crawl_log(tmp_path / "one")["source"].tolist() == numbers(whole)
    other = some_settings(site, 3, 39, "listing_index", CRAWL_HALF_LIFE=2 * site.seconds)
    learner = crawl_in_process(site, other, folder=tmp_path / "two").frontier.policy
    crawl = crawl_in_process(site, given, folder=tmp_path / "two")
    assert crawl.frontier.epoch == 40
    assert crawl.frontier.policy.price > 0
    assert crawl.frontier.policy.rate == pytest.approx(learner.rate, rel=0.5)


def numbers(log):
    """The number of the source of each fetch."""
    return log["source"].str.extract(r"/feed/(\d+)\.xml")[0].astype(int).tolist()


def test_a_policy_of_ones_own_crawls(monkeypatch):
    module = ModuleType("my_policies")
    module.oldest = lambda sources, budget, seconds: Oldest()
    monkeypatch.setitem(sys.modules, "my_policies", module)
    site = some_site(epochs=8)
    given = some_settings(site, 2, 8) | {"CRAWL_POLICY": "my_policies.oldest"}
    log = crawl_in_process(site, given).store.frame()
    fetched = log.assign(number=numbers(log)).groupby("epoch")["number"]
    assert [sorted(g) for _, g in fetched] == np.sort(turns(6, 2, 8)).tolist()
