"""Sources of ephemeral content: which source to crawl next, and what it earns."""

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.bounds import RelaxedSolution, due_ages, relaxed_bound, relaxed_problem
from analysis.ephemeral.drawing import draw_source, trajectory_frame
from analysis.ephemeral.environment import Environment
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.observed import ObservedScheduler
from analysis.ephemeral.optimal import Optimum, optimal_average_reward, optimal_cycle
from analysis.ephemeral.partition import PartitionedScheduler
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
from analysis.ephemeral.scheduler import Scheduler, spread_ages
from analysis.ephemeral.simulation import (
    INITIAL_STATES,
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
from analysis.ephemeral.transients import rounding_to, scan_averages

__all__ = [
    "INITIAL_STATES",
    "Arrivals",
    "Comparison",
    "Cycle",
    "Environment",
    "Estimate",
    "GreedyPolicy",
    "IndexTable",
    "MyopicPolicy",
    "Observation",
    "ObservedScheduler",
    "Optimum",
    "PartitionedScheduler",
    "Policy",
    "RandomRun",
    "RelaxedSolution",
    "RoundRobinPolicy",
    "Scheduler",
    "SingleSourcePolicy",
    "Sources",
    "Trajectory",
    "Utility",
    "WhittlePolicy",
    "compare",
    "draw_source",
    "due_ages",
    "four_sources",
    "initial_content",
    "long_run_cycle",
    "named_policy",
    "optimal_average_reward",
    "optimal_cycle",
    "relaxed_bound",
    "relaxed_problem",
    "rounding_to",
    "scan_averages",
    "simulate",
    "simulate_random",
    "spread_ages",
    "trajectory_frame",
    "whittle_index",
    "whittle_index_at_age",
]
