"""Parsing of feeds: the items that a reply lists, and the rest that the feed asks for.

RSS 0.9 to 2.0 and Atom are read in three steps. w3lib finds the encoding; lxml reads XML that is
not well formed, without entities and without the network, and elements that are not needed here
(contents, pictures, unknown ones, all items after the first `MOST_ITEMS`) are dropped; feedparser,
which knows the names of ids and dates in each dialect, reads the rest. Without lxml, feedparser
would use its lenient parser on malformed feeds, which takes a minute for a megabyte of open tags.
feedparser 6 does not read JSON Feed, whose items are a list of JSON objects.
"""

from __future__ import annotations

import calendar
import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice
from typing import Any

import feedparser
from lxml import etree
from w3lib.encoding import html_to_unicode

from analysis.crawl.feeds.reply import SPACE, Reply

MOST_ITEMS = 500
"""Items of a feed that are read: its first ones, which are its newest."""
_ROOTS = ("rss", "rdf", "feed")
_ITEMS = ("item", "entry")
_FACTS = {
    "guid", "id", "link", "title", "pubdate", "date", "issued", "published", "modified", "updated",
    "created", "value", "ttl", "updateperiod", "updatefrequency",
}  # fmt: skip
_VALUE = f"{{{SPACE}}}value"
_PERIODS = {
    "hourly": 3600,
    "daily": 86_400,
    "weekly": 604_800,
    "monthly": 2_592_000,
    "yearly": 31_536_000,
}


class Unreadable(ValueError):
    """A reply without information on the source."""


@dataclass(frozen=True)
class Item:
    """The fields of one item in a feed; None for a missing one."""

    id: str
    title: str
    published: int | None
    value: float | None = None


def listed_items(reply: Reply) -> tuple[list[Item], float]:
    """Return the items of a feed, in its order, and the seconds of rest that it asks for."""
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
    """Return "utf-8" if bytes without a declared encoding are valid UTF-8."""
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
        raise Unreadable("not a feed: it is truncated, too deep or too nested")
    return root


def _trim(root: Any) -> None:
    """Drop all elements of a feed that are not needed here."""
    etree.strip_tags(root, etree.Entity)
    for parent in (root, *(node for node in root if _local(node) == "channel")):
        items = [node for node in parent if _local(node) in _ITEMS]
        _keep_facts(parent, {*items[:MOST_ITEMS], *(n for n in parent if _local(n) == "channel")})
        for item in items[:MOST_ITEMS]:
            _keep_facts(item, set())
            for fact in item:
                etree.strip_tags(fact, "*")


def _is_whole(text: str, root: Any, errors: Any) -> bool:
    """Return whether the root element of a feed is closed, and all of the text was read."""
    name = etree.QName(root).localname
    closed = f"</{root.prefix}:{name}" if root.prefix else f"</{name}"
    too_deep = etree.ErrorTypes.ERR_RESOURCE_LIMIT
    return closed in text and all(error.type != too_deep for error in errors)


def _keep_facts(parent: Any, others: set[Any]) -> None:
    """Drop all children of an element except one of each name in `_FACTS`, and some others."""
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
    """Return an item of feedparser's as an `Item`."""
    # feedparser returns another date for a missing one, with a warning: take the stored values.
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
