"""Figures of the page `together`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, moves, save_figure


def save_robots(frame: pd.DataFrame) -> None:
    """Draw what is earned by the number of crawls per epoch."""
    fig, axis = figure(height=3.4)
    for name, label, style, colour in (
        ("aware", "sees the queue", "o-", COLOURS[0]),
        ("blind", "index of part I", "s--", COLOURS[1]),
    ):
        axis.plot(frame["robots"], frame[name], style, color=colour, label=label)
        axis.fill_between(
            frame["robots"], frame[f"{name} low"], frame[f"{name} high"], color=colour, alpha=0.25
        )
    axis.plot(frame["robots"], frame["bound"], ":", color=COLOURS[2], label="bound with delay")
    axis.set(xlabel="crawls per epoch, M", ylabel="reward per epoch (content)", ylim=(0, None))
    axis.set_xticks(frame["robots"])
    axis.legend(fontsize="small")
    first, last = frame.iloc[0], frame.iloc[-1]
    save_figure(
        "together-robots",
        fig,
        frame,
        caption="What is earned per epoch, first come first served, by the number of crawls per "
        "epoch, with 95% intervals.",
        alt=f"As crawls an epoch go up to {last['robots']:.0f}, what the policy that sees the "
        f"queue earns {moves(first['aware'], last['aware'], '.0f')}, what the index of part I "
        f"earns {moves(first['blind'], last['blind'], '.0f')}; the bound ends at "
        f"{last['bound']:.0f}.",
    )


def save_orders(frame: pd.DataFrame) -> None:
    """Draw what each order of indexing earns."""
    fig, axis = figure(height=2.8)
    place = np.arange(len(frame))
    axis.barh(place, frame["reward"], color=COLOURS[0], alpha=0.75)
    error = [frame["reward"] - frame["low"], frame["high"] - frame["reward"]]
    axis.errorbar(frame["reward"], place, xerr=error, fmt="none", color="#555555", capsize=3)
    axis.set_yticks(place, frame["order"])
    axis.invert_yaxis()
    axis.set(xlabel="reward per epoch (content)", ylabel="order of indexing")
    values_text = ", ".join(f"{row.order} {row.reward:.0f}" for row in frame.itertuples())
    save_figure(
        "together-orders",
        fig,
        frame,
        caption="What is earned per epoch by the order of indexing, each at a price chosen for it, "
        "with 95% intervals.",
        alt=f"Bars of reward per epoch by order of indexing: {values_text}.",
    )
