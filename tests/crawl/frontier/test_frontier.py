"""Ages, failures, politeness and budgets, without any transport."""

import re
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.crawl import Frontier, IndexPolicy, ListingIndex, Outcome, TurnPolicy, read_feed
from analysis.crawl.frontier.state import DAY, FAILED, FORBIDDEN, FOUND, GONE, NEVER
from analysis.crawl.policies import index, round_robin
from analysis.ephemeral import (
    RoundRobinPolicy,
    Sources,
    WhittlePolicy,
    simulate,
    whittle_index_at_age,
)
from analysis.ephemeral.policies import SingleSourcePolicy
from analysis.learning import CertaintyEquivalence, ItemSums
from analysis.learning.certainty_equivalence import CertaintyEquivalenceOptions
from scorecard.files import ROOT
from tests.crawl.support import SETS, some_site, some_sources


def frontier(policy=None, hosts=range(4), budget=1, **options):
    policy = policy or RoundRobinPolicy()
    return Frontier(policy, list(hosts), budget, rng=np.random.default_rng(0), **options)


def run(crawl, epochs, kind=lambda epoch, source: FOUND, delay=0.0):
    """Let epochs pass; return the sources of each."""
    fetched = []
    for _ in range(epochs):
        epoch = crawl.epoch
        arms = crawl.choose().tolist()
        fetched.append(arms)
        for source in arms:
            crawl.settle(Outcome(source, kind(epoch, source), delay=delay))
    return fetched


def test_frontier_equals_simulation():
    sources = some_sources(7)
    policy = WhittlePolicy(sources)
    fetched = run(frontier(policy, range(7), 2), 60)
    crawled = simulate(sources, policy, 2, 60, initial_state="fresh").crawled
    assert fetched == [np.flatnonzero(column).tolist() for column in crawled.T]


def test_documented_loop_crawls_site():
    text = (ROOT / "book" / "crawl" / "crawler.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(frontier = .*?)```", text, re.DOTALL)
    site = some_site(5)
    names = {
        "Frontier": Frontier,
        "Outcome": Outcome,
        "read_feed": read_feed,
        "site": site,
        "policy": WhittlePolicy(site.sources),
        "size": 5,
        "budget": 2,
        "epochs": 15,
        "rng": np.random.default_rng(0),
    }
    exec(block, names)
    crawled = simulate(site.sources, "whittle", 2, 15, initial_state="fresh").crawled
    ages = [15 - np.flatnonzero(row).max() for row in crawled]
    assert names["frontier"].age.tolist() == ages


def test_failed_source_backs_off():
    crawl = frontier(SingleSourcePolicy(0), range(1), patience=4)
    fetched = run(crawl, 16, lambda epoch, source: FAILED)
    assert np.flatnonzero([len(arms) for arms in fetched]).tolist() == [0, 1, 3, 7, 11, 15]
    assert crawl.age.tolist() == [17]


def test_a_success_ends_the_waiting():
    crawl = frontier(SingleSourcePolicy(0), range(1))
    fetched = run(crawl, 8, lambda epoch, source: FAILED if epoch < 3 else FOUND)
    assert [len(arms) for arms in fetched] == [1, 1, 0, 1, 1, 1, 1, 1]
    assert (crawl.failures[0], crawl.age[0]) == (0, 1)


def test_failed_fetch_teaches_nothing():
    taught = []

    class Taught(TurnPolicy):
        def update(self, arms, rewards):
            taught.extend(arms.tolist())

    policy = Taught(4)
    fetched = run(frontier(policy, budget=2), 2, lambda epoch, source: (FAILED, FOUND)[source % 2])
    assert fetched == [[0, 1], [2, 3]]  # the turn goes on; 0 is met again when it comes round
    assert taught == [1, 3]


def test_forbidden_source_is_replaced():
    crawl = frontier(budget=2)
    fetched = run(crawl, 6, lambda epoch, source: FORBIDDEN if source == 1 else FOUND)
    assert sum(arms.count(1) for arms in fetched) == 1
    assert all(len(arms) == 2 for arms in fetched)


def test_forbidden_source_is_retried():
    crawl = frontier(budget=4, seconds=DAY / 2)
    fetched = run(crawl, 12, lambda epoch, source: FORBIDDEN if source == 1 else FOUND)
    fetched_at = [epoch for epoch, arms in enumerate(fetched) if 1 in arms]
    assert fetched_at == [0, 2, 4, 8]  # a day at least, and longer each time


def test_gone_source_waits_for_person():
    crawl = frontier(budget=4)
    fetched = run(crawl, 200, lambda epoch, source: GONE if source == 2 else FOUND)
    assert [epoch for epoch, arms in enumerate(fetched) if 2 in arms] == [0]
    crawl.revive(2)
    assert 2 in run(crawl, 1)[0]


def test_learner_skips_forbidden_source():
    crawl = frontier(CertaintyEquivalence(4), budget=2)
    fetched = run(crawl, 30, lambda epoch, source: FORBIDDEN if source == 1 else FOUND)
    assert all(len(arms) == 2 for arms in fetched)


@pytest.mark.parametrize(("delay", "gap"), [(3.0, 3), (2.5, 3), (1.0, 1)])
def test_crawl_delay_is_minimal_age(delay, gap):
    """Host 0 has two sources; T = 1."""
    fetched = run(frontier(hosts=[0, 0, 1], budget=3), 30, delay=delay)
    times = [epoch for epoch, arms in enumerate(fetched) if set(arms) & {0, 1}]
    assert set(np.diff(times)) == {gap}
    assert all(len(set(arms) & {0, 1}) <= 1 for arms in fetched)
    assert {0, 1} <= {arm for arms in fetched for arm in arms}  # both have their turn


def test_short_delay_bounds_host():
    fetched = run(frontier(hosts=[0] * 4, budget=4), 10, delay=0.4)
    assert len(fetched[0]) == 1  # the rules are not known yet
    assert {len(arms) for arms in fetched[1:]} == {2}


def test_restored_crawl_is_unchanged():
    def fresh():
        return frontier(CertaintyEquivalence(5), range(5), 2)

    def kind(epoch, source):
        return FAILED if (epoch + source) % 7 == 0 else FOUND

    one, other = fresh(), fresh()
    run(one, 20, kind)
    other.restore(one.state())
    assert run(other, 20, kind) == run(one, 20, kind)
    assert one.state() == other.state()


def test_foreign_state_is_refused():
    state = frontier().state()
    with pytest.raises(ValueError, match="CertaintyEquivalence"):
        frontier(CertaintyEquivalence(4)).restore(state)
    learned = frontier(CertaintyEquivalence(4)).state()
    with pytest.raises(ValueError, match="CRAWL_PERIOD"):
        frontier(CertaintyEquivalence(4), seconds=2.0).restore(learned)
    with pytest.raises(ValueError, match=r"state\(\) and restore\(\)"):
        frontier(Learner()).state()


@given(
    old=st.sampled_from([60.0, 900.0, 3600.0]),
    new=st.sampled_from([60.0, 300.0, 3600.0, 40_000.0]),
    seed=st.integers(0, 50),
)
@settings(max_examples=40, deadline=None)
def test_other_epochs_keep_seconds(old, new, seed):
    """Rates in seconds are the same; times are, up to an epoch, and rests are no shorter."""
    rng = np.random.default_rng(seed)
    crawl = frontier(ListingIndex(6, 86_400 / old, old), range(6), 2, seconds=old)
    for _ in range(int(rng.integers(1, 30))):
        for source in crawl.choose().tolist():
            ages = tuple(np.sort(rng.uniform(0, 1e5, 5)))
            kind = FAILED if rng.random() < 0.3 else FOUND
            rest = float(rng.choice([0.0, 5000.0, 90_000.0]))
            crawl.settle(Outcome(source, kind, items=3, ages=ages, rest=rest, delay=rest / 10))
    other = frontier(ListingIndex(6, 86_400 / new, new), range(6), 2, seconds=new)
    other.restore(crawl.state())
    assert other.epoch == crawl.epoch
    assert other.kind == crawl.kind
    before = (crawl.age - 1) * old  # seconds from the last fetch to the last epoch
    assert ((other.age - 1) * new == pytest.approx(before, abs=new / 2)) or old == new
    rest = (crawl.rest_until - crawl.epoch + 1) * old  # from the beginning of the last epoch
    rests = (other.rest_until - other.epoch + 1) * new
    waiting = crawl.rest_until > crawl.epoch
    assert (rests[waiting] >= rest[waiting] - 1e-6).all()
    assert (rests[waiting] < rest[waiting] + new).all()
    assert other.policy.rate / new == pytest.approx(crawl.policy.rate / old, rel=1e-9)


class Learner:
    """Wants the source of smallest number and keeps nothing."""

    def select(self, observation, budget, rng):
        return np.arange(budget)

    def update(self, arms, rewards):
        pass


def test_source_is_settled_once():
    crawl = frontier(budget=2)
    crawl.choose()
    with pytest.raises(ValueError, match=r"one of \[0, 1\] in epoch 0, got 3"):
        crawl.settle(Outcome(3, FOUND))
    crawl.settle(Outcome(0, FOUND))
    with pytest.raises(ValueError, match="got 0"):
        crawl.settle(Outcome(0, FOUND))
    for call in (crawl.choose, crawl.state, lambda: crawl.skip(1)):
        with pytest.raises(RuntimeError, match="not over"):
            call()


def test_skipped_epochs_count_in_the_ages():
    crawl = frontier()
    crawl.skip(5)
    assert (crawl.epoch, crawl.age.tolist()) == (5, [6] * 4)


@settings(max_examples=25)
@given(st.data())
def test_budget_and_rests_are_kept(data):
    size = data.draw(st.integers(1, 8))
    hosts = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    budget = data.draw(st.integers(1, size))
    crawl = frontier(WhittlePolicy(some_sources(size)), hosts, budget)
    delays = data.draw(st.lists(st.sampled_from([0.0, 0.5, 3.0]), min_size=3, max_size=3))
    last = {}
    for epoch in range(15):
        arms = crawl.choose().tolist()
        assert len(set(arms)) == len(arms) <= budget
        for source in arms:
            if source in last:
                assert epoch - last[source] >= max(1, delays[hosts[source]])
            last[source] = epoch
            kind = data.draw(st.sampled_from([FOUND, FAILED]))
            crawl.settle(Outcome(source, kind, delay=delays[hosts[source]]))


@pytest.mark.parametrize("policy", [RoundRobinPolicy(), round_robin(some_sources(40), 4, 1.0)])
@pytest.mark.parametrize("kind", [FORBIDDEN, FAILED, GONE])
def test_trouble_does_not_spread(policy, kind):
    crawl = frontier(policy, range(40), 4)
    fetched = run(crawl, 300, lambda epoch, source: kind if source == 7 else FOUND)
    counts = np.bincount(list(chain(*fetched)), minlength=40)
    others = np.delete(counts, 7)
    assert 0 < counts[7] < others.min()
    assert np.ptp(others) <= 1
    assert counts.sum() == 1200


def test_host_sources_take_turns():
    """Eight sources on four hosts, a delay of two epochs: four fetches in two epochs."""
    fetched = run(frontier(hosts=[0, 1, 2, 3] * 2, budget=4), 240, delay=2.0)
    counts = np.bincount(list(chain(*fetched)), minlength=8)
    assert np.ptp(counts) <= 1
    fetched = run(frontier(hosts=[0, 0, 0, 1, 1, 1], budget=3), 120, delay=1.0)
    counts = np.bincount(list(chain(*fetched)), minlength=6)
    assert np.ptp(counts) <= 1
    assert counts.sum() == 240


@pytest.mark.parametrize(("size", "budget"), [(7, 3), (40, 4), (5, 5), (1, 1)])
def test_round_robin_equals_model(size, budget):
    sources = some_sources(size)
    crawled = simulate(sources, "round-robin", budget, 50, initial_state="fresh").crawled
    fetched = run(frontier(RoundRobinPolicy(), range(size), budget), 50)
    assert fetched == [np.flatnonzero(column).tolist() for column in crawled.T]


def earned(sources, hosts, budget, delays, epochs=200, policy=index):
    """Mean reward of the deterministic model in a crawl whose hosts ask for delays (T = 1)."""
    crawl = frontier(policy(sources, budget, 1.0), hosts, budget)
    found = 0.0
    for _ in range(epochs):
        ages = crawl.age.copy()
        for i in crawl.choose().tolist():
            reward = float(sources.state_at_age(ages)[i])
            found += reward
            crawl.settle(Outcome(i, FOUND, reward=reward, delay=float(delays[hosts[i]])))
    return found / epochs


def best_by_host(sources, hosts, budget, delays, epochs=200):
    """The same for a crawl that ranks all sources anew for each place, written down anew."""
    age, free, found = np.ones(len(sources), dtype=int), np.zeros(len(delays)), 0.0
    known = np.zeros(len(delays), dtype=bool)
    for epoch in range(epochs):
        value = whittle_index_at_age(sources, age)
        room = np.where(known & (delays > 0) & (delays <= 1), 1 // np.maximum(delays, 1e-9), 1)
        room[known & (delays == 0)] = len(sources)
        room[free > epoch] = 0
        taken = []
        for _ in range(budget):
            open_ = [i for i in range(len(sources)) if room[hosts[i]] > 0 and i not in taken]
            if not open_:
                break
            taken.append(max(open_, key=lambda i: (value[i], -i)))
            room[hosts[taken[-1]]] -= 1
        found += float(sources.state_at_age(age)[taken].sum())
        for i in taken:
            free[hosts[i]], known[hosts[i]] = epoch + max(np.ceil(delays[hosts[i]]), 1), True
        age[taken] = 0
        age += 1
    return found / epochs


@pytest.mark.parametrize(
    ("hosts", "delay", "budget"), [(1, 1.0, 4), (3, 2.5, 2), (5, 0.3, 30), (7, 0.0, 6)]
)
@pytest.mark.parametrize("name", ["rates over ten decades", "equal sources", "near-ties"])
def test_frontier_ranks_what_hosts_allow(name, hosts, delay, budget):
    """Each place goes to the largest index that may be fetched: ranked anew for every place."""
    sources = SETS[name]
    size = len(sources)
    where = np.arange(size) % hosts
    crawl = frontier(IndexPolicy(sources), where, budget)
    free, known = np.zeros(hosts), np.zeros(hosts, dtype=bool)
    for epoch in range(12):
        value = whittle_index_at_age(sources, crawl.age)
        room = np.where(known & (delay < 1), np.inf if delay == 0 else 1 // max(delay, 1e-9), 1)
        room[free > epoch] = 0
        taken = []
        for i in sorted(range(size), key=lambda i: (-value[i], i)):
            if len(taken) < budget and room[where[i]] > 0:
                taken.append(i)
                room[where[i]] -= 1
        assert crawl.choose().tolist() == sorted(taken), epoch
        for i in taken:
            crawl.settle(Outcome(i, "found", delay=delay))
            free[where[i]], known[where[i]] = epoch + max(np.ceil(delay), 1), True


def some_world(seed):
    """Feeds of lognormal rates on hosts with crawl delays from none to several epochs."""
    rng = np.random.default_rng([seed, 50])
    size, hosts = int(rng.integers(8, 25)), int(rng.integers(1, 6))
    sources = Sources(
        rng.lognormal(0, 1, size), rng.uniform(0.2, 2, size), rng.uniform(0.05, 1, size)
    )
    delays = rng.choice([0.0, 0.4, 1.0, 2.0, 3.0], hosts)
    return sources, rng.integers(0, hosts, size).tolist(), int(rng.integers(1, 7)), delays


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(50))
def test_crawl_delays_allow_best_choice(seed):
    sources, hosts, budget, delays = some_world(seed)
    hosts = np.unique(hosts, return_inverse=True)[1].tolist()
    best = best_by_host(sources, hosts, budget, delays, epochs=80)
    got = earned(sources, hosts, budget, delays, epochs=80)
    assert got == pytest.approx(best, rel=0.01)
    more = min(budget + 1, len(sources))
    assert earned(sources, hosts, more, delays, epochs=80) >= got * (1 - 1e-9)


def test_random_policy_keeps_its_draws():
    """All want places on one host: whoever the draw put first gets the one that there is."""

    class Shuffled:
        def select(self, observation, budget, rng):
            return rng.permutation(observation.age.size)[:budget]

    crawl = frontier(Shuffled(), hosts=[0] * 6, budget=4)
    got = [arms[0] for arms in run(crawl, 60, delay=1.0)]
    rng = np.random.default_rng(0)
    assert got == [rng.permutation(6)[0] for _ in range(60)]


def test_small_selection_is_kept():
    class Two:
        def select(self, observation, budget, rng):
            return np.array([1, 3])[:budget]

    assert run(frontier(Two(), range(9), 5), 3) == [[1, 3]] * 3


def test_long_rest_is_saved():
    crawl = frontier(hosts=range(1), seconds=1e-12, longest=1e12)
    crawl.skip(3)
    crawl.choose()
    crawl.settle(Outcome(0, FAILED, rest=1e12))
    assert crawl.rest_until[0] == 3 + NEVER // 2
    frontier(hosts=range(1), seconds=1e-12).restore(crawl.state())


@pytest.mark.parametrize("delay", [1e300, 1e20, 8 * DAY])
def test_excessive_delay_is_capped(delay):
    crawl = frontier(hosts=[0, 1], budget=2, seconds=DAY)
    fetched = run(crawl, 16, delay=0.0)
    crawl.choose()
    crawl.settle(Outcome(0, FOUND, delay=delay))
    crawl.settle(Outcome(1, FAILED, delay=0.0, rest=delay))
    assert crawl.epoch == 17
    fetched = run(crawl, 16)
    assert next(epoch for epoch, arms in enumerate(fetched) if 0 in arms) == 6  # seven days
    assert next(epoch for epoch, arms in enumerate(fetched) if 1 in arms) == 6


@pytest.mark.parametrize(
    ("field", "value"),
    [("reward", np.inf), ("reward", -1.0), ("delay", np.nan), ("rest", -1.0), ("host_rest", 1j)],
)
def test_impossible_outcome_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        Outcome(0, FOUND, **{field: value})


def test_raising_policy_changes_nothing():
    class Angry(TurnPolicy):
        angry = True

        def update(self, arms, rewards):
            if self.angry:
                raise ZeroDivisionError

    policy = Angry(4)
    crawl = frontier(policy, budget=2)
    crawl.choose()
    crawl.settle(Outcome(0, FOUND))
    with pytest.raises(ZeroDivisionError):
        crawl.settle(Outcome(1, FOUND))
    assert (crawl.epoch, crawl.is_open, len(crawl.outcomes)) == (0, True, 1)
    policy.angry = False
    crawl.settle(Outcome(1, FOUND))
    assert (crawl.epoch, crawl.age.tolist()) == (1, [1, 1, 2, 2])


def test_late_fetch_counts_when_done():
    crawl = frontier(CertaintyEquivalence(4), budget=2)
    late, other = crawl.choose().tolist()
    crawl.settle(Outcome(other, FOUND, reward=1.0))
    crawl.close()
    assert (crawl.epoch, crawl.late, crawl.is_open) == (1, {late}, False)
    arms = crawl.choose().tolist()
    assert late not in arms
    crawl.settle(Outcome(late, FOUND, reward=2.0, memory="late"))
    for source in arms:
        crawl.settle(Outcome(source, FOUND))
    assert [outcome.source for outcome in crawl.outcomes] == sorted([late, *arms])
    assert (crawl.memory[late], crawl.age[late]) == ("late", 1)
    with pytest.raises(ValueError, match="got"):
        crawl.settle(Outcome(late, FOUND))


def test_fetch_between_epochs_counts():
    crawl = frontier(budget=2)
    crawl.choose()
    crawl.close()
    crawl.settle(Outcome(0, FOUND, memory="between"))
    crawl.settle(Outcome(1, FAILED))
    assert (crawl.memory[0], crawl.failures[1], crawl.late) == ("between", 1, frozenset())
    assert crawl.choose().tolist() == [2, 3]


def test_minimal_and_maximal_ages():
    """Feed 0 is worth everything and may be fetched every third epoch, feed 5 comes every tenth."""
    sources = Sources([9.0, 1, 1, 1, 1, 0.0], np.ones(6), np.full(6, 0.1))
    least, most = [3, 0, 0, 0, 0, 0], [99, 99, 99, 99, 99, 10]
    crawl = frontier(WhittlePolicy(sources), range(6), 1, min_age=least, max_age=most)
    fetched = run(crawl, 200)
    times = [np.flatnonzero([i in arms for arms in fetched]) for i in (0, 5)]
    assert np.diff(times[0]).min() == 3
    assert np.diff(times[1]).max() == np.diff(times[1]).min() == 10
    with pytest.raises(ValueError, match="max_age"):
        frontier(min_age=3, max_age=2)


def named(names, policy=None, **options):
    """A crawl by a policy that learns; draws and floors would break ties by row."""
    settings = CertaintyEquivalenceOptions(exploration="gain", floor=0.0)
    policy = policy or CertaintyEquivalence(len(names), settings)
    return frontier(policy, names, min(2, len(names)), names=names, **options)


def test_a_reordered_list_changes_nothing():
    """The state belongs to names, so that a crawl goes on in another order of its sources."""
    names = list("abcdef")
    sources = some_sources(6)

    def crawl_on(crawl, order, epochs, found=()):
        found = list(found)
        for _ in range(epochs):
            ages = crawl.age.copy()
            arms = crawl.choose().tolist()
            found.append(sorted(order[i] for i in arms))
            for i in arms:
                worth = float(sources.state_at_age(ages.max())[names.index(order[i])] * ages[i])
                crawl.settle(Outcome(i, FOUND, reward=worth, memory=order[i] + str(ages[i])))
        return found

    one = named(names)
    crawl_on(one, names, 25)
    turned = names[::-1]
    other = named(turned)
    other.restore(one.state())
    assert crawl_on(other, turned, 40) == crawl_on(one, names, 40)
    assert other.state().sources == one.state().sources


def test_returning_source_keeps_its_age():
    first = named(["a", "b", "c"])
    run(first, 7)
    memories = {}
    for i, name in enumerate(first.names):
        first.memory[i] = memories[name] = f"of {name}"
    second = named(["d", "c"])
    second.restore(first.state())
    assert second.memory == ["", "of c"]
    assert (second.age.tolist(), second.epoch) == ([1, first.age[2]], 7)
    assert np.isnan(second.policy.u_star[0])
    assert second.policy.u_star[1] == first.policy.u_star[2]
    run(second, 3)
    third = named(["b", "a", "d"])
    third.restore(second.state())
    assert third.memory[:2] == ["of b", "of a"]
    assert third.age[:2].tolist() == [first.age[1] + 3, first.age[0] + 3]
    assert third.policy.u_star[:2].tolist() == first.policy.u_star[[1, 0]].tolist()
    with pytest.raises(ValueError, match="names"):
        named(["a", "a"])


class RecordingLearner:
    """A learner that records its observations."""

    def __init__(self, sees_items):
        self.sees_items, self.observed = sees_items, []

    def select(self, observation, budget, rng):
        return np.arange(budget)

    def update(self, arms, rewards):
        items = isinstance(rewards, ItemSums)
        values = (rewards.worth, rewards.aged) if items else (rewards,)
        self.observed.append((arms.tolist(), *(value.tolist() for value in values)))

    def state(self):
        return {}

    def restore(self, state):
        pass


@pytest.mark.parametrize("sees_items", [True, False])
def test_learner_observes_plausible_ages(sees_items):
    """Source 1 has no dates, and the items of source 2 are older than its age."""
    policy = RecordingLearner(sees_items)
    crawl = Frontier(policy, range(4), 4, rng=np.random.default_rng(0), seconds=10.0)
    crawl.choose()
    for source, aged in enumerate((5.0, None, 31.0, 0.0)):
        worth = 0.0 if source == 3 else 2.0
        crawl.settle(Outcome(source, FOUND, reward=worth, aged=aged))
    if sees_items:
        assert policy.observed == [([0, 3], [2.0, 0.0], [0.5, 0.0]), ([1, 2], [2.0, 2.0])]
    else:
        assert policy.observed == [([0, 1, 2, 3], [2.0, 2.0, 2.0, 0.0])]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_refusals_are_counted_by_epoch(order):
    """Whatever the order in which its sources answer; the count goes on from a state."""
    crawl = frontier(hosts=[0, 0, 1, 1], budget=4)
    run(crawl, 1)  # from now on both sources of a host may be fetched in an epoch
    counts = []
    for statuses in ((429, 200), (503, 503), (200, 429), (500, 0), (429, 429)):
        chosen = crawl.choose().tolist()
        by_source = dict(zip((0, 1), statuses, strict=True))
        for source in sorted(chosen, key=lambda i: order[i % 2]):
            kind = FOUND if by_source.get(source, 200) == 200 else FAILED
            crawl.settle(Outcome(source, kind, by_source.get(source, 200), delay=0.0))
        counts.append((crawl.refusals("0"), crawl.refusals("1")))
        crawl.skip(200)
    assert [count for count, _ in counts] == [1, 2, 3, 0, 1]
    assert {count for _, count in counts} == {0}
    other = frontier(hosts=[0, 0, 1, 1], budget=4)
    other.restore(crawl.state())
    assert other.refusals("0") == 1
    part = frontier(hosts=[0, 0, 1, 1], budget=4)
    part.import_state({}, crawl.state().hosts)
    assert part.refusals("0") == 1
