"""The HTTP server that hubs and senders of pings reach, with bounds on what they can cost.

A request is refused as soon as its head has been read if its path is unknown, its body is too long
or of unknown length, or it is neither GET nor POST. A connection lasts at most `LONGEST` seconds,
whatever comes over it, and there are at most `MOST_CONNECTIONS`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from twisted.web import http

from analysis.crawl.signals.service import Answer, IncomingRequest

MOST_BODY = 2 * 1024 * 1024
"""Bytes of a body."""
MOST_CONNECTIONS = 100
LONGEST = 20.0
"""Seconds that a connection may last."""
IDLE = 5.0
"""Seconds after which a connection ends over which nothing comes."""

logger = logging.getLogger(__name__)


class _Request(http.Request):
    """A request whose head decides whether its body is read."""

    factory: Server
    channel: Any
    content: Any
    _refused = 0

    def gotLength(self, length: int | None) -> None:
        """Refuse a request by its head."""
        method, path = self.channel._command, self.channel._path
        status = 0
        if method not in (b"GET", b"POST"):
            status = 405
        elif not self.factory.accepts_path(path.partition(b"?")[0].decode("latin-1")):
            status = 404
        elif length is None:
            status = 411
        elif length > MOST_BODY or (method == b"GET" and length):
            status = 413
        super().gotLength(0 if status else length)
        if status:
            self._refused = status
            self.factory.refusals += 1
            if length != 0:  # else `process` answers
                self.channel.transport.write(
                    f"HTTP/1.1 {status} Refused\r\nConnection: close\r\n"
                    "Content-Length: 0\r\n\r\n".encode()
                )
                self.channel.transport.loseConnection()

    def handleContentChunk(self, data: bytes) -> None:
        """Keep a part of a body, unless the request was refused."""
        if not self._refused:
            super().handleContentChunk(data)

    def process(self) -> None:
        """Answer a whole request."""
        if self._refused:
            answer = Answer(self._refused)
        else:
            path, _, query = self.uri.decode("latin-1").partition("?")
            headers = {
                name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
                for name, values in self.requestHeaders.getAllRawHeaders()
            }
            request = IncomingRequest(
                self.method.decode(), path, query, headers, self.content.read()
            )
            try:
                answer = self.factory.answer(request)
            except Exception:
                logger.exception("a request to %s failed", path[:200])
                answer = Answer(500)
        self.setResponseCode(answer.status)
        for name, value in (
            ("content-type", answer.kind),
            ("content-length", str(len(answer.body))),
            ("x-content-type-options", "nosniff"),
            ("connection", "close"),
        ):
            self.setHeader(name, value)
        self.write(answer.body)
        self.finish()


class _Channel(http.HTTPChannel):
    """A connection that ends after a while."""

    factory: Server
    transport: Any
    _end: Any = None

    def connectionMade(self) -> None:
        """Count the connection, or refuse it."""
        super().connectionMade()
        self.factory.connections += 1
        if self.factory.connections > MOST_CONNECTIONS:
            self.factory.refusals += 1
            self.transport.abortConnection()
            return
        self._end = self.callLater(LONGEST, self.transport.abortConnection)

    def dataReceived(self, data: bytes) -> None:
        """Read data; end the connection where Twisted fails on what is not HTTP."""
        try:
            super().dataReceived(data)
        except Exception as error:
            logger.debug("a connection that is not HTTP is ended: %r", error)
            self.factory.refusals += 1
            self.transport.abortConnection()

    def timeoutConnection(self) -> None:
        """End an idle connection without a line in the log."""
        self.transport.abortConnection()

    def connectionLost(self, reason: Any = None) -> None:
        """Forget the connection."""
        self.factory.connections -= 1
        if self._end is not None and self._end.active():
            self._end.cancel()
        super().connectionLost(reason)


class Server(http.HTTPFactory):
    """Answers requests on a port of this machine.

    Parameters
    ----------
    accepts_path : callable
        Whether a path is known.
    answer : callable
        Returns the answer to a request.
    clock : object, optional
        Keeps the time, in place of Twisted's reactor.
    """

    protocol: Any = _Channel
    noisy = False

    def __init__(
        self,
        accepts_path: Callable[[str], bool],
        answer: Callable[[IncomingRequest], Answer],
        clock: Any = None,
    ) -> None:
        super().__init__(timeout=IDLE, reactor=clock)
        self.accepts_path, self.answer = accepts_path, answer
        self.connections = self.refusals = 0
        self._port: Any = None

    def buildProtocol(self, addr: Any) -> Any:
        """Return a connection."""
        channel: Any = super().buildProtocol(addr)
        request = type("Request", (_Request,), {"factory": self})
        channel.requestFactory = request
        return channel

    def log(self, request: Any) -> None:
        """Write no line for each request."""

    def listen(self, address: str, port: int) -> int:
        """Begin to listen; return the port. OSError if it is taken."""
        from twisted.internet import reactor  # not before Scrapy has chosen one

        listen: Any = reactor
        self._port = listen.listenTCP(port, self, interface=address)
        return int(self._port.getHost().port)

    def stop(self) -> Any:
        """Listen no more; return what Twisted waits for."""
        port, self._port = self._port, None
        return port.stopListening() if port is not None else None
