"""Plain pings in all their forms, files and pipes of pings, and pages that date feeds."""

import json
import os

import pytest

from analysis.crawl.feeds.reply import Reply, Unreadable
from analysis.crawl.signals.plain import (
    MOST_ADDRESSES,
    MOST_READ,
    PingFile,
    Refused,
    dated_addresses,
    pinged_addresses,
)

A, B = "http://a.example/feed", "http://b.example/"
CALL = (
    "<?xml version='1.0'?><methodCall><methodName>weblogUpdates.{}</methodName><params>"
    "<param><value>My blog</value></param>{}</params></methodCall>"
)


def param(url):
    return f"<param><value><string>{url}</string></value></param>"


@pytest.mark.parametrize(
    ("method", "query", "kind", "body", "urls"),
    [
        ("GET", "url=http%3A%2F%2Fa.example%2Ffeed&key=0", "", b"", [A]),
        ("GET", "name=My+blog&url=http://b.example/&changesURL=http://a.example/feed", "", b"",
         [A, B]),
        ("POST", "", "application/json", json.dumps({"urlList": [A, B, 3]}).encode(), [A, B]),
        ("POST", "", "application/x-www-form-urlencoded", b"url=http://b.example/", [B]),
        ("POST", "", "application/x-www-form-urlencoded", b' {"urlList": ["http://a"]}',
         ["http://a"]),
        ("POST", "", "text/xml", CALL.format("ping", param(B)).encode(), [B]),
        ("POST", "", "text/xml", CALL.format("extendedPing", param(B) + param(A)).encode(), [B, A]),
    ],
)  # fmt: skip
def test_pings_name_addresses(method, query, kind, body, urls):
    assert pinged_addresses(method, query, kind, body) == urls


@pytest.mark.parametrize(
    ("method", "query", "body"),
    [
        ("GET", "", b""), ("GET", "key=1", b""), ("GET", "&".join(["a=1"] * 1000), b""),
        ("POST", "", b""), ("POST", "", b"{"), ("POST", "", b'{"urlList": 3}'),
        ("POST", "", b"[" * 100_000), ("POST", "", b'{"urlList":' + b"[" * 100_000),
        ("POST", "", json.dumps({"urlList": [A] * (MOST_ADDRESSES + 1)}).encode()),
        ("POST", "", CALL.format("delete", param(B)).encode()), ("POST", "", b"<methodCall>"),
        ("POST", "", b'<!DOCTYPE x [<!ENTITY a "b">]><methodCall/>'), ("POST", "", b"\xff\xfe"),
    ],
)  # fmt: skip
def test_other_requests_are_refused(method, query, body):
    with pytest.raises(Refused):
        pinged_addresses(method, query, "application/json", body)


PAGES = {
    "sitemap": f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{A}</loc>'
    f"<lastmod>2026-01-01T00:00:00Z</lastmod></url><url><loc>{B}</loc></url></urlset>",
    "index of sitemaps": f"<sitemapindex><sitemap><loc> {A}\n</loc><lastmod>2026-01-01</lastmod>"
    "</sitemap></sitemapindex>",
    "OPML": f'<opml><body><outline><outline xmlUrl="{A}" lastBuildDate="Thu, 01 Jan 2026 00:00:00 '
    f'GMT"/></outline><outline xmlUrl="{B}" updated="soon"/></body></opml>',
    "changes": '<weblogUpdates version="2" updated="Thu, 01 Jan 2026 00:01:00 GMT">'
    f'<weblog name="A" url="{A}" when="60"/><weblog name="B" url="{B}" when="x"/></weblogUpdates>',
    "feed of feeds": '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>'
    f'<link href="{A}"/><updated>2026-01-01T00:00:00Z</updated></entry>'
    f'<entry><id>2</id><link href="{B}"/></entry>'
    "</feed>",
}


@pytest.mark.parametrize("kind", PAGES)
def test_pages_date_feeds(kind):
    reply = Reply(200, {}, PAGES[kind].encode(), time=2e9, url="http://c.example/")
    assert dated_addresses(reply) == {A: 1_767_225_600.0}


@pytest.mark.parametrize("body", [b"", b"<html/>", b"{}", b"<urlset", b"\x00" * 100])
def test_other_pages_are_unreadable(body):
    with pytest.raises(Unreadable):
        dated_addresses(Reply(200, {}, body, url="http://c.example/"))


def test_file_is_followed(tmp_path):
    path = tmp_path / "pings"
    file = PingFile(str(path))
    assert list(file.read()) == []
    path.write_text(f"{A}\n# a comment\n\n{B} 2026-01-01T00:00:00Z\n{A} 1767225600\n{A} so")
    stated = 1_767_225_600
    assert list(file.read()) == [(A, None), (B, stated), (A, stated)]
    with path.open("a") as more:
        more.write("on\n")
    assert list(file.read()) == [(A, None)]
    again = PingFile(str(path))
    again.restore(json.loads(json.dumps(file.state())))
    assert list(again.read()) == []
    path.write_text(f"{B}\n")  # begun anew
    assert list(file.read()) == [(B, None)]


def test_file_that_became_a_folder_is_reported_once(tmp_path, caplog):
    path = tmp_path / "pings"
    file = PingFile(str(path))
    path.mkdir()
    for _ in range(3):
        assert list(file.read()) == []
    assert len(caplog.records) == 1
    path.rmdir()
    path.write_text(f"{A}\n")
    assert list(file.read()) == [(A, None)]


def test_pipe_is_followed(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    file = PingFile(str(path))
    assert list(file.read()) == []
    writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(writer, f"{A}\n{B[:5]}".encode())
    assert list(file.read()) == [(A, None)]
    os.write(writer, f"{B[5:]}\n".encode())
    assert list(file.read()) == [(B, None)]
    os.close(writer)
    assert list(file.read()) == []
    file.close()


def test_large_file_is_read_in_parts(tmp_path):
    path = tmp_path / "pings"
    path.write_bytes(b"x" * 3 * MOST_READ + b"\n" + f"{A}\n".encode() * 100_000)
    file, counts = PingFile(str(path)), []
    for _ in range(8):
        counts.append(sum(url == A for url, _ in file.read()))
    assert sum(counts) == 100_000
    assert max(counts) <= MOST_READ / len(A)
