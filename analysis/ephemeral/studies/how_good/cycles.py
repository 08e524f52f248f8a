"""Cycles that the index policy enters from different ages, on random sets of sources."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.checks import check_integer
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.report import save_table, save_value
from analysis.results import Estimate

STARTS = 8
"""Starts of each set, beside empty sources; ages are drawn from 1 to 12."""
SHOWN = 8
"""Sets in the table."""
APART = 1e-6
"""Relative difference from which two rewards count as two."""


def random_set(instance: int, seed: int) -> tuple[Sources, np.random.Generator]:
    """Draw three to eight sources: rates over two decades, decays on (0.05, 2), utilities 1.

    Parameters
    ----------
    instance, seed : int
        Number of the set, and seed of all.

    Returns
    -------
    sources : Sources
    rng : numpy.random.Generator
        For what else is drawn of this set.
    """
    rng = np.random.default_rng([seed, 21, instance])
    size = int(rng.integers(3, 9))
    rate = np.exp(rng.uniform(np.log(0.2), np.log(20.0), size))
    return Sources(rate, np.ones(size), np.exp(rng.uniform(np.log(0.05), np.log(2.0), size))), rng


def cycles_of_random_sets(count: int, seed: int) -> pd.DataFrame:
    """Follow the index policy from many ages on random sets of sources, M = 1.

    Parameters
    ----------
    count : int
        Number of sets, at least 2.
    seed : int
        Seed of sets and ages.

    Returns
    -------
    pandas.DataFrame
        A row a set: ``set``, ``sources``, ``start``, ``worst`` and ``best`` (rewards per epoch of
        the cycle from empty sources and of the worst and the best found), ``spread`` (relative).
    """
    rows = []
    for instance in range(check_integer("count", count, 2)):
        sources, rng = random_set(instance, seed)
        empty = long_run_cycle(sources, "whittle", 1).average_reward
        ages = rng.integers(1, 13, (STARTS, len(sources)))
        earned = [empty] + [
            long_run_cycle(sources, "whittle", 1, initial_age=age).average_reward for age in ages
        ]
        worst, best = min(earned), max(earned)
        rows.append((instance, len(sources), empty, worst, best, best / worst - 1))
    return pd.DataFrame(rows, columns=["set", "sources", "start", "worst", "best", "spread"])


def save_cycles(found: pd.DataFrame) -> None:
    """Save the sets on which the index policy has several cycles, with the worst and the best."""
    several = found[found.spread > APART]
    save_value("how-good-cycle-sets", len(found))
    save_value("how-good-cycle-starts", STARTS)
    save_value("how-good-several-cycles", len(several))
    save_value("how-good-some-several-cycles", len(several) > 0)
    mean = Estimate.of((found.best / found.start - 1).to_numpy())
    save_value("how-good-better-cycle", mean.value, interval=mean.interval, replications=len(found))
    save_value("how-good-cycle-spread", float(found.spread.max()))
    save_table(
        "how-good-entered",
        found.sort_values("spread", ascending=False).set_index("set").head(SHOWN),
        f"Rewards per epoch of cycles that the index policy enters from {STARTS} random ages and "
        "from empty sources, at $M = 1$: the sets on which they differ most.",
        formats={"start": ".3f", "worst": ".3f", "best": ".3f", "spread": ".3%"},
        labels={"start": "from empty sources"},
    )
