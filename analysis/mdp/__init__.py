"""Average-reward and discounted solvers that the models share, with one result type."""

from analysis.mdp.solution import NotConverged, Solution

__all__ = ["NotConverged", "Solution"]
