"""Values and tables of the page `stochastic-index`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.stochastic.comparison import Comparison
from analysis.ephemeral.stochastic.values import discount_to_crawl
from analysis.ephemeral.studies.stochastic_index.experiment import (
    Results,
    below_limit,
    up_to_limit,
)


def reward_table(
    plays: dict[float, Comparison], bounds: dict[float, float], greedy: dict[float, float]
) -> pd.DataFrame:
    """Return what each policy earns, with the exact reward of greedy as control variate.

    Columns rate, policy, bound, reward, half_width, and below (the bound) in %.
    """
    rows = []
    for rate, play in plays.items():
        for policy in play.rewards:
            earned = play.controlled(policy, "greedy", greedy[rate])
            below = 100 * (1 - earned.value / bounds[rate])
            rows.append((rate, policy, bounds[rate], earned.value, earned.half_width, below))
    columns = ["rate", "policy", "bound", "reward", "half_width", "below"]
    return pd.DataFrame(rows, columns=columns)


def of_deviation(
    found: Mapping[float, Floats], grid: Floats, errors: Sequence[float]
) -> dict[str, float]:
    """Return the page's numbers on the closed form against the index.

    Keys: ``worst-busy``, the largest deviation up to u* at the largest rate; ``inside``, the
    largest below u*, and ``inside-at``, the last content of the grid there in units of u*;
    ``low-rare`` and ``high-rare``, the range at the smallest rate; the largest ``error`` of the
    ``curves``.
    """
    busy, rare = (list(found.values())[end] for end in (0, -1))
    below = below_limit(grid)
    return {
        "worst-busy": np.nanmax(abs(busy[:, up_to_limit(grid)])),
        "inside": np.nanmax(abs(busy[:, below])),
        "inside-at": grid[below].max(),
        "low-rare": np.nanmin(rare),
        "high-rare": np.nanmax(rare),
        "error": max(errors),
        "curves": len(errors),
    }


def of_policies(rewards: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the policies.

    Keys: ``most-gained``, the most by which the true index earns more than the closed form; what
    Theorem 1 to the ``letter`` and greedy (``blind``) lose against it at the smallest rate, which
    is ``rarest``.
    """
    by_policy = rewards.pivot(index="policy", columns="rate", values="reward")
    true, rarest = by_policy.loc["true index"], rewards["rate"].iloc[-1]
    lost = 1 - by_policy[rarest] / true[rarest]
    return {
        "most-gained": (true / by_policy.loc["closed form"] - 1).max(),
        "letter": lost["to the letter"],
        "blind": lost["greedy"],
        "rarest": rarest,
    }


def shape_of_values(found: Results) -> dict[str, float]:
    """Return the numbers behind the second Lemma 5, on V_d, over all discounts.

    The outer half of the lattice, where its end is felt, is left out.
    """
    x, source = found.source.state, found.source
    inside = x <= 0.5 * (x[-1] + source.mean / (1 - source.alpha))
    values = {d: solution.values[inside] for d, solution in found.discounted.items()}
    slopes = {d: np.diff(value) / np.diff(x[inside]) for d, value in values.items()}
    fading = {
        d: discount_to_crawl(source, solution.policy, source.alpha * d)[inside]
        for d, solution in found.discounted.items()
    }
    return {
        "smallest slope": min(float(s.min()) for s in slopes.values()),
        "largest slope": max(float(s.max()) for s in slopes.values()),
        "least second difference": min(float(np.diff(v, 2).min()) for v in values.values()),
        "slope above the bound, at most": max(
            float((slopes[d] - fading[d][1:]).max()) for d in slopes
        ),
        "slope above the printed bound": max(
            _steepest_beyond(x[inside], values[d], fading[d]) for d in values
        ),
        "V above the content, at least": min(
            float((v.values - x).min()) for v in found.discounted.values()
        ),
    }


def _steepest_beyond(x: Floats, values: Floats, fading: Floats) -> float:
    """Return by how much a chord of V exceeds the bound with a control optimal from its left end.

    Chords join each tenth content to the last one of the grid.
    """
    left = np.arange(0, x.size - 1, 10)
    chords = (values[-1] - values[left]) / (x[-1] - x[left])
    return float((chords - fading[left]).max())
