"""Crawls of a site on this machine: over HTTP by Scrapy in a child process, or within this process.

`crawl_over_http` runs Scrapy in a new process at each call, as Twisted's reactor cannot restart.
`crawl_in_process` passes the requests of the same scheduler to the site and its replies to the same
callbacks, without engine or socket: in virtual time both leave the same bytes. The
middleware `LocalOnly` drops requests to other machines, redirects and robots.txt included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from twisted.python.failure import Failure

from analysis.checks import check_number
from analysis.crawl.clock import TIME_HEADER
from analysis.crawl.fetching.headers import plain_headers
from analysis.crawl.local.site import ADDRESS, Site, check_local
from analysis.crawl.scheduler import EpochScheduler, FeedSpider
from analysis.ephemeral.sources import Sources

LOCAL_SETTINGS: dict[str, Any] = {
    "SCHEDULER": "analysis.crawl.scheduler.EpochScheduler",
    "DOWNLOADER_MIDDLEWARES": {"analysis.crawl.local.transport.LocalOnly": 1},
    "ROBOTSTXT_OBEY": True,
    "USER_AGENT": "which-source-next",
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "DOWNLOAD_TIMEOUT": 2.0,
    "CONCURRENT_REQUESTS": 8,
    "COOKIES_ENABLED": False,  # Scrapy would ask public hosts whose cookies may go where
    "CRAWL_LOCAL_ADDRESSES": True,
}
"""Settings of every crawl of a site on this machine; the rest are Scrapy's."""


def write_sources(path: str | PathLike[str], sources: Sources, urls: Sequence[str]) -> None:
    """Write the CSV file that the setting ``CRAWL_SOURCES`` names; rates are per epoch."""
    rates = {"arrival_rate": sources.arrival_rate * sources.period, "decay_rate": sources.decay}
    columns = {"name": list(sources.names or ()), "url": list(urls)}
    frame = pd.DataFrame({**columns, "mean_utility": sources.mean_utility, **rates})
    frame.to_csv(path, index=False, lineterminator="\n")


def crawl_over_http(crawls: Sequence[Mapping[str, Any]], *, timeout: float = 300.0) -> None:
    """Run Scrapy crawls side by side in a child process, and wait for it.

    `crawls` has the settings of each, in addition to `LOCAL_SETTINGS`. Raises RuntimeError with the
    child's output if it fails, and TimeoutError, after killing it, if it takes `timeout` seconds.
    """
    timeout = check_number("timeout", timeout, 0, low_open=True)
    with child(crawls) as process:
        try:
            _, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise TimeoutError(f"the crawl took longer than {timeout:g} s") from None
    if process.returncode != 0:
        raise RuntimeError(f"the crawl ended with {process.returncode}: {errors[-2000:]}")


@contextmanager
def child(
    crawls: Sequence[Mapping[str, Any]], folder: str | PathLike[str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start the process that `crawl_over_http` waits for.

    It ends when this process does, even if that is killed: it reads from a pipe whose other end
    only this process has open. Then it also removes `folder`.
    """
    watched, held = os.pipe()
    command = [sys.executable, "-m", "analysis.crawl", "scrapy", json.dumps(list(crawls))]
    command += ["--with", str(watched), *(["--remove", str(folder)] if folder else [])]
    try:
        with subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            pass_fds=(watched,),
        ) as process:
            yield process
    finally:
        os.close(held)
        os.close(watched)


def crawl_in_process(
    site: Site,
    settings: Mapping[str, Any],
    *,
    folder: str | PathLike[str] | None = None,
    urls: Sequence[str] | None = None,
) -> EpochScheduler:
    """Run one crawl of a site in virtual time without Scrapy's engine; return its scheduler.

    The files of its state are closed. `settings` are those in addition to `LOCAL_SETTINGS`
    (``CRAWL_SOURCES`` is optional), `folder` is ``JOBDIR``, and `urls` are those of the feeds, such
    as a `FeedServer` has, `in_process_urls` by default.
    """
    urls = in_process_urls(site) if urls is None else urls
    hosts = {urlsplit(url).port: host for url, host in zip(urls, site.hosts.tolist(), strict=True)}
    with tempfile.TemporaryDirectory() as around:
        path = Path(around) / "sources.csv"
        write_sources(path, site.sources, urls)
        own = {"CRAWL_SOURCES": str(path), "CRAWL_PERIOD": site.seconds, "CRAWL_START": site.start}
        all_settings = {**LOCAL_SETTINGS, **own, **settings, "CRAWL_CLOCK": "virtual"}
        crawler = Crawler(FeedSpider, all_settings | ({"JOBDIR": str(folder)} if folder else {}))
        scheduler = EpochScheduler.from_crawler(crawler)
        scheduler.open(FeedSpider())
    patience = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
    try:
        while scheduler.has_pending_requests():
            request = scheduler.next_request()
            if request is not None:
                _fetch(site, hosts[urlsplit(request.url).port], request, patience)
    finally:
        scheduler.store.close()
    return scheduler


def in_process_urls(site: Site) -> list[str]:
    """Return the URLs of the feeds for `crawl_in_process`: host h has the port h + 1."""
    return [f"http://{ADDRESS}:{host + 1}/feed/{i}.xml" for i, host in enumerate(site.hosts)]


def _fetch(site: Site, host: int, request: Request, patience: float) -> None:
    """Pass a request to the site, and the reply to the callback; items are discarded."""
    headers = plain_headers(request.headers)
    reply = site.reply(
        host, urlsplit(request.url).path, headers, float(headers[TIME_HEADER.lower()])
    )
    assert request.errback is not None
    if reply.delay > patience:
        failure = Failure(TimeoutError(f"no answer within {patience:g} s"))
        failure.request = request  # type: ignore[attr-defined]
        request.errback(failure)
        return
    response = Response(request.url, reply.status, dict(reply.headers), reply.body, request=request)
    assert request.callback is not None
    for _ in request.callback(response):
        pass


# Nothing leaves the machine


class LocalOnly:
    """Drop every request whose host is not a numeric loopback address."""

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Let a request pass, or drop it."""
        if request.url == "data:,":  # by which what a hub has sent reaches the pipelines
            return
        try:
            check_local(request.url)
        except ValueError as error:
            raise IgnoreRequest(str(error)) from None
