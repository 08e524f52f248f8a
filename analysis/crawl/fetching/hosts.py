"""Normal forms of URLs and hosts, the rules of robots.txt, and addresses of the public internet.

A *host* is a name, in lower case, and a port, where 80 and 443 count as one: crawl delays apply to
a host. An *authority* is scheme, name and port: robots.txt applies to it (RFC 9309, section 2.3).
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies

import idna
from scrapy.crawler import Crawler
from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import build_from_crawler, load_object
from w3lib.url import safe_url_string

from analysis.crawl.frontier.state import DAY

PORTS = {"http": 80, "https": 443}
MOST_ROBOTS = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309, section 2.5, asks for 500 KiB at least."""
UNREACHABLE_AGAIN = 3600.0
"""Seconds for which old rules stay valid if robots.txt cannot be read again."""


def plain_address(url: str) -> str:
    """Return a URL in the normal form in which URLs are compared.

    It is escaped as by a browser, with its name in lower case and by IDNA 2008 (RFC 5891, UTS 46),
    and without the scheme's own port, the fragment, user and password.

    Raises
    ------
    ValueError
        If the name or the port of the host is not valid.

    Examples
    --------
    >>> plain_address("HTTP://Example.com:80/feed#new")
    'http://example.com/feed'
    """
    parts = urlsplit(url.strip())
    name = parts.hostname or ""
    if not name.isascii():
        name = idna.encode(name, uts46=True).decode().lower()
    if not _NAME.fullmatch(name):
        raise ValueError(f"host must have a valid name, got {name!r:.80}")
    if parts.port == 0:
        raise ValueError("port must be in [1, 65535], got 0")
    # The name is replaced first: w3lib encodes names by IDNA 2003, which takes ß for ss.
    parts = parts._replace(netloc=_place(parts, PORTS, name), path=parts.path or "/", fragment="")
    return safe_url_string(parts.geturl())


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


_NAME = re.compile(r"[a-z0-9._-]*[a-z0-9_-]\.?|[0-9a-f:.]*:[0-9a-f:.]*")
"""A name of a host in lower case, or a number of IPv6 without its brackets."""


def _place(
    parts: SplitResult, usual: dict[str, int | None] | dict[str, int], name: str = ""
) -> str:
    """Return name and port, without the default port of the scheme."""
    name = (name or parts.hostname or "").rstrip(".")
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
        text = plain_rules(body[:MOST_ROBOTS]) if status < 300 else b""
        parser = build_from_crawler(self._parser, self._crawler, text)
        delay = min(float(parser.crawl_delay(self._agent) or 0.0), self._longest)
        self._rules[authority] = Rules(parser, delay, now + DAY)
        return self._rules[authority]


_RECORDS = re.compile(
    r"\s*(user.?agent|allow|di[sal]+ow|disallaw|crawl.delay|request.rate|visit.time)\b",
    re.IGNORECASE,
)
"""Records of robots.txt that a group consists of, with the slips that parsers forgive."""
_AGENT = re.compile(r"(\s*user.?agent\s*:?\s*[^\s/#]+)/.*", re.IGNORECASE)


def plain_rules(body: bytes) -> bytes:
    r"""Return a robots.txt with its groups alone, in UTF-8, for any parser.

    Other records must not interfere with groups (RFC 9309, section 2.2.4), and a product token has
    no version (2.2.1): ``samplebot/2.1`` means samplebot.

    Examples
    --------
    >>> plain_rules(b"User-agent: bot/2.1\nUnknown: x\nDisallow: /")
    b'User-agent: bot\nDisallow: /'
    """
    utf16 = body.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    text = body.decode("utf-16" if utf16 else "utf-8-sig", errors="replace" if utf16 else "ignore")
    return "\n".join(
        _AGENT.sub(r"\1", line) for line in text.splitlines() if _RECORDS.match(line)
    ).encode()


NOT_PUBLIC: list[Any] = [
    *map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32",
            "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
            "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        ),
    ),
    *map(
        IPv6Network,
        ("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1"),
    ),
]  # fmt: skip
"""Addresses that no public site has: IANA's registries of special addresses (RFC 6890), and one of
a cloud's platform. Of IPv6 only 2000::/3 is given to sites (RFC 4291); in it lie the tunnels Teredo
(2001::/32) and 6to4 (2002::/16), both obsolete, and ranges for tests and documentation."""
_NAT64 = IPv6Network("64:ff9b::/96")
_MAPPED = IPv6Network("::ffff:0:0/96")


def is_public(address: str) -> bool:
    """Return whether an IP address is on the public internet.

    An address of IPv6 that is a way to one of IPv4 counts as that one: mapped (RFC 4291), NAT64
    (RFC 6052), ISATAP (RFC 5214).

    Raises
    ------
    ValueError
        If it is not an IP address.

    Examples
    --------
    >>> is_public("192.168.1.1"), is_public("1.1.1.1"), is_public("64:ff9b::10.0.0.1")
    (False, True, False)
    """
    number = ip_address(address)
    if isinstance(number, IPv6Address):
        number = IPv6Address(int(number))  # without a zone
        low = IPv4Address(int(number) & 0xFFFFFFFF)
        if number in _NAT64 or number in _MAPPED:
            number = low
        elif int(number) >> 32 & 0xFDFFFFFF == 0x5EFE and not is_public(str(low)):
            return False
    return not any(number in network for network in NOT_PUBLIC)


def is_local_number(url: str) -> bool:
    """Return whether the host of a URL is an IP address that is not on the public internet.

    Names are not resolved: `analysis.crawl.fetching.download` checks what they lead to.
    """
    try:
        return not is_public(urlsplit(url).hostname or "")
    except ValueError:
        return False


def check_no_proxy() -> None:
    """Raise where a proxy connects to hosts, so that checks of addresses here have no effect."""
    used = sorted(getproxies().keys() & {"http", "https"})
    if used:
        raise ValueError(
            f"CRAWL_LOCAL_ADDRESSES must be True behind a proxy (here {used[0]}_proxy), which "
            f"connects itself, so that local addresses are not detected here; let the proxy "
            f"refuse them, or set HTTPPROXY_ENABLED to False to do without it"
        )
