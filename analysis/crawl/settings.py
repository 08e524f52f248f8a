"""The settings of a crawl and the list of its sources, checked before anything is fetched.

=====================  =================================================================
CRAWL_SOURCES          CSV file: name, url, arrival_rate, mean_utility, decay_rate per
                       epoch, and if you like min_interval, max_interval (as in 30m)
                       in place of CRAWL_MIN_AGE and CRAWL_MAX_AGE; a policy in
                       `NEED_NO_RATES` needs url alone; read again when it changes, one
                       epoch later if its last line has no newline, as it may be incomplete
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
CRAWL_LONGEST_FRESH    longest time for which a reply counts as fresh because of its
                       headers Cache-Control and Expires, in seconds (86400, a day)
CRAWL_MIN_AGE          least number of epochs between two fetches of a source (1)
CRAWL_MAX_AGE          age in epochs from which on a source comes first (if the policy learns,
                       30 days, or eight times as long as it takes to fetch all sources, if
                       that is longer; else none)
CRAWL_LOG_EPOCHS       last epochs whose fetches the log has one by one (1000); of older
                       ones it has counts by day
CRAWL_LOCAL_ADDRESSES  whether addresses outside the public internet are fetched (no)
CRAWL_LOGINS           file of logins (HTTP Basic), which only its owner may read: on each line the
                       address of a source, user and password, parted by spaces (none)
CRAWL_CALLBACK         address at which hubs (WebSub) and senders of pings reach the crawl, such
                       as https://me.example/feeds (none: no hub is asked)
CRAWL_LISTEN           address and port of this machine to which it leads (127.0.0.1:8090)
CRAWL_PING_FILE        file or pipe of pings, an address a line (none)
CRAWL_DATED_PAGES      addresses of sitemaps, OPML or feeds that date the feeds they list, read
                       once in an epoch (none)
=====================  =================================================================
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from analysis.arrays import Floats
from analysis.checks import check_choice, check_file, check_integer, check_number, check_whole
from analysis.crawl import policies
from analysis.crawl.clock import START, read_duration
from analysis.crawl.feeds.reader import HALF_LIFE, FeedReader, Reading
from analysis.crawl.feeds.reply import Reply
from analysis.crawl.fetching.hosts import plain_address
from analysis.crawl.frontier.state import DAY, LONGEST, NEVER
from analysis.crawl.signals.plain import check_ping_file
from analysis.crawl.signals.service import SignalSettings, read_callback, read_listen
from analysis.crawl.store import LOG_EPOCHS
from analysis.ephemeral.lagrangian import crawl_price
from analysis.ephemeral.policies import POLICIES, LagrangianPolicy, named_policy
from analysis.ephemeral.sources import Sources

LONGEST_FRESH = DAY
"""Default of ``CRAWL_LONGEST_FRESH``."""
NEED_NO_RATES = (
    policies.listing_index,
    policies.listing_lagrangian,
    policies.learned_index,
    policies.nutch_adaptive,
    policies.round_robin,
)
"""Policies that take nothing but the number of sources from the list."""


@dataclass(frozen=True)
class CrawlSettings:
    """The settings of a crawl, as `crawl_settings` checks them; see the module."""

    sources: str
    budget: int
    period: float
    epochs: int | None
    policy: Callable[[Sources, int, float], Any]
    needs_rates: bool
    reader: Callable[[Reply, str], Reading]
    virtual: bool
    start: int
    seed: int
    patience: int
    longest_rest: float
    longest_fresh: float
    min_age: int
    max_age: int
    log_epochs: int
    local_addresses: bool
    signals: SignalSettings


@dataclass(frozen=True)
class SourceList:
    """The N sources of a crawl, with rates per epoch, and their URLs, all different.

    `min_interval` and `max_interval` are bounds on the seconds between two fetches of a source,
    NaN where it has none of its own; shape (N,).
    """

    sources: Sources
    urls: list[str]
    min_interval: Floats
    max_interval: Floats

    def ages(
        self, seconds: float, min_age: int, max_age: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bounds on the ages of sources, in epochs of so many seconds.

        `min_age` and `max_age` hold for sources without bounds of their own.
        """
        least, most = np.full(len(self.urls), min_age), np.full(len(self.urls), max_age)
        own_least, own_most = ~np.isnan(self.min_interval), ~np.isnan(self.max_interval)
        least[own_least] = np.ceil(self.min_interval[own_least] / seconds)
        most[own_most] = np.maximum(self.max_interval[own_most] // seconds, 1)
        # Where one of two bounds that exclude each other is the source's own, that one counts.
        most = np.where(own_least, np.maximum(most, least), most)
        return np.minimum(least, most), most


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
    needs_rates = policy not in NEED_NO_RATES
    if "half_life" in inspect.signature(policy).parameters:
        policy = partial(policy, half_life=half_life)
    fresh = get("CRAWL_LONGEST_FRESH", LONGEST_FRESH)
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
        needs_rates=needs_rates,
        reader=FeedReader(half_life) if reader is FeedReader else reader,
        virtual=clock == "virtual",
        start=whole("CRAWL_START", START),
        seed=whole("CRAWL_SEED", 0),
        patience=whole("CRAWL_PATIENCE", 64, 1),
        longest_rest=longest,
        longest_fresh=check_number("CRAWL_LONGEST_FRESH", fresh, 0, high_open=True),
        min_age=whole("CRAWL_MIN_AGE", 1),
        max_age=whole("CRAWL_MAX_AGE", NEVER, 1),
        log_epochs=whole("CRAWL_LOG_EPOCHS", LOG_EPOCHS, 1),
        local_addresses=settings.getbool("CRAWL_LOCAL_ADDRESSES", False),
        signals=_signal_settings(settings),
    )


def _signal_settings(settings: BaseSettings) -> SignalSettings:
    """Return the settings on pings; ValueError names the one that is wrong."""
    name = ""
    try:
        name = "CRAWL_CALLBACK"
        callback = read_callback(settings[name]) if settings[name] else ""
        name = "CRAWL_LISTEN"
        listen = read_listen(settings[name]) if settings[name] else SignalSettings.listen
        name = "CRAWL_PING_FILE"
        file = check_ping_file(str(settings[name])) if settings[name] else ""
        name = "CRAWL_DATED_PAGES"
        pages = tuple(_source_address(url) for url in settings.getlist(name))
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    return SignalSettings(callback, listen, file, pages)


def read_sources(path: str | PathLike[str], rates: bool = True) -> SourceList:
    """Read sources and their addresses from a CSV file.

    Its columns are those of `Sources.from_csv`, url, and if need be min_interval and max_interval.
    If `rates` is false the columns of rates may be missing.

    Raises ValueError if there is no such file, or a row has no address, one that another row has,
    a rate out of range, or an interval that is none or above the other.
    """
    if not path:
        raise ValueError("CRAWL_SOURCES must be a CSV file with the columns name, url and rates")
    try:
        checked = check_file("CRAWL_SOURCES", path)
        frame = pd.read_csv(checked, dtype=str, keep_default_na=False, skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        frame = pd.DataFrame()
    if not rates and len(frame) and not {"arrival_rate", "decay_rate"} & set(frame.columns):
        sources = Sources(*np.ones((3, len(frame))))
    else:
        sources = Sources.from_csv(path)
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
    intervals = {name: _intervals(path, frame, name) for name in ("min_interval", "max_interval")}
    for row in np.flatnonzero(intervals["min_interval"] > intervals["max_interval"]).tolist():
        raise ValueError(
            f"{path}: row {row + 1} below the header: max_interval must be at least min_interval, "
            f"got {frame['max_interval'][row]} and {frame['min_interval'][row]}"
        )
    return SourceList(sources, list(rows), **intervals)


def read_logins(path: str | PathLike[str]) -> dict[str, str]:
    """Return the header ``Authorization`` of each source with a login, by its address.

    Raises ValueError, without what the file holds, if others may read it or a line is wrong.
    """
    checked = Path(check_file("CRAWL_LOGINS", path))
    if checked.stat().st_mode & 0o077:
        raise ValueError(f"CRAWL_LOGINS must be for its owner alone: chmod 600 {checked}")
    logins = {}
    try:
        lines = checked.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"CRAWL_LOGINS must be in UTF-8: {checked}") from None
    for number, line in enumerate(lines, 1):
        words = line.strip().split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        try:
            address = _source_address(words[0])
        except ValueError:
            address = ""
        if len(words) < 3 or not address or ":" in words[1]:
            raise ValueError(
                f"CRAWL_LOGINS, {checked}, line {number}: an address without a login, a user "
                "without a colon and a password are needed, parted by spaces"
            )
        secret = base64.b64encode(f"{words[1]}:{words[2]}".encode()).decode()
        logins[address] = f"Basic {secret}"
    return logins


def _intervals(path: str | PathLike[str], frame: pd.DataFrame, name: str) -> Floats:
    """Return the seconds of a column of intervals, NaN where it is empty or there is none."""
    seconds = np.full(len(frame), np.nan)
    for row, text in enumerate(frame.get(name, ())):
        if text.strip():
            try:
                seconds[row] = read_duration(text)
            except ValueError as error:
                where = f"{path}: row {row + 1} below the header"
                raise ValueError(f"{where}: {name} {error}") from None
    return seconds


def _source_address(url: str) -> str:
    """Return the normal form of the URL of a source; raise ValueError if it cannot be fetched."""
    parts = urlsplit(url.strip())
    if "@" in parts.netloc:
        raise ValueError(
            "url must have no user and password, which would stand in logs and files: they belong "
            "into the file of CRAWL_LOGINS (--logins)"
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


def _policy(setting: Any) -> Callable[..., Any]:
    """Return the function that makes the policy, from the setting's value."""
    if not isinstance(setting, str) or setting not in POLICIES:
        loaded: Callable[..., Any] = load_object(setting)
        return loaded
    # Versions for a crawl, which can choose again in the same epoch if a host refuses a fetch.
    of_crawls: dict[str, Callable[..., Any]] = {
        "whittle": policies.index,
        # At the price of the whole budget: the order of preference is asked with smaller ones.
        "lagrangian": lambda sources, budget, seconds: LagrangianPolicy(
            sources, crawl_price(sources, budget)
        ),
        "round-robin": policies.round_robin,
    }
    return of_crawls.get(setting) or (
        lambda sources, budget, seconds: named_policy(setting, sources)
    )


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
