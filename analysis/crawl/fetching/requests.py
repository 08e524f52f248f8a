"""Requests for pages and robots.txt: when each may be made, and how its reply is handled.

Every request is allowed by the host's robots.txt and made no sooner than its crawl delay after the
one before, also redirect targets: redirects are followed and robots.txt is requested here.

A host that answers 429 or 503 rests for the time of ``Retry-After``, at least for 1, 2, 4, ...
minutes after the first, second, third, ... such answer in a row, at most a day. Hosts that have not
answered their last request in half of the time-out, or have not been asked yet, use at most half of
Scrapy's ``CONCURRENT_REQUESTS``: hosts that do not answer cannot keep others waiting.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available, run_in_thread
from scrapy.utils.gz import gunzip, gzip_magic_number
from scrapy.utils.misc import load_object
from twisted.python.failure import Failure

from analysis.checks import check_kind
from analysis.crawl.clock import TIME_HEADER
from analysis.crawl.feeds.reader import FeedReader, ReaderProcesses, Reading
from analysis.crawl.feeds.reply import Reply, Unreadable
from analysis.crawl.fetching.download import HANDLER, Handler, Stopped
from analysis.crawl.fetching.headers import (
    MOVED,
    MOVED_FOR_GOOD,
    Memory,
    fresh_for,
    header_links,
    plain_headers,
    redirect_target,
    retry_after,
)
from analysis.crawl.fetching.hosts import (
    MOST_ROBOTS,
    Robots,
    authority_of,
    check_no_proxy,
    host_of,
    is_local_number,
    plain_address,
)
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import FAILED, FORBIDDEN, FOUND, GONE, REFUSED, Outcome, backoff

MOST_BYTES = 10 * 1024 * 1024
"""Bytes of a body, as sent and unpacked, beyond which a fetch fails, unless ``DOWNLOAD_MAXSIZE`` is
set."""
ROBOTS_HOPS = 5
"""Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2)."""
WARN_AGAIN = 3600.0
"""Seconds between two warnings of hosts that do not answer."""
LONGEST_ANSWER = 30.0
"""Seconds of the time-out, unless ``DOWNLOAD_TIMEOUT`` is set or a period is shorter."""
ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, "
    "application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1"
)
"""Media types of feeds before all others (RFC 9110, section 12.5.1)."""

logger = logging.getLogger(__name__)


class Crawl(Protocol):
    """The interface of a crawl that its requests use."""

    frontier: Frontier

    def now(self) -> float:
        """Return the time of the crawl, which never jumps."""

    def wall_time(self) -> float:
        """Return the Unix time by the clock of the machine, for dates in replies."""

    def owner(self, url: str) -> str | None:
        """Return the source that is fetched from a URL, None if there is none."""

    def may_request(self, job: Job) -> bool:
        """Return whether this process may send requests to the host of a job."""

    def announce(self, name: str, hubs: Sequence[str], topic: str) -> None:
        """Note the hubs that announce the items of a source, and its address with them."""

    def settle(self, name: str, **fields: Any) -> None:
        """Record the outcome of a fetch, by the fields of its `Outcome`."""

    def wait(self) -> None:
        """Set a timer for the next request."""


@dataclass(frozen=True)
class Job:
    """A request to be made: for the page of a `source`, or the robots.txt of an `authority`.

    The other of these two names is empty. `visited` are the URLs that redirected to this one, and
    `moved` the target of the permanent ones, empty if there are none.
    """

    url: str
    source: str = ""
    authority: str = ""
    visited: tuple[str, ...] = ()
    moved: str = ""

    def redirected(self, url: str, **changes: Any) -> Job:
        """Return the job that follows a redirect to a URL."""
        return replace(self, url=url, visited=(*self.visited, self.url), **changes)


class Requests:
    """The requests of a crawl, by the time at which each may be made.

    Parameters
    ----------
    crawl : Crawl
        The crawl.
    crawler : scrapy.crawler.Crawler
        Supplies the settings for robots.txt and redirects.
    reader : callable
        Reads replies, as `analysis.crawl.feeds.reader` describes.
    virtual : bool
        Whether time is virtual: then nothing waits.
    period : float
        Length of an epoch in seconds.
    longest_rest : float
        Longest rest or crawl delay that a site can ask for, in seconds.
    longest_fresh : float
        Longest time for which a reply counts as fresh, in seconds.
    local_addresses : bool
        Whether addresses of local networks are allowed.
    logins : mapping of str to str, optional
        Header ``Authorization`` of sources with a login, sent to their own host alone.

    Attributes
    ----------
    delays, requested : dict of str to float
        Crawl delay of each host whose rules are known, and time of the last request to each.
    ended : list
        Requests whose items may still be in a pipeline, with source and outcome.
    """

    def __init__(
        self,
        crawl: Crawl,
        crawler: Crawler,
        *,
        reader: Callable[[Reply, str], Reading],
        virtual: bool,
        period: float,
        longest_rest: float,
        longest_fresh: float,
        local_addresses: bool,
        logins: Mapping[str, str] | None = None,
    ) -> None:
        settings = crawler.settings
        self._logins = dict(logins or {})
        self._crawl, self._reader, self._virtual = crawl, reader, virtual
        self._crawler = crawler
        # A reader of the user's own may be one that no other process can load.
        aside = isinstance(reader, FeedReader) and not virtual
        self._processes = ReaderProcesses(reader) if aside else None
        # Scrapy's default, no, is not a choice of the user.
        self.obey = settings.getbool("ROBOTSTXT_OBEY") or not _is_set(settings, "ROBOTSTXT_OBEY")
        self._hops = settings.getint("REDIRECT_MAX_TIMES")
        self._longest, self._local_addresses = longest_rest, local_addresses
        self._longest_fresh, self._most_bytes = longest_fresh, MOST_BYTES
        if _is_set(settings, "DOWNLOAD_MAXSIZE"):
            self._most_bytes = settings.getint("DOWNLOAD_MAXSIZE")
        self._robots = Robots(crawler, longest_rest)
        if not local_addresses:
            _check_connections(crawler)
            agent = str(settings["USER_AGENT"])
            if not _is_set(settings, "USER_AGENT") or not ("://" in agent or "@" in agent):
                logger.warning(
                    "USER_AGENT should name your crawler and a contact, such as "
                    "'mybot/1.0 (+https://example.org/bot)', got %r: sites may block it",
                    agent,
                )
        self._timeout = self._first_timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        if not _is_set(settings, "DOWNLOAD_TIMEOUT"):
            self._timeout = min(max(period, 1.0), LONGEST_ANSWER)
            # A list of many dead hosts is through soon; one that is slow has more time at its next.
            self._first_timeout = max(self._timeout / 4, 1.0)
        self._accept = {} if _is_set(settings, "DEFAULT_REQUEST_HEADERS") else {"Accept": ACCEPT}
        self._queue: list[tuple[float, int, Job]] = []
        self._count = itertools.count()
        # Pages that wait for a robots.txt, by authority.
        self._awaiting_rules: dict[str, list[Job]] = {}
        # Time before which no request is made to a source or host.
        self._rests: dict[str, float] = {}
        self.delays: dict[str, float] = {}
        self.requested: dict[str, float] = {}
        self.ended: list[tuple[Any, str, dict[str, Any]]] = []
        self._refusals: dict[str, int] = {}  # answers 429 and 503 in a row of each host
        # Hosts whose last request was answered soon, or not; the requests under way to others,
        # and those that wait until these have ended.
        self._answering: dict[str, bool] = {}
        self._share = max(settings.getint("CONCURRENT_REQUESTS") // 2, 1)
        self._doubtful: set[Request] = set()
        self._held: list[tuple[bool, int, Job]] = []
        self._next_warning = -np.inf

    def __len__(self) -> int:
        return len(self._queue) + len(self._held)

    @property
    def due(self) -> float:
        """Time at which the next request may be made; infinite if there is none."""
        return self._queue[0][0] if self._queue else np.inf

    def push(self, job: Job, due: float) -> None:
        """Queue a job that may be requested from a time on."""
        heapq.heappush(self._queue, (due, next(self._count), job))

    def pop(self, now: float) -> Job | None:
        """Return the next job that is due, in virtual time the next job; None without one."""
        if self._held and len(self._doubtful) < self._share:
            return heapq.heappop(self._held)[2]
        if self._queue and (self._virtual or self._queue[0][0] <= now):
            return heapq.heappop(self._queue)[2]
        return None

    def give_up(self, now: float) -> None:
        """Fail the jobs that are not due yet: the crawl has ended."""
        waiting = self._queue
        self._queue = [entry for entry in waiting if entry[0] <= now]
        heapq.heapify(self._queue)
        for due, _, job in waiting:
            if due > now:
                self._failed_job(job, "its host rests beyond the last epoch")
        held, self._held = self._held, []
        for _, _, job in held:
            self._failed_job(job, "too many hosts do not answer")

    def rest(self, name: str, seconds: float) -> None:
        """Make no requests to a source or host for some seconds, at most `longest_rest`."""
        if seconds > 0:
            self._rests[name] = self._crawl.now() + min(seconds, self._longest)

    def revive(self, name: str) -> None:
        """End the rest of a source."""
        self._rests.pop(name, None)

    def delay_of(self, host: str) -> float | None:
        """Return the crawl delay of a host, None if its rules are unknown."""
        return self.delays.get(host) if self.obey else 0.0

    def release(self, job: Job) -> Request | None:
        """Return the request of a job, or None if it must wait or may not be made."""
        try:
            return self._released(job)
        except Exception as error:
            logger.exception("%s: the fetch fails", job.url)
            self._failed_job(job, repr(error))
            return None

    def _released(self, job: Job) -> Request | None:
        now = self._crawl.now()
        if job.source and job.source not in self._crawl.frontier.number:
            return None  # no longer listed
        if not self._crawl.may_request(job):
            self._failed_job(job, "its host belongs to another process")
            return None
        if not self._local_addresses and is_local_number(job.url):
            reason = "its host is not on the public internet, and CRAWL_LOCAL_ADDRESSES is not set"
            self._failed_job(job, reason, logging.WARNING)
            return None
        if job.source and self.obey:
            rules = self._robots.rules(job.url, now)
            if rules is None:
                authority = authority_of(job.url)
                if authority not in self._awaiting_rules:
                    self.push(Job(f"{authority}/robots.txt", authority=authority), now)
                self._awaiting_rules.setdefault(authority, []).append(job)
                return None
            if not self._robots.allows(rules, job.url):
                self._crawl.settle(job.source, kind=FORBIDDEN, rest=rules.expires - now)
                return None
        host = host_of(job.url)
        if not self._virtual:  # requests for robots.txt respect the delay too, once it is known
            after = self.requested.get(host, -np.inf) + self.delays.get(host, 0.0)
            due = max(after, self._rests.get(host, 0.0), self._rests.get(job.source, 0.0))
            if due > now:
                self.push(job, due)
                return None
        if not self._answering.get(host, False) and len(self._doubtful) >= self._share:
            if now >= self._next_warning:
                self._next_warning = now + WARN_AGAIN
                logger.warning(
                    "%d requests wait for hosts that have not answered yet: other such hosts "
                    "wait for them, hosts that answer do not",
                    self._share,
                )
            entry = (host in self._answering, next(self._count), job)  # hosts that failed come last
            heapq.heappush(self._held, entry)
            return None
        self.requested[host] = now
        request = self._request(job)
        if not self._answering.get(host, False):
            self._doubtful.add(request)
        return request

    def _request(self, job: Job) -> Request:
        headers = dict(self._accept) if job.source else {}
        is_known = host_of(job.url) in self._answering
        if job.source in self._crawl.frontier.number:
            memory = self._crawl.frontier.memory[self._crawl.frontier.number[job.source]]
            headers |= Memory.read(memory).conditions(job.url)
        login = self._logins.get(job.source)
        if login and authority_of(job.url) == authority_of(job.source):
            headers["Authorization"] = login
        if self._virtual:
            headers[TIME_HEADER] = f"{self._crawl.now():.0f}"
        return Request(
            job.url,
            callback=self._page_arrived if job.source else self._rules_arrived,
            errback=self._failed,
            headers=headers,
            dont_filter=True,
            meta={
                "job": job,
                "handle_httpstatus_all": True,
                "dont_redirect": True,  # each address is checked here before a request
                "dont_obey_robotstxt": True,
                "dont_retry": True,  # the frontier decides when to try again
                "dont_merge_cookies": True,
                "download_maxsize": self._most_bytes,
                # Whether a feed is whole is seen in it; some servers state a wrong length.
                "download_fail_on_dataloss": bool(job.authority),
                "download_timeout": self._timeout if is_known else self._first_timeout,
                "download_slot": host_of(job.url),  # Scrapy's delays are for a name on all ports
                "began": time.monotonic(),
            },
        )

    def delivery(self, source: str, reply: Reply, hub: str) -> Request:
        """Return a request by which the items that a hub has sent reach Scrapy's pipelines.

        It leads to no host. Its outcome has the reading as ``pushed``.
        """
        meta = {"source": source, "reply": reply, "hub": hub, "dont_obey_robotstxt": True}
        return Request("data:,", callback=self._delivered, dont_filter=True, meta=meta)

    async def _delivered(self, response: Response) -> AsyncIterator[dict[str, Any]]:
        """Read what a hub has sent; yield its new items."""
        source, reply, hub = (response.meta[name] for name in ("source", "reply", "hub"))
        frontier = self._crawl.frontier
        if source not in frontier.number:
            return
        memory = Memory.read(frontier.memory[frontier.number[source]])
        try:
            if self._processes:
                future = await _done(self._processes.submit(reply, memory.reader))
                reading = future.result()
            else:
                reading = self._reader(reply, memory.reader)
        except Exception as error:
            logger.info("%s: what the hub %s sent is no feed: %s", source, hub, error)
            reading = None
        for item in reading.items if reading else ():
            yield {"source": source, "epoch": frontier.epoch, **item, "hub": hub}
        fields = {"pushed": reading, "hub": hub, "time": reply.time}
        self.ended.append((response.request, source, fields))

    def close(self) -> None:
        """End the processes that read feeds."""
        if self._processes:
            self._processes.close()

    def _has_ended(self, result: Any, answered: bool) -> None:
        """Note whether the host of a request, whose response or failure this is, answered soon."""
        request = result.request
        self._doubtful.discard(request)
        soon = time.monotonic() - request.meta["began"] <= self._timeout / 2
        self._answering[host_of(request.url)] = answered and soon

    def received(self, data: bytes, request: Request) -> None:
        """Stop the download of a robots.txt after `MOST_ROBOTS` bytes."""
        job = request.meta.get("job")
        if job is not None and job.authority:
            request.meta["received"] = request.meta.get("received", 0) + len(data)
            if request.meta["received"] > MOST_ROBOTS:
                raise StopDownload(fail=False)

    def _rules_arrived(self, response: Response) -> Iterator[Any]:
        """Parse a robots.txt or follow its redirect; then queue the pages that wait for it."""
        job = response.meta["job"]
        self._has_ended(response, True)
        target = redirect_target(response)
        if target and len(job.visited) < ROBOTS_HOPS and target not in (*job.visited, job.url):
            self.push(job.redirected(target), self._crawl.now())
        else:
            wait = self._host_rest(job.url, response.status, plain_headers(response.headers))
            self._learn_rules(job.authority, response.status, response.body, wait)
        return iter(())

    def _host_rest(self, url: str, status: int, headers: Mapping[str, str]) -> float:
        """Return the seconds in which the host of a URL is not to be asked again; start its rest.

        A refusal rests it for longer each time, whether or not it names a time.
        """
        host, seconds = host_of(url), 0.0
        if status >= 400:
            seconds = retry_after(headers, self._crawl.wall_time())
        if status in REFUSED:
            before = max(self._refusals.get(host, 0), self._crawl.frontier.refusals(host))
            self._refusals[host] = before + 1
            seconds = max(seconds, backoff(before))
        else:
            self._refusals.pop(host, None)
        self.rest(host, seconds)
        return seconds

    def _learn_rules(self, authority: str, status: int, body: bytes, wait: float) -> None:
        rules = self._robots.take(authority, status, body, self._crawl.now())
        if rules is not None:
            host = host_of(authority)
            self.delays[host] = rules.delay
        for job in self._awaiting_rules.pop(authority, []):
            if rules is None:
                self._crawl.settle(job.source, kind=FAILED, status=max(status, 0), host_rest=wait)
            else:
                self.push(job, self._crawl.now())

    def _page_arrived(
        self, response: Response
    ) -> Iterator[dict[str, Any]] | AsyncIterator[dict[str, Any]]:
        """Read a feed, while Scrapy runs in real time in another process; yield new items."""
        self._has_ended(response, True)
        feed = 200 <= response.status < 300 and response.body
        if self._processes and feed and self._crawler.crawling:
            return self._arrived_aside(response, self._processes)
        return self._arrived(response)

    async def _arrived_aside(
        self, response: Response, processes: ReaderProcesses
    ) -> AsyncIterator[dict[str, Any]]:
        """Read a feed in another process, while the crawl goes on; yield new items."""
        job, frontier = response.meta["job"], self._crawl.frontier
        future = None
        if job.source in frontier.number:
            memory = Memory.read(frontier.memory[frontier.number[job.source]])
            reply = self._reply(response)
            future = await _done(processes.submit(reply, memory.reader))
            if self._forgets(job, reply, memory, future.exception()):
                future = await _done(processes.submit(reply, ""))
        for item in self._arrived(response, future):
            yield item

    def _reply(self, response: Response) -> Reply:
        """Return the reply in a response."""
        headers, now = plain_headers(response.headers), self._crawl.wall_time()
        body = response.body
        if gzip_magic_number(response):  # a file feed.xml.gz, sent as what it is
            with suppress(OSError, EOFError, ValueError, struct.error):  # else it is no feed
                body = gunzip(body, max_size=self._most_bytes)
        return Reply(response.status, headers, body, time=now, url=response.url)

    def _arrived(
        self, response: Response, future: Future[Reading] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Read a feed, if that has not been done, or follow its redirect; yield new items."""
        job = response.meta["job"]
        if response.status in MOVED:
            self._follow(job, response)
            return
        headers = plain_headers(response.headers)
        host_rest = self._host_rest(job.url, response.status, headers)
        fields: dict[str, Any] = {"kind": FAILED, "status": response.status, "host_rest": host_rest}
        items: Iterable[dict[str, Any]] = ()
        if response.status == 410:
            fields["kind"] = GONE
        elif response.status not in REFUSED and job.source in self._crawl.frontier.number:
            fields, items = self._read(job, self._reply(response), fields, future)
        try:
            for item in items:
                yield {"source": job.source, "epoch": self._crawl.frontier.epoch, **item}
        except BaseException:  # a middleware of the spider has failed, or the crawl is ended
            fields = {"kind": FAILED, "status": response.status}
            raise
        finally:
            self.ended.append((response.request, job.source, fields))

    def _read(
        self, job: Job, reply: Reply, failed: dict[str, Any], future: Future[Reading] | None
    ) -> tuple[dict[str, Any], Iterable[dict[str, Any]]]:
        """Read a reply; return the fields of the fetch's `Outcome`, and new items."""
        memory = Memory.read(self._crawl.frontier.memory[self._crawl.frontier.number[job.source]])
        try:
            reading = future.result() if future else self._reading(job, reply, memory)
            check_kind("reading", reading, Reading)
            check_kind("memory", reading.memory, str)
            items = tuple(reading.items)
            for item in items:
                check_kind("items", item, Mapping)
            remembered = replace(memory, reader=reading.memory, moved=job.moved)
            target = _new_address(reading.moved, job)
            if target and target != memory.tried:  # a redirect for good, if it is a feed
                remembered = replace(remembered, moved=target, tried=target)
            if reply.status != 304:
                hubs = header_links(reply.headers, "hub", reply.url) or reading.hubs
                topic = next(iter(header_links(reply.headers, "self", reply.url)), reading.topic)
                self._crawl.announce(job.source, hubs, topic or job.url)
            if reply.status != 304:
                tag, modified = (reply.headers.get(h, "") for h in ("etag", "last-modified"))
                remembered = replace(remembered, url=job.url, tag=tag, modified=modified)
            fields: dict[str, Any] = {
                "kind": FOUND,
                "status": reply.status,
                "reward": reading.reward,
                "items": len(items),
                "known": reading.known,
                "ages": reading.ages,
                "aged": reading.aged,
                "memory": remembered.text(),
                "rest": max(
                    min(fresh_for(reply.headers, self._crawl.wall_time()), self._longest_fresh),
                    reading.rest,
                ),
            }
            outcome = Outcome(0, **fields)  # raises if the reader's numbers are invalid
            fields |= {name: getattr(outcome, name) for name in fields}
        except Unreadable as error:
            logger.info("%s: %s", job.url, error)
        except Exception:
            logger.exception("%s: the reader failed", job.url)
        else:
            for note in reading.notes:
                logger.warning("%s: %s", job.url, note)
            return fields, items
        return failed, ()

    def _reading(self, job: Job, reply: Reply, memory: Memory) -> Reading:
        """Return the reader's result, without its memory if that is why it fails."""
        try:
            return self._reader(reply, memory.reader)
        except Exception as error:
            if not self._forgets(job, reply, memory, error):
                raise
            return self._reader(reply, "")

    def _forgets(self, job: Job, reply: Reply, memory: Memory, error: BaseException | None) -> bool:
        """Return whether a reply is to be read without a memory, with which the reader failed."""
        if error is None or isinstance(error, Unreadable) or not memory.reader:
            return False
        if reply.status == 304:  # the next fetch asks for the whole feed
            number = self._crawl.frontier.number[job.source]
            self._crawl.frontier.memory[number] = replace(memory, tag="", modified="").text()
            return False
        logger.warning(
            "%s: the reader fails with what it remembered (%s), which counts as empty: items are "
            "delivered again", job.url, error,
        )  # fmt: skip
        return True

    def _follow(self, job: Job, response: Response) -> None:
        """Queue a request for the target of a redirect."""
        target = redirect_target(response)
        if target is None:
            self._failed_job(job, "it redirects to no address of HTTP", status=response.status)
        elif len(job.visited) >= self._hops or target in (*job.visited, job.url):
            self._failed_job(job, "its redirects lead in a circle", status=response.status)
        else:
            for_good = response.status in MOVED_FOR_GOOD
            for_good = for_good and (not job.visited or job.moved == job.url)
            if for_good and self._crawl.owner(target) not in (None, job.source):
                reason = f"it has moved to {target}, which another source has: it rests"
                self._failed_job(job, reason, status=response.status, rest=self._longest)
                return
            moved = target if for_good else job.moved
            self.push(job.redirected(target, moved=moved), self._crawl.now())

    def callback_failed(self, failure: Failure, response: Response | Failure) -> None:
        """Settle a request whose callback has failed before it settled the request itself.

        `response` is what the callback was to be given. Scrapy parses the source of a callback
        before it calls it, which can fail by itself where several threads parse.
        """
        request = getattr(response, "request", None)  # Scrapy gives one to a failure too
        job = request.meta.get("job") if request is not None else None
        if job is not None and all(ended is not request for ended, *_ in self.ended):
            self._doubtful.discard(request)
            self._failed_job(job, failure.getErrorMessage())

    def _failed(self, failure: Failure) -> None:
        """Settle a request without an answer, unless the crawl has been stopped."""
        request = failure.request  # type: ignore[attr-defined]
        self._has_ended(failure, False)
        if not failure.check(Stopped):
            self._failed_job(request.meta["job"], failure.getErrorMessage())

    def _failed_job(self, job: Job, reason: str, level: int = logging.INFO, **fields: Any) -> None:
        """Settle a job without a feed; `found` are further fields of its `Outcome`."""
        logger.log(level, "%s: %s", job.url, reason or "no answer")
        if job.source:
            self._crawl.settle(job.source, kind=FAILED, **fields)
        else:
            self._learn_rules(job.authority, 0, b"", 0.0)


def _new_address(moved: str, job: Job) -> str:
    """Return where a feed says that it has moved, empty if it is there or that is no address."""
    try:
        target = plain_address(moved) if moved else ""
    except ValueError:
        return ""
    is_new = urlsplit(target).scheme in ("http", "https") and target != job.url
    return target if is_new and target != job.source and "@" not in urlsplit(moved).netloc else ""


async def _done(future: Future[Reading]) -> Future[Reading]:
    """Return a future when it has a result or an exception."""
    with suppress(Exception):  # raised again where the result is used
        if is_asyncio_available():
            await asyncio.wrap_future(future)
        else:
            await run_in_thread(future.result)
    return future


def _is_set(settings: BaseSettings, name: str) -> bool:
    """Return whether a setting has been set, and does not have Scrapy's own value."""
    return (settings.getpriority(name) or 0) > 0


def _check_connections(crawler: Crawler) -> None:
    """Raise if connections are not made by `Handler`, which checks their addresses."""
    settings = crawler.settings
    if settings.getbool("HTTPPROXY_ENABLED"):
        check_no_proxy()
    for scheme in ("http", "https"):
        handler = load_object(settings.getwithbase("DOWNLOAD_HANDLERS")[scheme])
        if not (isinstance(handler, type) and issubclass(handler, Handler)):
            raise ValueError(
                f"DOWNLOAD_HANDLERS must have {HANDLER} for {scheme}, which refuses addresses of "
                f"local networks, or CRAWL_LOCAL_ADDRESSES must be True; got {handler.__name__}"
            )
