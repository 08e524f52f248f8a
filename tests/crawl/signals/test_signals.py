"""Pings of a crawl without sockets: senders, hubs, files and pages, right, wrong and hostile."""

import hashlib
import hmac
import json
import logging
import os
import stat

import pytest
from scrapy.crawler import Crawler
from scrapy.http import Response

from analysis.crawl.clock import START
from analysis.crawl.local.transport import LOCAL_SETTINGS, in_process_urls, write_sources
from analysis.crawl.scheduler import EpochScheduler, FeedSpider
from analysis.crawl.signals.service import KEY, MOST_A_MINUTE, TOKENS, IncomingRequest
from analysis.crawl.signals.websub import State
from tests.crawl.signals.hub import feed
from tests.crawl.support import some_settings, some_site

TOKEN = "0123456789abcdef"


@pytest.fixture
def crawl(tmp_path):
    return opened(tmp_path)


def opened(tmp_path, **more):
    """A scheduler in virtual time whose callback can be asked; no request is sent."""
    site = some_site(4)
    urls = in_process_urls(site)
    write_sources(tmp_path / "s.csv", site.sources, urls)
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / TOKENS).write_text(f"friend {TOKEN}\n")
    given = {
        **LOCAL_SETTINGS, **some_settings(site), "CRAWL_SOURCES": str(tmp_path / "s.csv"),
        "JOBDIR": str(tmp_path / "state"), "CRAWL_CALLBACK": "http://me.example/in", **more,
    }  # fmt: skip
    scheduler = EpochScheduler.from_crawler(Crawler(FeedSpider, given))
    scheduler.open(FeedSpider())
    scheduler.urls = urls
    return scheduler


def asks(crawl, path, method="GET", query="", body=b"", **headers):
    assert crawl._signals.accepts_path(path)
    return crawl._signals.answer(IncomingRequest(method, path, query, headers, body))


def counts(crawl, hub="friend"):
    return crawl._signals.trust.counts.get(hub, {})


def subscribed(crawl, hub="http://127.0.0.1:9/hub"):
    """A subscription of the first source that its hub has verified."""
    source = crawl.urls[0]
    crawl.announce(source, [hub], source)
    (request,) = [r for r in crawl._signals.requests(1.0) if r.method == "POST"]
    response = Response(request.url, 202, request=request)
    crawl._signals._hub_answered(response)
    one = crawl._signals.subscriptions.by_source[source]
    path = "/in/" + crawl._signals.subscriptions.token(one)
    query = f"hub.mode=subscribe&hub.topic={source}&hub.challenge=abc&hub.lease_seconds=9999999"
    assert asks(crawl, path, query=query)[:2] == (200, b"abc")
    return one, path


def signed(crawl, one, body):
    secret = crawl._signals.subscriptions.secret(one).encode()
    return {"x-hub-signature": "sha1=" + hmac.new(secret, body, hashlib.sha1).hexdigest()}


def test_senders_ping_by_token(crawl):
    url = crawl.urls[1]
    assert asks(crawl, f"/ping/{TOKEN}", query=f"url={url}").status == 202
    assert counts(crawl)["pings"] == 1
    assert crawl._signals.trust.waits(url)
    assert not crawl._signals.accepts_path("/ping/other")
    assert not crawl._signals.accepts_path("/in")
    body = json.dumps({"urlList": [url, "http://unknown.example/", "no address", "x" * 9999]})
    assert asks(crawl, f"/in/ping/{TOKEN}", "POST", body=body.encode()).status == 202
    assert (counts(crawl)["unknown"], counts(crawl)["ignored"]) == (3, 1)
    assert asks(crawl, f"/ping/{TOKEN}", "POST", body=b"{").status == 400
    call = (
        b"<methodCall><methodName>weblogUpdates.ping</methodName><params><param><value>A</value>"
        b"</param><param><value>%s</value></param></params></methodCall>" % url.encode()
    )
    answer = asks(crawl, f"/ping/{TOKEN}", "POST", body=call)
    assert (answer.status, answer.kind) == (200, "text/xml")


def test_page_of_a_feeds_folder_is_its_own(crawl):
    page = crawl.urls[2].replace("2.xml", "news/1.html")
    other = crawl.urls[2].replace("/feed/2.xml", "/about")
    for url in (page, page, other):
        asks(crawl, f"/ping/{TOKEN}", query=f"url={url}")
    assert crawl._signals.trust.waits(crawl.urls[2])
    assert counts(crawl) | {"ignored": 1} == counts(crawl)  # the page twice


def test_flood_is_ignored_with_one_line(crawl, caplog):
    body = json.dumps({"urlList": ["http://unknown.example/"] * 10_000}).encode()
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            asks(crawl, f"/ping/{TOKEN}", "POST", body=body)
    assert counts(crawl)["unknown"] == MOST_A_MINUTE
    assert counts(crawl)["ignored"] == 40_000 - MOST_A_MINUTE
    assert caplog.text.count("pings a minute") == 1


def test_hub_is_asked_and_delivers(crawl):
    one, path = subscribed(crawl)
    body = feed(["<item><guid>new</guid><title>New</title></item>"]).encode()
    assert asks(crawl, path, "POST", body=body, **signed(crawl, one, body)).status == 202
    request = crawl._released.popleft()
    assert request.url == "data:,"
    assert request.meta["reply"].pushed


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"x-hub-signature": ""}, 403),
        ({"x-hub-signature": "sha1=" + "0" * 40}, 403),
        ({"link": '<http://other.example/feed>; rel="self"'}, 400),
        ({"link": "<" * 10_000}, 202),
    ],
)
def test_wrong_deliveries_are_refused(crawl, change, status):
    one, path = subscribed(crawl)
    headers = signed(crawl, one, b"body") | change
    assert asks(crawl, path, "POST", body=b"body", **headers).status == status
    assert bool(crawl._released) == (status == 202)


def test_liar_delivers_nothing_more(crawl):
    """A hub whose pings have been false: what it sends counts as a ping."""
    one, path = subscribed(crawl)
    trust = crawl._signals.trust
    for k in range(60):
        trust.ping(one.hub, crawl.urls[1], START + 4000.0 * k)
        trust.crawl(crawl.urls[1], START + 4000.0 * k + 1, items=0)
    body = feed([]).encode()
    assert asks(crawl, path, "POST", body=body, **signed(crawl, one, body)).status == 202
    assert not crawl._released
    assert trust.waits(crawl.urls[0])


def test_other_verifications_find_nothing(crawl):
    _, path = subscribed(crawl)
    for query in ("", "hub.mode=subscribe", "hub.mode=subscribe&hub.topic=x&hub.challenge=y"):
        assert asks(crawl, path, query=query).status == 404
    assert asks(crawl, path, query="hub.challenge=" + "c" * 10_000).status == 414
    assert not crawl._signals.accepts_path("/in/" + "0" * 32)


@pytest.mark.parametrize("hub", ["ftp://h.example/", "http://u:p@h.example/", "http://[x/", "x",
                                 "http://h.example:0/", "http://"])  # fmt: skip
def test_odd_hubs_are_not_asked(crawl, hub):
    crawl.announce(crawl.urls[0], [hub], crawl.urls[0])
    assert not list(crawl._signals.requests(1.0))


def test_secrets_are_for_the_owner_alone(crawl, tmp_path):
    folder = tmp_path / "state"
    one, _ = subscribed(crawl)
    assert stat.S_IMODE(os.stat(folder / KEY).st_mode) == 0o600
    secret = crawl._signals.subscriptions.secret(one).encode()
    kept = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert secret not in kept
    assert crawl._signals.subscriptions.token(one).encode() not in kept


def test_pings_survive_a_kill(crawl, tmp_path):
    """What came after the state was written is written by itself."""
    _, path = subscribed(crawl)
    asks(crawl, f"/ping/{TOKEN}", query=f"url={crawl.urls[1]}")
    crawl.store.close()  # as a kill does
    again = opened(tmp_path)
    assert again._signals.trust.waits(crawl.urls[1])
    kept = again._signals.subscriptions.by_source[crawl.urls[0]]
    assert kept.state is State.ACTIVE
    assert again._signals.accepts_path(path)


def test_dated_page_pings_what_changed(tmp_path):
    crawl = opened(tmp_path, CRAWL_DATED_PAGES=["http://127.0.0.1:9/sitemap.xml"])
    first, second = (
        f"<urlset><url><loc>{crawl.urls[0]}</loc><lastmod>2023-12-31T23:00:00Z</lastmod></url>"
        f"<url><loc>{crawl.urls[1]}</loc><lastmod>2023-12-31T{hour}:00:00Z</lastmod></url></urlset>"
        for hour in ("20", "23")
    )
    (request,) = crawl._signals.requests(3600.0)
    for status, body in ((200, first), (500, second), (200, "<html/>"), (200, second)):
        crawl._signals._page_arrived(
            Response(request.url, status, {}, body.encode(), request=request)
        )
    assert not crawl._signals.trust.waits(crawl.urls[0])
    assert crawl._signals.trust.waits(crawl.urls[1])
    assert not list(crawl._signals.requests(3600.0))  # once in an epoch


def test_new_dated_page_pings_nothing_at_first(tmp_path):
    before = opened(tmp_path, CRAWL_DATED_PAGES=["http://127.0.0.1:9/old.xml"])
    before.store.save(before.frontier, 0.0, before._signals.state())
    before.store.close()
    crawl = opened(tmp_path, CRAWL_DATED_PAGES=["http://127.0.0.1:9/new.xml"])
    (request,) = crawl._signals.requests(3600.0)
    body = (
        f"<urlset><url><loc>{crawl.urls[0]}</loc>"
        "<lastmod>2023-12-31T23:00:00Z</lastmod></url></urlset>"
    )
    crawl._signals._page_arrived(Response(request.url, 200, {}, body.encode(), request=request))
    assert not crawl._signals.trust.waits(crawl.urls[0])


def test_file_of_pings_is_read(tmp_path):
    path = tmp_path / "pings"
    crawl = opened(tmp_path, CRAWL_PING_FILE=str(path), CRAWL_CALLBACK="")
    path.write_text(f"{crawl.urls[3]}\nhttp://unknown.example/\n")
    assert not list(crawl._signals.requests(3600.0))
    assert counts(crawl, "file") | {"pings": 2, "unknown": 1} == counts(crawl, "file")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRAWL_CALLBACK", "me.example"), ("CRAWL_CALLBACK", "ftp://me.example"),
        ("CRAWL_CALLBACK", "http://me.example/?a=1"), ("CRAWL_LISTEN", "8090"),
        ("CRAWL_LISTEN", "127.0.0.1:99999"), ("CRAWL_DATED_PAGES", ["ftp://a.example/"]),
        ("CRAWL_PING_FILE", "."), ("CRAWL_PING_FILE", "/dev/zero"),
        ("CRAWL_PING_FILE", "nowhere/pings"), ("CRAWL_PING_FILE", "a\0b"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(tmp_path, name, value):
    with pytest.raises(ValueError, match=name):
        opened(tmp_path, **{name: value})


def test_wrong_tokens_are_named(tmp_path):
    opened(tmp_path).store.close()
    (tmp_path / "state" / TOKENS).write_text("friend short\n")
    site = some_site(4)
    given = {**LOCAL_SETTINGS, **some_settings(site), "CRAWL_SOURCES": str(tmp_path / "s.csv"),
             "JOBDIR": str(tmp_path / "state"), "CRAWL_CALLBACK": "http://me.example"}  # fmt: skip
    scheduler = EpochScheduler.from_crawler(Crawler(FeedSpider, given))
    with pytest.raises(ValueError, match=TOKENS):
        scheduler.open(FeedSpider())
