"""Settings of the project; `analysis.crawl.settings` lists those that begin with ``CRAWL_``."""

BOT_NAME = "feed_project"
SPIDER_MODULES = ["feed_project.spiders"]
USER_AGENT = "mybot/1.0 (+https://example.org/bot)"  # name your crawler, and how to reach you

SCHEDULER = "analysis.crawl.scheduler.EpochScheduler"
CRAWL_POLICY = "analysis.crawl.policies.listing_index"  # learns rates from the dates in feeds
CRAWL_SOURCES = "feeds.csv"  # read again when it changes
CRAWL_BUDGET = 2  # fetches in an epoch, at most the number of feeds
CRAWL_PERIOD = 3600  # seconds from one epoch to the next
JOBDIR = "state"  # a crawl that is killed continues from here

FEEDS = {"items.jsonl": {"format": "jsonlines", "encoding": "utf-8"}}
TELNETCONSOLE_ENABLED = False
LOG_LEVEL = "INFO"
