"""Figures of random arrivals: runs, crawl frequencies, and rewards against variability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral.simulation import Trajectory
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.simulation import Comparison
from analysis.results import Estimate
from book.ephemeral.shared import (
    SHOWN,
    describe_drawn_sources,
    draw_source,
    tabulate_rewards,
    tabulate_trajectory,
)
from book.ephemeral.stochastic_arrivals import FORMS
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    clean_for_markdown,
    clean_text,
    format_change,
    ink,
    is_document_run,
    label_names,
    pluralise,
    save_data,
    save_figure,
)
from scorecard.prints import printed_number

VARIABILITY = "variability of one item's utility (squared coefficient of variation)"


def printed_rewards() -> dict[str, float]:
    """Return the rewards that the documents print for the index, by the document's name."""
    return {
        "slides": printed_number("A-s-285"),
        "2019 paper": printed_number("B-283"),
    }


def draw_states(sources: Sources, run: Trajectory, budget: int, *, short: bool) -> None:
    """Draw the content and the crawls of the first six sources in one random run."""
    labels = [f"source {name}" for name in sources.names or ()]
    drawn, numbers = label_names((sources.names or ())[:SHOWN])
    panels = range(min(len(sources), SHOWN))
    shares = run.crawled.mean(axis=1)
    theorem = "the index of Theorem 1 (and x/C above u*)"
    how = f"{FORMS['remark']}, off the orbit" if short else theorem
    shares_text = "; ".join(f"{clean_text(labels[i])} at {shares[i]:.0%}" for i in panels)
    instead = " It stands for Figure 4 of the report, whose picture is lost."

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(panels), 1, sharex=True)
        for i in panels:
            draw_source(axes[i], sources, run, i, COLOURS[i % 7])
            title = f"source {drawn[i]}: crawled at {shares[i]:.0%} of these epochs"
            axes[i].set_title(title)
        axes[-1].set_xlabel("epoch")
        figure.supylabel("content (value units)")
        return tabulate_trajectory(sources, run)

    save_figure(
        f"stochastic-arrivals-states{'-short' if short else ''}",
        draw,
        caption=f"Content of {describe_drawn_sources(sources)} and crawls (dots) with random "
        "arrivals, "
        f"exponential utilities and $M = {budget}$, by {how}. The dotted line is $u^*$.{numbers}"
        + (" The arrivals are those of the figure before." if short else "")
        + (instead if is_document_run() and not short else ""),
        alt=f"Ragged saw-tooth curves of the content of {pluralise(len(panels), 'source')} over "
        f"{run.reward.size} epochs, {budget} crawled at each. Share of epochs with a crawl: "
        f"{shares_text}.",
        height=1 + 1.25 * len(panels),
    )


def save_runs(results: Mapping[str, Comparison]) -> None:
    """Save the reward of every run behind the table of rewards."""
    columns = {
        "law": "law of the utilities; a number behind it is its variability",
        "replication": "number of the run; the policies of one law share their arrivals",
        "policy": "policy; theorem is Theorem 1 to the letter, remark the Remark's short form",
        "reward": "reward per epoch",
    }
    save_data(
        "stochastic-arrivals-runs",
        tabulate_rewards(results, "law")[list(columns)],
        "One row a run and policy with random arrivals, by law of the utilities.",
        columns,
    )


def draw_frequency(
    variations: Sequence[float],
    frequencies: Mapping[str, Sequence[Estimate]],
    label: str,
    budget: int,
) -> None:
    """Draw how often the first source is crawled, by either form of the index."""
    ends = [(frequencies[rule][0].value, frequencies[rule][-1].value) for rule in FORMS]
    replications = frequencies["whittle"][0].replications

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        columns: dict[str, Sequence[float]] = {"squared coefficient of variation": variations}
        for colour, style, (rule, text) in zip(COLOURS, ("-o", "--s"), FORMS.items(), strict=False):
            columns |= _band(axis, variations, frequencies[rule], colour, style, text)
        axis.set(xscale="log", ylim=(0, 1.05), xlabel=VARIABILITY)
        axis.set_ylabel("crawls per epoch")
        add_legend(figure)
        return pd.DataFrame(columns)

    save_figure(
        "stochastic-arrivals-frequency",
        draw,
        caption=f"How often {clean_for_markdown(label)} is crawled at $M = {budget}$ when "
        "utilities have gamma laws of growing variability (1 is the exponential law). By the index "
        f"of Theorem 1 it {format_change(ends[0][0], ends[0][1], '.2f')}, by the short form it "
        f"{format_change(ends[1][0], ends[1][1], '.2f')}. Bands: 95% over {replications} runs.",
        height=3.4,
        alt="Two curves against variability on a logarithmic axis. By Theorem 1 the frequency "
        f"{format_change(ends[0][0], ends[0][1], '.2f')}, by the short form it "
        f"{format_change(ends[1][0], ends[1][1], '.2f')}.",
    )


def draw_variation(
    variations: Mapping[str, Sequence[float]],
    rewards: Mapping[str, Sequence[Estimate]],
    greedy: float,
    budget: int,
) -> None:
    """Draw the reward of the index against the variability of the utilities."""
    frames, sentences = [], []
    for family, values in rewards.items():
        columns = {"law": family, "squared coefficient of variation": variations[family]}
        mean, half = [e.value for e in values], [e.half_width for e in values]
        frames.append(pd.DataFrame({**columns, "mean": mean, "half width": half}))
        sentences.append(f"with {family} utilities it {format_change(mean[0], mean[-1], '.1f')}")
    data = pd.concat(frames)
    replications = next(iter(rewards.values()))[0].replications

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (family, values) in zip(
            COLOURS, ("-o", "--s"), rewards.items(), strict=False
        ):
            label = f"index, {family} utilities"
            _band(axis, variations[family], values, colour, style, label)
        axis.axhline(greedy, color=ink(), linewidth=1, linestyle=":", label="greedy, any law")
        if is_document_run():
            for (name, reward), height in zip(printed_rewards().items(), (4, -11), strict=True):
                axis.axhline(reward, color="grey", linewidth=1)
                axis.annotate(
                    f"printed {reward:g} ({name})",
                    (min(variations["gamma"]), reward),
                    xytext=(0, height),
                    textcoords="offset points",
                )
        axis.set(xscale="log", xlabel=VARIABILITY, ylabel="average reward per epoch (value units)")
        axis.set_ylim(top=max(300.0 if is_document_run() else greedy, 1.02 * data["mean"].max()))
        add_legend(figure)
        return data

    save_figure(
        "stochastic-arrivals-variation",
        draw,
        caption=f"Average reward of the index policy at $M = {budget}$ against the variability of "
        f"the utilities (1 is the exponential law): {'; '.join(sentences)}. Greedy earns "
        f"{greedy:.1f} "
        f"whatever the law. Bands: 95% over {replications} runs, with greedy as control variate.",
        alt=f"Two curves on a logarithmic axis: {'; '.join(sentences)}. Greedy is a horizontal "
        f"line at {greedy:.1f}.",
        height=3.8,
    )


def _band(axis, x, estimates, colour, style, text):  # type: ignore[no-untyped-def]
    """Draw a curve with its band; return its columns."""
    mean = np.array([estimate.value for estimate in estimates])
    half = np.array([estimate.half_width for estimate in estimates])
    axis.plot(x, mean, style, color=colour, markersize=4, label=text)
    axis.fill_between(x, mean - half, mean + half, color=colour, alpha=0.25, linewidth=0)
    return {text: mean, f"{text}, half width": half}
