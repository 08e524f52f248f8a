"""Fetches with pings: what honest hubs earn, what liars cost, and what is kept."""

import json

import numpy as np
import pytest

from analysis.crawl import Frontier, IndexPolicy, Outcome
from analysis.crawl.frontier.pinged import PingedOrder
from analysis.crawl.frontier.trust import Trust
from analysis.crawl.policies import ListingIndex
from analysis.ephemeral import Observation, Sources
from analysis.results import Estimate

HOUR = 3600.0
HONEST, LIAR, DEAD, SPAM, NONE = range(5)


class World:
    """Items of feeds and pings about them, hour by hour; some hubs lie.

    An honest hub announces nine items in ten. A liar pings its feeds at random; the dead hub is
    honest until it falls silent. Spam sources have no items and ping twice an hour.
    """

    def __init__(self, kinds, hours, seed, dies=None, lies=0.2, budget=1):
        rng = np.random.default_rng([seed, 7])
        self.kinds, self.hours, self.budget = np.asarray(kinds), hours, budget
        size = self.kinds.size
        self.rate = np.exp(rng.uniform(np.log(0.001), np.log(0.03), size))
        self.rate[self.kinds == SPAM] = 1e-6
        self.decay = np.full(size, np.log(2) / 24)
        self.items, self.pings = [], []
        for i, kind in enumerate(self.kinds.tolist()):
            times = np.sort(rng.uniform(0, hours, rng.poisson(self.rate[i] * hours)))
            worth = rng.standard_exponential(times.size)
            announced = rng.random(times.size) < 0.9
            false = np.sort(rng.uniform(0, hours, rng.poisson(lies * hours)))
            if kind == HONEST:
                pings = times[announced]
            elif kind == DEAD:
                pings = times[announced & (times < (hours / 4 if dies is None else dies))]
            elif kind == LIAR:
                pings = false
            elif kind == SPAM:
                pings = np.sort(rng.uniform(0, hours, rng.poisson(2 * hours)))
            else:
                pings = np.empty(0)
            self.items.append((times, worth))
            self.pings += [(float(t), i, f"hub {min(kind, SPAM)}") for t in pings]
        self.pings.sort()

    def crawl(self, hubs=(), policy="known", restart=None, block=24 * HOUR):
        """Reward with pings of some hubs; all is kept and read again at the hour `restart`."""
        size, now = self.kinds.size, [0.0]
        kinds = {f"hub {kind}" for kind in hubs}
        sources = Sources(self.rate, np.ones(size), self.decay)

        def new():
            budget = self.budget if policy == "priced" else None
            learner = ListingIndex(size, 24.0, HOUR, budget=budget)
            own = IndexPolicy(sources) if policy == "known" else learner
            frontier = Frontier(own, range(size), self.budget, rng=0, seconds=HOUR)
            if kinds:
                frontier.pinged = PingedOrder(Trust(), lambda: now[0], block)
            return frontier

        frontier, reward = new(), 0.0
        taken = np.zeros(size, np.int64)
        last = np.zeros(size)
        pings = iter([*self.pings, (np.inf, 0, "")])
        ping = next(pings)
        for hour in range(self.hours):
            now[0] = (hour + 1) * HOUR
            while ping[0] <= hour + 1:
                if ping[2] in kinds:
                    frontier.pinged.trust.ping(ping[2], str(ping[1]), ping[0] * HOUR)
                ping = next(pings)
            if hour == restart:
                kept, pinged = frontier.state(), json.loads(json.dumps(frontier.pinged.state()))
                frontier = new()
                frontier.restore(kept)
                frontier.pinged.restore(pinged)
            for i in frontier.choose().tolist():
                times, worth = self.items[i]
                end = int(np.searchsorted(times, hour + 1, "right"))
                age = hour + 1 - times[taken[i] : end]
                value = float((worth[taken[i] : end] * np.exp(-self.decay[i] * age)).sum())
                ages = tuple(HOUR * np.sort(age))
                if kinds:
                    frontier.pinged.trust.crawl(str(i), now[0], items=age.size, ages=ages)
                frontier.settle(
                    Outcome(i, "found", reward=value, items=age.size, ages=ages, known=end)
                )
                reward += value
                taken[i], last[i] = end, hour + 1
        self.frontier = frontier
        return reward


def gain(kinds, hubs, seeds=10, hours=1500, **more):
    """Estimate of the relative gain by pings, paired by seed."""
    options = {name: more.pop(name) for name in ("dies", "lies", "budget") if name in more}
    gains = []
    for seed in range(seeds):
        world = World(kinds, hours, seed, **options)
        gains.append(world.crawl(hubs, **more) / world.crawl(**more) - 1.0)
    return Estimate.of(np.array(gains))


KINDS = [HONEST] * 12 + [LIAR] * 12 + [DEAD] * 12 + [NONE] * 12


def test_honest_hub_earns_more():
    found = gain(KINDS, [HONEST], seeds=4, hours=500)
    assert found.low > 0


@pytest.mark.sampled
def test_honest_hub_earns_more_at_a_price():
    """The Lagrangian index by content stands beside that by age: no ping takes every place."""
    found = gain(KINDS, [HONEST], seeds=4, hours=500, policy="priced")
    assert found.low > 0


def test_index_by_content_continues_that_by_age():
    """At the content of its age a source has the index of its age, on either scale."""
    rng, size, age = np.random.default_rng(4), 20, np.arange(1, 21)
    listings = [
        Outcome(i, "found", items=9, ages=tuple(np.sort(rng.exponential(HOUR * (1 + i), 9))))
        for i in range(size)
    ]
    for budget in (None, 3):
        policy = ListingIndex(size, 24.0, HOUR, budget=budget)
        policy.observe(listings)
        by_age, some = policy.index(age), policy.estimates
        content = some.state_at_age(age)
        assert policy.index_of_content(content) == pytest.approx(by_age, abs=1e-9)
        assert (policy.index_of_content(content + 0.1) > by_age).all()


@pytest.mark.sampled
def test_liars_cost_little():
    """A liar, a dead hub and forty spam sources: no less than without them, within the error."""
    found = gain([*KINDS, *[SPAM] * 40], [LIAR, DEAD, SPAM], seeds=4, hours=400)
    assert found.high > 0
    assert found.value > -0.1


@pytest.mark.slow
def test_hubs_with_intervals():
    """Ten sites each: what hubs of each kind earn or cost, with known and with learned rates."""
    rows = {"honest": [HONEST], "liar": [LIAR], "dead": [DEAD], "spam": [SPAM], "all": [0, 1, 2, 3]}
    for policy in ("known", "learned"):
        for name, hubs in rows.items():
            kinds = [*KINDS, *[SPAM] * 40]
            found = gain(kinds, hubs, seeds=10, hours=1000, policy=policy)
            print(f"{policy} {name}: {found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]")
            assert found.high > 0
            if name in ("honest", "all"):
                assert found.low > 0


def test_restart_changes_nothing():
    world = World(KINDS, 120, 3)
    assert world.crawl([HONEST, LIAR, DEAD], restart=60) == world.crawl([HONEST, LIAR, DEAD])


def test_order_without_pings_is_the_policys():
    world = World(KINDS, 60, 1)
    assert world.crawl(["nobody"]) == world.crawl()


def test_ping_delays_no_fetch():
    """With one ping more, its source is never ranked behind one that it was ahead of."""
    rng = np.random.default_rng(0)
    size = 30
    for _ in range(40):
        sources = Sources(
            rng.uniform(0.01, 1, size), rng.uniform(0.1, 3, size), rng.uniform(0.01, 1, size)
        )
        policy, age = IndexPolicy(sources), rng.integers(1, 50, size)
        number = {str(i): i for i in range(size)}
        trust = Trust()
        budget = int(rng.choice([1, 5, size]))
        seen, places = Observation(0, age, np.full(size, np.nan)), []
        for k in range(6):
            order = PingedOrder(trust, lambda: 1e5)
            policy_now = order.add_pings(policy, number, age, budget, HOUR)
            places.append(sum(3 in policy_now.select(seen, b) for b in range(1, size + 1)))
            trust.ping("hub", "3", 1e5 - 1000 + k, mark=str(k))
        assert places == sorted(places)


def test_negative_account_limits_pings():
    """A flood by ever new hubs: in the long run it gets an eighth of the fetches at most."""
    size, budget, now = 40, 8, [0.0]
    sources = Sources(np.full(size, 0.02), np.ones(size), np.full(size, 0.03))
    frontier = Frontier(IndexPolicy(sources), range(size), budget, rng=0, seconds=HOUR)
    order = frontier.pinged = PingedOrder(Trust(), lambda: now[0])
    rng, taken = np.random.default_rng(0), []
    for hour in range(400):
        now[0] = (hour + 1) * HOUR
        for i in rng.permutation(size)[:10].tolist():
            for k in range(20):
                order.trust.ping(f"hub {hour} {i}", str(i), now[0], mark=str(k))
        for i in frontier.choose().tolist():
            order.trust.crawl(str(i), now[0], items=0)
            frontier.settle(Outcome(i, "found"))
        taken.append(len(order.taken))
    assert order.share == 0.125
    assert order.account.balance < 0
    assert sum(taken[100:]) <= 0.125 * budget * 300 + budget
    assert sum(taken) > 0
