"""Policy iteration on the controlled queue in 100 digits, by dense linear algebra on its equations.

Written from the optimality equation alone: it shares no code with the solvers.
"""

from __future__ import annotations

import flint
import numpy as np

DIGITS = 100


def evaluate(model, policy) -> tuple[flint.arb, dict[tuple[int, int], flint.arb]]:
    """Return gain and relative values of a policy with one recurrent class."""
    levels, width = model.capacity + 1, model.robots + 1
    states = [(q, r) for q in range(levels) for r in range(width) if q + r > 0]
    number = {state: i for i, state in enumerate(states)}
    lam, mu, gamma = (flint.arb(x) for x in (model.arrival_rate, model.service_rate, model.gamma))
    size = len(states)
    # Unknowns: the values, of which the last one is 0, and in its place the gain.
    matrix, right = flint.arb_mat(size, size), flint.arb_mat(size, 1)
    for (q, r), row in number.items():
        entries = [flint.arb(0)] * size
        if q > 0:
            target = number[q - 1, r + int(policy[q - 1, r])]
            entries[row] += mu
            entries[target] -= mu
        if r > 0:
            above = min(q + 1, model.capacity)
            target = number[above, r - 1 + int(policy[above, r - 1])]
            entries[row] += lam * r
            entries[target] -= lam * r
        entries[-1] = flint.arb(1)
        for column, entry in enumerate(entries):
            matrix[row, column] = entry
        right[row, 0] = gamma * (q == 0) + lam * r * (q == model.capacity)
    solved = matrix.solve(right)
    values = {state: solved[i, 0] for state, i in number.items()}
    values[states[-1]] = flint.arb(0)
    return solved[size - 1, 0], values


def optimum(model, policy) -> tuple[flint.arb, np.ndarray]:
    """Return the optimal gain and policy, improved from `policy` until no action is better."""
    policy = np.array(policy)
    while True:
        gain, values = evaluate(model, policy)
        better = policy.copy()
        for q in range(model.capacity + 1):
            for r in range(model.robots):
                if q + r > 0:
                    gap = values[q, r + 1] - values[q, r]
                    better[q, r] = True if gap < 0 else False if gap > 0 else policy[q, r]
        if (better == policy).all():
            return gain, policy
        policy = better


def relative_excess(model, solution) -> tuple[float, float]:
    """Return by how much the policy of a solution, and its gain, miss the optimum, relatively."""
    with flint.ctx.workdps(DIGITS):
        best, _ = optimum(model, solution.policy)
        own, _ = evaluate(model, solution.policy)
        return float(own / best - 1), float(flint.arb(solution.gain) / best - 1)
