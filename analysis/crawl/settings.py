"""The settings of a crawl and the list of its sources, checked before anything is fetched.

=====================  =================================================================
CRAWL_SOURCES          CSV file: name, url, arrival_rate, mean_utility, decay_rate per
                       epoch; read again when it changes, one epoch later if its last
                       line has no newline, as it may be incomplete
CRAWL_BUDGET           fetches in an epoch
CRAWL_PERIOD           seconds from one epoch to the next (3600)
CRAWL_EPOCHS           epochs after which the crawl ends (none: Scrapy's own limits)
CRAWL_POLICY           a name in `analysis.ephemeral.policies.POLICIES`, or the path of a
                       function ``(sources, budget, seconds) -> policy`` ("whittle"); it is
                       called with ``half_life`` too if it has such an argument
CRAWL_READER           function ``(reply, memory) -> Reading`` (`FeedReader`)
CRAWL_HALF_LIFE        seconds in which an item loses half of its value (86400)
CRAWL_CLOCK            "real", or "virtual": epochs follow at once, requests state the time
CRAWL_START            Unix time of epoch 0 in virtual time
CRAWL_SEED             seed of randomised policies (0)
CRAWL_PATIENCE         largest number of epochs in which a failing source rests (64)
CRAWL_LONGEST_REST     longest rest that a site can ask for, in seconds (604800, a week)
CRAWL_MIN_AGE          least number of epochs between two fetches of a source (1)
CRAWL_MAX_AGE          age in epochs from which on a source comes first (none)
CRAWL_LOG_EPOCHS       last epochs whose fetches the log has one by one (1000); of older
                       ones it has counts by day
CRAWL_LOCAL_ADDRESSES  whether addresses outside the public internet are fetched (no)
=====================  =================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from analysis.checks import check_choice, check_file, check_integer, check_number, check_whole
from analysis.crawl import policies
from analysis.crawl.feeds.reader import HALF_LIFE, FeedReader, Reading
from analysis.crawl.feeds.reply import Reply
from analysis.crawl.fetching.hosts import plain_address
from analysis.crawl.fetching.virtual_time import START
from analysis.crawl.frontier.state import LONGEST, NEVER
from analysis.crawl.storage.store import LOG_EPOCHS
from analysis.ephemeral.policies import POLICIES, named_policy
from analysis.ephemeral.sources import Sources


@dataclass(frozen=True)
class CrawlSettings:
    """The settings of a crawl, as `crawl_settings` checks them; see the module."""

    sources: str
    budget: int
    period: float
    epochs: int | None
    policy: Callable[[Sources, int, float], Any]
    reader: Callable[[Reply, str], Reading]
    virtual: bool
    start: int
    seed: int
    patience: int
    longest_rest: float
    min_age: int
    max_age: int
    log_epochs: int
    local_addresses: bool


@dataclass(frozen=True)
class SourceList:
    """The N sources of a crawl, with rates per epoch, and their URLs, all different."""

    sources: Sources
    urls: list[str]


def crawl_settings(settings: BaseSettings) -> CrawlSettings:
    """Read and check the settings of a crawl.

    Raises ValueError, naming the setting, its value and what is allowed.
    """

    def get(name: str, default: Any = None) -> Any:
        return _number(settings.get(name, default))

    def whole(name: str, default: Any = None, low: int = 0) -> int:
        return check_integer(name, get(name, default), low, NEVER)

    def above_zero(name: str, default: float) -> float:
        return check_number(name, get(name, default), 0, low_open=True, high_open=True)

    reader = load_object(get("CRAWL_READER", FeedReader))
    half_life = above_zero("CRAWL_HALF_LIFE", HALF_LIFE)
    policy = _policy(get("CRAWL_POLICY", "whittle"))
    if "half_life" in inspect.signature(policy).parameters:
        policy = partial(policy, half_life=half_life)
    clock = check_choice("CRAWL_CLOCK", get("CRAWL_CLOCK", "real"), ("real", "virtual"))
    epochs = get("CRAWL_EPOCHS")
    longest = check_number(
        "CRAWL_LONGEST_REST", get("CRAWL_LONGEST_REST", LONGEST), 0, high_open=True
    )
    return CrawlSettings(
        sources=get("CRAWL_SOURCES"),
        budget=check_whole("CRAWL_BUDGET", get("CRAWL_BUDGET"), 1, NEVER),
        period=above_zero("CRAWL_PERIOD", 3600.0),
        epochs=None if epochs is None else whole("CRAWL_EPOCHS"),
        policy=policy,
        reader=FeedReader(half_life) if reader is FeedReader else reader,
        virtual=clock == "virtual",
        start=whole("CRAWL_START", START),
        seed=whole("CRAWL_SEED", 0),
        patience=whole("CRAWL_PATIENCE", 64, 1),
        longest_rest=longest,
        min_age=whole("CRAWL_MIN_AGE", 1),
        max_age=whole("CRAWL_MAX_AGE", NEVER, 1),
        log_epochs=whole("CRAWL_LOG_EPOCHS", LOG_EPOCHS, 1),
        local_addresses=settings.getbool("CRAWL_LOCAL_ADDRESSES", False),
    )


def read_sources(path: str | PathLike[str]) -> SourceList:
    """Read sources and their addresses from a CSV file.

    Its columns are those of `Sources.from_csv` and url.

    Raises ValueError if there is no such file, or a row has no address, one that another row has,
    or a rate out of range.
    """
    if not path:
        raise ValueError("CRAWL_SOURCES must be a CSV file with the columns name, url and rates")
    sources = Sources.from_csv(path)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
    if "url" not in frame.columns:
        raise ValueError(f"{path}: column 'url' is missing")
    rows: dict[str, int] = {}
    for row, url in enumerate(frame["url"], 1):
        try:
            address = _source_address(url)
        except ValueError as error:
            raise ValueError(f"{path}: row {row} below the header: {error}") from None
        if address in rows:
            raise ValueError(
                f"{path}: row {row} below the header: url must be one that no other row has, "
                f"got that of row {rows[address]}"
            )
        rows[address] = row
    return SourceList(sources, list(rows))


def _source_address(url: str) -> str:
    """Return the normal form of the URL of a source; raise ValueError if it cannot be fetched."""
    parts = urlsplit(url.strip())
    if "@" in parts.netloc:
        raise ValueError(
            "url must have no user and password, which would stand in logs and files; Scrapy takes "
            "them as the spider's attributes http_user, http_pass and http_auth_domain"
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"url must be http(s), got {url!r:.200}")
    return plain_address(url)


def file_version(path: Any) -> tuple[int, int] | None:
    """Return a value that changes whenever a file does; None if there is no file."""
    try:
        stat = Path(path).stat()
    except (OSError, TypeError):
        return None
    return stat.st_mtime_ns, stat.st_size


def _policy(given: Any) -> Callable[..., Any]:
    """Return the function that makes the policy, from the setting's value."""
    if not isinstance(given, str) or given not in POLICIES:
        loaded: Callable[..., Any] = load_object(given)
        return loaded
    # Versions for a crawl, which can choose again in the same epoch if a host refuses a fetch.
    of_crawls = {"whittle": policies.index, "round-robin": policies.round_robin}
    return of_crawls.get(given) or (lambda sources, budget, seconds: named_policy(given, sources))


def _number(value: Any) -> Any:
    """Convert a setting given as text, as on Scrapy's command line, to a number."""
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def ends_in_newline(path: Any) -> bool:
    """Return whether a file ends in a newline; True where there is none to be read."""
    try:
        return Path(check_file("path", path)).read_bytes().endswith(b"\n")
    except (OSError, ValueError):
        return True
