"""Scrapy over HTTP leaves the bytes of the crawl within one process, killed or not."""

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from analysis.crawl import FeedServer, check_local
from analysis.crawl.local.site import Fault
from analysis.crawl.local.transport import (
    LocalOnly,
    crawl_in_process,
    crawl_over_http,
    write_sources,
)
from analysis.crawl.store import read_log
from tests.crawl.support import contents, some_settings, some_site, some_sources

pytestmark = [pytest.mark.process, pytest.mark.sampled]

ROBOTS = {1: "User-agent: *\nDisallow: /\n", 2: "User-agent: *\nCrawl-delay: 9000\n"}


class Away(BaseHTTPRequestHandler):
    """Sends everybody to an address that is not of this machine."""

    def do_GET(self):
        self.send_response(302)
        self.send_header("location", "http://192.0.2.1/feed/0.xml")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """Several crawls of one child: two policies on a site with every trouble, and a redirect."""
    folder = tmp_path_factory.mktemp("http")
    faults = np.zeros((8, 15), dtype=int)
    faults[:, [5, 8, 11]] = Fault.SILENCE, Fault.ERROR, Fault.CUT
    site = some_site(8, faults=faults, robots=ROBOTS, delay=[0.05, *[0.0] * 7])
    crawls = []
    with FeedServer(site) as server, ThreadingHTTPServer(("127.0.0.1", 0), Away) as away:
        threading.Thread(target=away.serve_forever, daemon=True).start()
        write_sources(folder / "sources.csv", site.sources, server.urls())
        elsewhere = [f"http://127.0.0.1:{away.server_port}/feed/0.xml"]
        write_sources(folder / "away.csv", some_sources(1), elsewhere)
        for policy in ("index", "learned_index"):
            settings = some_settings(site, policy=policy)
            crawl_in_process(
                site, settings, folder=folder / f"{policy}-in-process", urls=server.urls()
            )
            paths = {"CRAWL_SOURCES": str(folder / "sources.csv"), "JOBDIR": str(folder / policy)}
            crawls.append(settings | paths)
        paths = {"CRAWL_SOURCES": str(folder / "away.csv"), "JOBDIR": str(folder / "away")}
        once = some_settings(site, budget=1, epochs=1, ROBOTSTXT_OBEY=False)
        crawl_over_http([*crawls, once | paths], timeout=120)
        away.shutdown()
    return folder, server.served


@pytest.mark.parametrize("policy", ["index", "learned_index"])
def test_http_equals_in_process(crawled, policy):
    folder, _ = crawled
    assert contents(folder / policy) == contents(folder / f"{policy}-in-process")


def test_server_sees_polite_requests(crawled):
    _, served = crawled
    assert {entry.path for entry in served if entry.host == 1} == {"/robots.txt"}
    feed = [entry.time for entry in served if entry.path == "/feed/2.xml"]
    both = Counter(feed)  # two crawlers
    times = np.array(sorted(both))
    assert max(both.values()) <= 2
    assert times.size > 1
    kinds = Counter(entry.status for entry in served)
    assert min(kinds[status] for status in (200, 304, 503, 504, 404)) > 0


def test_redirect_to_other_machine_stops(crawled):
    folder, _ = crawled
    log = read_log(folder / "away")
    assert log["kind"].tolist() == ["failed"]
    assert log["status"].tolist() == [0]


def test_failed_crawl_raises(tmp_path):
    site = some_site()
    with FeedServer(site) as server:
        write_sources(tmp_path / "sources.csv", site.sources, server.urls())
        settings = some_settings(site, budget=99) | {"CRAWL_SOURCES": str(tmp_path / "sources.csv")}
        with pytest.raises(RuntimeError, match="CRAWL_BUDGET"):
            crawl_over_http([settings])
        with pytest.raises(TimeoutError, match=r"longer than 0\.1 s"):
            crawl_over_http([some_settings(site)], timeout=0.1)


AWAY = [
    "http://192.0.2.1/feed",
    "http://example.org/",
    "http://localhost/",
    "http://127.0.0.1.example.org/",
    "http://127.0.0.1@192.0.2.1/",
    "http://[2001:db8::1]/",
    "http://2130706433.example/",
    "file:///etc/hosts",
]


@pytest.mark.parametrize("url", AWAY)
def test_other_addresses_and_names_are_refused(url):
    with pytest.raises(ValueError, match="loopback"):
        check_local(url)
    with pytest.raises(IgnoreRequest):
        LocalOnly().process_request(Request(url))


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/a", "http://127.9.9.9/", "http://[::1]/"])
def test_addresses_of_this_machine_pass(url):
    assert check_local(url) == url
    assert LocalOnly().process_request(Request(url)) is None
