"""The switching curve: the theorem on exact values, and all optimal policies of a queue at once."""

from analysis.robots.curve.parametric import (
    OptimalSequence,
    Threshold,
    lossless_until,
    optimal_range,
    optimal_sequence,
    saturated_from,
)
from analysis.robots.curve.reduced import ReducedQueue

__all__ = [
    "OptimalSequence",
    "ReducedQueue",
    "Threshold",
    "lossless_until",
    "optimal_range",
    "optimal_sequence",
    "saturated_from",
]
