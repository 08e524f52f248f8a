"""Arms with two actions: index and test of indexability against a public package."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.bandits import Arm, certify_indexability
from benchmarks._timing import best, row
from benchmarks.restarts import difference, numpy_state


def rows() -> Iterator[dict[str, Any]]:
    """Yield one comparison after another."""
    rng = np.random.default_rng(1)
    for states in (10, 25, 100, 500, 1000):
        arm = Arm(rng.dirichlet(np.ones(states), (2, states)), rng.normal(size=(2, states)))
        for discount in (0.9, 1.0):
            ours, found = best(lambda a=arm, b=discount: certify_indexability(a, b), 5)
            theirs, index = best(lambda a=arm, b=discount: package_index(a, b), 3)
            note = f"from both ends of the subsidies; {difference(found.index, index)}"
            name = f"index of any arm, {states} states, discount {discount:g}"
            yield row(name, ours, "markovianbandit-pkg", theirs, note)


def package_index(arm: Arm, discount: float) -> np.ndarray:
    with numpy_state(), contextlib.redirect_stdout(io.StringIO()):
        from markovianbandit.whittle_computation import compute_whittle_indices

        kernels, rewards = map(np.array, arm.transitions), map(np.array, arm.rewards)
        _, index = compute_whittle_indices(*kernels, *rewards, beta=discount)
    return np.asarray(index)
