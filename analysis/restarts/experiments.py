"""The slides' four experiments: alpha_opt on small systems, eps_myp on large ones.

    alpha_opt = 100 J(optimal) / J(index)                K = 5, n = 5, m in {1, 2}
    eps_myp = 100 (J(myopic) - J(index)) / J(myopic)     K = 25, n in {25, 50, 75}, m in {1, 2, 5}

The first is exact here (3125 joint states); the second is simulated on common random numbers, with
an interval. What the slides leave open (kernels, initial state, whether arms differ, the myopic
score) is a parameter or a column.

Source: the restart slides (2019), slides 18 to 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

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
from analysis.restarts.simulation import simulate
from analysis.sweep import sweep


def optimality_ratios(
    kernels: Sequence[str],
    *,
    seed: int,
    instances: int = 100,
    arms: int = 5,
    states: int = 5,
    budgets: Sequence[int] = (1, 2),
    identical: bool = False,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Value the optimal, index, myopic and lowest-index policies exactly on random instances.

    Parameters
    ----------
    kernels : sequence of str
        Names of `generators.kernel_names()`.
    seed : int
        Root of the instances' streams; more instances leave the earlier ones as they were.
    instances, arms, states : int
        Instances of each kernel; arms of an instance; states of an arm.
    budgets : sequence of int
        Arms activated per epoch; every budget sees the same arms.
    identical : bool
        Whether an instance's arms share one kernel.
    jobs : int, optional
        Local processes, all cores by default; the numbers do not depend on it.

    Returns
    -------
    pandas.DataFrame
        One row per kernel, instance and budget: the costs ``optimal``, ``index``, ``myopic``,
        ``lowest`` and the Lagrangian ``bound`` from the best joint state, ``alpha`` there,
        ``alpha_least`` over all initial joint states, ``alpha_mean`` from a uniformly random one,
        ``eps`` of the index against the myopic policy, and ``residual``, the error bound on costs.
    """
    evaluate = partial(
        _ratios, arms=arms, states=states, budgets=tuple(budgets), identical=identical
    )
    return _frame(evaluate, kernels, seed, instances, jobs)


def _frame(
    evaluate: Any, kernels: Sequence[str], seed: int, instances: int, jobs: int | None
) -> pd.DataFrame:
    found = sweep(evaluate, kernels, seed=seed, replications=instances, jobs=jobs, progress=False)
    return pd.DataFrame(
        [
            {"kernel": kernel, "instance": number, **row}
            for kernel, by_instance in zip(kernels, found, strict=True)
            for number, rows in enumerate(by_instance)
            for row in rows
        ]
    )


def _ratios(
    kernel: str,
    rng: np.random.Generator,
    *,
    arms: int,
    states: int,
    budgets: tuple[int, ...],
    identical: bool,
) -> list[dict[str, float]]:
    drawn = tuple(slide_arms(kernel, arms, states, rng, identical=identical))
    rows = []
    for budget in budgets:
        bandit = RestartBandit(drawn, budget, SLIDE_DISCOUNT)
        model = JointModel(bandit)
        best = solve_joint(bandit, model=model)
        index = index_scores(bandit)
        scores = {
            "index": index,
            "myopic": myopic_scores(bandit),
            "lowest": lowest_first(index),
        }
        values = {
            name: evaluate_scores(bandit, table, model=model, start=best.bias)
            for name, table in scores.items()
        }
        costs = {name: float(found.bias.flat[0]) for name, found in values.items()}
        by_index = values["index"].bias
        rows.append(
            {
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
    return rows


def myopic_gaps(
    kernels: Sequence[str],
    *,
    seed: int,
    instances: int = 100,
    arms: int = 75,
    states: int = 25,
    budgets: Sequence[int] = (2,),
    paths: int = 5000,
    epochs: int = 250,
    identical: bool = False,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Simulate the index, myopic and two-epoch policies on random instances.

    Parameters
    ----------
    kernels, seed, instances, arms, states, budgets, identical, jobs
        As `optimality_ratios`.
    paths, epochs : int
        Replications on each instance, and epochs of each.

    Returns
    -------
    pandas.DataFrame
        One row per kernel, instance and budget: mean costs ``index``, ``myopic``, ``lookahead``;
        ``eps`` of the index against the myopic policy with ``low`` and ``high``, its 95% interval;
        the Lagrangian ``bound`` and ``gap``, by how many percent the index policy's mean is above.
    """
    evaluate = partial(
        _gaps, arms=arms, states=states, budgets=tuple(budgets), paths=paths, epochs=epochs,
        identical=identical,
    )  # fmt: skip
    return _frame(evaluate, kernels, seed, instances, jobs)


def _gaps(
    kernel: str,
    rng: np.random.Generator,
    *,
    arms: int,
    states: int,
    budgets: tuple[int, ...],
    paths: int,
    epochs: int,
    identical: bool,
) -> list[dict[str, float]]:
    drawn = tuple(slide_arms(kernel, arms, states, rng, identical=identical))
    rows = []
    for budget in budgets:
        bandit = RestartBandit(drawn, budget, SLIDE_DISCOUNT)
        policies = {
            "index": index_scores(bandit),
            "myopic": myopic_scores(bandit),
            "lookahead": lookahead_scores(bandit),
        }
        found = simulate(bandit, policies, paths=paths, epochs=epochs, rng=rng)
        eps, low, high = found.saving("index", "myopic")
        costs = {name: found.mean(name)[0] for name in policies}
        bound, _ = relaxed_bound(bandit)
        rows.append(
            {"arms": arms, "budget": budget, **costs}
            | {"eps": eps, "low": low, "high": high}
            | {"bound": bound, "gap": 100 * (costs["index"] / bound - 1)}
        )
    return rows
