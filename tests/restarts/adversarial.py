"""Families of restart arms that are made to break a solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.restarts import RestartArm

Rng = np.random.Generator


def band(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """A birth-death kernel that stays where it does not move."""
    states = len(up)
    passive = np.zeros((states, states))
    here = np.arange(states)
    passive[here[:-1], here[1:]] = up[:-1]
    passive[here[1:], here[:-1]] = down[1:]
    passive[here, here] = 1 - passive.sum(axis=1)
    return passive


def costs(states: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Costs that rise, that are equal but for a little, or without any order."""
    kind = rng.integers(4)
    if kind == 0:
        return np.arange(float(states)) ** rng.integers(1, 3), np.full(states, rng.uniform(1, 20))
    if kind == 1:
        return 1 + 1e-4 * rng.integers(2, size=states), np.full(states, 1.0)
    if kind == 2:
        return np.sort(rng.normal(size=states)), np.full(states, rng.normal())
    return rng.normal(size=states), rng.normal(size=states)


def fresh(states: int, rng: Rng) -> np.ndarray:
    """A reset to the first state, to any one, or spread over all."""
    kind = rng.integers(3)
    if kind == 2:
        return rng.dirichlet(np.ones(states))
    return np.eye(states)[0 if kind == 0 else rng.integers(states)]


def seldom_climbs(rng: Rng, states: int) -> RestartArm:
    """A birth-death chain that drifts down: reaching its top takes a number beyond counting."""
    up = np.full(states, 10.0 ** rng.uniform(-4, -1))
    return RestartArm(
        band(up, np.full(states, rng.uniform(0.3, 0.9))), np.eye(states)[0], *costs(states, rng)
    )


def birth_death(rng: Rng, states: int) -> RestartArm:
    """A birth-death chain whose drift is another in every state."""
    up, down = 0.5 * 10.0 ** rng.uniform(-3, 0, size=(2, states))
    return RestartArm(band(up, down), fresh(states, rng), *costs(states, rng))


def near_ties(rng: Rng, states: int) -> RestartArm:
    """A few kinds of states, each there several times, with costs that differ by almost nothing."""
    kinds = rng.integers(max(1, states // 3), size=states)
    passive = rng.dirichlet(np.full(states, 0.3), states)[kinds]
    passive = 0.9 * passive + 0.1 * np.eye(states)[rng.integers(states)]
    idle = rng.normal(size=states)[kinds] + 10.0 ** rng.uniform(-15, -3) * rng.normal(size=states)
    return RestartArm(passive, fresh(states, rng), idle, np.full(states, rng.normal()))


def random_band(rng: Rng, states: int) -> RestartArm:
    """A band without order, with entries over six decades."""
    below, above = rng.integers(0, 4), rng.integers(1, 4)
    passive = 10.0 ** rng.uniform(-6, 0, size=(states, states))
    passive = np.triu(np.tril(passive, above), -below)
    passive /= passive.sum(axis=1, keepdims=True)
    return RestartArm(passive, fresh(states, rng), *costs(states, rng))


def equal_costs(rng: Rng, states: int) -> RestartArm:
    """Costs of 1, some of them 1 + 1e-4."""
    passive = rng.dirichlet(np.full(states, 0.3), states)
    idle = 1 + 1e-4 * rng.integers(2, size=states)
    repair = 1 + (1e-4 * rng.integers(2, size=states) if rng.random() < 0.5 else np.zeros(states))
    return RestartArm(passive, fresh(states, rng), idle, repair)


def absorbing(rng: Rng, states: int) -> RestartArm:
    """A state that is never left, few edges, and resets that may lead straight into it."""
    passive = rng.exponential(size=(states, states)) * (rng.random((states, states)) < 0.3)
    end = rng.integers(states)
    passive[:, end] += 10.0 ** rng.uniform(-8, 0)
    passive[end] = np.eye(states)[end]
    passive /= passive.sum(axis=1, keepdims=True)
    return RestartArm(passive, fresh(states, rng), *costs(states, rng))


def nearly_decomposable(rng: Rng, states: int) -> RestartArm:
    """Blocks between which there is almost no way."""
    block = np.sort(rng.integers(1 + states // 3, size=states))
    passive = rng.dirichlet(np.ones(states), states)
    passive[block[:, None] != block[None, :]] *= 10.0 ** rng.uniform(-13, -3)
    passive /= passive.sum(axis=1, keepdims=True)
    return RestartArm(passive, fresh(states, rng), *costs(states, rng))


def deterministic_ageing(rng: Rng, states: int) -> RestartArm:
    """A step up in each epoch; the last state stays, or leads anywhere."""
    passive = np.eye(states, k=1)
    passive[-1, -1 if rng.random() < 0.5 else rng.integers(states)] = 1.0
    return RestartArm(passive, fresh(states, rng), *costs(states, rng))


def dense(rng: Rng, states: int) -> RestartArm:
    """Any state leads to any other, by probabilities over some decades."""
    passive = rng.dirichlet(np.full(states, 10.0 ** rng.uniform(-1, 1)), states)
    return RestartArm(passive, fresh(states, rng), *costs(states, rng))


def one_or_two_states(rng: Rng, _: int) -> RestartArm:
    """Two states whose ways to each other are seldom taken, or one that never changes."""
    states = int(rng.integers(1, 3))
    leaves = 10.0 ** rng.uniform(-14, 0, size=2)
    passive = np.array([[1 - leaves[0], leaves[0]], [leaves[1], 1 - leaves[1]]])
    if rng.random() < 0.2:
        passive[rng.integers(2)] = np.eye(2)[rng.integers(2)]
    if states == 1:
        passive = np.ones((1, 1))
    return RestartArm(passive, fresh(states, rng), *costs(states, rng))


FAMILIES: dict[str, Callable[[Rng, int], RestartArm]] = {
    "chains that seldom climb": seldom_climbs,
    "birth-death drifts": birth_death,
    "near ties": near_ties,
    "random bands": random_band,
    "costs 1 and 1 + 1e-4": equal_costs,
    "absorbing": absorbing,
    "nearly decomposable": nearly_decomposable,
    "deterministic ageing": deterministic_ageing,
    "dense": dense,
    "one or two states": one_or_two_states,
}
#: One discount of every order of magnitude, from one half to the average-cost problem.
DISCOUNTS = (0.5, 0.9, 0.99, *(1 - 10.0**-k for k in range(3, 15)), 1.0)


def draw(family: str, number: int, states: int | None = None) -> tuple[RestartArm, float]:
    """The arm and discount of a number; every 20th arm has one state."""
    rng = np.random.default_rng([*family.encode(), number])
    if states is None:
        states = 1 if number % 20 == 19 else int(rng.integers(2, 13))
    return FAMILIES[family](rng, states), float(rng.choice(DISCOUNTS))
