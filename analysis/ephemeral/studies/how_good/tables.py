"""What the experiments on the policy's quality leave behind: instances, and the table of tuning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.report import save_data, save_table
from analysis.results import Estimate

Floats = NDArray[np.float64]


def save_sets(instances: pd.DataFrame) -> None:
    """Save the random sets, one row each.

    Parameters
    ----------
    instances : pandas.DataFrame
        Rows of `how_good.optimality_row`.
    """
    optimum = "in units of the exact optimum"
    columns = {
        "sources": "sources in the set",
        "budget": "sources crawled at each epoch",
        "whittle": f"reward of the index policy, {optimum}",
        "myopic": f"reward of the myopic policy, {optimum}",
        "round-robin": f"reward of round robin, {optimum}",
        "spread": f"reward of the list that spreads the relaxed frequencies, {optimum}",
        "periodic": f"reward of the best list with constant gaps, {optimum}",
        "draws": f"reward of the best independent draws, {optimum}",
        "fluid": f"value of the fluid formula, {optimum}",
        "bound": f"relaxed bound, {optimum}",
        "period": "period of the index policy's cycle in epochs",
        "constant": "whether each source has one constant gap in it, or is never crawled",
        "interval": "whether the relaxed problem has an interval of multipliers",
        "redrawn": "how often the set was drawn again because its optimum takes too long",
    }
    save_data(
        "how-good-sets",
        instances[list(columns)],
        "One row a random set of sources, all policies in it against the exact optimum.",
        columns,
    )


def save_tuned(
    rewards: Mapping[str, Floats], frequencies: Mapping[str, Floats], drift: float
) -> None:
    """Save what policies earn that believe Table 1 of changed sources, and every run behind it.

    Parameters
    ----------
    rewards, frequencies : mapping of str to ndarray
        As `observation.self_tuning` returns them.
    drift : float
        Factor on the arrivals of source 3 of which they are not told.
    """
    columns = {
        "policy": "what the policy observes, or is told",
        "replication": "number of the run; all policies share its content",
        "reward": "reward per epoch",
        "crawls": "crawls of source 3 per epoch",
    }
    runs = pd.concat(
        pd.DataFrame({"reward": earned, "crawls": frequencies[name][:, 2]})
        .rename_axis("replication")
        .reset_index()
        .assign(policy=name)
        for name, earned in rewards.items()
    ).reset_index(drop=True)
    save_data(
        "how-good-tuned-runs",
        runs[list(columns)],
        f"One row a run and policy while source 3 gets {drift:g} times its items.",
        columns,
    )
    estimates = {name: Estimate.of(earned) for name, earned in rewards.items()}
    shown = {
        "reward per epoch": [f"{e.value:.2f} ± {e.half_width:.2f}" for e in estimates.values()],
        "crawls of source 3 per epoch": [f"{f[:, 2].mean():.3f}" for f in frequencies.values()],
    }
    count = next(iter(rewards.values())).size
    save_table(
        "how-good-tuned",
        pd.DataFrame(shown, index=pd.Index(list(estimates), name="policy")),
        f"Policies that believe Table 1 while source 3 gets {drift:g} times its items, by what "
        f"they observe, and one that is told the truth ($M = 1$, 95% intervals over {count} runs).",
        instances="how-good-tuned-runs",
    )
