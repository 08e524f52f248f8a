"""A Scrapy downloader middleware that drops requests to other machines.

Every request passes through it, redirects and robots.txt included.
"""

from __future__ import annotations

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest

from analysis.crawl.local.server import check_local


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
