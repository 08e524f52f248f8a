"""What the solutions to the exercises of the page on other robots need."""

from __future__ import annotations

import pandas as pd

from analysis.report import save_table, save_value
from analysis.robots.general import mg1k
from analysis.robots.general.fleet import FleetControl, RobotKind
from analysis.robots.general.mg1k import optimal_general_load

#: Rate, running cost and number of the fast robots; capacity; weight of starvation.
EXAMPLES = (
    (0.2, 0.01, 4, 5, 1.4),
    (0.25, 0.05, 6, 8, 2.0),
    (1.0, 0.1, 1, 3, 2.0),
    (0.5, 0.05, 3, 2, 5.0),
    (0.5, 0.0, 3, 4, 50.0),
)


def one_fast_or_two_slow() -> pd.DataFrame:
    """Return the optimal cost of fast robots, and of twice as many of half the rate and cost."""
    rows = []
    for rate, cost, robots, capacity, gamma in EXAMPLES:
        fast = RobotKind(rate, robots, cost)
        slow = RobotKind(rate / 2, 2 * robots, cost / 2)
        gains = [FleetControl((kind,), 1.0, capacity, gamma).solve().gain for kind in (fast, slow)]
        rows.append((rate, cost, robots, capacity, gamma, *gains))
    names = ["rate", "running cost", "fast robots", "K", "γ", "cost, fast", "cost, slow"]
    return pd.DataFrame(rows, columns=names).round(5)


def save_solutions() -> None:
    """Keep the numbers that the solutions quote."""
    table = one_fast_or_two_slow()
    save_table(
        "robots-general-fast-or-slow",
        table,
        "Optimal cost of fast robots, and of twice as many of half the rate and running cost.",
    )
    save_value("robots-general-fast-examples", len(table))
    save_value(
        "robots-general-fast-cheaper", int((table["cost, fast"] < table["cost, slow"]).sum())
    )
    for name, law in (("constant", mg1k.deterministic()), ("exponential", mg1k.exponential())):
        save_value(f"robots-general-{name}-load", optimal_general_load(1.0, 2, law))
