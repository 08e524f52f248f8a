"""What pings are worth: who sent them, which of them wait, and which were true.

A *hub* is whoever sends pings: a hub of WebSub by its address, the sender of plain pings by its
name, a page of dates by its address. A ping waits until its source is fetched; that fetch shows
whether it was true. It was, if a new item is dated at most `DELAY` before it, and no other ping of
the hub accounts for that item. (Were any earlier item enough, a hub that pings at random would seem
to announce all of them.) An item that a hub delivered itself is true if the next listing of the
source has it.

The estimates are those of `analysis.ephemeral.signals.reliability`: recall and precision of a hub
and precision of each of its sources, by counts that fade.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from scipy.stats import beta

from analysis.arrays import Floats
from analysis.checks import check_kind
from analysis.crawl.frontier.state import DAY
from analysis.ephemeral.signals.reliability import Reliability

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
        """Count a ping that is not looked at."""
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
