"""The switching curve: what is proved of it, and all optimal policies of a queue at once."""

from analysis.robots.curve.parametric import OptimalSequence, optimal_range, optimal_sequence
from analysis.robots.curve.reduced import ReducedQueue

__all__ = ["OptimalSequence", "ReducedQueue", "optimal_range", "optimal_sequence"]
