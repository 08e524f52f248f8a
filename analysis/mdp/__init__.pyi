from .average import policy_iteration, relative_value_iteration
from .chains import recurrent_classes, stationary_law
from .cycles import maximum_mean_cycle
from .discounted import solve_discounted

__all__ = [
    "maximum_mean_cycle",
    "policy_iteration",
    "recurrent_classes",
    "relative_value_iteration",
    "solve_discounted",
    "stationary_law",
]
