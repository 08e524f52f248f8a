"""How many robots to run: a queue of pages in front of an indexing engine (the robot study)."""

from analysis.robots.controlled.control import RobotControl, without_cap
from analysis.robots.controlled.result import ControlSolution
from analysis.robots.general.fleet import FleetControl, FleetSolution, RobotKind, optimal_fleet
from analysis.robots.general.mg1k import (
    GeneralQueue,
    ServiceLaw,
    general_cost,
    optimal_general_load,
    optimal_general_robots,
)
from analysis.robots.printed.fullchain import FullChain, full_chain
from analysis.robots.printed.relative import PrintedRun, proposition_4
from analysis.robots.static.mm1k import (
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

__all__ = [
    "ControlSolution",
    "FleetControl",
    "FleetSolution",
    "FullChain",
    "GeneralQueue",
    "PrintedRun",
    "RobotControl",
    "RobotKind",
    "ServiceLaw",
    "critical_gamma",
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
