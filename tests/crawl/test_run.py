"""The command ``run``: lists of feeds, a crawl that is ended and continued, and its status."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from analysis.crawl import FeedServer, Frontier, IndexPolicy, Outcome, TurnPolicy
from analysis.crawl.__main__ import main
from analysis.crawl.run import Feed, next_rounds, read_list
from analysis.crawl.storage.progress import feeds_opml, feeds_prometheus, read_feeds
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
        ["--rounds", "1", "--until", "2100-01-01"],
    ],
)  # fmt: skip
def test_misspelt_numbers_are_refused(capsys, options):
    with pytest.raises(SystemExit):
        main(["run", "feeds.txt", *options])
    assert options[0] in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["index", "turns"])
def test_predicted_rounds_are_those_of_the_frontier(kind):
    """Without anything new to learn, the frontier fetches each feed when it was predicted."""
    sources = some_sources(7)
    policy = IndexPolicy(sources) if kind == "index" else TurnPolicy(7)
    ages = np.arange(1, 8) if kind == "index" else 1  # in turn: by number at first
    frontier = Frontier(policy, range(7), 2, rng=0, ages=ages, max_age=9)
    frontier.rest_until[3] = 4
    expected = next_rounds(frontier, 9)
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


def command(folder, *arguments):
    line = [sys.executable, "-m", "analysis.crawl", *arguments]
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        line,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    output, errors = process.communicate(timeout=240)
    return process.returncode, output, errors


@pytest.mark.process
def test_list_is_crawled_from_an_empty_folder(tmp_path, server):
    """Items, status in all forms; the same command continues, and finds nothing twice."""
    urls = server.urls()
    missing = urls[0].replace("/0.xml", "/100.xml")
    outlines = "".join(f'<outline text="{url[-5]}" xmlUrl="{url}"/>' for url in [*urls, missing])
    (tmp_path / "feeds.opml").write_text(f"<opml><body>{outlines}</body></opml>")
    run = ("run", "feeds.opml", "--local", "--every", "10s", "--contact", "me@example.org")
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
    status, _, errors = ended(command(tmp_path, "run", "feeds.csv", "--local", "--every", "2h"))
    assert status == 1
    assert errors == (
        "error: items.state is the state of a crawl with --every 1h: leave --every out, or name "
        "another folder with --state\n"
    )


class Page(BaseHTTPRequestHandler):
    """A page that names the feeds in the address of its query, and one of another kind."""

    def do_GET(self):
        links = "".join(
            f'<link rel="home alternate" type="application/rss+xml" title="T{i}" href="{url}">'
            for i, url in enumerate(self.path.partition("?")[2].split(","))
        )
        other = '<link rel="alternate" type="text/html" href="/other">'
        body = f"<html><head>{other}{links if '?' in self.path else ''}</head></html>".encode()
        self.send_response(404 if "robots" in self.path else 200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


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
