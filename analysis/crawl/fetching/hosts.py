"""Normal forms of URLs and hosts, the rules of robots.txt, and a check for public addresses.

A *host* is a name, in lower case, and a port, where 80 and 443 count as one: crawl delays apply to
a host. An *authority* is scheme, name and port: robots.txt applies to it (RFC 9309, section 2.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies

from scrapy.crawler import Crawler
from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.interfaces import IResolutionReceiver
from w3lib.url import safe_url_string
from zope.interface import implementer

from analysis.crawl.frontier.state import DAY

PORTS = {"http": 80, "https": 443}
MOST_ROBOTS = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309, section 2.5, asks for 500 KiB at least."""
UNREACHABLE_AGAIN = 3600.0
"""Seconds for which old rules stay valid if robots.txt cannot be read again."""


def plain_address(url: str) -> str:
    """Return a URL in the normal form in which URLs are compared.

    It is escaped as by a browser, with its name in lower case, and without the scheme's own port
    and the fragment.

    Examples
    --------
    >>> plain_address("HTTP://Example.com:80/feed#new")
    'http://example.com/feed'
    """
    parts = urlsplit(safe_url_string(url.strip()))
    return parts._replace(netloc=_place(parts, PORTS), path=parts.path or "/", fragment="").geturl()


@lru_cache(maxsize=65_536)
def authority_of(url: str) -> str:
    """Return scheme, name and port of a URL, to which one robots.txt applies.

    Examples
    --------
    >>> authority_of("http://Example.com:80/feed")
    'http://example.com'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{_place(parts, PORTS)}"


@lru_cache(maxsize=65_536)
def host_of(url: str) -> str:
    """Return the host of a URL: its name, and its port unless that is 80 or 443.

    Examples
    --------
    >>> host_of("https://Example.com/feed") == host_of("http://example.com:80/other")
    True
    """
    parts = urlsplit(url)
    return _place(parts, dict.fromkeys(PORTS, parts.port if parts.port in PORTS.values() else None))


def _place(parts: SplitResult, usual: dict[str, int | None] | dict[str, int]) -> str:
    """Return name and port, without the default port of the scheme."""
    name = (parts.hostname or "").rstrip(".")
    name = f"[{name}]" if ":" in name else name
    usual_here = parts.port is None or parts.port == usual.get(parts.scheme)
    return name if usual_here else f"{name}:{parts.port}"


@dataclass
class Rules:
    """The rules of one robots.txt, and the time until which they are valid."""

    parser: RobotParser  # parser, by Scrapy's interface
    delay: float  # crawl delay in seconds, 0 for none
    expires: float  # unix time at which it has to be read again


class Robots:
    """The rules of robots.txt of all authorities (RFC 9309).

    `crawler`: its settings name the parser and the user agent; `longest`: largest crawl delay that
    is respected, in seconds.
    """

    def __init__(self, crawler: Crawler, longest: float) -> None:
        settings = crawler.settings
        self._crawler, self._longest = crawler, longest
        self._agent = str(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"])
        self._parser = load_object(settings["ROBOTSTXT_PARSER"])
        self._rules: dict[str, Rules] = {}

    def rules(self, url: str, now: float) -> Rules | None:
        """Return the rules that apply to a URL, None if robots.txt has to be read."""
        rules = self._rules.get(authority_of(url))
        return rules if rules and now < rules.expires else None

    def allows(self, rules: Rules, url: str) -> bool:
        """Return whether rules allow a URL."""
        return bool(rules.parser.allowed(url, self._agent))

    def take(self, authority: str, status: int, body: bytes, now: float) -> Rules | None:
        """Store the rules of a robots.txt; return None if the authority must not be fetched.

        4xx allows everything; 429, 5xx and no answer (status 0) forbid everything unless older
        rules are known, which then apply for another hour (sections 2.3.1.3, 2.3.1.4 and 2.4).
        """
        if status == 429 or status >= 500 or status < 200:
            if authority in self._rules:
                self._rules[authority].expires = now + UNREACHABLE_AGAIN
            return self._rules.get(authority)
        text = body[:MOST_ROBOTS] if status < 300 else b""
        parser = build_from_crawler(self._parser, self._crawler, text)
        delay = min(float(parser.crawl_delay(self._agent) or 0.0), self._longest)
        self._rules[authority] = Rules(parser, delay, now + DAY)
        return self._rules[authority]


class Network:
    """Check whether addresses are on the public internet, with Scrapy's name resolution.

    Scrapy caches a resolved name (``DNSCACHE_ENABLED``), so that it connects to the address that
    was checked here.

    `everything`: whether all addresses are allowed, and no name is resolved.
    """

    def __init__(self, everything: bool) -> None:
        self._everything = everything
        self._verdicts: dict[str, bool] = {}

    def allows(self, url: str, then: Callable[[], None]) -> bool | None:
        """Return whether requests to a URL are allowed.

        None while its name is being resolved; `then` is called when the answer is known.
        """
        if self._everything:
            return True
        name = urlsplit(url).hostname or ""
        try:
            return is_public(name)
        except ValueError:
            pass
        if name not in self._verdicts:
            self._look_up(name, then)
            return None
        return self._verdicts.pop(name)

    def _look_up(self, name: str, then: Callable[[], None]) -> None:
        from twisted.internet import reactor

        def found(addresses: list[str]) -> None:
            self._verdicts[name] = bool(addresses) and all(map(is_public, addresses))
            then()

        reactor.nameResolver.resolveHostName(_Receiver(found), name)  # type: ignore[attr-defined]


@implementer(IResolutionReceiver)
class _Receiver:
    """Collects the addresses of a name."""

    def __init__(self, found: Callable[[list[str]], None]) -> None:
        self._found, self._addresses = found, list[str]()

    def resolutionBegan(self, resolution: Any) -> None:
        """Do nothing."""

    def addressResolved(self, address: Any) -> None:
        """Store one address."""
        self._addresses.append(address.host)

    def resolutionComplete(self) -> None:
        """Pass on the addresses."""
        self._found(self._addresses)


def is_public(address: str) -> bool:
    """Return whether an IP address is on the public internet.

    Raises
    ------
    ValueError
        If it is not an IP address.

    Examples
    --------
    >>> is_public("192.168.1.1"), is_public("1.1.1.1")
    (False, True)
    """
    found = ip_address(address)
    inner: IPv4Address | IPv6Address = found
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or found
    return inner.is_global and not inner.is_multicast


def check_no_proxy() -> None:
    """Raise where a proxy resolves names, so that checks of addresses here have no effect."""
    used = sorted(getproxies().keys() & {"http", "https"})
    if used:
        raise ValueError(
            f"CRAWL_LOCAL_ADDRESSES must be True behind a proxy (here {used[0]}_proxy), which "
            f"resolves names itself, so that local addresses are not detected here; let the proxy "
            f"refuse them, or set HTTPPROXY_ENABLED to False to do without it"
        )
