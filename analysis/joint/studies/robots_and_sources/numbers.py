"""Numbers in the prose of the page `robots-and-sources`."""

from __future__ import annotations

import pandas as pd

from analysis.joint import RobotSystem
from analysis.report import save_value


def save_example(system: RobotSystem, scan: pd.DataFrame) -> None:
    """Save what the example earns without a running cost, and how far apart the rules are."""
    first, last = scan.iloc[0], scan.iloc[-1]
    save_value("robots-and-sources-states", len(system.states[2]))
    save_value("robots-and-sources-first-robots", first["robots"])
    save_value("robots-and-sources-last-robots", last["robots"])
    save_value("robots-and-sources-last-running", last["running"])
    save_value("robots-and-sources-first-gain", first["optimum"])
    save_value("robots-and-sources-scan-worst", float((scan["optimum"] - scan["rule"]).max()))
    save_value("robots-and-sources-scan-fixed", float((scan["optimum"] - scan["fixed"]).max()))


def save_losses(found: pd.DataFrame) -> None:
    """Save medians, means and largest losses, and how often the optimum is a switching curve."""
    save_value("robots-and-sources-instances", len(found))
    save_value("robots-and-sources-switching", int(found["switching"].sum()))
    for name in ("rule", "stopped", "fixed"):
        save_value(f"robots-and-sources-{name}-median", found[name].median())
        save_value(f"robots-and-sources-{name}-mean", found[name].mean())
        save_value(f"robots-and-sources-{name}-most", found[name].max())
