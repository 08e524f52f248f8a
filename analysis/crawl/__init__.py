"""A crawler on the scheduler: a site of feeds, the state of a crawl, and its way into Scrapy.

Only `scheduler`, `settings`, `fetching`, `cluster` and the crawls of `local` need Scrapy:
``pip install .[crawl]``.
"""

from analysis import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="crawl")
