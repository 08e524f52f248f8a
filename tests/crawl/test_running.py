"""A crawl as it is run: changed while it goes on, looked at, killed; readers that fail."""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

import numpy as np
import psutil
import pytest
from scrapy.http import Response

from analysis.crawl import FeedServer, Outcome, Reading, Site, read_feed
from analysis.crawl.__main__ import main
from analysis.crawl.local.transport import (
    LOCAL_SETTINGS,
    child,
    crawl_in_process,
    crawl_over_http,
    write_sources,
)
from analysis.crawl.store import fetches_since_state, read_log
from analysis.ephemeral import Sources
from tests.crawl.support import (
    POLICY,
    answers,
    contents,
    crawl_for,
    crawl_log,
    opened,
    some_settings,
    some_site,
    some_sources,
)


def failing_reader(reply, memory):
    """Fails on the feeds of two sources in the way of each."""
    if b"Source 1<" in reply.body:
        raise RuntimeError("a slip of the reader")
    if b"Source 2<" in reply.body:
        return Reading(float("inf"), (), "")
    return read_feed(reply, memory)


def test_reader_error_fails_one_fetch(tmp_path, caplog):
    """Its source is left alone; all others are fetched in every epoch."""
    site = some_site()
    settings = some_settings(site, budget=6, CRAWL_READER=failing_reader)
    with caplog.at_level(logging.ERROR):
        crawl_in_process(site, settings, folder=tmp_path)
    log = crawl_log(tmp_path)
    kinds = {i: set(rows["kind"]) for i, rows in log.groupby("source")}
    assert kinds == {i: {"failed" if i in (1, 2) else "found"} for i in range(6)}
    assert log[log["source"] == 1]["epoch"].tolist() == [0, 1, 3, 7]
    assert (log[log["source"] == 0]["epoch"].tolist()) == list(range(15))
    assert "a slip of the reader" in caplog.text
    assert "reward must be" in caplog.text


def test_learner_reads_ordinary_feed(tmp_path):
    """Items of utility 1 that halve in a day and a half: dates and a half-life say the same."""
    rng = np.random.default_rng(5)
    size, epochs, half_life = 12, 60, 1.5 * 86_400
    sources = Sources(
        np.exp(rng.uniform(np.log(0.2), np.log(4.0), size)),
        np.ones(size),
        np.full(size, np.log(2) / 1.5),
    )
    published = [
        np.sort(rng.uniform(-86_400, epochs * 86_400, rng.poisson(rate * (epochs + 1))))
        for rate in sources.arrival_rate
    ]
    found = {}
    for stated in (True, False):
        site = Site(
            sources, published, [np.ones(times.size) for times in published],
            seconds=86_400, length=15, stated=stated,
        )  # fmt: skip
        settings = some_settings(site, 2, epochs, "learned_index", CRAWL_HALF_LIFE=half_life)
        crawl = crawl_in_process(site, settings)
        found[stated] = crawl.store.frame(), crawl.frontier.policy.decay
    virtual, ordinary = (log for log, _ in found.values())
    assert virtual["source"].tolist() == ordinary["source"].tolist()
    assert ordinary["reward"].to_numpy() == pytest.approx(virtual["reward"].to_numpy(), rel=1e-9)
    assert found[False][1] == pytest.approx(found[True][1], rel=1e-6)


def write_list(folder, urls, rates):
    rates = np.asarray(rates, dtype=float)
    sources = Sources(rates, np.ones(rates.size), np.full(rates.size, 0.1))
    write_sources(folder / "new.csv", sources, urls)
    (folder / "new.csv").replace(folder / "s.csv")


def test_sources_change_during_crawl(tmp_path, clock):
    urls = [f"http://127.0.0.{i}/" for i in range(1, 5)]
    scheduler = opened(
        tmp_path, urls, CRAWL_BUDGET=1, CRAWL_POLICY=POLICY + "index", ROBOTSTXT_OBEY=False,
        JOBDIR=str(tmp_path / "state"),
    )  # fmt: skip
    write_list(tmp_path, urls, [9, 0, 0, 0])
    clock.now += 24
    counts = Counter(url for _, url in crawl_for(scheduler, clock, 240, answers()))
    assert counts[urls[0]] >= 9
    memory = scheduler.frontier.state().sources[urls[0]]
    write_list(tmp_path, [*urls[1:], "http://127.0.0.9/"], [0, 0, 0, 5])  # one gone, one new
    counts = Counter(url for _, url in crawl_for(scheduler, clock, 240, answers()))
    assert counts.most_common(1)[0][0] == "http://127.0.0.9/"
    assert urls[0] not in counts
    write_list(tmp_path, urls[::-1], [1, 0, 0, 9])  # it comes back, in another order
    counts = Counter(url for _, url in crawl_for(scheduler, clock, 240, answers()))
    assert counts.most_common(1)[0][0] == urls[0]
    assert scheduler.frontier.state().sources[urls[0]].memory == memory.memory
    assert "http://127.0.0.9/" in scheduler.frontier.state().sources


def test_unreadable_list_changes_nothing(tmp_path, clock, caplog):
    urls = ["http://127.0.0.1/", "http://127.0.0.2/"]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False)
    assert len(crawl_for(scheduler, clock, 48, answers())) == 4
    (tmp_path / "s.csv").write_text("name,url\na,ftp://127.0.0.1/\n")
    assert len(crawl_for(scheduler, clock, 48, answers())) == 4
    assert caplog.text.count("The list of sources is unchanged") == 1
    (tmp_path / "s.csv").unlink()
    assert len(crawl_for(scheduler, clock, 48, answers())) == 4


def test_partial_list_is_ignored(tmp_path, clock):
    urls = ["http://127.0.0.1/", "http://127.0.0.2/"]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False)
    path = tmp_path / "s.csv"
    whole = path.read_text().replace("127.0.0.2/", "127.0.0.2/new")

    def requested():
        return {url for _, url in crawl_for(scheduler, clock, 24, answers())}

    assert requested() == set(urls)
    for cut in range(2, 30):  # in the last row, at another place at each epoch
        path.write_text(whole[:-cut])
        assert requested() <= set(urls)
    path.write_text(whole.rstrip())  # nothing more comes, a newline neither
    requested()
    assert requested() == {urls[0], urls[1] + "new"}


def test_late_fetch_survives_new_list(tmp_path, clock):
    urls = ["http://127.0.0.1/", "http://127.0.0.2/"]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False)
    first, second = scheduler.next_request(), None
    clock.now += 13
    second = scheduler.next_request()
    assert {first.url, second.url} == set(urls)
    write_list(tmp_path, [*urls[:1], "http://127.0.0.3/"], [1, 1])
    clock.now += 24
    third = scheduler.next_request()
    assert third.url == "http://127.0.0.3/"
    assert scheduler.frontier.late == {0}
    for request in (second, first, third):  # the second has left the list
        list(request.callback(Response(request.url, body=b"<rss/>", request=request)))
    scheduler.next_request()
    log = scheduler.store.frame()
    assert sorted(log["source"]) == [urls[0], "http://127.0.0.3/"]


def test_two_fetches_of_a_source_since_the_state(tmp_path, clock):
    """A late fetch, and the next one after skipped epochs: a killed crawl takes up both."""
    urls = ["http://127.0.0.1/", "http://127.0.0.2/"]
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, JOBDIR=str(tmp_path / "state"))
    crawl_for(scheduler, clock, 48, answers())
    frontier = scheduler.frontier
    epoch = frontier.epoch
    memory = frontier.memory[0]
    for later, items in ((0, 2), (3, 1)):
        frontier.epoch = epoch + later
        scheduler.store.note(frontier, Outcome(0, "found", items=items, memory=memory))
    scheduler.store.close()
    clock.now += 3 * 24
    again = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, JOBDIR=str(tmp_path / "state"))
    assert again.frontier.epoch == epoch + 3
    requested = [url for _, url in crawl_for(again, clock, 48, answers())]
    assert set(requested) == set(urls)
    assert again.store.frame()["items"].sum() == 3


def test_status_says_how_a_crawl_goes(tmp_path, capsys):
    site = some_site(robots={2: "User-agent: *\nDisallow: /\n"}, faults=np.full((6, 15), 1))
    crawl_in_process(site, some_settings(site), folder=tmp_path / "state").close("over")
    page = tmp_path / "status.html"
    assert main(["status", str(tmp_path / "state"), "--html", str(page)]) == 0
    said = capsys.readouterr().out
    for words in (
        "15 of 3600 s each",
        "IndexPolicy",
        "Last epochs",
        "Sources in trouble",
        "indices",
    ):
        assert words in said
    html = page.read_text()
    assert html.count("<table") == 3
    assert "//" not in html.replace("http://127.0.0.1", "")  # nothing is loaded from anywhere


@pytest.mark.parametrize("command", ["status", "ask"])
def test_empty_folder_is_reported(tmp_path, capsys, command):
    more = ["http://a/"] if command == "ask" else []
    assert main([command, str(tmp_path), *more]) == 1
    assert "must be the folder of a crawl" in capsys.readouterr().err


def test_person_revives_gone_source(tmp_path, clock, capsys):
    urls = ["http://127.0.0.1/", "http://127.0.0.2/"]
    folder = tmp_path / "state"
    scheduler = opened(tmp_path, urls, ROBOTSTXT_OBEY=False, JOBDIR=str(folder))

    def answer(url):
        return 410 if "0.1" in url else 200, {}, b"<rss/>"

    requested = crawl_for(scheduler, clock, 240, answer)
    assert sum(url == urls[0] for _, url in requested) == 1
    assert main(["ask", str(folder), urls[0]]) == 0
    requested = crawl_for(scheduler, clock, 240, answer)
    assert sum(url == urls[0] for _, url in requested) == 1
    assert main(["ask", str(folder), "http://127.0.0.7/"]) == 1
    assert "must be the address of a source of the crawl" in capsys.readouterr().err


def test_failed_crawl_keeps_folder(tmp_path):
    """A refused start leaves what was there; the settings of before go on."""
    site = some_site()
    settings = some_settings(site, epochs=3, policy="learned_index")
    crawl_in_process(site, settings, folder=tmp_path).close("over")
    with pytest.raises(ValueError, match="CRAWL_PERIOD"):
        crawl_in_process(site, settings | {"CRAWL_PERIOD": 60}, folder=tmp_path)
    crawl_in_process(site, settings | {"CRAWL_EPOCHS": 5}, folder=tmp_path).close("over")
    assert crawl_log(tmp_path)["epoch"].max() == 4


def exported(path):
    """What reached the file of Scrapy's exporter; no line of it is torn."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.sampled
@pytest.mark.process
def test_no_item_is_lost_over_kills(tmp_path, capfd):
    crawl_and_kill(tmp_path, 3)
    assert capfd.readouterr().err == ""  # the server does not mind lost connections


@pytest.mark.slow
def test_fifty_kills_lose_nothing(tmp_path):
    crawl_and_kill(tmp_path, 50)


def crawl_and_kill(tmp_path, kills):
    """SIGKILL at random moments: the log and state of a whole crawl, and no item is lost.

    What one kill can repeat is what Scrapy was about: as many fetches as `CONCURRENT_REQUESTS`.
    """
    epochs, concurrent = 8 * kills, 4  # a kill comes after six epochs at most
    site = some_site(8, epochs=epochs, delay=[0.01] * 8)
    items = tmp_path / "items.jsonl"
    rng = np.random.default_rng(0)
    with FeedServer(site) as server:
        write_sources(tmp_path / "sources.csv", site.sources, server.urls())
        settings = some_settings(site, 4, epochs, "learned_index") | {"DOWNLOAD_TIMEOUT": 60.0}
        crawl_in_process(site, settings, folder=tmp_path / "whole", urls=server.urls())
        settings |= {
            "CRAWL_SOURCES": str(tmp_path / "sources.csv"),
            "JOBDIR": str(tmp_path / "state"),
            "FEEDS": {str(items): {"format": "jsonlines"}},
            "CONCURRENT_REQUESTS": concurrent,
        }
        for number in range(kills):
            with child([settings]) as process:
                wanted = len(server.served) + int(rng.integers(4, 24))
                deadline = time.monotonic() + 200
                while process.poll() is None and len(server.served) < wanted:
                    assert time.monotonic() < deadline
                    time.sleep(rng.uniform(0.001, 0.01))
                process.kill()
            assert number == 0 or fetches_since_state(tmp_path / "state") <= 4
        crawl_over_http([settings], timeout=400)
    assert contents(tmp_path / "state") == contents(tmp_path / "whole")
    log = read_log(tmp_path / "state")
    assert log.groupby("epoch").size().max() == 4  # the budget: no epoch was begun anew
    requests = Counter((r.time, r.path) for r in server.served if r.path != "/robots.txt")
    assert len(requests) == len(log)
    assert requests.total() - len(requests) <= kills * concurrent
    got = Counter((row["source"], row["id"]) for row in exported(items))
    assert len(got) == log["items"].sum()  # none is lost
    most = log.groupby("source")["items"].max().max()
    assert sum(count - 1 for count in got.values()) <= kills * concurrent * most


#: A middleware with which Scrapy fails on two callbacks before it calls them.
FAILING = """
import itertools
from scrapy.core import scraper

class Failing:
    def __init__(self):
        calls = itertools.count(1)

        def parse(*_):
            if next(calls) in (1, 9):  # of a robots.txt, and of a feed
                raise SystemError("AST constructor recursion depth mismatch")

        scraper.warn_on_generator_with_return_value = parse
"""


@pytest.mark.sampled
@pytest.mark.process
def test_uncallable_callback_fails_one_fetch(tmp_path, monkeypatch):
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    site = some_site(size=3, epochs=6, hosts=np.arange(3))
    with FeedServer(site) as server:
        write_sources(tmp_path / "sources.csv", site.sources, server.urls())
        settings = some_settings(site, budget=3, epochs=6) | {
            "CRAWL_SOURCES": str(tmp_path / "sources.csv"),
            "JOBDIR": str(tmp_path / "state"),
            "SPIDER_MIDDLEWARES": {"failing.Failing": 1},
        }
        crawl_over_http([settings], timeout=60.0)
    log = crawl_log(tmp_path / "state")
    assert set(log["epoch"]) == set(range(6))
    assert log["kind"].value_counts().to_dict() == {"found": len(log) - 2, "failed": 2}


@pytest.mark.sampled
@pytest.mark.process
def test_killed_demonstration_leaves_nothing(tmp_path):
    """SIGKILL of the parent: its crawlers end, and its temporary folder goes with them."""
    command = [sys.executable, "-m", "analysis.crawl", "live", "--seconds", "300", "--port", "0"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 240
        children: list[psutil.Process] = []
        while not children or not list(tmp_path.glob("*/index/crawl.sqlite")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            children = psutil.Process(process.pid).children()
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    assert not list(tmp_path.iterdir())
    assert tempfile.gettempdir() != str(tmp_path)


@pytest.mark.sampled
@pytest.mark.process
def test_refused_start_is_reported(tmp_path):
    """Scrapy keeps the spider's own state beside this crawl's; both come back."""
    site = some_site(epochs=3)
    with FeedServer(site) as server:
        write_sources(tmp_path / "s.csv", site.sources, server.urls())
        settings = some_settings(site, epochs=3, policy="learned_index") | {
            "CRAWL_SOURCES": str(tmp_path / "s.csv")
        }
        settings |= {"JOBDIR": str(tmp_path / "state")}
        crawl_over_http([settings])
        before = (tmp_path / "state" / "spider.state").read_bytes()
        with pytest.raises(RuntimeError) as refused:
            crawl_over_http([settings | {"CRAWL_PERIOD": 60}])
    last = str(refused.value).strip().splitlines()[-1]
    assert last.startswith("ValueError: ")
    assert "CRAWL_PERIOD" in last
    assert (tmp_path / "state" / "spider.state").read_bytes() == before != b""


@pytest.mark.sampled
@pytest.mark.process
def test_local_crawl_stays_local(tmp_path):
    """A cookie for a public domain made Scrapy look for a list of public suffixes."""
    assert LOCAL_SETTINGS["COOKIES_ENABLED"] is False
    guard = "import socket\nreal = socket.getaddrinfo\n" + (
        "def only(host, *rest, **more):\n"
        "    assert host in (None, '127.0.0.1', 'localhost'), host\n"
        "    return real(host, *rest, **more)\n"
        "socket.getaddrinfo = only\n"
    )
    (tmp_path / "sitecustomize.py").write_text(guard)
    from tests.crawl.misbehaving import Misbehaving, Way, cookies

    with Misbehaving({"cookies": Way(cookies)}) as site:
        write_sources(tmp_path / "s.csv", some_sources(1), list(site.urls.values()))
        settings = {
            "CRAWL_SOURCES": str(tmp_path / "s.csv"), "CRAWL_BUDGET": 1, "CRAWL_EPOCHS": 3,
            "CRAWL_CLOCK": "virtual", "JOBDIR": str(tmp_path / "state"),
        }  # fmt: skip
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = str(tmp_path)
        try:
            crawl_over_http([settings])
        finally:
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before
    assert read_log(tmp_path / "state")["kind"].tolist() == ["found"] * 3
