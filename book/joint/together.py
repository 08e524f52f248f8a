"""The page `together`: numbers of robots, orders of indexing, a plan of crawls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral import Scheduler, Sources, four_sources
from analysis.joint import (
    Engine,
    QueuedIndex,
    delay_bound,
    queued_index,
    queued_sources,
    simulate_engine,
)
from analysis.joint.simulation import ORDERS_OF_INDEXING, JointRun, check_events
from analysis.results import Estimate
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    fold_names,
    format_change,
    ink,
    save_figure,
    save_value,
    save_values,
)

#: Shares of the dual price that are tried; one is chosen on runs of their own.
SHARES = (0.0, 0.2, 0.6)
#: Ages of the tables of indices, in epochs.
AGES = 20
#: Lengths of the queue at which indices are computed; those between are interpolated.
QUEUES = 9
#: Epochs before those that count.
WARM_UP = 30


def check_horizon(sources: Sources | None, parameters: Mapping[str, Any]) -> None:
    """Refuse a run of more pages than the simulation of crawler and engine takes."""
    arms = replace(sources or four_sources(), period=parameters["period"])
    engine = Engine(parameters["index_rate"], parameters["places"])
    check_events(arms, engine, parameters["horizon"] + WARM_UP)


@dataclass(frozen=True)
class View:
    """The state that the explorable of the page shows."""

    price: float  # of a page, in units of content
    queue: int  # pages that wait
    budget: int  # sources crawled at each epoch, at most
    index_rate: float  # pages indexed per unit of time
    epochs: int = 40  # epochs followed, from ages of one epoch


def compute_crawls(sources: Sources, view: View) -> tuple[float, float]:
    """Return crawls, and pages that they bring, per epoch at a fixed price and queue."""
    queued = queued_sources(sources, view.index_rate, view.queue)
    scheduler = Scheduler(queued, view.budget, 1, price=view.price)
    crawls, pages = 0, 0.0
    for _ in range(view.epochs):
        ages = scheduler.ages
        crawled = scheduler.crawl()[0]
        crawls += len(crawled)
        pages += float((sources.arrival_rate * sources.period * ages)[crawled].sum())
    return crawls / view.epochs, pages / view.epochs


@dataclass(frozen=True)
class Trial:
    """How long and how often is simulated."""

    horizon: int  # epochs of a run
    runs: int  # runs behind an estimate; as many others choose the price
    seed: int  # of all runs; runs of one number share their pages and completions


def simulate_runs(
    sources: Sources,
    engine: Engine,
    policy: QueuedIndex,
    robots: int,
    order: str,
    trial: Trial,
    *,
    choosing: bool = False,
) -> list[JointRun]:
    """Return runs of a policy; those that choose have other seeds than those that are reported."""
    options: dict[str, Any] = {"order": order, "push_out": True, "warm_up": WARM_UP}
    rngs = [np.random.default_rng([trial.seed, int(choosing), run]) for run in range(trial.runs)]
    return [
        simulate_engine(sources, engine, policy, robots, trial.horizon, **options, rng=rng)
        for rng in rngs
    ]


def list_priced_policies(
    sources: Sources, engine: Engine, robots: int
) -> list[tuple[float, QueuedIndex]]:
    """Return policies that see the queue, with their prices.

    Crawls take the pages of the best window; the prices are `SHARES` of the multiplier of pages in
    the bound with delay.
    """
    dual = delay_bound(sources, robots, engine).price
    queues = np.unique(np.linspace(0, engine.places, QUEUES).round())
    prices = [share * dual for share in (SHARES if dual > 0 else SHARES[:1])]
    return [
        (
            price,
            queued_index(
                sources, engine, "frozen", price=price, fresh=True, ages=AGES, queues=queues
            ),
        )
        for price in prices
    ]


def choose_price(
    sources: Sources,
    engine: Engine,
    policies: Sequence[tuple[float, QueuedIndex]],
    robots: int,
    order: str,
    trial: Trial,
) -> tuple[float, QueuedIndex]:
    """Return the price that earns the most on runs of their own, and its policy."""
    earned = [
        np.mean(
            [
                run.average_reward
                for run in simulate_runs(
                    sources, engine, policy, robots, order, trial, choosing=True
                )
            ]
        )
        for _, policy in policies
    ]
    return policies[int(np.argmax(earned))]


def scan_robots(sources: Sources, engine: Engine, most: int, trial: Trial) -> pd.DataFrame:
    """Return the reward per epoch by the number of crawls per epoch, first come first served.

    By policies that see the queue and that do not; crawls and pages lost are those of the former.
    """
    rows = []
    unaware = queued_index(sources, engine, "blind", ages=AGES)
    for robots in range(1, most + 1):
        policies = list_priced_policies(sources, engine, robots)
        price, policy = choose_price(sources, engine, policies, robots, "first", trial)
        runs = simulate_runs(sources, engine, policy, robots, "first", trial)
        blind = simulate_runs(sources, engine, unaware, robots, "first", trial)
        row = {"robots": robots, "bound": delay_bound(sources, robots, engine).bound}
        for name, those in (("aware", runs), ("blind", blind)):
            estimate = Estimate.of([run.average_reward for run in those])
            row |= {
                name: estimate.value,
                f"{name} low": estimate.low,
                f"{name} high": estimate.high,
            }
        row["price"] = price
        row["crawls"] = float(np.mean([run.frequency.sum() for run in runs]))
        row["lost"] = float(np.mean([run.lost for run in runs]))
        rows.append(row)
    return pd.DataFrame(rows)


def choose_robots(frame: pd.DataFrame, crawl_cost: float) -> int:
    """Return the number of crawls per epoch that leaves the most, less the cost of those made."""
    profit = (frame["aware"] - crawl_cost * frame["crawls"]).to_numpy()
    return int(frame["robots"].to_numpy()[profit.argmax()])


def compare_orders(sources: Sources, engine: Engine, robots: int, trial: Trial) -> pd.DataFrame:
    """Return the reward of each order of indexing, at a price chosen for it."""
    rows = []
    policies = list_priced_policies(sources, engine, robots)
    for order in ORDERS_OF_INDEXING:
        price, policy = choose_price(sources, engine, policies, robots, order, trial)
        runs = simulate_runs(sources, engine, policy, robots, order, trial)
        estimate = Estimate.of([run.average_reward for run in runs])
        lost = float(np.mean([run.lost for run in runs]))
        queue = float(np.mean([run.queue for run in runs]))
        rows.append((order, estimate.value, estimate.low, estimate.high, price, lost, queue))
    names = ["order", "reward", "low", "high", "price", "lost", "queue"]
    return pd.DataFrame(rows, columns=names)


def plan_crawls(
    sources: Sources, engine: Engine, robots: int, order: str, trial: Trial
) -> pd.DataFrame:
    """Return the crawl frequency of each source, and the age of the pages that are taken.

    ``window`` is at an empty queue; pages per epoch are those of evenly spread crawls.
    """
    policies = list_priced_policies(sources, engine, robots)
    _, policy = choose_price(sources, engine, policies, robots, order, trial)
    runs = simulate_runs(sources, engine, policy, robots, order, trial)
    frequency = np.mean([run.frequency for run in runs], axis=0)
    period = sources.period
    gap = np.divide(period, frequency, where=frequency > 0, out=np.full(len(sources), np.inf))
    window = np.minimum(policy.window[0], gap)
    pages = sources.arrival_rate * window * frequency
    names = pd.Index(list(sources.names or ()), name="source")
    frame = {"crawls per epoch": frequency, "pages younger than": policy.window[0]}
    return pd.DataFrame({**frame, "pages per epoch": pages}, index=names)


# Values and tables


#: Sources in the explorable, at most.
FEW = 8


def save_question(sources: Sources, engine: Engine) -> None:
    """Save the page's inputs: rates for its explorable, and the load of the engine."""
    for name in ("arrival_rate", "mean_utility", "decay_rate"):
        save_value(f"together-{name.replace('_', '-')}", getattr(sources, name))
    save_value("together-sources", len(sources))
    save_value("together-index-rate", engine.index_rate)
    save_value("together-places", engine.places)
    save_value("together-load", float(sources.arrival_rate.sum()) / engine.index_rate)


def save_view(sources: Sources, engine: Engine) -> None:
    """Save price, queue and budget with which the explorable opens, and the crawls then."""
    few = sources.subset(slice(FEW))
    price = float(f"{0.1 * (float(few.mean_utility.max()) or 1.0):.2g}")
    view = View(price, queue=50, budget=min(2, len(few)), index_rate=engine.index_rate)
    crawls, pages = compute_crawls(few, view)
    opened = {"price": view.price, "queue": view.queue, "budget": view.budget}
    save_values("together", opened | {"view-crawls": crawls, "view-pages": pages})


def save_robot_values(frame: pd.DataFrame, best: int) -> None:
    """Save the rewards of the best number of crawls, and of the blind index."""
    row = frame[frame["robots"] == best].iloc[0]
    save_value("together-robots", best)
    save_value("together-most-robots", int(frame["robots"].max()))
    for name in ("aware", "blind"):
        save_value(
            f"together-{name}",
            row[name],
            interval=(row[f"{name} low"], row[f"{name} high"]),
            replications=int(frame.attrs["runs"]),
        )
    save_value("together-several-limits", len(frame) > 1)
    save_value("together-bound", row["bound"])


def save_order_values(frame: pd.DataFrame) -> str:
    """Return the best order of indexing, and save its gain over first come first served."""
    best, first = frame.iloc[int(frame["reward"].to_numpy().argmax())], frame.iloc[0]
    save_value("together-order-gain", best["reward"] / first["reward"] - 1)
    return str(best["order"])


# Figures


#: Orders of indexing in full.
ORDER_NAMES = {
    "first": "first come first served",
    "last": "latest crawl first",
    "worth": "largest worth first",
    "loss": "largest loss first",
}


def draw_system(sources: Sources, engine: Engine) -> None:
    """Draw sources, crawls, the queue and the engine, with what each costs or earns."""
    steps = pd.DataFrame(
        {
            "step": ["sources", "crawl", "queue", "engine"],
            "what limits it": ["rates", "M crawls an epoch", "K places", "s pages a unit of time"],
            "size": [len(sources), np.nan, engine.places, engine.index_rate],
            "price": ["", "C a crawl", "p a page", "its worth when it is indexed"],
        }
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.set(xlim=(0, 10), ylim=(0, 3.4))
        axis.axis("off")
        arrow, middle = {"arrowstyle": "->", "color": ink()}, {"ha": "center", "va": "center"}
        for place in (0.7, 1.6, 2.5):
            axis.plot(0.6, place, "o", markersize=14, color=COLOURS[0])
            axis.annotate("", (3.7, 1.6), (0.95, place), arrowprops=arrow)
        axis.text(0.6, 0.05, "sources", **middle)
        axis.text(2.2, 3.1, "at most M crawls an epoch,\nC a crawl", **middle)
        axis.bar(3.8 + 0.4 * np.arange(5), 0.8, 0.4, 1.2, color="none", edgecolor=ink())
        axis.text(4.6, 2.6, "K places,\np a page", **middle)
        axis.annotate("lost when full", (3.7, 1.3), (3.4, 0.05), arrowprops=arrow | {
            "arrowstyle": "<-", "linestyle": "--"}, ha="center")  # fmt: skip
        axis.annotate("", (6.6, 1.6), (5.7, 1.6), arrowprops=arrow)
        axis.plot(7.1, 1.6, "s", markersize=22, color=COLOURS[1])
        axis.text(7.1, 0.6, "engine,\ns pages a unit of time", **middle)
        axis.annotate("", (8.4, 1.6), (7.5, 1.6), arrowprops=arrow)
        axis.text(8.5, 1.6, "index: earns\nwhat a page\nis worth now", va="center")
        return steps

    save_figure(
        "together-system",
        draw,
        "Three decisions with one plan: which sources are crawled, at $C$ a crawl; which of their "
        "pages join the queue, at a price $p$ of a place; and which page is indexed next. A page "
        "counts what it is worth when it is indexed.",
        "A diagram from left to right: sources, at most M crawls an epoch, a queue of K places in "
        "which a page has the price p and beyond which pages are lost, an engine that indexes s "
        "pages a unit of time, and the index, where a page earns its worth.",
        height=2.4,
    )


def draw_robots(frame: pd.DataFrame) -> None:
    """Draw the reward against the number of crawls per epoch."""
    first, last = frame.iloc[0], frame.iloc[-1]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for name, label, style, colour in (
            ("aware", "sees the queue", "o-", COLOURS[0]),
            ("blind", "index of part I", "s--", COLOURS[1]),
        ):
            axis.plot(frame["robots"], frame[name], style, color=colour, label=label)
            axis.fill_between(
                frame["robots"],
                frame[f"{name} low"],
                frame[f"{name} high"],
                color=colour,
                alpha=0.25,
            )
        axis.plot(frame["robots"], frame["bound"], ":", color=COLOURS[2], label="bound with delay")
        axis.set(xlabel="crawls per epoch, M", ylabel="reward per epoch (content)", ylim=(0, None))
        axis.set_xticks(frame["robots"])
        add_legend(figure)
        return frame

    save_figure(
        "together-robots",
        draw,
        caption="What is earned per epoch, first come first served, by the number of crawls per "
        "epoch, with 95% intervals.",
        alt=f"As crawls an epoch go up to {last['robots']:.0f}, what the policy that sees the "
        f"queue earns {format_change(first['aware'], last['aware'], '.0f')}, what the index of "
        f"part I earns {format_change(first['blind'], last['blind'], '.0f')}; the bound ends at "
        f"{last['bound']:.0f}.",
        height=3.4,
    )


def draw_orders(frame: pd.DataFrame) -> None:
    """Draw the reward of each order of indexing, the best first."""
    ranked = frame.sort_values("reward", ascending=False, kind="stable")
    names = ranked["order"].map(ORDER_NAMES)
    error = [ranked["reward"] - ranked["low"], ranked["high"] - ranked["reward"]]
    gain = ranked["reward"].iloc[0] / frame.set_index("order").loc["first", "reward"] - 1
    best = f"*{names.iloc[0].capitalize()}* earns most"
    best += f", {gain:.1%} more than first come first served." if gain > 0 else "."
    values_text = ", ".join(
        f"{name} {reward:.1f}" for name, reward in zip(names, ranked["reward"], strict=True)
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        height = np.arange(len(ranked))[::-1]
        axis.errorbar(ranked["reward"], height, xerr=error, fmt="o", color=COLOURS[0], capsize=3)
        axis.set_yticks(height, fold_names(figure, names))
        axis.set(xlabel="reward per epoch (content)", ylim=(-0.5, len(ranked) - 0.5))
        return frame

    save_figure(
        "together-orders",
        draw,
        caption=f"{best} Each order of indexing is at a price chosen for it; 95% intervals.",
        alt=f"Dots of reward per epoch by order of indexing, from the best: {values_text}.",
        height=2.4,
    )
