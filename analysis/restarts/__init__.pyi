from .arm import RestartArm
from .joint import evaluate_scores, solve_joint
from .policies import RestartBandit, index_scores, myopic_scores
from .relaxed import relaxed_bound
from .simulation import Paths, simulate
from .whittle.index import (
    Indexability,
    WhittleIndex,
    certify_indexability,
    whittle_index,
    whittle_indices,
)
from .whittle.threshold import Thresholds, optimal_threshold, thresholds

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
