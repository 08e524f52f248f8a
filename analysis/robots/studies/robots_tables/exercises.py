"""What the solutions to the exercises of the page on the two tables need, at their own values."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.published import printed_number
from analysis.report import save_table, save_value
from analysis.robots.controlled.control import RobotControl
from analysis.robots.printed.references import every_reference
from analysis.robots.static.mm1k import critical_gamma, optimal_load, optimal_robots
from analysis.robots.studies.robots_tables import cell_id, row_keys

RATES = (0.01, 0.05, 0.1)


def not_least() -> list[tuple[float, int]]:
    """Return the blocks of the draft's Table 1 that save least at another weight than the first.

    A saving is what the printed cost of control lies below the printed cost of N_s robots, as a
    share of that.
    """
    savings: dict[tuple[float, int], dict[float, float]] = {}
    for key in (key for key in row_keys() if key[0] == "t1"):
        static, dynamic = (printed_number(cell_id(key, name)) for name in ("C_s", "C_d"))
        block = savings.setdefault((float(key[1]), int(key[2])), {})
        block[float(key[3])] = 1.0 - dynamic / static
    return [block for block, by in savings.items() if min(by, key=lambda g: by[g]) != min(by)]


def rounding_table() -> pd.DataFrame:
    """Return by how much N_s at weight 0.4 exceeds the best load in robots, by rate and K.

    The last column says whether the draft's Table 1 saves least at that weight.
    """
    blocks = [(rate, capacity) for rate in RATES for capacity in (5, 10, 15)]
    loads = [optimal_load(0.4, capacity) / rate for rate, capacity in blocks]
    numbers = [optimal_robots(rate, 0.4, capacity) for rate, capacity in blocks]
    index = pd.MultiIndex.from_tuples(blocks, names=["λ", "K"])
    frame = pd.DataFrame({"best load in robots": loads, "N_s": numbers}, index)
    excess = (frame["N_s"] - frame["best load in robots"]).round(3)
    others = not_least()
    marks = ["no" if block in others else "yes" for block in blocks]
    return frame.round(3).assign(excess=excess, **{"control saves least": marks})


def larger_queue_table() -> pd.DataFrame:
    """Return N_s at K = 15 and at K = 30, by rate and weight."""
    weights = ("0.4", "γ(K)", "2.4")
    rows = {
        (rate, weight): {
            f"N_s, K = {k}": optimal_robots(
                rate, critical_gamma(k) if weight == "γ(K)" else float(weight), k
            )
            for k in (15, 30)
        }
        for rate in RATES
        for weight in weights
    }
    index = pd.MultiIndex.from_tuples(list(rows), names=["λ", "γ"])
    return pd.DataFrame(list(rows.values()), index)


def save_solutions() -> None:
    """Keep the tables and numbers that the solutions quote."""
    save_table(
        "robots-tables-rounding",
        rounding_table(),
        "The best load at weight 0.4, in robots, and what it is rounded to.",
    )
    save_table(
        "robots-tables-larger-queue",
        larger_queue_table(),
        "The best fixed number of robots at K = 15 and at K = 30.",
    )
    up = rounding_table()["excess"].loc[not_least()]
    save_value("robots-tables-not-least", up.size)
    save_value("robots-tables-up-least", up.min())
    save_value("robots-tables-up-most", up.max())
    save_tolerances()


def save_tolerances() -> None:
    """Keep how reference states agree in one row of Table 1 at two bounds of the stopping rule."""
    model = RobotControl(20, 0.05, 1.0, 10, 1.2)
    optimum = model.solve().gain
    for name, tolerance in (("draft", 1e-5), ("tight", 1e-8)):
        runs = every_reference(model, tolerance=tolerance)
        inside = runs.updates >= 0
        same = np.round(runs.cost[inside], 5) == round(optimum, 5)
        save_value(f"robots-tables-{name}-agree", int(same.sum()))
        save_value(f"robots-tables-{name}-counts", len(np.unique(runs.updates[inside])))
    save_value("robots-tables-row-references", int(inside.sum()))
