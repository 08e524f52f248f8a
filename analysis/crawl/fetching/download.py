"""Scrapy's download handler with three bounds: on addresses, on headers, and on the time of an end.

* A request is sent only over a connection to an address of the public internet, whatever resolver,
  cache or redirect led to it; a name that changes its address between two look-ups gains nothing.
* What precedes a body is at most `MOST_HEADERS` bytes, which Scrapy bounds by time alone.
* A crawl that is stopped (SIGINT) ends its downloads within a second: they are made again when it
  goes on. Scrapy waits for their time-outs.

Twisted's agent offers no other place for the first two than the protocol, whose class Scrapy
replaces in the same way.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientProtocol,
)
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError
from scrapy.http import Response
from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure
from twisted.web.client import _HTTP11ClientFactory

from analysis.crawl.fetching.hosts import is_public

HANDLER = "analysis.crawl.fetching.download.Handler"
MOST_HEADERS = 256 * 1024
"""Bytes before a body beyond which a fetch fails; browsers allow as many."""
WATCH = 0.5
"""Seconds between two checks whether the crawl has been stopped."""

logger = logging.getLogger(__name__)


class Stopped(DownloadCancelledError):
    """The crawl has been stopped before the answer."""


class Handler(HTTP11DownloadHandler):
    """Scrapy's handler for HTTP and HTTPS with the bounds of this module."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        local_addresses = crawler.settings.getbool("CRAWL_LOCAL_ADDRESSES")
        protocol = type("Protocol", (Protocol,), {"local_addresses": local_addresses})
        self._pool._factory = cast("Any", type("Factory", (Factory,), {"protocol_class": protocol}))
        self._downloads: set[Deferred[Response]] = set()
        self._watch = create_looping_call(self._end_if_stopped)

    async def download_request(self, request: Request) -> Response:
        """Download a request; raise `Stopped` if the crawl is stopped meanwhile."""
        if not self._watch.running:
            self._watch.start(WATCH, now=False)
        download = deferred_from_coro(super().download_request(request))
        self._downloads.add(download)
        try:
            return await maybe_deferred_to_future(download)
        except BaseException:
            if self._crawler.crawling:
                raise
            raise Stopped("the crawl has been stopped") from None
        finally:
            self._downloads.discard(download)

    async def close(self) -> None:
        """Close the connections."""
        if self._watch.running:
            self._watch.stop()
        await super().close()

    def _end_if_stopped(self) -> None:
        if not self._crawler.crawling:
            for download in list(self._downloads):
                download.cancel()


class LastRequests:
    """Sends the last requests of a crawl, after its downloader has closed.

    Parameters
    ----------
    crawler : scrapy.crawler.Crawler
        Supplies the settings.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._handler = _LastHandler(crawler)

    async def send(
        self, requests: Sequence[Request], seconds: float, is_over: Callable[[], bool]
    ) -> None:
        """Send requests, and wait until they are answered and `is_over`, or for some seconds."""
        sent = [deferred_from_coro(self._answer(request)) for request in requests]
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not (
            is_over() and all(deferred.called for deferred in sent)
        ):
            pause: Deferred[None] = Deferred()
            call_later(0.02, pause.callback, None)
            await maybe_deferred_to_future(pause)
        for deferred in sent:
            deferred.cancel()
        await self._handler.close()

    async def _answer(self, request: Request) -> None:
        with suppress(Exception):  # the lease ends by itself
            await self._handler.download_request(request)


class _LastHandler(Handler):
    def _end_if_stopped(self) -> None:
        """Do nothing: the crawl has been stopped."""


class Protocol(_LenientHTTP11ClientProtocol):
    """A connection of the client, to a local address only if `local_addresses` is true."""

    transport: Any
    local_addresses = False
    _head = 0

    def request(self, request: Any) -> Any:
        """Send a request, unless the connection leads to a local network."""
        address = self.transport.getPeer().host
        if not (self.local_addresses or is_public(address)):
            uri = request.absoluteURI.decode("ascii", "replace")
            reason = f"{uri} leads to {address}, which is not on the public internet"
            logger.warning("%s: refused, as CRAWL_LOCAL_ADDRESSES is not set", reason)
            self.abort()
            return fail(DownloadCancelledError(reason))
        self._head = 0
        return super().request(request)

    def dataReceived(self, data: bytes) -> None:
        """Pass on data; end the connection if the headers do not end."""
        if self._parser is not None and self._parser.state in ("STATUS", "HEADER"):
            self._head += len(data)
            if self._head > MOST_HEADERS:
                address = self.transport.getPeer().host
                reason = f"more than {MOST_HEADERS} bytes of headers from {address}"
                logger.warning("%s: the connection is closed", reason)
                self._giveUp(Failure(DownloadCancelledError(reason)))
                self.transport.abortConnection()
                return
        super().dataReceived(data)


class Factory(_HTTP11ClientFactory):
    """Builds the connections of a pool."""

    noisy = False
    protocol_class = Protocol

    def buildProtocol(self, addr: Any) -> Protocol:
        """Return a new connection."""
        return self.protocol_class(self._quiescentCallback)
