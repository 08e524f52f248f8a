"""What the page `orders` computes: rewards by order of indexing, policy and number of places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.ephemeral import Sources, four_sources
from analysis.joint import Engine, JointSystem, queued_index, simulate_engine
from analysis.joint.simulation import check_events
from analysis.results import Estimate

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


def rewards(
    sources: Sources,
    budget: int,
    engine: Engine,
    policies: Mapping[str, tuple[str, float]],
    orders: Sequence[str],
    price: float,
    plan: Plan,
) -> pd.DataFrame:
    """Simulate policies under orders on common random numbers.

    One row a policy, order and run: policy, order, places, run; reward, indexed, lost per epoch;
    queue before an epoch; idle, share of completions.
    """
    rows = []
    for policy, (index, share) in policies.items():
        cost = share * price
        table = queued_index(sources, engine, index, price=cost, fresh=cost > 0, ages=AGES)
        for order in orders:
            for run in range(plan.replications):
                rng = np.random.default_rng([plan.seed, run])
                options = ORDERS[order] | {"warm_up": plan.warm_up, "rng": rng}
                found = simulate_engine(sources, engine, table, budget, plan.horizon, **options)
                means = found.average_reward, found.indexed, found.lost, found.queue, found.idle
                rows.append((policy, order, engine.places, run, *means))
    names = ["policy", "order", "places", "run", "reward", "indexed", "lost", "queue", "idle"]
    return pd.DataFrame(rows, columns=names)


def by_places(
    sources: Sources,
    budget: int,
    index_rate: float,
    places: Sequence[int],
    price: float,
    plan: Plan,
) -> pd.DataFrame:
    """Return the rows of `rewards` for several numbers of places: first come, and by worth."""
    frames = []
    for number in places:
        engine = Engine(index_rate, number)
        first = rewards(sources, budget, engine, POLICIES, ["first come"], price, plan)
        worth = rewards(
            sources, budget, engine, {"blind": POLICIES["blind"]}, ["worth"], price, plan
        )
        frames += [first, worth]
    return pd.concat(frames, ignore_index=True)


def estimates(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return mean reward with its interval, losses, queue and idle share by group."""
    groups = frame.groupby(list(by), sort=False)
    ends = {key: Estimate.of(rows["reward"]) for key, rows in groups}
    means = groups[["lost", "queue", "idle"]].mean()
    means.insert(0, "reward", [ends[key].value for key in means.index])
    means.insert(1, "low", [ends[key].low for key in means.index])
    means.insert(2, "high", [ends[key].high for key in means.index])
    return means.reset_index()


def gain(frame: pd.DataFrame, one: tuple[str, str], other: tuple[str, str]) -> Estimate:
    """Return how much more one policy and order earn than another, in the same runs."""
    first, second = (
        frame[(frame["policy"] == policy) & (frame["order"] == order)].sort_values("run")["reward"]
        for policy, order in (one, other)
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


def check(best: float, bound: float, epochs: int, seed: int) -> Check:
    """Hold the simulation against a small system's exact gain, and all runs against the bound."""
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
