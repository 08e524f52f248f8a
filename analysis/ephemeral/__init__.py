"""Sources of ephemeral content: which source to crawl next, and what it earns."""

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.bounds import RelaxedSolution, due_ages, relaxed_bound, relaxed_problem
from analysis.ephemeral.environment import Environment
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.optimal import Optimum, optimal_average_reward, optimal_cycle
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
from analysis.ephemeral.stochastic import (
    Comparison,
    Estimate,
    IndexTable,
    RandomRun,
    compare,
    simulate_random,
)

__all__ = [
    "Arrivals",
    "Comparison",
    "Cycle",
    "Environment",
    "Estimate",
    "GreedyPolicy",
    "IndexTable",
    "MyopicPolicy",
    "Observation",
    "Optimum",
    "Policy",
    "RandomRun",
    "RelaxedSolution",
    "RoundRobinPolicy",
    "SingleSourcePolicy",
    "Sources",
    "Trajectory",
    "Utility",
    "WhittlePolicy",
    "compare",
    "due_ages",
    "four_sources",
    "initial_content",
    "long_run_cycle",
    "named_policy",
    "optimal_average_reward",
    "optimal_cycle",
    "relaxed_bound",
    "relaxed_problem",
    "simulate",
    "simulate_random",
    "whittle_index",
    "whittle_index_at_age",
]
