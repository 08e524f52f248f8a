"""HTTP headers on freshness and waiting (RFC 9110 and 9111), and a source's state between fetches.

Names of headers are in lower case, as `Reply` has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

from scrapy.http import Headers, Response

from analysis.crawl.fetching.hosts import plain_address

MOST_LINK_HEADER = 8192
"""Characters of the header ``Link`` that are read."""
MOVED_FOR_GOOD = (301, 308)
MOVED = (*MOVED_FOR_GOOD, 302, 303, 307)


SINGLE = (
    "age", "content-length", "content-type", "date", "etag", "expires", "last-modified",
    "location", "retry-after",
)  # fmt: skip
"""Headers with one value (RFC 9110): of several lines the last one counts."""


def plain_headers(headers: Headers) -> dict[str, str]:
    """Return the value of each header, by its name in lower case.

    Lines of one name are joined by commas (RFC 9110, section 5.3), except those of `SINGLE`.
    """
    joined = {}
    for name, values in headers.items():
        if values:
            lines = [value.decode("latin-1") for value in values]
            key = name.decode("latin-1").lower()
            joined[key] = lines[-1] if key in SINGLE else ", ".join(lines)
    return joined


_LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[\w!#$&+.^`|~-]+\*?\s*=\s*(?:"[^"]*"|[^\s",;]*))*)')
_RELATION = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]*))', re.IGNORECASE)


def header_links(headers: Mapping[str, str], relation: str, url: str) -> tuple[str, ...]:
    """Return the targets of the header ``Link`` of a relation, each once (RFC 8288).

    Examples
    --------
    >>> header_links({"link": '</hub>; rel="hub self", <b>; rel=next'}, "hub", "http://a/feed")
    ('http://a/hub',)
    """
    targets = []
    for target, parameters in _LINK.findall(headers.get("link", "")[:MOST_LINK_HEADER]):
        match = _RELATION.search(parameters)
        if match and relation in (match[1] or match[2] or "").lower().split():
            targets.append(urljoin(url, target.strip()))
    return tuple(dict.fromkeys(targets))


def redirect_target(response: Response) -> str | None:
    """Return where a redirect leads, None where it is none or leads out of HTTP."""
    location = response.headers.get("location")
    if response.status not in MOVED or not location:
        return None
    try:
        url = plain_address(urljoin(response.url, _text(location)))
    except ValueError:
        return None
    return url if urlsplit(url).scheme in {"http", "https"} else None


def _text(value: bytes) -> str:
    """Decode a header: UTF-8, which servers send although RFC 9110 has ASCII, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


@dataclass(frozen=True)
class Memory:
    """The state of a source between two fetches, apart from its age."""

    reader: str = ""  # the reader's memory
    url: str = ""  # URL from which the last feed was read
    # Its ``ETag`` and ``Last-Modified``, empty if it had none.
    tag: str = ""
    modified: str = ""
    # Target of permanent redirects from the source's own URL, empty if there are none.
    moved: str = ""
    # Address to which the feed itself says that it has moved, once it has been tried.
    tried: str = ""

    @classmethod
    def read(cls, text: str) -> Memory:
        """Parse what `text` returned; an empty or damaged string is an empty state."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            return cls()

    def text(self) -> str:
        """Return the state as one string, for `read`."""
        return json.dumps({name: value for name, value in vars(self).items() if value})

    def conditions(self, url: str) -> dict[str, str]:
        """Return the headers of a conditional request to a URL (RFC 9110, section 13.1)."""
        if url != self.url:
            return {}
        headers = {"If-None-Match": self.tag, "If-Modified-Since": self.modified}
        return {name: value for name, value in headers.items() if value}


def fresh_for(headers: Mapping[str, str], now: float) -> float:
    """Return the seconds for which a reply is fresh (RFC 9111, sections 4.2.1 and 4.2.3).

    Examples
    --------
    >>> fresh_for({"cache-control": "max-age=600", "age": "60"}, 0.0)
    540.0
    """
    directives: dict[str, str] = {}
    for name, value in _DIRECTIVE.findall(headers.get("cache-control", "")):
        directives.setdefault(name.lower(), value)  # the first of two counts (section 4.2.1)
    # no-cache="names" concerns these headers, not the reply (section 5.2.2.4).
    if "no-store" in directives or directives.get("no-cache") == "":
        return 0.0
    if "max-age" in directives:
        fresh = _seconds(directives["max-age"].strip('"'))
    else:
        fresh = until(headers.get("expires"), sent_at(headers, now))
    return max(fresh - _seconds(headers.get("age", "")), 0.0)


_DIRECTIVE = re.compile(r'([^\s=,;"]+)(?:\s*=\s*("[^"]*"|[^\s,;"]*))?')
"""A directive of ``Cache-Control`` and its value."""


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Return the seconds that ``Retry-After`` asks to wait (RFC 9110, section 10.2.3).

    Examples
    --------
    >>> retry_after({"retry-after": "120"}, 0.0)
    120.0
    """
    text = headers.get("retry-after", "").strip()
    return _seconds(text) if text.isascii() and text.isdigit() else until(text, now)


def until(date: str | None, now: float) -> float:
    """Return the seconds until an HTTP date; 0 if it has passed or is not a date."""
    try:
        return max(parsedate_to_datetime(date or "").timestamp() - now, 0.0)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def sent_at(headers: Mapping[str, str], now: float) -> float:
    """Return the Unix time of a reply by its ``Date``, or `now` without one."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (TypeError, ValueError, OverflowError):
        return now


def _seconds(text: str) -> float:
    """Return a non-negative whole number of seconds; 0 for anything else."""
    text = text.strip()
    return min(float(text), 1e18) if text.isascii() and text.isdigit() else 0.0
