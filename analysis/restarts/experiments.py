"""The slides' four experiments: alpha_opt on small systems, eps_myp on large ones.

    alpha_opt = 100 J(optimal) / J(index)              |X| = 5, n = 5, m in {1, 2}
    eps_myp = 100 (J(myopic) - J(index)) / J(myopic)   |X| = 25, n in {25, 50, 75}, m in {1, 2, 5}

The first is exact here (3125 joint states); the second is simulated on common random numbers, with
an interval. What the slides leave open (kernels, initial state, whether arms differ, the myopic
score) is a parameter or a column.

Source: the restart slides (2019), slides 18 to 20.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.restarts.generators import SLIDE_DISCOUNT, slide_arms
from analysis.restarts.joint import JointModel, evaluate_scores, solve_joint
from analysis.restarts.policies import (
    RestartBandit,
    index_scores,
    lookahead_scores,
    lowest_first,
    myopic_scores,
)
from analysis.restarts.relaxed import relaxed_bound
from analysis.restarts.simulate import simulate


def optimality_ratios(
    kernel: str,
    rng: np.random.Generator,
    *,
    instances: int = 100,
    arms: int = 5,
    states: int = 5,
    budgets: Sequence[int] = (1, 2),
    identical: bool = False,
) -> pd.DataFrame:
    """Value the optimal, index, myopic and lowest-index policies exactly on random instances.

    Parameters
    ----------
    kernel : str
        A name of `generators.kernel_names()`.
    rng : numpy.random.Generator
        Instance i is drawn from its i-th child, whatever the number of instances.
    instances, arms, states : int
    budgets : sequence of int
    identical : bool
        Whether an instance's arms share one kernel.

    Returns
    -------
    pandas.DataFrame
        One row per instance and budget: the costs ``optimal``, ``index``, ``myopic``, ``lowest``
        and the Lagrangian ``bound`` from the best joint state, ``alpha`` there, ``alpha_least``
        over all initial joint states, ``alpha_mean`` from a uniformly random one, ``eps`` of the
        index against the myopic policy, and ``residual``, the error bound on the costs.
    """
    rows = []
    for number, child in enumerate(rng.spawn(instances)):
        drawn = slide_arms(kernel, arms, states, child, identical=identical)
        for budget in budgets:
            bandit = RestartBandit(tuple(drawn), budget, SLIDE_DISCOUNT)
            model = JointModel(bandit)
            best = solve_joint(bandit, model=model)
            index = index_scores(bandit)
            values = {
                name: evaluate_scores(bandit, scores, model=model, start=best.bias)
                for name, scores in (
                    ("index", index),
                    ("myopic", myopic_scores(bandit)),
                    ("lowest", lowest_first(index)),
                )
            }
            costs = {name: float(found.bias.flat[0]) for name, found in values.items()}
            by_index = values["index"].bias
            rows.append(
                {
                    "kernel": kernel,
                    "instance": number,
                    "budget": budget,
                    "optimal": float(best.bias.flat[0]),
                    **costs,
                    "bound": relaxed_bound(bandit)[0],
                    "alpha": 100 * float(best.bias.flat[0]) / costs["index"],
                    "alpha_least": 100 * float((best.bias / by_index).min()),
                    "alpha_mean": 100 * float(best.bias.mean() / by_index.mean()),
                    "eps": 100 * (1 - costs["index"] / costs["myopic"]),
                    "residual": max(best.residual, *(v.residual for v in values.values())),
                }
            )
    return pd.DataFrame(rows)


def myopic_gaps(
    kernel: str,
    rng: np.random.Generator,
    *,
    instances: int = 100,
    arms: int = 75,
    states: int = 25,
    budget: int = 2,
    paths: int = 5000,
    epochs: int = 250,
    identical: bool = False,
    threads: int = 1,
) -> pd.DataFrame:
    """Simulate the index, myopic and two-epoch policies on random instances.

    Parameters
    ----------
    kernel : str
        A name of `generators.kernel_names()`.
    rng : numpy.random.Generator
        Instance i is drawn and simulated from its i-th child.
    instances, arms, states, budget : int
    paths, epochs : int
        Replications, and epochs of each.
    identical : bool
        Whether an instance's arms share one kernel.
    threads : int
        Threads of the simulation; the numbers do not depend on it.

    Returns
    -------
    pandas.DataFrame
        One row per instance: mean costs ``index``, ``myopic``, ``lookahead``; ``eps`` of the index
        against the myopic policy with ``low`` and ``high``, its 95% interval; the Lagrangian
        ``bound`` and ``gap``, by how many percent the index policy is above it at most.
    """
    rows = []
    for number, child in enumerate(rng.spawn(instances)):
        drawn = slide_arms(kernel, arms, states, child, identical=identical)
        bandit = RestartBandit(tuple(drawn), budget, SLIDE_DISCOUNT)
        policies = {
            "index": index_scores(bandit),
            "myopic": myopic_scores(bandit),
            "lookahead": lookahead_scores(bandit),
        }
        found = simulate(bandit, policies, paths=paths, epochs=epochs, rng=child, threads=threads)
        eps, low, high = found.saving("index", "myopic")
        costs = {name: found.mean(name)[0] for name in policies}
        bound, _ = relaxed_bound(bandit)
        rows.append(
            {"kernel": kernel, "instance": number, "arms": arms, "budget": budget, **costs}
            | {"eps": eps, "low": low, "high": high}
            | {"bound": bound, "gap": 100 * (costs["index"] / bound - 1)}
        )
    return pd.DataFrame(rows)
