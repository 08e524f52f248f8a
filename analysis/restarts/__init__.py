"""Restart bandits: arms that an active epoch sends back to a reset distribution."""

from analysis.restarts.arm import RestartArm
from analysis.restarts.index import WhittleIndex, whittle_index, whittle_indices
from analysis.restarts.thresholds import Thresholds, optimal_threshold, thresholds

__all__ = [
    "RestartArm",
    "Thresholds",
    "WhittleIndex",
    "optimal_threshold",
    "thresholds",
    "whittle_index",
    "whittle_indices",
]
