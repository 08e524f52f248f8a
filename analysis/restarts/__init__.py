"""Restart bandits: arms that an active epoch sends back to a reset distribution.

The modules build on each other in this order: `arm` and `elimination` (one arm, one
factorisation), `threshold`, `definition`, `index` and `indexability` (the Whittle index and why it
exists), `policies`, `joint`, `relaxed` and `simulation` (many arms under a budget), `generators`,
`experiments` and `applications`.
"""

from analysis.restarts.arm import RestartArm
from analysis.restarts.index import WhittleIndex, whittle_index, whittle_indices
from analysis.restarts.indexability import Indexability, certify_indexability
from analysis.restarts.joint import evaluate_scores, solve_joint
from analysis.restarts.policies import RestartBandit, index_scores, myopic_scores
from analysis.restarts.relaxed import relaxed_bound
from analysis.restarts.simulation import Paths, simulate
from analysis.restarts.threshold import Thresholds, optimal_threshold, thresholds

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
