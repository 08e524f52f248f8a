from .due import due_dates, export, write_dates
from .feeds import Reply, Site, random_faults, random_site
from .frontier import Frontier, Outcome
from .policies import CalendarPolicy
from .reader import Reading, Unreadable, read_feed
from .server import FeedServer, check_local
from .store import Store

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
