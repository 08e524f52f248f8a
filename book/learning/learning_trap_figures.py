"""Figures of the page `learning-trap`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral import Sources
from analysis.results import student_band
from book.learning.learning_trap import AGE, AtPrice
from scorecard import COLOURS, add_legend, add_panels, fold_names, ink, save_figure

RIVAL = (4.0, 2.0)
"""Indices of source 2 of the worked example at ages 2 and 1."""


def draw_trap(truth: Sources, believed: Sources) -> None:
    """Draw the content of source 1 by age, as it is and as it is believed to be."""
    age = np.linspace(0, 6, 121)
    both = {"truth": truth, "belief": believed}
    content = {name: sources.state_at_age(age[:, None])[:, 0] for name, sources in both.items()}
    meeting = float(truth.state_at_age(np.array([AGE] * len(truth)))[0])

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, name in zip(COLOURS, ("-", "--"), content, strict=False):
            axis.plot(age, content[name], color=colour, linestyle=style, label=name)
        axis.plot(AGE, meeting, "o", color=ink(), label="what each crawl finds on average")
        axis.set(xlabel="age of source 1 (epochs)", ylabel="content (value units)")
        axis.set(xlim=(0, 6), ylim=(0, None))
        add_legend(figure)
        return pd.DataFrame({"age": age, **content})

    save_figure(
        "learning-trap-meeting",
        draw,
        f"The trap: a wrong belief predicts what is found at age {AGE}, and asks for the next "
        f"crawl at age {AGE} again. At every other age it is wrong, and no crawl is made there.",
        f"Two rising curves of content against age, truth and belief, that meet at age {AGE} at "
        f"{meeting:.1f}. At age 1 the truth is {truth.u[0]:.1f} and the belief "
        f"{believed.u[0]:.1f}.",
        height=3.0,
    )


def draw_curve(table: pd.DataFrame) -> None:
    """Draw what beliefs on the curve of age 2 make of the index, and which confirm themselves."""
    trapped = table[table.gap == 2]
    ends = float(trapped.alpha.min()), float(trapped.alpha.max())
    sentence = (
        f"Beliefs with alpha from {ends[0]:.2f} to {ends[1]:.2f} confirm themselves."
        if len(trapped)
        else "None of the beliefs drawn confirms itself."
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for column, age, colour, style in (
            ("first", 1, *COLOURS[:1], "-"),
            ("second", 2, *COLOURS[1:2], "--"),
        ):
            line = {"color": colour, "linestyle": style}
            axis.plot(table.alpha, table[column], label=f"source 1 at age {age}, believed", **line)
        for value, age, style in zip(RIVAL, (2, 1), (":", "-."), strict=True):
            axis.axhline(value, color=ink(), lw=0.8, ls=style, label=f"source 2 at age {age}")
        if len(trapped):
            axis.axvspan(*ends, color=COLOURS[2], alpha=0.15, lw=0)
        axis.axvline(0.1, color=COLOURS[2], lw=1.2)
        axis.set(xlabel="believed alpha of source 1", ylabel="index (value units)", xlim=(0, 1))
        add_legend(figure)
        return table

    save_figure(
        "learning-trap-curve",
        draw,
        "Indices of source 1 under beliefs that all predict what a crawl at age 2 finds; the "
        "shaded ones alternate and are never contradicted on average. The vertical line is the "
        "truth.",
        f"Both believed indices fall from 9.9 to 0 as alpha grows. {sentence}",
    )


def draw_price(at_price: AtPrice) -> None:
    """Draw the loss at a given price against the number of crawls, with its proved bound."""
    ends = [lost[:, -1].mean() for lost in (at_price.optimistic, at_price.plain)]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        frames = []
        for name, lost, colour, style in (
            ("optimism about the gain", at_price.optimistic, COLOURS[0], "-"),
            ("the most likely pair", at_price.plain, COLOURS[1], "--"),
        ):
            mean, low, high = student_band(lost)
            axis.plot(at_price.crawls, mean, color=colour, ls=style, label=name)
            axis.fill_between(
                at_price.crawls, np.maximum(low, 1e-3), high, color=colour, alpha=0.2, lw=0
            )
            row = {"rule": name, "crawls": at_price.crawls, "mean": mean, "low": low, "high": high}
            frames.append(pd.DataFrame(row | {"bound": at_price.bound}))
        axis.plot(at_price.crawls, at_price.bound, color=ink(), ls=":", label="bound for optimism")
        axis.set(xscale="log", yscale="log", xlabel="crawls", ylabel="loss so far (value units)")
        add_legend(figure)
        return pd.concat(frames)

    save_figure(
        "learning-trap-price",
        draw,
        f"Loss of one source at a given price, mean of {len(at_price.plain)} streams with 95% "
        "bands.",
        f"After {at_price.crawls[-1]} crawls optimism about the gain has lost {ends[0]:.0f}, the "
        "most "
        f"likely pair {ends[1]:.0f}; the bound is {at_price.bound[-1]:.0f}.",
        height=3.6,
    )


def draw_losses(table: pd.DataFrame, sets: int) -> None:
    """Draw the loss of each rule in the second half of each horizon, one panel a horizon."""
    last = table[table.horizon == table.horizon.max()].set_index("rule")["mean"]
    # Rules of the longest horizon first, by their loss, then the others by their last loss.
    ends = table.drop_duplicates("rule", keep="last").sort_values(["horizon", "mean"])
    rules = ends.sort_values("horizon", ascending=False, kind="stable")["rule"].to_list()

    def draw(figure: Figure) -> pd.DataFrame:
        horizons = table.horizon.unique()
        height = {rule: number for number, rule in enumerate(reversed(rules))}
        for axis, horizon in zip(
            add_panels(figure, len(horizons), sharex=True, sharey=True), horizons, strict=True
        ):
            rows = table[table.horizon == horizon]
            reach = np.array([rows["mean"] - rows.low, rows.high - rows["mean"]])
            look = {"fmt": "o", "color": COLOURS[0], "capsize": 2, "markersize": 5}
            axis.errorbar(rows["mean"], rows.rule.map(height), xerr=reach, **look)
            axis.axvline(0, color=ink(), lw=0.6)
            axis.set_xscale("symlog", linthresh=0.1)
            axis.set_xticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
            axis.minorticks_off()
            axis.set_yticks(list(height.values()), fold_names(figure, height))
            axis.set_title(f"{horizon:,} epochs")
        figure.supxlabel("loss in the second half (%)")
        return table

    save_figure(
        "learning-trap-losses",
        draw,
        f"At the longest horizon *{last.idxmin()}* loses least, {last.min():.3f}%. Loss against "
        "the index policy with known rates in the second half of each horizon, for the rules that "
        f"were played so long: mean over {sets} random sets with 95% intervals (linear within "
        "0.1%).",
        "Loss in % at the longest horizon: "
        + ", ".join(f"{rule} {value:.2g}" for rule, value in last.items())
        + ".",
        height=3.4,
    )
