"""The command ``run``: lists of feeds, a crawl that is ended and continued, and its status."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from analysis.crawl import FeedServer, Frontier, IndexPolicy, Outcome, TurnPolicy
from analysis.crawl.__main__ import main
from analysis.crawl.progress import (
    feeds_opml,
    feeds_page,
    feeds_prometheus,
    feeds_text,
    read_feeds,
)
from analysis.crawl.run import ALL_NEW, POLICIES, Feed, next_rounds, read_list
from analysis.crawl.store import read_progress
from tests.crawl.support import some_site, some_sources

A, B = Feed("http://a.example/feed", "A"), Feed("https://b.example/?x=1", "B")
LISTS = {
    "nested.opml": '<opml version="2.0"><head/><body><outline text="All"><outline text="old" '
    'title="A" xmlUrl="http://A.example:80/feed"/></outline><outline text="B" '
    'xmlUrl="https://b.example/?x=1"/></body></opml>',
    "twice.xml": '\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<opml><body>'
    '<outline TEXT="A" xmlURL="http://a.example/feed"/><outline xmlUrl="http://a.example/feed"/>'
    '<outline text="B" xmlUrl=" https://b.example/?x=1"/></body></opml>',
    "semicolons.csv": "\ufeffName; URL\n\nA; http://a.example/feed\nB; https://b.example/?x=1\n",
    "tabs": "other\turl\tname\n1\thttp://a.example/feed\tA\n2\thttps://b.example/?x=1\tB\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_give_addresses_and_names(tmp_path, name):
    path = tmp_path / name
    path.write_text(LISTS[name], encoding="utf-8")
    assert read_list(str(path)) == [A, B]


def test_lists_bound_intervals_of_feeds(tmp_path):
    """OPML by attributes, CSV by columns; the status is read back as it was."""
    bounded = [A._replace(min_interval="30m"), B._replace(max_interval="1d", min_interval="1h")]
    rows = [dict(zip(Feed._fields, feed, strict=True)) for feed in bounded]
    whole = {"feeds": rows}
    (tmp_path / "a.opml").write_bytes(feeds_opml(whole))
    lines = ["max_interval,url,name,min_interval", f",{A.url},A,30m", f"1d,{B.url},B,1h"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert read_list(str(tmp_path / "a.opml")) == bounded
    assert read_list(str(tmp_path / "a.csv")) == bounded


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_has_an_address_a_line(tmp_path, encoding):
    path = tmp_path / "feeds.txt"
    text = "# mine\r\n\r\n  http://a.example/feed # first\r\nhttps://b.example/?x=1#part\r\n"
    path.write_bytes(text.encode(encoding))
    assert [feed.url for feed in read_list(str(path))] == [A.url, B.url]
    assert [feed.name for feed in read_list(str(path))] == [A.url, B.url]


WRONG = [
    ("not closed", b"<opml><body>\n<outline>\n</opml>", "line 3"),
    ("another root", b"\n<rss><channel/></rss>", "line 2"),
    ("entities", b'<!DOCTYPE o [<!ENTITY a "b">]><opml>&a;</opml>', "entities"),
    ("entities in two bytes", '<!DOCTYPE o [<!ENTITY a "b">]><opml/>'.encode("utf-16"), "entities"),
    ("OPML without feeds", b"<opml><body><outline text='a'/></body></opml>", "no feeds"),
    ("address in OPML", b"<opml><body>\n<outline xmlUrl='feed'/></body></opml>", "line 2"),
    ("another scheme", b"http://a.example/\nftp://b.example/\n", "line 2"),
    ("no host", b"http:///feed", "line 1"),
    ("port", b"# a\nhttp://a.example:99999/", "line 2"),
    ("spaces", b"http://a.example/a b", "line 1"),
    ("not UTF-8", b"http://a.example/\n# caf\xe9\n", "line 2"),
    ("no address in a row", b"url,name\nhttp://a.example/,A\n,B\n", "line 3"),
    ("bound in CSV", b"url,max_interval\nhttp://a.example/,soon\n", "line 2: max_interval"),
    (
        "bounds in OPML",
        b"<opml><body>\n<outline xmlUrl='http://a.example/' minInterval='2h' maxInterval='1h'/>"
        b"</body></opml>",
        "line 2: max_interval",
    ),
    ("empty", b"", "no feeds"),
    ("comments alone", b"# nothing\n", "no feeds"),
]


@pytest.mark.parametrize(("name", "content", "place"), WRONG)
def test_wrong_lists_name_the_line(tmp_path, capsys, name, content, place):
    path = tmp_path / "list"
    path.write_bytes(content)
    assert main(["run", str(path), "--out", str(tmp_path / "items.jsonl")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(path) in error
    assert place in error
    assert not (tmp_path / "items.state").exists()


def test_table_needs_a_column_of_addresses(tmp_path):
    path = tmp_path / "feeds.csv"
    path.write_text("\nname,link\nA,http://a.example/\n")
    with pytest.raises(ValueError, match=r"line 2: a column must be named url"):
        read_list(str(path))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--out", "no/folder/items.jsonl"], "--out"),
        (["--out", "."], "--out"),
        (["--state", "feeds.txt"], "--state"),
        (["--policy", "best"], "--policy"),
        (["--contact", "me"], "--contact"),
        (["--contact", "me@example.org\nX: y"], "--contact"),
        (["--until", "2001-01-01"], "--until"),
    ],
)
def test_wrong_options_are_named(tmp_path, monkeypatch, capsys, options, name):
    monkeypatch.chdir(tmp_path)
    Path("feeds.txt").write_text("http://a.example/\n")
    assert main(["run", "feeds.txt", *options]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert name in error


@pytest.mark.parametrize(
    "options",
    [
        ["--every", "0s"], ["--every", "1"], ["--every", "nan"], ["--max-age", "400d"],
        ["--budget", "0"], ["--budget", "1.5"], ["--rounds", "-1"], ["--until", "soon"],
        ["--rounds", "1", "--until", "2100-01-01"], ["--max-size", "0"], ["--max-size", "nan"],
    ],
)  # fmt: skip
def test_misspelt_numbers_are_refused(capsys, options):
    with pytest.raises(SystemExit):
        main(["run", "feeds.txt", *options])
    assert options[0] in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["index", "turns"])
def test_predicted_rounds_equal_frontier(kind):
    """Without anything new to learn, the frontier fetches each feed when it was predicted."""
    sources = some_sources(7)
    policy = IndexPolicy(sources) if kind == "index" else TurnPolicy(7)
    ages = np.arange(1, 8) if kind == "index" else 1  # in turn: by number at first
    frontier = Frontier(policy, range(7), 2, rng=0, ages=ages, max_age=9)
    frontier.rest_until[3] = 4
    frontier.kind = ["found"] * 7
    expected = next_rounds(frontier, 2)
    first = np.full(7, -1)
    while (first < 0).any():
        epoch = frontier.epoch
        for i in frontier.choose().tolist():
            first[i] = epoch if first[i] < 0 else first[i]
            frontier.settle(Outcome(i, "found"))
    assert expected.tolist() == first.tolist()


@pytest.fixture
def server():
    """Six feeds, each on its own host, with items up to now."""
    now = int(time.time())
    site = some_site(6, epochs=1, before=30, seconds=3600, start=now)
    with FeedServer(site, clock=lambda: now) as server:
        yield server


def test_new_feeds_join_next_round():
    frontier = Frontier(IndexPolicy(some_sources(7)), range(7), 2, rng=0, max_age=9)
    frontier.kind[:2] = ["found", "gone"]
    frontier.rest_until[1] = 1000
    expected = next_rounds(frontier, 2)
    assert expected[2:].tolist() == [0] * 5
    assert expected[1] == 1000


def listed(server):
    """Address and id of each item that the feeds list."""
    site, urls = server.site, server.urls()
    counts = [int((times <= 0).sum()) for times in site.published]
    return {
        (urls[i], f"{i}-{j}")
        for i, count in enumerate(counts)
        for j in range(max(0, count - site.length), count)
    }


def found(path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["source"], row["id"]) for row in rows]


def python(folder, *arguments):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line, pipe = [sys.executable, *arguments], subprocess.PIPE
    return subprocess.Popen(line, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True)


def command(folder, *arguments):
    return python(folder, "-m", "analysis.crawl", *arguments)


def ended(process):
    output, errors = process.communicate(timeout=240)
    return process.returncode, output, errors


@pytest.mark.process
def test_crawl_from_empty_folder(tmp_path, server):
    """Items, status in all forms; the same command continues, and finds nothing twice."""
    urls = server.urls()
    missing = urls[0].replace("/0.xml", "/100.xml")
    outlines = "".join(f'<outline text="{url[-5]}" xmlUrl="{url}"/>' for url in [*urls, missing])
    (tmp_path / "feeds.opml").write_text(f"<opml><body>{outlines}</body></opml>")
    run = ("run", "feeds.opml", "--local", "--every", "5s", "--contact", "me@example.org")
    status, output, errors = ended(command(tmp_path, *run, "--rounds", "1", "--budget", "7"))
    assert status == 0, errors
    assert "HTTP status 404 (Not Found)" in output
    assert set(found(tmp_path / "items.jsonl")) == listed(server)
    assert ended(command(tmp_path, *run, "--rounds", "1", "--budget", "7"))[0] == 0
    items = found(tmp_path / "items.jsonl")
    assert len(items) == len(set(items)) == len(listed(server))
    whole = read_feeds(tmp_path / "items.state")
    by_url = {feed["url"]: feed for feed in whole["feeds"]}
    assert sum(feed["items"] for feed in whole["feeds"]) <= len(items)
    assert by_url[missing]["reason"] == "HTTP status 404 (Not Found)"
    assert all(by_url[url]["items_a_day"] > 0 for url in urls if by_url[url]["fetches"])
    (tmp_path / "again.opml").write_bytes(feeds_opml(whole))
    again = read_list(str(tmp_path / "again.opml"))
    assert [feed.url for feed in again] == [*urls, missing]
    assert [feed.name for feed in again] == [url[-5] for url in [*urls, missing]]
    assert f'crawl_feed_http_status{{feed="{missing}"}} 404' in feeds_prometheus(whole)


@pytest.mark.sampled
@pytest.mark.process
def test_long_round_names_trouble(tmp_path, server):
    """Also where what is known of the feeds was written before the round ended."""
    missing = server.urls()[0].replace("/0.xml", "/100.xml")
    (tmp_path / "feeds.txt").write_text("\n".join([*server.urls()[:2], missing]))
    program = "from analysis.crawl import __main__, run; run.REWRITE = 0.0; "
    program += "__main__.main(['run', 'feeds.txt', '--local', '--every', '5s', '--rounds', '1'])"
    _, output, errors = ended(python(tmp_path, "-c", program))
    assert f"{missing}: HTTP status 404 (Not Found)" in output, errors


@pytest.mark.sampled
@pytest.mark.process
def test_local_feeds_need_permission(tmp_path, server):
    """The reason names the option; with it, all of them are fetched at once."""
    (tmp_path / "feeds.txt").write_text("\n".join(server.urls()))
    run = ("run", "feeds.txt", "--rounds", "1", "--budget", "1", "--every", "5s")
    output, errors = ended(command(tmp_path, *run))[1:]
    assert output.count("--local was not given") == 5  # of six
    assert "CRAWL_LOCAL" not in output + errors
    assert ended(command(tmp_path, *run, "--local"))[0] == 0
    assert set(found(tmp_path / "items.jsonl")) == listed(server)


@pytest.mark.sampled
@pytest.mark.process
def test_killed_run_loses_no_items(tmp_path, server):
    (tmp_path / "feeds.txt").write_text("\n".join(server.urls()))
    run = ("run", "feeds.txt", "--out", "news.jsonl", "--local", "--every", "1h")
    process = command(tmp_path, *run)
    limit = time.monotonic() + 120
    while not ((out := tmp_path / "news.jsonl").exists() and out.stat().st_size):
        assert time.monotonic() < limit
        time.sleep(0.01)
    process.kill()
    process.communicate()
    status, _, errors = ended(command(tmp_path, *run, "--rounds", "1"))
    assert status == 0, errors
    assert set(found(out)) == listed(server)


@pytest.mark.sampled
@pytest.mark.process
def test_interrupted_run_says_how_to_continue(tmp_path, server):
    (tmp_path / "feeds.csv").write_text("url\n" + "\n".join(server.urls()))
    process = command(tmp_path, "run", "feeds.csv", "--local")
    while "round 1" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    status, output, _ = ended(process)
    assert status == 130
    assert output.splitlines()[-1] == "stopped; the same command continues from items.state"
    assert set(found(tmp_path / "items.jsonl")) == listed(server)


class Answers(BaseHTTPRequestHandler):
    """A site without robots.txt that answers each request with a text of its kind."""

    kind = "text/html"

    def do_GET(self):
        body = self.text().encode()
        self.send_response(404 if "robots" in self.path else 200)
        self.send_header("content-type", self.kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


class Page(Answers):
    """A page that names the feeds in the address of its query, and one of another kind."""

    def text(self):
        links = "".join(
            f'<link rel="home alternate" type="application/rss+xml" title="T{i}" href="{url}">'
            for i, url in enumerate(self.path.partition("?")[2].split(","))
        )
        other = '<link rel="alternate" type="text/html" href="/other">'
        return f"<html><head>{other}{links if '?' in self.path else ''}</head></html>"


@pytest.mark.sampled
@pytest.mark.process
def test_feeds_of_a_page_are_discovered(tmp_path, server):
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{pages.server_port}/"
        run = ("--local", "--rounds", "1", "--every", "1h")
        status, _, errors = ended(command(tmp_path, "run", page + "bare", *run))
        named = ",".join(server.urls()[:2])
        assert ended(command(tmp_path, "run", f"{page}?{named}", *run))[0] == 0
        pages.shutdown()
    assert status == 1
    assert errors.splitlines()[-1] == (
        f"error: {page}bare: neither a feed nor a page that names one (link rel=alternate)"
    )
    feeds = read_feeds(tmp_path / "items.state")["feeds"]
    assert [(feed["url"], feed["name"]) for feed in feeds] == [
        (url, f"T{i}") for i, url in enumerate(server.urls()[:2])
    ]


class ChangingIds(Answers):
    """A feed without dates; on the path ``/changing`` its ids are other ones at each request."""

    kind, requests = "application/rss+xml", 0

    def text(self):
        type(self).requests += 1
        turn = self.requests if self.path == "/changing" else 0
        items = "".join(f"<item><guid>{turn}-{i}</guid></item>" for i in range(5))
        return f"<rss version='2.0'><channel>{items}</channel></rss>"


@pytest.mark.sampled
@pytest.mark.process
def test_status_names_feeds_with_changing_ids(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), ChangingIds) as feeds:
        threading.Thread(target=feeds.serve_forever, daemon=True).start()
        urls = [f"http://127.0.0.1:{feeds.server_port}/{name}" for name in ("steady", "changing")]
        (tmp_path / "feeds.txt").write_text("\n".join(urls))
        crawl = command(tmp_path, "run", "feeds.txt", "--local", "--every", "2s", "--budget", "2")
        limit, rows = time.monotonic() + 200, {}
        while not rows or min(row["fetches"] for row in rows.values()) < 3:
            assert time.monotonic() < limit, rows
            time.sleep(0.1)
            if (tmp_path / "items.state" / "feeds.json").exists():
                rows = rows_of(tmp_path / "items.state")
        crawl.send_signal(signal.SIGINT)
        assert ended(crawl)[0] == 130
        feeds.shutdown()
    assert [rows[url]["reason"] for url in urls] == ["", ALL_NEW]


def rows_of(folder):
    """What is known of each feed, by its address."""
    return {feed["url"]: feed for feed in read_feeds(folder)["feeds"]}


@pytest.mark.sampled
@pytest.mark.process
def test_options_change_and_nothing_is_lost(tmp_path, server):
    """Another period, policy and budget: nothing is delivered twice, and rates stay.

    Both indices use the same rates.
    """
    (tmp_path / "feeds.txt").write_text("\n".join(server.urls()))
    run = ("run", "feeds.txt", "--local", "--rounds", "1")
    state = tmp_path / "items.state"
    assert ended(command(tmp_path, *run, "--every", "3s"))[0] == 0
    first = rows_of(state)
    assert ended(command(tmp_path, *run, "--every", "2s", "--budget", "6"))[0] == 0
    second = rows_of(state)
    status, output, errors = ended(command(tmp_path, *run, "--policy", "round-robin"))
    assert status == 0, errors
    assert "--policy is round-robin, and was index" in output
    assert {feed["items_a_day"] for feed in rows_of(state).values()} == {None}
    assert ended(command(tmp_path, *run, "--policy", "lagrangian", "--every", "4s"))[0] == 0
    last, whole = rows_of(state), read_feeds(state)
    assert [whole["options"][name] for name in ("every", "budget", "policy")] == [
        4.0, 6, "lagrangian",
    ]  # fmt: skip
    assert "by Lagrangian index" in feeds_text(whole)
    items = found(tmp_path / "items.jsonl")
    assert len(items) == len(set(items)) == len(listed(server))
    for url in server.urls():
        # Counts go on. On a busy machine a round of two seconds may end before all are fetched.
        fetches = [one[url]["fetches"] for one in (first, second, last)]
        assert fetches[0] == 1
        assert fetches[0] <= fetches[1] <= 2
        assert fetches[1] < fetches[2] <= 4
        assert last[url]["items"] == first[url]["items"]
        assert 0.5 < last[url]["items_a_day"] / first[url]["items_a_day"] < 2


SIDE_BY_SIDE = """
import os, sys
from datetime import UTC, datetime, timedelta
from analysis.crawl import run
from analysis.crawl.__main__ import main
from analysis.crawl.fetching import requests
requests.ReaderProcesses = lambda reader: None  # feeds are read in the crawl's own process
until = (datetime.now(UTC) + timedelta(seconds=8)).isoformat()
print(until, flush=True)
line = "run feeds.txt --local --every 2s --budget 2 --until".split() + [until, "--policy"]
for policy in run.POLICIES:
    if os.fork() == 0:
        os.chdir(policy)
        os._exit(main([*line, policy]))
sys.exit(any([os.wait()[1] for _ in run.POLICIES]))
"""
"""Crawls with all policies for eight seconds, after what takes most of the time: imports."""


@pytest.mark.sampled
@pytest.mark.process
def test_policies_end_on_time(tmp_path, server):
    for policy in POLICIES:
        (tmp_path / policy).mkdir()
        (tmp_path / policy / "feeds.txt").write_text("\n".join(server.urls()))
    status, output, errors = ended(python(tmp_path, "-c", SIDE_BY_SIDE))
    assert status == 0, errors
    until = datetime.fromisoformat(output.splitlines()[0])
    for policy in POLICIES:
        whole = read_feeds(tmp_path / policy / "items.state")
        assert whole["rounds"] >= 1
        begun = datetime.fromisoformat(whole["next_round"])  # of the round that was not begun
        assert begun >= until.replace(microsecond=0)  # it is told to the second
        assert (begun - until).total_seconds() <= 2 + 1
        assert set(found(tmp_path / policy / "items.jsonl")) == listed(server)


@pytest.mark.sampled
@pytest.mark.process
def test_status_before_first_round(tmp_path, capsys):
    """A host that does not answer yet: the list, and that nothing was fetched."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/<b>&amp;"
        (tmp_path / "feeds.txt").write_text(url)
        process = command(tmp_path, "run", "feeds.txt", "--local")
        limit = time.monotonic() + 200
        while not (tmp_path / "items.state" / "feeds.json").exists():
            assert time.monotonic() < limit
            time.sleep(0.05)
        page = tmp_path / "status.html"
        assert main(["status", str(tmp_path / "items.state"), "--html", str(page)]) == 0
        process.kill()
        process.communicate()
    output = capsys.readouterr().out
    assert "1: 0 fetched without trouble, 0 in trouble, 1 not fetched yet" in output
    assert "none yet" in output
    assert "<b>" not in page.read_text(encoding="utf-8")


def test_page_shows_trouble_first_and_escapes():
    row = {
        "name": "", "status": 200, "reason": "", "last": "2030-01-01T00:00:00Z", "fetches": 1,
        "items": 2, "failures": 0, "items_a_day": 0.5, "next": "2030-01-01T01:00:00Z",
    }  # fmt: skip
    bad = row | {"url": "http://b/", "status": 404, "reason": "HTTP <404>", "failures": 3}
    whole = {
        "every": 3600.0, "policy": "index", "rounds": 1, "budget": 2,
        "next_round": "2030-01-01T01:00:00Z", "feeds": [row | {"url": "http://a/"}, bad],
    }  # fmt: skip
    page, text = feeds_page(whole), feeds_text(whole)
    assert page.index("http://b/") < page.index("http://a/")
    assert text.index("http://b/") < text.index("http://a/")
    assert "HTTP &lt;404&gt;" in page
    assert "HTTP <404>" in text
    assert "src=" not in page
    assert "<script" not in page


KILLS = 40
STARTER = """
import json, os, sys
from analysis.crawl import run
from analysis.crawl.__main__ import main
from analysis.crawl.fetching import requests
requests.ReaderProcesses = lambda reader: None  # feeds are read in the crawl's own process
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1), os.dup2(log, 2)
        os._exit(main(json.loads(line)))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Starts crawls without importing anything again, which would take most of the time."""


@pytest.mark.slow
def test_forty_kills_lose_nothing(tmp_path):
    """SIGKILL at random times while items appear: none is lost, and counts are right.

    Items can come twice where the kill falls between their line and the note of their fetch. Ten
    minutes pass on the site with each request.
    """
    rng, began = np.random.default_rng(0), time.time()
    site = some_site(6, epochs=500, before=30, seconds=3600, start=int(began))
    out, state = tmp_path / "items.jsonl", tmp_path / "items.state"
    run = ["run", "feeds.txt", "--local", "--every", "1s", "--budget", "6"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    with (
        FeedServer(site, lambda: began + 600 * len(server.served)) as server,
        subprocess.Popen(
            [sys.executable, "-c", STARTER], cwd=tmp_path, env=env, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as starter,
    ):  # fmt: skip
        (tmp_path / "feeds.txt").write_text("\n".join(server.urls()))
        for _ in range(KILLS):
            wanted = len(server.served) + int(rng.integers(2, 15))
            starter.stdin.write(json.dumps(run) + "\n")
            crawl = int(starter.stdout.readline())
            limit = time.monotonic() + 120
            while len(server.served) < wanted:
                assert time.monotonic() < limit, (tmp_path / "log").read_text()[-2000:]
                time.sleep(rng.uniform(0.001, 0.02))
            os.kill(crawl, signal.SIGKILL)
            assert int(starter.stdout.readline()) == -signal.SIGKILL
        starter.stdin.write(json.dumps([*run, "--rounds", "2"]) + "\n")
        starter.stdin.close()
        status = [int(line) for line in starter.stdout][-1]
    assert status == 0, (tmp_path / "log").read_text()[-2000:]
    items = found(out)
    for url in server.urls():
        numbers = {int(id.partition("-")[2]) for source, id in items if source == url}
        assert numbers == set(range(min(numbers), max(numbers) + 1))
    whole = read_feeds(state)
    assert sum(feed["items"] for feed in whole["feeds"]) == len(set(items)) > 200
    fetches = read_progress(state)[2]["fetches"]
    assert sum(feed["fetches"] for feed in whole["feeds"]) == fetches > KILLS
    assert len(items) - len(set(items)) <= KILLS * 6  # few items are new in a round
    print(len(items), "items,", len(items) - len(set(items)), "twice,", fetches, "fetches")
