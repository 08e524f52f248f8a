"""The page `orders`: rewards by order of indexing, policy and number of places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral import Sources, four_sources
from analysis.joint import Engine, JointSystem, queued_index, simulate_engine
from analysis.joint.simulation import check_events
from analysis.results import Estimate
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    differ_as_formatted,
    ink,
    save_figure,
    save_table,
    save_value,
    save_values,
)

#: Orders of the page: name, order, whether pre-emptive and pushing out.
ORDERS: Mapping[str, dict[str, Any]] = {
    "first come": {"order": "first"},
    "last come": {"order": "last", "push_out": True},
    "last come, pre-emptive": {"order": "last", "push_out": True, "preempt": True},
    "worth": {"order": "worth", "push_out": True},
    "worth times decay": {"order": "loss", "push_out": True},
}
#: Policies of the page: what a page costs, as a share of the dual price, and the index.
POLICIES: Mapping[str, tuple[str, float]] = {
    "blind": ("blind", 0.0),
    "queue, no price": ("frozen", 0.0),
    "queue, half price": ("frozen", 0.5),
    "queue, dual price": ("frozen", 1.0),
}
#: Largest age of the policies' tables.
AGES = 20
#: Level of the interval that the exact gain must lie in.
LEVEL = 0.999


def check_horizon(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse a run of more pages than the simulation of crawler and engine takes."""
    engine = Engine(parameters["index_rate"], parameters["shown"])
    check_events(four_sources(), engine, parameters["horizon"] + parameters["warm_up"])


@dataclass(frozen=True)
class Plan:
    """How long and how often a policy is simulated."""

    # Epochs that count, and before them.
    horizon: int
    warm_up: int
    # Runs, and the root of their random numbers, the same for all policies and orders.
    replications: int
    seed: int


def simulate_rewards(
    sources: Sources,
    budget: int,
    engine: Engine,
    policies: Mapping[str, tuple[str, float]],
    orders: Sequence[str],
    price: float,
    plan: Plan,
) -> pd.DataFrame:
    """Simulate policies under orders on common random numbers, one row a policy, order and run."""
    rows = []
    for policy, (index, share) in policies.items():
        cost = share * price
        table = queued_index(sources, engine, index, price=cost, fresh=cost > 0, ages=AGES)
        for order in orders:
            for run in range(plan.replications):
                rng = np.random.default_rng([plan.seed, run])
                options = ORDERS[order] | {"warm_up": plan.warm_up, "rng": rng}
                run_result = simulate_engine(
                    sources, engine, table, budget, plan.horizon, **options
                )
                means = (
                    run_result.average_reward,
                    run_result.indexed,
                    run_result.lost,
                    run_result.queue,
                    run_result.idle,
                )
                rows.append((policy, order, engine.places, run, *means))
    names = ["policy", "order", "places", "run", "reward", "indexed", "lost", "queue", "idle"]
    return pd.DataFrame(rows, columns=names)


def simulate_by_places(
    sources: Sources,
    budget: int,
    index_rate: float,
    places: Sequence[int],
    price: float,
    plan: Plan,
) -> pd.DataFrame:
    """Return rows of `simulate_rewards` by number of places: first come, and by worth."""
    frames = []
    for number in places:
        engine = Engine(index_rate, number)
        first = simulate_rewards(sources, budget, engine, POLICIES, ["first come"], price, plan)
        worth = simulate_rewards(
            sources, budget, engine, {"blind": POLICIES["blind"]}, ["worth"], price, plan
        )
        frames += [first, worth]
    return pd.concat(frames, ignore_index=True)


def estimate_means(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return mean reward with its interval, losses, queue and idle share by group."""
    groups = frame.groupby(list(by), sort=False)
    ends = {key: Estimate.of(rows["reward"]) for key, rows in groups}
    means = groups[["lost", "queue", "idle"]].mean()
    means.insert(0, "reward", [ends[key].value for key in means.index])
    means.insert(1, "low", [ends[key].low for key in means.index])
    means.insert(2, "high", [ends[key].high for key in means.index])
    return means.reset_index()


def estimate_gain(
    frame: pd.DataFrame, first_pair: tuple[str, str], second_pair: tuple[str, str]
) -> Estimate:
    """Estimate the gain of one policy and order over another, in the same runs."""
    first, second = (
        frame[(frame["policy"] == policy) & (frame["order"] == order)].sort_values("run")["reward"]
        for policy, order in (first_pair, second_pair)
    )
    return Estimate.of(first.to_numpy() - second.to_numpy())


@dataclass(frozen=True)
class Check:
    """A small system in both ways, and what the page's bound says of all runs."""

    exact: float  # gain of a policy with the queue in view, by linear equations
    simulated: Estimate  # the same by simulation, with its interval at `LEVEL`
    # What the same crawls would earn if pages were indexed at once and all found room.
    without: float
    # Largest mean reward of the page, and the bound of phases.
    best: float
    bound: float


def check_small_system(best: float, bound: float, epochs: int, seed: int) -> Check:
    """Compare the simulation with a small system's exact gain, and all runs with the bound."""
    sources = Sources(
        np.array([0.8, 0.5, 1.5]), np.array([1.0, 2.0, 0.8]), np.array([0.4, 0.2, 1.1])
    )
    engine = Engine(0.9, 4)
    system = JointSystem(sources, 1, engine, 5)
    table = queued_index(sources, engine, price=0.2, ages=5)
    runs = [
        simulate_engine(
            sources, engine, table, 1, epochs, warm_up=100, rng=np.random.default_rng([seed, run])
        )
        for run in range(12)
    ]
    crawls = np.mean([run.frequency for run in runs], axis=0)
    # Gaps of 1/f epochs earn the most that crawls of frequency f can.
    at_once = sources.state_at_age(1 / np.maximum(crawls, 1e-9)) * crawls
    return Check(
        exact=system.gain(system.index_policy("frozen", price=0.2)),
        simulated=Estimate.of([run.average_reward for run in runs], level=LEVEL),
        without=float(at_once.sum()),
        best=best,
        bound=bound,
    )


# Values and tables


def save_estimate(name: str, estimate: Estimate) -> None:
    """Save the ends of an interval."""
    save_values(f"orders-{name}", {"low": estimate.low, "high": estimate.high})


def save_bounds(phase: float, delay: float, free: float) -> None:
    """Save the bounds with and without phases, and that without an engine."""
    facts = {"phase": phase, "delay": delay, "free": free, "closer": 1 - phase / delay}
    save_values("orders-bound", facts)


def save_order_values(frame: pd.DataFrame, bound: float) -> None:
    """Save what order and awareness of the queue are worth."""
    means = estimate_means(frame, ["policy", "order"]).set_index(["policy", "order"])["reward"]
    first = means.xs("first come", level="order")
    aware = str(first.drop("blind").idxmax())
    blind = ("blind", "first come")
    gains = {
        "order": estimate_gain(frame, ("blind", "worth"), blind),
        "aware": estimate_gain(frame, (aware, "first come"), blind),
        "held": estimate_gain(frame, ("queue, half price", "worth"), ("blind", "worth")),
        "price": estimate_gain(frame, ("queue, dual price", "first come"), blind),
    }
    for name, estimate in gains.items():
        save_estimate(f"gain-{name}", estimate)
    runs_differ = {
        name: differ_as_formatted(estimate.low, estimate.high, "z.1f")
        for name, estimate in gains.items()
    }
    save_value("orders-gains-differ", runs_differ["order"] and runs_differ["aware"])
    save_value("orders-held-differs", runs_differ["held"])
    save_value("orders-price-differs", runs_differ["price"])
    priced = float(means["queue, dual price", "first come"])
    save_value("orders-priced", priced)
    save_value("orders-priced-share", priced / bound)
    save_estimate(
        "gain-preempt",
        estimate_gain(frame, ("blind", "last come, pre-emptive"), ("blind", "last come")),
    )
    save_estimate("gain-worth", estimate_gain(frame, ("blind", "worth"), ("blind", "last come")))
    small = [
        estimate_gain(frame, ("blind", order), ("blind", "last come"))
        for order in ("last come, pre-emptive", "worth")
    ]
    save_value(
        "orders-gains-have-width", all(differ_as_formatted(g.low, g.high, "z.2f") for g in small)
    )
    idle = frame[frame["policy"] == "queue, dual price"]["idle"].mean()
    save_value("orders-idle", float(idle))
    save_value("orders-best", float(means.max()))
    save_value("orders-best-share", float(means.max() / bound))
    save_value("orders-blind-share", float(means[blind] / bound))
    save_value("orders-worth-share", float(means["blind", "worth"] / bound))
    ordered = means["blind", "worth"] - means[blind] > first.max() - first["blind"]
    save_value("orders-order-first", bool(ordered))


def save_place_values(frame: pd.DataFrame) -> None:
    """Save at how many places the blind index earns most, and what more of them cost it."""
    means = estimate_means(frame, ["policy", "order", "places"])
    blind = means[(means["policy"] == "blind") & (means["order"] == "first come")]
    top, last = blind.sort_values("reward", kind="stable").iloc[-1], blind.iloc[-1]
    save_value("orders-places-best", int(top["places"]))
    save_value("orders-places-most", int(last["places"]))
    save_value("orders-places-top", float(top["reward"]))
    save_value("orders-places-last", float(last["reward"]))
    save_value("orders-places-hurt", bool(last["high"] < top["low"]))
    worth = means[means["order"] == "worth"]["reward"]
    save_value("orders-places-worth", bool((worth.diff()[1:] > -1e-3 * worth.max()).all()))


def save_check(check: Check) -> None:
    """Save the exact gain of a small system and that of the simulation."""
    save_value("orders-exact", check.exact)
    save_estimate("simulated", check.simulated)


# Claims


def claims(check: Check) -> list[Claim]:
    """Return the page's claims on the two rows on the dynamics of the indexing engine.

    They are done if the simulated model is the one that is solved exactly, no policy and order earn
    more than the bound, and the engine's dynamics are no formality: they take from the reward.
    """
    covered = check.simulated.low <= check.exact <= check.simulated.high
    matters = check.simulated.high < check.without
    numbers = {
        "exact": check.exact,
        "ends": (check.simulated.low, check.simulated.high),
        "best": check.best,
        "bound": check.bound,
    }
    return [
        claim(row, bool(covered and matters and check.best <= check.bound), numbers=numbers)
        for row in ("A-r-intro-engine", "A-r-fut-engine")
    ]


# Figures


def draw_by_places(frame: pd.DataFrame, bound: float, rate: float) -> None:
    """Draw reward against the number of places, by policy and order."""
    means = estimate_means(frame, ["policy", "order", "places"])
    lines = means.groupby(["order", "policy"], sort=False)
    blind = means[(means["policy"] == "blind") & (means["order"] == "first come")]
    top = blind.sort_values("reward", kind="stable").iloc[-1]
    last = blind.iloc[-1]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for ((order, policy), rows), colour, mark in zip(
            lines, COLOURS, cycle("os^Dv"), strict=False
        ):
            style = "-" if order == "first come" else "--"
            crawler = (
                "index of part I (blind)" if policy == "blind" else f"index that sees the {policy}"
            )
            axis.fill_between(rows["places"], rows["low"], rows["high"], color=colour, alpha=0.2)
            axis.plot(
                rows["places"], rows["reward"], style, marker=mark, color=colour,
                label=f"{crawler}, {order} first" if order == "worth" else f"{crawler}, {order}",
            )  # fmt: skip
        axis.axhline(bound, color=ink(), linewidth=0.8, linestyle=":", label="bound of phases")
        axis.set(xlabel="places, K", ylabel="reward per epoch (content)", ylim=(0, None))
        add_legend(figure)
        return means

    save_figure(
        "orders-places",
        draw,
        caption="First come first served the index of part I earns most with "
        f"{int(top['places'])} places, {top['reward']:.0f}, and {last['reward']:.0f} with "
        f"{int(last['places'])}. The engine indexes {rate:g} pages per unit of time; 95% bands of "
        f"{frame['run'].nunique()} runs on common random numbers.",
        alt=f"The blind index, first come first served, earns most at {int(top['places'])} places, "
        f"{top['reward']:.0f}, and {last['reward']:.0f} at {int(last['places'])}. Indexed by worth "
        f"it ends at {means['reward'][means['order'] == 'worth'].iloc[-1]:.0f}, below the bound of "
        f"{bound:.0f}.",
        height=4.2,
    )


def save_order_table(frame: pd.DataFrame, bound: float) -> None:
    """Tabulate reward by policy and order; no interval is given where all runs earn the same."""
    means = estimate_means(frame, ["policy", "order"])
    means["share"] = means["reward"] / bound
    same = [
        not differ_as_formatted(low, high, ".1f")
        for low, high in zip(means["low"], means["high"], strict=True)
    ]
    means.loc[same, ["low", "high"]] = np.nan
    save_table(
        "orders-orders",
        means.drop(columns=["idle"]).set_index(["policy", "order"]),
        f"Mean reward per epoch, with its 95% interval from {frame['run'].nunique()} runs on "
        "common random numbers; pages lost per epoch, pages waiting before an epoch, and the share "
        "of the bound.",
        formats={"reward": ".1f", "low": ".1f", "high": ".1f", "lost": ".1f", "queue": ".0f",
                 "share": ".1%"},
        labels={"low": "from", "high": "to", "lost": "lost pages", "share": "share of the bound"},
    )  # fmt: skip
