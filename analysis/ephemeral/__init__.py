"""Sources of ephemeral content: which source to crawl next, and what it earns."""

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.bounds import RelaxedSolution, due_ages, relaxed_bound, relaxed_problem
from analysis.ephemeral.content_law import content_law
from analysis.ephemeral.costs import CostRun, exact_sets, fill_budget, simulate_costs
from analysis.ephemeral.definition import index_by_definition, index_by_solver, simulated_index
from analysis.ephemeral.drawing import draw_source, follow_random, trajectory_frame
from analysis.ephemeral.dual import DualRun, dual_descent
from analysis.ephemeral.environment import Environment
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.lattice import lattice_average_reward
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
from analysis.ephemeral.printed import PrintedIndexPolicy, printed_index
from analysis.ephemeral.random_value import (
    RandomSource,
    RandomValue,
    average_random_value,
    discounted_random_value,
    random_source,
    stopping_value,
)
from analysis.ephemeral.replicas import ReplicaRun, simulate_random_replicas, simulate_replicas
from analysis.ephemeral.scheduler import Scheduler
from analysis.ephemeral.schedules import (
    SchedulePolicy,
    best_periods,
    constant_gaps,
    schedule_reward,
    spread_schedule,
)
from analysis.ephemeral.simulation import (
    INITIAL_STATES,
    Cycle,
    Trajectory,
    initial_content,
    long_run_cycle,
    simulate,
)
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.start import spread_ages
from analysis.ephemeral.static import (
    RandomPolicy,
    StaticOptimum,
    fluid_frequencies,
    fluid_reward,
    random_frequencies,
    random_reward,
)
from analysis.ephemeral.stochastic import (
    Comparison,
    Estimate,
    IndexTable,
    RandomRun,
    compare,
    simulate_random,
)
from analysis.ephemeral.stochastic_index import (
    StochasticIndex,
    index_table,
    stochastic_bound,
    stochastic_index,
)
from analysis.ephemeral.structure import average_value, discounted_value, lemma_checks
from analysis.ephemeral.transients import rounding_to, scan_averages

__all__ = [
    "INITIAL_STATES",
    "Arrivals",
    "Comparison",
    "CostRun",
    "Cycle",
    "DualRun",
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
    "PrintedIndexPolicy",
    "RandomPolicy",
    "RandomRun",
    "RandomSource",
    "RandomValue",
    "RelaxedSolution",
    "ReplicaRun",
    "RoundRobinPolicy",
    "SchedulePolicy",
    "Scheduler",
    "SingleSourcePolicy",
    "Sources",
    "StaticOptimum",
    "StochasticIndex",
    "Trajectory",
    "Utility",
    "WhittlePolicy",
    "average_random_value",
    "average_value",
    "best_periods",
    "compare",
    "constant_gaps",
    "content_law",
    "discounted_random_value",
    "discounted_value",
    "draw_source",
    "dual_descent",
    "due_ages",
    "exact_sets",
    "fill_budget",
    "fluid_frequencies",
    "fluid_reward",
    "follow_random",
    "four_sources",
    "index_by_definition",
    "index_by_solver",
    "index_table",
    "initial_content",
    "lattice_average_reward",
    "lemma_checks",
    "long_run_cycle",
    "named_policy",
    "optimal_average_reward",
    "optimal_cycle",
    "printed_index",
    "random_frequencies",
    "random_reward",
    "random_source",
    "relaxed_bound",
    "relaxed_problem",
    "rounding_to",
    "scan_averages",
    "schedule_reward",
    "simulate",
    "simulate_costs",
    "simulate_random",
    "simulate_random_replicas",
    "simulate_replicas",
    "simulated_index",
    "spread_ages",
    "spread_schedule",
    "stochastic_bound",
    "stochastic_index",
    "stopping_value",
    "trajectory_frame",
    "whittle_index",
    "whittle_index_at_age",
]
