"""What the printed scheme earns by kappa and by c of its step sizes, which are not printed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from analysis.ephemeral.sources import Sources
from analysis.learning.environment import mean_content
from analysis.learning.scheme.lspe import Lspe, LspeOptions
from analysis.learning.scheme.thresholds import soft_threshold_value
from analysis.report import COLOURS, figure, save_figure
from analysis.results import Estimate


def by_step(
    sources: Sources,
    kappas: Sequence[float],
    steps: Sequence[float],
    *,
    value_step: float,
    horizon: int,
    runs: int,
    seed: int,
) -> pd.DataFrame:
    """Run the scheme with both cures for every kappa and c.

    Parameters
    ----------
    sources : Sources
        N sources; the runs follow their mean content.
    kappas, steps : sequence of float
        Values of kappa and of c.
    value_step : float
        Step of r.
    horizon, runs, seed : int
        Epochs of a run, runs that must not diverge of each pair, and the root of their streams.

    Returns
    -------
    pandas.DataFrame
        One row a pair: ``kappa``, ``step``; ``reward`` and ``engaged``, per epoch over the second
        half of a run, each with ``_low`` and ``_high`` of its 95% interval; ``at_bounds``, the
        share of thresholds that end on their upper bounds; ``runs``.
    """
    content = mean_content(sources, horizon)
    rows = []
    for step, kappa in product(steps, kappas):
        options = LspeOptions.as_printed(kappa=kappa, step=step, value_step=value_step)
        rewards, engaged, ends = [], [], []
        for stream in np.random.default_rng(seed).spawn(runs):
            learner = Lspe(sources, options)
            run = learner.play(sources, content, 1, stream)
            if run.diverged_at is not None:
                continue
            rewards.append(run.expected[horizon // 2 :].mean())
            engaged.append(run.engaged[horizon // 2 :].mean())
            ends.append(np.isclose(learner.thresholds(sources.u), sources.u_star).mean())
        row = {"kappa": kappa, "step": step}
        for name, sample in (("reward", rewards), ("engaged", engaged)):
            found = Estimate.of(np.array(sample))
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        rows.append(row | {"at_bounds": float(np.mean(ends)), "runs": len(rewards)})
    return pd.DataFrame(rows)


def save_by_step(sources: Sources, found: pd.DataFrame) -> None:
    """Draw reward against kappa by c, with what the upper bounds are worth.

    Parameters
    ----------
    sources : Sources
        N sources.
    found : pandas.DataFrame
        As `by_step` returns it.
    """
    kappas = found["kappa"].to_numpy()
    grid = np.geomspace(kappas.min() / 1.5, kappas.max() * 1.5, 60)
    exact = [soft_threshold_value(sources, sources.u_star, k).average_reward for k in grid]
    fig, axis = figure(height=3.4)
    axis.plot(grid, exact, color=COLOURS[0], label="thresholds at their upper bounds, exact")
    looks = zip(COLOURS[1:], "os^v", (9, 7, 6, 5), strict=False)
    for (colour, mark, size), (step, rows) in zip(
        looks, found.groupby("step", sort=False), strict=False
    ):
        spread = [rows["reward"] - rows["reward_low"], rows["reward_high"] - rows["reward"]]
        look = {"fmt": mark, "color": colour, "markersize": size, "markerfacecolor": "none"}
        axis.errorbar(rows["kappa"], rows["reward"], spread, label=f"$c = {step:g}$", **look)
    axis.set(xscale="log", xlabel=r"$\kappa$ (per scaled content)", ylim=(0, None))
    axis.set(ylabel="reward per epoch (value units)")
    axis.set_xticks(np.unique(kappas), [f"{k:g}" for k in np.unique(kappas)])
    axis.minorticks_off()
    axis.legend()
    ends = found.groupby("step", sort=False)["at_bounds"].mean()
    told = ", ".join(f"{100 * share:.0f}% at $c = {step:g}$" for step, share in ends.items())
    plain = ", ".join(f"{100 * share:.0f}% at c = {step:g}" for step, share in ends.items())
    save_figure(
        "learning-as-printed-steps",
        fig,
        found,
        caption="Reward of the printed scheme over the second halves of "
        f"{found['runs'].min()} runs or more of each $\\kappa$ and $c$, with 95% intervals, and "
        f"what the upper bounds are worth. Of the thresholds {told} end on their bounds.",
        alt="Reward against kappa: a curve for thresholds at their upper bounds, and marks for "
        f"runs with several step sizes. Of the thresholds {plain} end on their bounds.",
    )
