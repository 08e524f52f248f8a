"""Figures of the page `robots-and-sources`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, counted, figure, moves, save_figure


def save_curves(optimum: pd.DataFrame, rule: pd.DataFrame) -> None:
    """Draw the switching curves of the optimum and of the rule."""
    fig, axes = figure(1, 2, height=3.4, sharey=True)
    for axis, frame, title in zip(axes, (optimum, rule), ("optimum", "rule of thumb"), strict=True):
        for name, label, style, colour in (
            ("alone", "no other robot in flight", "o-", COLOURS[0]),
            ("second", "one in flight to the other source", "s--", COLOURS[1]),
        ):
            axis.plot(frame["age"], frame[name], style, color=colour, label=label)
        axis.set(xlabel="age of the source (epochs)", title=title)
        axis.set_xticks(frame["age"])
    axes[0].set(ylabel="longest queue (pages)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=1)
    data = optimum.merge(rule, on="age", suffixes=(", optimum", ", rule"))
    first, last = optimum.iloc[0], optimum.iloc[-1]
    save_figure(
        "robots-and-sources-curves",
        fig,
        data,
        caption="Longest queue at which a robot is sent to a source, by the age of the source, "
        "where the other source has just been crawled; -1 where none is sent at any queue.",
        alt="Two panels, optimum and rule, with two curves of a longest queue against age. In the "
        f"optimum a robot alone is sent {_queues(first['alone'])} at age 0 and "
        f"{_queues(last['alone'])} at age {last['age']}; one beside another in flight "
        f"{_queues(first['second'])} and {_queues(last['second'])}.",
    )


def _queues(longest: int) -> str:
    """Return the queues at which a robot is sent, by the longest of them; -1 for none."""
    return f"up to {counted(int(longest), 'page')}" if longest >= 0 else "at no queue"


def save_scan(scan: pd.DataFrame) -> None:
    """Draw gains and robots in flight against the cost of a robot."""
    fig, axes = figure(1, 2, height=3.6)
    for name, label, style, colour in (
        ("optimum", "optimum", "-", COLOURS[0]),
        ("rule", "rule of thumb", "--", COLOURS[1]),
        ("stopped", "blind index, stopped", "-.", COLOURS[2]),
        ("fixed", "blind index, best number", ":", COLOURS[3]),
    ):
        axes[0].plot(scan["running"], scan[name], style, color=colour, label=label)
    axes[0].set(ylabel="gain per unit of time")
    axes[1].plot(scan["running"], scan["robots"], "-", color=COLOURS[0])
    axes[1].plot(scan["running"], scan["rule robots"], "--", color=COLOURS[1])
    axes[1].set(ylabel="mean robots in flight", ylim=(0, None))
    for axis in axes:
        axis.set(xlabel="cost of a robot per unit of time")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    first, last = scan.iloc[0], scan.iloc[-1]
    save_figure(
        "robots-and-sources-scan",
        fig,
        scan,
        caption="What is earned, and how many robots are in flight, by what a robot costs.",
        alt="As robots become dearer, the gain of the optimum "
        f"{moves(first['optimum'], last['optimum'], 'z.2f')}, that of the rule "
        f"{moves(first['rule'], last['rule'], 'z.2f')}, and the mean number of robots in flight "
        f"{moves(first['robots'], last['robots'], 'z.2f')}.",
    )


def save_losses(found: pd.DataFrame) -> None:
    """Draw the losses of the rules on random systems in rising order."""
    fig, axis = figure(height=3.4)
    share = (np.arange(len(found)) + 0.5) / len(found)
    data = {"share of the systems": share}
    for name, label, style, colour in (
        ("rule", "rule of thumb", "-", COLOURS[1]),
        ("stopped", "blind index, stopped", "-.", COLOURS[2]),
        ("fixed", "blind index, best number", ":", COLOURS[3]),
    ):
        lost = np.sort(found[name].to_numpy())
        axis.plot(share, 100 * lost, style, color=colour, label=label)
        data[label] = lost
    axis.set(xlabel="share of the systems", ylabel="loss against the optimum (%)")
    axis.set_yscale("symlog", linthresh=0.1)
    axis.legend(fontsize="small")
    medians = {name: found[name].median() for name in ("rule", "stopped", "fixed")}
    save_figure(
        "robots-and-sources-losses",
        fig,
        pd.DataFrame(data),
        caption="Losses against the exact optimum on random systems, in rising order, as shares of "
        "the bound on what can be earned and the cost of a unit of starvation; linear below 0.1%.",
        alt=f"Three rising curves over {len(found)} systems. Medians: rule of thumb "
        f"{medians['rule']:.1%}, blind index with a stop {medians['stopped']:.1%}, blind index "
        f"with the best number of robots {medians['fixed']:.1%}.",
    )
