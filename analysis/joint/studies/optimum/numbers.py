"""Numbers in the prose of the page `optimum`."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analysis.joint.studies.optimum.experiment import Solved
from analysis.joint.studies.optimum.pictures import POLICIES
from analysis.report import save_value


def save_four(found: Mapping[str, Solved]) -> None:
    """Save what the scaled sources earn, with the errors of the optimum."""
    for crawls, one in found.items():
        name = f"optimum-{crawls.replace(' ', '-')}"
        save_value(f"{name}-gain", one.optimum.gain)
        save_value(f"{name}-bound", one.bound)
        save_value(f"{name}-blind", one.gains["blind"] / one.optimum.gain)
        save_value(f"{name}-frozen", one.gains["frozen queue"] / one.optimum.gain)
        save_value(f"{name}-age-error", one.system.age_error)
        save_value(f"{name}-exact", bool(one.optimum.residual < 1e-9 * one.bound))
        save_value(f"{name}-states", len(one.system.states[1]))


def save_random(frame: pd.DataFrame) -> None:
    """Save medians and worst cases on random systems."""
    save_value("optimum-systems", len(frame))
    save_value("optimum-ordered", int(frame["in order"].sum()))
    for name in ("delay", "phases", "bound", *POLICIES):
        column, id = frame[name], f"optimum-{name.replace(' ', '-')}"
        worst = column.max() if name in ("delay", "phases", "bound") else column.min()
        save_value(f"{id}-median", float(column.median()))
        save_value(f"{id}-worst", float(worst))
    save_value("optimum-full-price", float(1 - frame["full price"].median()))
