"""Times and order of requests to hosts, and what a crawl does where it cannot go on."""

import base64
import dataclasses
import re
import sqlite3

import numpy as np
import pytest
from scrapy.http import Response
from twisted.python.failure import Failure

from analysis.crawl.fetching.headers import (
    Memory,
)
from analysis.crawl.local.transport import write_sources
from analysis.crawl.scheduler import cut_torn_line
from analysis.crawl.store import FILE, read_log
from scorecard.files import ROOT
from tests.crawl.support import answers, crawl_for, opened, pages, some_sources

DAY = 86_400.0


def test_crawl_delay_between_pages(tmp_path, clock):
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


def test_long_crawl_delay_between_fetches(tmp_path, clock):
    urls = [f"http://127.0.0.1/{i}" for i in range(3)] + ["http://127.0.0.2/"]
    scheduler = opened(tmp_path, urls)
    fetched = pages(crawl_for(scheduler, clock, 400, answers("User-agent: *\nCrawl-delay: 60\n")))
    for host in ("127.0.0.1", "127.0.0.2"):
        times = np.array([at for at, url in fetched if host in url])
        assert np.diff(times).min() >= 60
        assert times.size >= 5


def test_resting_host_does_not_block(tmp_path, clock):
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


def test_reread_robots_txt_keeps_delay(tmp_path, clock):
    scheduler = opened(tmp_path, ["http://127.0.0.1/a", "http://127.0.0.1/b"], CRAWL_PERIOD=3600)
    requests = crawl_for(scheduler, clock, DAY + 7200, answers("User-agent: *\nCrawl-delay: 900\n"))
    assert sum(url.endswith("/robots.txt") for _, url in requests) == 2
    assert np.diff([at for at, _ in requests]).min() >= 900


def test_proxy_hides_names(tmp_path, clock, monkeypatch):
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
def test_torn_line_is_cut_off(tmp_path, left, kept):
    path = tmp_path / "items.jsonl"
    path.write_bytes(left)
    cut_torn_line(path)
    assert path.read_bytes() == kept
    cut_torn_line(tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_fetches_spread_over_epoch(tmp_path, clock):
    urls = [f"http://127.0.0.{i}/" for i in range(1, 13)]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False)
    times = np.array([at for at, _ in crawl_for(scheduler, clock, 24, answers())])
    assert np.diff(times).tolist() == [2.0] * 11


def test_slow_host_does_not_block(tmp_path, clock):
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


def test_robots_txt_expires_daily(tmp_path, clock):
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


def test_local_redirect_is_refused(tmp_path, clock):
    urls = ["http://1.1.1.1/feed"]
    scheduler = opened(tmp_path, urls, CRAWL_LOCAL_ADDRESSES=False)
    inside = "http://169.254.169.254/latest/"

    def answer(url):
        return (302, {"location": inside}, b"") if url.endswith("/feed") else (404, {}, b"")

    fetched = crawl_for(scheduler, clock, 24, answer)
    assert [url for _, url in fetched] == ["http://1.1.1.1/robots.txt", "http://1.1.1.1/feed"]
    assert scheduler.frontier.kind == ["failed"]


def test_local_robots_txt_is_refused(tmp_path, clock):
    scheduler = opened(tmp_path, ["http://1.1.1.1/feed"], CRAWL_LOCAL_ADDRESSES=False)

    def answer(url):
        return 301, {"location": "http://127.0.0.1/robots.txt"}, b""

    fetched = crawl_for(scheduler, clock, 24, answer)
    assert [url for _, url in fetched] == ["http://1.1.1.1/robots.txt"]
    assert scheduler.frontier.kind == ["failed"]


def test_rest_counts_from_reply(tmp_path, clock):
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


def test_fresh_replies_have_own_cap(tmp_path, clock):
    """A static host states a year; ``Retry-After`` keeps its own, longer cap."""
    urls = ["http://127.0.0.1/", "http://127.0.0.2/"]
    settings = {"CRAWL_LONGEST_FRESH": 90, "CRAWL_LONGEST_REST": 600, "ROBOTSTXT_OBEY": False}
    scheduler = opened(tmp_path, urls, **settings)

    def answer(url):
        if url == urls[0]:
            return 200, {"cache-control": "max-age=31536000, immutable"}, b"<rss/>"
        return 503, {"retry-after": "31536000"}, b""

    fetched = crawl_for(scheduler, clock, 1000, answer)
    times = [np.array([at for at, other in fetched if other == url]) for url in urls]
    assert 90 <= np.diff(times[0]).min() <= np.diff(times[0]).max() < 90 + 2 * 24
    assert np.diff(times[1]).min() >= 600


@pytest.mark.parametrize(("given", "most"), [({}, 10 * 2**20), ({"DOWNLOAD_MAXSIZE": 7}, 7)])
def test_largest_feed_is_a_setting(tmp_path, clock, given, most):
    scheduler = opened(tmp_path, ["http://127.0.0.1/"], ROBOTSTXT_OBEY=False, **given)
    assert scheduler.next_request().meta["download_maxsize"] == most


def test_gone_sources_after_thirty_days(tmp_path, clock):
    scheduler = opened(tmp_path, ["http://127.0.0.1/"], ROBOTSTXT_OBEY=False, CRAWL_PERIOD=2 * DAY)
    fetched = crawl_for(scheduler, clock, 100 * DAY, lambda url: (410, {}, b""), step=DAY / 4)
    assert [at // DAY for at, _ in fetched] == [0, 30, 60, 90]


def test_sources_have_bounds_of_their_own(tmp_path, clock):
    """A budget of one: the third is fetched at each turn, the fourth seldom."""
    urls = [f"http://127.0.0.{i}/" for i in range(1, 5)]
    settings = {"CRAWL_BUDGET": 1, "ROBOTSTXT_OBEY": False, "CRAWL_PERIOD": 24}
    scheduler = opened(tmp_path, urls, **settings)
    intervals = [("", ""), ("", ""), ("", "48s"), ("10m", "20m")]
    rows = [f"{url},{least},{most}" for url, (least, most) in zip(urls, intervals, strict=True)]
    text = "\n".join(["url,min_interval,max_interval", *rows, ""])
    (tmp_path / "s.csv").write_text(text)
    clock.now += 24
    fetched = crawl_for(scheduler, clock, 24 * 400, answers())
    gaps = {url: np.diff([at for at, other in fetched if other == url]) for url in urls}
    assert gaps[urls[2]].max() <= 72  # up to a round later, where the fourth is overdue too
    assert gaps[urls[3]].min() >= 600
    assert gaps[urls[3]].max() <= 1200 + 48


def test_redirect_waits_for_target_delay(tmp_path, clock):
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


@pytest.mark.parametrize(("obey", "count"), [(None, 0), (False, 1)])
def test_robots_are_obeyed_unless_switched_off(tmp_path, clock, obey, count):
    """Scrapy's own default, no, is not a choice."""
    scheduler = opened(tmp_path, ["http://127.0.0.1/"], ROBOTSTXT_OBEY=obey)
    requests = crawl_for(scheduler, clock, 24, answers("User-agent: *\nDisallow: /\n"))
    assert len(pages(requests)) == count


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("headers", [{}, {"retry-after": "soon"}, {"x-ratelimit-reset": "600"}])
def test_refusing_hosts_rest_twice_as_long(tmp_path, clock, status, headers):
    """Eight feeds of one host: it rests for 1, 2, 4, ... minutes, also after a restart."""
    urls = [f"http://127.0.0.1/{i}" for i in range(8)]
    state = {"JOBDIR": str(tmp_path / "state")}
    scheduler = opened(tmp_path, urls, **state)

    def answer(url):
        return (404, {}, b"") if url.endswith("/robots.txt") else (status, headers, b"")

    times = [at for at, _ in pages(crawl_for(scheduler, clock, 1800, answer))]
    gaps = np.diff(times)
    assert gaps[:4] == pytest.approx([60, 120, 240, 480], rel=0.5)
    assert (gaps[:4] >= [60, 120, 240, 480]).all()
    scheduler.close("shutdown")
    scheduler = opened(tmp_path, urls, **state)
    assert scheduler.frontier.refusals("127.0.0.1") >= 4
    scheduler.close("shutdown")


def test_answer_resets_refusals(tmp_path, clock):
    scheduler = opened(tmp_path, ["http://127.0.0.1/"], CRAWL_PERIOD=100)
    statuses = iter([429, 429, 200, 429] + [200] * 99)

    def answer(url):
        if url.endswith("/robots.txt"):
            return 404, {}, b""
        return next(statuses), {}, b"<rss/>"

    crawl_for(scheduler, clock, 900, answer)
    assert scheduler.frontier.refusals("127.0.0.1") == 0


def test_retry_after_of_other_errors_counts(tmp_path, clock):
    scheduler = opened(tmp_path, ["http://127.0.0.1/"])

    def answer(url):
        return (404, {}, b"") if "robots" in url else (403, {"retry-after": "600"}, b"")

    times = [at for at, _ in pages(crawl_for(scheduler, clock, 1500, answer))]
    assert np.diff(times).min() >= 600


@pytest.mark.parametrize("circle", [["/feed"], ["/a", "/feed"], ["/a", "/b", "/a"]])
def test_redirect_circles_end_at_once(tmp_path, clock, circle):
    """A redirect to itself is the usual one: it wants its cookie back."""
    path = ["/feed", *circle]
    follow = dict(zip(path, circle, strict=False))
    scheduler = opened(tmp_path, ["http://127.0.0.1/feed"], ROBOTSTXT_OBEY=False)

    def answer(url):
        return 302, {"location": follow["/" + url.rpartition("/")[2]]}, b""

    asked = crawl_for(scheduler, clock, 24, answer)
    assert len(asked) == len(set(path))
    assert scheduler.frontier.kind == ["failed"]


@pytest.mark.parametrize("listed", [True, False])
def test_duplicate_feeds_are_merged(tmp_path, clock, listed):
    """Both have moved for good to one address, which is a source of the list or not."""
    urls = ["http://127.0.0.1/old", "http://127.0.0.2/older"]
    target = "http://127.0.0.3/new"
    scheduler = opened(
        tmp_path, urls + [target] * listed, ROBOTSTXT_OBEY=False, CRAWL_LONGEST_REST=1e6
    )

    def answer(url):
        return (200, {}, b"<rss/>") if url == target else (301, {"location": target}, b"")

    asked = [url for _, url in crawl_for(scheduler, clock, 24 * 20, answer)]
    late = [url for _, url in crawl_for(scheduler, clock, 24 * 20, answer)]
    assert late == [target] * 20  # once an epoch
    assert asked.count(target) <= 22


def test_source_of_a_removed_duplicate_returns(tmp_path, clock):
    urls, target = ["http://127.0.0.1/old"], "http://127.0.0.3/new"
    scheduler = opened(
        tmp_path, [*urls, target], ROBOTSTXT_OBEY=False, CRAWL_LONGEST_REST=48, CRAWL_BUDGET=1
    )

    def answer(url):
        return (200, {}, b"<rss/>") if url == target else (301, {"location": target}, b"")

    crawl_for(scheduler, clock, 240, answer)
    write_sources(tmp_path / "s.csv", some_sources(1), urls)
    asked = [url for _, url in crawl_for(scheduler, clock, 480, answer)]
    assert target in asked


def write_logins(tmp_path, text, mode=0o600):
    path = tmp_path / "logins"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_login_goes_to_its_own_host(tmp_path, clock, caplog):
    """Not to robots.txt, another feed or another host; nor to logs, state and list."""
    urls = ["http://127.0.0.1/a", "http://127.0.0.1/b", "http://127.0.0.2/c"]
    logins = write_logins(tmp_path, f"# mine\n\n{urls[0]} me  a pass word \n{urls[2]} you x:y\n")
    caplog.set_level("DEBUG")
    folder = tmp_path / "state"
    scheduler = opened(tmp_path, urls, CRAWL_BUDGET=3, CRAWL_LOGINS=logins, JOBDIR=str(folder))
    sent = {}
    for _ in range(400):
        clock.now += 0.25
        while (request := scheduler.next_request()) is not None:
            sent[request.url] = request.headers.get("Authorization")
            away = {"Location": "http://127.0.0.3/c"} if request.url == urls[2] else {}
            status = 302 if away else 404 if "robots" in request.url else 200
            response = Response(request.url, status, away, b"<rss/>", request=request)
            list(request.callback(response))
    assert sent.pop(urls[0]) == b"Basic " + base64.b64encode(b"me:a pass word")
    assert sent.pop(urls[2]) == b"Basic " + base64.b64encode(b"you:x:y")
    assert "http://127.0.0.3/c" in sent
    assert set(sent.values()) == {None}
    scheduler.close("finished")
    kept = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    for secret in ("pass word", base64.b64encode(b"me:a pass word").decode()):
        assert secret not in caplog.text
        assert secret.encode() not in kept


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("http://a.example/ me secret", 0o644, "chmod 600"),
        ("http://a.example/ me secret", 0o620, "chmod 600"),
        ("http://a.example/ secret", 0o600, "line 1"),
        ("\nhttp://me:secret@a.example/ me secret", 0o600, "line 2"),
        ("http://a.example/ a:b secret", 0o600, "line 1"),
        ("ftp://a.example/ me secret", 0o600, "line 1"),
    ],
)
def test_wrong_logins_are_named(tmp_path, clock, text, mode, words):
    with pytest.raises(ValueError, match="CRAWL_LOGINS") as refused:
        opened(tmp_path, ["http://127.0.0.1/"], CRAWL_LOGINS=write_logins(tmp_path, text, mode))
    assert words in str(refused.value)
    assert "secret" not in str(refused.value)


def new_address(target, feed=b""):
    space = b'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    moved = b"<itunes:new-feed-url> %s </itunes:new-feed-url>" % target.encode()
    return b"<rss %s><channel>%s%s</channel></rss>" % (space, moved, feed)


@pytest.mark.parametrize("works", [True, False])
def test_new_feed_url_is_followed_if_it_works(tmp_path, clock, works):
    """A feed that says it has moved is fetched there for good, or asked there once."""
    old, new = "http://127.0.0.1/old", "http://127.0.0.2/new"

    def answer(url):
        if "robots" in url:
            return 404, {}, b""
        if url == new:
            return (200, {}, b"<rss/>") if works else (200, {}, b"<html/>")
        return 200, {}, new_address(new)

    scheduler = opened(tmp_path, [old, "http://127.0.0.3/"], CRAWL_BUDGET=2)
    fetched = pages(crawl_for(scheduler, clock, 400, answer))
    asked = [url for _, url in fetched if "0.3" not in url]
    assert asked[:2] == [old, new]
    assert asked.count(old if works else new) == 1
    assert len(asked) > 8


@pytest.mark.parametrize(
    "target", ["", "ftp://127.0.0.2/x", "http://127.0.0.1:0/", "javascript:1", "http://u:p@127.0.0.2/",
               "http://127.0.0.1/old", "http://127.0.0.3/"]
)  # fmt: skip
def test_odd_new_addresses_change_nothing(tmp_path, clock, target):
    old, other = "http://127.0.0.1/old", "http://127.0.0.3/"
    answer = answers(feed=new_address(target))
    scheduler = opened(tmp_path, [old, other], CRAWL_BUDGET=2)
    requested = [url for _, url in pages(crawl_for(scheduler, clock, 200, answer))]
    assert set(requested) == {old, other}
    assert requested.count(old) >= 4


def test_feeds_are_preferred_to_pages(tmp_path, clock):
    """RFC 9110, section 12.5.1; headers of the user are left alone."""
    scheduler = opened(tmp_path, ["http://127.0.0.1/"], ROBOTSTXT_OBEY=False)
    accept = scheduler.next_request().headers["Accept"].decode()
    assert accept.startswith("application/atom+xml, application/rss+xml")
    assert "html" not in accept
    (tmp_path / "b").mkdir()
    own = {"DEFAULT_REQUEST_HEADERS": {"Accept": "text/x-mine"}}
    scheduler = opened(tmp_path / "b", ["http://127.0.0.1/"], ROBOTSTXT_OBEY=False, **own)
    assert b"Accept" not in scheduler.next_request().headers


@pytest.mark.parametrize(
    ("agent", "warns"),
    [(None, True), ("mybot", True), ("mybot/1 (+https://a.example/)", False), ("b (m@a.b)", False)],
)
def test_user_agent_without_contact_warns_once(tmp_path, clock, caplog, agent, warns):
    opened(tmp_path, ["http://a.example/"], CRAWL_LOCAL_ADDRESSES=False, USER_AGENT=agent)
    assert caplog.text.count("USER_AGENT") == warns


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({"CRAWL_PERIOD": 8}, [2, 8]),
        ({"CRAWL_PERIOD": 3600}, [7.5, 30]),
        ({"DOWNLOAD_TIMEOUT": 180}, [180, 180]),
    ],
)
def test_timeout_is_an_epoch_unless_set(tmp_path, clock, more, seconds):
    """A host that is asked for the first time has a quarter of it."""
    scheduler, found = opened(tmp_path, ["http://127.0.0.1/"], ROBOTSTXT_OBEY=False, **more), []
    for _ in range(2):
        request = scheduler.next_request()
        found.append(request.meta["download_timeout"])
        list(request.callback(Response(request.url, body=b"<rss/>", request=request)))
        clock.now += 3600
    assert found == seconds


def test_silent_hosts_leave_slots_to_others(tmp_path, clock):
    """Forty hosts never answer: half of the slots are for those that do, in every epoch."""
    silent = [f"http://127.0.1.{i}/" for i in range(1, 41)]
    urls = [f"http://127.0.2.{i}/" for i in range(1, 11)]
    scheduler = opened(tmp_path, silent + urls, ROBOTSTXT_OBEY=False, CONCURRENT_REQUESTS=16)
    under_way, counts = [], []
    for _ in range(24 * 8):
        while len(under_way) < 16 and (request := scheduler.next_request()):
            if request.url in urls:
                list(request.callback(Response(request.url, body=b"<rss/>", request=request)))
                counts.append(scheduler.frontier.epoch)
            else:
                under_way.append((clock.now, request))
        ended = [r for since, r in under_way if clock.now - since >= r.meta["download_timeout"]]
        under_way = [(since, one) for since, one in under_way if one not in ended]
        for request in ended:
            failure = Failure(TimeoutError())
            failure.request = request
            request.errback(failure)
        clock.now += 1
    assert len(under_way) <= 8
    assert np.bincount(counts)[3:7].tolist() == [10] * 4


def test_failed_job_is_settled(tmp_path, clock, monkeypatch):
    """An error where none is expected: the source is asked again, and the crawl ends."""
    scheduler = opened(tmp_path, ["http://127.0.0.1/", "http://127.0.0.2/"], CRAWL_EPOCHS=4)

    def fails(url):
        raise UnicodeError("label empty or too long")

    monkeypatch.setattr("analysis.crawl.fetching.requests.authority_of", fails)
    crawl_for(scheduler, clock, 24 * 5, answers())
    assert not scheduler.has_pending_requests()
    assert scheduler.frontier.failures.tolist() == [3, 3]


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_clock_jump_keeps_epochs(tmp_path, clock, caplog, jump):
    """The clock is set, and later set right again; then the crawl is started anew."""
    urls, state = [f"http://127.0.0.{i}/" for i in range(1, 5)], {"JOBDIR": str(tmp_path / "state")}
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, **state)

    def count(seconds):
        return len(crawl_for(scheduler, clock, seconds, answers()))

    assert count(96) == 16
    for by in (jump, -jump):
        clock.set += by
        assert count(96) == 16
        assert scheduler.frontier.age.max() <= 2
    assert caplog.text.count("the clock was set") == 2
    scheduler.close("shutdown")
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, **state)
    assert count(96) in (16, 20)


def test_clock_behind_the_state_begins_anew(tmp_path, clock, caplog):
    """A state was saved while the clock was a month ahead; the next start has the right one."""
    urls, state = ["http://127.0.0.1/"], {"JOBDIR": str(tmp_path / "state")}
    for behind in (0, 30 * DAY):
        clock.set -= behind
        scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, **state)
        assert len(crawl_for(scheduler, clock, 240, answers())) >= 10
        scheduler.close("shutdown")
    assert caplog.text.count("behind that of the saved crawl") == 1


def test_locked_database_loses_no_source(tmp_path, clock, caplog):
    """Another process holds the database for a while: all sources are fetched afterwards."""
    urls = [f"http://127.0.0.{i}/" for i in range(1, 13)]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, JOBDIR=str(tmp_path / "state"))
    scheduler.store._base.execute("PRAGMA busy_timeout = 1")
    crawl_for(scheduler, clock, 30, answers())
    other = sqlite3.connect(tmp_path / "state" / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    crawl_for(scheduler, clock, 40, answers())
    other.execute("ROLLBACK")
    other.close()
    asked = {url for _, url in crawl_for(scheduler, clock, 48, answers())}
    assert asked == set(urls)
    assert caplog.text.count("database is locked") == 1
    assert caplog.text.count("the crawl goes on") == 1
    assert read_log(tmp_path / "state").groupby("epoch").size().max() == 12


@pytest.mark.sampled
def test_full_disk_ends_the_crawl(tmp_path, clock):
    """One sentence; a disk that has room again in time ends nothing."""
    urls = [f"http://127.0.0.{i}/" for i in range(1, 4)]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, JOBDIR=str(tmp_path / "state"))
    base = scheduler.store._base
    large = answers(
        feed=b"<rss>" + b"<item><title>%s</title></item>" % (b"x" * 99) * 300 + b"</rss>"
    )
    crawl_for(scheduler, clock, 24, large)
    base.execute("PRAGMA max_page_count = 1")  # SQLite's own way to a disk that is full
    for _ in range(30):  # until its pages are
        crawl_for(scheduler, clock, 24, large)
        if scheduler._unwritten:
            break
    base.execute("PRAGMA max_page_count = 100000")
    assert {url for _, url in crawl_for(scheduler, clock, 48, large)} == set(urls)
    base.execute("PRAGMA max_page_count = 1")
    with pytest.raises(RuntimeError, match="disk is full"):
        crawl_for(scheduler, clock, 24 * 60, large)
    scheduler.close("shutdown")


def test_locked_database_ends_crawl(tmp_path, clock):
    """One sentence, and nothing is lost: the next start repeats what was not written."""
    urls = [f"http://127.0.0.{i}/" for i in range(1, 4)]
    state = {"JOBDIR": str(tmp_path / "state")}
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, **state)
    scheduler.store._base.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(tmp_path / "state" / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(RuntimeError, match="cannot be written"):
        crawl_for(scheduler, clock, 120, answers())
    other.execute("ROLLBACK")
    other.close()
    scheduler.close("shutdown")
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, **state)
    assert {url for _, url in crawl_for(scheduler, clock, 30, answers())} == set(urls)


def test_second_crawl_is_refused(tmp_path, clock):
    """In one process too, whatever the folder is called."""
    folder = tmp_path / "state"
    scheduler = opened(tmp_path, ["http://127.0.0.1/"], JOBDIR=str(folder))
    (tmp_path / "other").symlink_to(folder)
    for name in (folder, f"{folder}/../state/.", tmp_path / "other"):
        with pytest.raises(ValueError, match="another crawl is at work in"):
            opened(tmp_path, ["http://127.0.0.1/"], JOBDIR=str(name))
    scheduler.close("shutdown")
    opened(tmp_path, ["http://127.0.0.1/"], JOBDIR=str(folder)).close("shutdown")


def test_unwritable_folder_is_refused(tmp_path, clock):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="JOBDIR"):
        opened(tmp_path, ["http://127.0.0.1/"], JOBDIR=str(tmp_path / "file" / "state"))


@pytest.mark.parametrize(
    "handler", ["scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"]
)
def test_other_download_handlers_are_refused(tmp_path, clock, handler):
    more = {"DOWNLOAD_HANDLERS": {"https": handler}}
    with pytest.raises(ValueError, match="DOWNLOAD_HANDLERS"):
        opened(tmp_path, ["http://a.example/"], CRAWL_LOCAL_ADDRESSES=False, **more)
    opened(tmp_path, ["http://a.example/"], **more)


def test_spoilt_reader_memory_counts_as_empty(tmp_path, clock, caplog):
    """Also where the server answers 304: then the whole feed is asked for next time."""
    scheduler = opened(tmp_path, ["http://127.0.0.1/"], ROBOTSTXT_OBEY=False)
    tags = []

    def crawl(seconds):
        for _ in range(int(seconds)):
            while request := scheduler.next_request():
                tags.append(request.headers.get("If-None-Match"))
                status = 304 if tags[-1] else 200
                headers, body = ({}, b"") if tags[-1] else ({"etag": '"t"'}, b"<rss/>")
                list(
                    request.callback(Response(request.url, status, headers, body, request=request))
                )
            clock.now += 1

    crawl(48)
    memory = Memory.read(scheduler.frontier.memory[0])
    scheduler.frontier.memory[0] = dataclasses.replace(memory, reader="spoilt").text()
    crawl(24 * 4)
    assert scheduler.frontier.kind == ["found"]
    assert tags.count(None) == 2
    assert caplog.text.count("counts as empty") == 1


def test_standards_have_tests():
    page = (ROOT / "book" / "crawl" / "feeds.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and "`test_" in line]
    assert len(lines) == 20
    text = "".join(file.read_text() for file in (ROOT / "tests" / "crawl").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", "".join(lines)):
        assert f"def {name}(" in text, name
