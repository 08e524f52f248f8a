"""Pictures of four sources: the value of content, the states of two cycles, the running average."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.simulation import Cycle, simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.pictures import SHOWN, draw_source, shown_in_words, trajectory_frame
from analysis.published import printed_number
from analysis.report import (
    COLOURS,
    as_markdown,
    as_mathtext,
    as_plain,
    counted,
    figure,
    is_document_run,
    listed,
    save_figure,
)


def _redraws(of: str) -> str:
    """Return a text on the document's figure that this one redraws, in a run of the document."""
    return f" Redraws {of}." if is_document_run() else ""


def _labels(sources: Sources) -> list[str]:
    return [f"source {name}" for name in sources.names or ()]


def save_content_value(sources: Sources) -> None:
    """Draw the value of one item of each source against its age (the report's Figure 1)."""
    times = np.linspace(0, 10 * sources.period, 201)
    value = sources.mean_utility[:, None] * np.exp(-np.outer(sources.decay_rate, times))
    labels = _labels(sources)
    fig, axis = figure(height=3.4)
    for i, label in enumerate(labels):
        style = ["-", "--", "-.", ":"][i % 4]
        axis.plot(times, value[i], color=COLOURS[i % 7], linestyle=style, label=as_mathtext(label))
    axis.set(xlabel="time since publication (time units)", ylabel="value of an item")
    axis.set_xlim(0, times[-1])
    axis.legend()
    names = {"caption": list(map(as_markdown, labels)), "alt": list(map(as_plain, labels))}
    said = {part: value_in_words(sources, some) for part, some in names.items()}
    save_figure(
        "four-sources-content-value",
        fig,
        pd.DataFrame({"time": times, **dict(zip(labels, value, strict=True))}),
        caption=f"The value of one item of each source against its age. {said['caption']}"
        f"{_redraws('Figure 1 of the report')}",
        alt=f"Exponentially falling curves, one a source. {said['alt']}",
    )


def value_in_words(sources: Sources, labels: Sequence[str]) -> str:
    """Return a text on the items of highest and lowest utility and of slowest decay."""
    utility, decay = sources.mean_utility, sources.decay_rate
    if len(sources) == 1:
        half = np.log(2) / decay[0]
        return f"An item is worth {utility[0]:g} at first, and half of it after {half:.3g}."
    if np.ptp(utility) == 0:
        start = "The items of all sources start alike"
    else:
        high, low = (
            listed([label for label, at in zip(labels, utility == end, strict=True) if at])
            for end in (utility.max(), utility.min())
        )
        start = f"An item of {high} starts highest, one of {low} lowest"
    if np.ptp(decay) == 0:
        return f"{start}; interest lasts equally long in all."
    long = [label for label, at in zip(labels, decay == decay.min(), strict=True) if at]
    return f"{start}; interest in {listed(long)} lasts longest."


def save_states(
    id: str, sources: Sources, budget: int, horizon: int, initial_state: str, cycle: Cycle, of: str
) -> None:
    """Draw the content of the first six sources under the index policy, and its crawls."""
    labels, shown = _labels(sources), range(min(len(sources), SHOWN))
    run = simulate(sources, "whittle", budget, horizon, initial_state=initial_state)
    shares = [
        f"crawled at {f:.0%} of the epochs" if f else "never crawled" for f in cycle.frequency
    ]
    fig, axes = figure(len(shown), 1, height=1 + 1.25 * len(shown), sharex=True, squeeze=False)
    for i in shown:
        draw_source(axes[i, 0], sources, run, i, COLOURS[i % 7])
        axes[i, 0].set_title(f"{as_mathtext(labels[i])}: {shares[i]}", fontsize="small")
    axes[-1, 0].set_xlabel("epoch")
    fig.supylabel("expected content (value units)", fontsize="medium")
    said = "; ".join(f"{as_plain(labels[i])} {shares[i]}" for i in shown)
    save_figure(
        id,
        fig,
        trajectory_frame(sources, run),
        caption=f"Content of {shown_in_words(sources)} and crawls (dots) under the index policy "
        f"with $M = {budget}$, from {initial_state} sources. {rhythm(cycle)}; the dotted "
        f"line is $u^*$.{_redraws(of)}",
        alt=f"Saw-tooth curves of the content of {counted(len(shown), 'source')} over "
        f"{counted(horizon, 'epoch')} with {budget} crawled at each. In the long run: {said}. "
        f"{rhythm(cycle)}.",
    )


def rhythm(cycle: Cycle) -> str:
    """Return a text on how the crawls of a cycle repeat."""
    if not cycle.repeats:
        return "No ages come twice in the longest run that is tried"
    if cycle.period == 1:
        return "The crawls are the same at every epoch"
    return f"The crawls repeat with period {cycle.period}"


def save_running_average(
    sources: Sources, budget: int, running: dict[str, Floats], cycle: Cycle, *, document: bool
) -> None:
    """Draw the running average of the reward from each initial state, and the long run."""
    long_run = cycle.average_reward
    fig, axis = figure(height=3.6)
    for colour, style, (state, average) in zip(
        COLOURS, ("-", "--", "-."), running.items(), strict=False
    ):
        epochs = np.arange(1, average.size + 1)
        name = f"from {state} sources"
        axis.plot(epochs[3:], average[3:], color=colour, linestyle=style, label=name)
    axis.axhline(long_run, color="black", linewidth=1, label=f"long run: {long_run:.2f}")
    if document:
        point = (61, printed_number("A-r-25466"))
        axis.plot(*point, "o", color="black", markersize=6, label=f"printed: {point[1]}")
    axis.set(xlabel="epochs averaged over", ylabel="average reward per epoch (value units)")
    axis.set_xlim(0, 203)
    axis.legend(loc="lower right")
    save_figure(
        "four-sources-running-average",
        fig,
        pd.DataFrame({"epochs": epochs, **{f"from {k}": v for k, v in running.items()}}),
        caption=f"Average reward of the index policy over the first $n$ epochs, $M = {budget}$, "
        f"from three initial states. All tend to {long_run:.2f}; after {epochs[-1]} epochs they "
        f"{still_apart([v[-1] for v in running.values()])}.",
        alt="Three curves of the running average, from empty, fresh and full sources, approach the "
        f"long-run value {long_run:.2f}.",
    )


def still_apart(averages: Sequence[float]) -> str:
    """Return a text on how much averages differ, to two decimals."""
    apart = float(np.ptp(averages))
    return f"still differ by {apart:.2f}" if apart >= 0.005 else "differ by less than 0.01"
