"""Sources of ephemeral content: which source to crawl next, and what it earns."""

from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.policies import (
    GreedyPolicy,
    MyopicPolicy,
    Observation,
    Policy,
    RoundRobinPolicy,
    SingleSourcePolicy,
    WhittlePolicy,
    named_policy,
)
from analysis.ephemeral.simulation import (
    Cycle,
    Trajectory,
    initial_content,
    long_run_cycle,
    simulate,
)
from analysis.ephemeral.sources import Sources, four_sources

__all__ = [
    "Cycle",
    "GreedyPolicy",
    "MyopicPolicy",
    "Observation",
    "Policy",
    "RoundRobinPolicy",
    "SingleSourcePolicy",
    "Sources",
    "Trajectory",
    "WhittlePolicy",
    "four_sources",
    "initial_content",
    "long_run_cycle",
    "named_policy",
    "simulate",
    "whittle_index",
    "whittle_index_at_age",
]
