"""Pictures of millions of sources: times of an epoch, rewards, limits on ages, parts."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ephemeral.studies.at_scale import noise_of_parts
from analysis.report import COLOURS, figure, save_figure

Floats = NDArray[np.float64]
#: Ways to run an epoch, as measured/scale.csv calls them: label, marker and line.
WAYS = {
    "printed": ("printed formula, partial sort", "s", "-"),
    "scan": ("fused scan", "^", "--"),
    "calendar": ("calendar", "o", "-"),
}


def save_times(passes: pd.DataFrame, cpus: int) -> None:
    """Draw the time of an epoch each way, in bare passes, against the number of sources.

    Parameters
    ----------
    passes : pandas.DataFrame
        One column a way, one row a number of sources.
    cpus : int
        Cores of the machine that measured.
    """
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
    """Draw the reward of each epoch from two initial states, in units of the relaxed bound.

    Parameters
    ----------
    paths : dict of str to ndarray, shape (epochs,)
        From spread ages, and from sources all crawled at once.
    size, budget : int
        Sources, and crawls per epoch.
    """
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


def save_limits(price: pd.DataFrame, size: int) -> None:
    """Draw what minimal and maximal ages cost: the policy's price, and the least possible.

    Parameters
    ----------
    price : pandas.DataFrame
        As `analysis.ephemeral.studies.at_scale.price_of_limits` returns it.
    size : int
        Sources.
    """
    least, most = price[np.isinf(price.max_age)], price[np.isfinite(price.max_age)]
    fig, axes = figure(1, 2, height=3.5, sharey=True)
    sides = ((least, "min_age", "minimal age (epochs)"), (most, "max_age", "maximal age (epochs)"))
    for axis, (part, column, label) in zip(axes, sides, strict=True):
        line = {"color": COLOURS[0], "linestyle": "--", "label": "relaxed bound under the limit"}
        axis.loglog(part[column], 100 * part.relaxed, **line)
        dots = {"color": COLOURS[1], "label": "index policy under the limit"}
        axis.loglog(part[column], 100 * part.policy, "o", **dots)
        axis.set(xlabel=label)
    axes[0].set(ylabel="price (% of the reward without)")
    axes[0].legend(loc="lower right")
    difference = price.policy - price.relaxed
    save_figure(
        "at-scale-limits",
        fig,
        price,
        caption="What a minimal age (first) and a maximal age (second), the same for all "
        f"{size:,} sources, cost in % of the relaxed bound without limits. Dots: the "
        "policy; line: the least that any policy must lose. They differ by at most "
        f"{difference.abs().max():.2%} of the bound.",
        alt="Two panels on logarithmic axes. The price goes with the minimal age from "
        f"{least.policy.iloc[0]:.2%} to {least.policy.iloc[-1]:.0%}, and with the maximal "
        f"age from {most.policy.iloc[0]:.0%} to {most.policy.iloc[-1]:.2%}. The dots of the policy "
        f"lie between {difference.min():+.2%} and {difference.max():+.2%} of the bound from the "
        "lines.",
    )


def save_parts(simulated: pd.DataFrame, bounds: pd.DataFrame, size: int) -> None:
    """Draw what a split over machines costs, under fixed quotas and with a shared multiplier.

    Parameters
    ----------
    simulated, bounds : pandas.DataFrame
        As `analysis.ephemeral.studies.at_scale.price_of_parts` and `bound_of_parts` return them.
    size : int
        Sources in all.
    """
    fig, axis = figure(height=3.7)
    noise = noise_of_parts(simulated)
    for colour, marker, (split, bound) in zip(COLOURS, "os", bounds.groupby("split"), strict=False):
        fixed = simulated[(simulated.split == split) & ~simulated.exchange]
        name = f"fixed quotas, split {split}"
        line = {"color": colour, "linestyle": "--", "label": f"{name}: bound"}
        axis.loglog(size / bound.parts, 100 * bound.loss, **line)
        dots = {"color": colour, "label": f"{name}: simulated"}
        axis.errorbar(
            size / fixed.parts, 100 * fixed.loss.clip(lower=1e-9), 100 * fixed.resolution,
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
        "at-scale-parts",
        fig,
        pd.concat(
            [simulated.assign(kind="simulated"), bounds.assign(kind="bound", exchange=False)]
        ),
        caption=f"What is lost by splitting {size:,} sources over machines. Lines: loss of the "
        "relaxed bound under fixed quotas; dots: of simulated runs on the same splits, where they "
        "lose, with half the difference of the run's two halves as bars. With a shared multiplier "
        f"the simulated loss is within {noise:.1e} of zero (band).",
        alt="Loss against sources on each machine, logarithmic axes. Fixed quotas on a random "
        "split lose in inverse proportion to the number of sources on a machine, on a split by "
        f"decay rate {by_decay.min():.2%} to {by_decay.max():.2%}; a shared multiplier loses at "
        f"most {noise:.1e}.",
    )
