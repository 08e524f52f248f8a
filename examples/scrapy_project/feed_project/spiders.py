"""The spider `feeds`: the scheduler makes its requests, and its items are those of the feeds."""

from analysis.crawl.scheduler import FeedSpider


class Feeds(FeedSpider):
    """Crawl the feeds of ``CRAWL_SOURCES``. An item pipeline of your own gets each new item."""

    name = "feeds"
