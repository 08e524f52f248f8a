"""What the solutions to the exercises of the page on the static model need."""

from __future__ import annotations

import pandas as pd

from analysis.report import save_table, save_value
from analysis.robots.static.mm1k import optimal_load


def second_robot(load: float = 0.6, capacity: int = 5) -> float:
    """Return the weight at which one robot of this load and two of them cost the same, mu = 1.

    The cost (gamma + rho^(K+1)) / A(rho) is linear in gamma.
    """
    one, two = (sum(rho**i for i in range(capacity + 1)) for rho in (load, 2 * load))
    lost = [rho ** (capacity + 1) for rho in (load, 2 * load)]
    return (lost[1] / two - lost[0] / one) / (1 / one - 1 / two)


def loads_at_twice() -> pd.Series:
    """Return the best loads at gamma = 2 mu by capacity."""
    found = {k: optimal_load(2.0, k) for k in range(2, 11)}
    return pd.Series(found, name="best load at γ = 2μ").rename_axis("K")


def save_solutions() -> None:
    """Keep the numbers that the solutions quote."""
    table = loads_at_twice().to_frame()
    save_table("robots-static-loads-at-twice", table, "Best loads at twice the indexing rate.")
    save_value("robots-static-second-robot", second_robot())
    save_value("robots-static-best-capacity", int(loads_at_twice().to_numpy().argmax()) + 2)
