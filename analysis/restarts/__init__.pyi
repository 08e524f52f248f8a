from .arm import RestartArm
from .bandit import RestartBandit, index_scores, myopic_scores, relaxed_bound
from .joint import evaluate_scores, solve_joint
from .simulation import Paths, simulate
from .whittle import (
    Indexability,
    Thresholds,
    WhittleIndex,
    certify_indexability,
    optimal_threshold,
    thresholds,
    whittle_index,
    whittle_indices,
)

__all__ = [
    "Indexability",
    "Paths",
    "RestartArm",
    "RestartBandit",
    "Thresholds",
    "WhittleIndex",
    "certify_indexability",
    "evaluate_scores",
    "index_scores",
    "myopic_scores",
    "optimal_threshold",
    "relaxed_bound",
    "simulate",
    "solve_joint",
    "thresholds",
    "whittle_index",
    "whittle_indices",
]
