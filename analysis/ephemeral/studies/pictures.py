"""What the figures of this part share: the content of each source over a run, and its crawls."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.ephemeral.simulation import Trajectory
from analysis.ephemeral.sources import Sources

#: Sources of which a figure shows the content, the first of all.
SHOWN = 6


def shown_in_words(sources: Sources) -> str:
    """Return a text on the sources of which a figure shows the content."""
    if len(sources) > SHOWN:
        return f"the first {SHOWN} of {len(sources)} sources"
    return "each source" if len(sources) > 1 else "the source"


def draw_source(axis: Axes, sources: Sources, run: Trajectory, arm: int, colour: str) -> None:
    """Draw the content of one source over time, a dot at each crawl and a line at u*."""
    epochs = np.arange(run.reward.size)
    crawls = run.crawled[arm]
    axis.step(epochs, run.state[arm], where="post", color=colour, linewidth=1.1)
    axis.plot(epochs[crawls], run.state[arm, crawls], "o", color="black", markersize=2.6)
    axis.axhline(sources.u_star[arm], color="grey", linestyle=":", linewidth=0.9)
    axis.set_ylim(0, 1.08 * max(sources.u_star[arm], run.state[arm].max()))


def trajectory_frame(sources: Sources, run: Trajectory) -> pd.DataFrame:
    """Return a run as a table, one row an epoch: contents, crawls, and the reward."""
    names = sources.names or ()
    content = {f"content of source {name}": run.state[i] for i, name in enumerate(names)}
    crawls = {f"source {name} crawled": run.crawled[i].astype(int) for i, name in enumerate(names)}
    epochs = {"epoch": np.arange(run.reward.size)}
    return pd.DataFrame({**epochs, **content, **crawls, "reward": run.reward})
