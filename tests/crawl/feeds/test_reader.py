"""Feeds of this and of other makers, and what is none."""

import gzip
import json
import logging
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import numpy as np
import pytest

from analysis.crawl import FeedReader, Reply, Unreadable, read_feed
from analysis.crawl.feeds import parsing
from analysis.crawl.feeds.reader import REMEMBERED, ReaderProcesses

PLAIN = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>A</title>
<item><title>first</title><link>/1</link><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item>
<item><title>second</title></item></channel></rss>"""
DAY = 86_400
NOON = 1_704_110_400  # 1 January 2024, 12:00 UTC
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DATE = "2024-01-01T00:00:00Z"

#: One item of 1 January 2024 in each dialect, by its id, title and date.
DIALECTS = {
    "RSS 0.90": f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="http://my.netscape.com/rdf/simple/0.9/">'
    "<channel><title>c</title></channel><item><title>t</title><link>http://a/1</link></item>"
    "</rdf:RDF>",
    "RSS 0.91": '<rss version="0.91"><channel><title>c</title><item><title>t</title>'
    "<link>http://a/1</link></item></channel></rss>",
    "RSS 0.92": '<rss version="0.92"><channel><title>c</title><item><title>t</title>'
    "<link>http://a/1</link></item></channel></rss>",
    "RSS 1.0": f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="http://purl.org/rss/1.0/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x"><title>c</title></channel>'
    f'<item rdf:about="http://a/1"><title>t</title><dc:date>{DATE}</dc:date></item></rdf:RDF>',
    "RSS 2.0": '<rss version="2.0"><channel><item><guid isPermaLink="false">http://a/1</guid>'
    "<title>t</title><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item></channel></rss>",
    "Atom 0.3": '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><id>http://a/1</id>'
    f"<title>t</title><issued>{DATE}</issued><modified>2024-01-02T00:00:00Z</modified>"
    "</entry></feed>",
    "Atom 1.0": '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://a/1</id>'
    f"<title>t</title><updated>2024-01-02T00:00:00Z</updated><published>{DATE}</published>"
    '<content type="html">&lt;p&gt;long&lt;/p&gt;</content></entry></feed>',
    "JSON Feed 1.0": json.dumps(
        {
            "version": "https://jsonfeed.org/version/1",
            "items": [{"id": "http://a/1", "title": "t", "date_published": DATE}],
        }
    ),
    "JSON Feed 1.1": json.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "items": [{"url": "http://a/1", "title": "t", "date_published": DATE}],
        }
    ),
}
UNDATED = ("RSS 0.90", "RSS 0.91", "RSS 0.92")


def rss(*items, channel=""):
    listed = "".join(f"<item>{item}</item>" for item in items)
    return f'<rss version="2.0"><channel>{channel}{listed}</channel></rss>'.encode()


def read(body, memory="", now=None, half_life=DAY, **headers):
    body = body if isinstance(body, bytes) else body.encode()
    return FeedReader(half_life).read(Reply(200, headers, body, time=now), memory)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_read_alike(dialect):
    reading = read(DIALECTS[dialect], now=NOON)
    (item,) = reading.items
    assert (item["id"], item["title"]) == ("http://a/1", "t")
    assert item["published"] == ("" if dialect in UNDATED else DATE)
    assert reading.reward == pytest.approx(1 if dialect in UNDATED else 0.5**0.5, rel=1e-12)
    again = read(DIALECTS[dialect], reading.memory, now=NOON)
    assert (again.reward, again.items) == (0.0, ())


def test_identity_falls_back_by_field():
    date = "<pubDate>Mon, 01 Jan 2024 0{}:00:00 GMT</pubDate>".format
    first = read(rss("<guid>1</guid><title>a</title>", "<link>/2</link>", "<title>c</title>"))
    second = read(
        rss("<guid>1</guid><title>other</title>", "<link>/2</link><title>b</title>"), first.memory
    )
    assert second.items == ()
    same_title = read(rss("<title>c</title>" + date(1), "<title>c</title>" + date(2)), first.memory)
    assert len(same_title.items) == 2


def test_returning_item_counts_once():
    feeds = [rss(*(f"<guid>{i}</guid>" for i in ids)) for ids in ([1, 2], [2, 3], [1, 3], [1, 2])]
    memory, rewards = "", []
    for body in feeds:
        reading = read(body, memory)
        memory = reading.memory
        rewards.append(reading.reward)
    assert rewards == [2.0, 1.0, 0.0, 0.0]


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(parsing, "MOST_ITEMS", 400)
    memory, sizes = "", []
    for first in range(0, 1600, 400):
        body = rss(*(f"<guid>{first + i}</guid>" for i in range(800)))
        reading = read(body, memory)
        memory = reading.memory
        sizes.append(len(json.loads(memory)["ids"]))
    assert max(sizes) == 400 + REMEMBERED


@pytest.mark.parametrize(
    ("published", "now", "worth"),
    [
        ("Mon, 01 Jan 2024 12:00:00 GMT", NOON, 1.0),
        ("Mon, 01 Jan 2024 00:00:00 GMT", NOON, 0.25),
        ("Mon, 01 Jan 2024 01:00:00 +0100", NOON, 0.25),
        ("Sun, 31 Dec 2023 19:00:00 EST", NOON, 0.25),
        ("2024-01-01T00:00:00Z", NOON, 0.25),
        ("Fri, 01 Jan 2094 00:00:00 GMT", NOON, 1.0),  # the future
        ("Thu, 01 Jan 1970 00:00:00 GMT", NOON, 0.0),
        ("Wed, 31 Dec 1969 23:00:00 GMT", 0.0, 2.0 ** (-1 / 6)),
        ("Mon, 01 Jan 0000 00:00:00 GMT", 0.0, 1.0),
        ("yesterday", NOON, 1.0),
        ("", NOON, 1.0),
        ("Mon, 01 Jan 2024 00:00:00 GMT", None, 1.0),  # nobody knows what time it is
    ],
)
def test_worth_halves_each_half_life(published, now, worth):
    body = rss(f"<guid>1</guid><pubDate>{published}</pubDate>")
    reading = read(body, now=now, half_life=DAY / 4)
    assert reading.reward == pytest.approx(worth, rel=1e-12, abs=1e-300)


def test_stated_value_precedes_date():
    stated = '<w:value xmlns:w="urn:which-source-next">0.125</w:value>'
    date = "<pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate>"
    assert read(rss(date + stated), now=NOON).reward == 0.125
    mixed = rss("<guid>1</guid>" + date + stated, "<guid>2</guid>" + date)
    assert read(mixed, now=NOON).reward == pytest.approx(0.125 + 0.5**0.5, rel=1e-12)


def test_not_modified_finds_nothing():
    memory = read_feed(Reply(200, {}, PLAIN), "").memory
    assert read_feed(Reply(304), memory).memory == memory
    with pytest.raises(Unreadable, match="304 without a feed"):
        read_feed(Reply(304), "")


@pytest.mark.parametrize("status", [199, 301, 404, 410, 500, 503])
def test_other_statuses_are_ignored(status):
    with pytest.raises(Unreadable, match=str(status)):
        read_feed(Reply(status, {}, PLAIN), "")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "many", ""])
def test_invalid_value_is_refused(value):
    item = f'<title>a</title><w:value xmlns:w="urn:which-source-next">{value}</w:value>'
    with pytest.raises(Unreadable):
        read(rss(item))


@pytest.mark.parametrize("value", ["0", "1e-300", "0.37"])
def test_small_value_is_kept(value):
    item = f'<w:value xmlns:w="urn:which-source-next">{value}</w:value>'
    assert read(rss(item)).reward == float(value)


def test_infinite_sum_is_refused():
    value = '<guid>{}</guid><w:value xmlns:w="urn:which-source-next">1e308</w:value>'
    with pytest.raises(Unreadable, match="no finite sum"):
        read(rss(*(value.format(i) for i in range(9))))


NO_FEEDS = {
    "nothing": b"",
    "zeros": b"\0" * 1000,
    "text": b"Service unavailable",
    "HTML": b"<!DOCTYPE html><html><head><title>x</title></head><body><p>maintenance</body></html>",
    "XHTML": b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>',
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "XML with items": b"<a><item><title>x</title></item></a>",
    "OPML": b'<opml version="2.0"><body><outline text="a"/></body></opml>',
    "sitemap": b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>',
    "RDF that is no feed": f'<rdf:RDF xmlns:rdf="{RDF}"><a/></rdf:RDF>'.encode(),
    "JSON": b'{"items": []}',
    "JSON of another kind": b'{"version": 2, "items": []}',
    "JSON list": b"[1, 2]",
    "JSON cut short": DIALECTS["JSON Feed 1.1"][:-9].encode(),
    "JSON items that are numbers": b'{"version": "https://jsonfeed.org/version/1", "items": [1]}',
    "deep XML": b"<rss>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</rss>",
    "deep JSON": b'{"version":' + b"[" * 100_000,
    "half a feed": PLAIN[: len(PLAIN) // 2],
    "a feed without its end": PLAIN[:-6],
    "gzip": gzip.compress(PLAIN),
}


@pytest.mark.parametrize("kind", NO_FEEDS)
def test_what_is_no_feed_is_refused(kind):
    with pytest.raises(Unreadable):
        read(NO_FEEDS[kind])


CODECS = ["foo", "rot13", "hex", "zlib", "base64", "uu", "mbcs", "bz2", "punycode", "idna", "cp037"]
CODECS += ["undefined", "utf-7", "utf-32"]


@pytest.mark.parametrize("encoding", CODECS)
def test_unknown_encoding_is_handled(encoding):
    body = f'<?xml version="1.0" encoding="{encoding}"?><rss><channel><item/></channel></rss>'
    with suppress(Unreadable):
        assert len(read(body).items) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"\n\n  " + rss("<guid>1</guid>"),
        b"\xef\xbb\xbf" + rss("<guid>1</guid>"),
        rss("<guid>1</guid>") + b"<!-- cached -->",
        rss("<guid>1</guid><description><![CDATA[<p>never closed]]></description>"),
    ],
)
def test_common_slips_are_repaired(body):
    (item,) = read(body).items
    assert item["id"] == "1"


def test_entities_are_not_expanded(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    outside = f'<!DOCTYPE l [<!ENTITY x SYSTEM "file://{secret}">]>'.encode()
    reading = read(outside + rss("<guid>1</guid><title>&x;</title>"))
    assert "SECRET" not in json.dumps(reading.items)
    names = "abcdefghij"
    pairs = pairwise(names)
    bomb = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairs)
    bomb = f'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">{bomb}]>'.encode()
    with suppress(Unreadable):
        reading = read(bomb + rss("<guid>1</guid><title>&j;</title>"))
        assert len(json.dumps(reading.items)) < 1000


@pytest.mark.parametrize(
    "filling", ["<", "&", "<a ", '<a b="', "<a>", "<item>", "<item/>", "<ttl/>", "&a;", "<![CDATA["]
)
def test_slow_body_is_bounded(filling):
    """A quarter of a megabyte of what takes feedparser alone ten seconds and more."""
    body = b"<rss><channel>" + filling.encode() * (2**18 // len(filling)) + b"</channel></rss>"
    before = time.process_time()
    with suppress(Unreadable):
        assert len(read(body).items) <= parsing.MOST_ITEMS
    assert time.process_time() - before < 5


def test_newest_of_many_items(monkeypatch):
    monkeypatch.setattr(parsing, "MOST_ITEMS", 4)
    dated = [f"<guid>{i}</guid><pubDate>2024-01-0{i}T00:00:00Z</pubDate>" for i in range(1, 8)]
    assert [item["id"] for item in read(rss(*dated)).items] == ["4", "5", "6", "7"]
    assert [item["id"] for item in read(rss(*dated[::-1])).items] == ["7", "6", "5", "4"]
    reading = read(rss(*(f"<guid>{i}</guid>" for i in range(9))))
    assert [item["id"] for item in reading.items] == ["0", "1", "7", "8"]
    assert "4 of 9 items" in reading.notes[0]


@pytest.mark.parametrize(
    ("channel", "rest"),
    [
        ("<ttl>90</ttl>", 5400),
        ("<ttl>soon</ttl>", 0),
        ("<ttl>-5</ttl>", 0),
        ("<ttl>1e999</ttl>", 0),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", 3600),
        (
            "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>",
            21_600,
        ),
        ("<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", DAY),
        ("<ttl>60</ttl><sy:updatePeriod>daily</sy:updatePeriod>", DAY),
        ("<sy:updatePeriod>whenever</sy:updatePeriod>", 0),
    ],
)
def test_a_feed_may_ask_for_rest(channel, rest):
    body = rss("<guid>1</guid>", channel=channel).replace(
        b"<rss ", b'<rss xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" '
    )
    reading = read(body)
    assert reading.rest == rest
    assert FeedReader().read(Reply(304), reading.memory).rest == rest


def test_a_half_life_is_positive():
    for half_life in (0, -1, np.nan, "day"):
        with pytest.raises(ValueError, match="half_life"):
            FeedReader(half_life)


def test_documented_reader_is_used():
    """feedparser's answer for a well-formed feed is this reader's, item by item."""
    import feedparser

    items = [f"<guid>g{i}</guid><title>T {i}</title><link>http://a/{i}</link>" for i in range(5)]
    entries = feedparser.parse(rss(*items)).entries
    found = read(rss(*items)).items
    assert [(e.id, e.title) for e in entries] == [(i["id"], i["title"]) for i in found]
    assert not re.search("w3lib|lxml", str(found))


def test_ages_are_weighted_by_worth():
    both = Reply(200, {}, rss_of(1, 6), time=NOON)
    first = FeedReader(half_life=6 * 3600.0).read(both, "")
    hours = np.array([1.0, 6.0])
    assert first.aged == pytest.approx((2.0 ** (-hours / 6) * hours).sum() * 3600)
    assert FeedReader().read(both, first.memory).aged == 0.0
    assert FeedReader().read(Reply(304), first.memory).aged == 0.0
    assert read_feed(Reply(200, {}, PLAIN, time=NOON), "").aged is None  # an item without a date
    assert read_feed(Reply(200, {}, rss_of(1, 6)), "").aged is None  # nobody says when


def rss_of(*hours):
    """A feed with an item so many hours before noon each."""
    dates = [
        time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(NOON - 3600 * h)) for h in hours
    ]
    items = "".join(f"<item><guid>{d}</guid><pubDate>{d}</pubDate></item>" for d in dates)
    return f"<rss><channel>{items}</channel></rss>".encode()


# Readings in another process: alike, bounded in time, and gone with the crawl.


FEED = Reply(200, {}, b"<rss><channel><item><guid>1</guid></item></channel></rss>", url="http://a")


@pytest.fixture
def processes():
    made = []

    def make(reader, **options):
        made.append(ReaderProcesses(reader, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Misbehaving:
    """A reader that takes for ever, or ends its process, as the memory says."""

    def __reduce__(self):  # by its text, as the other process cannot import tests
        code = """lambda reply, memory: (
            sum(iter(int, 1)) if memory == "loop"
            else __import__("os").abort() if memory == "end"
            else __import__("analysis.crawl").crawl.read_feed(reply, memory)
        )"""
        return eval, (code,)


@pytest.mark.process
def test_readings_are_those_in_place(processes):
    readers = processes(FeedReader())
    first = readers.submit(FEED, "").result()
    assert first == read_feed(FEED, "")
    assert readers.submit(FEED, first.memory).result() == read_feed(FEED, first.memory)
    with pytest.raises(Unreadable, match="404"):
        readers.submit(Reply(404), "").result()
    with pytest.raises(ValueError, match="memory"):
        readers.submit(FEED, "{").result()


@pytest.mark.process
@pytest.mark.parametrize(("memory", "words"), [("loop", "longer than"), ("end", "ended with")])
def test_slow_reading_costs_one_fetch(processes, caplog, memory, words):
    readers = processes(Misbehaving(), seconds=0.2)
    evil, good = readers.submit(FEED, memory), readers.submit(FEED, "")
    with caplog.at_level(logging.WARNING), pytest.raises(Unreadable, match=words):
        evil.result()
    assert any("http://a" in record.message for record in caplog.records)
    assert len(good.result().items) == 1
    assert len(readers.submit(FEED, "").result().items) == 1


@pytest.mark.process
def test_processes_end_with_the_crawl():
    readers = ReaderProcesses(Misbehaving(), seconds=60.0)
    future = readers.submit(FEED, "loop")
    while not readers._started:
        time.sleep(0.01)
    (process,) = readers._started
    readers.close()
    assert process.returncode is not None
    with pytest.raises(Unreadable):
        future.result()


ENDLESS = """
import logging
from analysis.crawl import FeedReader
from analysis.crawl.feeds import reader as feed_reader

class Endless(FeedReader):
    def __call__(self, reply, memory):
        while b"endless" in reply.body:
            pass
        return self.read(reply, memory)

reader = Endless()
feed_reader.ReaderProcesses.__init__.__defaults__ = (0.5,)
"""
CRAWL = """
import json, sys
from scrapy.crawler import CrawlerProcess
from analysis.crawl.scheduler import FeedSpider

process = CrawlerProcess(json.loads(sys.argv[1]))
process.crawl(FeedSpider)
process.start()
"""


class Feeds(BaseHTTPRequestHandler):
    """A site with two feeds, of which one has an item that is read for ever."""

    def do_GET(self):
        if self.path == "/robots.txt":
            self.send_error(404)
            return
        item = f"<item><link>{self.path}/1</link><title>{self.path[1:]}</title></item>"
        body = f"<rss><channel>{item}</channel></rss>".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.mark.sampled
@pytest.mark.process
def test_endless_reading_is_stopped(tmp_path):
    """It fails and is named in the log; the other feed is read, and its item delivered."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    with ThreadingHTTPServer(("127.0.0.1", 0), Feeds) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        rows = [f"{name},{address}/{name},1,1,1" for name in ("endless", "good")]
        head = "name,url,arrival_rate,mean_utility,decay_rate"
        (tmp_path / "feeds.csv").write_text("\n".join([head, *rows, ""]))
        settings = {
            "SCHEDULER": "analysis.crawl.scheduler.EpochScheduler",
            "CRAWL_SOURCES": "feeds.csv",
            "CRAWL_READER": "endless.reader",
            "CRAWL_BUDGET": 2,
            "CRAWL_PERIOD": 3,
            "CRAWL_EPOCHS": 2,
            "CRAWL_LOCAL_ADDRESSES": True,
            "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
            "LOG_LEVEL": "WARNING",
        }
        command = [sys.executable, "-c", CRAWL, json.dumps(settings)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        server.shutdown()
    (item,) = (json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines())
    assert (item["title"], item["link"]) == ("good", f"{address}/good/1")
    assert f"{address}/endless: the reading" in done.stderr
    assert "Traceback" not in done.stderr
