"""Figures of the page `prices`."""

from __future__ import annotations

from itertools import cycle

import pandas as pd

from analysis.report import COLOURS, figure, save_figure

MARKS = "os^D"


def save_indices(frame: pd.DataFrame, price: float) -> None:
    """Draw the index of each source against its age, with and without a price."""
    fig, axes = figure(1, 2, height=3.6, sharey=True)
    for axis, name, title in zip(axes, ("all", "fresh"), ("fetch all", "fresh only"), strict=True):
        for (source, rows), colour, mark in zip(
            frame.groupby("source"), COLOURS, cycle(MARKS), strict=False
        ):
            look = {"color": colour, "marker": mark, "markersize": 4}
            axis.plot(rows["age"], rows["free"], ":", **look)
            axis.plot(rows["age"], rows[name], **look, label=f"source {source}")
        axis.set(xlabel="age (epochs)", title=title)
    axes[0].set(ylabel="index (content)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    last = frame[frame["age"] == frame["age"].max()]
    capped = int((last["all"] < last["free"] * (1 - 1e-12)).sum())
    save_figure(
        "prices-indices",
        fig,
        frame,
        caption=f"Index against age at a price of {price:.3g} a page (lines) and without one "
        "(dotted), where crawls take all pages and where they take fresh ones only.",
        alt=f"Curves of the index of {len(last)} sources. At the price {capped} of them end on a "
        "level line below the dotted one where crawls take all pages; the curves of fresh crawls "
        "end at or above these lines.",
    )


def save_bounds(frame: pd.DataFrame) -> None:
    """Draw bound and price against the number of pages indexed per epoch."""
    fig, axes = figure(1, 2, height=3.4)
    for axis, prefix, label in zip(
        axes, ("", "price-"), ("bound (content per epoch)", "price (content per page)"), strict=True
    ):
        axis.plot(frame["pages"], frame[f"{prefix}fresh"], color=COLOURS[1], label="fresh only")
        axis.plot(frame["pages"], frame[f"{prefix}all"], "--", color=COLOURS[0], label="fetch all")
        axis.set(xlabel="pages indexed per epoch", ylabel=label)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    first = frame.iloc[0]
    save_figure(
        "prices-bounds",
        fig,
        frame,
        caption="Relaxed bound, and the price of a page at it, by the pages that are indexed per "
        "epoch. Where pages are no bottleneck the price is nothing.",
        alt="Two bounds that rise with the pages and join, fresh only the higher: "
        f"{first['fresh']:.0f} against {first['all']:.0f} at {first['pages']:.0f} pages. "
        f"The prices fall to {frame['price-fresh'].iloc[-1]:.2f}.",
    )
