"""Figures of the page `many-machines`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.ephemeral.studies.many_machines.experiment import BLOCKS
from analysis.ephemeral.studies.many_machines.numbers import loss_with_multiplier
from analysis.report import COLOURS, figure, save_figure


def save_limits(price: pd.DataFrame, size: int) -> None:
    """Draw what minimal and maximal ages cost: the policy's price, and the least possible."""
    least, most = price[np.isinf(price.max_age)], price[np.isfinite(price.max_age)]
    fig, axes = figure(1, 2, height=3.5, sharey=True)
    sides = ((least, "min_age", "minimal age (epochs)"), (most, "max_age", "maximal age (epochs)"))
    for axis, (part, column, label) in zip(axes, sides, strict=True):
        line = {"color": COLOURS[0], "linestyle": "--", "label": "relaxed bound under the limit"}
        axis.loglog(part[column], 100 * part.relaxed, **line)
        dots = {"color": COLOURS[1], "label": "index policy under the limit"}
        axis.loglog(part[column], 100 * part.policy, "o", **dots)
        bars = {"fmt": "none", "ecolor": COLOURS[1], "capsize": 2}
        axis.errorbar(part[column], 100 * part.policy, 100 * part.half_width, **bars)
        axis.set(xlabel=label)
    axes[0].set(ylabel="price (% of the reward without)")
    axes[0].legend(loc="lower right")
    difference = price.policy - price.relaxed
    save_figure(
        "many-machines-limits",
        fig,
        price,
        caption="What a minimal age (first) and a maximal age (second), the same for all "
        f"{size:,} sources, cost in % of the relaxed bound without limits. Dots: the "
        f"policy, with 95% intervals from {BLOCKS} parts of the run; line: the least that any "
        f"policy must lose. They differ by at most {difference.abs().max():.2%} of the bound.",
        alt="Two panels on logarithmic axes. The price goes with the minimal age from "
        f"{least.policy.iloc[0]:.2%} to {least.policy.iloc[-1]:.0%}, and with the maximal "
        f"age from {most.policy.iloc[0]:.0%} to {most.policy.iloc[-1]:.2%}. The dots of the policy "
        f"lie between {difference.min():+.2%} and {difference.max():+.2%} of the bound from the "
        "lines.",
    )


def save_parts(simulated: pd.DataFrame, bounds: pd.DataFrame, size: int) -> None:
    """Draw what a split over machines costs, under fixed quotas and with a shared multiplier."""
    fig, axis = figure(height=3.7)
    noise = loss_with_multiplier(simulated)
    for colour, marker, (split, bound) in zip(COLOURS, "os", bounds.groupby("split"), strict=False):
        fixed = simulated[(simulated.split == split) & ~simulated.exchange]
        name = f"fixed quotas, split {split}"
        line = {"color": colour, "linestyle": "--", "label": f"{name}: bound"}
        axis.loglog(size / bound.parts, 100 * bound.loss, **line)
        dots = {"color": colour, "label": f"{name}: simulated"}
        axis.errorbar(
            size / fixed.parts, 100 * fixed.loss.clip(lower=1e-9), 100 * fixed.half_width,
            fmt=marker, **dots,
        )  # fmt: skip
    band = {"color": COLOURS[2], "alpha": 0.25}
    axis.axhspan(1e-9, 100 * noise, label="shared multiplier, both splits: simulated", **band)
    lowest, highest = 100 * min(bounds.loss.min(), noise), 1e4 * bounds.loss.max()
    axis.set(xlabel="sources on each machine", ylabel="loss (% of the reward)")
    axis.set_ylim(0.3 * lowest, highest)
    axis.legend(loc="upper right", fontsize="small")
    by_decay = bounds[bounds.split == "by decay rate"].loss
    save_figure(
        "many-machines-parts",
        fig,
        pd.concat(
            [simulated.assign(kind="simulated"), bounds.assign(kind="bound", exchange=False)]
        ),
        caption=f"What is lost by splitting {size:,} sources over machines. Lines: loss of the "
        "relaxed bound under fixed quotas; dots: of simulated runs on the same splits, where they "
        f"lose, with 95% intervals from {BLOCKS} parts of a run. With a shared multiplier "
        f"the simulated loss is within {noise:.1e} of zero (band).",
        alt="Loss against sources on each machine, logarithmic axes. Fixed quotas on a random "
        "split lose in inverse proportion to the number of sources on a machine, on a split by "
        f"decay rate {by_decay.min():.2%} to {by_decay.max():.2%}; a shared multiplier loses at "
        f"most {noise:.1e}.",
    )
