"""All pings of one crawl: where they come from, where they go, and what is kept of them.

`EpochScheduler` has one if a setting asks for it. It makes requests to hubs and to pages of dates,
answers those of hubs and senders of pings, and passes pings to `Trust`.
"""

from __future__ import annotations

import json
import logging
import math
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from analysis.crawl.clock import TIME_HEADER
from analysis.crawl.feeds.reader import Reading, listed_names, pushed_names
from analysis.crawl.feeds.reply import Reply, Unreadable
from analysis.crawl.fetching.headers import Memory, header_links, plain_headers
from analysis.crawl.fetching.hosts import host_of, is_local_number, plain_address
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.pinged import PingedOrder, Trust
from analysis.crawl.frontier.state import FOUND, Outcome
from analysis.crawl.signals.plain import PingFile, Refused, dated_addresses, pinged_addresses
from analysis.crawl.signals.websub import MOST_CHALLENGE, Subscription, Subscriptions
from analysis.crawl.store import Log

MOST_A_MINUTE = 10_000
"""Pings of one sender that are looked at in a minute; more of them are ignored."""
MOST_DELIVERIES = 50
"""Feeds from hubs whose items are under way to the pipelines at a time; others count as pings."""
MOST_PAGE = 10 * 1024 * 1024
"""Bytes of a page of dates."""
POLL = 5.0
"""Seconds between two readings of a file of pings."""
WARN_AGAIN = 3600.0
"""Seconds between two warnings of a sender whose pings are ignored."""
CLOSING_WAIT = 5.0
"""Seconds for which a crawl that ends waits for hubs."""
TOKENS, KEY = "ping-tokens", "hub-key"
"""Files of the state: who may send pings, and the secret of the crawl; both for the owner alone."""

logger = logging.getLogger(__name__)


class IncomingRequest(NamedTuple):
    """A request: its method, path and query, its headers by name in lower case, and its body."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    """The status of an answer, its body and the type of that."""

    status: int
    body: bytes = b""
    kind: str = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class SignalSettings:
    """The settings of a crawl on pings; see `analysis.crawl.settings`."""

    callback: str = ""
    listen: tuple[str, int] = ("127.0.0.1", 8090)
    file: str = ""
    pages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.callback or self.file or self.pages)


class Crawl(Protocol):
    """The interface of a crawl that its pings use."""

    frontier: Frontier
    store: Log

    def now(self) -> float:
        """Return the time of the crawl, which never jumps."""

    def wall_time(self) -> float:
        """Return the Unix time by the clock of the machine, for dates in replies."""

    def owner(self, url: str) -> str | None:
        """Return the source that is fetched from a URL, None if there is none."""

    def deliver(self, source: str, reply: Reply, hub: str) -> None:
        """Have the items in a reply of a hub read and exported."""


class Signals:
    """The pings of a crawl.

    Parameters
    ----------
    crawl : Crawl
        The crawl.
    given : SignalSettings
        Its settings.
    folder : str or None
        Folder of the state; secrets are made anew for each run without one.
    local_addresses : bool
        Whether hubs may have addresses of local networks.
    reads_feeds : bool
        Whether the crawl's reader is a `FeedReader`, which can read what hubs send.
    virtual : bool
        Whether time is virtual.
    """

    def __init__(
        self,
        crawl: Crawl,
        signal_settings: SignalSettings,
        folder: str | None,
        *,
        local_addresses: bool,
        reads_feeds: bool,
        virtual: bool,
    ) -> None:
        self._crawl, self._given, self._virtual = crawl, signal_settings, virtual
        self._local_addresses, self._reads_feeds = local_addresses, reads_feeds
        self.trust = Trust()
        self.order = PingedOrder(self.trust, crawl.now)
        self.subscriptions = Subscriptions(signal_settings.callback, _key(folder))
        self.senders = _senders(folder) if signal_settings.callback else {}
        self._file = PingFile(signal_settings.file) if signal_settings.file else None
        self._pages = {url: Page(url) for url in signal_settings.pages}
        self._next_read = 0.0
        self._read_pages_at = -math.inf
        self._minutes: dict[str, list[float]] = {}  # of each sender: minute, pings in it, warned
        self._delivering, self._is_closed = 0, False
        self._by_host: dict[str, list[str]] = {}
        self._listed: Mapping[str, int] = {}

    # ------------------------------------------------------------------ what is kept

    def restore(self) -> None:
        """Take up what an earlier run has kept."""
        state, events, subscriptions = self._crawl.store.signals()
        try:
            if state:
                saved = json.loads(state)
                self.order.restore(saved["order"])
                if self._file is not None:
                    self._file.restore(saved["file"])
                for url, page in self._pages.items():
                    page.dates = saved["pages"].get(url)  # none of a page that is new
            for event in events:
                self.trust.apply(json.loads(event))
            self.subscriptions.restore(subscriptions)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"what JOBDIR has kept of pings is damaged: {error!r}") from error

    def state(self) -> str:
        """Return what is to be kept with the state of the crawl."""
        pages = {url: page.dates for url, page in self._pages.items()}
        file = self._file.state() if self._file is not None else {}
        return json.dumps({"order": self.order.state(), "file": file, "pages": pages})

    def table(self) -> list[dict[str, Any]]:
        """Return a row a hub and state of its subscriptions, with what its pings were worth."""
        now = self._crawl.now()
        for subscription in self.subscriptions.by_source.values():
            self.trust.expect(subscription.hub)
        states: dict[str, dict[str, int]] = {}
        reasons: dict[str, str] = {}
        for subscription in self.subscriptions.by_source.values():
            counts = states.setdefault(subscription.hub, {})
            counts[subscription.state] = counts.get(subscription.state, 0) + 1
            if subscription.reason:
                reasons[subscription.hub] = subscription.reason
        return [
            row | {"subscriptions": states.get(hub, {}), "reason": reasons.get(hub, "")}
            for row in self.trust.table(now)
            for hub in [row["hub"]]
        ]

    # ------------------------------------------------------------------ from the crawl

    def announce(self, source: str, hubs: Sequence[str], topic: str) -> None:
        """Take what a feed says of its hubs, if there is an address at which they reach us."""
        if self._given.callback:
            usable = [hub for hub in map(self._hub_address, hubs) if hub]
            self.subscriptions.announce(source, usable, topic, self._crawl.now())
            self._save_subscriptions()

    def crawled(self, name: str, outcome: Outcome) -> None:
        """Label the pings of a source by the outcome of its fetch."""
        if outcome.kind != FOUND:
            return
        subscription = self.subscriptions.by_source.get(name)
        serving = (
            [subscription.hub]
            if subscription is not None and subscription.ends > self._crawl.now()
            else []
        )
        if not (serving or self.trust.waits(name)):
            return
        memory = Memory.read(outcome.memory).reader
        self._event(
            "crawl",
            source=name,
            time=self._crawl.now(),
            items=outcome.items,
            ages=list(outcome.ages[: outcome.items]),
            hubs=serving,
            listed=listed_names(memory) if self.trust.waits(name) else [],
        )

    def delivered(self, source: str, reading: Reading | None, hub: str, time: float) -> None:
        """Note items that a hub has sent and that have left the pipelines."""
        self._delivering = max(self._delivering - 1, 0)
        frontier = self._crawl.frontier
        if source not in frontier.number:
            return
        if reading is None:
            self._event("ping", hub=hub, source=source, time=time)
        elif reading.items:
            number = frontier.number[source]
            memory = Memory.read(frontier.memory[number])
            frontier.memory[number] = Memory(**{**vars(memory), "reader": reading.memory}).text()
            names = pushed_names(reading.memory, len(reading.items))
            self._event("deliver", hub=hub, source=source, time=time, names=names)

    # ------------------------------------------------------------------ requests to others

    def requests(self, period: float) -> Iterator[Request]:
        """Yield the requests to hubs and pages of dates that are due; read the file of pings."""
        now, frontier = self._crawl.now(), self._crawl.frontier
        if self._file is not None and now >= self._next_read:
            self._next_read = now + (0.0 if self._virtual else POLL)
            for url, claimed in self._file.read():
                self.take("file", url, claimed)
        if self._pages and now >= self._read_pages_at + period:
            self._read_pages_at = now
            for page in self._pages.values():
                if self._local_addresses or not is_local_number(page.url):
                    yield self._page_request(page)
        for subscription in self.subscriptions.asking(now, frontier.number):
            yield self._hub_request(subscription)
        self._save_subscriptions()

    def _hub_request(self, subscription: Subscription, mode: str = "subscribe") -> Request:
        meta = {
            "subscription": subscription,
            "handle_httpstatus_all": True,
            "dont_redirect": True,
            "dont_obey_robotstxt": True,  # the feed names the hub so that it is asked
            "dont_retry": True,
            "dont_merge_cookies": True,
            "download_maxsize": 64 * 1024,
            "download_timeout": 30.0,
            "download_slot": f"hub {host_of(subscription.hub)}",
        }
        return Request(
            subscription.hub,
            method="POST",
            body=urlencode(self.subscriptions.form(subscription, mode)),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            callback=self._hub_answered,
            errback=self._hub_failed,
            dont_filter=True,
            meta=meta,
        )

    def _hub_answered(self, response: Response) -> None:
        reason = response.text[:200] if hasattr(response, "text") else ""
        self._answered(response.meta["subscription"], response.status, reason)

    def _hub_failed(self, failure: Failure) -> None:
        request = failure.request  # type: ignore[attr-defined]
        self._answered(request.meta["subscription"], 0, failure.getErrorMessage()[:200])

    def _answered(self, subscription: Subscription, status: int, reason: str) -> None:
        self.subscriptions.answered(subscription, status, reason, self._crawl.now())
        if subscription.reason:
            logger.info(
                "%s: the hub %s: %s", subscription.source, subscription.hub, subscription.reason
            )
        self._save_subscriptions()

    def _page_request(self, page: Page) -> Request:
        headers = dict(page.conditions)
        if self._virtual:
            headers[TIME_HEADER] = f"{self._crawl.now():.0f}"
        meta = {
            "page": page,
            "handle_httpstatus_all": True,
            "dont_obey_robotstxt": True,  # the user has named it
            "dont_retry": True,
            "download_maxsize": MOST_PAGE,
        }
        return Request(
            page.url,
            callback=self._page_arrived,
            errback=self._page_failed,
            headers=headers,
            dont_filter=True,
            meta=meta,
        )

    def _page_failed(self, failure: Failure) -> None:
        request = failure.request  # type: ignore[attr-defined]
        logger.info("%s: %s", request.url, failure.getErrorMessage())

    def _page_arrived(self, response: Response) -> None:
        page: Page = response.meta["page"]
        if response.status == 304:
            return
        headers = plain_headers(response.headers)
        reply = Reply(
            max(response.status, 100), headers, response.body,
            time=self._crawl.wall_time(), url=response.url,
        )  # fmt: skip
        try:
            if response.status != 200:
                raise Unreadable(f"status {response.status}")
            changed = page.changes(dated_addresses(reply))
        except (Unreadable, ValueError) as error:
            logger.info("%s: no dates of feeds: %s", page.url, error)
            return
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        page.conditions = {sent: headers[got] for got, sent in names.items() if headers.get(got)}
        for url, date in changed.items():
            self.take(page.url, url, date)

    # ------------------------------------------------------------------ requests of others

    def accepts_path(self, path: str) -> bool:
        """Return whether requests to a path are read."""
        *_, before, last = ["", "", *path.split("/")]
        if before == "ping":
            return last in self.senders
        return self.subscriptions.of_token(last) is not None

    def answer(self, request: IncomingRequest) -> Answer:
        """Answer a request to a known path."""
        method, path, query, headers, body = request
        *_, before, last = ["", "", *path.split("/")]
        if before == "ping":
            try:
                urls = pinged_addresses(method, query, headers.get("content-type", ""), body)
            except Refused as error:
                return Answer(400, str(error).encode())
            for url in urls:
                self.take(self.senders[last], url)
            is_call = b"<methodCall" in body[:500]
            return Answer(200, _XML_RPC, "text/xml") if is_call else Answer(202)
        subscription = self.subscriptions.of_token(last)
        if subscription is None:
            return Answer(404)
        if method == "GET":
            if len(query) > 4 * MOST_CHALLENGE:
                return Answer(414)
            fields = dict(parse_qsl(query, keep_blank_values=True))
            challenge = self.subscriptions.verify(last, fields, self._crawl.now())
            self._save_subscriptions()
            return Answer(404) if challenge is None else Answer(200, challenge.encode())
        return Answer(self._pushed(subscription, headers, body))

    def _pushed(self, subscription: Subscription, headers: Mapping[str, str], body: bytes) -> int:
        """Take what a hub sends; return the status of the answer."""
        now = self._crawl.now()
        if now >= subscription.ends:
            return 410
        if not self.subscriptions.is_signed(subscription, headers.get("x-hub-signature", ""), body):
            logger.info(
                "%s: an unsigned request of the hub %s is refused",
                subscription.source,
                subscription.hub,
            )
            return 403
        topics = header_links(headers, "self", subscription.topic)
        if topics and subscription.topic not in topics:
            return 400
        if (
            not self._within_limit(subscription.hub)
            or subscription.source not in self._crawl.frontier.number
        ):
            return 202
        believed = self.trust.is_believed(subscription.hub, now)
        if self._reads_feeds and body and believed and self._delivering < MOST_DELIVERIES:
            self._delivering += 1
            reply = Reply(
                200,
                dict(headers),
                body,
                time=self._crawl.wall_time(),
                url=subscription.topic,
                pushed=True,
            )
            self._crawl.deliver(subscription.source, reply, subscription.hub)
        else:
            self._event("ping", hub=subscription.hub, source=subscription.source, time=now)
        return 202

    def take(self, sender: str, url: str, claimed: float | None = None) -> bool:
        """Take a ping about an address; return whether it counts."""
        if not self._within_limit(sender):
            return False
        source, mark = self._source_of(url)
        if source is None:
            self.trust.unknown(sender)
            return False
        ping = {"hub": sender, "source": source, "time": self._crawl.now()}
        if claimed is not None and math.isfinite(claimed):
            ping["claimed"] = claimed
        if mark is not None:
            ping["mark"] = mark
        return self._event("ping", **ping)

    def _event(self, method: str, **arguments: Any) -> bool:
        """Call a method of `Trust`, and keep the call until the state is written."""
        if self._is_closed:
            return False
        counts = getattr(self.trust, method)(**arguments)
        if counts is not False:
            self._crawl.store.note_signal(json.dumps([method, arguments]))
        return bool(counts)

    def _within_limit(self, sender: str) -> bool:
        """Count a ping of a sender; return whether it is looked at."""
        now = self._crawl.now()
        row = self._minutes.setdefault(sender, [-math.inf, 0.0, -math.inf])
        if now >= row[0] + 60.0:
            row[:2] = now, 0.0
        row[1] += 1.0
        if row[1] <= MOST_A_MINUTE:
            return True
        self.trust.ignored(sender)
        if now >= row[2] + WARN_AGAIN:
            row[2] = now
            logger.warning("%s sends more than %d pings a minute: more are ignored, and counted in "
                           "status", sender, MOST_A_MINUTE)  # fmt: skip
        return False

    def _source_of(self, url: str) -> tuple[str | None, str | None]:
        """Return the source that an address belongs to, and what of it is pinged, None for all.

        That is the source with this address, or else the only one of its host in whose folder the
        address lies.
        """
        if len(url) > 2000:
            return None, None
        try:
            address = plain_address(url)
        except ValueError:
            return None, None
        if (owner := self._crawl.owner(address)) is not None:
            return owner, None
        if self._listed is not self._crawl.frontier.number:
            self._listed = self._crawl.frontier.number
            self._by_host = {}
            for name in self._listed:
                self._by_host.setdefault(host_of(name), []).append(name)
        sources = self._by_host.get(host_of(address), [])
        path = urlsplit(address).path
        folders = {name: urlsplit(name).path.rpartition("/")[0] + "/" for name in sources[:1000]}
        candidates = [name for name in folders if path.startswith(folders[name])] or (
            sources if len(sources) == 1 else []
        )
        longest = max((len(folders[name]) for name in candidates), default=0)
        best = [name for name in candidates if len(folders[name]) == longest]
        return (best[0], address[:500]) if len(best) == 1 else (None, None)

    def _hub_address(self, hub: str) -> str:
        """Return the normal form of a hub's address, empty if it is not asked."""
        try:
            address = plain_address(hub)
        except ValueError:
            return ""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or "@" in urlsplit(hub).netloc:
            return ""
        if not self._local_addresses and is_local_number(address):
            return ""
        return address

    def _save_subscriptions(self) -> None:
        by_source = self.subscriptions.by_source
        changed, self.subscriptions.changed = self.subscriptions.changed, set()
        if self._is_closed:
            return
        self._crawl.store.put_subscriptions({name: by_source[name].text() for name in changed})

    # ------------------------------------------------------------------ the end

    def unsubscribe_all(self) -> list[Request]:
        """Return the requests by which subscriptions are given up; nothing is kept from now on."""
        active = self.subscriptions.end_all()
        self._save_subscriptions()
        self._is_closed = True
        if self._file is not None:
            self._file.close()
        return [self._hub_request(subscription, "unsubscribe") for subscription in active]

    def are_all_ended(self) -> bool:
        """Return whether all hubs have verified that their subscriptions are given up."""
        return not self.subscriptions.leaving


@dataclass
class Page:
    """A page of dates, and the dates at its last reading."""

    url: str
    dates: dict[str, float] | None = None

    def __post_init__(self) -> None:
        self.conditions: dict[str, str] = {}

    def changes(self, dates: Mapping[str, float]) -> dict[str, float]:
        """Return the addresses with a later date than before, none at the first reading."""
        before, self.dates = self.dates, dict(dates)
        if before is None:
            return {}
        return {url: date for url, date in dates.items() if date > before.get(url, -math.inf)}


_XML_RPC = (
    b"<?xml version='1.0'?><methodResponse><params><param><value><struct><member><name>flerror"
    b"</name><value><boolean>0</boolean></value></member><member><name>message</name><value>Thanks"
    b"</value></member></struct></value></param></params></methodResponse>"
)


def _private(path: Path, content: bytes) -> None:
    """Write a file that its owner alone can read."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "wb") as file:
        file.write(content)


def _key(folder: str | None) -> bytes:
    """Return the secret of a crawl, which is made at its first run."""
    if not folder:
        return secrets.token_bytes(32)
    path = Path(folder) / KEY
    if not path.exists():
        _private(path, secrets.token_hex(32).encode())
    return path.read_bytes().strip()


def _senders(folder: str | None) -> dict[str, str]:
    """Return the name of each sender of pings by its token; one is made at the first run."""
    if not folder:
        return {secrets.token_hex(16): "ping"}
    path = Path(folder) / TOKENS
    if not path.exists():
        _private(path, f"ping {secrets.token_hex(16)}\n".encode())
    senders = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split()
        if fields and not line.startswith("#"):
            if len(fields) != 2 or len(fields[1]) < 16:
                raise ValueError(
                    f"{path}, line {number}: a name and a token of 16 characters or more"
                )
            senders[fields[1]] = fields[0]
    return senders


def read_callback(text: str) -> str:
    """Return the address at which hubs reach a crawl; ValueError if it is none."""
    parts = urlsplit(text.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"must be as https://me.example/feeds, without a query, got {text!r:.200}")
    return text.strip().rstrip("/")


def read_listen(text: str) -> tuple[str, int]:
    """Return address and port on which to listen; ValueError if it is none."""
    address, _, port = text.strip().rpartition(":")
    if not address or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"must be as 127.0.0.1:8090, got {text!r:.80}")
    return address.strip("[]"), int(port)
