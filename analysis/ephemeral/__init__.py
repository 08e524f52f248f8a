"""Sources of ephemeral content: which source to crawl next, and what it earns."""

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.environment import Environment
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.optimum.costs import CostRun, exact_sets, fill_budget, simulate_costs
from analysis.ephemeral.optimum.dual import DualRun, dual_descent
from analysis.ephemeral.optimum.exact import Optimum, optimal_average_reward, optimal_cycle
from analysis.ephemeral.optimum.relaxed import (
    RelaxedSolution,
    due_ages,
    relaxed_bound,
    relaxed_problem,
)
from analysis.ephemeral.optimum.schedules import (
    SchedulePolicy,
    best_periods,
    constant_gaps,
    schedule_reward,
    spread_schedule,
)
from analysis.ephemeral.optimum.static import (
    RandomPolicy,
    StaticOptimum,
    fluid_frequencies,
    fluid_reward,
    random_frequencies,
    random_reward,
)
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
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.observed import ObservedScheduler
from analysis.ephemeral.scheduler.partition import PartitionedScheduler
from analysis.ephemeral.simulation import (
    INITIAL_STATES,
    Cycle,
    Trajectory,
    initial_content,
    long_run_cycle,
    simulate,
)
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.stochastic.content_law import content_law
from analysis.ephemeral.stochastic.index import (
    StochasticIndex,
    index_table,
    stochastic_bound,
    stochastic_index,
)
from analysis.ephemeral.stochastic.lattice import lattice_average_reward
from analysis.ephemeral.stochastic.replicas import (
    ReplicaRun,
    simulate_random_replicas,
    simulate_replicas,
)
from analysis.ephemeral.stochastic.simulation import (
    Comparison,
    Estimate,
    IndexTable,
    RandomRun,
    compare,
    simulate_random,
)
from analysis.ephemeral.stochastic.values import (
    RandomSource,
    RandomValue,
    average_random_value,
    discounted_random_value,
    random_source,
    stopping_value,
)
from analysis.ephemeral.studies.drawing import draw_source, follow_random, trajectory_frame
from analysis.ephemeral.studies.four_sources import rounding_to, scan_averages
from analysis.ephemeral.theory.definition import (
    index_by_definition,
    index_by_solver,
    simulated_index,
)
from analysis.ephemeral.theory.printed import PrintedIndexPolicy, printed_index
from analysis.ephemeral.theory.structure import average_value, discounted_value, lemma_checks

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
