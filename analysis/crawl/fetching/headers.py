"""What the headers of HTTP say about asking again (RFC 9110 and 9111), and what a crawl keeps.

Names of headers are in lower case, as `Reply` has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from scrapy.extensions.httpcache import parse_cachecontrol

MOVED_FOR_GOOD = (301, 308)
MOVED = (*MOVED_FOR_GOOD, 302, 303, 307)


@dataclass(frozen=True)
class Memory:
    """What is remembered of a source between two fetches, beside its age.

    Attributes
    ----------
    reader : str
        The reader's memory.
    url : str
        Address that the last feed came from.
    tag, modified : str
        Its ``ETag`` and ``Last-Modified``, empty where it had none.
    moved : str
        Where permanent redirects lead from the source's own address, empty for nowhere else.
    """

    reader: str = ""
    url: str = ""
    tag: str = ""
    modified: str = ""
    moved: str = ""

    @classmethod
    def read(cls, text: str) -> Memory:
        """Return what `text` wrote, or nothing remembered where that is empty."""
        return cls(**json.loads(text)) if text else cls()

    def text(self) -> str:
        """Return all of it as one string, for `read`."""
        return json.dumps({name: value for name, value in vars(self).items() if value})

    def conditions(self, url: str) -> dict[str, str]:
        """Return the headers of a conditional request to a URL (RFC 9110, section 13.1)."""
        if url != self.url:
            return {}
        headers = {"If-None-Match": self.tag, "If-Modified-Since": self.modified}
        return {name: value for name, value in headers.items() if value}


def fresh_for(headers: Mapping[str, str], now: float) -> float:
    """Seconds for which an answer says that it is fresh (RFC 9111, sections 4.2.1 and 4.2.3).

    Examples
    --------
    >>> fresh_for({"cache-control": "max-age=600", "age": "60"}, 0.0)
    540.0
    """
    said = parse_cachecontrol(headers.get("cache-control", "").encode("latin-1"))
    if b"no-cache" in said or b"no-store" in said:
        return 0.0
    if b"max-age" in said:
        fresh = _seconds((said[b"max-age"] or b"").decode("latin-1").strip('"'))
    else:
        fresh = until(headers.get("expires"), sent_at(headers, now))
    return max(fresh - _seconds(headers.get("age", "")), 0.0)


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds to wait by ``Retry-After``, which is a number or a date (RFC 9110, section 10.2.3).

    Examples
    --------
    >>> retry_after({"retry-after": "120"}, 0.0)
    120.0
    """
    text = headers.get("retry-after", "").strip()
    return _seconds(text) if text.isascii() and text.isdigit() else until(text, now)


def until(date: str | None, now: float) -> float:
    """Seconds from now until a date of HTTP, 0 for one that has passed or is none."""
    try:
        return max(parsedate_to_datetime(date or "").timestamp() - now, 0.0)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def sent_at(headers: Mapping[str, str], now: float) -> float:
    """Unix time of an answer by its own ``Date``, or now."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (TypeError, ValueError, OverflowError):
        return now


def _seconds(text: str) -> float:
    """Return a whole number of seconds, however large; 0 for anything else."""
    text = text.strip()
    return min(float(text), 1e18) if text.isascii() and text.isdigit() else 0.0
