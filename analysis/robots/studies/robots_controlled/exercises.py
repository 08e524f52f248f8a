"""What the solutions to the exercises of the page on the controlled queue need."""

from __future__ import annotations

import pandas as pd

from analysis.report import save_table
from analysis.robots.controlled.control import RobotControl


def declined() -> pd.DataFrame:
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


def four_fast_robots() -> pd.DataFrame:
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


def save_solutions() -> None:
    """Save the tables that the solutions show."""
    save_table(
        "robots-controlled-declined",
        declined(),
        "The curves of Figures 6 to 8, and how many states below a full queue decline.",
    )
    save_table(
        "robots-controlled-four",
        four_fast_robots(),
        "Four robots that could each feed the engine alone: their optimal curves by weight.",
    )
