"""Pictures of a run: the content of each source and the instants at which it is crawled."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from analysis.checks import check_integer
from analysis.ephemeral.environment import Environment
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.simulation import Trajectory
from analysis.ephemeral.sources import Sources
from analysis.report import save_value

#: Sources of which a figure shows the content, the first of all.
SHOWN = 6


def shown_in_words(sources: Sources) -> str:
    """Say of which sources a figure shows the content."""
    if len(sources) > SHOWN:
        return f"the first {SHOWN} of {len(sources)} sources"
    return "each source" if len(sources) > 1 else "the source"


def save_rates(prefix: str, sources: Sources) -> None:
    """Keep rates, utilities and costs of sources, for an explorable of the page to read.

    Parameters
    ----------
    prefix : str
        What the ids of the four lists start with.
    sources : Sources
        N sources.
    """
    for name in ("arrival_rate", "mean_utility", "decay_rate", "cost"):
        save_value(f"{prefix}-{name.replace('_', '-')}", getattr(sources, name))


def follow_random(
    sources: Sources,
    policy: Policy,
    budget: int,
    content: ArrayLike,
    *,
    initial_state: str | ArrayLike = "empty",
) -> Trajectory:
    """Run a policy against given random content and keep every state and crawl, as for a figure.

    Parameters
    ----------
    sources, policy, budget, content, initial_state
        As in `analysis.ephemeral.simulate_random`, with a policy object; all sources are observed.

    Returns
    -------
    Trajectory
    """
    budget = check_integer("budget", budget, 1, len(sources))
    environment = Environment(sources, content, initial_state=initial_state)
    state = np.empty((len(sources), environment.horizon))
    crawled = np.zeros(state.shape, dtype=bool)
    reward = np.empty(environment.horizon)
    while (epoch := environment.epoch) < environment.horizon:
        state[:, epoch] = environment.state
        arms = policy.select(environment.observation, budget, None)
        crawled[arms, epoch] = True
        reward[epoch] = environment.step(arms).sum()
    return Trajectory(state, crawled, reward)


def draw_source(axis: Axes, sources: Sources, run: Trajectory, arm: int, colour: str) -> None:
    """Draw the content of one source over time, a dot at each crawl and a line at u*.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
        Where to draw.
    sources : Sources
        N sources.
    run : Trajectory
        A run over them.
    arm : int
        Number of the source.
    colour : str
        Its colour.
    """
    epochs = np.arange(run.reward.size)
    crawls = run.crawled[arm]
    axis.step(epochs, run.state[arm], where="post", color=colour, linewidth=1.1)
    axis.plot(epochs[crawls], run.state[arm, crawls], "o", color="black", markersize=2.6)
    axis.axhline(sources.u_star[arm], color="grey", linestyle=":", linewidth=0.9)
    axis.set_ylim(0, 1.08 * max(sources.u_star[arm], run.state[arm].max()))


def trajectory_frame(sources: Sources, run: Trajectory) -> pd.DataFrame:
    """Return a run as a table, one row an epoch: content and crawl of each source, and the reward.

    Parameters
    ----------
    sources : Sources
        N sources.
    run : Trajectory
        A run over them.
    """
    names = sources.names or ()
    content = {f"content of source {name}": run.state[i] for i, name in enumerate(names)}
    crawls = {f"source {name} crawled": run.crawled[i].astype(int) for i, name in enumerate(names)}
    epochs = {"epoch": np.arange(run.reward.size)}
    return pd.DataFrame({**epochs, **content, **crawls, "reward": run.reward})
