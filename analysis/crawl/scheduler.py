"""A Scrapy scheduler that fetches sources epoch by epoch, in the order of a policy.

``SCHEDULER = "analysis.crawl.scheduler.EpochScheduler"`` makes Scrapy use it. A policy has to be
the scheduler: Scrapy's queues order requests once, while an index increases with age. Requests that
a spider adds are queued behind those of the epoch.

`analysis.crawl.settings` lists its own settings. Of Scrapy's, ``JOBDIR`` is the folder of the
state, ``ROBOTSTXT_OBEY``, ``ROBOTSTXT_PARSER``, ``ROBOTSTXT_USER_AGENT`` and ``USER_AGENT`` apply
to robots.txt, ``REDIRECT_MAX_TIMES`` to redirects; delays, time-outs and concurrency have their
usual meaning, where a host is a name with a port. Two defaults differ from Scrapy's: robots.txt is
obeyed, and ``DOWNLOAD_TIMEOUT`` is the length of an epoch, at most 30 s, and a quarter of that for
the first request to a host. A spider of another class than `FeedSpider` needs its
``DOWNLOAD_HANDLERS``.

`analysis.crawl.fetching.requests` makes the requests, also those for robots.txt, follows redirects,
and keeps crawl delays. The fetches of an epoch are spread over its length. In real time an epoch
ends when the next one begins: unfinished fetches are late and count for the next. In virtual time
an epoch ends when its last fetch does.

A fetch is settled when Scrapy's scraper has finished its response, so that its items have left the
pipelines, and the files of ``FEEDS`` are flushed. After a kill, fetches that were not settled are
repeated: items are delivered at least once, and an incomplete last line of JSON is cut off. One
kill repeats at most as many responses as ``CONCURRENT_REQUESTS`` and the scraper hold at a time.
Where the folder cannot be written (a full disk, a locked database) the crawl waits for a minute, in
which nothing is settled or requested, and then stops.

Pings bring fetches forward if a setting names where they come from (`analysis.crawl.signals`); a
ping is read when the next epoch begins, and the fetches that it causes come first in that.

Epochs are counted by a clock that never jumps. Where the clock of the machine is set, dates of
items follow it, and the epochs go on as they were.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from os import SEEK_END, PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter
from scrapy.extensions.spiderstate import SpiderState
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import maybeDeferred

from analysis.checks import check_whole
from analysis.crawl.clock import SteadyClock
from analysis.crawl.feeds.reader import FeedReader
from analysis.crawl.feeds.reply import Reply
from analysis.crawl.fetching.download import HANDLER, LastRequests
from analysis.crawl.fetching.headers import Memory
from analysis.crawl.fetching.hosts import host_of
from analysis.crawl.fetching.requests import Job, Requests
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import NEVER, Outcome
from analysis.crawl.policies import default_max_age
from analysis.crawl.settings import (
    SourceList,
    crawl_settings,
    ends_in_newline,
    file_version,
    read_logins,
    read_sources,
)
from analysis.crawl.signals.service import CLOSING_WAIT, Signals
from analysis.crawl.store import Log, Store, Summary

PATIENCE = 60.0
"""Seconds for which the crawl tries to write its folder."""
AGAIN = 1.0
"""Seconds between two tries."""
LOOK = 0.1
"""Seconds between two looks at what hubs are to be asked."""

logger = logging.getLogger(__name__)


class FeedSpider(Spider):
    """A spider that yields no requests; the scheduler makes all of them."""

    name = "feeds"

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Add `analysis.crawl.fetching.download.Handler` unless other handlers are named."""
        super().update_settings(settings)
        handlers = dict.fromkeys(("http", "https"), HANDLER) | dict(settings["DOWNLOAD_HANDLERS"])
        settings.set("DOWNLOAD_HANDLERS", handlers, priority="spider")

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
        self._began = 0.0  # time of epoch 0, as `now` counts it
        self._clock = SteadyClock()
        self._ahead = 0.0  # seconds by which the machine's clock was ahead when last compared
        self._alarm: tuple[float, Any] | None = None
        # Outcomes that are not written yet, whether the state is not, and since when that fails.
        self._unwritten: deque[tuple[str, dict[str, Any]]] = deque()
        self._unsaved = False
        self._failing_since: float | None = None
        self._stopped = False
        self._signals: Signals | None = None
        self._server: Any = None
        self._next_look = 0.0
        self._owners: dict[str, str] = {}  # source that is fetched from an address it moved to

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
        self._has_engine = self._crawler.crawling
        try:
            self._prepare()
        except ValueError:
            self.store.close()
            if self._crawler.crawling and (extension := self._crawler.get_extension(SpiderState)):
                # Else Scrapy empties its own file in JOBDIR at the end.
                extension.spider_opened(spider)
            raise
        self._crawler.signals.connect(self._requests.received, signals.bytes_received)
        self._crawler.signals.connect(self._requests.callback_failed, signals.spider_error)
        self._crawler.signals.connect(self._mend_exports, signals.spider_opened)

    def _mend_exports(self) -> None:
        truncate_exports(self._crawler)

    def _prepare(self) -> None:
        """Check the settings, read the list of sources, and restore the state."""
        settings = self._crawler.settings
        self._given = parsed = crawl_settings(settings)
        self._requests = Requests(
            self,
            self._crawler,
            reader=parsed.reader,
            virtual=parsed.virtual,
            period=parsed.period,
            longest_rest=parsed.longest_rest,
            longest_fresh=parsed.longest_fresh,
            local_addresses=parsed.local_addresses,
            logins=read_logins(settings["CRAWL_LOGINS"]) if settings["CRAWL_LOGINS"] else None,
        )
        self._version = self._unfinished = file_version(parsed.sources)
        listed = read_sources(parsed.sources, parsed.needs_rates)
        check_whole("CRAWL_BUDGET", parsed.budget, 1, len(listed.urls))
        self.frontier = self._frontier(listed)
        folder = settings["JOBDIR"]
        self.store = Store(folder, parsed.log_epochs) if folder else Log(parsed.log_epochs)
        began = self.store.restore(self.frontier)
        self._began = self.now() if began is None else self._possible_beginning(began)
        self._place(range(len(self.frontier.names)))
        delays = dict(self.frontier.crawl_delay)
        self._requests.delays = delays
        self._requests.requested = dict.fromkeys(delays, self.now())  # as if requested just now
        self._before = self.store.finished(self.frontier)
        if parsed.signals:
            self._open_signals(folder)
        self._resume()

    def _open_signals(self, folder: str | None) -> None:
        """Take up what is known of pings, and listen to those that come."""
        parsed = self._given
        self._signals = Signals(
            self,
            parsed.signals,
            folder,
            local_addresses=parsed.local_addresses,
            reads_feeds=isinstance(parsed.reader, FeedReader),
            virtual=parsed.virtual,
        )
        self._signals.restore()
        self.frontier.pinged = self._signals.order
        if parsed.signals.callback and self._has_engine:
            from analysis.crawl.signals.server import Server  # after Scrapy's choice of a reactor

            self._server = Server(self._signals.accepts_path, self._signals.answer)
            try:
                self._server.listen(*parsed.signals.listen)
            except OSError as error:  # CannotListenError is one by its cause
                raise ValueError(f"CRAWL_LISTEN must be free: {error}") from None

    def _possible_beginning(self, began: float) -> float:
        """Return when epoch 0 began, so that the next epoch does not lie in the far future.

        The next epoch begins at most one epoch after the state was saved. If it lies farther ahead,
        the clock was ahead then, or has been set back since.
        """
        ahead = began + self.frontier.epoch * self._given.period - self.now()
        if self._given.virtual or ahead <= self._given.period:
            return began
        logger.warning(
            "the clock is %.0f s behind that of the saved crawl: its next epoch begins now", ahead
        )
        return began - ahead

    def _resume(self) -> None:
        """Continue an epoch that was interrupted by a kill."""
        if self._before and not self._done:
            # Epochs that were skipped after the state are skipped again: else these fetches would
            # be newer than the next state, too, and be taken up once more.
            self.frontier.skip(max(self.store.last_epoch() - self.frontier.epoch, 0))
            self._begin()

    def close(self, reason: str) -> Any:
        """Settle the fetches whose items have left the pipelines, and close the files.

        Return what Scrapy waits for: hubs that are told that the crawl ends.
        """
        if hasattr(self, "frontier"):  # else the settings were refused
            self._settle_scraped()
            self._requests.close()
            if waiting := len(self._unwritten):
                logger.warning("%d fetches were not written and will be repeated", waiting)
        if self._alarm:
            self._alarm[1].cancel()
        last_requests = self._signals.unsubscribe_all() if self._signals is not None else []
        self.store.close()
        if self._server is not None:
            return deferred_from_coro(self._leave_hubs(last_requests))
        return None

    async def _leave_hubs(self, requests: Sequence[Request]) -> None:
        """Give up subscriptions, for some seconds at most, and listen no more."""
        try:
            if requests and self._signals is not None:
                await LastRequests(self._crawler).send(
                    requests, CLOSING_WAIT, self._signals.are_all_ended
                )
        finally:
            await maybe_deferred_to_future(maybeDeferred(self._server.stop))

    def has_pending_requests(self) -> bool:
        """Whether the crawl has not ended."""
        frontier = self.frontier
        requests = len(self._requests) or self._requests.ended or self._unwritten
        under_way = requests or self._released or self._others
        return bool(under_way or frontier.is_open or frontier.late or not self._done)

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request of the epoch before all others, and any other request last."""
        (self._released if "job" in request.meta else self._others).append(request)
        return True

    def next_request(self) -> Request | None:
        """Return a request of this epoch, or of the next one if its time has come."""
        if not self._settle_scraped():
            self.wait()
            return None
        if self._signals is not None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK
            self._released.extend(self._signals.requests(self._given.period))
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
        """Return the time by which epochs and rests are counted: the Unix time, without jumps.

        It is that of the epoch in virtual time.
        """
        if self._given.virtual:
            return self._given.start + self.frontier.epoch * self._given.period
        return self._clock.now()

    def wall_time(self) -> float:
        """Return the Unix time by the clock of the machine, or that of the epoch."""
        return self.now() + (0.0 if self._given.virtual else self._clock.compute_offset())

    def _compare_clocks(self) -> None:
        """Warn if the clock of the machine has been set by more than an epoch."""
        ahead = self._clock.compute_offset()
        if abs(ahead - self._ahead) > self._given.period:
            logger.warning(
                "the clock was set %s by %.0f s: the epochs go on as before",
                "forward" if ahead > self._ahead else "back",
                abs(ahead - self._ahead),
            )
            self._ahead = ahead

    def owner(self, url: str) -> str | None:
        """Return the source that is fetched from a URL: its own, or the target of its redirects."""
        if url in self.frontier.number:
            return url
        name = self._owners.get(url)
        if name is None or name not in self.frontier.number:
            return None
        return name if self._moved(self.frontier.number[name]) == url else None

    def announce(self, name: str, hubs: Sequence[str], topic: str) -> None:
        """Note the hubs that announce the items of a source, and its address with them."""
        if self._signals is not None:
            self._signals.announce(name, hubs, topic)

    def deliver(self, source: str, reply: Reply, hub: str) -> None:
        """Have the items in a reply of a hub read and exported."""
        self._released.append(self._requests.delivery(source, reply, hub))

    def _frontier(self, listed: SourceList) -> Frontier:
        """Return a new frontier for a list of sources."""
        parsed = self._given
        budget = min(parsed.budget, len(listed.urls))
        policy = parsed.policy(listed.sources, budget, parsed.period)
        most = parsed.max_age
        if most == NEVER:
            most = default_max_age(policy, len(listed.urls), budget, parsed.period)
        min_age, max_age = listed.ages(parsed.period, parsed.min_age, max(most, parsed.min_age))
        return Frontier(
            policy,
            [host_of(url) for url in listed.urls],
            budget,
            rng=np.random.default_rng(parsed.seed),
            seconds=parsed.period,
            patience=parsed.patience,
            longest=parsed.longest_rest,
            names=listed.urls,
            min_age=min_age,
            max_age=max_age,
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
                self._unsaved = True
            if not self._write():
                return
            if not self._given.virtual:
                self._compare_clocks()
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
        try:
            names = self.store.asked_again()
        except sqlite3.Error as error:
            logger.warning("the requested URLs are read at the next epoch: %s", error)
            return
        for name in names:
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
            new = self._frontier(read_sources(self._given.sources, self._given.needs_rates))
            new.restore(old.state())
        except (OSError, ValueError) as error:
            logger.error("The list of sources is unchanged: %s", error)
            return
        new.pinged = old.pinged
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
        settled = set[int]()
        for outcome in before:
            # Both a late fetch and the next one of its source may be newer than the state.
            if outcome.source not in chosen or outcome.source in settled:
                frontier.expect(outcome.source)
            frontier.settle(outcome)
            settled.add(outcome.source)
        if not frontier.is_open:
            self._unsaved = True
            self._write()

    def _spread(self, sources: list[int], ends: float) -> None:
        """Queue the fetches of an epoch: those of a host evenly over its time, host by host."""
        now = self.now()
        hosts: dict[str, list[Job]] = {}
        pinged = self.frontier.pinged.taken if self.frontier.pinged is not None else ()
        for i in sources:
            name, url = self.frontier.names[i], self._address(i)
            job = Job(url, name, moved="" if url == name else url)
            if i in pinged:
                self._requests.push(job, now)
                continue
            hosts.setdefault(host_of(job.url), []).append(job)
        for number, jobs in enumerate(hosts.values()):
            for k, job in enumerate(jobs):
                share = (k + number / len(hosts)) / len(jobs)
                self._requests.push(job, now + share * max(ends - now, 0.0))

    def _address(self, source: int) -> str:
        """Return the URL of a source: the target of its permanent redirects.

        It is its own if that target has failed, or is that of another source.
        """
        name, moved = self.frontier.names[source], self._moved(source)
        usable = moved and not self.frontier.failures[source] and self.owner(moved) in (None, name)
        return moved if usable else name

    def _moved(self, source: int) -> str:
        """Return the target of the permanent redirects of a source, empty if there are none."""
        return Memory.read(self.frontier.memory[source]).moved

    def _place(self, sources: Iterable[int]) -> None:
        """Assign each source to the host of its current URL."""
        for i in sources:
            moved = self._moved(i)
            if moved and self.owner(moved) is None:
                self._owners[moved] = self.frontier.names[i]
            self.frontier.move(i, host_of(self._address(i)))

    def may_request(self, job: Job) -> bool:
        """Return whether this process may send requests to the host of a job."""
        return True

    def _settle_scraped(self) -> bool:
        """Settle the fetches whose items have left the pipelines; return whether all is written."""
        ended = self._requests.ended
        slot = self._crawler.engine.scraper.slot if self._crawler.crawling else None
        active = slot.active if slot else ()
        self._requests.ended = [entry for entry in ended if entry[0] in active]
        over = [(source, fields) for request, source, fields in ended if request not in active]
        self._unwritten.extend(over)
        return self._write(flush=bool(over))

    def settle(self, name: str, **fields: Any) -> None:
        """Log how the fetch of a source ended, and pass it to the frontier."""
        self._unwritten.append((name, fields))
        self._write()

    def _write(self, flush: bool = False) -> bool:
        """Write what has ended, and the state if an epoch has; return whether all is written.

        What cannot be written is kept for the next call, so that no source is lost. `flush`:
        whether items were exported.
        """
        if self._stopped:
            return False
        try:
            if (flush or self._failing_since is not None) and self._crawler.crawling:
                flush_exports(self._crawler)
            while self._unwritten or self._unsaved:
                if self._unsaved:  # before what belongs to the next epoch
                    self._save()
                    self._unsaved = False
                else:
                    self._settle_first()
                    self._unwritten.popleft()
        except (OSError, sqlite3.Error) as error:
            self._try_again(error)
            return False
        except Exception as error:
            logger.exception("the policy failed")
            self._stop(f"its policy failed: {error!r}")
            return False
        if self._failing_since is not None:
            logger.warning("the crawl goes on: what it has found is written")
            self._failing_since = None
        return True

    def _settle_first(self) -> None:
        """Log the first outcome that is not written yet, and pass it to the frontier."""
        name, fields = self._unwritten[0]
        frontier = self.frontier
        if "pushed" in fields:
            if self._signals is not None:
                self._signals.delivered(name, fields["pushed"], fields["hub"], fields["time"])
            return
        if name not in frontier.number:
            return  # no longer listed
        source, epoch = frontier.number[name], frontier.epoch
        host = host_of(self._address(source))
        outcome = Outcome(source, delay=self._requests.delay_of(host), **fields)
        self.store.note(frontier, outcome)
        if self._signals is not None:
            self._signals.crawled(name, outcome)
        frontier.settle(outcome)
        self._requests.rest(name, outcome.rest)
        self._requests.rest(host, outcome.host_rest)
        self._unsaved = self._unsaved or frontier.epoch > epoch

    def _try_again(self, error: Exception) -> None:
        """Wait a second before the next try to write; stop the crawl after `PATIENCE`."""
        now = self._clock.now()
        if self._failing_since is None:
            self._failing_since = now
            logger.warning(
                "what was found cannot be written (%s): trying again for %.0f s", error, PATIENCE
            )
        if now - self._failing_since > PATIENCE or not isinstance(
            error, OSError | sqlite3.OperationalError
        ):
            self._stop(f"what was found cannot be written ({error})")

    def _stop(self, reason: str) -> None:
        """Stop the crawl with one sentence; it can be continued from its folder."""
        if self._stopped:
            return
        self._stopped = True
        if not self._has_engine:
            raise RuntimeError(f"the crawl stops: {reason}")
        logger.critical("The crawl stops: %s", reason)
        if self._crawler.crawling:
            deferred_from_coro(self._crawler.stop_async())

    def _save(self) -> None:
        """Save the state at the end of an epoch, and log its summary."""
        self._place(outcome.source for outcome in self.frontier.outcomes)
        signals = self._signals.state() if self._signals is not None else ""
        self.store.save(self.frontier, self._began + self.wall_time() - self.now(), signals)
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
        if self._failing_since is not None:
            due = self.now() + AGAIN
        if self._signals is not None:
            due = min(due, self.now() + AGAIN)
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


# Files of Scrapy's ``FEEDS``: flushed before a fetch is settled, and repaired after a kill.

BLOCK = 64 * 1024
"""Bytes that are read at once in search of a line break."""
JSON_LINES = ("jsonlines", "jsonl", "jl")
"""Scrapy's names of the format."""


def _slots(crawler: Crawler) -> Iterator[Any]:
    """Yield Scrapy's entries of the files to which items are exported."""
    exporter = crawler.get_extension(FeedExporter)
    yield from exporter.slots if exporter else ()


def flush_exports(crawler: Crawler) -> None:
    """Flush the files of ``FEEDS``."""
    for slot in _slots(crawler):
        if slot.file is not None:
            slot.file.flush()


def truncate_exports(crawler: Crawler) -> None:
    """Cut off an incomplete last line, left by a kill, in files of ``FEEDS``.

    This concerns JSON Lines to which the crawl appends; the items are exported again.
    """
    for slot in _slots(crawler):
        path = getattr(slot.storage, "path", None)
        appends = getattr(slot.storage, "write_mode", "") == "ab"
        if path and slot.format in JSON_LINES and appends:
            cut_torn_line(path)


def cut_torn_line(path: str | PathLike[str]) -> None:
    """Cut a file after its last line break; do nothing if there is no regular file."""
    if not Path(path).is_file():
        return
    with open(path, "rb+") as file:
        start = size = file.seek(0, SEEK_END)
        length = 0
        while start and not length:
            step = min(start, BLOCK)
            start -= step
            file.seek(start)
            length = file.read(step).rfind(b"\n") + 1
        if start + length < size:
            file.truncate(start + length)
