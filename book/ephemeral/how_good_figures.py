"""Figures of the page `how-good`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from book.ephemeral.shared import EXACT, is_optimal
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    fold_names,
    format_range,
    ink,
    is_narrow,
    pluralise,
    save_figure,
)

#: Policies of the random sets, with what the page calls them.
LABELS = {
    "whittle": "index",
    "spread": "list, relaxed frequencies",
    "periodic": "constant gaps",
    "myopic": "myopic",
    "draws": "independent draws",
    "round-robin": "round robin",
}
_STYLES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1))]


def draw_policies(table: pd.DataFrame) -> None:
    """Draw the reward of each policy against the relaxed bound."""
    shares = 100 * (table.drop(index="relaxed bound") / table.loc["relaxed bound"] - 1)
    height = np.arange(len(shares))[::-1]
    below = shares.clip(upper=0.0).abs()
    fluid = shares.loc["fluid formula"]
    low, high = np.quantile(fluid, [0, 1]).tolist()
    beyond = (
        "The fluid formula lies above the bound: no policy can earn what it says."
        if (fluid > 0).all()
        else "What the fluid formula says is no reward of a policy, above the bound or not."
    )
    index = ", ".join(f"{gap:.2f}% at ${m}$" for m, gap in below.loc["index"].items())
    by_index, by_optimum = (below.loc[name].to_numpy() for name in ("index", "exact optimum"))
    short = by_index - by_optimum
    optimum = (
        "equals the exact optimum at every budget"
        if (short < 0.005).all()
        else f"is below the exact optimum by {short.max():.2f}% of the bound at most"
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for j, (column, marker) in enumerate(zip(shares, "os^", strict=False)):
            look = {"color": COLOURS[j], "markersize": 6, "label": f"${column}$"}
            axis.plot(shares[column], height + 0.2 * (1 - j), marker, **look)
        axis.axvline(0, color=ink(), linewidth=1)
        axis.set_yticks(height, fold_names(figure, shares.index))
        axis.set_xscale("symlog", linthresh=0.1, linscale=0.7)
        ticks = [-20, -10, -5, -2, -1, -0.5, -0.1, 0, 0.5, 2]
        ticks = [-20, -5, -1, -0.1, 0, 0.5, 2] if is_narrow(figure) else ticks
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()
        axis.set(xlabel="reward per epoch against the relaxed bound (%)")
        axis.set_xlim(-30, 4)
        add_legend(figure)
        return shares.reset_index(names="policy")

    save_figure(
        "how-good-policies",
        draw,
        caption="Long-run reward of each policy on the four sources, in percent above or below the "
        "relaxed bound (the scale is linear within 0.1% and logarithmic beyond). The index policy "
        f"{optimum}; the optimum lies at most {by_optimum.max():.2f}% below the "
        f"bound. {beyond}",
        alt=f"Dots for {len(shares)} rows and {pluralise(len(shares.columns), 'budget')} against a "
        f"vertical line at the bound. The index lies below it by {index}; farthest to the left is "
        f"{shares.min(axis=1).idxmin()}, by {-shares.to_numpy().min():.0f}%; the fluid formula "
        f"lies {format_range(low, high, '+.2f')}% from it.",
        height=3.9,
    )


def draw_random_sets(instances: pd.DataFrame) -> None:
    """Draw the distribution of each policy's loss over random sets."""
    loss = 1 - instances[list(LABELS)]
    loss = 100 * loss.where(loss.abs() > EXACT, 0.0)
    share = 100 * np.arange(1, len(loss) + 1) / len(loss)
    exact, worst = is_optimal(instances).mean(), loss.max()
    order = ", ".join(LABELS[name] for name in loss.mean().sort_values(kind="stable").index)
    bound = np.ceil(10 * worst["whittle"]) / 10

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (name, label), colour, style in zip(LABELS.items(), COLOURS, _STYLES, strict=False):
            look = {"color": colour, "linestyle": style, "label": label}
            axis.step(np.sort(loss[name].clip(lower=0)), share, where="post", **look)
        axis.set_xscale("symlog", linthresh=0.01, linscale=0.5)
        axis.set_xticks([0, 0.01, 0.1, 1, 10], ["0", "0.01", "0.1", "1", "10"])
        axis.set(xlabel="loss against the exact optimum (%)", ylim=(0, 102), xlim=(0, 60))
        axis.set_ylabel("share of instances with no larger loss (%)")
        add_legend(figure)
        return loss.assign(sources=instances["sources"], budget=instances["budget"])

    save_figure(
        "how-good-random",
        draw,
        caption=f"Distribution of the loss over {len(loss)} random sets of three or four sources. "
        f"The index policy is optimal on {exact:.0%} of them and loses at most {bound:.1f}%; the "
        f"worst loss of the myopic policy is {worst['myopic']:.0f}%, that of the best list with "
        f"constant gaps {worst['periodic']:.0f}%.",
        alt=f"Six rising step curves. The one of the index policy starts at {exact:.0%} at no loss "
        f"and reaches the top below {bound:.1f}%. By mean loss, from the least: {order}.",
        height=4.1,
    )


def draw_periods(periods: pd.DataFrame) -> None:
    """Draw the period of the index policy's cycle against the budget."""
    size = int(periods.budget.max())
    looks = ((True, COLOURS[0], "o", -0.12), (False, COLOURS[1], "x", 0.12))
    median = periods.groupby("budget").period.median()
    ticks = [1, 2, 5, 10, 20, 50, 100]
    middle = periods[periods.budget == size // 2].trivial.mean()
    full = periods[periods.budget == size].trivial.mean()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for kind, colour, marker, side in looks:
            cycles = periods[periods.trivial == kind]
            spread = 0.18 * (cycles.instance / max(periods.instance.max(), 1) - 0.5)
            label = "trivial" if kind else "not trivial"
            look = {"color": colour, "markersize": 4, "alpha": 0.8, "linestyle": "none"}
            axis.plot(cycles.budget + side + spread, cycles.period, marker, label=label, **look)
        axis.plot(median.index, median, color=ink(), linewidth=1, label="median")
        axis.set(xlabel="sources crawled per epoch, M", ylabel="period of the cycle (epochs)")
        axis.set_yscale("log")
        axis.set_yticks(ticks, [f"{t}" for t in ticks])
        axis.minorticks_off()
        add_legend(figure)
        return periods

    save_figure(
        "how-good-periods",
        draw,
        caption=f"Period of the index policy's cycle on {periods.instance.nunique()} random sets "
        f"of {size} sources at every budget. With half of the sources crawled {middle:.0%} of the "
        f"cycles are trivial, with all of them {full:.0%}.",
        alt=f"Points of period against budget on a log scale, the longest {periods.period.max()} "
        f"epochs. The median is {median.iloc[0]:.0f} at M = 1 and {median.iloc[-1]:.0f} at "
        f"M = {size}, where {full:.0%} of the cycles are trivial.",
        height=3.6,
    )


def draw_observed(observed: pd.DataFrame, runs: int, horizon: int) -> None:
    """Draw the reward against the bunching of content, by the sources observed."""
    names = observed["observed"].unique()
    factors = observed["factor"].unique()
    ends = observed[observed.factor == factors[-1]].set_index("observed").reward
    gain = ends["all observed"] / ends["none observed"] - 1

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for name, colour, style, marker in zip(names, COLOURS, _STYLES, "o^sx", strict=False):
            line = observed[observed.observed == name]
            look = {"color": colour, "linestyle": style, "marker": marker, "markersize": 5}
            axis.plot(line.factor, line.reward, label=name, **look)
            axis.fill_between(
                line.factor, line.low, line.high, color=colour, alpha=0.2, linewidth=0
            )
        axis.set(xlabel="factor by which items are rarer and worth more", xscale="log")
        axis.set_ylabel("reward per epoch (value units)")
        axis.set_xticks(factors, [f"{f:g}" for f in factors])
        axis.minorticks_off()
        add_legend(figure)
        return observed

    save_figure(
        "how-good-observed",
        draw,
        caption="Reward of the index policy on the four sources at $M = 1$ with random content, by "
        "what it observes. Without observation it plays a fixed cycle, and the expected reward "
        "does not depend on how content is bunched; with all states observed it earns "
        f"{gain:+.0%} against that at a factor of {factors[-1]:g}. Bands: 95% intervals over "
        f"{runs} runs of {horizon} epochs.",
        alt="Curves of reward against bunching at the largest factor end at "
        + ", ".join(f"{ends[name]:.0f} with {name}" for name in names)
        + ".",
        height=3.6,
    )
