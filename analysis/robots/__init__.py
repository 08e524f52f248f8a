"""How many robots to run: a queue of pages in front of an indexing engine (the robot study)."""

from analysis.robots.control import RobotControl, without_cap
from analysis.robots.fleet import FleetControl, FleetSolution, RobotKind, optimal_fleet
from analysis.robots.fullchain import FullChain, full_chain
from analysis.robots.mg1k import (
    GeneralQueue,
    ServiceLaw,
    general_cost,
    optimal_general_load,
    optimal_general_robots,
)
from analysis.robots.mm1k import (
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
from analysis.robots.relative import PrintedRun, proposition_4
from analysis.robots.result import ControlSolution

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
