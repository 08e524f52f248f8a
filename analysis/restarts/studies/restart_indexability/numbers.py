"""Values and tables of the page `restart-indexability`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.report import save_table, save_value
from analysis.restarts.whittle.indexability import Indexability


def save_numbers(
    certificates: Sequence[Indexability], compared: int, readings: pd.DataFrame
) -> None:
    """Save the numbers that the page quotes; `compared` is how many roots were found."""
    wrong = readings.set_index(["ratio", "level"]).wrong
    save_value("restart-indexability-arms", len(certificates))
    save_value("restart-indexability-certified", sum(c.holds for c in certificates))
    save_value("restart-indexability-compared", compared)
    save_value("restart-indexability-checked", int(readings.checked.iloc[0]))
    save_value("restart-indexability-printed", int(wrong["stopping times", "printed"]))
    save_value("restart-indexability-fixed", int(wrong["fixed times", "corrected"]))
    save_value("restart-indexability-both", int(wrong["stopping times", "corrected"]))


def save_readings(readings: pd.DataFrame) -> None:
    """Save how often each reading of slide 11 gives a wrong passive set."""
    save_table(
        "restart-indexability-readings",
        readings,
        "Passive sets that each reading of slide 11 gets wrong, of all that were checked: with a "
        "fixed time or a stopping time in the ratio, and with the level $W_\\lambda$ as printed or "
        "corrected.",
        labels={"ratio": "ratio over", "level": "level $W_\\lambda$"},
    )
