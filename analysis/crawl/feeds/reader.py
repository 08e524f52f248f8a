"""Reading of a feed in a reply: its new items, their value, and the state for the next request.

A reader is a function ``(reply, memory) -> Reading``; `FeedReader` reads RSS 0.9 to 2.0, Atom and
JSON Feed. The memory of a source is a string that only the reader interprets, empty before the
first fetch. A reply without information on the source (an error, a body that is not a feed) raises
`Unreadable`: the fetch counts as failed, and the memory does not change.

**Identity.** An item is known by its id; without one by its link; without either by title and date,
or by date and text if it has no title. Where several items of a listing have the same name, the
next of link, title, date and text is added to it, and the copies of one item are counted. Where no
id of a listing was there before, but titles and dates were, the feed changes its ids at each fetch:
then items of a title and date (without a date: a title and link) of the last listing are known.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any

from analysis.checks import check_integer, check_kind, check_number, set_fields, shown
from analysis.crawl.feeds.listing import believed_ages
from analysis.crawl.feeds.parsing import Item, Pauses, listing_of
from analysis.crawl.feeds.reply import Reply, Unreadable

HALF_LIFE = 86_400.0
"""Default seconds in which an item loses half of its value."""
IDS_CHANGE = "all ids are new, and titles and dates are not: ids are not used"
"""Note on a feed whose ids change at every fetch."""
REMEMBERED = 500
"""Earlier items that are remembered in addition to those of the last listing."""


@dataclass(frozen=True)
class Reading:
    """Result of reading one reply.

    Attributes
    ----------
    reward : float
        Value of the new items.
    items : tuple of dict
        The new items: id, link, title, text (content or summary, as sanitised HTML), author,
        enclosures (each with url, type and length), feed (its title), published and seen (ISO 8601
        in UTC, or empty), value. Only id, title, published and value are there in every item.
    memory : str
        Memory for the next reading.
    rest : float
        Seconds of rest that the feed itself asks for.
    known : int
        Number of listed items that had been listed before.
    ages : tuple of float
        Ages of all listed items in seconds, in increasing order; empty if dates are implausible
        (`analysis.crawl.feeds.listing`).
    aged : float or None
        Sum of value times age in seconds over the new items, by their dates; None if a date is
        missing or implausible.
    notes : tuple of str
        What is wrong with the feed, although it was read, if that was not so at the last reading.
    hubs : tuple of str
        Addresses of its hubs (WebSub), as the feed states them.
    topic : str
        Address by which the hubs know it, empty if it states none.
    moved : str
        Address to which the feed says that it has moved, or empty.
    """

    reward: float
    items: tuple[dict[str, Any], ...]
    memory: str
    rest: float = 0.0
    known: int = 0
    ages: tuple[float, ...] = ()
    aged: float | None = None
    notes: tuple[str, ...] = ()
    hubs: tuple[str, ...] = ()
    topic: str = field(default="", repr=False)
    moved: str = field(default="", repr=False)


@dataclass(frozen=True)
class FeedReader:
    """A reader of RSS, Atom and JSON Feed.

    An item is new if the source has not listed it before; the module says what identifies it. An
    item that is no longer listed is remembered until `REMEMBERED` others have left the listing
    after it. Its value is that of its ``value`` element (namespace `SPACE` of
    `analysis.crawl.feeds.reply`); without one 2^(-age/h), by its date and the time of the reply,
    for a half-life h, and 1 if it has no date or one in the future.

    Parameters
    ----------
    half_life : float
        h in seconds.

    Examples
    --------
    >>> from analysis.crawl import FeedReader, Reply
    >>> date = "<pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate>"
    >>> body = f"<rss><channel><item><guid>1</guid>{date}</item></channel></rss>".encode()
    >>> day = 1_704_153_600  # 2 January
    >>> FeedReader(half_life=86_400).read(Reply(200, {}, body, time=day), "").reward
    0.5
    """

    half_life: float = HALF_LIFE

    def __post_init__(self) -> None:
        set_fields(self, half_life=check_number("half_life", self.half_life, 0, low_open=True))

    def __call__(self, reply: Reply, memory: str) -> Reading:
        """Read a reply, as `read` does."""
        return self.read(reply, memory)

    def read(self, reply: Reply, memory: str) -> Reading:
        """Read a reply; arguments, result and errors are those of `read_feed`."""
        check_kind("reply", reply, Reply)
        remembered = _read_memory(memory)
        if reply.status == 304:
            if not memory:
                raise Unreadable("status 304 without a feed before it")
            rest = _rest_seconds(remembered["rest"], remembered["pauses"], reply.time)
            return Reading(0.0, (), memory, rest, known=len(remembered["ids"]), aged=0.0)
        if not 200 <= reply.status < 300:
            raise Unreadable(f"status {reply.status}")
        listing = listing_of(reply)
        items = listing.items
        names, notes = item_names(items, listing.texts)
        known_ids = set(remembered["ids"])
        unseen = [position for position, name in enumerate(names) if name not in known_ids]
        alike = [_content_key(item) for item in items]
        if known_ids and len(unseen) == len(items):
            before = set(remembered["alike"])
            unseen = [
                position
                for position in unseen
                if not alike[position] or alike[position] not in before
            ]
            if len(unseen) < len(items):
                notes.append(IDS_CHANGE)
        notes += [listing.fault] if listing.fault else []
        worth = [self._worth(items[position], reply.time) for position in unseen]
        reward = float(sum(worth))
        if not math.isfinite(reward):
            raise Unreadable("the values of the items have no finite sum")
        listed = set(names)
        gone = [name for name in remembered["ids"] if name not in listed]
        if reply.pushed:  # what is not in it may still be listed
            position, new_names = remembered["listed"], [names[position] for position in unseen]
            ids = [*remembered["ids"][:position], *new_names, *remembered["ids"][position:]]
            memory = json.dumps(remembered | {"ids": ids[: len(remembered["ids"]) + REMEMBERED]})
        text = json.dumps(
            {
                "ids": [*names, *gone[:REMEMBERED]],
                "listed": len(names),
                "rest": listing.rest,
                "alike": alike,
                "pauses": [listing.pauses.hours, listing.pauses.days],
                "notes": notes,
            }
        )
        new: tuple[dict[str, Any], ...] = tuple(
            {
                "id": items[position].id or items[position].link or names[position],
                "title": items[position].title,
                **details,
                "published": _iso(items[position].published),
                "seen": _iso(reply.time),
                "value": value,
            }
            for position, value, details in zip(unseen, worth, listing.details(unseen), strict=True)
        )
        dates = [item.published for item in items]
        ages = () if reply.time is None else believed_ages(dates, reply.time)
        new_items = [items[position] for position in unseen]
        return Reading(
            reward,
            new,
            memory if reply.pushed else text,
            rest=_rest_seconds(
                listing.rest, [listing.pauses.hours, listing.pauses.days], reply.time
            ),
            known=len(items) - len(unseen),
            ages=ages,
            aged=_aged(new_items, worth, reply.time) if ages or not unseen else None,
            notes=tuple(note for note in notes if note not in remembered["notes"]),
            hubs=listing.hubs,
            topic=listing.topic,
            moved=listing.moved,
        )

    def _worth(self, item: Item, now: float | None) -> float:
        if item.value is not None:
            return item.value
        if item.published is None or now is None:
            return 1.0
        return 2.0 ** (-max(now - item.published, 0.0) / self.half_life)


def _aged(items: Sequence[Item], worth: Sequence[float], now: float | None) -> float | None:
    """Return the sum of value times age in seconds, or None if an age is missing or too large."""
    total = 0.0
    for item, value in zip(items, worth, strict=True):
        if item.published is None or now is None:
            return None
        total += value * max(now - item.published, 0.0)
    return total if math.isfinite(total) else None


def read_feed(reply: Reply, memory: str) -> Reading:
    """Read a feed with the default half-life; see `FeedReader`.

    Parameters
    ----------
    reply : Reply
        Status 304, for a feed without changes, or 2xx with the feed.
    memory : str
        Memory of the last reading, or empty.

    Returns
    -------
    Reading

    Raises
    ------
    Unreadable
        For any other status, a body that is not a feed or is truncated, a value that is not a
        number in [0, inf), or a sum of values that is not.

    Examples
    --------
    >>> from analysis.crawl import Reply, read_feed
    >>> body = b"<rss><channel><item><guid>1</guid><title>News</title></item></channel></rss>"
    >>> first = read_feed(Reply(200, {}, body), "")
    >>> again = read_feed(Reply(200, {}, body), first.memory)
    >>> first.reward, again.reward
    (1.0, 0.0)
    """
    return FeedReader().read(reply, memory)


def item_names(items: Sequence[Item], texts: Callable[[int], str]) -> tuple[list[str], list[str]]:
    """Return the short name that identifies each item, all different, and what is wrong with ids.

    The argument `texts` returns the text of an item, given its place.
    """
    names = [_name(item, position, texts) for position, item in enumerate(items)]
    notes = []
    fields: list[tuple[str, Callable[[int], Any]]] = [
        ("links", lambda position: items[position].link),
        ("titles", lambda position: items[position].title),
        ("dates", lambda position: items[position].published),
        ("texts", texts),
    ]
    for kind, value in fields:
        groups = [group for group in _groups(names) if len(group) > 1]
        # Added even where it tells none apart: so a new item does not change the others' names.
        for position in (position for group in groups for position in group):
            names[position] = _hash(json.dumps([names[position], value(position)]))
        counts = Counter(names)
        if apart := sum(counts[names[position]] == 1 for group in groups for position in group):
            notes.append(f"{apart} items with the id of others are told apart by their {kind}")
    copies = [group for group in _groups(names) if len(group) > 1]
    for group in copies:
        for count, position in enumerate(group[1:], 2):
            names[position] = _hash(json.dumps([names[position], count]))
    if copies:
        notes.append(f"{sum(map(len, copies))} items are copies of {len(copies)}")
    return names, notes


def _name(item: Item, position: int, texts: Callable[[int], str]) -> str:
    if name := item.id or item.link:
        return _hash(name)
    facts = [item.title, item.published]
    return _hash(json.dumps(facts if item.title else [*facts, texts(position)]))


def _groups(names: Sequence[str]) -> list[list[int]]:
    """Return the places of each name, in order."""
    groups: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        groups.setdefault(name, []).append(position)
    return list(groups.values())


def _content_key(item: Item) -> str:
    """Return what an item is known by without its id; empty if it says too little."""
    if item.published is None:
        return _hash(f"{item.title} {item.link}", 6) if item.title and item.link else ""
    return _hash(f"{item.title} {item.published}", 6)


def listed_names(memory: str) -> list[str]:
    """Return the names of the items that a source listed at its last reading, by its memory."""
    try:
        fields = _read_memory(memory)
    except ValueError:  # that of another reader
        return []
    names: list[str] = fields["ids"][: fields["listed"]]
    return names


def pushed_names(memory: str, count: int) -> list[str]:
    """Return the names of the last `count` items that a hub sent, by the memory after them."""
    fields = _read_memory(memory)
    names: list[str] = fields["ids"][fields["listed"] :][:count]
    return names


def _hash(text: str, size: int = 9) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=size).hexdigest()


def _rest_seconds(asked: float, pauses: Sequence[Sequence[int]], now: float | None) -> float:
    """Return the seconds of rest that a feed asks for at a time."""
    hours, days = pauses
    paused = (
        Pauses(tuple(hours), tuple(days)).rest(now) if now is not None and (hours or days) else 0
    )
    return max(asked, paused)


def _read_memory(memory: str) -> dict[str, Any]:
    """Parse a memory, which can be one that an earlier version wrote."""
    check_kind("memory", memory, str)
    fields: dict[str, Any] = {"ids": [], "rest": 0.0, "alike": [], "pauses": [[], []], "notes": []}
    fields["listed"] = 0
    if not memory:
        return fields
    try:
        fields |= json.loads(memory)
        fields["listed"] = check_integer("listed", fields.get("listed", len(fields["ids"])), 0)
        check_number("rest", fields["rest"], 0)
        lists = [fields["ids"], fields["alike"], fields["notes"]]
        hours, days = fields["pauses"]
        if all(isinstance(entry, str) for entries in lists for entry in entries) and all(
            isinstance(entry, int) for entry in (*hours, *days)
        ):
            return fields
    except (ValueError, TypeError, KeyError):
        pass
    raise ValueError(f"memory must come from a reading, or be empty, got {shown(memory)}")


def _iso(time: float | None) -> str:
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


# Processes that read replies, with a limit on the time of one reading.
#
# A thread that reads a feed for minutes cannot be stopped, and a crawl that reads in its own thread
# stands still meanwhile. So a crawl reads in processes beside it. Before each reading a process
# sets a timer of its own processor time, which ends it, wherever it is, unless the reading ends
# before; the reply is then `Unreadable`, and another process starts. A process ends with the crawl,
# even if that is killed, as it reads from a pipe whose other end only the crawl has open.

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
