"""A crawler on the scheduler: a site of feeds, the state of a crawl, and its way into Scrapy.

Nothing here needs Scrapy but `analysis.crawl.scheduler` and what imports it (`transport`, `local`,
`live`): ``pip install .[crawl]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
