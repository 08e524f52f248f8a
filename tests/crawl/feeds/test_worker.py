"""Readings in another process: alike, bounded in time, and gone with the crawl."""

import json
import logging
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from analysis.crawl import FeedReader, Reply, Unreadable, read_feed
from analysis.crawl.feeds.worker import ReaderProcesses

FEED = Reply(200, {}, b"<rss><channel><item><guid>1</guid></item></channel></rss>", url="http://a")

pytestmark = pytest.mark.process


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


def test_readings_are_those_in_place(processes):
    readers = processes(FeedReader())
    first = readers.submit(FEED, "").result()
    assert first == read_feed(FEED, "")
    assert readers.submit(FEED, first.memory).result() == read_feed(FEED, first.memory)
    with pytest.raises(Unreadable, match="404"):
        readers.submit(Reply(404), "").result()
    with pytest.raises(ValueError, match="memory"):
        readers.submit(FEED, "{").result()


@pytest.mark.parametrize(("memory", "words"), [("loop", "longer than"), ("end", "ended with")])
def test_slow_reading_costs_one_fetch(processes, caplog, memory, words):
    readers = processes(Misbehaving(), seconds=0.2)
    evil, good = readers.submit(FEED, memory), readers.submit(FEED, "")
    with caplog.at_level(logging.WARNING), pytest.raises(Unreadable, match=words):
        evil.result()
    assert any("http://a" in record.message for record in caplog.records)
    assert len(good.result().items) == 1
    assert len(readers.submit(FEED, "").result().items) == 1


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
from analysis.crawl.feeds import worker

class Endless(FeedReader):
    def __call__(self, reply, memory):
        while b"endless" in reply.body:
            pass
        return self.read(reply, memory)

reader = Endless()
worker.ReaderProcesses.__init__.__defaults__ = (0.5,)
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
            "CRAWL_EPOCHS": 4,
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
