"""Average-reward and discounted solvers that the models share, with one result type."""

from analysis.mdp.average import policy_iteration, relative_value_iteration
from analysis.mdp.chains import recurrent_classes, stationary_law
from analysis.mdp.cycles import maximum_mean_cycle
from analysis.results import NotConverged, Solution

__all__ = [
    "NotConverged",
    "Solution",
    "maximum_mean_cycle",
    "policy_iteration",
    "recurrent_classes",
    "relative_value_iteration",
    "stationary_law",
]
