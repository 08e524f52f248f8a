"""One policy object, and one name, in simulations, on a trace and in a crawl."""

import sys
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from scrapy.settings import Settings

from analysis.crawl.local.transport import crawl_in_process
from analysis.crawl.policies import listing_index
from analysis.crawl.settings import crawl_settings
from analysis.ephemeral import (
    Arrivals,
    LagrangianPolicy,
    Observation,
    Sources,
    compare,
    crawl_price,
    lagrangian_index,
    simulate,
    simulate_random,
)
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.policies import POLICIES, named_policy
from analysis.trace.experiment import Experiment
from analysis.trace.trace import WEEK, publications
from tests.crawl.support import crawl_log, some_settings, some_site


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
