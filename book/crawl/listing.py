"""Learners of rates side by side, on drawn feeds and on the trace.

All meet the same items. A fetch at epoch t finds what its feed lists and nobody found before, each
item worth 2^(-age / half-life); items published more than an epoch before the crawl begins are in
the listings and count nothing. Times are in epochs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.crawl.feeds.listing import listed_ages, listing_window
from analysis.crawl.frontier.frontier import TurnPolicy
from analysis.crawl.frontier.state import FOUND, Outcome
from analysis.crawl.policies import IndexPolicy, ListingIndex
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.results import Estimate, student_band
from analysis.sweep import sweep
from analysis.trace.trace import WEEK, publications
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    format_interval,
    ink,
    save_data,
    save_figure,
    save_value,
    save_values,
)

DAY = 86_400.0
HISTORY = 400
"""Epochs before the crawl from which drawn feeds have items."""
LEARNERS = {
    "index": "index, rates known",
    "listing": "index, rates from listings",
    "forgetting": "the same, forgetting",
    "counting": "index, rates by counting",
    "ucb": "sums, optimistic",
    "thompson": "sums, drawn",
    "robin": "round robin",
}


@dataclass(frozen=True)
class Feeds:
    """Feeds that print dates."""

    # Times of the items of each feed in epochs, ascending; negative before the crawl.
    published: list[Floats]
    # Items per epoch in the first and the second half of the crawl, which only the index with
    # known rates uses; shape (N,).
    rate: Floats
    then: Floats
    seconds: float  # length of an epoch
    # Feeds that print the time of the fetch as the date of every item; shape (N,).
    lies: NDArray[np.bool_]


def sample_feeds(
    size: int, epochs: int, rng: np.random.Generator, *, jump: bool = False, lies: float = 0.0
) -> Feeds:
    """Draw feeds: Poisson arrivals, rates log-uniform on (0.05, 5) a day, an epoch being a day.

    `jump`: whether the feeds exchange their rates in the middle of the crawl; `lies`: share of the
    feeds whose dates lie.
    """
    rate = np.exp(rng.uniform(np.log(0.05), np.log(5.0), size))
    order = rng.permutation(size)

    def items(rate: float, begin: float, end: float) -> Floats:
        return rng.uniform(begin, end, rng.poisson(rate * (end - begin)))

    published = []
    middle = epochs / 2 if jump else float(epochs)
    for i in range(size):
        first = items(rate[i], -HISTORY, middle)
        later = items(rate[order[i]], middle, epochs)
        published.append(np.sort(np.concatenate([first, later])))
    then = rate[order] if jump else rate
    return Feeds(published, rate, then, DAY, rng.permutation(size) < lies * size)


def read_trace_feeds(begin: int, epochs: int, hours: int) -> Feeds:
    """Return the book's trace from a second on as feeds, with their mean rates in the crawl."""
    trace, seconds = publications(), 3600 * hours
    times = [(trace.times_of(i) - begin) / seconds for i in range(len(trace))]
    rate = np.array([np.count_nonzero((t >= 0) & (t < epochs)) for t in times]) / epochs
    return Feeds(times, rate, rate, float(seconds), np.zeros(len(trace), dtype=bool))


class KnownRates:
    """The index policy with known rates, which may change in the middle of the crawl."""

    def __init__(self, feeds: Feeds, half_life: float, middle: float) -> None:
        ones, decay = np.ones(feeds.rate.size), np.full(feeds.rate.size, np.log(2.0) / half_life)
        self._halves = [IndexPolicy(Sources(r, ones, decay)) for r in (feeds.rate, feeds.then)]
        self._middle = middle

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the sources of largest index at the present rates."""
        half = self._halves[observation.epoch >= self._middle]
        return half.select(observation, budget)


def make_learner(name: str, feeds: Feeds, half_life: float, memory: float, epochs: int) -> Any:
    """Return a fresh policy by its name in `LEARNERS`; half-life and memory in epochs."""
    size = feeds.rate.size
    options: Mapping[str, dict[str, Any]] = {
        "listing": {},
        "forgetting": {"memory": memory, "stale_age": np.inf},
        "counting": {"dates": False},
    }
    if name == "index":
        return KnownRates(feeds, half_life, epochs / 2)
    if name in options:
        return ListingIndex(size, half_life, feeds.seconds, **options[name])
    if name == "robin":
        return TurnPolicy(size)
    return CertaintyEquivalence(size, CertaintyEquivalenceOptions(exploration=name))


def crawl_feeds(
    feeds: Feeds,
    policy: Any,
    budget: int,
    epochs: int,
    half_life: float,
    length: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the value found by a policy in each epoch of a crawl; shape (epochs,).

    Outcomes are passed to the policy's ``observe`` or contents to its ``update``, if any.
    """
    size = feeds.rate.size
    age, last = np.ones(size, dtype=np.int64), np.full(size, -np.inf)
    rewards_by_epoch = np.zeros(epochs)
    for epoch in range(epochs):
        observation = Observation(epoch, age.copy(), np.full(size, np.nan))
        arms = policy.select(observation, budget, rng)
        fetches = [_fetch_feed(feeds, int(i), epoch, last[i], half_life, length) for i in arms]
        rewards = np.array([fetch.worth for fetch in fetches])
        rewards_by_epoch[epoch] = rewards.sum()
        if hasattr(policy, "observe"):
            policy.observe([fetch.outcome(feeds, epoch) for fetch in fetches])
        elif hasattr(policy, "update"):
            policy.update(arms, rewards)
        elif hasattr(policy, "record_choice"):
            policy.record_choice(arms)
        age += 1
        age[arms], last[arms] = 1, epoch
    return rewards_by_epoch


@dataclass(frozen=True)
class _Fetch:
    """One fetch: its source, the times of the items listed, the number of new ones and their worth.

    `worth` leaves out items published more than an epoch before the crawl begins, `reward` does
    not.
    """

    source: int
    listed: Floats
    new: int
    reward: float
    worth: float

    def outcome(self, feeds: Feeds, epoch: int) -> Outcome:
        """Return the outcome that a policy which reads dates observes."""
        lies = feeds.lies[self.source]
        dates = np.full(self.listed.size, float(epoch)) if lies else self.listed
        ages = listed_ages((dates * feeds.seconds).tolist(), epoch * feeds.seconds)
        known_items = self.listed.size - self.new
        return Outcome(
            self.source, FOUND, items=self.new, reward=self.reward, known=known_items, ages=ages
        )


def _fetch_feed(
    feeds: Feeds, i: int, epoch: int, last: float, half_life: float, length: int
) -> _Fetch:
    """Fetch feed i at an epoch, after a fetch at the epoch `last`."""
    items = feeds.published[i]
    count = int(np.searchsorted(items, epoch, "right"))
    listed = items[max(0, count - length) : count]
    new = listed[listed > last]
    worth = np.exp2((new - epoch) / half_life)
    return _Fetch(i, listed, new.size, float(worth.sum()), float(worth[new > -1.0].sum()))


def crawl_world(point: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Floats]:
    """Crawl the same drawn feeds with every learner; value found in each epoch, by learner."""
    options = {"jump": point["jump"], "lies": point["lies"]}
    feeds = sample_feeds(point["size"], point["epochs"], rng, **options)
    return compare_learners(feeds, point, rng)


def compare_learners(
    feeds: Feeds, point: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Floats]:
    """Crawl some feeds with every learner, all with the same budget."""
    budget, epochs, half_life = point["budget"], point["epochs"], point["half_life"]
    values = {}
    for name in LEARNERS:
        policy = make_learner(name, feeds, half_life, point["memory"], epochs)
        values[name] = crawl_feeds(feeds, policy, budget, epochs, half_life, point["length"], rng)
    return values


def crawl_worlds(point: Mapping[str, Any], replications: int, seed: int) -> dict[str, Floats]:
    """Return the values of each learner in several drawn worlds; shape (replications, epochs)."""
    rows = sweep(
        crawl_world, [point], seed=seed, replications=replications, jobs=1, progress=False
    )[0]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def crawl_trace(point: Mapping[str, Any], starts: int, hours: int, seed: int) -> dict[str, Floats]:
    """Crawl the trace from several days on, eight weeks apart, after two years of history."""
    runs = []
    for start in range(starts):
        feeds = read_trace_feeds((104 + 8 * start) * WEEK, point["epochs"], hours)
        runs.append(compare_learners(feeds, point, np.random.default_rng([seed, start])))
    return {name: np.array([run[name] for run in runs]) for name in runs[0]}


def compute_shares(runs: Mapping[str, Floats], name: str, begin: int, end: int) -> Floats:
    """Value of a learner over that of the index with known rates, in [begin, end); one a run."""
    informed, earned = (runs[key][:, begin:end].sum(axis=1) for key in ("index", name))
    return np.asarray(earned / informed)


# Values and tables


EARLY = 40
"""Days that are given apart: in them the learners see most feeds for the first time."""


def compare_shares(
    runs: Mapping[str, Mapping[str, Floats]], days: Mapping[str, float]
) -> pd.DataFrame:
    """Return the share of the index with known rates that each learner earns, with its interval.

    On the trace, whose crawls share their sources, the ends are the smallest and the largest.
    """
    rows = []
    for world, values in runs.items():
        epochs = values["index"].shape[1]
        early = min(round(EARLY / days[world]), epochs // 2)
        parts = {"early": (0, early), "late": (early, epochs), "half": (epochs // 2, epochs)}
        for period, (begin, end) in parts.items():
            for name in [key for key in LEARNERS if key != "index"]:
                shares_of_runs = compute_shares(values, name, begin, end)
                share = Estimate.of(shares_of_runs)
                ends = share.interval
                if world == "trace":
                    ends = float(shares_of_runs.min()), float(shares_of_runs.max())
                rows.append((world, period, name, share.value, *ends))
    columns = ["world", "part", "learner", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def tabulate_shares(table: pd.DataFrame, columns: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """Return a table of some worlds and parts, one row a learner."""
    columns_by_heading = {}
    for (world, period), heading in columns.items():
        rows = table[(table["world"] == world) & (table["part"] == period)].set_index("learner")
        columns_by_heading[heading] = [
            format_interval(*rows.loc[name, ["share", "low", "high"]]) for name in rows.index
        ]
    names = [label for name, label in LEARNERS.items() if name != "index"]
    return pd.DataFrame(columns_by_heading, index=pd.Index(names, name="learner"))


def save_runs(runs: Mapping[str, Mapping[str, Floats]]) -> None:
    """Save the value found by each learner in each run of each world."""
    rows = [
        (world, run, name, float(values[run].sum()))
        for world, values_by_learner in runs.items()
        for name, values in values_by_learner.items()
        for run in range(len(values))
    ]
    save_data(
        "listing-runs",
        pd.DataFrame(rows, columns=["world", "run", "learner", "value"]),
        "One row a world, run and learner: what it found in all.",
        {
            "world": "constant: drawn feeds; jump: they exchange rates half-way; lies: dates of "
            "half of them lie; trace: real publications",
            "run": "number of the draw, or of the first day",
            "learner": "; ".join(f"{key}: {label}" for key, label in LEARNERS.items()),
            "value": "value found; an item counts 1 when new",
        },
    )


def estimate_rates(
    lengths: list[int], memory: float, count: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Estimate a rate of 1 from listings of several lengths, with the border and without."""
    rows = []
    for n in lengths:
        ages = np.cumsum(rng.standard_exponential((count, n)), axis=1)
        windows = np.array([listing_window(row, memory) for row in ages])
        border = np.exp(-ages[:, -1] / memory)
        without = Estimate.of(windows[:, 0] / windows[:, 1])
        counted = Estimate.of((windows[:, 0] + border) / windows[:, 1])
        rows.append((n, without.value, *without.interval, counted.value, *counted.interval))
    columns = ["n", "without", "low", "high", "counted", "counted_low", "counted_high"]
    table = pd.DataFrame(rows, columns=columns)
    save_value("listing-estimates", count)
    covering = ((table["low"] <= 1) & (table["high"] >= 1)).mean()
    save_value("listing-estimates-inside", float(covering))
    first = table.iloc[0]
    save_value("listing-shortest", int(first["n"]))
    save_value("listing-border-shortest", float(first["counted"] - 1))
    return table


#: Shares that sentences name, by world, part and learner.
QUOTED = (
    "constant-early-counting", "constant-early-listing", "constant-late-listing",
    "constant-late-forgetting", "jump-half-listing", "jump-half-forgetting", "lies-early-listing",
    "trace-early-listing", "trace-late-listing", "trace-late-forgetting",
)  # fmt: skip


def save_numbers(table: pd.DataFrame) -> None:
    """Save what the page's sentences depend on, from the table of `compare_shares`."""
    v = table.set_index(table["world"] + "-" + table["part"] + "-" + table["learner"])["share"]
    save_values("listing", {name: v[name] for name in QUOTED})
    for world, period in itertools.product(("constant", "trace"), ("early", "late")):
        sums = max(v[f"{world}-{period}-{name}"] for name in ("ucb", "thompson"))
        save_value(f"listing-{world}-{period}-sums", sums)
        if period == "early":
            save_value(f"listing-{world}-early-wins", v[f"{world}-early-listing"] > sums)
    counting, honest, lies = (
        v[name]
        for name in ("constant-early-counting", "constant-early-listing", "lies-early-listing")
    )
    predicates = {
        "counting-loses": counting < honest,
        "lies-between": counting * 0.98 <= lies <= honest,
        "forgetting-helps": v["jump-half-forgetting"] > v["jump-half-listing"],
        "forgetting-costs": v["constant-late-forgetting"] < v["constant-late-listing"],
        "trace-forgets-too-soon": v["trace-late-forgetting"] < v["trace-late-listing"],
    }
    save_values("listing", {name: bool(holds) for name, holds in predicates.items()})


# Figures


STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
BLOCKS = 16


def draw_learning(runs: Mapping[str, Floats]) -> None:
    """Draw the share of the index with known rates that each learner earns, over time."""
    epochs = runs["index"].shape[1]
    edges = np.linspace(0, epochs, min(BLOCKS, epochs) + 1).astype(int)
    middle = 0.5 * (edges[1:] + edges[:-1])
    names = [name for name in LEARNERS if name != "index"]
    parts = []
    for name in names:
        pairs = itertools.pairwise(edges)
        mean, low, high = student_band(np.array([compute_shares(runs, name, *p) for p in pairs]).T)
        columns = {"learner": name, "day": middle, "share": mean, "low": low, "high": high}
        parts.append(pd.DataFrame(columns))
    frame = pd.concat(parts)
    ends = frame.groupby("learner", sort=False)["share"].agg(["first", "last"])
    values_text = "; ".join(
        f"{LEARNERS[str(name)]} {row['first']:.2f} and {row['last']:.2f}"
        for name, row in ends.iterrows()
    )
    early, late = ends.loc["listing"].to_numpy()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for name, colour, style in zip(names, COLOURS, STYLES, strict=False):
            rows = frame[frame["learner"] == name]
            line = {"color": colour, "linestyle": style, "label": LEARNERS[name]}
            axis.plot(rows["day"], rows["share"], **line)
            band = {"color": colour, "alpha": 0.15, "linewidth": 0}
            axis.fill_between(rows["day"], rows["low"], rows["high"], **band)
        axis.axhline(1.0, color=ink(), linewidth=1)
        axis.set(xlabel="day of the crawl", ylabel="share of the index with known rates")
        axis.set(xlim=(0, epochs), ylim=(0, None))
        add_legend(figure)
        return frame

    save_figure(
        "listing-learning",
        draw,
        "What learners earn on drawn feeds, in units of the index with known rates: mean over "
        f"{len(runs['index'])} draws, with 95% intervals. With rates "
        f"from listings the index earns {early:.2f} in the first block and "
        f"{late:.2f} in the last.",
        f"Curves over the days of the crawl; in the first and the last block: {values_text}.",
        instances="listing-runs",
        height=3.8,
    )


def draw_window(ages: Floats, memory: float, items: float, hours: float) -> None:
    """Draw one listing: the items that count with their weights, and the window that they fill."""
    age = np.linspace(0, ages.max(), 121)
    inner, border = np.sort(ages)[:-1], ages.max()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        band = {"color": COLOURS[5], "alpha": 0.35, "linewidth": 0, "label": f"time: {hours:.3g} h"}
        axis.fill_between(age, np.exp(-age / memory), **band)
        axis.vlines(inner, 0, np.exp(-inner / memory), color=COLOURS[0], linewidth=1.4)
        look = {"color": COLOURS[0], "label": f"items that count: {items:.3g}"}
        axis.plot(inner, np.exp(-inner / memory), "o", **look)
        look = {"color": COLOURS[1], "label": "border item: not counted"}
        axis.plot(border, np.exp(-border / memory), "D", markersize=8, **look)
        axis.set(xlabel="age of an item at the fetch (hours)", ylabel="weight")
        axis.set(xlim=(0, 1.04 * border), ylim=(0, 1.1))
        add_legend(figure)
        return pd.DataFrame({"age": np.sort(ages), "weight": np.exp(-np.sort(ages) / memory)})

    save_figure(
        "listing-window",
        draw,
        "The oldest item of a listing, at its border, shows how far back the listing reaches, and "
        "is not counted itself. The rate is the sum of the other weights over the shaded area: "
        f"{items:.3g} items in {hours:.3g} hours.",
        f"A falling curve of weight against age, shaded down to zero. {len(inner)} items stand "
        f"under it at ages of {inner[0]:g} to {inner[-1]:g} hours; the border item ends the shaded "
        f"area at {border:g} hours.",
        height=2.8,
    )


def draw_estimates(table: pd.DataFrame) -> None:
    """Draw the mean of the estimate by the length of the listing, with the border and without."""
    last = table.iloc[0]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for column, low, high, label, marker in (
            ("without", "low", "high", "border left out", "o"),
            ("counted", "counted_low", "counted_high", "border counted", "s"),
        ):
            error = np.array([table[column] - table[low], table[high] - table[column]])
            axis.errorbar(table["n"], table[column], yerr=error, fmt=marker, capsize=3, label=label)
        axis.axhline(1.0, color=ink(), linewidth=1)
        axis.set(xlabel="items of a listing", ylabel="mean estimate / rate", xscale="log")
        axis.set_xticks(table["n"], [str(n) for n in table["n"]])
        axis.minorticks_off()
        add_legend(figure)
        return table

    save_figure(
        "listing-bias",
        draw,
        "Mean of the estimated rate over the rate, from one listing with a memory, by the items "
        f"that it prints; 95% intervals. For listings of {last['n']:.0f} items it is "
        f"{last['without']:.2f} without the border item and {last['counted']:.2f} with it.",
        f"Without the border item all means are near 1. With it, a listing of {last['n']:.0f} "
        f"items gives {last['counted']:.2f}, and longer ones come down to 1.",
        height=3.2,
    )
