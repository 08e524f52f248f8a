from .index import (
    Engine,
    batch_value,
    best_window,
    crawl_reward,
    frozen_index,
    frozen_reward,
    priced_index,
    queued_sources,
)
from .optimum import JointSystem, delay_bound
from .relaxed import PhaseBound, PricedSolution, dual_value, phase_bound, priced_problem
from .robots import RobotSystem
from .simulation import JointRun, QueuedIndex, queued_index, simulate_engine

__all__ = [
    "Engine",
    "JointRun",
    "JointSystem",
    "PhaseBound",
    "PricedSolution",
    "QueuedIndex",
    "RobotSystem",
    "batch_value",
    "best_window",
    "crawl_reward",
    "delay_bound",
    "dual_value",
    "frozen_index",
    "frozen_reward",
    "phase_bound",
    "priced_index",
    "priced_problem",
    "queued_index",
    "queued_sources",
    "simulate_engine",
]
