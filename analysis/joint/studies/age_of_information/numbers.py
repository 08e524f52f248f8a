"""Numbers in the prose of the page `age-of-information`."""

from __future__ import annotations

import pandas as pd

from analysis.joint.studies.age_of_information import experiment
from analysis.report import save_value


def save(found: pd.DataFrame, shared: pd.DataFrame, decay: float, runs: int) -> None:
    """Save how many intervals hold the closed form, and the best loads."""
    inside = sum(
        int(((frame[f"{name} low"] <= frame[name]) & (frame[name] <= frame[f"{name} high"])).sum())
        for frame, name in ((found, "age"), (found, "worth"), (shared, "age"))
    )
    save_value("age-of-information-inside", inside)
    save_value("age-of-information-intervals", 2 * len(found) + len(shared))
    save_value("age-of-information-runs", runs)
    age, worth = experiment.best_loads(decay)
    save_value("age-of-information-age-load", age)
    save_value("age-of-information-worth-load", worth)
    save_value("age-of-information-decay", decay)
