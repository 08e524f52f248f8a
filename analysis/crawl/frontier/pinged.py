"""Pings at the frontier: what they are worth, and how they change the order of fetches.

A *hub* is whoever sends pings: a hub of WebSub by its address, the sender of plain pings by its
name, a page of dates by its address. A ping waits until its source is fetched; that fetch shows
whether it was true. It was, if a new item is dated at most `DELAY` before it, and no other ping of
the hub accounts for that item. (Were any earlier item enough, a hub that pings at random would seem
to announce all of them.) An item that a hub delivered itself is true if the next listing of the
source has it. The estimates are those of `analysis.ephemeral.signals.reliability`: recall and
precision of a hub and precision of each of its sources, by counts that fade.

The expected worth of a source with pings is

    Y = u* (1 - exp(-mu a)) + xibar E,

a its age and E the items that its pings lead to expect (`Trust.expected`); its index is that of
expected content at Y. Silence counts for nothing, so that a hub that dies delays no fetch, and as a
ping raises Y, none does.

A fetch is a ping's if the policy would not have made it. What pings gain is what these fetches
find, less what is left of it when the policy itself fetches the source the next time; what they
cost is the reward of the share of fetches that they took, `calendar_cost`. Both stand in an
`Account`. Where its balance is negative at the beginning of a block, pings get an eighth of the
fetches of that block.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from analysis.arrays import Floats
from analysis.checks import check_kind, check_number, check_positive
from analysis.crawl.frontier.state import DAY, Outcome
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.policies import Observation, Policy
from analysis.ephemeral.signals.guarantees import Account, calendar_cost
from analysis.ephemeral.signals.reliability import Reliability
from analysis.ephemeral.sources import Sources

Arms = NDArray[np.int64]

# What pings are worth: who sent them, which of them wait, and which were true.

MEMORY = 60 * DAY
"""Seconds after which a count weighs exp(-1)."""
DEATHS = 1.0 / (90 * DAY)
"""Deaths of a hub per second, by which a hub that has fallen silent is taken for dead."""
MOST_WAITING = 64
"""Pings of a hub about one source that wait; more of them are ignored until its next fetch."""
REPEAT = 60.0
"""Seconds within which a second ping of a hub about a source repeats the first one."""
SKEW = 120.0
"""Seconds by which an item may be dated after the ping that announces it, as clocks differ."""
DELAY = 900.0
"""Seconds by which a ping may come after the date of the item that it announces."""
BELIEVED = 0.05
"""Estimate of its precision below which a hub is not believed: what it sends is not delivered."""
COUNTS = ("pings", "true", "false", "ignored", "unknown", "delivered")
"""What is counted of each hub since the crawl began."""


class Trust:
    """Pings that wait, and the reliability of hubs and their sources.

    Times are Unix times by the crawl's clock. A time before that of an earlier call counts as that.

    Examples
    --------
    >>> trust = Trust()
    >>> trust.ping("hub", "feed", 100.0), trust.ping("hub", "feed", 110.0)  # one and its repetition
    (True, False)
    >>> trust.crawl("feed", 200.0, items=1, ages=[110.0])
    >>> trust.table(200.0)[0]["true"]
    1
    """

    def __init__(self) -> None:
        self.reliability = Reliability(MEMORY, death_rate=DEATHS)
        self.counts: dict[str, dict[str, int]] = {}
        self._waiting: dict[str, dict[str, list[float]]] = {}  # times of pings, by source and hub
        self._delivered: dict[str, dict[str, list[str]]] = {}  # names of items, likewise
        self._last: dict[str, float] = {}  # time of the last fetch of each source that has pings

    def ping(
        self,
        hub: str,
        source: str,
        time: float,
        *,
        claimed: float | None = None,
        mark: str | None = None,
    ) -> bool:
        """Take a ping in; return whether it counts.

        Parameters
        ----------
        hub, source : str
            Who sent it, and about which source.
        time : float
            Time of receipt.
        claimed : float, optional
            When the item appeared by the ping's own account: a later time than the receipt counts
            as that. A ping about the time before the last fetch of its source does not count.
        mark : str, optional
            What it announces, such as the item's address. A mark that this hub gave since the last
            fetch does not count again.
        """
        time = max(time, self.reliability.time)
        when = time if claimed is None or not claimed <= time else claimed  # NaN is no account
        counts = self._counts(hub)
        counts["pings"] += 1
        waiting = self._waiting.get(source, {}).get(hub, [])
        repeats = bool(waiting) and mark is None and when - waiting[-1] < REPEAT
        before = when <= self._last.get(source, -math.inf)
        if repeats or before or len(waiting) >= MOST_WAITING:
            counts["ignored"] += 1
            return False
        if not self.reliability.observe_ping(hub, source, time, mark):
            counts["ignored"] += 1
            return False
        self._waiting.setdefault(source, {}).setdefault(hub, []).append(when)
        return True

    def deliver(self, hub: str, source: str, time: float, names: Iterable[str]) -> None:
        """Note the names of items that a hub delivered itself: each is a ping with that mark."""
        time, counts = max(time, self.reliability.time), self._counts(hub)
        delivered = self._delivered.setdefault(source, {}).setdefault(hub, [])
        for name in names:
            counts["pings"] += 1
            counts["delivered"] += 1
            if len(delivered) < MOST_WAITING:
                if self.reliability.observe_ping(hub, source, time, name):
                    delivered.append(name)
            else:
                counts["ignored"] += 1

    def crawl(
        self,
        source: str,
        time: float,
        *,
        items: int,
        ages: Sequence[float] = (),
        hubs: Iterable[str] = (),
        listed: Collection[str] | None = None,
    ) -> None:
        """Label the pings of a source since its last fetch.

        Parameters
        ----------
        source : str
            A source whose feed was fetched.
        time : float
            When.
        items : int
            New items that the fetch found.
        ages : sequence of float
            Ages of listed items in seconds, in increasing order: the first ones are those of the
            new items, if there are as many. A new item without one may have been announced by any
            ping.
        hubs : iterable of str
            Hubs that serve the source, whether or not they sent a ping.
        listed : collection of str, optional
            Names of all listed items, to find those that hubs delivered; none of them if unknown.
        """
        time = max(time, self.reliability.time)
        waiting = self._waiting.pop(source, {})
        delivered = self._delivered.pop(source, {})
        senders = sorted({*waiting, *delivered, *hubs})
        if not senders:
            return
        self._last[source] = time
        dates = sorted(time - age for age in sorted(ages)[:items])
        listed_items = set(listed or ())
        confirmed = {hub: len(listed_items.intersection(delivered.get(hub, ()))) for hub in senders}
        others = set().union(*delivered.values()) & listed_items
        announced = {}
        for hub in senders:
            true = _matched(dates, items - len(dates), waiting.get(hub, ())) + confirmed[hub]
            sent = len(waiting.get(hub, ())) + len(delivered.get(hub, ()))
            announced[hub] = true
            counts = self._counts(hub)
            counts["true"] += true
            counts["false"] += sent - true
        self.reliability.observe_crawl(source, time, items + len(others), announced)

    def expected(self, number: Mapping[str, int], decay: Floats, time: float) -> dict[int, float]:
        """Return the number of items that pings lead to expect at each source with pings.

        Parameters
        ----------
        number : mapping of str to int
            Number of each source, by name.
        decay : ndarray, shape (N,)
            Decay rates, per second: each ping counts as exp(-decay * its age).
        time : float
            The present.

        Returns
        -------
        dict of int to float
            By number. Of several hubs the one that leads to expect most counts, as they may
            announce the same item.
        """
        time, items = max(time, self.reliability.time), {}
        for source, by_hub in self._waiting.items():
            position = number.get(source)
            if position is None:
                continue
            items[position] = max(
                self.reliability.precision(hub, source, time)
                * sum(math.exp(-decay[position] * (time - when)) for when in times)
                for hub, times in by_hub.items()
            )
        return items

    def is_believed(self, hub: str, time: float) -> bool:
        """Return whether the estimate of a hub's precision is at least `BELIEVED`."""
        # That of a source without pings is the hub's.
        return self.reliability.precision(hub, "", max(time, self.reliability.time)) >= BELIEVED

    def table(self, time: float) -> list[dict[str, Any]]:
        """Return a row a hub: its counts, recall, precision with a 95% interval, and judgements."""
        time = max(time, self.reliability.time)
        labelled = dict(self.reliability.table(time)[["hub", "labelled pings"]].to_numpy())
        rows = []
        for hub in sorted(self.counts):
            precision = self.reliability.precision(hub, "", time)
            pings = 2.0 + float(labelled.get(hub, 0.0))  # with those of the uniform prior
            low, high = beta.interval(0.95, precision * pings, (1.0 - precision) * pings)
            rows.append(
                {"hub": hub}
                | self.counts[hub]
                | {
                    "recall": round(self.reliability.recall(hub, time), 4),
                    "precision": round(precision, 4),
                    "precision_low": round(float(low), 4),
                    "precision_high": round(float(high), 4),
                    "alive": self.reliability.alive(hub, time),
                    "believed": precision >= BELIEVED,
                }
            )
        return rows

    def waits(self, source: str) -> bool:
        """Return whether pings of a source wait for its next fetch."""
        return source in self._waiting or source in self._delivered

    def ignored(self, hub: str) -> None:
        """Count an ignored ping."""
        counts = self._counts(hub)
        counts["pings"] += 1
        counts["ignored"] += 1

    def unknown(self, hub: str) -> None:
        """Count a ping about an address that belongs to no source."""
        counts = self._counts(hub)
        counts["pings"] += 1
        counts["unknown"] += 1

    def expect(self, hub: str) -> None:
        """Show a hub in the table before its first ping."""
        self._counts(hub)

    def state(self) -> dict[str, Any]:
        """Return all that is known, for `restore`, as JSON can hold it."""
        return {
            "estimates": self.reliability.state(),
            "counts": self.counts,
            "waiting": self._waiting,
            "delivered": self._delivered,
            "last": self._last,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.reliability = Reliability.restored(state["estimates"])
        for name in ("counts", "waiting", "delivered", "last"):
            check_kind(name, state[name], dict)
        self.counts = {hub: dict(counts) for hub, counts in state["counts"].items()}
        self._waiting = json.loads(json.dumps(state["waiting"]))
        self._delivered = json.loads(json.dumps(state["delivered"]))
        self._last = dict(state["last"])

    def apply(self, event: Sequence[Any]) -> None:
        """Repeat a call that is given as its method and its arguments by name."""
        method, arguments = event
        if method not in ("ping", "deliver", "crawl"):
            raise ValueError(f"event must be ping, deliver or crawl, got {method!r:.80}")
        getattr(self, method)(**arguments)

    def _counts(self, hub: str) -> dict[str, int]:
        return self.counts.setdefault(hub, dict.fromkeys(COUNTS, 0))


def _matched(dates: Sequence[float], undated: int, pings: Sequence[float]) -> int:
    """Return how many pings can each be given an item of its own.

    `dates` of items are in increasing order; `undated` items fit any ping.
    """
    matched = position = 0
    for when in sorted(pings):
        while position < len(dates) and dates[position] < when - DELAY:
            position += 1
        if position < len(dates) and dates[position] <= when + SKEW:
            position += 1
            matched += 1
    return min(matched + undated, len(pings))


# Which pings change the order, and how many fetches they may take.

SHARES = (0.125, 1.0)
"""Share of the fetches that pings get at most, if their account is negative and if it is not."""
BLOCK = DAY
"""Seconds after which the account is looked at."""


class PingedOrder:
    """Puts the sources in order with pings, and keeps the account of what they gain and cost.

    Parameters
    ----------
    trust : Trust
        The pings.
    clock : callable
        Returns the Unix time.
    block : float
        Seconds of a block.

    Attributes
    ----------
    account : Account
        Of the pings, in units of what items are worth.
    share : float
        Share of the fetches that pings get at most in this block.
    taken : set of int
        Sources of the present epoch that are fetched because of a ping.
    """

    def __init__(self, trust: Trust, clock: Callable[[], float], block: float = BLOCK) -> None:
        self.trust, self._clock = trust, clock
        self.block = check_positive("block", block)
        self.account = Account(SHARES, (0.0, 0.0))
        self.share = SHARES[1]
        self.taken: set[int] = set()
        self._ends = math.inf  # time of the end of the block
        self._epochs = self._fetches = self._pinged = 0  # of the block
        self._room = 0.0  # fetches that pings have not used yet
        self._owed: dict[str, tuple[float, float]] = {}  # worth that pings took, and when
        self._indices: tuple[Floats, Floats] | None = None  # without pings, and with them

    def add_pings(
        self,
        policy: Policy,
        number: Mapping[str, int],
        age: Arms,
        budget: int,
        seconds: float,
    ) -> Policy:
        """Return a policy that takes pings into account, or the policy itself if there are none.

        Parameters
        ----------
        policy : Policy
            One with ``index`` and ``estimates``, the sources as it believes them to be; the order
            of others stays as it is. If its index is not Whittle's, ``index_of_content`` is needed.
        number : mapping of str to int
            Number of each source, by name.
        age : ndarray of int, shape (N,)
            Epochs since the last fetches.
        budget : int
            Fetches of the epoch.
        seconds : float
            Length of an epoch.
        """
        self._indices = None
        if not hasattr(policy, "estimates") or not hasattr(policy, "index"):
            return policy
        blind = np.asarray(policy.index(age), dtype=float)
        sources = policy.estimates
        items = self.trust.expected(number, sources.decay / seconds, self._clock())
        if not items:
            return policy
        arms = np.array(sorted(items), dtype=np.int64)
        content = -sources.u_star * np.expm1(-sources.decay * age)
        content[arms] += sources.mean_utility[arms] * np.array([items[i] for i in arms.tolist()])
        index, by_content = blind.copy(), partial(whittle_index, sources)
        pinged = getattr(policy, "index_of_content", by_content)(content)
        index[arms] = np.maximum(pinged[arms], blind[arms])
        own = np.zeros(age.size, dtype=bool)  # what the policy fetches without pings
        own[np.argsort(-blind, kind="stable")[:budget]] = True
        chosen = np.argsort(-index, kind="stable")[:budget]
        chosen = chosen[~own[chosen]]
        effective = np.where(own, index, blind)
        allowed = chosen[: self._places(budget)]
        effective[allowed] = index[allowed]
        self._indices = blind, effective
        return _ByIndex(effective)

    def record(self, arms: Arms, budget: int, policy: Policy, seconds: float) -> None:
        """Note which sources are fetched in an epoch; look at the account at the end of a block."""
        self.taken, now = set(), self._clock()
        if self._indices is not None:
            blind, effective = self._indices
            own = set(np.argsort(-blind, kind="stable")[: arms.size].tolist())
            self.taken = {i for i in arms.tolist() if effective[i] > blind[i] and i not in own}
            self._indices = None
        if not math.isfinite(self._ends):
            self._ends = now + self.block
        if now >= self._ends and hasattr(policy, "estimates"):
            self._look_at_account(policy.estimates, budget, now, seconds)
        self._epochs += 1
        self._fetches += budget
        self._pinged += len(self.taken)
        self._room = min(self._room + self.share * budget, float(budget)) - len(self.taken)

    def observe(
        self,
        outcomes: Sequence[Outcome],
        names: Sequence[str],
        policy: Policy,
        seconds: float,
    ) -> None:
        """Add to the account what successful fetches found; `names` are those of all sources."""
        if not hasattr(policy, "estimates") or not (self.taken or self._owed):
            return
        decay, now = policy.estimates.decay / seconds, self._clock()
        for outcome in outcomes:
            name = names[outcome.source]
            remaining = self._remaining_worth(name, float(decay[outcome.source]), now)
            if outcome.source in self.taken:
                self.account.add(outcome.reward)
                self._owed[name] = remaining + outcome.reward, now
            elif name in self._owed:
                self.account.add(-remaining)
                del self._owed[name]

    def state(self) -> dict[str, Any]:
        """Return the account and the pings between two epochs, for `restore`."""
        return {
            "balance": self.account.balance,
            "share": self.share,
            "ends": self._ends if math.isfinite(self._ends) else None,
            "block": [self._epochs, self._fetches, self._pinged, self._room],
            "owed": self._owed,
            "trust": self.trust.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.account.balance = check_number("balance", state["balance"], high_open=True)
        self.share = check_number("share", state["share"], *SHARES)
        self._ends = math.inf if state["ends"] is None else check_number("ends", state["ends"])
        self._epochs, self._fetches, self._pinged, self._room = state["block"]
        self._owed = {n: (float(worth), float(when)) for n, (worth, when) in state["owed"].items()}
        self.trust.restore(state["trust"])

    def _places(self, budget: int) -> int:
        """Return how many fetches of an epoch may be a ping's."""
        if self.share >= 1.0:
            return budget
        return int(min(self._room + self.share * budget, budget) + 1e-9)

    def _look_at_account(self, sources: Sources, budget: int, now: float, seconds: float) -> None:
        """Charge the block that ends for the fetches that pings took, and open the next one."""
        share = self._pinged / max(self._fetches, 1)
        if share > 0:
            self.account.add(-self._epochs * calendar_cost(sources, budget, min(share, 1.0)))
        # What is left of what pings took is the most that the policy would still get for it.
        decay = float(sources.decay.min()) / seconds
        remaining = {name: self._remaining_worth(name, decay, now) for name in self._owed}
        self._owed = {name: self._owed[name] for name, worth in remaining.items() if worth > 1e-9}
        owed = sum(remaining.values())
        self.account.add(-owed)
        self.share = self.account.open_block()
        self.account.add(owed)
        self._ends = now + self.block
        self._epochs = self._fetches = self._pinged = 0
        self._room = 0.0

    def _remaining_worth(self, name: str, decay: float, now: float) -> float:
        """Return what would be left at a source of all that pings took there."""
        worth, when = self._owed.get(name, (0.0, now))
        return worth * math.exp(-decay * max(now - when, 0.0))


class _ByIndex:
    """A policy that takes the sources of largest index."""

    def __init__(self, index: Floats) -> None:
        self._order = np.argsort(-index, kind="stable")

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources of largest index."""
        return np.sort(self._order[:budget])
