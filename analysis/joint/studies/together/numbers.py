"""Numbers in the prose of the page `together`."""

from __future__ import annotations

import pandas as pd

from analysis.ephemeral import Sources
from analysis.joint import Engine
from analysis.joint.studies.together.experiment import View, crawls_of
from analysis.report import apart, save_value, save_values

#: Sources in the explorable, at most.
FEW = 8


def save_question(sources: Sources, engine: Engine) -> None:
    """Save the page's inputs: rates for its explorable, and the load of the engine."""
    for name in ("arrival_rate", "mean_utility", "decay_rate"):
        save_value(f"together-{name.replace('_', '-')}", getattr(sources, name))
    save_value("together-sources", len(sources))
    save_value("together-index-rate", engine.index_rate)
    save_value("together-places", engine.places)
    save_value("together-load", float(sources.arrival_rate.sum()) / engine.index_rate)


def save_view(sources: Sources, engine: Engine) -> None:
    """Save price, queue and budget with which the explorable opens, and what is crawled then."""
    few = sources.subset(slice(FEW))
    price = float(f"{0.1 * (float(few.mean_utility.max()) or 1.0):.2g}")
    view = View(price, queue=50, budget=min(2, len(few)), index_rate=engine.index_rate)
    crawls, pages = crawls_of(few, view)
    opened = {"price": view.price, "queue": view.queue, "budget": view.budget}
    save_values("together", opened | {"view-crawls": crawls, "view-pages": pages})


def save_robots(frame: pd.DataFrame, best: int) -> None:
    """Save what is earned with the best number of crawls, and with the blind index."""
    row = frame[frame["robots"] == best].iloc[0]
    save_value("together-robots", best)
    save_value("together-most-robots", int(frame["robots"].max()))
    for name in ("aware", "blind"):
        save_value(
            f"together-{name}",
            row[name],
            interval=(row[f"{name} low"], row[f"{name} high"]),
            replications=int(frame.attrs["runs"]),
        )
        save_value(f"together-{name}-half", (row[f"{name} high"] - row[f"{name} low"]) / 2)
    halves = [(row[f"{name} high"] - row[f"{name} low"]) / 2 for name in ("aware", "blind")]
    save_value("together-runs-differ", all(apart(0.0, half, ".1f") for half in halves))
    save_value("together-several-limits", len(frame) > 1)
    save_value("together-bound", row["bound"])


def save_orders(frame: pd.DataFrame) -> str:
    """Save the best order of indexing and what it earns above first come first served.

    Returns: the order.
    """
    best, first = frame.iloc[int(frame["reward"].to_numpy().argmax())], frame.iloc[0]
    save_value("together-order-gain", best["reward"] / first["reward"] - 1)
    return str(best["order"])
