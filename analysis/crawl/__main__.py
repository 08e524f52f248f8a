"""The commands of the crawler: ``python -m analysis.crawl live --help``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["scrapy"]:
        return run_scrapy(json.loads(given[1]))
    return 0


def run_scrapy(crawls: list[dict[str, object]]) -> int:
    """Run crawls side by side in this process; `analysis.crawl.transport` starts it."""
    from scrapy.crawler import CrawlerProcess

    from analysis.crawl.scheduler import FeedSpider
    from analysis.crawl.transport import LOCAL_SETTINGS

    process = CrawlerProcess(LOCAL_SETTINGS)
    failures: list[object] = []
    for settings in crawls:
        spider = type("Feeds", (FeedSpider,), {"custom_settings": settings})
        process.crawl(spider).addErrback(failures.append)
    process.start()
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
