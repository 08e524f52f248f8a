"""Figures and tables of the page `orders`."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd

from analysis.joint.studies.orders.experiment import estimates
from analysis.report import COLOURS, apart, figure, save_figure, save_table


def save_by_places(frame: pd.DataFrame, bound: float, rate: float) -> None:
    """Draw reward against the number of places, by policy and order."""
    means = estimates(frame, ["policy", "order", "places"])
    fig, axis = figure(height=4.2)
    lines = means.groupby(["order", "policy"], sort=False)
    for ((order, policy), rows), colour, mark in zip(lines, COLOURS, cycle("os^Dv"), strict=False):
        style = "-" if order == "first come" else "--"
        axis.fill_between(rows["places"], rows["low"], rows["high"], color=colour, alpha=0.2)
        axis.plot(
            rows["places"], rows["reward"], style, marker=mark, color=colour,
            label=f"{policy}, {order}",
        )  # fmt: skip
    axis.axhline(bound, color="black", linewidth=0.8, linestyle=":", label="bound of phases")
    axis.set(xlabel="places, K", ylabel="reward per epoch (content)", ylim=(0, None))
    fig.legend(loc="outside lower center", ncols=2)
    blind = means[(means["policy"] == "blind") & (means["order"] == "first come")]
    top = blind.sort_values("reward").iloc[-1]
    last = blind.iloc[-1]
    save_figure(
        "orders-places",
        fig,
        means,
        caption=f"Reward by the places of an engine that indexes {rate:g} pages per unit of time, "
        f"with 95% bands of {frame['run'].nunique()} runs on common random numbers.",
        alt=f"The blind index, first come first served, earns most at {int(top['places'])} places, "
        f"{top['reward']:.0f}, and {last['reward']:.0f} at {int(last['places'])}. Indexed by worth "
        f"it ends at {means['reward'][means['order'] == 'worth'].iloc[-1]:.0f}, below the bound of "
        f"{bound:.0f}.",
    )


def save_by_order(frame: pd.DataFrame, bound: float) -> None:
    """Tabulate reward by policy and order; no interval is given where all runs earn the same."""
    means = estimates(frame, ["policy", "order"])
    means["share"] = means["reward"] / bound
    same = [
        not apart(low, high, ".1f") for low, high in zip(means["low"], means["high"], strict=True)
    ]
    means.loc[same, ["low", "high"]] = np.nan
    save_table(
        "orders-orders",
        means.drop(columns=["idle"]).set_index(["policy", "order"]),
        f"Mean reward per epoch, with its 95% interval from {frame['run'].nunique()} runs on "
        "common random numbers; pages lost per epoch, pages waiting before an epoch, and the share "
        "of the bound.",
        formats={"reward": ".1f", "low": ".1f", "high": ".1f", "lost": ".1f", "queue": ".0f",
                 "share": ".1%"},
        labels={"low": "from", "high": "to", "lost": "lost pages", "share": "share of the bound"},
    )  # fmt: skip
