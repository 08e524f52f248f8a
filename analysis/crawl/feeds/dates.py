"""Dates as feeds write them: in ISO 8601, as in mail, or as people of many countries write them.

The first two are read by Python's own functions, in microseconds. dateparser, which knows months
and zones by their names, takes three milliseconds for a date; it reads the others, and is not
loaded before one comes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz
from functools import cache, lru_cache
from typing import Any
from zoneinfo import ZoneInfo

MOST_LETTERS = 100
"""Length of the longest text that is taken for a date."""
MOST_FAILURES = 20
"""Texts of a listing that dateparser may fail to read: each takes it ten milliseconds."""
LANGUAGES = [
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "sk", "hu"),
    *("ro", "bg", "ru", "uk", "el", "tr", "ar", "he", "fa", "hi", "ja", "ko", "zh", "vi", "id"),
    *("ca", "hr", "sl", "lt", "lv", "et"),
]
"""Languages of the months and days that are read: a failure takes longer the more there are."""
_ISO = re.compile(r"\d{4}-?\d\d-?\d\d(?:[T ]\d\d[\d:.,]*)? ?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
# Without a zone, or with one whose name email.utils knows: it takes any other name for UTC.
_MAIL = re.compile(
    r"(?:\w+\.?,? )?\d{1,2} [A-Za-z]+ \d{2,4},? \d{1,2}:\d\d(?::\d\d)?"
    r"(?: ?[+-]\d{4}| (?:GMT|UTC?|Z|[ECMP][SD]T|A[SD]T))?"
)
_PLACE = re.compile(r" ([A-Z][A-Za-z_]+(?:/[A-Za-z_]+){1,2})$")
_BEFORE = [(re.compile(r" \([^()]*\)$"), ""), (re.compile(r"([+-]\d\d:\d\d)Z$"), r"\1")]
# Of the countries that call their time IST, feeds of India name it most.
_BEFORE += [(re.compile(r" IST$"), " +0530"), (re.compile(r"^Thurs?\b"), "Thu")]


def unix_times(texts: Sequence[str]) -> list[int | None]:
    """Return the Unix time of each date, None for a text that is no date with day and year.

    Parameters
    ----------
    texts : sequence of str
        Dates of one listing. One without a zone is in UTC.

    Returns
    -------
    list of int or None
        Seconds.

    Examples
    --------
    >>> unix_times(["Mon, 15 Jun 2026 10:00:00 CEST", "15 juin 2026 08:00", "yesterday"])
    [1781510400, 1781510400, None]
    """
    times, failures = [], 0
    for text in texts:
        plain = " ".join(text[: 2 * MOST_LETTERS].split())
        time = _standard(plain)
        if time is None and 5 < len(plain) <= MOST_LETTERS and failures < MOST_FAILURES:
            time = _other(plain)
            failures += time is None
        times.append(time)
    return times


@lru_cache(maxsize=65_536)  # a feed lists an item many times
def _standard(text: str) -> int | None:
    try:
        if _ISO.fullmatch(text):
            return _seconds(datetime.fromisoformat(text.replace(",", ".")))
        fields = parsedate_tz(text) if _MAIL.fullmatch(text) else None
        return int(mktime_tz(fields)) if fields else None
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=65_536)
def _other(text: str) -> int | None:
    """Read a date of any other form."""
    if re.fullmatch(r"\d{9,10}|\d{13}", text, re.ASCII):  # Unix time, also in milliseconds
        return int(text[:-3]) if len(text) == 13 else int(text)
    if not any(letter.isdigit() for letter in text):
        return None
    for pattern, better in _BEFORE:
        text = pattern.sub(better, text)
    zone: Any = UTC
    if zone_match := _PLACE.search(text):
        try:
            zone, text = ZoneInfo(zone_match[1]), text[: zone_match.start()]
        except (ValueError, OSError, KeyError):
            return None
    try:
        date = _parser().get_date_data(text).date_obj
        return _seconds(date, zone) if date else None
    except (ValueError, TypeError, OverflowError, AttributeError, RecursionError):
        return None


def _seconds(date: datetime, zone: Any = UTC) -> int:
    return int((date if date.tzinfo else date.replace(tzinfo=zone)).timestamp())


@cache
def _parser() -> Any:
    from dateparser.date import DateDataParser

    # Absolute dates alone: "yesterday" is none, as it would be another one at each fetch.
    parts = {"PARSERS": ["absolute-time"], "REQUIRE_PARTS": ["day", "month", "year"]}
    return DateDataParser(languages=LANGUAGES, settings=parts)
