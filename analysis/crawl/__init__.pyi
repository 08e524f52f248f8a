from .feeds.listing import listed_ages, listing_window
from .feeds.reader import FeedReader, Reading, read_feed
from .feeds.reply import Reply, Unreadable
from .frontier.due import due_dates, export, write_dates
from .frontier.frontier import Frontier, TurnPolicy
from .frontier.state import CrawlState, Outcome, SourceState
from .local.site import FeedServer, Site, check_local, random_faults, random_site
from .policies import IndexPolicy, ListingIndex
from .store import Store

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
