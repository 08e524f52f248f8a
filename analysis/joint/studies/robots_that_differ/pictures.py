"""Figures of the page `robots-that-differ`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, save_figure

LOOKS = (
    ("fast first", "fast first, at its best", ":", COLOURS[3]),
    ("one order", "better of the two orders", "-.", COLOURS[2]),
    ("line", "linear rule, one threshold", "--", COLOURS[1]),
    ("linear", "linear rule, two thresholds", "-", COLOURS[0]),
)


def save_scan(scan: pd.DataFrame) -> None:
    """Draw costs and active robots of the example against the price of a start."""
    fig, axes = figure(1, 2, width=9, height=3.8)
    for name, style, colour in (
        ("fast first", ":", COLOURS[3]),
        ("slow first", "-.", COLOURS[2]),
        ("linear", "--", COLOURS[1]),
    ):
        lost = 100 * (scan[name] / scan["optimum"] - 1)
        axes[0].plot(scan["price"], lost, style, color=colour, label=name)
    axes[0].set(ylabel="loss against the optimum (%)")
    axes[0].legend(fontsize="small")
    for name, style, colour in (("fast", "-", COLOURS[4]), ("slow", "--", COLOURS[5])):
        axes[1].plot(scan["price"], scan[name], style, color=colour, label=name)
    axes[1].set(ylabel="mean active robots at the optimum", ylim=(0, None))
    axes[1].legend(fontsize="small")
    for axis in axes:
        axis.set(xlabel="price of the start of a fast robot (lost pages)")
    first, last = scan.iloc[0], scan.iloc[-1]
    worst = {n: scan[n].div(scan["optimum"]).max() - 1 for n in ("fast first", "slow first")}
    linear = scan["linear"].div(scan["optimum"]).max() - 1
    save_figure(
        "robots-that-differ-price",
        fig,
        scan,
        caption="What the best controls with a fixed order of the kinds, and the tuned linear rule "
        "with a threshold for each kind, lose against the optimum (first), and how many robots of "
        "each kind the optimum has active (second), by the price of the start of a fast robot.",
        alt=f"Losses reach {worst['fast first']:.1%} with the fast kind first, "
        f"{worst['slow first']:.1%} with the slow kind first, {max(linear, 0.0):.2%} by the linear "
        f"rule. At the lowest price {first['fast']:.2f} fast and {first['slow']:.2f} slow robots "
        f"are active on average, at the highest {last['fast']:.2f} and {last['slow']:.2f}.",
    )


def save_losses(free: pd.DataFrame, priced: pd.DataFrame) -> None:
    """Draw the losses on random systems in rising order, without and with prices."""
    fig, axes = figure(1, 2, width=9, height=4.0, sharey=True)
    share = (np.arange(len(free)) + 0.5) / len(free)
    data = {"share of the systems": share}
    for axis, found, part in zip(axes, (free, priced), ("no prices", "prices"), strict=True):
        for name, label, style, colour in LOOKS:
            lost = np.sort(found[name].to_numpy())
            axis.plot(share, 100 * lost, style, color=colour, label=label)
            data[f"{name}, {part}"] = lost
        axis.set(xlabel="share of the systems", title=part)
        axis.set_yscale("symlog", linthresh=0.01)
    highest = 100 * max(free.to_numpy().max(), priced.to_numpy().max())
    axes[0].set(ylabel="loss against the optimum (%)", ylim=(0, max(1.5 * highest, 0.02)))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    worst = [
        f"{part}, the fast kind first loses up to {found['fast first'].max():.1%} and the linear "
        f"rule with two thresholds up to {found['linear'].max():.1%}"
        for part, found in (("Without prices", free), ("With prices", priced))
    ]
    save_figure(
        "robots-that-differ-losses",
        fig,
        pd.DataFrame(data),
        caption="Losses against the exact optimum on random systems, in rising order, without "
        "prices (first) and with a price of the start of each kind (second); linear below 0.01%.",
        alt=f"Two panels of four rising curves over {len(free)} systems each. {worst[0]}. "
        f"{worst[1]}.",
    )
