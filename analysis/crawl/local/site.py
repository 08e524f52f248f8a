"""A site of N feeds and its server: items appear, are listed with their times, and lose value.

The site is a function: a request (host, path, headers, time) has one reply, whatever the requests
before, so that several crawlers can crawl it side by side and runs are reproducible to the byte.

A feed is RSS 2.0 with the newest items first. Each item states its time and its value *at the time
of the request*, xi exp(-mu (t - s)) for an item of utility xi published at s; a feed without a new
item since the reply that the request names (If-None-Match) answers 304. Source i is at
``/feed/i.xml`` of its host; each host has a robots.txt.

Faults, by source and epoch: an error (503), no answer (a time-out), or a truncated body.

`FeedServer` serves it over HTTP on this machine only, on one port of 127.0.0.1 for each host of the
site. In virtual time every request states the time (header ``X-Time``, Unix seconds); in real time
the server has its own clock.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from enum import IntEnum
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints
from analysis.checks import (
    Rng,
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_rng,
    shown,
)
from analysis.crawl.clock import START, TIME_HEADER
from analysis.crawl.feeds.reply import SPACE, Reply
from analysis.display import brief
from analysis.ephemeral.sources import Sources


class Fault(IntEnum):
    """What a source does in an epoch: answer, answer 503, not answer, answer half a feed."""

    FINE = 0
    ERROR = 1
    SILENCE = 2
    CUT = 3


@brief
class Site:
    """N feeds with given publications.

    Parameters
    ----------
    sources : Sources
        N sources; their period is the epoch.
    published : sequence of array_like
        For each source the times of its items in seconds after `start`, ascending; times before the
        start are negative. Rounded down to whole seconds, as RSS states them.
    utility : sequence of array_like
        Utility of each of these items, not negative.
    seconds : int
        Length of an epoch in seconds.
    start : int
        Unix time of epoch 0.
    hosts : array_like of int, shape (N,), optional
        Host of each source, from 0; one host for each source by default.
    length : int
        Largest number of items in a listing.
    faults : array_like of int, shape (N, epochs), optional
        A `Fault` for each source and epoch; `Fault.FINE` after the last column.
    delay : array_like, shape (hosts,), optional
        Seconds that each host takes to answer.
    robots : mapping of int to str, optional
        Text of a host's robots.txt; other hosts answer 404, which allows everything.
    stated : bool
        Whether items state their value; feeds of other sites do not.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """

    def __init__(
        self,
        sources: Sources,
        published: Sequence[ArrayLike],
        utility: Sequence[ArrayLike],
        *,
        seconds: int = 3600,
        start: int = START,
        hosts: ArrayLike | None = None,
        length: int = 50,
        faults: ArrayLike | None = None,
        delay: ArrayLike | None = None,
        robots: Mapping[int, str] | None = None,
        stated: bool = True,
    ) -> None:
        check_kind("sources", sources, Sources)
        check_kind("robots", robots, Mapping, None)
        check_kind("stated", stated, bool)
        size = len(sources)
        self.sources = sources
        self.seconds = check_integer("seconds", seconds, 1)
        self.start = check_integer("start", start, 0)
        self.length = check_integer("length", length, 1)
        self.published = _lists("published", published, size, -np.inf)
        self.utility = _lists("utility", utility, size, 0)
        for i, (times, worth) in enumerate(zip(self.published, self.utility, strict=True)):
            if times.size != worth.size or (np.diff(times) < 0).any():
                raise ValueError(
                    f"published[{i}] must be ascending and as long as utility[{i}], "
                    f"got {times.size} times and {worth.size} utilities"
                )
        self.hosts = np.arange(size) if hosts is None else check_integers("hosts", hosts)
        if self.hosts.shape != (size,) or self.hosts.min() < 0:
            raise ValueError(f"hosts must be {size} numbers from 0, got {shown(hosts)}")
        fine = np.zeros((size, 0), np.int64)
        self.faults = fine if faults is None else check_integers("faults", faults)
        if self.faults.ndim != 2 or len(self.faults) != size:
            raise ValueError(f"faults must have shape ({size}, epochs), got {self.faults.shape}")
        if not np.isin(self.faults, list(Fault)).all():
            raise ValueError(
                f"faults must be numbers from {min(Fault)} to {max(Fault)}, got {shown(faults)}"
            )
        count = int(self.hosts.max()) + 1
        self.delay = np.zeros(count) if delay is None else check_array("delay", delay, 0)
        if self.delay.shape != (count,):
            raise ValueError(f"delay must have shape ({count},), got {self.delay.shape}")
        self.robots = dict(robots or {})
        self.stated = stated

    def time(self, epoch: int) -> int:
        """Unix time of an epoch."""
        return self.start + epoch * self.seconds

    def reply(self, host: int, path: str, headers: Mapping[str, str], now: float) -> Reply:
        """Return the reply to a request; `headers` have lower-case names, `now` is Unix time."""
        delay = float(self.delay[host])
        if path == "/robots.txt":
            if host not in self.robots:
                return Reply(404, delay=delay)
            return Reply(200, {"content-type": "text/plain"}, self.robots[host].encode(), delay)
        source = self._source(host, path)
        if source is None:
            return Reply(404, delay=delay)
        fault = self._fault(source, now)
        if fault == Fault.SILENCE:
            return Reply(504, delay=np.inf)
        if fault == Fault.ERROR:
            return Reply(503, {"retry-after": str(self.seconds)}, b"", delay)
        count = int(np.searchsorted(self._times[source], now, "right"))
        tag = f'"{count}"'
        if headers.get("if-none-match") == tag:
            return Reply(304, {"etag": tag}, b"", delay)
        body = self._feed(source, count, now)
        kind = {"etag": tag, "content-type": "application/rss+xml; charset=utf-8"}
        return Reply(200, kind, body[: len(body) // 2] if fault == Fault.CUT else body, delay)

    @cached_property
    def _times(self) -> list[Ints]:
        """Unix times of the items, in whole seconds."""
        return [self.start + np.floor(times).astype(np.int64) for times in self.published]

    @cached_property
    def _texts(self) -> list[list[str]]:
        """The part of each item's XML that does not depend on the time of the request."""
        return [
            [
                f"<item><title>Item {j} of source {i}</title>"
                f'<guid isPermaLink="false">{i}-{j}</guid>'
                f"<pubDate>{formatdate(int(time), usegmt=True)}</pubDate>"
                for j, time in enumerate(times)
            ]
            for i, times in enumerate(self._times)
        ]

    def _source(self, host: int, path: str) -> int | None:
        """Return the source behind a path of a host."""
        name = path.removeprefix("/feed/").removesuffix(".xml")
        if path != f"/feed/{name}.xml" or not name.isdecimal() or int(name) >= len(self.sources):
            return None
        return int(name) if self.hosts[int(name)] == host else None

    def _fault(self, source: int, now: float) -> int:
        epoch = int((now - self.start) // self.seconds)
        return int(self.faults[source, epoch]) if 0 <= epoch < self.faults.shape[1] else Fault.FINE

    def _feed(self, source: int, count: int, now: float) -> bytes:
        """Write the feed of the first `count` items of a source, newest first."""
        listed = slice(max(0, count - self.length), count)
        age = (now - self._times[source][listed]) / self.seconds
        worth = self.utility[source][listed] * np.exp(-self.sources.decay[source] * age)
        value = [f"<w:value>{value!r}</w:value>" if self.stated else "" for value in worth.tolist()]
        items = [
            f"{text}{own}</item>"
            for text, own in zip(self._texts[source][listed], value, strict=True)
        ]
        space = f' xmlns:w="{SPACE}"' if self.stated else ""
        head = f'<rss version="2.0"{space}><channel><title>Source {source}</title>'
        text = f"{head}<link>/feed/{source}.xml</link><description>A feed</description>"
        return f"{text}{''.join(reversed(items))}</channel></rss>".encode()


def random_site(
    sources: Sources, epochs: int, rng: Rng, *, before: int = 1, **options: object
) -> Site:
    """Draw a site with the model's Poisson arrivals and exponential utilities.

    Parameters
    ----------
    sources : Sources
        N sources.
    epochs : int
        Epochs in which items appear.
    rng : numpy.random.Generator or seed
        Source of randomness.
    before : int
        Epochs before the first one in which items appear too.
    **options
        Passed on to `Site`.

    Returns
    -------
    Site

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> site = random_site(four_sources(), 5, np.random.default_rng(0))
    >>> len(site.published)
    4
    """
    check_kind("sources", sources, Sources)
    rng = check_rng(rng)
    epochs = check_integer("epochs", epochs, 1)
    before = check_integer("before", before, 0)
    seconds = check_integer("seconds", options.get("seconds", 3600), 1)
    published, utility = [], []
    for rate, mean in zip(sources.arrival_rate * sources.period, sources.mean_utility, strict=True):
        count = rng.poisson(rate * (epochs + before))
        times = rng.uniform(-before * seconds, epochs * seconds, count)
        published.append(np.sort(times))
        utility.append(mean * rng.standard_exponential(count))
    return Site(sources, published, utility, **options)  # type: ignore[arg-type]


def random_faults(sources: int, epochs: int, share: float, rng: Rng, *, last: int = 1) -> Ints:
    """Draw faults in spells of a fixed length, all kinds with equal probability.

    Parameters
    ----------
    sources, epochs : int
        Shape of the result.
    share : float
        Expected share of epochs with a fault, in [0, 1).
    rng : numpy.random.Generator or seed
        Source of randomness.
    last : int
        Length of a spell in epochs.

    Returns
    -------
    ndarray of int, shape (sources, epochs)

    Examples
    --------
    >>> import numpy as np
    >>> random_faults(3, 50, 0.2, np.random.default_rng(0)).shape
    (3, 50)
    """
    rng = check_rng(rng)
    sources = check_integer("sources", sources, 1)
    epochs = check_integer("epochs", epochs, 1)
    share = check_number("share", share, 0, 1, high_open=True)
    last = check_integer("last", last, 1)
    spells = -(-epochs // last)
    hit = rng.random((sources, spells)) < share
    kind = np.where(hit, rng.integers(Fault.ERROR, Fault.CUT + 1, (sources, spells)), Fault.FINE)
    shift = rng.integers(0, last, sources)  # spells of different sources begin at different epochs
    return np.stack([np.roll(row, s) for row, s in zip(kind.repeat(last, 1), shift, strict=True)])[
        :, :epochs
    ]


def _lists(name: str, values: Sequence[ArrayLike], size: int, low: float) -> list[Floats]:
    check_kind(name, values, Sequence)
    if len(values) != size:
        raise ValueError(f"{name} must have {size} entries, one a source, got {len(values)}")
    return [check_array(f"{name}[{i}]", row, low).ravel() for i, row in enumerate(values)]


# The server


ADDRESS = "127.0.0.1"


class Served(NamedTuple):
    """One request that the server received."""

    time: float
    host: int
    path: str
    status: int


class _Server(ThreadingHTTPServer):
    """A server that ignores lost connections: a crawler may have been killed."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report errors as usual, but not connections that were lost."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@brief
class FeedServer:
    """Serve a site until the ``with`` block ends.

    Parameters
    ----------
    site : Site
        The site.
    clock : callable, optional
        Returns the site's Unix time; by default requests state it (virtual time).

    Attributes
    ----------
    served : list of Served
        Every request, in order of arrival.
    """

    def __init__(self, site: Site, clock: Callable[[], float] | None = None) -> None:
        check_kind("site", site, Site)
        check_kind("clock", clock, Callable, None)  # type: ignore[arg-type]
        self.site, self.clock = site, clock
        self.served: list[Served] = []
        self._over = threading.Event()
        self._servers: list[_Server] = []

    def __enter__(self) -> FeedServer:
        for host in range(int(self.site.hosts.max()) + 1):
            handler = type("Handler", (_Handler,), {"owner": self, "host": host})
            server = _Server((ADDRESS, 0), handler)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self._servers.append(server)
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def urls(self) -> list[str]:
        """URLs of the feeds, one a source."""
        ports = [server.server_port for server in self._servers]
        hosts = self.site.hosts.tolist()
        return [f"http://{ADDRESS}:{ports[host]}/feed/{i}.xml" for i, host in enumerate(hosts)]

    def answer(self, host: int, path: str, headers: dict[str, str]) -> Reply:
        """Answer a request and record it in `served`."""
        sent = headers.get(TIME_HEADER.lower(), "")
        try:
            now = self.clock() if self.clock else float(sent)
        except ValueError:
            reply = Reply(400, {}, f"{TIME_HEADER} must be a Unix time".encode())
            self.served.append(Served(0.0, host, path, 400))
            return reply
        reply = self.site.reply(host, path, headers, now)
        self.served.append(Served(now, host, path, reply.status))
        return reply

    def wait(self, seconds: float) -> bool:
        """Wait for some seconds; return whether the server is still running."""
        return not self._over.wait(min(seconds, threading.TIMEOUT_MAX))


class _Handler(BaseHTTPRequestHandler):
    """One connection to one host."""

    protocol_version = "HTTP/1.1"
    owner: FeedServer
    host: int

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.owner.answer(self.host, self.path, headers)
        if reply.delay > 0 and not self.owner.wait(reply.delay):
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        try:
            self.wfile.write(reply.body)
        except OSError:  # the crawler has closed the connection
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: `FeedServer.served` is the log."""


def check_local(url: str) -> str:
    """Return a URL of this machine, or raise; names are not resolved.

    Raises
    ------
    ValueError
        If the host is not a numeric loopback address.

    Examples
    --------
    >>> check_local('http://127.0.0.1:8000/feed')
    'http://127.0.0.1:8000/feed'
    """
    check_kind("url", url, str)
    try:
        host = urlsplit(url).hostname or ""
        local = ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise ValueError(f"url must be at a loopback address, such as {ADDRESS}, got {shown(url)}")
    return url
