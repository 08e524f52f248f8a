"""Fetches with pings: what honest hubs earn, what liars cost, and what is kept."""

import json
import math

import numpy as np
import pytest

from analysis.crawl import Frontier, IndexPolicy, Outcome
from analysis.crawl.frontier.pinged import BELIEVED, DELAY, MOST_WAITING, REPEAT, PingedOrder, Trust
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


# What pings are worth.


DECAY = np.full(3, 1e-5)
NUMBER = {"a": 0, "b": 1, "c": 2}


def row(trust, hub="hub", time=1e6):
    return next(row for row in trust.table(time) if row["hub"] == hub)


@pytest.mark.parametrize(
    ("pings", "dates", "true"),
    [
        ([1000], [900], 1), ([1000], [1100], 1), ([1000], [1300], 0),
        ([1000 + DELAY + 1], [1000], 0), ([1000, 2000, 3000], [950, 960, 970], 1),
        ([1000, 2000], [900, 1950], 2), ([1000, 1100], [900], 1), ([500, 1000], [990], 1),
        ([], [900], 0), ([1000], [], 0),
    ],
)  # fmt: skip
def test_ping_announces_recent_item(pings, dates, true):
    """Each ping is given an item of its own, dated just before it."""
    trust = Trust()
    for time in pings:
        trust.ping("hub", "a", time)
    ages = sorted(5000.0 - date for date in dates)
    trust.crawl("a", 5000.0, items=len(dates), ages=ages, hubs=["hub"])
    assert (row(trust)["true"], row(trust)["false"]) == (true, len(pings) - true)


def test_labels_equal_largest_matching():
    """The greedy labels are as many as any assignment of items to pings can reach."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(0)
    for _ in range(200):
        pings = np.sort(rng.uniform(0, 20 * DELAY, rng.integers(1, 12)))
        dates = np.sort(rng.uniform(0, 20 * DELAY, rng.integers(1, 12)))
        trust = Trust()
        counted = np.array([trust.ping("hub", "a", t) for t in pings])
        late = pings[counted, None] - dates
        fits = (late <= DELAY) & (late >= -120.0)
        best = fits[linear_sum_assignment(-fits.astype(float))].sum()
        end = 30 * DELAY
        trust.crawl("a", end, items=dates.size, ages=np.sort(end - dates).tolist())
        assert trust.counts["hub"]["true"] == best


def test_undated_items_fit_any_ping():
    trust = Trust()
    for time in (1000.0, 2000.0, 3000.0):
        trust.ping("hub", "a", time)
    trust.crawl("a", 9000.0, items=2)
    assert (row(trust)["true"], row(trust)["false"]) == (2, 1)


def test_odd_times_are_harmless():
    """From the future, before the last fetch, NaN, twice, after a clock that was set back."""
    trust = Trust()
    assert trust.ping("hub", "a", 1000.0, claimed=1e12)
    assert trust.expected(NUMBER, DECAY, 1000.0) == {0: pytest.approx(0.5)}
    trust.crawl("a", 2000.0, items=0)
    assert not trust.ping("hub", "a", 3000.0, claimed=1999.0)
    assert trust.ping("hub", "a", 3000.0, claimed=math.nan)
    assert not trust.ping("hub", "a", 3000.0 + REPEAT / 2)
    assert trust.ping("hub", "b", 10.0)
    assert trust.expected(NUMBER, DECAY, 0.0).keys() == {0, 1}


def test_marks_count_once():
    trust = Trust()
    assert [trust.ping("hub", "a", 0.0, mark=mark) for mark in "xxyx"] == [True, False, True, False]


@pytest.mark.parametrize("size", [10**5])
def test_flood_is_bounded(size):
    """However many pings come, few wait, and one fetch ends their credit."""
    trust = Trust()
    for k in range(size):
        trust.ping("liar", "a", k * REPEAT)
    assert row(trust, "liar")["ignored"] == size - MOST_WAITING
    end = size * REPEAT
    expected = trust.expected(NUMBER, DECAY, end)[0]
    assert expected <= 0.5 * MOST_WAITING
    trust.crawl("a", end, items=0)
    trust.ping("liar", "a", end + 1)
    assert trust.expected(NUMBER, DECAY, end + 1)[0] < 0.15
    for k in range(20):
        trust.ping("liar", "b", end + 2 + k * REPEAT)
    trust.crawl("b", end + 1e4, items=0)
    trust.ping("liar", "b", end + 1e4 + 1)
    assert trust.expected(NUMBER, DECAY, end + 1e4 + 1)[1] < 0.06


def test_liar_is_not_believed_honest_is():
    trust = Trust()
    for day in range(40):
        for hub, source in (("liar", "a"), ("honest", "b")):
            trust.ping(hub, source, day * 1e4)
            trust.crawl(source, day * 1e4 + 100, items=int(source == "b"), ages=[105.0])
    assert not trust.is_believed("liar", 4e5)
    assert row(trust, "liar")["precision_high"] < 0.2
    honest = row(trust, "honest", 4e5)
    assert honest["precision_low"] < honest["precision"] < honest["precision_high"]
    assert honest["precision"] > 0.9 > BELIEVED
    assert honest["recall"] > 0.9


def test_ping_adds_to_what_is_expected():
    """Another ping never lowers it, of whatever hub."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        trust, before = Trust(), 0.0
        for k in range(20):
            trust.ping(str(rng.integers(3)), "a", 1000.0 * k, mark=str(k))
            now = trust.expected(NUMBER, np.zeros(3), 2e4)[0]
            assert now >= before
            before = now


def test_recall_counts_unannounced_items():
    trust = Trust()
    trust.crawl("a", 100.0, items=4, ages=[1.0, 2.0, 3.0, 4.0], hubs=["mute"])
    assert row(trust, "mute", 100.0)["recall"] == pytest.approx(1 / 6, abs=1e-4)


def test_delivered_items_are_checked():
    """An item that a hub delivered is true if the feed lists it."""
    trust = Trust()
    trust.deliver("hub", "a", 10.0, ["x", "y", "z"])
    assert not trust.expected(NUMBER, DECAY, 10.0)  # they are here, and no reason for a fetch
    trust.crawl("a", 20.0, items=1, ages=[5.0], listed=["x", "z", "w"])
    assert (row(trust)["true"], row(trust)["false"], row(trust)["delivered"]) == (2, 1, 3)


def test_hub_falls_silent():
    trust = Trust()
    for day in range(200):
        trust.ping("hub", "a", day * 86_400.0)
        trust.crawl("a", day * 86_400.0 + 100, items=1, ages=[110.0])
    assert row(trust, time=200 * 86_400.0)["alive"]
    dead = row(trust, time=260 * 86_400.0)
    assert not dead["alive"]
    assert dead["recall"] == 0


def test_state_is_restored():
    """Also calls after the state are repeated, from what was written of them."""
    rng, trust = np.random.default_rng(2), Trust()
    calls = []
    for k in range(300):
        hub, source, time = f"h{rng.integers(3)}", "abc"[rng.integers(3)], 500.0 * k
        if rng.random() < 0.7:
            call = ["ping", {"hub": hub, "source": source, "time": time, "mark": str(k % 7)}]
        elif rng.random() < 0.5:
            call = ["deliver", {"hub": hub, "source": source, "time": time, "names": [str(k)]}]
        else:
            items = int(rng.integers(3))
            ages = [100.0 * i for i in range(items)]
            call = ["crawl", {"source": source, "time": time, "items": items, "hubs": ["h0"]}]
            call[1] |= {"ages": ages, "listed": [str(k - 1)]}
        calls.append(call)
    for call in calls[:200]:
        trust.apply(call)
    trust.crawl("a", 1e5, items=0), trust.crawl("b", 1e5, items=0), trust.crawl("c", 1e5, items=0)
    again = Trust()
    again.restore(json.loads(json.dumps(trust.state())))
    for call in json.loads(json.dumps(calls[200:])):
        trust.apply(call)
        again.apply(call)
    assert again.table(2e5) == trust.table(2e5)
    assert again.expected(NUMBER, DECAY, 2e5) == pytest.approx(trust.expected(NUMBER, DECAY, 2e5))


def test_other_calls_are_refused():
    with pytest.raises(ValueError, match="event"):
        Trust().apply(["__init__", {}])
