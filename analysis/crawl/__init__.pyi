from .due import due_dates, export, write_dates
from .feeds import Reply, Site, random_faults, random_site
from .frontier import CrawlState, Frontier, Outcome, SourceState
from .listing import listed_ages, listing_window
from .policies import IndexPolicy, ListingIndex
from .reader import FeedReader, Reading, Unreadable, read_feed
from .server import FeedServer, check_local
from .store import Store
from .turn import TurnPolicy

__all__ = [
    "CrawlState",
    "FeedReader",
    "FeedServer",
    "Frontier",
    "IndexPolicy",
    "ListingIndex",
    "Outcome",
    "Reading",
    "Reply",
    "Site",
    "SourceState",
    "Store",
    "TurnPolicy",
    "Unreadable",
    "check_local",
    "due_dates",
    "export",
    "listed_ages",
    "listing_window",
    "random_faults",
    "random_site",
    "read_feed",
    "write_dates",
]
