"""A Scrapy scheduler that fetches sources epoch by epoch, in the order of a policy.

``SCHEDULER = "analysis.crawl.scheduler.EpochScheduler"`` makes Scrapy ask a policy of this package.
It has to be the scheduler: Scrapy's queues order requests once and for all, and an index rises with
age. Requests that a spider adds wait in line behind those of the epoch.

`analysis.crawl.settings` lists the settings of its own. Of Scrapy's, ``JOBDIR`` keeps the state,
``ROBOTSTXT_OBEY``, ``ROBOTSTXT_PARSER``, ``ROBOTSTXT_USER_AGENT`` and ``USER_AGENT`` say what of
robots.txt holds, ``REDIRECT_MAX_TIMES`` how many redirects are followed; delays, time-outs and
concurrency mean what they always mean.

Nothing is asked of a host but what its robots.txt allows, redirect targets included, and nothing
sooner than its crawl delay after the request before: the scheduler follows redirects itself and
asks for robots.txt itself, so that both hold for every request of it. The fetches of an epoch are
spread over its length. In real time an epoch ends when the next one begins: what is under way then
is late and counts for the next. In virtual time an epoch takes as long as it takes.

A fetch is settled when Scrapy's scraper has done with its response, so that its items have left the
pipelines, and the files of ``FEEDS`` are flushed. A kill before that makes the fetch again: items
are delivered at least once, and a line of JSON that the kill has torn is cut off. What one kill can
repeat is what was under way: at most as many responses as ``CONCURRENT_REQUESTS`` and the scraper
hold at a time.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from os import SEEK_END, PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies

import numpy as np
from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.extensions.feedexport import FeedExporter
from scrapy.extensions.spiderstate import SpiderState
from scrapy.http import Headers, Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.job import job_dir
from twisted.python.failure import Failure

from analysis.checks import check_integer
from analysis.crawl.feeds.reader import Unreadable
from analysis.crawl.feeds.reply import Reply
from analysis.crawl.fetching.headers import MOVED, MOVED_FOR_GOOD, Memory, fresh_for, retry_after
from analysis.crawl.fetching.hosts import (
    MOST_ROBOTS,
    Network,
    Robots,
    authority_of,
    host_of,
    plain_address,
)
from analysis.crawl.fetching.virtual_time import TIME_HEADER
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import FAILED, FORBIDDEN, FOUND, GONE, Outcome
from analysis.crawl.settings import SourceList, crawl_settings, file_version, read_sources
from analysis.crawl.storage.store import Log, Store
from analysis.crawl.storage.summary import Summary

BLOCK = 64 * 1024
"""Bytes that are read at once in search of a line break."""
MOST_BYTES = 10 * 1024 * 1024
"""Bytes of a body, as sent and unpacked, beyond which a fetch fails."""
JSON_LINES = ("jsonlines", "jsonl", "jl")
"""Scrapy's names of the format."""
ROBOTS_HOPS = 5
"""Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2)."""

logger = logging.getLogger(__name__)


class FeedSpider(Spider):
    """A spider that yields no requests; the scheduler makes all of them."""

    name = "feeds"

    async def start(self) -> Any:
        """Yield no requests."""
        return
        yield


@dataclass(frozen=True)
class Job:
    """One request that is to be made: for the page of a source, or for a robots.txt.

    Attributes
    ----------
    url : str
        Address to ask.
    source : str
        Name of the source; empty for a robots.txt.
    authority : str
        Whose robots.txt it is; empty for a page.
    hops : int
        Redirects that led here.
    moved : str
        Where permanent redirects alone have led, empty for nowhere.
    """

    url: str
    source: str = ""
    authority: str = ""
    hops: int = 0
    moved: str = ""


class EpochScheduler(BaseScheduler):
    """Fetch what a policy chooses, epoch by epoch; see the module for the settings.

    Parameters
    ----------
    crawler : scrapy.crawler.Crawler
        Whose settings and engine are used.

    Attributes
    ----------
    frontier : Frontier
        The state of the crawl, once it is open.
    store : Log
        What was fetched; on disk if there is a ``JOBDIR``.
    """

    frontier: Frontier

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.store = Log()
        self._queue: list[tuple[float, int, Job]] = []  # by the time from which on to ask
        self._count = itertools.count()
        self._parked: dict[str, list[Job]] = {}  # pages that wait for a robots.txt, by authority
        self._ended: list[tuple[Any, str, dict[str, Any]]] = []  # items may be in a pipeline
        self._released: deque[Request] = deque()
        self._others: deque[Request] = deque()
        self._asked: dict[str, float] = {}  # time of the last request to each host
        self._closed: dict[str, float] = {}  # time before which a source or host is left alone
        self._delays: dict[str, float] = {}  # crawl delay of each host
        self._before: list[Outcome] = []  # what ended in the open epoch before a kill
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
            Naming the setting, its value and what is allowed, or the file that is no state.
        """
        try:
            self._prepare()
        except ValueError:
            if self._crawler.crawling and (kept := self._crawler.get_extension(SpiderState)):
                kept.spider_opened(spider)  # else Scrapy empties its own file in JOBDIR at the end
            raise
        self._crawler.signals.connect(self._received, signals.bytes_received)
        self._crawler.signals.connect(self._mend_files, signals.spider_opened)

    def _mend_files(self) -> None:
        """Truncate an incomplete last line, left by a kill, in files of ``FEEDS``.

        This concerns JSON Lines to which the crawl appends; the items are exported again.
        """
        exporter = self._crawler.get_extension(FeedExporter)
        for slot in exporter.slots if exporter else ():
            path = getattr(slot.storage, "path", None)
            if (
                path
                and slot.format in JSON_LINES
                and getattr(slot.storage, "write_mode", "") == "ab"
            ):
                cut_torn_line(path)

    def _prepare(self) -> None:
        """Check the settings, read the list of sources, and restore the state."""
        settings = self._crawler.settings
        self._given = given = crawl_settings(settings)
        self._obey = settings.getbool("ROBOTSTXT_OBEY")
        self._hops = settings.getint("REDIRECT_MAX_TIMES")
        self._robots = Robots(self._crawler, given.longest_rest)
        if settings.getbool("HTTPPROXY_ENABLED") and not given.local_addresses:
            _check_no_proxy()
        self._network = Network(given.local_addresses)
        self._version = self._unfinished = file_version(given.sources)
        listed = read_sources(given.sources)
        check_integer("CRAWL_BUDGET", given.budget, 1, len(listed.urls))
        self.frontier = self._frontier(listed)
        if folder := job_dir(settings):
            self.store = Store(folder)
        began = self.store.restore(self.frontier)
        self._began = self._now() if began is None else began
        self._place(range(len(self.frontier.names)))
        self._delays = dict(self.frontier.crawl_delay)
        self._asked = dict.fromkeys(self._delays, self._now())  # it may have been just before
        self._before = self.store.finished(self.frontier)
        self._resume()

    def _resume(self) -> None:
        """Continue an epoch that a kill has interrupted."""
        if self._before and not self._done:
            self._begin()

    def close(self, reason: str) -> None:
        """Settle what has left the pipelines, and close the files."""
        self._settle_scraped()
        self.store.close()

    def has_pending_requests(self) -> bool:
        """Whether the crawl goes on."""
        frontier = self.frontier
        under_way = self._queue or self._released or self._others or self._ended
        return bool(under_way or frontier.is_open or frontier.late or not self._done)

    def enqueue_request(self, request: Request) -> bool:
        """Put one of the epoch's requests first in line, and all others last."""
        (self._released if "job" in request.meta else self._others).append(request)
        return True

    def next_request(self) -> Request | None:
        """Return a request of this epoch, or of the next one when its time has come."""
        self._settle_scraped()
        if self._released:
            return self._released.popleft()
        self._advance()
        now = self._now()
        while self._queue and (self._given.virtual or self._queue[0][0] <= now):
            request = self._release(heapq.heappop(self._queue)[2])
            if request is not None:
                return request
            self._advance()
        if self._others:
            return self._others.popleft()
        self._wait()
        return None

    @property
    def _done(self) -> bool:
        epochs = self._given.epochs
        return epochs is not None and self.frontier.epoch >= epochs

    def _now(self) -> float:
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
            return np.inf  # nothing comes after the last one
        return self._began + epoch * self._given.period

    def _advance(self) -> None:
        """Begin every epoch whose time has come, until one has something to fetch."""
        while not self._done:
            if self._given.virtual:
                if self.frontier.is_open:
                    return
            elif self._now() < self._next_epoch():
                return
            elif self.frontier.is_open:
                self.frontier.close()
                self._save()
            if not self._given.virtual:
                self._look_for_changes()
            self._revive()
            if not self._given.virtual:
                gone = (self._now() - self._began) / self._given.period
                self.frontier.skip(max(int(gone) - self.frontier.epoch, 0))
            if not self._done:
                self._begin()

    def _revive(self) -> None:
        """Make sources available again that were named with the command ``ask``."""
        for name in self.store.asked_again():
            if name in self.frontier.number:
                self.frontier.revive(self.frontier.number[name])
                self._closed.pop(name, None)

    def _look_for_changes(self) -> None:
        """Read the list of sources again if it has changed; keep the old one where it is invalid.

        The state of a source is kept by its address; a new source has never been fetched.
        """
        version = file_version(self._given.sources)
        if version == self._version:
            return
        if version != self._unfinished and not ends_in_newline(self._given.sources):
            self._unfinished = version  # it may be half written: taken up if it stays as it is
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
        """Open an epoch: queue what the policy chooses and was not fetched before a kill."""
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
        """Queue the fetches of an epoch: each host's evenly over its time, hosts one by one."""
        now = self._now()
        hosts: dict[str, list[Job]] = {}
        for i in sources:
            name, url = self.frontier.names[i], self._address(i)
            job = Job(url, name, moved="" if url == name else url)
            hosts.setdefault(host_of(job.url), []).append(job)
        for place, jobs in enumerate(hosts.values()):
            for k, job in enumerate(jobs):
                share = (k + place / len(hosts)) / len(jobs)
                self._push(job, now + share * max(ends - now, 0.0))

    def _push(self, job: Job, due: float) -> None:
        heapq.heappush(self._queue, (due, next(self._count), job))

    def _address(self, source: int) -> str:
        """Return where a source is asked: where it has moved to, unless that failed."""
        moved = Memory.read(self.frontier.memory[source]).moved
        return (
            moved if moved and not self.frontier.failures[source] else self.frontier.names[source]
        )

    def _place(self, sources: Iterable[int]) -> None:
        """Count each source for the host at which it is asked."""
        for i in sources:
            self.frontier.move(i, host_of(self._address(i)))

    def _release(self, job: Job) -> Request | None:
        """Return the request of a job, unless something has to come first or it may not be made."""
        now = self._now()
        if job.source and job.source not in self.frontier.number:
            return None  # it has left the list
        if not self._may_ask(job):
            self._failed_job(job, "its host belongs to another process")
            return None
        allowed = self._network.allows(job.url, lambda: self._push_now(job))
        if allowed is None:
            return None
        if not allowed:
            self._failed_job(job, "it is an address of a local network, or none")
            return None
        if job.source and self._obey:
            rules = self._robots.rules(job.url, now)
            if rules is None:
                authority = authority_of(job.url)
                if authority not in self._parked:
                    self._push(Job(f"{authority}/robots.txt", authority=authority), now)
                self._parked.setdefault(authority, []).append(job)
                return None
            if not self._robots.allows(rules, job.url):
                self._settle(job.source, kind=FORBIDDEN, rest=rules.expires - now)
                return None
        if not self._given.virtual:  # robots.txt keeps the delay too, once it is known
            host = host_of(job.url)
            after = self._asked.get(host, -np.inf) + self._delays.get(host, 0.0)
            due = max(after, self._closed.get(host, 0.0), self._closed.get(job.source, 0.0))
            if due > now:
                self._push(job, due)
                return None
            self._asked[host] = now
        return self._request(job)

    def _may_ask(self, job: Job) -> bool:
        """Return whether the host of a job is one that this process may ask."""
        return True

    def _push_now(self, job: Job) -> None:
        """Queue a job whose address has been looked up."""
        self._push(job, self._now())
        self._wait()

    def _request(self, job: Job) -> Request:
        headers = {}
        if job.source in self.frontier.number:
            memory = self.frontier.memory[self.frontier.number[job.source]]
            headers = Memory.read(memory).conditions(job.url)
        if self._given.virtual:
            headers[TIME_HEADER] = f"{self._now():.0f}"
        return Request(
            job.url,
            callback=self._arrived if job.source else self._rules_arrived,
            errback=self._failed,
            headers=headers,
            dont_filter=True,
            meta={
                "job": job,
                "handle_httpstatus_all": True,
                "dont_redirect": True,  # each address is checked here before it is asked
                "dont_obey_robotstxt": True,
                "dont_retry": True,  # the frontier knows when to come back
                "dont_merge_cookies": True,
                "download_maxsize": MOST_BYTES,
            },
        )

    def _received(self, data: bytes, request: Request) -> None:
        """Stop the download of a robots.txt when enough of it is there."""
        job = request.meta.get("job")
        if job is not None and job.authority:
            request.meta["received"] = request.meta.get("received", 0) + len(data)
            if request.meta["received"] > MOST_ROBOTS:
                raise StopDownload(fail=False)

    def _rules_arrived(self, response: Response) -> Iterator[Any]:
        """Parse a robots.txt or follow its redirect; then queue the pages that wait for it."""
        job = response.meta["job"]
        target = _target(response)
        if target and job.hops < ROBOTS_HOPS:
            self._push(replace(job, url=target, hops=job.hops + 1), self._now())
        else:
            wait = retry_after(plain_headers(response.headers), self._now())
            self._learn_rules(job.authority, response.status, response.body, wait)
        return iter(())

    def _learn_rules(self, authority: str, status: int, body: bytes, wait: float) -> None:
        rules = self._robots.take(authority, status, body, self._now())
        if rules is not None:
            host = host_of(authority)
            self._delays[host] = rules.delay
        for job in self._parked.pop(authority, []):
            if rules is None:
                self._settle(job.source, kind=FAILED, status=max(status, 0), host_rest=wait)
            else:
                self._push(job, self._now())

    def _arrived(self, response: Response) -> Iterator[dict[str, Any]]:
        """Read a feed or follow its redirect; yield new items."""
        job, now = response.meta["job"], self._now()
        if response.status in MOVED:
            self._follow(job, response)
            return
        headers = plain_headers(response.headers)
        found: dict[str, Any] = {"kind": FAILED, "status": response.status}
        items: Iterable[dict[str, Any]] = ()
        if response.status == 410:
            found["kind"] = GONE
        elif response.status in (429, 503):
            found["host_rest"] = retry_after(headers, now)
        elif job.source in self.frontier.number:
            reply = Reply(response.status, headers, response.body, time=now)
            found, items = self._read(job, reply, found)
        try:
            for item in items:
                yield {"source": job.source, "epoch": self.frontier.epoch, **item}
        except BaseException:  # a middleware of the spider has failed, or the crawl is ended
            found = {"kind": FAILED, "status": response.status}
            raise
        finally:
            self._ended.append((response.request, job.source, found))

    def _read(
        self, job: Job, reply: Reply, failed: dict[str, Any]
    ) -> tuple[dict[str, Any], Iterable[dict[str, Any]]]:
        """Read a reply; return the fields of the fetch's `Outcome`, and new items."""
        memory = Memory.read(self.frontier.memory[self.frontier.number[job.source]])
        try:
            reading = self._given.reader(reply, memory.reader)
            kept = replace(memory, reader=reading.memory, moved=job.moved)
            if reply.status != 304:
                tag, modified = (reply.headers.get(h, "") for h in ("etag", "last-modified"))
                kept = replace(kept, url=job.url, tag=tag, modified=modified)
            found: dict[str, Any] = {
                "kind": FOUND,
                "status": reply.status,
                "reward": float(reading.reward),
                "items": len(reading.items),
                "known": reading.known,
                "ages": reading.ages,
                "aged": reading.aged,
                "memory": kept.text(),
                "rest": max(fresh_for(reply.headers, self._now()), reading.rest),
            }
            Outcome(0, **found)  # raises where the reader's numbers are impossible
        except Unreadable as error:
            logger.info("%s: %s", job.url, error)
        except Exception:
            logger.exception("%s: the reader failed", job.url)
        else:
            return found, reading.items
        return failed, ()

    def _follow(self, job: Job, response: Response) -> None:
        """Queue a request for the target of a redirect."""
        target = _target(response)
        if target is None or job.hops >= self._hops:
            self._settle(job.source, kind=FAILED, status=response.status)
            return
        for_good = response.status in MOVED_FOR_GOOD and (not job.hops or job.moved == job.url)
        moved = target if for_good else job.moved
        self._push(replace(job, url=target, hops=job.hops + 1, moved=moved), self._now())

    def _failed(self, failure: Failure) -> None:
        """Settle a request that got no answer."""
        self._failed_job(failure.request.meta["job"], failure.getErrorMessage())  # type: ignore[attr-defined]

    def _failed_job(self, job: Job, reason: str) -> None:
        logger.info("%s: %s", job.url, reason)
        if job.source:
            self._settle(job.source, kind=FAILED)
        else:
            self._learn_rules(job.authority, 0, b"", 0.0)

    def _settle_scraped(self) -> None:
        """Settle the fetches whose items have left the pipelines."""
        if not self._ended:
            return
        slot = self._crawler.engine.scraper.slot if self._crawler.crawling else None
        active = slot.active if slot else ()
        over = [entry for entry in self._ended if entry[0] not in active]
        if over and self._crawler.crawling:
            _flush(self._crawler)
        self._ended = [entry for entry in self._ended if entry[0] in active]
        for _, source, found in over:
            self._settle(source, **found)

    def _settle(self, name: str, **found: Any) -> None:
        """Log how the fetch of a source ended, and pass it to the frontier."""
        frontier = self.frontier
        if name not in frontier.number:
            return  # it has left the list
        source, epoch = frontier.number[name], frontier.epoch
        host = host_of(self._address(source))
        outcome = Outcome(source, delay=self._delays.get(host) if self._obey else 0.0, **found)
        for place, rest in ((name, outcome.rest), (host, outcome.host_rest)):
            if rest > 0:
                self._closed[place] = self._now() + min(rest, self._given.longest_rest)
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

    def _wait(self) -> None:
        """Set a timer for the next request: Scrapy calls `next_request` every five seconds only."""
        if self._given.virtual:
            return
        due = min(self._next_epoch(), self._queue[0][0] if self._queue else np.inf)
        if self._alarm and self._alarm[0] <= due and self._alarm[0] > self._now():
            return
        if self._alarm:
            self._alarm[1].cancel()
        self._alarm = None
        if due < np.inf:
            delay = max(due - self._now(), 0.0) + 1e-3
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


def _check_no_proxy() -> None:
    """Raise where a proxy resolves names, so that checks of addresses here have no effect."""
    used = sorted(getproxies().keys() & {"http", "https"})
    if used:
        raise ValueError(
            f"CRAWL_LOCAL_ADDRESSES must be True behind a proxy (here {used[0]}_proxy), which "
            f"resolves names itself, so that local addresses are not detected here; let the proxy "
            f"refuse them, or set HTTPPROXY_ENABLED to False to do without it"
        )


def plain_headers(headers: Headers) -> dict[str, str]:
    """Return the last value of each header, by its name in lower case."""
    return {
        name.decode().lower(): values[-1].decode("latin-1")
        for name, values in headers.items()
        if values
    }


def _target(response: Response) -> str | None:
    """Return where a redirect leads, None where it is none or leads out of HTTP."""
    location = response.headers.get("location")
    if response.status not in MOVED or not location:
        return None
    try:
        url = plain_address(urljoin(response.url, location.decode("latin-1")))
    except ValueError:
        return None
    parts = urlsplit(url)
    return url if parts.scheme in {"http", "https"} and parts.hostname else None


def ends_in_newline(path: Any) -> bool:
    """Return whether a file ends in a newline; True where there is none to be read."""
    try:
        return Path(path).read_bytes().endswith(b"\n")
    except OSError:
        return True


def cut_torn_line(path: str | PathLike[str]) -> None:
    """Cut a file after its last line break, if there is a file and anything comes after it."""
    if not Path(path).exists():
        return
    with open(path, "rb+") as file:
        place = size = file.seek(0, SEEK_END)
        whole = 0
        while place and not whole:
            step = min(place, BLOCK)
            place -= step
            file.seek(place)
            whole = file.read(step).rfind(b"\n") + 1
        if place + whole < size:
            file.truncate(place + whole)


def _flush(crawler: Crawler) -> None:
    """Flush the files of ``FEEDS``."""
    exporter = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter else ():
        if slot.file is not None:
            slot.file.flush()
