"""Files of Scrapy's ``FEEDS``: flushed before a fetch is settled, and repaired after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from os import SEEK_END, PathLike
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter

BLOCK = 64 * 1024
"""Bytes that are read at once in search of a line break."""
JSON_LINES = ("jsonlines", "jsonl", "jl")
"""Scrapy's names of the format."""


def _slots(crawler: Crawler) -> Iterator[Any]:
    """Yield Scrapy's entries of the files to which items are exported."""
    exporter = crawler.get_extension(FeedExporter)
    yield from exporter.slots if exporter else ()


def flush_exports(crawler: Crawler) -> None:
    """Flush the files of ``FEEDS``."""
    for slot in _slots(crawler):
        if slot.file is not None:
            slot.file.flush()


def mend_exports(crawler: Crawler) -> None:
    """Cut off an incomplete last line, left by a kill, in files of ``FEEDS``.

    This concerns JSON Lines to which the crawl appends; the items are exported again.
    """
    for slot in _slots(crawler):
        path = getattr(slot.storage, "path", None)
        appends = getattr(slot.storage, "write_mode", "") == "ab"
        if path and slot.format in JSON_LINES and appends:
            cut_torn_line(path)


def cut_torn_line(path: str | PathLike[str]) -> None:
    """Cut a file after its last line break; do nothing if there is no regular file."""
    if not Path(path).is_file():
        return
    with open(path, "rb+") as file:
        start = size = file.seek(0, SEEK_END)
        length = 0
        while start and not length:
            step = min(start, BLOCK)
            start -= step
            file.seek(start)
            length = file.read(step).rfind(b"\n") + 1
        if start + length < size:
            file.truncate(start + length)
