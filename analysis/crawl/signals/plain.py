"""Plain pings by address, and pages that date the feeds that they list.

A plain ping names a feed or a page of its site: as IndexNow has it (https://www.indexnow.org), by
GET with ``url`` or by POST of JSON with ``urlList``; by the call ``weblogUpdates.ping`` of weblogs
(XML-RPC); or as a line of a file or pipe. A page of dates is a sitemap, OPML, ``changes.xml`` of
weblogs or a feed whose entries lead to feeds: a feed that it dates later than at its last reading
has a ping about that time.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urljoin

from lxml import etree

from analysis.crawl.feeds.dates import unix_times
from analysis.crawl.feeds.markup import local_name
from analysis.crawl.feeds.parsing import listing_of
from analysis.crawl.feeds.reply import Reply

MOST_ADDRESSES = 10_000
"""Addresses in one ping, as IndexNow has it, or with a date in one page."""
DATES = ("updated", "lastbuilddate", "lastmod", "modified", "datemodified", "pubdate")
"""Attributes of OPML that date a feed, in lower case."""
MOST_LINE = 4096
"""Bytes of a line of a file of pings."""
MOST_READ = 1024 * 1024
"""Bytes of a file of pings that are read at a time."""


logger = logging.getLogger(__name__)


class Refused(ValueError):
    """A request that is no ping."""


def pinged_addresses(method: str, query: str, kind: str, body: bytes) -> list[str]:
    """Return the addresses that a ping over HTTP names.

    Parameters
    ----------
    method, query, kind : str
        Of the request: GET or POST, the query of its address, and the type of its content.
    body : bytes

    Raises
    ------
    Refused
        If it is no ping.

    Examples
    --------
    >>> pinged_addresses("GET", "url=http%3A%2F%2Fa.example%2Ffeed&key=x", "", b"")
    ['http://a.example/feed']
    >>> pinged_addresses("POST", "", "application/json", b'{"urlList": ["http://a.example/1"]}')
    ['http://a.example/1']
    """
    is_json = body.lstrip()[:1] == b"{"  # whatever the header says
    if method == "GET" or ("x-www-form-urlencoded" in kind and not is_json):
        text = query if method == "GET" else body.decode("utf-8", "replace")
        try:
            fields = parse_qs(text, max_num_fields=20)
        except ValueError:
            raise Refused("too many fields") from None
        named = [fields[name][0] for name in ("changesURL", "url") if name in fields]
        if not named:
            raise Refused("url is missing")
        return named
    if is_json:
        try:
            listed = json.loads(body)["urlList"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Refused("urlList is missing") from None
        if not isinstance(listed, list) or len(listed) > MOST_ADDRESSES:
            raise Refused(f"urlList must be a list of at most {MOST_ADDRESSES} addresses")
        return [url for url in listed if isinstance(url, str)]
    return _weblog_addresses(body)


def _weblog_addresses(body: bytes) -> list[str]:
    """Return the addresses of a call of ``weblogUpdates.ping``, without its first text, a name."""
    if b"<!" in body:
        raise Refused("declarations are not allowed")
    try:
        root = etree.fromstring(body, _parser())
    except etree.XMLSyntaxError:
        raise Refused("neither JSON nor XML") from None
    method = root.findtext("methodName") or ""
    if method.strip() not in ("weblogUpdates.ping", "weblogUpdates.extendedPing"):
        raise Refused("methodName must be weblogUpdates.ping")
    texts = ["".join(value.itertext()).strip() for value in root.iter("value")]
    return [text for text in texts[1:6] if text.startswith("http")]


def dated_addresses(reply: Reply) -> dict[str, float]:
    """Return the addresses that a page lists with a date, and the Unix time of each.

    Raises Unreadable if it is no page of that kind.
    """
    content = reply.body.lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        root = etree.fromstring(content, _parser()) if content.startswith(b"<") else None
    except etree.XMLSyntaxError:
        root = None
    name = local_name(root) if root is not None else ""
    if name in ("urlset", "sitemapindex"):
        rows = _sitemap(root)
    elif name == "opml":
        rows = _outlines(root)
    elif name == "weblogupdates":
        return _changes(root, reply)
    else:
        items = listing_of(reply).items
        dated = {urljoin(reply.url, i.link): float(i.published) for i in items
                 if i.link and i.published is not None}  # fmt: skip
        return dict(list(dated.items())[:MOST_ADDRESSES])
    addresses, texts = zip(*rows, strict=True) if rows else ((), ())
    times = unix_times(texts)
    return {urljoin(reply.url, address): float(time) for address, time
            in zip(addresses, times, strict=True) if time is not None}  # fmt: skip


def _sitemap(root: Any) -> list[tuple[str, str]]:
    rows = []
    for node in root[:MOST_ADDRESSES]:
        facts = {local_name(fact): (fact.text or "").strip() for fact in node[:20]}
        if facts.get("loc") and facts.get("lastmod"):
            rows.append((facts["loc"], facts["lastmod"]))
    return rows


def _outlines(root: Any) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for node in root.iter("{*}outline"):
        facts = {name.lower(): value.strip() for name, value in node.items()}
        dates = [facts[name] for name in DATES if facts.get(name)]
        if facts.get("xmlurl") and dates and len(rows) < MOST_ADDRESSES:
            rows.append((facts["xmlurl"], dates[0]))
    return rows


def _changes(root: Any, reply: Reply) -> dict[str, float]:
    """Return the rows of ``changes.xml``: each has the seconds since its change."""
    now = reply.time or datetime.now(UTC).timestamp()
    since = unix_times([root.get("updated", "")])[0]
    changes: dict[str, float] = {}
    for node in root.iter("{*}weblog"):
        seconds = (node.get("when") or "").strip()
        if seconds.isascii() and seconds.isdigit() and len(seconds) < 10:
            for url in (node.get("rssUrl"), node.get("url")):
                if url and len(changes) < MOST_ADDRESSES:
                    changes[urljoin(reply.url, url)] = float(since or now) - float(seconds)
    return changes


def _parser() -> Any:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True,
        remove_pis=True, huge_tree=False,
    )  # fmt: skip


def check_ping_file(path: str) -> str:
    """Return the path of a file or pipe of pings, which may come later; ValueError otherwise."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise ValueError(f"must lie in a folder that exists, got {path!r:.200}") from None
        return path
    except (OSError, ValueError) as error:  # a null byte, or a folder that cannot be entered
        raise ValueError(f"cannot be read: {error}") from None
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)) or not os.access(path, os.R_OK):
        raise ValueError(f"must be a regular file or a pipe that can be read, got {path!r:.200}")
    return path


class PingFile:
    """Lines of a file or pipe as pings: an address, and if you like the time of the item.

    Parameters
    ----------
    path : str
        A file to which lines are appended, or a pipe. It may come later.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.offset = 0
        self._pipe: int | None = None
        self._has_failed = False  # at the last reading
        self._rest = b""

    def read(self) -> Iterator[tuple[str, float | None]]:
        """Yield the pings that have come since the last call: address and claimed Unix time."""
        content = self._rest + self._content()
        *lines, self._rest = content.split(b"\n")
        self._rest = self._rest if len(self._rest) <= MOST_LINE else b""
        rows = []
        for line in lines:
            fields = line[:MOST_LINE].decode("utf-8", "replace").split(maxsplit=1)
            if fields and not fields[0].startswith("#"):
                rows.append((fields[0], fields[1] if len(fields) > 1 else ""))
        for (url, text), time in zip(rows, unix_times([text for _, text in rows]), strict=True):
            yield url, float(text) if re.fullmatch(r"\d{9,11}(\.\d+)?", text) else time

    def close(self) -> None:
        """Close the pipe."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def state(self) -> Mapping[str, Any]:
        """Return the place up to which a file has been read, for `restore`."""
        return {"path": self.path, "offset": self.offset - len(self._rest)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where an earlier run stopped, if it read the same file."""
        if state.get("path") == self.path and isinstance(state.get("offset"), int):
            self.offset = max(state["offset"], 0)

    def _content(self) -> bytes:
        try:
            check_ping_file(self.path)
            if self._pipe is not None or stat.S_ISFIFO(os.stat(self.path).st_mode):
                if self._pipe is None:
                    self._pipe = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
                return os.read(self._pipe, MOST_READ)
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size < self.offset:  # it has been begun anew
                    self.offset, self._rest = 0, b""
                file.seek(self.offset)
                content = file.read(MOST_READ)
        except (FileNotFoundError, BlockingIOError):
            return b""
        except (OSError, ValueError) as error:  # it has become something else
            if not self._has_failed:
                logger.warning("no pings of the file %s: %s", self.path, error)
            self._has_failed = True
            return b""
        self._has_failed = False
        self.offset += len(content)
        return content
