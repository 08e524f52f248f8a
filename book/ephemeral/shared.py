"""Shared by pages of this part: a reader's own sources, random sets, tables and figures.

A page whose budget is a number of sources has no use for costs: it would crawl by an index per unit
of a cost that nobody pays, and earn less than with costs of one. So it refuses them. All pages
refuse contents beyond what sums and axes of figures can hold, and more sources than they can follow
in a minute or so; `analysis.ephemeral.Scheduler` takes millions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.ephemeral.instances import hard_sets, random_sources
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.optimum.static import (
    best_periods,
    constant_gaps,
    fluid_frequencies,
    random_frequencies,
    schedule_reward,
    spread_schedule,
)
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.simulation import INITIAL_STATES, Trajectory, long_run_cycle, simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.simulation import Comparison
from analysis.results import NotConverged
from scorecard import save_values

Path = str | PathLike[str]

#: Most sources of which the joint ages of an exact chain fit into memory.
FEW = 5
#: Most sources whose ages under a policy repeat soon: of 40 with rates over three decades, in three
#: of eight trials, they did not within 30,000 epochs.
REPEATING = 24
#: Most sources that a page solves and draws in about a minute.
MANY = 1000
#: Largest content that figures can draw.
LARGEST = 1e100
#: Sizes of the random sets, (sources, budget).
SIZES = ((3, 1), (4, 1), (4, 2), (4, 3))
#: Epochs of a list that spreads frequencies.
LIST_EPOCHS = 2520
#: Relative difference from the optimum, or from the bound, that counts as rounding.
EXACT = 1e-9
#: What the sum of n terms is divided by: their number, or the last epoch as in (4) of the report.
DIVISORS = {"epochs": 0, "epochs - 1": -1}


def read_sources(path: Path, period: float = 1.0) -> Sources:
    """Read sources, with their costs."""
    sources = _check_number(Sources.from_csv(path, period), path, 1, MANY)
    if not sources.u_star.any():
        raise ValueError(
            f"{path}: arrival_rate and mean_utility must both be above 0 for one source at least"
        )
    for name, content in zip(sources.names or (), sources.u_star, strict=True):
        if not content <= LARGEST:
            raise ValueError(
                f"{path}: arrival_rate * mean_utility / decay_rate must be at most {LARGEST:g}, "
                f"got {content:g} for source {name!r}"
            )
    return sources


def read_counted_sources(path: Path, period: float = 1.0) -> Sources:
    """Read sources for a page whose budget is a number of sources."""
    return _read_unit_costs(path, period, 1, REPEATING)


def read_compared_sources(path: Path, period: float = 1.0) -> Sources:
    """Read two or more sources for a page that counts sources and compares them."""
    return _read_unit_costs(path, period, 2, REPEATING)


def read_few_sources(path: Path, period: float = 1.0) -> Sources:
    """Read two to five sources for a page that counts sources and follows their joint ages."""
    return _read_unit_costs(path, period, 2, FEW)


def _read_unit_costs(path: Path, period: float, least: int, most: int) -> Sources:
    sources = _check_number(read_sources(path, period), path, least, most)
    for name, cost in zip(sources.names or (), sources.cost, strict=True):
        if cost != 1:
            raise ValueError(
                f"{path}: cost must be 1, or left out, on a page whose budget is a number of "
                f"sources, got {cost:g} for source {name!r}; dual-descent takes costs"
            )
    return sources


def _check_number(sources: Sources, path: Path, least: int, most: int) -> Sources:
    if not least <= len(sources) <= most:
        raise ValueError(
            f"{path}: there must be {least} to {most:,} sources on this page, got {len(sources):,}"
        )
    return sources


def compare_with_optimum(point: tuple[int, int], rng: np.random.Generator) -> dict[str, Any]:
    """Compare policies with the exact optimum on one random set of a size, (sources, budget).

    Rewards are in units of the optimum. Sources are drawn again if it needs too many joint ages.
    """
    size, budget = point
    redrawn = 0
    while True:
        sources = random_sources(size, rng)
        relaxed = relaxed_problem(sources, budget)
        cycle = long_run_cycle(sources, "whittle", budget)
        try:
            optimum = _optimum(sources, budget, cycle.average_reward, relaxed.bound)
            break
        except NotConverged:
            redrawn += 1
    spread = spread_schedule(relaxed.frequency, budget, LIST_EPOCHS)
    rewards = {
        "whittle": cycle.average_reward,
        "myopic": long_run_cycle(sources, "myopic", budget).average_reward,
        "round-robin": long_run_cycle(sources, "round-robin", budget).average_reward,
        "spread": schedule_reward(sources, spread),
        "periodic": best_periods(sources, budget)[1],
        "draws": random_frequencies(sources, budget).average_reward,
        "fluid": fluid_frequencies(sources, budget).average_reward,
        "bound": relaxed.bound,
    }
    return {
        "sources": size,
        "budget": budget,
        **{name: value / optimum for name, value in rewards.items()},
        "period": cycle.period,
        "constant": constant_gaps(cycle),
        "interval": relaxed.subsidy > relaxed.smallest_subsidy * (1 + 1e-9),
        "redrawn": redrawn,
    }


def _optimum(sources: Sources, budget: int, reached: float, bound: float) -> float:
    """Best average reward: the reached one if it meets the bound, else by dynamic programming."""
    if reached >= bound * (1 - 1e-10):
        return reached
    return optimal_cycle(sources, budget, tolerance=1e-8, max_states=400_000).average_reward


def is_optimal(instances: pd.DataFrame) -> pd.Series:
    """Whether the index policy earns the exact optimum, for rows of `compare_with_optimum`."""
    return 1 - instances["whittle"] < EXACT


def scan_averages(
    sources: Sources, policy: Policy | str, budget: int, longest: int
) -> pd.DataFrame:
    """Average reward over the first n epochs, by initial state, n up to `longest`, and divisor."""
    epochs = np.arange(2, longest + 1)
    parts = []
    for initial_state in INITIAL_STATES:
        run = simulate(sources, policy, budget, longest, initial_state=initial_state)
        sums = np.cumsum(run.reward)[1:]
        for divisor, shift in DIVISORS.items():
            columns = {"initial_state": initial_state, "epochs": epochs, "divisor": divisor}
            parts.append(pd.DataFrame(columns | {"average": sums / (epochs + shift)}))
    return pd.concat(parts, ignore_index=True)


def tabulate_hard_sets(row: Callable[[Sources, int], dict[str, float]]) -> pd.DataFrame:
    """Return a table of the results of a function for sources and budget of each hard set."""
    rows = {name: row(sources, budget) for name, (sources, budget) in hard_sets().items()}
    return pd.DataFrame(rows).T.rename_axis("set")


def tabulate_runs(comparisons: Mapping[Any, Comparison], by: str) -> pd.DataFrame:
    """Return the reward per epoch of every run of several comparisons, one row a run and policy."""
    runs = pd.concat(
        pd.DataFrame(comparison.rewards)
        .rename_axis("replication")
        .reset_index()
        .assign(**{by: value})
        for value, comparison in comparisons.items()
    )
    return runs.melt([by, "replication"], var_name="policy", value_name="reward")


def save_rates(prefix: str, sources: Sources) -> None:
    """Save rates and utilities of sources, for an explorable of the page to read."""
    names = ("arrival_rate", "mean_utility", "decay_rate")
    save_values(prefix, {name.replace("_", "-"): getattr(sources, name) for name in names})


#: Sources of which a figure shows the content, the first of all.
SHOWN = 6


def describe_drawn_sources(sources: Sources) -> str:
    """Return a text on the sources of which a figure shows the content."""
    if len(sources) > SHOWN:
        return f"the first {SHOWN} of {len(sources)} sources"
    return "each source" if len(sources) > 1 else "the source"


def draw_source(axis: Axes, sources: Sources, run: Trajectory, arm: int, colour: str) -> None:
    """Draw the content of one source over time, a dot at each crawl and a line at u*."""
    epochs = np.arange(run.reward.size)
    crawls = run.crawled[arm]
    axis.step(epochs, run.state[arm], where="post", color=colour, linewidth=1.1)
    axis.plot(epochs[crawls], run.state[arm, crawls], "o", color="C6", markersize=2.6)
    axis.axhline(sources.u_star[arm], color="grey", linestyle=":", linewidth=0.9)
    axis.set_ylim(0, 1.08 * max(sources.u_star[arm], run.state[arm].max()))


def tabulate_trajectory(sources: Sources, run: Trajectory) -> pd.DataFrame:
    """Return a run as a table, one row an epoch: contents, crawls, and the reward."""
    names = sources.names or ()
    content = {f"content of source {name}": run.state[i] for i, name in enumerate(names)}
    crawls = {f"source {name} crawled": run.crawled[i].astype(int) for i, name in enumerate(names)}
    epochs = {"epoch": np.arange(run.reward.size)}
    return pd.DataFrame({**epochs, **content, **crawls, "reward": run.reward})
