"""What a crawler makes of a reply: which items are new, what they are worth, what to remember.

A reader is a function ``(reply, memory) -> Reading``; `read_feed` reads RSS. The memory of a source
is a string that the reader alone understands, empty before the first crawl: `read_feed` keeps the
entity tag of the last feed and the ids of its items there. A reply that says nothing about the
source (an error, a body that is no feed) raises `Unreadable`, and the crawl counts as failed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from xml.etree import ElementTree

from analysis.crawl.feeds import SPACE, Reply

VALUE = f"{{{SPACE}}}value"


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
        The new items: id, title, published (as the feed has it), value.
    memory : str
        What to hand to the reader the next time.
    """

    reward: float
    items: tuple[dict[str, str | float], ...]
    memory: str


def read_feed(reply: Reply, memory: str) -> Reading:
    """Read an RSS feed.

    An item is new if the feed did not list it the last time. It is worth what its ``value`` element
    (namespace `analysis.crawl.feeds.SPACE`) says, and 1 without one.

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
        For any other status, a body that is not XML, or a value that is no number.

    Examples
    --------
    >>> from analysis.crawl import Reply, read_feed
    >>> body = b"<rss><channel><item><guid>1</guid><title>News</title></item></channel></rss>"
    >>> first = read_feed(Reply(200, {}, body), "")
    >>> again = read_feed(Reply(200, {}, body), first.memory)
    >>> first.reward, again.reward
    (1.0, 0)
    """
    if reply.status == 304:
        return Reading(0.0, (), memory)
    if not 200 <= reply.status < 300:
        raise Unreadable(f"status {reply.status}")
    known = set(json.loads(memory)["ids"]) if memory else set()
    try:
        listed = {_id(node): node for node in ElementTree.fromstring(reply.body).iter("item")}
        new = tuple(_item(id, node) for id, node in listed.items() if id not in known)
    except (ElementTree.ParseError, ValueError) as error:
        raise Unreadable(f"not a feed: {error}") from None
    kept = {"tag": reply.headers.get("etag", ""), "ids": list(listed)}
    return Reading(sum(float(item["value"]) for item in new), new, json.dumps(kept))


def conditions(memory: str) -> dict[str, str]:
    """Return the request headers that ask for news only."""
    tag = json.loads(memory)["tag"] if memory else ""
    return {"If-None-Match": tag} if tag else {}


def _id(node: ElementTree.Element) -> str:
    return node.findtext("guid") or node.findtext("link") or node.findtext("title") or ""


def _item(id: str, node: ElementTree.Element) -> dict[str, str | float]:
    value = float(node.findtext(VALUE, "1"))
    if not 0 <= value < math.inf:
        raise ValueError(f"an item's value must be a number in [0, inf), got {value}")
    return {
        "id": id,
        "title": node.findtext("title", ""),
        "published": node.findtext("pubDate", ""),
        "value": value,
    }
