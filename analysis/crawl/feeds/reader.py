"""Reading of a feed in a reply: its new items, their value, and the state for the next request.

A reader is a function ``(reply, memory) -> Reading``; `FeedReader` reads RSS 0.9 to 2.0, Atom and
JSON Feed. The memory of a source is a string that the reader alone understands, empty before the
first crawl. A reply that says nothing about the source (an error, a body that is no feed) raises
`Unreadable`: the crawl counts as failed, and what was remembered stays.

XML is read in three steps. w3lib, a library of Scrapy's, finds the encoding; lxml reads what is not
well formed, without entities and without the network, and what a feed does not need here (contents,
pictures, unknown elements, all items after the first `MOST_ITEMS`) is dropped; feedparser, which
knows the dialects of twenty years and what they call an id or a date, says what is left. A feed
that feedparser cannot read strictly would go to a second parser of it that takes a minute for a
megabyte of open tags; after lxml there is none. feedparser 6 does not read JSON Feed, whose items
are a list of JSON objects.
"""

from __future__ import annotations

import calendar
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice
from typing import Any

import feedparser
from lxml import etree
from w3lib.encoding import html_to_unicode

from analysis.checks import check_kind, check_number, set_fields, shown
from analysis.crawl.feeds.listing import believed_ages
from analysis.crawl.feeds.reply import SPACE, Reply

HALF_LIFE = 86_400.0
"""Seconds in which an item loses half of its worth, unless said otherwise."""
MOST_ITEMS = 500
"""Items of a feed that are read: its first ones, which are its newest."""
REMEMBERED = 500
"""Items that were listed before and are remembered, beside those of the last listing."""
_ROOTS = ("rss", "rdf", "feed")
_ITEMS = ("item", "entry")
_FACTS = {
    "guid", "id", "link", "title", "pubdate", "date", "issued", "published", "modified", "updated",
    "created", "value", "ttl", "updateperiod", "updatefrequency",
}  # fmt: skip
_VALUE = f"{{{SPACE}}}value"
_PERIODS = {"hourly": 3600, "daily": 86_400, "weekly": 604_800, "monthly": 2_592_000}
_PERIODS["yearly"] = 31_536_000


class Unreadable(ValueError):
    """A reply from which nothing can be learned about the source."""


@dataclass(frozen=True)
class Reading:
    """What one crawl found.

    Attributes
    ----------
    reward : float
        Worth of the new items.
    items : tuple of dict
        The new items: id, title, published (ISO 8601 in UTC, or empty), value.
    memory : str
        What to hand to the reader the next time.
    rest : float
        Seconds for which the feed itself asks not to be read again.
    known : int
        Number of listed items that had been listed before.
    ages : tuple of float
        Ages of all listed items in seconds, in increasing order; empty where dates are not to be
        believed (`analysis.crawl.feeds.listing`).
    aged : float or None
        Sum of worth times age in seconds over the new items, by their dates; None where one has no
        date, or dates are not to be believed.
    """

    reward: float
    items: tuple[dict[str, str | float], ...]
    memory: str
    rest: float = 0.0
    known: int = 0
    ages: tuple[float, ...] = ()
    aged: float | None = None


@dataclass(frozen=True)
class Item:
    """What a feed says of one of its items; None where it says nothing."""

    id: str
    title: str
    published: int | None
    value: float | None = None


@dataclass(frozen=True)
class FeedReader:
    """A reader of RSS, Atom and JSON Feed.

    An item is new if the source has not listed it before. It is known by its id, by its link where
    it has none, or else by its title and date; an item that leaves the listing is still known while
    fewer than `REMEMBERED` others have left it since. An item is worth what its ``value`` element
    (namespace `SPACE` of `analysis.crawl.feeds.reply`) says; without one 2^(-age/h), by its date
    and the time of the reply, for a half-life h, and 1 if it has no date or lies in the future.

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
        """Read a reply.

        Parameters
        ----------
        reply : Reply
            Status 304, for a feed without news, or 2xx with the feed.
        memory : str
            Of the last reading, or empty.

        Returns
        -------
        Reading

        Raises
        ------
        Unreadable
            For any other status, a body that is no feed or is cut short, a value that is no number
            in [0, inf), or a sum of values that is none.
        """
        check_kind("reply", reply, Reply)
        kept = _kept(memory)
        if reply.status == 304:
            if not memory:
                raise Unreadable("status 304 without a feed before it")
            return Reading(0.0, (), memory, kept["rest"], known=len(kept["ids"]), aged=0.0)
        if not 200 <= reply.status < 300:
            raise Unreadable(f"status {reply.status}")
        listed, rest = _listing(reply)
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
    """Return the sum of worth times age in seconds, or None if an age is missing or too large."""
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
        Status 304, for a feed without news, or 2xx with the feed.
    memory : str
        Of the last reading, or empty.

    Returns
    -------
    Reading

    Raises
    ------
    Unreadable
        For any other status, or a body that is no feed.

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
    """Return what a reading has left: the items that are known, and the rest that was asked for."""
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
    raise ValueError(f"memory must be that of a reading, or empty, got {shown(memory)}")


def _listing(reply: Reply) -> tuple[list[Item], float]:
    """Return the items of a feed, as it lists them, and the seconds of rest that it asks for."""
    kind = reply.headers.get("content-type")
    try:
        text = html_to_unicode(kind, reply.body, auto_detect_fun=_guess)[1]
    except (LookupError, ValueError) as error:  # codecs that are not for text
        raise Unreadable(f"not a feed: {error}") from None
    text = text.lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        return _json_items(text), 0.0
    root = _root(text)
    if SPACE in text:
        return [_stated(node) for node in islice(root.iter("item"), MOST_ITEMS)], 0.0
    _trim(root)
    parsed = feedparser.parse(etree.tostring(root, encoding="utf-8"), sanitize_html=False)
    if not parsed.version:
        raise Unreadable("not a feed")
    return [_plain(entry) for entry in parsed.entries], _rest(parsed.feed)


def _guess(body: bytes) -> str | None:
    """Take bytes that do not say what they are for UTF-8, if they are."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _root(text: str) -> Any:
    """Return the root element of a feed in XML."""
    parser = etree.XMLParser(
        recover=True, resolve_entities=False, no_network=True, load_dtd=False, encoding="utf-8",
        remove_comments=True, remove_pis=True, huge_tree=False,
    )  # fmt: skip
    try:
        root = etree.fromstring(text.encode(errors="replace"), parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"not a feed: {error}") from None
    if root is None or _local(root) not in _ROOTS:
        raise Unreadable("not a feed" if root is None else f"not a feed: <{_local(root)}>")
    if len(root) and not _is_whole(text, root, parser.error_log):
        raise Unreadable("not a feed: it is cut short, too deep or too entangled")
    return root


def _trim(root: Any) -> None:
    """Leave nothing in a feed but what is needed here."""
    etree.strip_tags(root, etree.Entity)
    for parent in (root, *(node for node in root if _local(node) == "channel")):
        items = [node for node in parent if _local(node) in _ITEMS]
        _keep_facts(parent, {*items[:MOST_ITEMS], *(n for n in parent if _local(n) == "channel")})
        for item in items[:MOST_ITEMS]:
            _keep_facts(item, set())
            for fact in item:
                etree.strip_tags(fact, "*")


def _is_whole(text: str, root: Any, errors: Any) -> bool:
    """Return whether the root of a feed is closed, and all of it was read."""
    name = etree.QName(root).localname
    closed = f"</{root.prefix}:{name}" if root.prefix else f"</{name}"
    too_deep = etree.ErrorTypes.ERR_RESOURCE_LIMIT
    return closed in text and all(error.type != too_deep for error in errors)


def _keep_facts(parent: Any, others: set[Any]) -> None:
    """Drop all children of an element but its facts, one of each name, and some others."""
    seen = set()
    for node in list(parent):
        name = _local(node)
        if node not in others and (name not in _FACTS or name in seen):
            parent.remove(node)
        seen.add(name)


def _local(node: Any) -> str:
    """Return the name of an element without its namespace, in lower case."""
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""


def _stated(node: Any) -> Item:
    """Read an item of a feed that states values."""
    facts: dict[str, str | None] = {}
    for fact in node:
        facts.setdefault(fact.tag, fact.text)
    value = None
    if _VALUE in facts:
        text = facts[_VALUE] or ""
        try:
            value = float(text)
        except ValueError:
            raise Unreadable(f"an item's value must be a number, got {text!r:.80}") from None
        if not 0 <= value < math.inf:
            raise Unreadable(f"an item's value must be a number in [0, inf), got {value}")
    id = facts.get("guid") or facts.get("link") or ""
    return Item(id, facts.get("title") or "", _mail_seconds(facts.get("pubDate")), value)


def _plain(entry: Any) -> Item:
    """Read an item as feedparser gives it."""
    # Asked by itself, feedparser gives one date for the other, and warns that it will not for long.
    date = dict.get(entry, "published_parsed") or dict.get(entry, "updated_parsed")
    id = entry.get("id") or entry.get("link") or ""
    return Item(id, entry.get("title", ""), _seconds(date))


def _json_items(text: str) -> list[Item]:
    """Read a JSON Feed (https://www.jsonfeed.org/version/1.1/)."""
    try:
        feed = json.loads(text)
        if "jsonfeed.org/version/" not in feed["version"]:
            raise Unreadable("not a feed: JSON without the version of JSON Feed")
        return [
            Item(
                str(item.get("id") or item.get("url") or ""),
                str(item.get("title") or ""),
                _iso_seconds(item.get("date_published") or item.get("date_modified")),
            )
            for item in feed["items"][:MOST_ITEMS]
        ]
    except (AttributeError, KeyError, TypeError, RecursionError, json.JSONDecodeError) as error:
        raise Unreadable(f"not a feed: {type(error).__name__}: {error}") from None


def _rest(feed: Any) -> float:
    """Return the seconds that <ttl>, or the syndication module's update period, asks for."""
    minutes, frequency = _positive(feed.get("ttl")), _positive(feed.get("sy_updatefrequency"))
    period = _PERIODS.get(str(feed.get("sy_updateperiod", "")).strip().lower(), 0)
    return max(60.0 * minutes, period / (frequency or 1.0))


def _positive(text: Any) -> float:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return 0.0
    return number if 0 < number < math.inf else 0.0


def _name(item: Item) -> str:
    """Return a short name by which an item is known: its id, or else its title and date."""
    text = item.id or json.dumps([item.title, item.published])
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=9).hexdigest()


def _seconds(date: Any) -> int | None:
    """Return a date of feedparser's as Unix time."""
    return calendar.timegm(date) if date else None


@lru_cache(maxsize=65_536)  # a feed lists an item many times
def _mail_seconds(text: str | None) -> int | None:
    try:
        return int(parsedate_to_datetime(text or "").timestamp())
    except (TypeError, ValueError, OverflowError):
        return None


def _iso_seconds(text: Any) -> int | None:
    try:
        date = datetime.fromisoformat(text)
        return int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    except (TypeError, ValueError, OverflowError):
        return None


def _iso(time: int | None) -> str:
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""
