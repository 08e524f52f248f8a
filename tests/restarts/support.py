"""Arms that the tests of restart bandits draw."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from analysis.restarts import RestartArm
from analysis.restarts.instances import kernel_names, random_kernel


def action_values(
    arm: RestartArm, discount: float, subsidy: float, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """H(., 0) and H(., 1) of slide 9 for given values."""
    scale = 1 - discount if discount < 1 else 1.0
    passive = scale * arm.passive_cost + discount * (arm.passive @ values)
    active = scale * (arm.active_cost + subsidy) + discount * (arm.reset @ values)
    return passive, active


def draw_arm(seed: int, states: int, *, kind: str = "any") -> RestartArm:
    """An arm with random costs; `kind` is a kernel's name, "any" (no structure) or "sparse"."""
    rng = np.random.default_rng(seed)
    reset = rng.dirichlet(np.ones(states))
    passive_cost, active_cost = rng.normal(size=(2, states))
    if kind == "any":
        passive = rng.dirichlet(np.ones(states), states)
    elif kind == "sparse":
        # Many states are never visited from the reset state, so that a ratio would be 0/0.
        passive = rng.exponential(size=(states, states)) * (rng.random((states, states)) < 0.3)
        passive[:, -1] += 0.1
        passive /= passive.sum(axis=1, keepdims=True)
        reset = np.eye(states)[rng.integers(states)]
    else:
        # A leak to the worst state keeps the average-cost index defined for every draw.
        passive = 0.98 * random_kernel(kind, states, rng) + 0.02 * np.eye(states)[-1]
        passive_cost, active_cost = np.sort(passive_cost), np.full(states, rng.normal())
    return RestartArm(passive, reset, passive_cost, active_cost)


ARMS = st.builds(
    draw_arm,
    st.integers(0, 2**32 - 1),
    st.integers(2, 8),
    kind=st.sampled_from(["any", "sparse", *kernel_names()]),
)
MONOTONE_ARMS = st.builds(
    draw_arm, st.integers(0, 2**32 - 1), st.integers(2, 8), kind=st.sampled_from(kernel_names())
)
