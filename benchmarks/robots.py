"""The controlled queue against public solvers, on the same machine in the same run.

Ours is `RobotControl(...).solve()` with everything that it returns, to a Bellman residual below
1e-9. QuantEcon's DiscreteDP has no average criterion: its policy iteration runs at discount 0.99999
on the same sparse problem, and its gain is off by what discounting costs. mdpsolver has the average
criterion; it is given ten seconds' worth of sizes. Building the peers' problems is not timed.
Two million states are solved, with a bound on the gain, where the peers only begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from quantecon.markov import DiscreteDP
from scipy import sparse

from analysis.robots import RobotControl
from analysis.robots.control import uniformised
from benchmarks._timing import best, row

try:
    import mdpsolver
except ModuleNotFoundError:  # it has wheels for some platforms only, and no sources
    mdpsolver = None

MODELS = (
    RobotControl(16, 0.1, 1.0, 5, 1.4),
    RobotControl(100, 0.01, 1.0, 15, 17 / 15),
    RobotControl(300, 1 / 300, 1.0, 30, 1.1),
    RobotControl(1000, 0.001, 1.0, 100, 1.02),
)
DISCOUNT = 0.99999
LARGEST_FOR_MDPSOLVER = 2_000


def quantecon_problem(model: RobotControl) -> DiscreteDP:
    transitions, costs = uniformised(model)
    actions, states = costs.shape
    state = np.repeat(np.arange(states), actions)
    action = np.tile(np.arange(actions), states)
    rows = sparse.csr_matrix(sparse.vstack(transitions))[action * states + state]
    return DiscreteDP(-costs[action, state], rows, DISCOUNT, state, action)


def mdpsolver_problem(model: RobotControl) -> Any:
    transitions, costs = uniformised(model)
    states = costs.shape[1]
    rows = [sparse.csr_array(chain) for chain in transitions]

    def entries(part: str) -> list[list[list[Any]]]:
        return [
            [getattr(chain, part)[chain.indptr[s] : chain.indptr[s + 1]].tolist() for chain in rows]
            for s in range(states)
        ]

    problem = mdpsolver.model()
    problem.mdp(
        discount=0.99,
        rewards=(-costs.T).tolist(),
        tranMatProbs=entries("data"),
        tranMatColumns=entries("indices"),
    )
    return problem


def mdpsolver_time(model: RobotControl) -> float:
    """Time one solution of a fresh problem: a second one would start from the first's values."""
    problem = mdpsolver_problem(model)
    start = perf_counter()
    problem.solve(criterion="average", tolerance=1e-9)
    return perf_counter() - start


def rows() -> Iterator[dict[str, Any]]:
    for model in MODELS:
        small = model.robots <= 300
        ours, solution = best(model.solve, 20 if small else 3)
        if solution.residual >= 1e-9:
            raise RuntimeError(f"{model} was solved to {solution.residual:.3g} only")
        states = (model.robots + 1) * (model.capacity + 1) - 1
        name = f"controlled queue, N={model.robots}, K={model.capacity}, {states} states"

        problem = quantecon_problem(model)
        taken, answer = best(lambda p=problem: p.solve(method="policy_iteration"), 3)
        gain = -(1 - DISCOUNT) * float(np.mean(answer.v))
        note = f"gain {solution.gain:.7f}; the discounted peer's {gain:.7f}"
        yield row(
            name, ours, f"QuantEcon DiscreteDP, policy iteration, discount {DISCOUNT}", taken, note
        )
        if mdpsolver is None or states > LARGEST_FOR_MDPSOLVER:
            continue
        taken = min(mdpsolver_time(model) for _ in range(3))
        note = "modified policy iteration"
        yield row(name, ours, "mdpsolver, average criterion, tolerance 1e-9", taken, note)
    yield large_row(RobotControl(10_000, 1e-4, 1.0, 200, 1.01))


def large_row(model: RobotControl, improvements: int = 10) -> dict[str, Any]:
    """Time one solution of a model on which the peers do not finish.

    QuantEcon's policy iteration would need more memory than there is, and mdpsolver wants lists.
    Modified policy iteration is stopped after a few improvements; how far it has come is what its
    values bound the gain by: with w = discount v, the gain lies between the least and the largest
    difference of the undiscounted operator at w and w.
    """
    ours, solution = best(model.solve, 0)
    problem = quantecon_problem(model)
    start = perf_counter()
    answer = problem.solve(method="modified_policy_iteration", max_iter=improvements, k=100)
    taken = perf_counter() - start
    gains = DISCOUNT * answer.v - problem.bellman_operator(answer.v)
    low, high = float(gains.min()), float(gains.max())
    if not low - 1e-9 <= solution.gain <= high + 1e-9:
        raise RuntimeError(f"the gain {solution.gain} is not between {low} and {high}")
    states = (model.robots + 1) * (model.capacity + 1) - 1
    return row(
        f"controlled queue, N={model.robots}, K={model.capacity}, {states} states",
        ours,
        f"QuantEcon DiscreteDP, {improvements} improvements of 100 sweeps, stopped unsolved",
        taken,
        f"gain {solution.gain:.12f}, off by {solution.residual:.1g} at most; "
        f"the peer's values bound it by {low:.3g} and {high:.3g} only",
    )
