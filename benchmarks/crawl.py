"""What a crawl of many feeds costs beyond reading them: time of a fetch, size of state and status.

The crawl is that of ``python -m analysis.crawl run`` without the network: every feed is on a host
of its own and lists `LISTED` items at each fetch, of which `NEW` are new. Time is virtual, so
that rounds follow at once. A feed that was read once is not read again: what is timed is choosing
sources, making requests, and keeping what was found on disk, against reading one feed.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

from analysis.crawl.clock import START
from analysis.crawl.feeds.reader import FeedReader, Reading
from analysis.crawl.feeds.reply import Reply
from analysis.crawl.progress import FEEDS, feeds_text, read_feeds
from analysis.crawl.run import LOGGED, OPTIONS, POLICIES, Feed, RoundScheduler
from analysis.crawl.scheduler import FeedSpider
from analysis.crawl.store import FILE
from benchmarks._timing import best, row

SIZES = (100, 5_000, 20_000)
ROUNDS = 5
"""Rounds: the first fetches every feed, each other a quarter of them."""
LISTED, NEW = 20, 4


def rows() -> Iterator[dict[str, Any]]:
    """Yield one comparison after another."""
    memory = FeedReader().read(reply(0), "").memory
    alone, _ = best(lambda: FeedReader().read(reply(1), memory), 20)
    for size in SIZES:
        yield crawl_row(size, alone)


class Remembering:
    """A reader that reads nothing twice."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Reading] = {}

    def __call__(self, reply: Reply, memory: str) -> Reading:
        """Return what is read in a reply."""
        key = reply.headers["etag"], memory
        if key not in self._known:
            self._known[key] = FeedReader().read(reply, memory)
        return self._known[key]


def crawl_row(size: int, alone: float) -> dict[str, Any]:
    """Compare a fetch of a crawl of `size` feeds with reading a feed, which takes `alone` s."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        fetches, seconds = crawl(folder, size)
        state = (folder / FILE).stat().st_size / size
        table = (folder / FEEDS).stat().st_size / size
        shown, _ = best(lambda: feeds_text(read_feeds(folder)), 1)
    note = f"a feed: {state:.0f} bytes of state, {table:.0f} of its status, "
    note += f"shown in {1e6 * shown / size:.0f} us"
    name = f"deciding on and keeping a fetch, {size} feeds"
    return row(name, seconds / fetches, "reading a feed with 4 new items of 20", alone, note)


def crawl(folder: Path, size: int) -> tuple[int, float]:
    """Crawl feeds for `ROUNDS` rounds; return the number of fetches and their seconds."""
    feeds = [Feed(f"http://{i}.example/feed", f"Feed {i}") for i in range(size)]
    (folder / "feeds.csv").write_text("\n".join(["url", *(feed.url for feed in feeds), ""]))
    settings = {
        "CRAWL_SOURCES": str(folder / "feeds.csv"),
        "CRAWL_BUDGET": size // 4,
        "CRAWL_CLOCK": "virtual",
        "CRAWL_POLICY": POLICIES["index"],
        "CRAWL_LOG_EPOCHS": max(LOGGED // size, 10),
        "CRAWL_READER": Remembering(),
        "ROBOTSTXT_OBEY": False,
        "USER_AGENT": "bench/1 (+https://example.org)",
        "JOBDIR": str(folder),
        "RUN": {
            "folder": str(folder),
            "feeds": feeds,
            "options": dict.fromkeys(OPTIONS) | {"policy": "index"},
            "changes": [],
            "rounds": ROUNDS,
            "until": None,
        },
    }
    with contextlib.redirect_stdout(io.StringIO()):
        scheduler = RoundScheduler.from_crawler(Crawler(FeedSpider, settings))
        scheduler.open(FeedSpider())
        begun, fetches = perf_counter(), 0
        while request := scheduler.next_request():
            answer = reply(scheduler.frontier.epoch)
            response = Response(request.url, 200, answer.headers, answer.body, request=request)
            for _ in request.callback(response):
                pass
            fetches += 1
        seconds = perf_counter() - begun
        scheduler.close("finished")
    return fetches, seconds


def reply(epoch: int) -> Reply:
    """Return a feed that has published some items an epoch."""
    published = NEW * epoch + LISTED
    items = "".join(
        f"<item><guid>https://example.org/news/{i}</guid><title>News {i}</title>"
        f"<link>https://example.org/news/{i}</link><pubDate>{_date(i)}</pubDate>"
        f"<description>{'Some text. ' * 20}</description></item>"
        for i in range(published, published - LISTED, -1)
    )
    body = f"<rss version='2.0'><channel><title>Feed</title>{items}</channel></rss>".encode()
    return Reply(200, {"etag": f'"{epoch}"'}, body, time=START + 3600.0 * epoch)


def _date(number: int) -> str:
    return formatdate(START + 3600 * (number - LISTED) / NEW - 3600)
