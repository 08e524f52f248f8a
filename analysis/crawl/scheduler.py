"""A Scrapy scheduler that fetches sources epoch by epoch, in the order of a policy.

``SCHEDULER = "analysis.crawl.scheduler.EpochScheduler"`` makes Scrapy ask a policy of this package.
It has to be the scheduler: Scrapy's queues order requests once and for all, and an index rises with
age. Requests that a spider or a redirect adds wait in line behind those of the epoch.

Settings, beside Scrapy's own (of which ``JOBDIR`` keeps the state, ``ROBOTSTXT_OBEY``,
``ROBOTSTXT_PARSER``, ``ROBOTSTXT_USER_AGENT`` and ``USER_AGENT`` say what of robots.txt holds, and
delays, time-outs and concurrency mean what they always mean):

=================  =====================================================================
CRAWL_SOURCES      CSV file: name, url, arrival_rate, mean_utility, decay_rate per epoch
CRAWL_BUDGET       fetches in an epoch
CRAWL_PERIOD       seconds from one epoch to the next (3600)
CRAWL_EPOCHS       epochs after which the crawl ends (none: Scrapy's own limits)
CRAWL_POLICY       function ``(sources, budget, seconds) -> policy`` (`policies.index`)
CRAWL_READER       function ``(reply, memory) -> Reading`` (`reader.read_feed`)
CRAWL_CLOCK        "real", or "virtual": epochs follow at once and requests say the time
CRAWL_START        Unix time of epoch 0 in virtual time
CRAWL_SEED         seed of policies that draw (0)
CRAWL_PATIENCE     most epochs for which a failing source is left alone (64)
=================  =====================================================================

A failed fetch is not repeated within its epoch (`RetryMiddleware` leaves it alone): the frontier
knows when to come back. In real time an epoch that takes longer than its period makes the next ones
fall out; ages count them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.http import Headers, Response
from scrapy.robotstxt import RobotParser
from scrapy.utils.asyncio import call_later
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.python.failure import Failure

from analysis.checks import check_choice, check_integer, check_number
from analysis.crawl.feeds import START, Reply
from analysis.crawl.frontier import FAILED, FORBIDDEN, FOUND, Frontier, Outcome
from analysis.crawl.reader import Unreadable, conditions
from analysis.crawl.server import TIME_HEADER
from analysis.crawl.store import Log, Store
from analysis.ephemeral.sources import Sources

DEFAULTS: dict[str, Any] = {
    "CRAWL_PERIOD": 3600.0,
    "CRAWL_EPOCHS": None,
    "CRAWL_POLICY": "analysis.crawl.policies.index",
    "CRAWL_READER": "analysis.crawl.reader.read_feed",
    "CRAWL_CLOCK": "real",
    "CRAWL_START": START,
    "CRAWL_SEED": 0,
    "CRAWL_PATIENCE": 64,
}
ANSWERS = [304, *range(400, 600)]
"""Statuses, beside success, that the reader judges."""


class FeedSpider(Spider):
    """A spider without requests of its own: all of them come from the scheduler."""

    name = "feeds"

    async def start(self) -> Any:
        """Bring no requests."""
        return
        yield


class EpochScheduler(BaseScheduler):
    """Fetch what a policy chooses, epoch by epoch; see the module for the settings.

    Parameters
    ----------
    crawler : scrapy.crawler.Crawler
        Whose settings and engine are used.

    Attributes
    ----------
    frontier : Frontier
        The state of the crawl.
    store : Log
        What was fetched; on disk if there is a ``JOBDIR``.
    urls : list of str
        Address of each source.

    Raises
    ------
    ValueError
        Naming the setting, its value and what is allowed.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        settings = crawler.settings
        get = lambda name: settings.get(name, DEFAULTS.get(name))  # noqa: E731
        sources, self.urls = read_sources(get("CRAWL_SOURCES"))
        budget = check_integer("CRAWL_BUDGET", _number(get("CRAWL_BUDGET")), 1, len(self.urls))
        self._period = check_number(
            "CRAWL_PERIOD", _number(get("CRAWL_PERIOD")), 0, low_open=True, high_open=True
        )
        epochs = get("CRAWL_EPOCHS")
        self._epochs = None if epochs is None else check_integer("CRAWL_EPOCHS", _number(epochs), 0)
        clock = check_choice("CRAWL_CLOCK", get("CRAWL_CLOCK"), ("real", "virtual"))
        self._virtual = clock == "virtual"
        self._read = load_object(get("CRAWL_READER"))
        self._start = check_integer("CRAWL_START", _number(get("CRAWL_START")), 0)
        hosts = [urlsplit(url).netloc for url in self.urls]
        self._hosts = list(dict.fromkeys(hosts))
        self.frontier = Frontier(
            load_object(get("CRAWL_POLICY"))(sources, budget, self._period),
            [self._hosts.index(host) for host in hosts],
            budget,
            rng=np.random.default_rng(_number(get("CRAWL_SEED"))),
            seconds=self._period,
            patience=check_integer("CRAWL_PATIENCE", _number(get("CRAWL_PATIENCE")), 1),
        )
        self._obey = settings.getbool("ROBOTSTXT_OBEY")
        if not self._obey:
            self.frontier.crawl_delay[:] = 0.0
        self._rules: dict[int, RobotParser] = {}
        self._delays: dict[int, float] = {}
        folder = job_dir(settings)
        self.store = Store(folder) if folder else Log()
        self._queue: deque[Request] = deque()
        self._others: deque[Request] = deque()
        self._began = 0.0
        self._timer = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> EpochScheduler:
        """Build the scheduler, as Scrapy does."""
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        """Go on where the crawl was stopped, if there is a state in ``JOBDIR``."""
        self._spider = spider
        began = self.store.restore(self.frontier)
        now = 0.0 if self._virtual else time.time()
        self._began = now if began is None else began
        if not self._done and self.store.finished(self.frontier.epoch):
            self._begin()  # what a kill has left of an epoch comes first

    def has_pending_requests(self) -> bool:
        """Whether the crawl goes on."""
        return bool(self._queue or self._others or self.frontier.is_open or not self._done)

    def enqueue_request(self, request: Request) -> bool:
        """Put one of the epoch's requests first in line, and all others last."""
        if "source" in request.meta:
            self._queue.appendleft(request)
        else:
            self._others.append(request)
        return True

    def next_request(self) -> Request | None:
        """Return a request of this epoch, or of the next one when its time has come."""
        if not self._queue and not self.frontier.is_open and not self._done:
            self._advance()
        if self._queue:
            return self._queue.popleft()
        return self._others.popleft() if self._others else None

    @property
    def _done(self) -> bool:
        return self._epochs is not None and self.frontier.epoch >= self._epochs

    def _advance(self) -> None:
        """Begin the next epoch with anything to fetch, or wait for it."""
        while not self._queue and not self.frontier.is_open and not self._done:
            if not self._virtual:
                gone = (time.time() - self._began) / self._period - self.frontier.epoch
                if gone < 0:
                    self._wake_after(-gone * self._period)
                    return
                self.frontier.skip(int(gone))
            if not self._done:
                self._begin()

    def _wake_after(self, delay: float) -> None:
        """Come back at the next epoch: Scrapy asks again by itself every five seconds only."""
        if not self._timer:
            self._timer = True
            call_later(delay + 1e-3, self._wake)

    def _wake(self) -> None:
        self._timer = False
        engine = self._crawler.engine
        if self._crawler.crawling and engine.spider is not None:
            self._advance()
            if self._queue:
                engine.crawl(self._queue.popleft())

    def _begin(self) -> None:
        """Open an epoch: queue what the policy chooses and was not fetched before a kill."""
        epoch = self.frontier.epoch
        chosen = self.frontier.choose().tolist()
        before = self.store.finished(epoch) if chosen else []
        gone = {outcome.source for outcome in before}
        self._queue.extend(self._first_request(i) for i in chosen if i not in gone)
        for outcome in before:
            self.frontier.settle(outcome)
        if not self.frontier.is_open:
            self.store.save(self.frontier, self.frontier.outcomes, epoch, self._began)

    def _first_request(self, source: int) -> Request:
        """Return the request for robots.txt where its rules are not known, else for the feed."""
        host = self.frontier.hosts[source]
        if not self._obey or host in self._rules:
            return self._feed_request(source)
        parts = urlsplit(self.urls[source])
        url = f"{parts.scheme}://{parts.netloc}/robots.txt"
        return self._request(url, source, self._rules_arrived, {})

    def _feed_request(self, source: int) -> Request:
        headers = conditions(self.frontier.memory[source])
        return self._request(self.urls[source], source, self._arrived, headers)

    def _request(self, url: str, source: int, callback: Any, headers: dict[str, str]) -> Request:
        if self._virtual:
            headers[TIME_HEADER] = f"{self._start + self.frontier.epoch * self._period:.0f}"
        return Request(
            url,
            callback=callback,
            errback=self._failed,
            headers=headers,
            dont_filter=True,
            meta={
                "source": source,
                "handle_httpstatus_list": ANSWERS,
                "dont_obey_robotstxt": True,  # this class has read it, crawl delay and all
                "dont_retry": True,
            },
        )

    def _rules_arrived(self, response: Response) -> Iterator[Request]:
        """Read robots.txt: 4xx allows everything, 5xx forbids it for now (RFC 9309)."""
        source = response.meta["source"]
        host = int(self.frontier.hosts[source])
        if response.status >= 500:
            self._settle(Outcome(source, FAILED, response.status))
            return
        body = response.body if 200 <= response.status < 300 else b""
        parser = load_object(self._crawler.settings["ROBOTSTXT_PARSER"])
        self._rules[host] = build_from_crawler(parser, self._crawler, body)
        self._delays[host] = float(self._rules[host].crawl_delay(self._agent) or 0.0)
        if self._rules[host].allowed(self.urls[source], self._agent):
            yield self._feed_request(source)
        else:
            self._settle(Outcome(source, FORBIDDEN, delay=self._delay(source)))

    def _arrived(self, response: Response) -> Iterator[dict[str, Any]]:
        """Read a feed, hand its new items on, and settle the fetch."""
        source = response.meta["source"]
        reply = Reply(response.status, plain_headers(response.headers), response.body)
        try:
            reading = self._read(reply, self.frontier.memory[source])
        except Unreadable:
            self._settle(Outcome(source, FAILED, response.status, delay=self._delay(source)))
            return
        for item in reading.items:
            yield {"source": source, "epoch": self.frontier.epoch, **item}
        count, delay = len(reading.items), self._delay(source)
        found = (response.status, reading.reward, count, reading.memory, delay)
        self._settle(Outcome(source, FOUND, *found))

    def _failed(self, failure: Failure) -> None:
        """Settle a fetch that got no answer."""
        source = failure.request.meta["source"]  # type: ignore[attr-defined]
        self._settle(Outcome(source, FAILED, delay=self._delay(source)))

    @property
    def _agent(self) -> str:
        settings = self._crawler.settings
        return str(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"])

    def _delay(self, source: int) -> float | None:
        """Crawl delay of a source's host in seconds, None while its rules are unknown."""
        return self._delays.get(int(self.frontier.hosts[source]), None if self._obey else 0.0)

    def _settle(self, outcome: Outcome) -> None:
        epoch = self.frontier.epoch
        self.store.note(outcome, epoch)
        self.frontier.settle(outcome)
        if not self.frontier.is_open:
            self.store.save(self.frontier, self.frontier.outcomes, epoch, self._began)


def plain_headers(headers: Headers) -> dict[str, str]:
    """Return the last value of each header, by its name in lower case."""
    return {
        name.decode().lower(): values[-1].decode("latin-1")
        for name, values in headers.items()
        if values
    }


def read_sources(path: Any) -> tuple[Sources, list[str]]:
    """Read sources and their addresses from a CSV file.

    Returns
    -------
    sources : Sources
        Rates per epoch.
    urls : list of str

    Raises
    ------
    ValueError
        If there is no such file, or a row has no address or a rate out of range.
    """
    if not path:
        raise ValueError("CRAWL_SOURCES must be a CSV file with the columns name, url and rates")
    sources = Sources.from_csv(path)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
    if "url" not in frame.columns:
        raise ValueError(f"{path}: column 'url' is missing")
    for row, url in enumerate(frame["url"], 1):
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
            raise ValueError(
                f"{path}: row {row} below the header: url must be http(s), got {url!r}"
            )
    return sources, frame["url"].tolist()


def _number(value: Any) -> Any:
    """Return a setting as a number where it was given as text, as on Scrapy's command line."""
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value
