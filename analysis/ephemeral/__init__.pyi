from .arrivals import Arrivals, Utility
from .environment import Environment
from .index import whittle_index, whittle_index_at_age
from .optimum.advice import FTVAPolicy, IDPolicy, LPUpdatePolicy
from .optimum.dual import dual_descent
from .optimum.exact import optimal_average_reward, optimal_cycle
from .optimum.schedules import SchedulePolicy
from .policies import (
    POLICIES,
    MyopicPolicy,
    Observation,
    Policy,
    PrintedPolicy,
    RoundRobinPolicy,
    WhittlePolicy,
)
from .relaxed import relaxed_bound, relaxed_problem
from .scheduler.core import Scheduler
from .signals.index import signal_index
from .signals.model import SignalBelief, Signals
from .signals.reliability import Reliability
from .simulation import long_run_cycle, simulate
from .sources import Sources, four_sources
from .stochastic.comparison import compare
from .stochastic.index import stochastic_bound, stochastic_index
from .stochastic.simulation import simulate_random
from .theory.definition import index_by_definition
from .timetables.bound import bound_at_price
from .timetables.construction import timetable
from .timetables.table import Timetable

__all__ = [
    "POLICIES",
    "Arrivals",
    "Environment",
    "FTVAPolicy",
    "IDPolicy",
    "LPUpdatePolicy",
    "MyopicPolicy",
    "Observation",
    "Policy",
    "PrintedPolicy",
    "Reliability",
    "RoundRobinPolicy",
    "SchedulePolicy",
    "Scheduler",
    "SignalBelief",
    "Signals",
    "Sources",
    "Timetable",
    "Utility",
    "WhittlePolicy",
    "bound_at_price",
    "compare",
    "dual_descent",
    "four_sources",
    "index_by_definition",
    "long_run_cycle",
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
