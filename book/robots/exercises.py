"""The exercises of this part: small instances, and the numbers that their solutions quote."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.robots import mg1k
from analysis.robots.control import RobotControl
from analysis.robots.fleet import FleetControl, RobotKind
from analysis.robots.mg1k import optimal_general_load
from analysis.robots.mm1k import critical_gamma, optimal_load, optimal_robots
from analysis.robots.printed import every_reference
from book.robots.shared import cell_id, list_printed_rows
from scorecard import save_table, save_value
from scorecard.prints import printed_number


def second_robot_weight(load: float = 0.6, capacity: int = 5) -> float:
    """Return the weight at which one robot of this load and two of them cost the same, mu = 1.

    The cost (gamma + rho^(K+1)) / A(rho) is linear in gamma.
    """
    single, double = (sum(rho**i for i in range(capacity + 1)) for rho in (load, 2 * load))
    lost = [rho ** (capacity + 1) for rho in (load, 2 * load)]
    return (lost[1] / double - lost[0] / single) / (1 / single - 1 / double)


def list_loads_at_twice() -> pd.Series:
    """Return the best loads at gamma = 2 mu by capacity."""
    loads = {k: optimal_load(2.0, k) for k in range(2, 11)}
    return pd.Series(loads, name="best load at γ = 2μ").rename_axis("K")


def save_static_solutions() -> None:
    """Save the numbers that the solutions quote."""
    table = list_loads_at_twice().to_frame()
    save_table("robots-static-loads-at-twice", table, "Best loads at twice the indexing rate.")
    save_value("robots-static-second-robot", second_robot_weight())
    save_value("robots-static-best-capacity", int(list_loads_at_twice().to_numpy().argmax()) + 2)


RATES = (0.01, 0.05, 0.1)


def find_other_minima() -> list[tuple[float, int]]:
    """Return the blocks of the draft's Table 1 that save least at another weight than the first.

    A saving is what the printed cost of control lies below the printed cost of N_s robots, as a
    share of that.
    """
    savings: dict[tuple[float, int], dict[float, float]] = {}
    for key in (key for key in list_printed_rows() if key[0] == "t1"):
        static, dynamic = (printed_number(cell_id(key, name)) for name in ("C_s", "C_d"))
        block = savings.setdefault((float(key[1]), int(key[2])), {})
        block[float(key[3])] = 1.0 - dynamic / static
    return [block for block, by in savings.items() if min(by, key=lambda g: by[g]) != min(by)]


def tabulate_rounding() -> pd.DataFrame:
    """Return the excess of N_s at weight 0.4 over the best load in robots, by rate and K.

    The last column says whether the draft's Table 1 saves least at that weight.
    """
    blocks = [(rate, capacity) for rate in RATES for capacity in (5, 10, 15)]
    loads = [optimal_load(0.4, capacity) / rate for rate, capacity in blocks]
    numbers = [optimal_robots(rate, 0.4, capacity) for rate, capacity in blocks]
    index = pd.MultiIndex.from_tuples(blocks, names=["λ", "K"])
    frame = pd.DataFrame({"best load in robots": loads, "N_s": numbers}, index)
    excess = (frame["N_s"] - frame["best load in robots"]).round(3)
    others = find_other_minima()
    marks = ["no" if block in others else "yes" for block in blocks]
    return frame.round(3).assign(excess=excess, **{"control saves least": marks})


def tabulate_larger_queues() -> pd.DataFrame:
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


def save_table_solutions() -> None:
    """Save the tables and numbers that the solutions quote."""
    save_table(
        "robots-tables-rounding",
        tabulate_rounding(),
        "The best load at weight 0.4, in robots, and what it is rounded to.",
    )
    save_table(
        "robots-tables-larger-queue",
        tabulate_larger_queues(),
        "The best fixed number of robots at K = 15 and at K = 30.",
    )
    up = tabulate_rounding()["excess"].loc[find_other_minima()]
    save_value("robots-tables-not-least", up.size)
    save_value("robots-tables-up-least", up.min())
    save_value("robots-tables-up-most", up.max())
    save_tolerances()


def save_tolerances() -> None:
    """Save how reference states agree in one row of Table 1 at two bounds of the stopping rule."""
    model = RobotControl(20, 0.05, 1.0, 10, 1.2)
    optimum = model.solve().gain
    for name, tolerance in (("draft", 1e-5), ("tight", 1e-8)):
        runs = every_reference(model, tolerance=tolerance)
        reachable = runs.updates >= 0
        same = np.round(runs.cost[reachable], 5) == round(optimum, 5)
        save_value(f"robots-tables-{name}-agree", int(same.sum()))
        save_value(f"robots-tables-{name}-counts", len(np.unique(runs.updates[reachable])))
    save_value("robots-tables-row-references", int(reachable.sum()))


#: Rate, running cost and number of the fast robots; capacity; weight of starvation.
EXAMPLES = (
    (0.2, 0.01, 4, 5, 1.4),
    (0.25, 0.05, 6, 8, 2.0),
    (1.0, 0.1, 1, 3, 2.0),
    (0.5, 0.05, 3, 2, 5.0),
    (0.5, 0.0, 3, 4, 50.0),
)


def compare_fast_and_slow() -> pd.DataFrame:
    """Return the optimal cost of fast robots, and of twice as many of half the rate and cost."""
    rows = []
    for rate, cost, robots, capacity, gamma in EXAMPLES:
        fast = RobotKind(rate, robots, cost)
        slow = RobotKind(rate / 2, 2 * robots, cost / 2)
        gains = [FleetControl((kind,), 1.0, capacity, gamma).solve().gain for kind in (fast, slow)]
        rows.append((rate, cost, robots, capacity, gamma, *gains))
    names = ["rate", "running cost", "fast robots", "K", "γ", "cost, fast", "cost, slow"]
    return pd.DataFrame(rows, columns=names).round(5)


def save_general_solutions() -> None:
    """Save the numbers that the solutions quote."""
    table = compare_fast_and_slow()
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


def count_declined_states() -> pd.DataFrame:
    """Return the curves f(r) of the draft's Figures 6 to 8, and how many states below K decline."""
    optima = {g: RobotControl(16, 0.1, 1.0, 5, g).solve() for g in (1.0, 1.4, 2.0)}
    rows = {
        g: {
            "f(0), ..., f(15)": " ".join(map(str, optimum.curve)),
            "states with q < K that decline": int((~optimum.policy[:-1, :-1]).sum()),
        }
        for g, optimum in optima.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("γ")


def solve_four_fast_robots() -> pd.DataFrame:
    """Return the curves of four robots that could each feed the engine alone, by weight."""
    rows = {}
    for gamma in (1.0, 1.4, 2.0, 20.0, 100.0, 1000.0):
        optimum = RobotControl(4, 1.0, 1.0, 5, gamma).solve()
        rows[gamma] = {
            "f(0), ..., f(3)": " ".join(map(str, optimum.curve)),
            "starvation": f"{optimum.starvation:.4f}",
            "loss rate": f"{optimum.loss_rate:.4f}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("γ")


def save_control_solutions() -> None:
    """Save the tables that the solutions show."""
    save_table(
        "robots-controlled-declined",
        count_declined_states(),
        "The curves of Figures 6 to 8, and how many states below a full queue decline.",
    )
    save_table(
        "robots-controlled-four",
        solve_four_fast_robots(),
        "Four robots that could each feed the engine alone: their optimal curves by weight.",
    )
