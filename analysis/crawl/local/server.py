"""HTTP server of a site, on this machine only: one port of 127.0.0.1 for each host of the site.

In virtual time every request states the time (header ``X-Time``, Unix seconds), so that runs are
reproducible to the byte; in real time the server has its own clock.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from analysis.checks import check_kind, shown
from analysis.crawl.clock import TIME_HEADER
from analysis.crawl.feeds.reply import Reply
from analysis.crawl.local.site import Site
from analysis.display import brief

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
