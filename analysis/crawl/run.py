"""One command that crawls a list of feeds: ``python -m analysis.crawl run feeds.opml``.

A *round* is an epoch of `analysis.crawl.scheduler`: in each, some feeds are fetched. Every feed
that was never fetched is fetched at once, those of a host a second apart. After that a round has a
budget, and its fetches are spread over the time to the next one. Which feeds come next is decided
by the index policy, or another of `POLICIES`, with rates from the dates in the feeds.

Items are appended to a file of JSON Lines, each at least once. Beside it is the folder of the
state:

* ``feeds.csv``, the list, as the setting ``CRAWL_SOURCES`` has it;
* ``crawl.sqlite``, from which the next run continues (`analysis.crawl.store`);
* ``feeds.json``: what ``status`` shows, as `analysis.crawl.progress` describes.

A list may bound the time between two fetches of a feed: OPML by the attributes ``minInterval`` and
``maxInterval`` of an outline, CSV by the columns ``min_interval`` and ``max_interval``.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import logging
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import numpy as np
from lxml import etree
from scrapy import Request, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import HtmlResponse, Response

from analysis import __version__
from analysis.checks import check_choice, check_file
from analysis.crawl.clock import read_duration, write_duration
from analysis.crawl.feeds.reader import IDS_CHANGE, read_feed
from analysis.crawl.feeds.reply import Reply, Unreadable
from analysis.crawl.fetching import requests
from analysis.crawl.fetching.headers import plain_headers
from analysis.crawl.fetching.hosts import host_of, plain_address
from analysis.crawl.fetching.requests import Job
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import DAY, FORBIDDEN, FOUND, Outcome
from analysis.crawl.policies import ListingIndex
from analysis.crawl.progress import FEEDS, read_feeds
from analysis.crawl.scheduler import EpochScheduler, FeedSpider
from analysis.crawl.settings import read_logins
from analysis.crawl.signals.plain import check_ping_file
from analysis.crawl.signals.service import read_callback, read_listen
from analysis.crawl.store import LAST_EPOCHS, Store
from analysis.files import replacing

POLICIES = {
    "index": "analysis.crawl.policies.listing_index",
    "lagrangian": "analysis.crawl.policies.listing_lagrangian",
    "round-robin": "analysis.crawl.policies.round_robin",
}
"""Policies that need no rates, by the name of the option."""
EVERY = 3600.0
"""Default seconds from one round to the next."""
BETWEEN = 4 * 3600.0
"""Seconds between two fetches of a feed, on average over all feeds, at the default budget."""
MAX_AGE = 7 * DAY
"""Default seconds after which a feed comes before all others."""
OPTIONS = ("every", "budget", "policy", "max_age")
"""Options that a crawl keeps until they are given anew."""
REWRITE = 10.0
"""Least seconds between two writings of ``feeds.json`` within a round."""
LOGGED = 100_000
"""Fetches, about, that the state has one by one; of older ones it has counts by day."""
GAP = 1.0
"""Seconds between two fetches from a host when feeds are fetched for the first time."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of a list of feeds."""
ALL_NEW = "all items are new at every fetch: its ids seem to change, and are not counted"
"""What ``status`` shows of a feed whose learned rate does not use ids."""
SHOWN = 5
"""Feeds whose trouble is printed after a round; ``status`` shows all."""
FARTHEST = 400
"""Rounds for which the next fetch is predicted."""
FEED_TYPES = ("rss+xml", "atom+xml", "feed+json", "rdf+xml")
"""Ends of the media types by which a page names its feeds."""


class Feed(NamedTuple):
    """A feed of a list: its address, its name, and bounds on the time between two fetches.

    The bounds are as in ``30m``, and empty if there are none.
    """

    url: str
    name: str
    min_interval: str = ""
    max_interval: str = ""


# ------------------------------------------------------------------------------ the list of feeds


def read_list(path: str) -> list[Feed]:
    """Read the feeds of a file: OPML, CSV with the column url, or an address on each line.

    An address that is listed twice counts once.

    Raises
    ------
    ValueError
        Naming the file and the line of what is wrong.
    OSError
        If the file cannot be read.
    """
    content = Path(check_file("FEEDS", path, MOST_BYTES)).read_bytes()
    if content.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n").startswith(b"<"):
        rows = _outlines(path, content)
    else:
        wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        try:
            text = content.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise ValueError(f"{path}, line {line}: the text must be in UTF-8") from None
        rows = _table(path, text) if _is_table(path, text) else _lines(text)
    feeds: dict[str, Feed] = {}
    for line, url, name, *bounds in rows:
        where = f"{path}, line {line}"
        address = _address(where, url)
        _check_bounds(where, *bounds)
        feeds.setdefault(address, Feed(address, name.strip() or address, *bounds))
    if not feeds:
        raise ValueError(f"{path}: no feeds are listed")
    return list(feeds.values())


Row = tuple[int, str, str, str, str]
"""Line, address, name, and the two bounds of a feed in a list."""


def _check_bounds(where: str, least: str, most: str) -> None:
    """Raise, naming the place, if a bound is no length of time or the two exclude each other."""
    seconds = {}
    for name, text in (("min_interval", least), ("max_interval", most)):
        try:
            seconds[name] = read_duration(text) if text else None
        except ValueError as error:
            raise ValueError(f"{where}: {name} {error}") from None
    low, high = seconds["min_interval"], seconds["max_interval"]
    if low and high and low > high:
        raise ValueError(f"{where}: max_interval must be at least min_interval, got {most}")


def _outlines(path: str, content: bytes) -> Iterator[Row]:
    """Yield the feeds of the outlines of OPML, however deep."""
    if b"<!ENTITY" in content.replace(b"\x00", b""):
        raise ValueError(f"{path}: OPML must not declare entities")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: no valid XML: {error.msg}") from None
    if not isinstance(root.tag, str) or etree.QName(root).localname.lower() != "opml":
        raise ValueError(f"{path}, line {root.sourceline}: the file must be OPML, got <{root.tag}>")
    for outline in root.iter("{*}outline"):
        facts = {name.lower(): value for name, value in outline.items()}
        if "xmlurl" in facts:
            name = facts.get("title") or facts.get("text") or ""
            bounds = [facts.get(bound, "").strip() for bound in ("mininterval", "maxinterval")]
            yield outline.sourceline, facts["xmlurl"], name, bounds[0], bounds[1]


def _is_table(path: str, text: str) -> bool:
    first = next((line for line in text.splitlines() if line.strip()), "")
    names = [name.strip(' "').lower() for name in re.split("[,;\t]", first)]
    return "url" in names or path.lower().endswith(".csv")


def _table(path: str, text: str) -> Iterator[Row]:
    """Yield the feeds in the rows of CSV, with commas, semicolons or tabs."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    rows = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=first.count))
    header: list[str] = []
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if not header:
                header = [name.strip().lower() for name in row]
                if "url" not in header:
                    raise ValueError(f"{path}, line {rows.line_num}: a column must be named url")
                continue
            cells = dict(zip(header, map(str.strip, row), strict=False))
            url, name, least, most = (cells.get(name, "") for name in Feed._fields)
            yield rows.line_num, url, name, least, most
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num}: no valid CSV: {error}") from None


def _lines(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        url = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()  # a # within is a fragment
        if url:
            yield number, url, "", "", ""


def _address(where: str, url: str) -> str:
    """Return the normal form of the address of a feed; raise, naming the place, if it is none."""
    try:
        parts = urlsplit(url.strip())
        if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
            raise ValueError("it must begin with http:// or https:// and a host")
        if "@" in parts.netloc:
            url = url.replace(parts.netloc.rpartition("@")[0], "...")
            raise ValueError("user and password belong into the file of --logins")
        if re.search(r"\s", url.strip()):
            raise ValueError("it must have no spaces")
        return plain_address(url)
    except ValueError as error:
        quoted = repr(url.strip()[:200])
        raise ValueError(f"{where}: {quoted} is no address of a feed: {error}") from None


class PageSpider(FeedSpider):
    """Fetches one address: a feed, or a page whose feeds it lists in `feeds`."""

    page = ""
    feeds: list[Feed]  # what was found
    reasons: list[str]  # why nothing was

    async def start(self) -> Any:
        """Request the page."""
        meta = {"handle_httpstatus_all": True}
        yield Request(self.page, self.parse, errback=self.failed, meta=meta)

    def parse(self, response: Response, **options: Any) -> None:
        """Take the feed, or the feeds that the page names with ``link rel=alternate``."""
        if response.status >= 300:
            self.reasons.append(_reason("", response.status, ""))
            return
        headers = plain_headers(response.headers)
        reply = Reply(response.status, headers, response.body, url=response.url)
        try:
            read_feed(reply, "")
            self.feeds.append(Feed(plain_address(self.page), self.page))
            return
        except Unreadable:
            self.reasons.append("neither a feed nor a page that names one (link rel=alternate)")
        page = HtmlResponse(response.url, body=response.body, headers=response.headers)
        base = urljoin(response.url, page.css("base::attr(href)").get("").strip())
        for link in page.css("link[href][rel~=alternate i]"):
            kind = link.attrib.get("type", "").split(";")[0].strip().lower()
            url = urljoin(base, link.attrib["href"].strip())
            if kind.endswith(FEED_TYPES) and urlsplit(url).scheme in ("http", "https"):
                address = _address(self.page, url)
                if address not in [feed.url for feed in self.feeds]:
                    name = link.attrib.get("title", "").strip()
                    self.feeds.append(Feed(address, name or address))

    def failed(self, failure: Any) -> None:
        """Keep the reason why there is no answer."""
        self.reasons.append(failure.getErrorMessage() or "no answer")


# -------------------------------------------------------------------------------------- the crawl


class RoundScheduler(EpochScheduler):
    """The scheduler of the command: new feeds at once, a line a round, and ``feeds.json``.

    Its setting ``RUN`` has the options: folder, rounds, every, policy and names of feeds.
    """

    def _prepare(self) -> None:
        run = self._crawler.settings["RUN"]
        self._feeds: dict[str, Feed] = {feed.url: feed for feed in run["feeds"]}
        self._options, self._changes = run["options"], run["changes"]
        self._path = Path(run["folder"]) / FEEDS
        saved = read_feeds(run["folder"])
        self._known = {feed["url"]: feed for feed in saved.get("feeds", [])}
        self._counted: dict[int, Outcome] = {}  # by identity, of the last choice
        self._ended: list[Outcome] = []  # since the last line was printed
        self._printed = self._troubles()
        self._reasons = _Reasons(bool(self._crawler.settings["LOG_FILE"]))
        logging.getLogger(requests.__name__).addFilter(self._reasons)
        self._open = saved.get("open", {"round": 0, "counts": {}})
        self._next_writing = time.monotonic() + REWRITE
        super()._prepare()
        frontier, period = self.frontier, self._given.period
        if not frontier.is_open:  # rounds in which there was no crawl do not count
            frontier.skip(max(int((self.now() - self._began) / period) - frontier.epoch, 0))
        if run["rounds"]:
            self._given = replace(self._given, epochs=frontier.epoch + run["rounds"])
        if run["until"]:
            begun = int(max(run["until"] - self._began, 0.0) // period) + 1
            self._given = replace(self._given, epochs=max(begun, frontier.epoch))
        self._predict()
        self._write_feeds()
        self._say_start()

    def _resume(self) -> None:
        """Continue a round; what was counted of it before a kill is counted again."""
        before, self._open = self._open, {"round": self.frontier.epoch, "counts": {}}
        if before["round"] >= self.frontier.epoch:
            for url, (fetches, items) in before["counts"].items():
                self._known[url]["fetches"] -= fetches
                self._known[url]["items"] -= items
        if self._given.local_addresses:  # what was refused without --local is as never fetched
            for source, url in enumerate(self.frontier.names):
                if LOCAL_OPTION in self._known.get(url, {}).get("reason", ""):
                    self.frontier.revive(source)
        super()._resume()

    def _begin(self) -> None:
        """Open a round, in which feeds that were never fetched come on top of the budget."""
        self._count(self.frontier.epoch)  # what ended after the last round did
        self._counted = {}
        delays = self.frontier.crawl_delay
        hosts = {host_of(url) for url in self.frontier.names}
        # Else a host whose robots.txt was not read yet is asked for a single feed.
        self.frontier.import_state({}, {h: (GAP, 0, 0) for h in hosts if h not in delays})
        new = np.array([not kind for kind in self.frontier.kind]) & self.frontier.available
        self.frontier.budget = max(self._given.budget, int(new.sum()))
        super()._begin()

    def _spread(self, sources: list[int], ends: float) -> None:
        """Queue first fetches at once, with gaps on each host, and the others over the round."""
        new = [i for i in sources if not self.frontier.kind[i]]
        super()._spread([i for i in sources if self.frontier.kind[i]], ends)
        now, used = self.now(), dict[str, int]()
        for i in new:
            url = self.frontier.names[i]
            before = used.get(host_of(url), 0)
            used[host_of(url)] = before + 1
            self._requests.push(Job(url, url), now + GAP * before)

    def _settle_first(self) -> None:
        """Pass on an outcome; write ``feeds.json`` now and then, as a round can take long."""
        super()._settle_first()
        if time.monotonic() >= self._next_writing and not self._unsaved:
            self._count(self.frontier.epoch)
            self._write_feeds()

    def _save(self) -> None:
        """Write ``feeds.json`` and the state, and print a line, after a round."""
        self._count(self.frontier.epoch - 1)
        self._predict()
        self._write_feeds()
        super()._save()
        self._open = {"round": self.frontier.epoch, "counts": {}}
        self._say_round()

    def _count(self, epoch: int) -> None:
        """Add outcomes to what is known of their feeds.

        A crawl that is killed before the end of `epoch` meets them again.
        """
        frontier, now = self.frontier, _iso(min(self._time_of(epoch), self.now()))
        self._open["round"] = max(self._open["round"], epoch)
        for outcome in frontier.outcomes:
            if id(outcome) in self._counted:
                continue
            self._counted[id(outcome)] = outcome
            self._ended.append(outcome)
            url = frontier.names[outcome.source]
            record = self._known.get(url, {})
            reason = self._reasons.of(url)
            same = outcome.kind != FOUND and record.get("status") == outcome.status
            if same and record["reason"] and not reason:
                text = record["reason"]  # logged before a kill
            else:
                text = _reason(outcome.kind, outcome.status, reason)
            if outcome.kind == FOUND and IDS_CHANGE in outcome.memory:  # noted by the reader
                text = IDS_CHANGE
            self._known[url] = record | {
                "url": url,
                "status": outcome.status,
                "reason": text,
                "last": now,
                "fetches": record.get("fetches", 0) + 1,
                "items": record.get("items", 0) + outcome.items,
            }
            counts = self._open["counts"].setdefault(url, [0, 0])
            counts[0] += 1
            counts[1] += outcome.items

    def close(self, reason: str) -> Any:
        """End the crawl; print what has been fetched since the last line."""
        last = super().close(reason)
        logging.getLogger(requests.__name__).removeFilter(self._reasons)
        if hasattr(self, "_predicted"):  # else the crawl was refused, and its files stay
            self._count(self.frontier.epoch)
            self._write_feeds()
            if ended := self._ended:
                items = _counted(sum(outcome.items for outcome in ended), "new item")
                print(f"after that: {_counted(len(ended), 'feed')} fetched, {items}", flush=True)
        return last

    def _predict(self) -> None:
        """Note the learned rate of each feed, and when it is fetched next, as expected now."""
        frontier = self.frontier
        rate = getattr(frontier.policy, "rate", None)
        soonest = next_rounds(frontier, self._given.budget)
        self._predicted: dict[str, tuple[float | None, str]] = {}
        for i, url in enumerate(frontier.names):
            a_day = None
            if rate is not None and frontier.memory[i]:  # the policy learns, and has seen the feed
                a_day = round(float(rate[i] * DAY / frontier.seconds), 3)
            self._predicted[url] = a_day, _iso(self._time_of(int(soonest[i])))

    def _write_feeds(self) -> None:
        """Write what ``status`` shows."""
        begun, frontier, rows = time.monotonic(), self.frontier, []
        ids_change = getattr(frontier.policy, "ids_change", np.zeros(len(frontier.names), bool))
        for i, url in enumerate(frontier.names):
            blank = {"status": 0, "reason": "", "last": "", "fetches": 0, "items": 0}
            feed, record = self._feeds.get(url, Feed(url, url)), self._known.get(url, {})
            a_day, soonest = self._predicted.get(url, (None, ""))
            if ids_change[i] and not record.get("reason"):
                record = record | {"reason": ALL_NEW}
            rows.append(
                blank
                | record
                | feed._asdict()
                | {"failures": int(frontier.failures[i]), "items_a_day": a_day, "next": soonest}
            )
        state = {
            "every": self._given.period,
            "policy": self._options["policy"],
            "options": self._options,
            "rounds": frontier.epoch,
            "budget": self._given.budget,
            "next_round": _iso(self._time_of(frontier.epoch + frontier.is_open)),
            "open": self._open,
            "feeds": rows,
            **({"hubs": self._signals.table()} if self._signals is not None else {}),
        }
        with replacing(self._path) as file:
            file.write(json.dumps(state, indent=1, ensure_ascii=False).encode())
        now = time.monotonic()
        self._next_writing = now + max(REWRITE, 50 * (now - begun))

    def _time_of(self, epoch: int) -> float:
        return self._began + epoch * self._given.period

    def _say_start(self) -> None:
        frontier = self.frontier
        new = sum(not kind for kind in frontier.kind)
        size = _counted(len(frontier.names), "feed")
        parts = [f"{size}, up to {self._given.budget} fetched in a round"]
        parts += self._changes
        if frontier.epoch:
            parts.append(f"continued after {_counted(frontier.epoch, 'round')}")
        if new:
            parts.append(f"{_counted(new, 'feed')} fetched for the first time")
        if not frontier.is_open and self.now() < self._next_epoch() < math.inf:
            parts.append(f"next round at {_clock(self._next_epoch())}")
        print("; ".join(parts), flush=True)

    def _troubles(self) -> dict[str, str]:
        """Return why each feed is in trouble, by its address."""
        return {url: feed["reason"] for url, feed in self._known.items() if feed["reason"]}

    def _say_round(self) -> None:
        """Print a line for a round, and one for each of the first feeds in trouble since then."""
        reasons = self._troubles()
        troubled = [url for url in self.frontier.names if url in reasons]
        fresh = [url for url in troubled if reasons[url] != self._printed.get(url)]
        self._printed = reasons
        ended, self._ended = self._ended, []
        items = sum(outcome.items for outcome in ended)
        line = (
            f"{_clock(self.now())} round {self.frontier.epoch}: "
            f"{_counted(len(ended), 'feed')} fetched, {_counted(items, 'new item')}, "
            f"{_counted(len(troubled), 'feed')} in trouble"
        )
        if self.frontier.late:
            line += f", {len(self.frontier.late)} under way"
        if not self._done:
            line += f"; next round at {_clock(self._time_of(self.frontier.epoch))}"
        print(line, flush=True)
        for url in fresh[:SHOWN]:
            print(f"  {url}: {reasons[url]}", flush=True)
        if len(fresh) > SHOWN:
            print(f"  and {len(fresh) - SHOWN} more: see status", flush=True)


def next_rounds(frontier: Frontier, budget: int) -> np.ndarray:
    """Predict the round in which each feed is fetched next, if nothing new is learned until then.

    A round fetches `budget` feeds, and all that were never fetched. Feeds are ranked by the index,
    or by age without one; hosts that limit fetches are ignored. A feed that is not reached in
    `FARTHEST` rounds has the first round after these, or after its rest.
    """
    policy = deepcopy(frontier.policy)  # an index may keep the ages that it was asked for
    if isinstance(policy, ListingIndex):
        policy.hold_price()  # else it is solved for in each of the rounds
    index: Callable[[Any], Any] = getattr(policy, "index", lambda age: age)
    age, soonest = frontier.age.copy(), np.full(frontier.age.size, -1)
    last = frontier.epoch + FARTHEST
    for epoch in range(frontier.epoch, last):
        if (soonest >= 0).all():
            break
        rank = np.where(age >= frontier.max_age, np.inf, np.asarray(index(age), dtype=float))
        rank[(frontier.rest_until > epoch) | (age < frontier.min_age)] = -np.inf
        new = sum(not kind for kind in frontier.kind) if epoch == frontier.epoch else 0
        first = np.argsort(-rank, kind="stable")[: max(budget, new)]
        first = first[rank[first] > -np.inf]
        soonest[first] = np.where(soonest[first] < 0, epoch, soonest[first])
        age[first] = 0
        age += 1
    return np.where(soonest < 0, np.maximum(frontier.rest_until, last), soonest)


LOCAL_SETTING, LOCAL_OPTION = "CRAWL_LOCAL_ADDRESSES is not set", "--local was not given"
"""Why an address of a local network is refused, as a setting and as an option."""


class _Reasons(logging.Filter):
    """Keeps the last reason for which the fetch of each address failed, as it is logged.

    Without a file for the log, a reason that the line of a round has is not logged, too.
    """

    def __init__(self, has_file: bool) -> None:
        super().__init__()
        self._has_file = has_file
        self._reasons: dict[str, str] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the reason of a record with an address and a reason."""
        if not isinstance(record.args, tuple) or len(record.args) != 2:
            return True
        url, reason = map(str, record.args)
        self._reasons[url] = " ".join(reason.split())[:200].replace(LOCAL_SETTING, LOCAL_OPTION)
        return self._has_file or LOCAL_SETTING not in reason

    def of(self, url: str) -> str:
        """Return and forget the reason of an address, empty if there is none."""
        return self._reasons.pop(url, "")


def _reason(kind: str, status: int, logged: str) -> str:
    """Return why a fetch brought no feed, in words; empty if it did."""
    if kind == FOUND:
        return ""
    if kind == FORBIDDEN:
        return "robots.txt forbids it"
    if status >= 300:
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "unknown"
        detail = f": {logged}" if logged and logged != f"status {status}" else ""
        return f"HTTP status {status} ({phrase}){detail}"
    return logged or ("the answer is not a feed" if status else "no answer")


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _clock(moment: float) -> str:
    """Return a local time, with its date unless that is today."""
    local = datetime.fromtimestamp(moment).astimezone()
    day = "" if local.date() == datetime.now().astimezone().date() else "%Y-%m-%d "
    return local.strftime(day + "%H:%M:%S")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def run(options: argparse.Namespace) -> int:
    """Run the command; return its exit status.

    Raises ValueError or OSError with one sentence if the list or an option is wrong.
    """
    out = Path(options.out)
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(f"--out must be a file in a folder that exists, got {options.out}")
    folder = Path(options.state) if options.state else out.with_suffix(".state")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--state must be a folder, got the file {folder}")
    saved = read_feeds(folder)
    before = saved.get("options", {})
    options_given = {name: getattr(options, name) for name in OPTIONS}
    chosen = {n: before.get(n) if value is None else value for n, value in options_given.items()}
    chosen["every"], chosen["policy"] = chosen["every"] or EVERY, chosen["policy"] or "index"
    check_choice("--policy", chosen["policy"], list(POLICIES))
    if options.until and options.until <= time.time():
        raise ValueError("--until must be a time that has not passed")
    agent = _user_agent(options.contact)
    _check_signals(options)
    address = urlsplit(options.feeds).scheme.lower() in ("http", "https")
    own_list = folder / "feeds.csv"
    feeds: list[Feed] = []
    if address:
        _address("FEEDS", options.feeds)
        if saved:  # a crawl goes on although its page may be out of reach
            feeds = [
                Feed(*(feed.get(name, "") for name in Feed._fields)) for feed in saved["feeds"]
            ]
    else:
        feeds = read_list(options.feeds)
    if not options.contact:
        print(
            "note: give sites a way to reach you, with --contact you@example.org; some block "
            "crawlers that name none",
            flush=True,
        )
    try:
        Store(folder).close()  # refused here in one sentence, by Scrapy with a traceback
    except ValueError as error:
        raise ValueError(str(error).replace("JOBDIR", "--state")) from None
    settings: dict[str, Any] = {
        "USER_AGENT": agent,
        "ROBOTSTXT_OBEY": True,
        "COOKIES_ENABLED": False,
        **({"DOWNLOAD_MAXSIZE": int(options.max_size * 2**20)} if options.max_size else {}),
        "TELNETCONSOLE_ENABLED": False,
        "CRAWL_LOCAL_ADDRESSES": options.local,
        "LOG_LEVEL": "INFO" if options.log else "WARNING",
        "LOG_FILE": options.log,
        "LOG_FORMAT": "%(asctime)s %(levelname)s: %(message)s" if options.log else "%(message)s",
    }
    process = CrawlerProcess(settings)
    ends: list[str] = []
    failures: list[Any] = []

    def crawl(_: Any = None) -> Any:
        if not feeds:
            return None
        return process.crawl(_crawler(process, settings | _crawl_settings(), ends))

    def _crawl_settings() -> dict[str, Any]:
        every = chosen["every"]
        _write_list(own_list, feeds)
        share = math.ceil(len(feeds) * every / BETWEEN)
        max_age = max(math.ceil((chosen["max_age"] or MAX_AGE) / every), 1)
        budget = min(chosen["budget"] or share, len(feeds))
        if budget * max_age < len(feeds):
            print(
                f"note: {budget} fetches in a round are too few to fetch {len(feeds)} feeds each "
                f"within --max-age: they are fetched in turn",
                flush=True,
            )
        return {
            "SCHEDULER": "analysis.crawl.run.RoundScheduler",
            "CRAWL_SOURCES": str(own_list),
            "CRAWL_BUDGET": budget,
            "CRAWL_PERIOD": every,
            "CRAWL_POLICY": POLICIES[chosen["policy"]],
            "CRAWL_MAX_AGE": max_age,
            "CRAWL_LOG_EPOCHS": max(LOGGED // budget, LAST_EPOCHS),
            "CRAWL_LOGINS": options.logins,
            "CRAWL_CALLBACK": options.callback,
            "CRAWL_LISTEN": options.listen,
            "CRAWL_PING_FILE": options.pings,
            "CRAWL_DATED_PAGES": options.dated or [],
            "JOBDIR": str(folder),
            "FEEDS": {str(out.resolve()): {"format": "jsonlines", "encoding": "utf-8"}},
            "RUN": {
                "folder": str(folder),
                "feeds": feeds,
                "options": chosen,
                "changes": _changes(before, chosen),
                "rounds": options.rounds,
                "until": options.until,
            },
        }

    reasons: list[str] = []
    if feeds:
        crawl().addErrback(failures.append)
    else:
        page_fields = {"page": options.feeds, "feeds": feeds, "reasons": reasons}
        looking = process.create_crawler(type("Page", (PageSpider,), page_fields))
        process.crawl(looking).addCallback(crawl).addErrback(failures.append)
    process.start()
    for failure in failures:
        if not failure.check(ValueError, OSError):
            failure.raiseException()
        reason = failure.getErrorMessage().replace("JOBDIR", "--state")
        raise ValueError(reason.replace("CRAWL_LISTEN", "--listen"))
    if not feeds:
        raise ValueError(f"{options.feeds}: {(reasons or ['no answer'])[-1]}")
    if ends != ["finished"]:
        print(f"stopped; the same command continues from {folder}", flush=True)
        return 130 if ends == ["shutdown"] else 1
    return 0


def _check_signals(options: argparse.Namespace) -> None:
    """Raise, naming the option, if one on pings is wrong."""
    checks: dict[str, Callable[[str], Any]] = {
        "callback": read_callback, "listen": read_listen, "pings": check_ping_file,
    }  # fmt: skip
    for name, check in checks.items():
        if text := getattr(options, name):
            try:
                check(text)
            except ValueError as error:
                raise ValueError(f"--{name} {error}") from None
    if options.logins:
        try:
            read_logins(options.logins)
        except ValueError as error:
            raise ValueError(str(error).replace("CRAWL_LOGINS", "--logins")) from None
    for url in options.dated or ():
        _address("--dated", url)
    if options.listen and not options.callback:
        raise ValueError("--listen needs --callback, the address that leads to it")


def _crawler(process: CrawlerProcess, settings: dict[str, Any], ends: list[str]) -> Crawler:
    """Return the crawler of the feeds, which adds the reason of its end to a list."""
    crawler = process.create_crawler(type("Feeds", (FeedSpider,), {"custom_settings": settings}))

    def closed(reason: str) -> None:
        ends.append(reason)

    crawler.signals.connect(closed, signals.spider_closed, weak=False)
    return crawler


def _changes(before: Mapping[str, Any], chosen: Mapping[str, Any]) -> list[str]:
    """Return in words which options differ from those of the crawl so far."""

    def shown(name: str, value: Any) -> str:
        return write_duration(value) if name in ("every", "max_age") else str(value)

    return [
        f"--{name.replace('_', '-')} is {shown(name, chosen[name])}, and was {shown(name, old)}"
        if old
        else f"--{name.replace('_', '-')} is {shown(name, chosen[name])} now"
        for name, old in before.items()
        if chosen[name] != old
    ]


def _write_list(path: Path, feeds: list[Feed]) -> None:
    """Write the list as ``CRAWL_SOURCES`` has it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["name", "url", "min_interval", "max_interval"])
    # Names of feeds may be equal, those of sources may not.
    table.writerows([feed.url, feed.url, *feed[2:]] for feed in feeds)
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def _user_agent(contact: str | None) -> str:
    if contact is None:
        return f"which-feed-next/{__version__}"
    if not re.fullmatch(r"[!-~]*(?:@|://)[!-~]+", contact) or not contact.isascii():
        raise ValueError(f"--contact must be an address of mail or web, got {contact!r}")
    return f"which-feed-next/{__version__} (+{contact})"
