"""Processes that read replies, with a limit on the time of one reading.

A thread that reads a feed for minutes cannot be stopped, and a crawl that reads in its own thread
stands still meanwhile. So a crawl reads in processes beside it. Before each reading a process sets
a timer of its own processor time, which ends it, wherever it is, unless the reading ends before;
the reply is then `Unreadable`, and another process starts. A process ends with the crawl, even if
that is killed, as it reads from a pipe whose other end only the crawl has open.
"""

from __future__ import annotations

import logging
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from analysis.crawl.feeds.reader import Reading
from analysis.crawl.feeds.reply import Reply, Unreadable

SECONDS = 20.0
"""Longest time of one reading: seconds of a processor, so that a busy computer makes none fail.

The first reading of a real feed of 10 MB, which sanitises all of its texts, takes some six."""
PROCESSES = 2
"""Processes: while one reads a feed for long, the other reads those of all other sources."""
_START = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve({number})"

logger = logging.getLogger(__name__)


class ReaderProcesses:
    """A reader in processes beside this one, which start when they are needed.

    Parameters
    ----------
    reader : callable
        Reads replies, as `analysis.crawl.feeds.reader` describes; it is pickled.
    seconds : float
        Longest time of one reading, in seconds of a processor.
    """

    def __init__(self, reader: Callable[[Reply, str], Reading], seconds: float = SECONDS) -> None:
        self._reader, self._seconds = reader, seconds
        self._threads = ThreadPoolExecutor(PROCESSES, "reader")
        self._local = threading.local()
        self._started: list[subprocess.Popen[bytes]] = []
        self._closed = False

    def submit(self, reply: Reply, memory: str) -> Future[Reading]:
        """Return the reading of a reply, in the future; it fails as the reader does.

        It also fails with `Unreadable`, after a warning in the log, if it takes too long or its
        process ends in another way.
        """
        return self._threads.submit(self._read, reply, memory)

    def close(self) -> None:
        """End the processes, and with them the readings under way."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._started:
            process.kill()
            process.wait()

    def _read(self, reply: Reply, memory: str) -> Reading:
        """Have a reply read by the process of this thread."""
        if not hasattr(self._local, "process"):
            self._start()
        process, connection = self._local.process, self._local.connection
        try:
            connection.send((reply, memory))
            result: Reading | Exception = connection.recv()
        except (EOFError, OSError):
            connection.close()
            status = process.wait()
            del self._local.process
            self._started.remove(process)
            late = status == -signal.SIGPROF
            reason = f"took longer than {self._seconds:g} s" if late else f"ended with {status}"
            if not self._closed:
                logger.warning("%s: the reading of %d bytes %s", reply.url, len(reply.body), reason)
            raise Unreadable(f"the reading {reason}") from None
        if isinstance(result, Exception):
            raise result
        return result

    def _start(self) -> None:
        own_end, child_end = socket.socketpair()
        with child_end:
            start = _START.format(path=sys.path, module=__name__, number=child_end.fileno())
            process = subprocess.Popen([sys.executable, "-c", start], pass_fds=[child_end.fileno()])
        connection = Connection(own_end.detach())
        connection.send((self._reader, self._seconds))
        self._local.process, self._local.connection = process, connection
        self._started.append(process)


def serve(number: int) -> None:
    """Read the replies that come through a file descriptor, until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl ends this process when it ends
    connection = Connection(number)
    try:
        reader, seconds = connection.recv()
        while True:
            reply, memory = connection.recv()
            signal.setitimer(signal.ITIMER_PROF, seconds)
            result: Any
            try:
                result = reader(reply, memory)
            except Exception as error:
                result = error
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            connection.send(result)
    except (EOFError, OSError):
        return
