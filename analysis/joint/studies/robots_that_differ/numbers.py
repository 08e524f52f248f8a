"""Numbers in the prose of the page `robots-that-differ`."""

from __future__ import annotations

import pandas as pd
from scipy import stats

from analysis.joint.studies.robots_that_differ.experiment import NUMBERS, RATES, ROUNDING
from analysis.report import save_value

NAME = "robots-that-differ"


def save_scan(scan: pd.DataFrame) -> None:
    """Save what the orders and the rule lose over the prices of the example."""
    for kind, rate, number in zip(("fast", "slow"), RATES, NUMBERS, strict=True):
        save_value(f"{NAME}-{kind}-rate", rate)
        save_value(f"{NAME}-{kind}-number", number)
    for name in ("fast first", "slow first", "linear"):
        lost = scan[name] / scan["optimum"] - 1
        save_value(f"{NAME}-scan-{name.replace(' ', '-')}", max(float(lost.max()), 0.0))


def save_losses(free: pd.DataFrame, priced: pd.DataFrame) -> None:
    """Save shares with their intervals, and medians, 90% points and largest losses."""
    save_value(f"{NAME}-instances", len(free))
    slow = pd.concat([free, priced])["fast first"] > ROUNDING
    save_value(f"{NAME}-slow-somewhere", bool(slow.any()))
    for part, found in (("free", free), ("priced", priced)):
        save_share(f"{NAME}-{part}-slow", found["fast first"] > ROUNDING)
        save_share(f"{NAME}-{part}-mixed", found["one order"] > ROUNDING)
        save_share(f"{NAME}-{part}-exact", found["linear"] <= ROUNDING)
        for name in found:
            stem = f"{NAME}-{part}-{str(name).replace(' ', '-')}"
            save_value(f"{stem}-median", float(found[name].median()))
            save_value(f"{stem}-tenth", float(found[name].quantile(0.9)))
            save_value(f"{stem}-most", float(found[name].max()))


def save_share(name: str, holds: pd.Series) -> None:
    """Save a share of random systems, with Wilson's 95% interval and its ends."""
    count, total = int(holds.sum()), len(holds)
    low, high = stats.binomtest(count, total).proportion_ci(0.95, method="wilson")
    save_value(name, count / total, interval=(low, high), replications=total)
    save_value(f"{name}-low", float(low))
    save_value(f"{name}-high", float(high))
