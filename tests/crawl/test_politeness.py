"""Times of requests to a host; which addresses are of one host, and which are local."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import Settings

from analysis.crawl.fetching.headers import Memory, fresh_for, retry_after
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
from analysis.crawl.local.transport import write_sources
from analysis.crawl.scheduler import EpochScheduler, FeedSpider
from analysis.crawl.settings import read_sources
from analysis.crawl.storage.exports import cut_torn_line
from analysis.report.paths import ROOT
from tests.crawl.support import some_sources

NEW_YEAR = 1_704_067_200.0
DAY = 86_400.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://Example.com/feed", "http://example.com:80/other"),
        ("http://example.com/", "https://example.com:443/"),
        ("http://example.com./", "http://example.com/"),
        ("http://user@example.com/", "http://example.com/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
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
    ],
)
def test_addresses_of_two_hosts(one, other):
    assert host_of(plain_address(one)) != host_of(plain_address(other))


def test_one_robots_txt_holds_for_scheme_name_and_port():
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
        *("::ffff:127.0.0.1", "2002:7f00:1::"),
    ],
)
def test_addresses_that_are_not_of_the_public_internet(address):
    assert not is_public(address)


def test_addresses_of_the_public_internet():
    assert is_public("1.1.1.1")
    assert is_public("2606:4700::1111")


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
def test_robots_txt_that_is_not_there_allows_everything(status):
    """RFC 9309, section 2.3.1.3; after too many redirects, 2.3.1.2."""
    rules = robots().take(AT, status, FORBID, 0.0)
    assert robots().allows(rules, AT + "/feed")


@pytest.mark.parametrize("status", [0, 429, 500, 503, 599])
def test_robots_txt_that_cannot_be_reached_allows_nothing(status):
    """RFC 9309, section 2.3.1.4."""
    assert robots().take(AT, status, b"", 0.0) is None


def test_rules_hold_for_a_day_and_longer_only_where_they_cannot_be_read_again():
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


def test_the_group_of_the_crawler_s_own_name_holds():
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


def test_half_a_megabyte_of_rules_is_read():
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


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": 'private, Max-Age="600"'}, 600),
        ({"cache-control": "max-age=600", "age": "60"}, 540),
        ({"cache-control": "max-age=60", "age": "600"}, 0),
        ({"cache-control": "s-maxage=600"}, 0),  # for caches that many share
        ({"cache-control": "max-age=600, no-cache"}, 0),
        ({"cache-control": "no-store, max-age=600"}, 0),
        ({"cache-control": "max-age=-1"}, 0),
        ({"cache-control": "max-age=soon"}, 0),
        ({"cache-control": "max-age"}, 0),
        ({"cache-control": "max-age=" + "9" * 400}, 1e18),
        ({"expires": "Mon, 01 Jan 2024 02:00:00 GMT"}, 7200),
        ({"expires": "Sun, 31 Dec 2023 02:00:00 GMT"}, 0),
        ({"expires": "0"}, 0),
        (
            {
                "expires": "Mon, 01 Jan 2024 02:00:00 GMT",
                "date": "Mon, 01 Jan 2024 01:00:00 GMT",
            },
            3600,
        ),
        ({"expires": "Mon, 01 Jan 2024 02:00:00 GMT", "cache-control": "max-age=60"}, 60),
    ],
)
def test_how_long_an_answer_is_fresh(headers, seconds):
    """RFC 9111, sections 4.2.1, 4.2.3, 5.2.2 and 5.3."""
    assert fresh_for(headers, NEW_YEAR) == seconds


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Mon, 01 Jan 2024 00:02:00 GMT", 120),
        ("Monday, 01-Jan-24 00:02:00 GMT", 120),
        ("Sun, 31 Dec 2023 00:00:00 GMT", 0),
        ("-5", 0),
        ("soon", 0),
        ("٣", 0),
        ("1" + "0" * 400, 1e18),
    ],
)
def test_when_to_try_again(said, seconds):
    """RFC 9110, section 10.2.3."""
    assert retry_after({"retry-after": said}, NEW_YEAR) == seconds
    assert retry_after({}, NEW_YEAR) == 0


def test_what_is_remembered_comes_back():
    memory = Memory("reader's own", "http://a/", '"t"', "", "http://b/")
    assert Memory.read(memory.text()) == memory
    assert Memory.read("") == Memory()
    assert memory.conditions("http://a/") == {"If-None-Match": '"t"'}
    assert memory.conditions("http://b/") == {}


def test_two_rows_of_one_address_are_refused(tmp_path):
    urls = ["http://a.example/feed", "HTTP://A.example:80/feed#top"]
    write_sources(tmp_path / "s.csv", some_sources(2), urls)
    with pytest.raises(ValueError, match=r"row 2 .* got that of row 1"):
        read_sources(tmp_path / "s.csv")


class Clock:
    """A time that the test moves, and the alarms that are set for it."""

    def __init__(self):
        self.now = NEW_YEAR

    def time(self):
        return self.now

    def clock_gettime(self, kind):
        return self.now - 1e6


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("analysis.crawl.fetching.virtual_time.time", clock)
    alarm = SimpleNamespace(cancel=lambda: None)
    monkeypatch.setattr("analysis.crawl.scheduler.call_later", lambda *_: alarm)
    return clock


def opened(folder, urls, **settings):
    """A scheduler in real time, without an engine."""
    write_sources(folder / "s.csv", some_sources(len(urls)), urls)
    given = {
        "CRAWL_SOURCES": str(folder / "s.csv"),
        "CRAWL_BUDGET": len(urls),
        "CRAWL_PERIOD": 24,
        "CRAWL_POLICY": "analysis.crawl.policies.round_robin",
        "CRAWL_LOCAL_ADDRESSES": True,
        "ROBOTSTXT_OBEY": True,
        "USER_AGENT": "me",
        **settings,
    }
    scheduler = EpochScheduler.from_crawler(Crawler(FeedSpider, given))
    scheduler.open(FeedSpider())
    return scheduler


def crawl_for(scheduler, clock, seconds, answer, step=0.25):
    """Let time pass and answer every request at once; return the times and addresses requested."""
    requested = []
    for _ in range(int(seconds / step)):
        while request := scheduler.next_request():
            requested.append((clock.now - NEW_YEAR, request.url))
            status, headers, body = answer(request.url)
            response = Response(request.url, status, headers, body, request=request)
            list(request.callback(response))
        clock.now += step
    return requested


def answers(robots_text="", feed=b"<rss/>"):
    def answer(url):
        if url.endswith("/robots.txt"):
            return 200, {}, robots_text.encode()
        return 200, {}, feed

    return answer


def pages(fetched):
    return [(at, url) for at, url in fetched if not url.endswith("/robots.txt")]


def test_a_crawl_delay_lies_between_any_two_pages_of_a_host(tmp_path, clock):
    """Eight feeds of one host, a delay of three seconds: an epoch's fetches take 21 seconds."""
    urls = [f"http://127.0.0.1/{i}" for i in range(8)]
    scheduler = opened(tmp_path, urls)
    requests = crawl_for(scheduler, clock, 96, answers("User-agent: *\nCrawl-delay: 3\n"))
    assert np.diff([at for at, _ in requests]).min() >= 3  # robots.txt among them
    fetched = pages(requests)
    times = np.array([at for at, _ in fetched])
    second = times[(times >= 24) & (times < 48)]
    assert second.size == 8
    assert np.ptp(second) == 21
    assert {url for _, url in fetched} == set(urls)


def test_a_crawl_delay_longer_than_an_epoch_lies_between_the_fetches_themselves(tmp_path, clock):
    urls = [f"http://127.0.0.1/{i}" for i in range(3)] + ["http://127.0.0.2/"]
    scheduler = opened(tmp_path, urls)
    fetched = pages(crawl_for(scheduler, clock, 400, answers("User-agent: *\nCrawl-delay: 60\n")))
    for host in ("127.0.0.1", "127.0.0.2"):
        times = np.array([at for at, url in fetched if host in url])
        assert np.diff(times).min() >= 60
        assert times.size >= 5


def test_a_host_that_rests_beyond_the_last_epoch_does_not_hold_the_crawl(tmp_path, clock):
    """Its robots.txt asks for a delay beyond all bounds, which counts as one of a week."""

    def answer(url):
        delay = 1e300 if "one" in url else 0
        rules = f"User-agent: *\nCrawl-delay: {delay}\n"
        return 200, {}, rules.encode() if url.endswith("/robots.txt") else b"<rss/>"

    urls = ["http://one.test/f0", "http://one.test/f1", "http://two.test/g"]
    scheduler = opened(tmp_path, urls, CRAWL_EPOCHS=3)
    asked = [url for _, url in pages(crawl_for(scheduler, clock, 75, answer))]
    assert not scheduler.has_pending_requests()
    assert scheduler.frontier.epoch == 3
    assert asked == ["http://two.test/g"] * 3


def test_robots_txt_keeps_the_delay_when_it_is_read_again(tmp_path, clock):
    scheduler = opened(tmp_path, ["http://127.0.0.1/a", "http://127.0.0.1/b"], CRAWL_PERIOD=3600)
    requests = crawl_for(scheduler, clock, DAY + 7200, answers("User-agent: *\nCrawl-delay: 900\n"))
    assert sum(url.endswith("/robots.txt") for _, url in requests) == 2
    assert np.diff([at for at, _ in requests]).min() >= 900


def test_names_cannot_be_checked_behind_a_proxy(tmp_path, clock, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match=r"CRAWL_LOCAL_ADDRESSES .* behind a proxy .*http_proxy"):
        opened(tmp_path, ["http://a.example/"], CRAWL_LOCAL_ADDRESSES=False)
    opened(tmp_path, ["http://a.example/"], CRAWL_LOCAL_ADDRESSES=False, HTTPPROXY_ENABLED=False)
    opened(tmp_path, ["http://a.example/"])


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        (b"", b""),
        (b'{"a": 1}\n', b'{"a": 1}\n'),
        (b'{"a": 1}\n{"b', b'{"a": 1}\n'),
        (b'{"never a line', b""),
        (b"x\n" + b"y" * 200_000, b"x\n"),
    ],
)
def test_a_line_that_a_kill_has_torn_is_cut_off(tmp_path, left, kept):
    path = tmp_path / "items.jsonl"
    path.write_bytes(left)
    cut_torn_line(path)
    assert path.read_bytes() == kept
    cut_torn_line(tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_the_fetches_of_an_epoch_are_spread_over_it(tmp_path, clock):
    urls = [f"http://127.0.0.{i}/" for i in range(1, 13)]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False)
    times = np.array([at for at, _ in crawl_for(scheduler, clock, 24, answers())])
    assert np.diff(times).tolist() == [2.0] * 11


def test_a_slow_host_does_not_hold_an_epoch(tmp_path, clock):
    """One host answers after ten epochs: the others are fetched in each of them."""
    urls = ["http://127.0.0.1/slow", "http://127.0.0.2/", "http://127.0.0.3/"]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False)
    held = []

    def crawl(seconds):
        count = 0
        for _ in range(int(seconds)):
            while request := scheduler.next_request():
                if request.url.endswith("slow"):
                    held.append(request)
                else:
                    count += 1
                    list(request.callback(Response(request.url, body=b"<rss/>", request=request)))
            clock.now += 1
        return count

    assert crawl(240) == 20
    assert len(held) == 1
    assert scheduler.frontier.late == {0}
    request = held.pop()
    list(request.callback(Response(request.url, body=b"<rss/>", request=request)))
    crawl(2)
    assert scheduler.frontier.late == frozenset()
    assert scheduler.store.frame().set_index("source").loc[request.url, "epoch"] == 10
    crawl(24)
    assert len(held) == 1  # it has its turn again


def test_robots_txt_is_read_again_after_a_day(tmp_path, clock):
    """RFC 9309, section 2.4; what it forbade is fetched when it no longer does."""
    urls = ["http://127.0.0.1/feed"]
    text = ["User-agent: *\nDisallow: /\n"]
    scheduler = opened(tmp_path, urls, CRAWL_PERIOD=3600)

    def answer(url):
        return answers(text[0])(url)

    fetched = crawl_for(scheduler, clock, DAY / 2, answer, step=600)
    assert [url[-11:] for _, url in fetched] == ["/robots.txt"]
    text[0] = ""
    fetched = crawl_for(scheduler, clock, DAY, answer, step=600)
    assert fetched[:2] == [(DAY, "http://127.0.0.1/robots.txt"), (DAY, "http://127.0.0.1/feed")]


def test_a_redirect_to_a_local_address_is_not_followed(tmp_path, clock):
    urls = ["http://1.1.1.1/feed"]
    scheduler = opened(tmp_path, urls, CRAWL_LOCAL_ADDRESSES=False)
    inside = "http://169.254.169.254/latest/"

    def answer(url):
        return (302, {"location": inside}, b"") if url.endswith("/feed") else (404, {}, b"")

    fetched = crawl_for(scheduler, clock, 24, answer)
    assert [url for _, url in fetched] == ["http://1.1.1.1/robots.txt", "http://1.1.1.1/feed"]
    assert scheduler.frontier.kind == ["failed"]


def test_a_robots_txt_is_not_followed_to_a_local_address(tmp_path, clock):
    scheduler = opened(tmp_path, ["http://1.1.1.1/feed"], CRAWL_LOCAL_ADDRESSES=False)

    def answer(url):
        return 301, {"location": "http://127.0.0.1/robots.txt"}, b""

    fetched = crawl_for(scheduler, clock, 24, answer)
    assert [url for _, url in fetched] == ["http://1.1.1.1/robots.txt"]
    assert scheduler.frontier.kind == ["failed"]


def test_a_least_time_counts_from_the_answer_and_not_from_the_epoch(tmp_path, clock):
    """Max-age is 30 s, an epoch 24 s: no two fetches lie closer, wherever in an epoch they are."""
    urls = [f"http://127.0.0.{i}/" for i in range(1, 6)]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False)

    def answer(url):
        return 200, {"cache-control": "max-age=30"}, b"<rss/>"

    fetched = crawl_for(scheduler, clock, 400, answer)
    for url in urls:
        times = np.array([at for at, other in fetched if other == url])
        assert np.diff(times).min() >= 30
        assert times.size >= 7


def test_a_redirect_waits_for_the_crawl_delay_of_its_target(tmp_path, clock):
    urls = ["http://127.0.0.1/a", "http://127.0.0.2/b", "http://127.0.0.3/c"]
    scheduler = opened(tmp_path, urls)

    def answer(url):
        if url.endswith("/robots.txt"):
            return 200, {}, b"User-agent: *\nCrawl-delay: 9\n" if "0.3" in url else b""
        if url.endswith(("/a", "/b")):
            return 302, {"location": "http://127.0.0.3/c?" + url[-1]}, b""
        return 200, {}, b"<rss/>"

    fetched = crawl_for(scheduler, clock, 240, answer)
    times = np.array([at for at, url in fetched if "0.3/c" in url])
    assert np.diff(times).min() >= 9
    assert sum(url.endswith("/robots.txt") for _, url in fetched) == 3


def test_every_standard_of_the_page_has_a_test_by_name():
    page = (ROOT / "book" / "crawl" / "crawler.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and "`test_" in line]
    assert len(lines) == 16
    text = "".join(file.read_text() for file in (ROOT / "tests" / "crawl").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", "".join(lines)):
        assert f"def {name}(" in text, name
