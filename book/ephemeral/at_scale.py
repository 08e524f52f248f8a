"""The calendar at scale: every crawl against a full ranking, and what observed content is worth.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), sections 3 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.instances import lognormal_sources
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.scheduler.contents import ObservedScheduler
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.register import spread_ages
from analysis.ephemeral.sources import Sources, four_sources
from scorecard import COLOURS, add_legend, add_panels, fold_names, ink, save_figure

Ages = NDArray[np.int64]


class Agreement(NamedTuple):
    """Epochs compared with a ranking of all sources, and epochs with the same crawls."""

    equal: int
    epochs: int


def compare_with_full_ranking(sources: Sources, budget: int, ages: Ages, epochs: int) -> Agreement:
    """Compare every crawl of the scheduler with a ranking of all sources at their ages."""
    scheduler, age = Scheduler(sources, budget, ages), ages.copy()
    equal = 0
    for _ in range(epochs):
        best = _largest(whittle_index_at_age(sources, age), budget)
        equal += np.array_equal(np.sort(scheduler.crawl()[0]), np.sort(best))
        age += 1
        age[best] = 1
    return Agreement(equal, epochs)


def compare_observed_with_ages(
    point: tuple[int, int, int], rng: np.random.Generator
) -> dict[str, float]:
    """Crawl random content of random sources, with contents observed and by ages alone.

    ``gain`` of observing, relative; ``seeing`` and ``ages``, rewards in units of the relaxed bound
    on policies that observe ages alone, without the first half; ``equal``, epochs with the crawls
    of a full ranking; ``rankings``, how often the scheduler itself ranked all sources.
    """
    size, budget, epochs = point
    sources = lognormal_sources(size, rng)
    ages = spread_ages(sources, budget, rng)
    observing = ObservedScheduler(sources, budget, sources.state_at_age(ages))
    blind = Scheduler(sources, budget, ages)
    content = sources.state_at_age(ages)  # of the crawler that does not see it
    arrived = np.ascontiguousarray(Arrivals(sources).sample(epochs, rng).T)
    equal, earned = 0, np.zeros((epochs, 2))
    for epoch in range(epochs):
        best = _largest(whittle_index(sources, observing.state), budget)
        numbers, reward = observing.crawl(arrived[epoch])
        equal += np.array_equal(numbers, np.sort(best))
        chosen = blind.crawl()[0]
        earned[epoch] = reward.sum(), content[chosen].sum()
        content[chosen] = 0.0
        content = sources.alpha * content + arrived[epoch]
    seeing, by_age = earned[epochs // 2 :].mean(axis=0) / relaxed_bound(sources, budget)[0]
    return {
        "gain": seeing / by_age - 1,
        "seeing": seeing,
        "ages": by_age,
        "equal": equal,
        "rankings": observing.rebuilds,
    }


def _largest(rank: Floats, count: int) -> NDArray[np.intp]:
    return np.argpartition(rank, rank.size - count)[rank.size - count :]


# Values and tables


def collect_pass_values(measured: pd.DataFrame, passes: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the measured times, in bare passes."""
    last = passes.iloc[-1]
    return {
        "largest": int(passes.index[-1]),
        "first-below": int(passes.index[passes["calendar"] < 1].min()),
        "cpus": int(measured["cpus"].iloc[0]),
        "calendar-passes": last["calendar"],
        "printed-passes": last["printed"],
        "scan-passes": last["scan"],
        "speedup": last["printed"] / last["calendar"],
    }


def compare_with_compiled_ranking(benchmarks: pd.DataFrame) -> dict[str, float]:
    """Return the speed of the calendar as a multiple of a compiled ranking of all ages.

    ``compiled-ratio`` is at the largest number of sources, ``compiled-low`` and ``-high`` at the
    smallest, where every epoch of the calendar follows one of the ranking.
    """
    same = benchmarks["peer"].eq("compiled full ranking")
    rows = benchmarks[same & benchmarks["name"].eq("epoch of the calendar")]
    sizes = rows["note"].str.extract(r"N = (\S+),")[0].astype(float)
    ratio = rows["ratio"].groupby(sizes).agg(["min", "max"])
    if len(ratio) != 2 or (sizes == sizes.max()).sum() != 1:
        raise ValueError(f"benchmarks must rank two numbers of sources, got {sizes.tolist()}")
    few, many = ratio.index
    return {
        "compiled-ratio": float(ratio.loc[many, "max"]),
        "compiled-size": many,
        "compiled-low": float(ratio.loc[few, "min"]),
        "compiled-high": float(ratio.loc[few, "max"]),
        "compiled-smaller": few,
    }


# Figures


def draw_calendar(budget: int = 2, epochs: int = 15) -> None:
    """Draw when the report's four sources are crawled, and when each falls due again."""
    sources = four_sources()
    scheduler, age = Scheduler(sources, budget, spread_ages(sources, budget)), np.arange(1, epochs)
    crawled = [scheduler.crawl()[0] for _ in range(epochs)]
    times = [[t for t in range(epochs) if i in crawled[t]] for i in range(len(sources))]
    gaps = [np.diff(time) for time in times]
    # The threshold is the lowest index of these crawls, so that each source was due when crawled.
    index = whittle_index_at_age(sources, age[:, None] * np.ones(len(sources), np.int64))
    lowest = min(index[gap - 1, i].min() for i, gap in enumerate(gaps) if gap.size)
    due = (index < lowest).sum(axis=0) + 1
    rows = pd.DataFrame(
        [(i + 1, t, t + due[i]) for i, time in enumerate(times) for t in time],
        columns=["source", "crawled", "due"],
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        asleep = {"color": ink(), "linewidth": 1, "linestyle": ":"}
        awake = {"color": COLOURS[1], "linewidth": 5, "alpha": 0.6}
        for i, time in enumerate(times):
            ends = np.array([*time[1:], epochs])
            first = np.minimum(np.array(time) + due[i], ends)
            axis.hlines(np.full(len(time), i), time, first, **asleep)
            axis.hlines(np.full(len(time), i), first, ends, **awake)
        look = {"color": COLOURS[0], "markersize": 7, "zorder": 3, "label": "crawled"}
        axis.plot(rows["crawled"], rows["source"] - 1, "o", **look)
        axis.plot([], [], **asleep, label="in the bucket of its due epoch")
        axis.plot([], [], **awake, label="due and waiting")
        names = [f"source {i}, due at age {k}" for i, k in enumerate(due, start=1)]
        axis.set_yticks(range(len(sources)), fold_names(figure, names))
        axis.set(xlabel="epoch", xticks=range(0, epochs, 2))
        axis.set(xlim=(-0.3, epochs), ylim=(len(sources) - 0.5, -0.5))
        axis.grid(axis="y", visible=False)
        add_legend(figure)
        return rows

    delay = f"{due.min()} to {due.max()} epochs"
    save_figure(
        "at-scale-calendar",
        draw,
        "The calendar of the report's four sources. A crawl puts a source into the bucket of the "
        f"epoch at which it falls due, {delay} later, and until then no work is done for it. At "
        f"each epoch the {budget} largest indices among those that are due are crawled.",
        "A line of epochs for each source, with dots at its crawls. After each crawl a dotted "
        f"stretch of {delay} leads to the epoch at which it falls due, and a thick one from there "
        "to the next crawl.",
        height=2.6,
    )


#: Ways to run an epoch, as measured/scale.csv calls them: label, marker and line.
WAYS = {
    "printed": ("printed formula, partial sort", "s", "-"),
    "scan": ("fused scan", "^", "--"),
    "calendar": ("calendar", "o", "-"),
}


def draw_times(passes: pd.DataFrame, cpus: int) -> None:
    """Draw the time of an epoch by method, in bare passes, against the number of sources."""
    last, printed = passes.iloc[-1], passes["printed"]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, (method, (label, marker, style)) in zip(COLOURS, WAYS.items(), strict=False):
            look = {"color": colour, "marker": marker, "linestyle": style, "label": label}
            axis.loglog(passes.index, passes[method], **look)
        axis.axhline(1, color=ink(), linewidth=1, label="one bare pass over the arrays")
        axis.set(xlabel="sources", ylabel="time of an epoch (bare passes)", ylim=(0.02, None))
        add_legend(figure)
        return passes.reset_index()

    save_figure(
        "at-scale-times",
        draw,
        caption="Time of one epoch in units of one bare pass, in which every content is multiplied "
        "and added to once, against the number of sources; one in 100 is crawled. Measured once, "
        f"on {cpus} cores; `make bench BENCH=scale` measures yours.",
        alt="Three curves against the number of sources. The printed formula stays between "
        f"{printed.min():.0f} and {printed.max():.0f} bare passes and the scan ends at "
        f"{last['scan']:.1f}; the calendar falls from "
        f"{passes['calendar'].iloc[0]:.0f} to {last['calendar']:.2f}, below the line of one pass.",
        height=3.8,
    )


def draw_reward(paths: dict[str, Floats], size: int, budget: int) -> None:
    """Draw the reward of each epoch from two initial states, in units of the relaxed bound."""
    spread, alike = paths.values()
    epochs, half = spread.size, spread.size // 2
    drawn = min(epochs, 300)

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        looks = zip(COLOURS, ("-", "--"), (2, 1), paths.items(), strict=False)
        for colour, style, width, (name, path) in looks:
            look = {"color": colour, "linestyle": style, "linewidth": width, "zorder": width + 1}
            axis.plot(np.arange(drawn), path[:drawn], label=name, **look)
        axis.axhline(1, color=ink(), linewidth=1, linestyle=":", label="relaxed bound", zorder=4)
        axis.set(xlabel="epoch", ylabel="reward of the epoch / relaxed bound", ylim=(0, None))
        add_legend(figure)
        return pd.DataFrame({"epoch": np.arange(epochs), **paths})

    save_figure(
        "at-scale-reward",
        draw,
        caption=f"Reward of each epoch in units of the relaxed bound, for {size:,} sources and "
        f"{budget:,} crawls an epoch. The first {drawn} of {epochs} epochs; over the second half "
        f"the policy earns {spread[half:].mean():.4f} times the bound from spread ages and "
        f"{alike[half:].mean():.4f} times from sources all crawled at once.",
        alt=f"Two curves over {drawn} epochs. From spread ages the reward stays between "
        f"{spread[:drawn].min():.2f} and {spread[:drawn].max():.2f} of the bound; from sources all "
        f"crawled at once it begins at {alike[0]:.2f} and later swings, up to "
        f"{alike[:drawn].max():.2f}.",
        height=3.4,
    )
