"""Figures of the page `at-scale`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.report import COLOURS, figure, save_figure

#: Ways to run an epoch, as measured/scale.csv calls them: label, marker and line.
WAYS = {
    "printed": ("printed formula, partial sort", "s", "-"),
    "scan": ("fused scan", "^", "--"),
    "calendar": ("calendar", "o", "-"),
}


def save_times(passes: pd.DataFrame, cpus: int) -> None:
    """Draw the time of an epoch each way, in bare passes, against the number of sources."""
    fig, axis = figure(height=3.8)
    for colour, (way, (label, marker, style)) in zip(COLOURS, WAYS.items(), strict=False):
        look = {"color": colour, "marker": marker, "linestyle": style, "label": label}
        axis.loglog(passes.index, passes[way], **look)
    axis.axhline(1, color="black", linewidth=1)
    place = {"xytext": (0, 4), "textcoords": "offset points", "ha": "right"}
    axis.annotate("one bare pass over the arrays", (passes.index[-1], 1), **place)
    axis.set(xlabel="sources", ylabel="time of an epoch (bare passes)", ylim=(0.02, None))
    axis.legend(loc="lower left")
    last, printed = passes.iloc[-1], passes["printed"]
    save_figure(
        "at-scale-times",
        fig,
        passes.reset_index(),
        caption="Time of one epoch in units of one bare pass, in which every content is multiplied "
        "and added to once, against the number of sources; one in 100 is crawled. Measured once, "
        f"on {cpus} cores; `make bench BENCH=scale` measures yours.",
        alt="Three curves against the number of sources. The printed formula stays between "
        f"{printed.min():.0f} and {printed.max():.0f} bare passes and the scan ends at "
        f"{last['scan']:.1f}; the calendar falls from "
        f"{passes['calendar'].iloc[0]:.0f} to {last['calendar']:.2f}, below the line of one pass.",
    )


def save_reward(paths: dict[str, Floats], size: int, budget: int) -> None:
    """Draw the reward of each epoch from two initial states, in units of the relaxed bound."""
    spread, alike = paths.values()
    epochs, half = spread.size, spread.size // 2
    shown = min(epochs, 300)
    fig, axis = figure(height=3.4)
    looks = zip(COLOURS, ("-", "--"), (2, 1), paths.items(), strict=False)
    for colour, style, width, (name, path) in looks:
        look = {"color": colour, "linestyle": style, "linewidth": width, "zorder": width + 1}
        axis.plot(np.arange(shown), path[:shown], label=name, **look)
    axis.axhline(1, color="black", linewidth=1, linestyle=":", label="relaxed bound", zorder=4)
    axis.set(xlabel="epoch", ylabel="reward of the epoch / relaxed bound", ylim=(0, None))
    axis.legend(loc="lower right")
    save_figure(
        "at-scale-reward",
        fig,
        pd.DataFrame({"epoch": np.arange(epochs), **paths}),
        caption=f"Reward of each epoch in units of the relaxed bound, for {size:,} sources and "
        f"{budget:,} crawls an epoch. The first {shown} of {epochs} epochs; over the second half "
        f"the policy earns {spread[half:].mean():.4f} times the bound from spread ages and "
        f"{alike[half:].mean():.4f} times from sources all crawled at once.",
        alt=f"Two curves over {shown} epochs. From spread ages the reward stays between "
        f"{spread[:shown].min():.2f} and {spread[:shown].max():.2f} of the bound; from sources all "
        f"crawled at once it begins at {alike[0]:.2f} and later swings, up to "
        f"{alike[:shown].max():.2f}.",
    )
