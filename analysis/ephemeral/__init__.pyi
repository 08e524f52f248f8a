from .arrivals import Arrivals, Utility
from .index import whittle_index, whittle_index_at_age
from .lagrangian import crawl_price, lagrangian_index, losses
from .optimum.advice import FTVAPolicy, IDPolicy, LPUpdatePolicy
from .optimum.dual import dual_descent
from .optimum.exact import optimal_average_reward, optimal_cycle
from .optimum.static import SchedulePolicy
from .policies import (
    POLICIES,
    LagrangianPolicy,
    MyopicPolicy,
    Observation,
    Policy,
    PrintedPolicy,
    RoundRobinPolicy,
    TunedLagrangianPolicy,
    WhittlePolicy,
)
from .relaxed import relaxed_bound, relaxed_problem
from .rollout import RolloutPolicy
from .scheduler.contents import PingedScheduler
from .scheduler.core import Scheduler
from .signals.index import signal_index
from .signals.model import SignalBelief, Signals
from .signals.reliability import Reliability
from .simulation import long_run_cycle, simulate
from .sources import Sources, four_sources
from .stochastic.index import stochastic_bound, stochastic_index
from .stochastic.simulation import Environment, compare, simulate_random
from .theory.formula import index_by_definition
from .timetables.guarantees import bound_at_price
from .timetables.table import Timetable, timetable

__all__ = [
    "POLICIES",
    "Arrivals",
    "Environment",
    "FTVAPolicy",
    "IDPolicy",
    "LPUpdatePolicy",
    "LagrangianPolicy",
    "MyopicPolicy",
    "Observation",
    "PingedScheduler",
    "Policy",
    "PrintedPolicy",
    "Reliability",
    "RolloutPolicy",
    "RoundRobinPolicy",
    "SchedulePolicy",
    "Scheduler",
    "SignalBelief",
    "Signals",
    "Sources",
    "Timetable",
    "TunedLagrangianPolicy",
    "Utility",
    "WhittlePolicy",
    "bound_at_price",
    "compare",
    "crawl_price",
    "dual_descent",
    "four_sources",
    "index_by_definition",
    "lagrangian_index",
    "long_run_cycle",
    "losses",
    "optimal_average_reward",
    "optimal_cycle",
    "relaxed_bound",
    "relaxed_problem",
    "signal_index",
    "simulate",
    "simulate_random",
    "stochastic_bound",
    "stochastic_index",
    "timetable",
    "whittle_index",
    "whittle_index_at_age",
]
