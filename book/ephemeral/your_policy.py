"""A reader's own policy against the index policy, the relaxed bound and the exact optimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral.instances import random_set
from analysis.ephemeral.optimum.exact import optimal_average_reward
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.simulation import simulate
from analysis.ephemeral.sources import Sources
from scorecard import (
    COLOURS,
    add_panels,
    fold_names,
    ink,
    save_data,
    save_figure,
    save_table,
    save_values,
)

MakePolicy = Callable[[Sources], Policy]

#: Policies of the book beside the reader's: names of `analysis.ephemeral`, and on the page.
OTHERS = {"whittle": "index policy", "myopic": "fullest source", "round-robin": "round robin"}
OWN = "your policy"


def simulate_average(
    sources: Sources, policy: Policy | str, budget: int, horizon: int, seed: int
) -> float:
    """Return the average reward per epoch over whole cycles, the second half of a run if it can be.

    The part begins where the ages of all sources crawled in it are as at the end: a part of a cycle
    could earn more than the bound. If they never are, half of the run counts.
    """
    run = simulate(sources, policy, budget, horizon, initial_state="fresh", rng=seed)
    epoch, half = np.arange(horizon), horizon // 2
    last = np.maximum.accumulate(np.where(run.crawled, epoch, -1), axis=1)
    age = np.minimum(epoch - last, sources.settled_age[:, None])
    left_out = last[:, -1:] <= epoch[:-1]
    alike = np.flatnonzero((left_out | (age[:, :-1] == age[:, -1:])).all(axis=0)) + 1
    begin = next((start for start in alike if start >= half), max(alike, default=half))
    return float(run.reward[begin:].mean())


def compare_policies(
    sources: Sources, make: MakePolicy, budget: int, horizon: int, seed: int
) -> pd.Series:
    """Return the average reward of the reader's policy, of `OTHERS`, the optimum and the bound."""
    rewards = {OWN: simulate_average(sources, make(sources), budget, horizon, seed)}
    for policy, name in OTHERS.items():
        rewards[name] = simulate_average(sources, policy, budget, horizon, seed)
    rewards["optimum"] = optimal_average_reward(sources, budget)
    rewards["relaxed bound"] = relaxed_bound(sources, budget)[0]
    return pd.Series(rewards, name="reward")


def compare_on_random_sets(
    make: MakePolicy, instances: int, horizon: int, seed: int
) -> pd.DataFrame:
    """Return the share of the relaxed bound that policies earn on random sets of four sources."""
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        bound = relaxed_bound(sources, budget)[0]
        policies: dict[str, Policy | str] = {OWN: make(sources)}
        policies |= {name: policy for policy, name in OTHERS.items()}
        for name, policy in policies.items():
            share = simulate_average(sources, policy, budget, horizon, seed) / bound
            rows.append({"instance": instance, "budget": budget, "policy": name, "share": share})
    return pd.DataFrame(rows)


# Values and tables


def save_comparison(rewards: pd.Series, budget: int) -> None:
    """Save the comparison on one set of sources as a table, and its numbers."""
    table = rewards.to_frame().assign(share=rewards / rewards["relaxed bound"])
    save_table(
        "your-policy-rewards",
        table.rename_axis("policy"),
        f"Average reward per epoch at a budget of {budget}, and its share of the relaxed bound.",
        formats={"reward": ".2f", "share": ".4f"},
    )
    save_values(
        "your-policy",
        {
            "own": rewards[OWN],
            "index": rewards["index policy"],
            "loss": max(1 - rewards[OWN] / rewards["optimum"], 0.0),
            "beats-index": bool(rewards[OWN] > rewards["index policy"] * (1 + 1e-9)),
        },
    )


def save_random_sets(shares: pd.DataFrame) -> None:
    """Save the comparison on random sets: all results, and the numbers of sentences."""
    save_data(
        "your-policy-sets",
        shares,
        "One row a random set of four sources and policy.",
        {
            "instance": "number of the set",
            "budget": "sources per epoch",
            "policy": "name of the policy",
            "share": "average reward, as a share of the relaxed bound",
        },
    )
    wide = shares.pivot(index="instance", columns="policy", values="share")
    save_values(
        "your-policy",
        {
            "sets": len(wide),
            "won": int((wide[OWN] > wide["index policy"] * (1 + 1e-9)).sum()),
            "worst": wide[OWN].min(),
        },
    )


# Figures


def draw_random_sets(shares: pd.DataFrame) -> None:
    """Draw the share of the bound on each random set, a row of dots a policy."""
    wide = shares.pivot(index="instance", columns="policy", values="share")
    names = [OWN, *OTHERS.values()]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for row, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
            axis.plot(wide[name], [row] * len(wide), "o", color=colour, alpha=0.5, markersize=4)
            axis.plot(wide[name].mean(), row, "|", color=ink(), markersize=16)
        axis.set_yticks(range(len(names)), fold_names(figure, names))
        axis.invert_yaxis()
        axis.set_xlabel("share of the relaxed bound")
        return shares

    save_figure(
        "your-policy-shares",
        draw,
        caption=f"Share of the relaxed bound on {len(wide)} random sets of four sources, a dot a "
        f"set; the strokes are means. Your policy earns {wide[OWN].mean():.3f} on average, the "
        f"index policy {wide['index policy'].mean():.3f}.",
        alt="Four rows of dots, one a policy. Means: "
        + ", ".join(f"{name} {wide[name].mean():.3f}" for name in names)
        + ".",
        height=2.8,
        instances="your-policy-sets",
    )
