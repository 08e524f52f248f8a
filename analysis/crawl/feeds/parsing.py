"""Parsing of feeds: what a reply lists, and the rest that the feed asks for.

RSS 0.9 to 2.0 and Atom are read by feedparser, which knows the elements of each dialect, sanitises
texts and makes their links absolute. It is given a tree with nothing but the elements and
attributes that are read here, as its time grows with the square of the attributes of an element.

It reads a feed twice: the facts that identify and date an item for all items, as all are needed at
each fetch, and the rest for those items alone that are new. JSON Feed, which feedparser 6 does not
read, is put into the form of Atom first.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape, unescape
from typing import Any
from urllib.parse import urljoin

import feedparser
from lxml import etree

from analysis.crawl.feeds.dates import unix_times
from analysis.crawl.feeds.markup import (
    ATOM,
    PREFIXES,
    Elements,
    feed_elements,
    local_name,
    plain_text,
    qualified_name,
)
from analysis.crawl.feeds.reply import SPACE, Reply, Unreadable

MOST_ITEMS = 5000
"""Items of a feed that are read: of more, the newest by their dates, or else first and last."""
MOST_LINKS = 100
"""Links and enclosures of an item that are read."""
MOST_HUBS = 3
"""Hubs of a feed that are read."""
MOST_ADDRESS = 2000
"""Letters of the address of a hub, a topic or a new feed."""
MOST_LETTERS = 200
"""Letters of an author that are read."""
MOST_ATTRIBUTES = 64
"""Attributes of an element that are looked at."""
_DATES = ("pubdate", "date", "published", "issued", "updated", "modified", "created")
_FACTS = {"guid", "id", "link", "title", *_DATES}
_TEXTS = ("content", "encoded", "fullitem", "body", "summary", "description")
_IN_FACTS = _FACTS | {"value"}
_AUTHORS = {"author", "creator", "name", "email", "uri"}
_DETAILS = {*_TEXTS, "author", "creator", "enclosure"}
_OF_FEED = {"title", "link", "author", "ttl", "updateperiod", "updatefrequency"}
_REPEATED = {"link", "enclosure", "author", "creator"}
_ATTRIBUTES = {"href", "rel", "type", "ispermalink", "mode", "url", "length", "version"}
_ATTRIBUTES |= {f"{{{PREFIXES['rdf']}}}about", "{http://www.w3.org/xml/1998/namespace}base"}
_MEDIA = {PREFIXES["media"], PREFIXES["media"].rstrip("/")}
_SPACES = {uri.lower() for uri in PREFIXES.values()} - _MEDIA
_SPACES |= {"http://www.w3.org/1999/xhtml"}
_VALUE = f"{{{SPACE}}}value"
_TAG = re.compile(r"<[a-zA-Z/!][^<>]*>")
_SCRIPT = re.compile(r"<(?:script|style)\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</(?:script|style)\s*>", re.IGNORECASE)
_PERIODS = {
    "hourly": 3600,
    "daily": 86_400,
    "weekly": 604_800,
    "monthly": 2_592_000,
    "yearly": 31_536_000,
}
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True)
class Item:
    """The fields of one item in a feed; None for a missing one.

    `id` and `link` are as the feed states them; `published` is a Unix time.
    """

    id: str
    link: str
    title: str
    published: int | None
    value: float | None = None


@dataclass(frozen=True)
class Pauses:
    """The hours (0 to 23) and days (0 is Monday), in UTC, at which a feed is not to be read."""

    hours: tuple[int, ...] = ()
    days: tuple[int, ...] = ()

    def rest(self, now: float) -> float:
        """Return the seconds to the next hour at which the feed may be read, at most a week."""
        hour = int(now // 3600)
        for ahead in range(24 * 7):
            date = time.gmtime(3600 * (hour + ahead))
            if date.tm_hour not in self.hours and date.tm_wday not in self.days:
                return max(3600.0 * (hour + ahead) - now, 0.0)
        return 7 * 86_400.0


@dataclass(frozen=True)
class Listing:
    """What a feed lists.

    Attributes
    ----------
    items : list of Item
        Its items, in its order.
    texts : callable
        Returns the text of an item, given its place, to tell it from another.
    details : callable
        Returns the other fields of items, given their places: link, text, author, enclosures, feed.
    rest : float
        Seconds for which the feed asks not to be read.
    pauses : Pauses
        Hours and days at which it asks not to be read.
    fault : str
        What is wrong with the feed, although it was read; empty if nothing is.
    hubs : tuple of str
        Addresses of the hubs that announce its items (WebSub).
    topic : str
        Address by which the hubs know it, empty if it states none.
    moved : str
        Address to which it says that it has moved (itunes:new-feed-url), or empty.
    """

    items: list[Item]
    texts: Callable[[int], str]
    details: Callable[[Sequence[int]], list[dict[str, Any]]]
    rest: float = 0.0
    pauses: Pauses = Pauses()
    fault: str = ""
    hubs: tuple[str, ...] = ()
    topic: str = ""
    moved: str = ""


def listing_of(reply: Reply) -> Listing:
    """Return what the feed in a reply lists.

    Raises
    ------
    Unreadable
        If the body is not a feed, or is truncated.
    """
    text = reply.text.lstrip("\ufeff \t\r\n")
    feed = _json_elements(text) if text.startswith("{") else feed_elements(text)
    nodes, fault = feed.items, feed.fault
    if len(nodes) > MOST_ITEMS:
        nodes = _newest(nodes)
        fault += f"{'; ' * bool(fault)}{len(nodes)} of {len(feed.items)} items are read"
    if nodes and nodes[0].find(_VALUE) is not None:
        facts: Any = {"title": feed.channel.findtext("title") or ""}
        items = _stated(nodes)
    else:
        parsed = feedparser.parse(_tree(feed, nodes, _FACTS), sanitize_html=False)
        facts, items = parsed.feed, _items(parsed.entries, nodes)
    return Listing(
        items=items,
        texts=lambda place: _text_of(nodes[place]),
        details=partial(_details, feed, facts, nodes, items, reply.url),
        rest=_read_ttl(facts),
        pauses=_pauses(feed.channel),
        fault=fault,
        hubs=_links(feed.channel, "hub", reply.url)[:MOST_HUBS],
        topic=next(iter(_links(feed.channel, "self", reply.url)), ""),
        moved=_new_address(feed.channel, reply.url),
    )


def _links(channel: Any, relation: str, url: str) -> tuple[str, ...]:
    """Return the targets of a feed's own links of a relation, each once."""
    targets = [
        urljoin(url, (node.get("href") or "").strip())
        for node in channel
        if local_name(node) == "link" and relation in (node.get("rel") or "").lower().split()
    ]
    return tuple(dict.fromkeys(link for link in targets if link and len(link) <= MOST_ADDRESS))


def _new_address(channel: Any, url: str) -> str:
    """Return the address that a feed gives as its new one, empty if there is none."""
    for node in channel:
        if local_name(node) == "new-feed-url" and (text := (node.text or "").strip()):
            address = urljoin(url, text)
            return address if len(address) <= MOST_ADDRESS else ""
    return ""


def _items(entries: Sequence[Any], nodes: Sequence[Any]) -> list[Item]:
    """Return entries of feedparser's as items."""
    # feedparser returns another date for a missing one, with a warning: take the stored values.
    names = ("published", "updated", "created")
    texts = [[dict.get(entry, name) or "" for name in names] for entry in entries]
    published: list[int | None] = [None] * len(entries)
    for column in zip(*texts, strict=True):  # a date that is none gives way to the next
        times = unix_times([t if p is None else "" for t, p in zip(column, published, strict=True)])
        published = [t if p is None else p for t, p in zip(times, published, strict=True)]
    return [
        Item(
            dict.get(entry, "id") or "",
            dict.get(entry, "link") or "",
            _title(entry),
            date,
            _value(node),
        )
        for entry, node, date in zip(entries, nodes, published, strict=True)
    ]


def _title(entry: Any) -> str:
    """Return the title of an entry as plain text."""
    title: str = dict.get(entry, "title") or ""
    if "html" not in dict.get(dict.get(entry, "title_detail") or {}, "type", ""):
        return title
    first, *others = _SCRIPT.split(title)
    title = first + "".join(tail for other in others for tail in _SCRIPT_END.split(other, 1)[1:])
    return unescape(_TAG.sub("", title)).strip()


def _stated(nodes: Sequence[Any]) -> list[Item]:
    """Return the items of a feed that states values, without feedparser, which takes longer."""
    rows = []
    for node in nodes:
        facts: dict[str, str] = {}
        for fact in node:
            facts.setdefault(fact.tag, (fact.text or "").strip())
        rows.append(facts)
    dates = unix_times([facts.get("pubDate", "") for facts in rows])
    return [
        Item(
            facts.get("guid", ""), facts.get("link", ""), facts.get("title", ""), date, _value(node)
        )
        for node, facts, date in zip(nodes, rows, dates, strict=True)
    ]


def _value(node: Any) -> float | None:
    """Return the value that an item states, None if it states none."""
    text = node.findtext(_VALUE)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        raise Unreadable(f"an item's value must be a number, got {text!r:.80}") from None
    if not 0 <= value < math.inf:
        raise Unreadable(f"an item's value must be a number in [0, inf), got {value}")
    return value


def _newest(nodes: Sequence[Any]) -> list[Any]:
    """Return the `MOST_ITEMS` newest items; the first and last ones if dates are missing."""
    texts = [
        next((n.text or "" for n in node if local_name(n) in _DATES), "") if len(node) else ""
        for node in nodes
    ]
    dates = unix_times(texts)
    if None in dates:
        return [*nodes[: MOST_ITEMS // 2], *nodes[-MOST_ITEMS // 2 :]]
    newest = sorted(range(len(nodes)), key=lambda k: dates[k] or 0, reverse=True)[:MOST_ITEMS]
    return [nodes[k] for k in sorted(newest)]


def _details(
    feed: Elements,
    facts: Any,
    nodes: Sequence[Any],
    items: Sequence[Item],
    url: str,
    positions: Sequence[int],
) -> list[dict[str, Any]]:
    """Return link, text, author, enclosures and name of the feed for some items."""
    chosen = [nodes[position] for position in positions]
    entries: Sequence[Any] = [{}] * len(positions)
    if any(
        local_name(fact) not in _IN_FACTS or fact.get("rel") == "enclosure"
        for node in chosen
        for fact in node
    ):
        tree = _tree(feed, chosen, _FACTS | _DETAILS)
        entries = feedparser.parse(tree, response_headers={"content-location": url}).entries
    return [
        {
            "link": urljoin(url, items[position].link) if items[position].link else "",
            "text": _text(entry),
            "author": _author(entry) or _author(facts),
            "enclosures": [_enclosure(link) for link in entry.get("enclosures", ())],
            "feed": _title(facts),
        }
        for entry, position in zip(entries, positions, strict=True)
    ]


def _text(entry: Any) -> str:
    """Return the content of an entry, or else its summary, as sanitised HTML."""
    details = [*entry.get("content", ()), entry.get("summary_detail", {})]
    text: dict[str, str] = next((detail for detail in details if detail.get("value")), {})
    value: str = text.get("value", "")
    return escape(value, quote=False) if text.get("type") == "text/plain" else value


def _author(entry: Any) -> str:
    """Return the author of an entry, or the names of several."""
    names = [author["name"] for author in entry.get("authors", ()) if author.get("name")]
    names = list(dict.fromkeys(names))
    author: str = entry.get("author", "")
    return ", ".join(names) if len(names) > 1 else author


def _enclosure(link: Any) -> dict[str, Any]:
    size = str(link.get("length", "")).strip()
    length = int(size) if size.isascii() and size.isdigit() and len(size) < 19 else None
    return {"url": link.get("href", ""), "type": link.get("type", ""), "length": length}


def _read_ttl(feed: Any) -> float:
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


def _pauses(channel: Any) -> Pauses:
    """Return the hours and days that <skipHours> and <skipDays> name (RSS 2.0)."""
    texts = {"skiphours": list[str](), "skipdays": list[str]()}
    for node in channel:
        if (name := local_name(node)) in texts:
            texts[name] += [(inner.text or "").strip().lower() for inner in node[:24]]
    hours = {
        int(text) % 24 for text in texts["skiphours"] if re.fullmatch("0?[0-9]|1[0-9]|2[0-4]", text)
    }
    days = {_WEEK.index(text) for text in texts["skipdays"] if text in _WEEK}
    return Pauses(tuple(sorted(hours)), tuple(sorted(days)))


def _tree(feed: Elements, nodes: Iterable[Any], names: set[str]) -> bytes:
    """Return a feed with some of its items, and of these the elements of some names."""
    spaces = {uri: prefix for prefix, uri in feed.root.nsmap.items() if uri.lower() in _SPACES}
    own = qualified_name(feed.root.tag)[0]
    if own:
        spaces[own] = feed.root.prefix
    tag = feed.root.tag if feed.root is not feed.channel or feed.root not in feed.items else None
    root = etree.Element(
        tag or f"{{{ATOM}}}feed", _attributes(feed.root), {p: u for u, p in spaces.items()}
    )
    parent = root
    if feed.channel is not feed.root:
        parent = etree.SubElement(root, feed.channel.tag, _attributes(feed.channel))
    if feed.root not in feed.items:
        _copy(feed.channel, parent, _OF_FEED)
    for node in nodes:
        _copy(node, etree.SubElement(parent, node.tag, _attributes(node)), names)
    body: bytes = etree.tostring(root, encoding="utf-8")
    return body


def _copy(node: Any, copy: Any, names: set[str]) -> None:
    """Copy the children of a node that have certain names.

    Those are its links, and of all others the first of each name that is not empty: elements of one
    local name in two namespaces are two names. Of its texts it is the one that says most: to
    sanitise them takes most of the time.
    """
    spaces, tags, repeated = {qualified_name(node.tag)[0], None}, set(), 0
    children = [
        (name, child)
        for child in node
        if isinstance(child.tag, str)
        for space, name in [qualified_name(child.tag)]
        if name in names and (space in spaces or (space or "").lower() in _SPACES)
    ]
    # Media RSS has texts of its own, in a group or not; they stand in for missing ones.
    stated = {"text" if name in _TEXTS else name for name, _ in children}
    children += [
        (name, inner)
        for child in node
        if isinstance(child.tag, str) and qualified_name(child.tag)[0] in _MEDIA
        for inner in (child, *child)
        for name in [local_name(inner)]
        if (name == "title" and name in names and name not in stated)
        or (name == "description" and name in names and "text" not in stated)
    ]
    texts = [
        (_TEXTS.index(name), position)
        for position, (name, child) in enumerate(children)
        if name in _TEXTS and (len(child) or child.text)
    ]
    text_place = min(texts)[1] if texts else None
    for position, (name, child) in enumerate(children):
        if name in _TEXTS and position != text_place:
            continue
        if name in _REPEATED:
            repeated += 1
            if repeated > MOST_LINKS:
                continue
        elif child.tag in tags or not (len(child) or (child.text or "").strip()):
            continue
        tags.add(child.tag)
        fact = etree.SubElement(copy, child.tag, _attributes(child))
        if name == "author" and len(child):
            _copy(child, fact, {"name", "email", "uri"})
        elif name in _TEXTS and len(child):
            fact.text = _markup(child)
            fact.set("type", "html")
            fact.attrib.pop("mode", None)
        else:
            text = "".join(child.itertext()) if len(child) else child.text or ""
            # feedparser's time grows with the square of comments without an end, and of authors.
            if name in _TEXTS and "<!--" in text:
                text = re.sub(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL)
            fact.text = text[:MOST_LETTERS] if name in _AUTHORS else text


def _attributes(node: Any) -> dict[str, str]:
    """Return the attributes of an element that are read."""
    # Of the names alone: lxml looks for each value among all attributes of an element.
    names = (name for name in node.keys()[:MOST_ATTRIBUTES] if name.lower() in _ATTRIBUTES)
    return {name: node.get(name) for name in names}


def _markup(node: Any) -> str:
    """Return the content of an element as HTML."""
    if len(node) == 1 and local_name(node[0]) == "div" and node.get("type") == "xhtml":
        node = node[0]  # which is no part of the content (RFC 4287, section 3.1.1.3)
    for inner in node.iterdescendants():
        if isinstance(inner.tag, str):
            inner.tag = inner.tag.rpartition("}")[2]
    parts = [escape(node.text or "", quote=False)]
    parts += [etree.tostring(child, encoding="unicode", method="html") for child in node]
    return "".join(parts)


def _text_of(node: Any) -> str:
    """Return all text of an item's contents, without its markup."""
    return "\n".join("".join(fact.itertext()) for fact in node if local_name(fact) in _TEXTS)


def _json_elements(text: str) -> Elements:
    """Return a JSON Feed (https://www.jsonfeed.org/version/1.1/) as elements of Atom."""
    try:
        feed = json.loads(text)
        if "jsonfeed.org/version/" not in feed["version"]:
            raise Unreadable("not a feed: JSON without the version of JSON Feed")
        listed = [item for item in feed["items"] if isinstance(item, dict)]
        missing = len(feed["items"]) - len(listed)
    except (AttributeError, KeyError, TypeError, RecursionError, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"not a feed: {type(error).__name__}: {error}") from None
    if missing and not listed:
        raise Unreadable("not a feed: JSON Feed with items that are no objects")
    root = etree.Element(f"{{{ATOM}}}feed", nsmap={None: ATOM})
    _add(root, "title", feed.get("title"))
    _add_authors(root, feed)
    for hub in _objects(feed.get("hubs")):
        _add(root, "link", "", rel="hub", href=hub.get("url"))
    if feed.get("feed_url"):
        _add(root, "link", "", rel="self", href=feed["feed_url"])
    items = [_add(root, "entry", "") for _ in listed]
    for node, item in zip(items, listed, strict=True):
        link = item.get("url") or item.get("external_url")
        _add(node, "id", link if item.get("id") in (None, "") else item["id"])
        if link:
            _add(node, "link", "", href=link)
        _add(node, "title", item.get("title"))
        _add(node, "published", item.get("date_published"))
        _add(node, "updated", item.get("date_modified"))
        _add(node, "summary", item.get("summary"))
        _add(node, "content", item.get("content_html"), type="html")
        _add(node, "content", item.get("content_text"))
        _add_authors(node, item)
        for file in _objects(item.get("attachments")):
            size = {"type": file.get("mime_type"), "length": file.get("size_in_bytes")}
            if file.get("url"):
                _add(node, "link", "", rel="enclosure", href=file["url"], **size)
    return Elements(root, root, items, f"{missing} items are no objects" if missing else "")


def _add(parent: Any, name: str, text: Any, **attributes: Any) -> Any:
    """Add an element of Atom with a text, unless that is not one."""
    if not isinstance(text, (str, int, float)):
        return None
    node = etree.SubElement(parent, f"{{{ATOM}}}{name}")
    node.text = plain_text(str(text))
    for key, value in attributes.items():
        if isinstance(value, (str, int, float)):
            node.set(key, plain_text(str(value)))
    return node


def _add_authors(parent: Any, item: dict[str, Any]) -> None:
    """Add the authors of an item or a feed, by version 1.1 of JSON Feed or by version 1."""
    for author in [*_objects(item.get("authors")), *_objects([item.get("author")])]:
        _add(_add(parent, "author", ""), "name", author.get("name"))


def _objects(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if values else []
