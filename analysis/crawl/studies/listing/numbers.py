"""Numbers and tables of the page on learning from listings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.crawl.feeds.listing import listing_window
from analysis.crawl.studies.listing.experiment import LEARNERS, shares
from analysis.report import save_data, save_value, within
from analysis.report.saving.records import saved_numbers
from analysis.results import Estimate

EARLY = 40
"""Days that are given apart: in them the learners see most feeds for the first time."""


def compare(runs: Mapping[str, Mapping[str, Floats]], days: Mapping[str, float]) -> pd.DataFrame:
    """Save the share of the index with known rates that each learner earns.

    One row a world, part of the crawl and learner: mean over runs with its interval; on the trace,
    whose crawls share their sources, with the smallest and the largest.
    """
    rows = []
    for world, found in runs.items():
        epochs = found["index"].shape[1]
        early = min(round(EARLY / days[world]), epochs // 2)
        parts = {"early": (0, early), "late": (early, epochs), "half": (epochs // 2, epochs)}
        for part, (begin, end) in parts.items():
            for name in [key for key in LEARNERS if key != "index"]:
                each = shares(found, name, begin, end)
                rows.append((world, part, name, *_kept(f"listing-{world}-{part}-{name}", each)))
    columns = ["world", "part", "learner", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _kept(id: str, each: Floats) -> tuple[float, float, float]:
    """Keep the mean of some shares; return it and the ends of its interval or range."""
    share = Estimate.of(each)
    if id.startswith("listing-trace"):
        save_value(id, share.value)
        return share.value, float(each.min()), float(each.max())
    save_value(id, share.value, interval=share.interval, replications=share.replications)
    return share.value, share.low, share.high


def shares_table(table: pd.DataFrame, columns: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """Return a table of some worlds and parts, one row a learner."""
    shown = {}
    for (world, part), heading in columns.items():
        rows = table[(table["world"] == world) & (table["part"] == part)].set_index("learner")
        shown[heading] = [within(*rows.loc[name, ["share", "low", "high"]]) for name in rows.index]
    names = [label for name, label in LEARNERS.items() if name != "index"]
    return pd.DataFrame(shown, index=pd.Index(names, name="learner"))


def save_runs(runs: Mapping[str, Mapping[str, Floats]]) -> None:
    """Publish what each learner found in each run of each world."""
    rows = [
        (world, run, name, float(values[run].sum()))
        for world, found in runs.items()
        for name, values in found.items()
        for run in range(len(values))
    ]
    save_data(
        "listing-runs",
        pd.DataFrame(rows, columns=["world", "run", "learner", "value"]),
        "One row a world, run and learner: what it found in all.",
        {
            "world": "constant: drawn feeds; jump: they exchange rates half-way; lies: dates of "
            "half of them lie; trace: real publications",
            "run": "number of the draw, or of the first day",
            "learner": "; ".join(f"{key}: {label}" for key, label in LEARNERS.items()),
            "value": "value found; an item counts 1 when new",
        },
    )


def estimates(
    lengths: list[int], memory: float, count: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Estimate a rate of 1 from listings of several lengths, with the border and without.

    One row a length: means with their intervals.
    """
    rows = []
    for n in lengths:
        ages = np.cumsum(rng.standard_exponential((count, n)), axis=1)
        windows = np.array([listing_window(row, memory) for row in ages])
        border = np.exp(-ages[:, -1] / memory)
        without = Estimate.of(windows[:, 0] / windows[:, 1])
        counted = Estimate.of((windows[:, 0] + border) / windows[:, 1])
        rows.append((n, without.value, *without.interval, counted.value, *counted.interval))
    columns = ["n", "without", "low", "high", "counted", "counted_low", "counted_high"]
    table = pd.DataFrame(rows, columns=columns)
    save_value("listing-estimates", count)
    inside = ((table["low"] <= 1) & (table["high"] >= 1)).mean()
    save_value("listing-estimates-inside", float(inside))
    first = table.iloc[0]
    save_value("listing-shortest", int(first["n"]))
    save_value("listing-border-shortest", float(first["counted"] - 1))
    return table


def save_predicates() -> None:
    """Keep what the page's sentences depend on."""
    v = saved_numbers("listing-")
    for world in ("constant", "trace"):
        sums = {part: max(v[f"{world}-{part}-{n}"] for n in ("ucb", "thompson"))
                for part in ("early", "late")}  # fmt: skip
        for part, best in sums.items():
            save_value(f"listing-{world}-{part}-sums", best)
            save_value(f"listing-{world}-{part}-wins", v[f"{world}-{part}-listing"] > best)
    save_value("listing-counting-loses", v["constant-early-counting"] < v["constant-early-listing"])
    save_value("listing-forgetting-helps", v["jump-half-forgetting"] > v["jump-half-listing"])
    save_value(
        "listing-forgetting-costs", v["constant-late-forgetting"] < v["constant-late-listing"]
    )
    forgetting, all_ = (v[f"trace-late-{name}"] for name in ("forgetting", "listing"))
    save_value("listing-trace-forgets-too-soon", forgetting < all_)
    lies, honest = v["lies-early-listing"], v["constant-early-listing"]
    save_value("listing-lies-between", v["constant-early-counting"] * 0.98 <= lies <= honest)
