"""Figures of the page `queue`."""

from __future__ import annotations

from itertools import cycle

import pandas as pd

from analysis.report import COLOURS, figure, save_figure

MARKS, LINES = "os^D", ("-", "--", "-.", ":")


def save_by_queue(frame: pd.DataFrame, age: int, price: float) -> None:
    """Draw the index of each source against the length of the queue."""
    fig, axes = figure(1, 2, height=3.6, sharey=True)
    for (source, rows), colour, style in zip(
        frame.groupby("source"), COLOURS, cycle(LINES), strict=False
    ):
        for axis, name in zip(axes, ("index", "priced"), strict=True):
            axis.plot(rows["queue"], rows[name], style, color=colour, label=f"source {source}")
    for axis, title in zip(axes, ("no price", f"price {price:.3g}, fresh only"), strict=True):
        axis.set(xlabel="pages waiting, q", title=title)
    axes[0].set(ylabel="index (content)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    first = frame[frame["queue"] == 0]["index"]
    last = frame[frame["queue"] == frame["queue"].max()]["index"]
    save_figure(
        "queue-index",
        fig,
        frame,
        caption=f"Index at age {age} against the pages that a crawl finds waiting, without a price "
        "and with one.",
        alt=f"The largest index is {first.max():.0f} at an empty queue and {last.max():.0f} at a "
        "full one. A source that decays slowly may come first at a long queue.",
    )


def save_fast(frame: pd.DataFrame) -> None:
    """Draw the distance to the index without an engine against the engine's speed."""
    fig, axis = figure(height=3.4)
    labels = {"room": "with room", "priced": "with room, at a price", "crowded": "few places"}
    drawn = {name: label for name, label in labels.items() if frame[name].notna().all()}
    for (name, label), colour, mark in zip(drawn.items(), COLOURS, MARKS, strict=False):
        axis.loglog(frame["rate"], frame[name], marker=mark, color=colour, label=label)
    axis.set(xlabel="speed of the engine, s (pages per unit of time)", ylabel="relative distance")
    fig.legend(loc="outside lower center", ncols=3)
    last = frame.iloc[-1]
    save_figure(
        "queue-limit",
        fig,
        frame,
        caption="Largest relative distance of the index with a frozen queue from the index without "
        "an engine, at ages 1 to 6. Without room it stays.",
        alt=f"As the engine grows faster, the distance falls to {last['room']:.0e} with room"
        + (f" and to {last['priced']:.0e} at a price" if "priced" in drawn else "")
        + f"; with few places it stays at {last['crowded']:.2f}.",
    )
