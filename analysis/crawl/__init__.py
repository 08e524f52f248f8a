"""A crawler on the scheduler: a site of feeds, the state of a crawl, and its way into Scrapy.

Nothing here needs Scrapy but `analysis.crawl.scheduler` and what imports it (`transport`, `local`,
`live`): ``pip install .[crawl]``.
"""

from analysis.crawl.due import due_dates, export, write_dates
from analysis.crawl.feeds import Reply, Site, random_faults, random_site
from analysis.crawl.frontier import Frontier, Outcome
from analysis.crawl.policies import CalendarPolicy
from analysis.crawl.reader import Reading, Unreadable, read_feed
from analysis.crawl.server import FeedServer, check_local
from analysis.crawl.store import Store

__all__ = [
    "CalendarPolicy",
    "FeedServer",
    "Frontier",
    "Outcome",
    "Reading",
    "Reply",
    "Site",
    "Store",
    "Unreadable",
    "check_local",
    "due_dates",
    "export",
    "random_faults",
    "random_site",
    "read_feed",
    "write_dates",
]
