"""A Scrapy scheduler that fetches sources epoch by epoch, in the order of a policy.

``SCHEDULER = "analysis.crawl.scheduler.EpochScheduler"`` makes Scrapy use it. A policy has to be
the scheduler: Scrapy's queues order requests once, while an index increases with age. Requests that
a spider adds are queued behind those of the epoch.

`analysis.crawl.settings` lists its own settings. Of Scrapy's, ``JOBDIR`` is the folder of the
state, ``ROBOTSTXT_OBEY``, ``ROBOTSTXT_PARSER``, ``ROBOTSTXT_USER_AGENT`` and ``USER_AGENT`` apply
to robots.txt, ``REDIRECT_MAX_TIMES`` to redirects; delays, time-outs and concurrency have their
usual meaning.

`analysis.crawl.fetching.requests` makes the requests, also those for robots.txt, follows redirects,
and keeps crawl delays. The fetches of an epoch are spread over its length. In real time an epoch
ends when the next one begins: unfinished fetches are late and count for the next. In virtual time
an epoch ends when its last fetch does.

A fetch is settled when Scrapy's scraper has finished its response, so that its items have left the
pipelines, and the files of ``FEEDS`` are flushed. After a kill, fetches that were not settled are
repeated: items are delivered at least once, and an incomplete last line of JSON is cut off. One
kill repeats at most as many responses as ``CONCURRENT_REQUESTS`` and the scraper hold at a time.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.extensions.spiderstate import SpiderState
from scrapy.utils.asyncio import call_later
from scrapy.utils.job import job_dir

from analysis.checks import check_whole
from analysis.crawl.fetching.headers import Memory
from analysis.crawl.fetching.hosts import (
    host_of,
)
from analysis.crawl.fetching.requests import Job, Requests
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import Outcome
from analysis.crawl.settings import (
    SourceList,
    crawl_settings,
    ends_in_newline,
    file_version,
    read_sources,
)
from analysis.crawl.storage.exports import flush_exports, mend_exports
from analysis.crawl.storage.store import Log, Store
from analysis.crawl.storage.summary import Summary

logger = logging.getLogger(__name__)


class FeedSpider(Spider):
    """A spider that yields no requests; the scheduler makes all of them."""

    name = "feeds"

    async def start(self) -> Any:
        """Yield no requests."""
        return
        yield


class EpochScheduler(BaseScheduler):
    """Fetch the sources that a policy chooses, epoch by epoch; see the module for the settings.

    Parameters
    ----------
    crawler : scrapy.crawler.Crawler
        Supplies settings and engine.

    Attributes
    ----------
    frontier : Frontier
        The state of the crawl, once it is open.
    store : Log
        Log of the fetches; on disk if there is a ``JOBDIR``.
    """

    frontier: Frontier

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.store = Log()
        self._released: deque[Request] = deque()
        self._others: deque[Request] = deque()
        self._before: list[Outcome] = []  # outcomes of the open epoch before a kill
        self._began = 0.0
        self._alarm: tuple[float, Any] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> EpochScheduler:
        """Build the scheduler, as Scrapy does."""
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        """Prepare the crawl; continue from the state in ``JOBDIR`` if there is one.

        Raises
        ------
        ValueError
            Naming the setting, its value and what is allowed, or the invalid file of the state.
        """
        try:
            self._prepare()
        except ValueError:
            if self._crawler.crawling and (kept := self._crawler.get_extension(SpiderState)):
                kept.spider_opened(spider)  # else Scrapy empties its own file in JOBDIR at the end
            raise
        self._crawler.signals.connect(self._requests.received, signals.bytes_received)
        self._crawler.signals.connect(self._requests.callback_failed, signals.spider_error)
        self._crawler.signals.connect(self._mend_exports, signals.spider_opened)

    def _mend_exports(self) -> None:
        mend_exports(self._crawler)

    def _prepare(self) -> None:
        """Check the settings, read the list of sources, and restore the state."""
        settings = self._crawler.settings
        self._given = given = crawl_settings(settings)
        self._requests = Requests(
            self,
            self._crawler,
            reader=given.reader,
            virtual=given.virtual,
            longest_rest=given.longest_rest,
            local_addresses=given.local_addresses,
        )
        self._version = self._unfinished = file_version(given.sources)
        listed = read_sources(given.sources)
        check_whole("CRAWL_BUDGET", given.budget, 1, len(listed.urls))
        self.frontier = self._frontier(listed)
        if folder := job_dir(settings):
            self.store = Store(folder)
        began = self.store.restore(self.frontier)
        self._began = self.now() if began is None else began
        self._place(range(len(self.frontier.names)))
        delays = dict(self.frontier.crawl_delay)
        self._requests.delays = delays
        self._requests.requested = dict.fromkeys(delays, self.now())  # as if requested just now
        self._before = self.store.finished(self.frontier)
        self._resume()

    def _resume(self) -> None:
        """Continue an epoch that was interrupted by a kill."""
        if self._before and not self._done:
            self._begin()

    def close(self, reason: str) -> None:
        """Settle the fetches whose items have left the pipelines, and close the files."""
        if hasattr(self, "frontier"):  # else the settings were refused
            self._settle_scraped()
            self._requests.close()
        self.store.close()

    def has_pending_requests(self) -> bool:
        """Whether the crawl has not ended."""
        frontier = self.frontier
        requests = len(self._requests) or self._requests.ended
        under_way = requests or self._released or self._others
        return bool(under_way or frontier.is_open or frontier.late or not self._done)

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request of the epoch before all others, and any other request last."""
        (self._released if "job" in request.meta else self._others).append(request)
        return True

    def next_request(self) -> Request | None:
        """Return a request of this epoch, or of the next one if its time has come."""
        self._settle_scraped()
        if self._released:
            return self._released.popleft()
        self._advance()
        self._end()
        now = self.now()
        while (job := self._requests.pop(now)) is not None:
            request = self._requests.release(job)
            if request is not None:
                return request
            self._advance()
        if self._others:
            return self._others.popleft()
        self.wait()
        return None

    @property
    def _done(self) -> bool:
        epochs = self._given.epochs
        return epochs is not None and self.frontier.epoch >= epochs

    def now(self) -> float:
        """Return the Unix time, or that of the epoch in virtual time."""
        if self._given.virtual:
            return self._given.start + self.frontier.epoch * self._given.period
        return time.time()

    def _frontier(self, listed: SourceList) -> Frontier:
        """Return a new frontier for a list of sources."""
        given = self._given
        budget = min(given.budget, len(listed.urls))
        return Frontier(
            given.policy(listed.sources, budget, given.period),
            [host_of(url) for url in listed.urls],
            budget,
            rng=np.random.default_rng(given.seed),
            seconds=given.period,
            patience=given.patience,
            longest=given.longest_rest,
            names=listed.urls,
            min_age=given.min_age,
            max_age=given.max_age,
        )

    def _next_epoch(self) -> float:
        """Return the time at which the next epoch begins."""
        epoch = self.frontier.epoch + self.frontier.is_open
        if self._given.epochs is not None and epoch >= self._given.epochs:
            return np.inf  # there is no epoch after the last one
        return self._began + epoch * self._given.period

    def _advance(self) -> None:
        """Begin every epoch whose time has come, until one has something to fetch."""
        while not self._done:
            if self._given.virtual:
                if self.frontier.is_open:
                    return
            elif self.now() < self._next_epoch():
                return
            elif self.frontier.is_open:
                self.frontier.close()
                self._save()
            if not self._given.virtual:
                self._look_for_changes()
            self._revive()
            if not self._given.virtual:
                gone = (self.now() - self._began) / self._given.period
                self.frontier.skip(max(int(gone) - self.frontier.epoch, 0))
            if not self._done:
                self._begin()

    def _end(self) -> None:
        """Give up what is not due yet once the last epoch is over."""
        epochs, now = self._given.epochs, self.now()
        limited = epochs is not None and not self._given.virtual
        if limited and now >= self._began + (epochs or 0) * self._given.period:
            self._requests.give_up(now)

    def _revive(self) -> None:
        """Make sources available again that were named with the command ``ask``."""
        for name in self.store.asked_again():
            if name in self.frontier.number:
                self.frontier.revive(self.frontier.number[name])
                self._requests.revive(name)

    def _look_for_changes(self) -> None:
        """Read the list of sources again if it has changed; keep the old one if it is invalid.

        The state of a source is kept by its URL; a new source has never been fetched.
        """
        version = file_version(self._given.sources)
        if version == self._version:
            return
        if version != self._unfinished and not ends_in_newline(self._given.sources):
            self._unfinished = version  # it may be incomplete: used if it does not change
            return
        self._version = version
        old = self.frontier
        try:
            new = self._frontier(read_sources(self._given.sources))
            new.restore(old.state())
        except (OSError, ValueError) as error:
            logger.error("The list of sources stays as it was: %s", error)
            return
        for source in old.late:
            if old.names[source] in new.number:
                new.expect(new.number[old.names[source]])
        self.frontier = new
        self._place(range(len(new.names)))
        logger.info("The list of sources has changed: %d sources", len(new.names))

    def _begin(self) -> None:
        """Open an epoch: queue the chosen sources that were not fetched before a kill."""
        frontier = self.frontier
        ends = self._began + (frontier.epoch + 1) * self._given.period
        chosen = frontier.choose().tolist()
        before, self._before = self._before, []
        gone = {outcome.source for outcome in before}
        self._spread([i for i in chosen if i not in gone], ends)
        for outcome in before:
            if outcome.source not in chosen:
                frontier.expect(outcome.source)
            frontier.settle(outcome)
        if not frontier.is_open:
            self._save()

    def _spread(self, sources: list[int], ends: float) -> None:
        """Queue the fetches of an epoch: those of a host evenly over its time, host by host."""
        now = self.now()
        hosts: dict[str, list[Job]] = {}
        for i in sources:
            name, url = self.frontier.names[i], self._address(i)
            job = Job(url, name, moved="" if url == name else url)
            hosts.setdefault(host_of(job.url), []).append(job)
        for place, jobs in enumerate(hosts.values()):
            for k, job in enumerate(jobs):
                share = (k + place / len(hosts)) / len(jobs)
                self._requests.push(job, now + share * max(ends - now, 0.0))

    def _address(self, source: int) -> str:
        """Return the URL of a source: the target of its permanent redirect, unless that failed."""
        moved = Memory.read(self.frontier.memory[source]).moved
        return (
            moved if moved and not self.frontier.failures[source] else self.frontier.names[source]
        )

    def _place(self, sources: Iterable[int]) -> None:
        """Assign each source to the host of its current URL."""
        for i in sources:
            self.frontier.move(i, host_of(self._address(i)))

    def may_request(self, job: Job) -> bool:
        """Return whether this process may send requests to the host of a job."""
        return True

    def _settle_scraped(self) -> None:
        """Settle the fetches whose items have left the pipelines."""
        ended = self._requests.ended
        if not ended:
            return
        slot = self._crawler.engine.scraper.slot if self._crawler.crawling else None
        active = slot.active if slot else ()
        over = [entry for entry in ended if entry[0] not in active]
        if over and self._crawler.crawling:
            flush_exports(self._crawler)
        self._requests.ended = [entry for entry in ended if entry[0] in active]
        for _, source, found in over:
            self.settle(source, **found)

    def settle(self, name: str, **found: Any) -> None:
        """Log how the fetch of a source ended, and pass it to the frontier."""
        frontier = self.frontier
        if name not in frontier.number:
            return  # no longer listed
        source, epoch = frontier.number[name], frontier.epoch
        host = host_of(self._address(source))
        outcome = Outcome(source, delay=self._requests.delay_of(host), **found)
        self._requests.rest(name, outcome.rest)
        self._requests.rest(host, outcome.host_rest)
        self.store.note(frontier, outcome)
        frontier.settle(outcome)
        if frontier.epoch > epoch:
            self._save()

    def _save(self) -> None:
        """Save the state at the end of an epoch, and log its summary."""
        self._place(outcome.source for outcome in self.frontier.outcomes)
        self.store.save(self.frontier, self._began)
        if self._crawler.crawling:
            summary = Summary.of(self.frontier)
            logger.info("%s", summary.line())
            for name, value in summary.stats().items():
                self._crawler.stats.set_value(f"crawl/{name}", value)

    def wait(self) -> None:
        """Set a timer for the next request: Scrapy calls `next_request` every five seconds only."""
        if self._given.virtual:
            return
        due = min(self._next_epoch(), self._requests.due)
        if self._alarm and self._alarm[0] <= due and self._alarm[0] > self.now():
            return
        if self._alarm:
            self._alarm[1].cancel()
        self._alarm = None
        if due < np.inf:
            delay = max(due - self.now(), 0.0) + 1e-3
            self._alarm = (due, call_later(delay, self._wake))

    def _wake(self) -> None:
        self._alarm = None
        if not self._crawler.crawling:
            return
        engine = self._crawler.engine
        if engine.spider is not None and not engine.needs_backout():
            request = self.next_request()
            if request is not None:
                engine.crawl(request)
