"""Which addresses are of one host, which are local, and what robots.txt allows."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import numpy as np
import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from analysis.crawl.fetching.hosts import (
    MOST_ROBOTS,
    UNREACHABLE_AGAIN,
    Robots,
    authority_of,
    host_of,
    is_local_number,
    is_public,
    plain_address,
)
from analysis.crawl.scheduler import FeedSpider

DAY = 86_400.0
REGISTERED = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "240.0.0.0/4", "::1/128", "100::/64", "2001:2::/48", "2001:db8::/32", "fc00::/7", "fe80::/10",
)  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://Example.com/feed", "http://example.com:80/other"),
        ("http://example.com/", "https://example.com:443/"),
        ("http://example.com./", "http://example.com/"),
        ("http://user@example.com/", "http://example.com/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("https://straße.example/", "https://xn--strae-oqa.example/"),
        ("http://Ａ.example/", "http://a.example/"),
        ("http://a\u3002example/", "http://a.example/"),
    ],
)
def test_addresses_of_one_host(one, other):
    assert host_of(plain_address(one)) == host_of(plain_address(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.com/", "http://www.example.com/"),
        ("http://example.com/", "http://example.com:8080/"),
        ("http://127.0.0.1:8001/", "http://127.0.0.1:8002/"),
        ("http://[::1]/", "http://[::2]/"),
        ("https://straße.example/", "https://strasse.example/"),
    ],
)
def test_addresses_of_two_hosts(one, other):
    assert host_of(plain_address(one)) != host_of(plain_address(other))


def test_robots_txt_per_origin():
    """RFC 9309, section 2.3."""
    assert authority_of("http://Example.com:80/a?b#c") == "http://example.com"
    assert authority_of("https://example.com/") == "https://example.com"
    assert authority_of("http://example.com:8080/") == "http://example.com:8080"
    assert authority_of("http://[::1]:80/") == "http://[::1]"


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "fe80::1", "fc00::1", "ff02::1"),
        *("::ffff:127.0.0.1", "2002:7f00:1::", "::127.0.0.1", "::ffff:0:127.0.0.1", "fec0::1"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "2001::1", "5f00::1"),
        *("2001:db8::1", "3fff::1", "2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1"),
        *("192.0.0.192", "192.0.0.9", "198.18.0.1", "203.0.113.9", "168.63.129.16", "240.0.0.1"),
        *("fe80::1%eth0", "100::1", "fd00:ec2::254", "2001:20::1", "192.88.99.1", "::"),
    ],
)
def test_local_addresses_are_recognised(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "192.0.1.1", "172.32.0.1", "223.255.255.255", "2606:4700::1111"),
        *("64:ff9b::8.8.8.8", "::ffff:8.8.8.8", "2a00:1450::5efe:8.8.8.8", "2001:4860:4860::8888"),
    ],
)
def test_addresses_of_the_public_internet(address):
    assert is_public(address)


def test_address_ranges_equal_registries():
    """An independent list: what Python calls local is never public here."""
    rng = np.random.default_rng(0)
    numbers = [IPv4Address(int(n)) for n in rng.integers(0, 2**32, 4000)]
    numbers += [IPv6Address(int(n) << 64 | int(n)) for n in rng.integers(0, 2**63, 4000)]
    numbers += [a for n in REGISTERED for a in (ip_network(n)[0], ip_network(n)[-1])]
    for address in numbers:
        if not address.is_global or address.is_multicast:
            assert not is_public(str(address)), address


def test_numbers_of_local_networks():
    assert is_local_number("http://127.0.0.1:8000/")
    assert is_local_number("http://[::1]/")
    assert not is_local_number("http://1.1.1.1/")
    assert not is_local_number("http://localhost/")  # what a name leads to is seen by its address


def robots(**settings):
    return Robots(Crawler(FeedSpider, Settings({"USER_AGENT": "me/1.0", **settings})), 7 * DAY)


AT = "http://example.com"


FORBID = b"User-agent: *\nDisallow: /\n"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451, 301])
def test_missing_robots_txt_allows(status):
    """RFC 9309, section 2.3.1.3; after too many redirects, 2.3.1.2."""
    rules = robots().take(AT, status, FORBID, 0.0)
    assert robots().allows(rules, AT + "/feed")


@pytest.mark.parametrize("status", [0, 429, 500, 503, 599])
def test_unreachable_robots_txt_forbids_all(status):
    """RFC 9309, section 2.3.1.4."""
    assert robots().take(AT, status, b"", 0.0) is None


def test_rules_last_a_day():
    """RFC 9309, section 2.4."""
    one = robots()
    one.take(AT, 200, FORBID, 0.0)
    assert one.rules(AT + "/feed", DAY - 1) is not None
    assert one.rules(AT + "/feed", DAY) is None
    assert not one.allows(one.take(AT, 503, b"", DAY), AT + "/feed")
    assert one.rules(AT + "/feed", DAY + UNREACHABLE_AGAIN - 1) is not None
    assert one.rules(AT + "/feed", DAY + UNREACHABLE_AGAIN) is None
    assert one.allows(one.take(AT, 404, b"", DAY), AT + "/feed")
    assert one.rules("https://example.com/feed", 0.0) is None


def test_own_group_applies():
    """RFC 9309, section 2.2.1."""
    text = (
        b"User-agent: *\nDisallow: /\n\nUser-agent: ME\nDisallow: /private\nAllow: /private/feed\n"
    )
    one = robots()
    rules = one.take(AT, 200, text, 0.0)
    found = {path: one.allows(rules, AT + path) for path in ("/", "/private/", "/private/feed")}
    assert found == {"/": True, "/private/": False, "/private/feed": True}  # the longest match
    other = robots(ROBOTSTXT_USER_AGENT="other")
    assert not other.allows(other.take(AT, 200, text, 0.0), AT + "/")


@pytest.mark.parametrize(
    "text",
    [
        b"User-agent: me\nSome-Extension: yes\nUser-agent: *\nDisallow: /\n",
        b"User-agent: me\nSitemap: http://a/\nHost: a\nUser-agent: other\nDisallow: /\n",
        b"User-agent: me/2.1\nDisallow: /\n",
        b"user-agent : ME/2.1 (crawler)\nDisallow: /\n",
        "User-agent: *\nDisallow: /\n".encode("utf-16"),
        b"\xfe\xff" + "User-agent: *\r\nDisallow: /\r\n".encode("utf-16-be"),
        b"\xef\xbb\xbfUser-agent: *\rDisallow: /\r",
        b"user agent: *\ndissalow: /\n",
    ],
)
def test_groups_that_forbid_are_seen(text):
    """RFC 9309, sections 2.2.1 and 2.2.4."""
    one = robots()
    assert not one.allows(one.take(AT, 200, text, 0.0), AT + "/feed")


def test_half_megabyte_of_rules_is_read():
    """RFC 9309, section 2.5."""
    filling = b"Disallow: /x\n" * 38_000
    assert 500 * 1024 > len(filling) > 480 * 1024
    one = robots()
    rules = one.take(AT, 200, b"User-agent: *\n" + filling + b"Disallow: /feed\n", 0.0)
    assert not one.allows(rules, AT + "/feed")
    filling = b"# " + b"x" * MOST_ROBOTS + b"\n"
    rules = one.take(AT, 200, b"User-agent: *\n" + filling + b"Disallow: /feed\n", 0.0)
    assert one.allows(rules, AT + "/feed")


@pytest.mark.parametrize(
    ("said", "delay"), [("3", 3.0), ("1e300", 7 * DAY), ("nan", 0.0), ("-1", 0.0), ("soon", 0.0)]
)
def test_a_crawl_delay_is_bounded(said, delay):
    rules = robots().take(AT, 200, f"User-agent: *\nCrawl-delay: {said}\n".encode(), 0.0)
    assert rules.delay == delay
