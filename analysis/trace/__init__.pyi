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
from .policies import (
    ForgettingIndex,
    FrequencyPolicy,
    best_fixed_frequencies,
    known_from,
    lambdacrawl,
    lambdacrawl_rates,
)
from .signals import read_pings
from .trace import Repair, Trace, publications, read_trace

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
