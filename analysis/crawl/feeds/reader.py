"""Reading of a feed in a reply: its new items, their value, and the state for the next request.

A reader is a function ``(reply, memory) -> Reading``; `FeedReader` reads RSS 0.9 to 2.0, Atom and
JSON Feed. The memory of a source is a string that only the reader interprets, empty before the
first fetch. A reply without information on the source (an error, a body that is not a feed) raises
`Unreadable`: the fetch counts as failed, and the memory does not change.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from analysis.checks import check_kind, check_number, set_fields, shown
from analysis.crawl.feeds.listing import believed_ages
from analysis.crawl.feeds.parsing import Item, Unreadable, listed_items
from analysis.crawl.feeds.reply import Reply

HALF_LIFE = 86_400.0
"""Default seconds in which an item loses half of its value."""
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
        The new items: id, title, published (ISO 8601 in UTC, or empty), value.
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
    """

    reward: float
    items: tuple[dict[str, str | float], ...]
    memory: str
    rest: float = 0.0
    known: int = 0
    ages: tuple[float, ...] = ()
    aged: float | None = None


@dataclass(frozen=True)
class FeedReader:
    """A reader of RSS, Atom and JSON Feed.

    An item is new if the source has not listed it before. It is identified by its id, by its link
    without an id, or else by its title and date; an item that is no longer listed is remembered
    until `REMEMBERED` others have left the listing after it. Its value is that of its ``value``
    element (namespace `SPACE` of `analysis.crawl.feeds.reply`); without one 2^(-age/h), by its date
    and the time of the reply, for a half-life h, and 1 if it has no date or one in the future.

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
        kept = _kept(memory)
        if reply.status == 304:
            if not memory:
                raise Unreadable("status 304 without a feed before it")
            return Reading(0.0, (), memory, kept["rest"], known=len(kept["ids"]), aged=0.0)
        if not 200 <= reply.status < 300:
            raise Unreadable(f"status {reply.status}")
        listed, rest = listed_items(reply)
        known, names = set(kept["ids"]), {_name(item): item for item in listed}
        unseen = {name: item for name, item in names.items() if name not in known}
        worth = [self._worth(item, reply.time) for item in unseen.values()]
        reward = float(sum(worth))
        if not math.isfinite(reward):
            raise Unreadable("the values of the items have no finite sum")
        gone = [name for name in kept["ids"] if name not in names]
        ids = [*names, *gone[:REMEMBERED]]
        new: tuple[dict[str, str | float], ...] = tuple(
            {
                "id": item.id or name,
                "title": item.title,
                "published": _iso(item.published),
                "value": value,
            }
            for (name, item), value in zip(unseen.items(), worth, strict=True)
        )
        text = json.dumps({"ids": ids, "rest": rest})
        dates = [item.published for item in names.values()]
        ages = () if reply.time is None else believed_ages(dates, reply.time)
        aged = _aged(list(unseen.values()), worth, reply.time) if ages or not unseen else None
        return Reading(reward, new, text, rest, len(names) - len(unseen), ages, aged)

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


def _kept(memory: str) -> dict[str, Any]:
    """Parse a memory: the ids of remembered items, and the rest that the feed asked for."""
    check_kind("memory", memory, str)
    if not memory:
        return {"ids": [], "rest": 0.0}
    try:
        kept: dict[str, Any] = json.loads(memory)
        check_number("rest", kept["rest"], 0)
        if all(isinstance(name, str) for name in kept["ids"]):
            return kept
    except (ValueError, TypeError, KeyError):
        pass
    raise ValueError(f"memory must come from a reading, or be empty, got {shown(memory)}")


def _name(item: Item) -> str:
    """Return the short name that identifies an item: its id, or else its title and date."""
    text = item.id or json.dumps([item.title, item.published])
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=9).hexdigest()


def _iso(time: int | None) -> str:
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""
