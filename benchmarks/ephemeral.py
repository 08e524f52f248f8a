"""Speed of the parts on ephemeral content, each against another way to the same number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

from analysis.ephemeral import Sources, relaxed_bound, simulate_random, whittle_index
from benchmarks._timing import best, row


def rows() -> Iterator[dict[str, Any]]:
    """Yield one row a comparison; both sides are timed in this run, after a warm-up."""
    for size, budget, horizon in ((4, 1, 20_000), (1000, 50, 1000)):
        sources = _sources(size)
        content = np.random.default_rng(1).exponential(sources.u[:, None], (size, horizon))
        ours, fast = best(lambda s=sources, b=budget, c=content: _compiled(s, b, c))
        peer, slow = best(lambda s=sources, b=budget, c=content: _numpy_loop(s, b, c))
        yield row(
            f"index policy, random content, {size} sources",
            ours,
            "NumPy loop over epochs",
            peer,
            f"{size * horizon / ours:.3g} epochs x sources per second; "
            f"rewards agree to {abs(fast / slow - 1):.0e}",
        )
    sources = _sources(200)
    ours, bound = best(lambda: relaxed_bound(sources, 20)[0])
    peer, programme = best(lambda: _linear_programme(sources, 20, 100))
    yield row(
        "relaxed bound, 200 sources",
        ours,
        "HiGHS, linear programme over 100 ages",
        peer,
        f"bounds agree to {abs(bound / programme - 1):.0e}",
    )


def _sources(size: int) -> Sources:
    rng = np.random.default_rng(0)
    return Sources(rng.uniform(1, 9, size), rng.uniform(0.5, 2, size), rng.uniform(0.2, 1.5, size))


def _compiled(sources: Sources, budget: int, content: np.ndarray) -> float:
    return simulate_random(sources, "whittle", budget, content).average_reward


def _numpy_loop(sources: Sources, budget: int, content: np.ndarray) -> float:
    state, total = np.zeros(len(sources)), 0.0
    for epoch in range(content.shape[1]):
        arms = np.argpartition(-whittle_index(sources, state), budget - 1)[:budget]
        total += state[arms].sum()
        state[arms] = 0.0
        state = sources.alpha * state + content[:, epoch]
    return total / content.shape[1]


def _linear_programme(sources: Sources, budget: float, ages: int) -> float:
    """Maximise reward over rates of cycles of each length, at most one cycle's time a source."""
    lengths = np.arange(1, ages + 1)
    reward = sources.state_at_age(lengths[:, None] * np.ones(len(sources))).T.ravel()
    time = kron(eye_array(len(sources)), csr_array(lengths[None, :].astype(float)))
    spend = csr_array(np.repeat(sources.cost, ages)[None, :])
    solution = linprog(
        -reward,
        A_ub=vstack([time, spend]),
        b_ub=np.append(np.ones(len(sources)), budget),
        method="highs",
    )
    return -float(solution.fun)
