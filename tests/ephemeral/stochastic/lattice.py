"""The exact average reward of a small stochastic case, to test simulations against.

Let content be dropped after two periods and let each epoch's content U_i take finitely many values.
Then a source is described by what the last epoch but one left, p_i (0 if it was crawled then), and
what the last epoch brought, U_i: its content is X_i = alpha_i p_i + U_i. The vector p is a finite
Markov chain under any rule that looks at X, and its stationary law gives the average reward without
any sampling. If interest does not fade (mu near 0) and every item is worth xibar, U_i is xibar
times a Poisson number, so that the real generator of arrivals is put to the test as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_array, check_integer
from analysis.ephemeral.policies import top
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]


def lattice_average_reward(
    sources: Sources,
    values: Sequence[ArrayLike],
    probabilities: Sequence[ArrayLike],
    priority: Callable[[Floats], Floats],
    budget: int,
) -> float:
    """Average reward of a priority rule when content lives two periods, exactly.

    Parameters
    ----------
    sources : Sources
        N sources; only alpha matters here.
    values, probabilities : sequence of N array_like
        Values of U_i and their probabilities, which sum to one.
    priority : callable
        Maps contents, shape (N,), to priorities, shape (N,); the largest are crawled.
    budget : int
        Sources crawled at each epoch, from 1 to N.

    Returns
    -------
    float
        Expected reward per epoch in the long run.

    Raises
    ------
    ValueError
        If a law is not a probability distribution, or the budget is out of range.
    """
    size = len(sources)
    budget = check_integer("budget", budget, 1, size)
    points = [check_array(f"values[{i}]", v, 0) for i, v in enumerate(values)]
    laws = [check_array(f"probabilities[{i}]", p, 0, 1) for i, p in enumerate(probabilities)]
    for i, (point, law) in enumerate(zip(points, laws, strict=True)):
        if point.shape != law.shape or abs(law.sum() - 1) > 1e-9:
            raise ValueError(f"probabilities[{i}] must sum to 1, one for each value, got {law}")
    # What is left of a source: 0 after a crawl, or any value of its U.
    left = [np.concatenate([[0.0], point]) for point in points]
    states = list(product(*(range(len(one)) for one in left)))
    number = {state: row for row, state in enumerate(states)}
    transition = np.zeros((len(states), len(states)))
    reward = np.zeros(len(states))
    for row, state in enumerate(states):
        kept = sources.alpha * np.array([left[i][k] for i, k in enumerate(state)])
        for draw in product(*(range(len(point)) for point in points)):
            chance = float(np.prod([laws[i][k] for i, k in enumerate(draw)]))
            content = kept + np.array([points[i][k] for i, k in enumerate(draw)])
            arms = top(priority(content), budget)
            reward[row] += chance * content[arms].sum()
            following = [k + 1 for k in draw]
            for arm in arms:
                following[arm] = 0
            transition[row, number[tuple(following)]] += chance
    balance = np.vstack([transition.T - np.eye(len(states)), np.ones(len(states))])
    target = np.append(np.zeros(len(states)), 1.0)
    stationary = np.linalg.lstsq(balance, target, rcond=None)[0]
    return float(stationary @ reward)
