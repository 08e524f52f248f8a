"""Average-reward and discounted solvers that the models share, with one family of results."""

from analysis.mdp.average import policy_iteration, relative_value_iteration
from analysis.mdp.chains import recurrent_classes, stationary_law
from analysis.mdp.cycles import maximum_mean_cycle
from analysis.mdp.discounted import solve_discounted
from analysis.results import AverageSolution, DiscountedSolution, NotConverged

__all__ = [
    "AverageSolution",
    "DiscountedSolution",
    "NotConverged",
    "maximum_mean_cycle",
    "policy_iteration",
    "recurrent_classes",
    "relative_value_iteration",
    "solve_discounted",
    "stationary_law",
]
