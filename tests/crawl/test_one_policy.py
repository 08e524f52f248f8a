"""One policy object, and one name, in simulations, on a trace and in a crawl."""

import sys
from types import ModuleType

import numpy as np
import pytest

from analysis.crawl.local.transport import crawl_in_process
from analysis.ephemeral import Arrivals, Sources, compare, simulate, simulate_random
from analysis.ephemeral.policies import POLICIES, named_policy
from analysis.trace.experiment import Experiment
from analysis.trace.trace import WEEK, publications
from tests.crawl.support import some_settings, some_site


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


def test_a_policy_of_ones_own_crawls(monkeypatch):
    module = ModuleType("my_policies")
    module.oldest = lambda sources, budget, seconds: Oldest()
    monkeypatch.setitem(sys.modules, "my_policies", module)
    site = some_site(epochs=8)
    given = some_settings(site, 2, 8) | {"CRAWL_POLICY": "my_policies.oldest"}
    log = crawl_in_process(site, given).store.frame()
    fetched = log["source"].str.extract(r"/feed/(\d+)\.xml")[0].astype(int)
    assert [sorted(g) for _, g in fetched.groupby(log["epoch"])] == np.sort(turns(6, 2, 8)).tolist()
