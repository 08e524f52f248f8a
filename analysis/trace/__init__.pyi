from .deployed import (
    AutoTtl,
    CommaFeed,
    EntryFrequency,
    Friendica,
    NextcloudNews,
    NutchAdaptive,
    StormCrawler,
)
from .experiment import Experiment, Outcome, choose_memory
from .forgetting import ForgettingIndex, known_from
from .frequencies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl, lambdacrawl_rates
from .reading import Repair, read_trace
from .signals import read_pings
from .trace import Trace, publications

__all__ = [
    "AutoTtl",
    "CommaFeed",
    "EntryFrequency",
    "Experiment",
    "ForgettingIndex",
    "FrequencyPolicy",
    "Friendica",
    "NextcloudNews",
    "NutchAdaptive",
    "Outcome",
    "Repair",
    "StormCrawler",
    "Trace",
    "best_fixed_frequencies",
    "choose_memory",
    "known_from",
    "lambdacrawl",
    "lambdacrawl_rates",
    "publications",
    "read_pings",
    "read_trace",
]
