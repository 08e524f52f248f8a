"""Figures of the page `learning-corrected`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.learning.scheme.lspe import Learned
from analysis.results import student_band
from book.learning.learning_corrected import BAD, ZERO
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    fold_names,
    format_plus_minus,
    ink,
    save_figure,
)
from scorecard.text import join_words, pluralise

LEAST_LOSS = 0.01
"""Per cent; where a smaller loss is drawn."""


def draw_curves(runs: Mapping[str, Learned], levels: Mapping[str, float], budget: int) -> None:
    """Draw reward per epoch in blocks, with 95% bands."""
    horizon = next(iter(runs.values())).expected.shape[1]
    block = max(horizon // 100, 1)
    epochs = (np.arange(horizon // block) + 0.5) * block
    data, ends = {"epoch": epochs}, {}
    for name, run in runs.items():
        if len(run.expected) < 2:
            continue
        mean, low, high = student_band(_average_blocks(run.expected, block))
        data |= {name: mean, f"{name}, low": low, f"{name}, high": high}
        ends[name] = (mean[0], run.late())
    index = next(iter(levels.values()))
    values_text = "; ".join(
        f"{name}: {format_plus_minus(late.value, late.half_width, 1)}, {late.replications} runs"
        for name, (_, late) in ends.items()
    )
    late_text = "; ".join(f"{name}: {late.value:.1f}" for name, (_, late) in ends.items())
    first = "; ".join(f"{name}: {mean:.0f}" for name, (mean, _) in ends.items())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        styles = zip(COLOURS[0:2] + COLOURS[3:4], ("-", "--", ":"), runs, strict=False)
        for colour, style, name in styles:
            if name not in ends:
                continue
            band = {"color": colour, "alpha": 0.25, "linewidth": 0}
            axis.fill_between(epochs, data[f"{name}, low"], data[f"{name}, high"], **band)
            axis.plot(epochs, data[name], color=colour, linestyle=style, label=name)
        looks = zip((ink(), COLOURS[2]), ("-", "-."), levels.items(), strict=True)
        for colour, style, (name, level) in looks:
            line = {"color": colour, "linestyle": style, "linewidth": 1.2}
            axis.axhline(level, label=f"{name}, {level:.1f}", **line)
        axis.set(xlabel="epoch", ylabel="reward per epoch (value units)")
        axis.set(xlim=(0, horizon), ylim=(0, 1.35 * index))
        add_legend(figure)
        return pd.DataFrame(data)

    save_figure(
        "learning-corrected-curves",
        draw,
        caption=f"Reward per epoch in blocks of {pluralise(block, 'epoch')}, $M = {budget}$, means "
        f"with 95% bands. In the last fifth, {late_text}.",
        alt=f"Learning curves. First block, {first}. In the last fifth, {values_text}. The index "
        f"policy earns {index:.1f}.",
        instances="learning-corrected-runs",
        height=4.2,
    )


def draw_ablation(ablation: pd.DataFrame, index: float, budget: int) -> None:
    """Draw the late reward of each variant, from both starts, with 95% intervals."""
    names = list(dict.fromkeys(ablation["taken back"]))
    position = {name: len(names) - 1 - i for i, name in enumerate(names)}
    lost = ablation[ablation.start == BAD].set_index("taken back").reward
    values_text = "; ".join(f"{name}: {value:.0f}" for name, value in lost.items())
    whole, worst = lost.iloc[0], lost.iloc[1:].nsmallest(3)
    worst_text = join_words([f"{name} ({value:.0f})" for name, value in worst.items()])

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        styles = zip(
            COLOURS, "os", (0.14, -0.14), ablation.groupby("start", sort=False), strict=False
        )
        for colour, marker, shift, (start, rows) in styles:
            reach = [rows.reward - rows.low, rows.high - rows.reward]
            axis.errorbar(
                rows.reward, rows["taken back"].map(position) + shift, xerr=reach, fmt=marker,
                color=colour, markersize=5, capsize=3, label=start,
            )  # fmt: skip
        axis.axvline(index, color=ink(), linewidth=1, label=f"index policy, {index:.1f}")
        axis.set_yticks(list(position.values()), fold_names(figure, names))
        axis.set(xlabel="reward per epoch, last fifth of the epochs\n(value units)")
        axis.set(xlim=(0, 1.06 * index))
        add_legend(figure)
        return ablation

    save_figure(
        "learning-corrected-ablation",
        draw,
        caption="One correction taken back at a time: from the bad start the corrected scheme "
        f"earns {whole:.0f}, and least is earned with {worst_text}. Reward in the last fifth of "
        f"{ablation.runs.max()} runs of the corrected scheme and {ablation.runs.min()} or more of "
        f"each other at $M = {budget}$, with 95% intervals.",
        alt=f"Dots for {len(names)} variants and two starts. From the bad start, "
        f"{values_text.replace('$', '')}; the index policy earns {index:.0f}.",
        height=4.4,
    )


def draw_tuning(by_kappa: pd.DataFrame, by_step: pd.DataFrame, index: float, budget: int) -> None:
    """Draw the loss against kappa and against c; `by_kappa` has the exact values too."""

    def loss(reward: ArrayLike) -> Floats:
        return np.maximum(100 * (1 - np.asarray(reward) / index), LEAST_LOSS)

    exact = ("thresholds held at 0", "best constant thresholds")
    clauses = [
        f"at {name} = {frame.index[-1]:g} it loses {describe_loss(frame[ZERO].iloc[-1], index)} "
        f"from zero and {describe_loss(frame[BAD].iloc[-1], index)} from the bad start"
        for name, frame in (("kappa", by_kappa), ("c", by_step))
    ]
    losses = "; ".join(clauses)

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        for axis, frame in zip(axes, (by_kappa, by_step), strict=True):
            styles = zip(COLOURS, "os", ("-", "--"), (ZERO, BAD), strict=False)
            for colour, marker, style, start in styles:
                ends = (loss(frame[f"{start}, {end}"]) for end in ("high", "low"))
                axis.fill_between(frame.index, *ends, color=colour, alpha=0.2, linewidth=0)
                axis.plot(
                    frame.index, loss(frame[start]), color=colour, linestyle=style, marker=marker,
                    markersize=4.5, label=f"learned, {start}",
                )  # fmt: skip
            axis.set(xscale="log", yscale="log")
            axis.set_xticks(frame.index, [f"{value:g}" for value in frame.index])
            axis.minorticks_off()
        for colour, style, marker, name in zip(
            (COLOURS[3], COLOURS[2]), (":", "-."), "^D", exact, strict=True
        ):
            axes[0].plot(
                by_kappa.index, loss(by_kappa[name]), color=colour, linestyle=style, marker=marker,
                markersize=4, label=name,
            )  # fmt: skip
        axes[0].set(xlabel="$\\kappa$ (per scaled content)", ylim=(0.008, 100))
        figure.supylabel("loss against the index policy (%)")
        axes[0].set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
        axes[1].set(xlabel="$c$ of the step sizes")
        add_legend(figure)
        return pd.concat([by_kappa.reset_index(), by_step.reset_index()])

    save_figure(
        "learning-corrected-tuning",
        draw,
        caption="What the corrected scheme loses in the last fifth of the runs, against $\\kappa$ "
        f"(first) and $c$ (second): {losses}. $M = {budget}$; 95% bands; smaller losses "
        f"than {LEAST_LOSS:g}% are drawn as {LEAST_LOSS:g}%.",
        alt=f"Two panels of losses on logarithmic axes: {losses}.",
        height=3.9,
    )


def describe_loss(reward: float, index: float) -> str:
    """Return the loss against the index policy, which a figure cannot show below its floor."""
    loss = 100 * (1 - reward / index)
    return f"{loss:.2g}%" if loss >= LEAST_LOSS else f"less than {LEAST_LOSS:g}%"


def _average_blocks(values: Floats, block: int) -> Floats:
    count = values.shape[1] // block
    cut = values[:, : count * block].reshape(len(values), count, block)
    return np.asarray(cut.mean(axis=2))
