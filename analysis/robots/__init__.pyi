from .controlled.control import ControlSolution, RobotControl, without_cap
from .general.fleet import (
    FleetControl,
    FleetSolution,
    FleetValue,
    RobotKind,
    fleet_by_margins,
    optimal_fleet,
)
from .general.laws import ServiceLaw
from .general.mg1k import GeneralQueue, general_cost, optimal_general_load, optimal_general_robots
from .mm1k import (
    critical_gamma,
    full_probability,
    infinite_capacity_cost,
    large_capacity_robots,
    limiting_cost,
    limiting_drift,
    loss_rate,
    optimal_load,
    optimal_robots,
    starvation_probability,
    static_cost,
    turning_capacity,
)
from .printed import FullChain, PrintedRun, full_chain, proposition_4

__all__ = [
    "ControlSolution",
    "FleetControl",
    "FleetSolution",
    "FleetValue",
    "FullChain",
    "GeneralQueue",
    "PrintedRun",
    "RobotControl",
    "RobotKind",
    "ServiceLaw",
    "critical_gamma",
    "fleet_by_margins",
    "full_chain",
    "full_probability",
    "general_cost",
    "infinite_capacity_cost",
    "large_capacity_robots",
    "limiting_cost",
    "limiting_drift",
    "loss_rate",
    "optimal_fleet",
    "optimal_general_load",
    "optimal_general_robots",
    "optimal_load",
    "optimal_robots",
    "proposition_4",
    "starvation_probability",
    "static_cost",
    "turning_capacity",
    "without_cap",
]
