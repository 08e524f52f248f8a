"""Values, tables and predicates of the page `learning-as-printed`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.ephemeral.optimum.static import random_reward
from analysis.ephemeral.policies import RoundRobinPolicy
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.comparison import LearningCurves
from analysis.learning.scheme.thresholds import ThresholdValue
from analysis.learning.studies.learning_as_printed.experiment import FreeRuns
from analysis.report import save_table, save_value, save_values

APART = 0.05
"""Relative difference of two rewards from which on a choice counts as decisive."""


def divisor_table(divisors: Mapping[str, ThresholdValue]) -> pd.DataFrame:
    """Return reward and number of crawls as a table."""
    return pd.DataFrame(
        {
            "reward per epoch": {name: v.average_reward for name, v in divisors.items()},
            "sources crawled": {name: v.engaged for name, v in divisors.items()},
        }
    ).rename_axis("states divided by")


def save_by_divisor(divisors: Mapping[str, ThresholdValue]) -> None:
    """Save the table of `divisor_table`."""
    save_table(
        "learning-as-printed-divisors",
        divisor_table(divisors),
        "Thresholds at their upper bounds, by what states are divided by before $\\kappa$ "
        "multiplies them: reward per epoch and sources crawled at an epoch, by renewal theory.",
        formats=".3f",
    )


def keep_raw(raw: Mapping[str, LearningCurves]) -> None:
    """Keep what runs with raw states earn and crawl, bounds rounded outward to a whole unit."""
    cured, free = raw["with both cures"], raw["with neither"]
    save_value("printed-raw-runs", len(cured.expected) + len(cured.diverged))
    save_value("printed-raw-diverged", len(cured.diverged))
    save_value("printed-raw-neither", len(free.diverged))
    save_value("printed-raw-some", len(cured.expected) > 0)
    if len(cured.expected):
        rewards = cured.expected.mean(axis=1)
        save_value("printed-raw", rewards.mean())
        save_value("printed-raw-low", np.floor(rewards.min()))
        save_value("printed-raw-high", np.ceil(rewards.max()))
        save_value("printed-raw-engaged", cured.engaged.mean())


def keep_raw_without_cures(free: FreeRuns, projected: float, unprojected: float) -> None:
    """Keep what raw states do without the cures, and what the best thresholds earn on them."""
    save_value("printed-raw-free-crawled", free.crawled)
    save_value("printed-raw-free-rank", max(free.ranks))
    save_value("printed-raw-free-exponent", free.exponent)
    save_value("printed-raw-projected", projected)
    save_value("printed-raw-unprojected", unprojected)


def save_conditions(condition: pd.DataFrame) -> None:
    """Save the condition numbers of `conditions` as a table."""
    save_table(
        "learning-as-printed-conditions",
        condition.rename_axis("model"),
        "Condition number of the mean of $\\phi\\phi^T$ with thresholds at their upper bounds, by "
        "the model of content and by the scaling of the states.",
        formats=".2g",
    )


def save_divergence_table(runs: Mapping[str, LearningCurves]) -> None:
    """Save the table of `divergence_table`."""
    total = max(len(c.diverged) + len(c.expected) for c in runs.values())
    save_table(
        "learning-as-printed-cures",
        divergence_table(runs).rename_axis("cures"),
        f"Of {total} runs each: how many diverged, when, and the mean reward per epoch of the "
        "others.",
    )


def divergence_table(runs: Mapping[str, LearningCurves]) -> pd.DataFrame:
    """Return how many runs diverged, when, and what the others earned."""
    rows = {}
    for name, curves in runs.items():
        epochs = [epoch for _, epoch in curves.diverged]
        rows[name] = {
            "diverged": str(len(epochs)),
            "median epoch of divergence": f"{np.median(epochs):.0f}" if epochs else "none",
            "reward of the others": f"{curves.expected.mean():.2f}"
            if len(curves.expected)
            else "none",
        }
    return pd.DataFrame(rows).T


def statements(
    divisors: Mapping[str, ThresholdValue],
    share: float,
    earned: float,
    simple: tuple[float, float],
    points: pd.DataFrame,
) -> dict[str, bool]:
    """Return which sentences of the page are true of these runs."""
    rewards = [value.average_reward for value in divisors.values()]
    stuck = share > 0.99
    falls = all(
        (np.diff(points[column]) < 0).all() for column in ("sources crawled", "their deviation")
    )
    return {
        "unit-decides": max(rewards) > (1 + APART) * min(rewards),
        "stuck": stuck,
        "simple-does-better": min(simple) > earned,
        "kappa-alone": bool(stuck and falls and len(points) > 1),
    }


def keep_statements(
    sources: Sources,
    divisors: Mapping[str, ThresholdValue],
    share: float,
    earned: float,
    points: pd.DataFrame,
) -> None:
    """Keep the predicates, and what simple policies and the index policy do; as `statements`."""
    size = len(sources)
    drawn = random_reward(sources, np.full(size, 1 / size))
    turns = long_run(sources, RoundRobinPolicy(), 1).average_reward
    index = long_run(sources, "whittle", 1)
    never = int(np.count_nonzero(index.frequency == 0))
    save_value("printed-random", drawn)
    save_value("printed-round-robin", turns)
    save_value("printed-best", index.average_reward)
    save_value("printed-largest", float(sources.u_star.max()))
    save_value("printed-never", never)
    save_value("printed-starves", never > 0)
    found = statements(divisors, share, earned, (drawn, turns), points)
    save_values("printed", found)
