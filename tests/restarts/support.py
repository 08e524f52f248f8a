"""Arms that tests of restart bandits draw, families that break solvers, and the exact index."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import strategies as st

from analysis.restarts import RestartArm, RestartBandit
from analysis.restarts.instances import kernel_names, random_kernel


def action_values(
    arm: RestartArm, discount: float, subsidy: float, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """H(., 0) and H(., 1) of slide 9 for given values."""
    scale = 1 - discount if discount < 1 else 1.0
    passive = scale * arm.passive_cost + discount * (arm.passive @ values)
    active = scale * (arm.active_cost + subsidy) + discount * (arm.reset @ values)
    return passive, active


def draw_arm(seed: int, states: int = 5, *, kind: str = "any") -> RestartArm:
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


def unichain_arm(seed: int) -> RestartArm:
    """An arm with one closed class, and many states that lead there only by way of others."""
    rng = np.random.default_rng(seed)
    states = int(rng.integers(2, 7))
    target = np.r_[0, [rng.integers(k) for k in range(1, states)]]
    p = rng.permutation(states)
    passive = np.zeros((states, states))
    passive[p, p[target]] = 1.0
    reset = np.eye(states)[rng.integers(states)]
    return RestartArm(passive, reset, *rng.integers(-2, 4, (2, states)).astype(float))


def drifting_down(states: int, up: float, down: float) -> RestartArm:
    """A birth-death arm with linear cost: its top is reached once in (down/up)^states epochs."""
    passive = band(np.full(states, up), np.full(states, down))
    return RestartArm(passive, np.eye(states)[0], np.arange(float(states)), np.full(states, 20.0))


EPSILON = float(np.finfo(float).eps)
ARMS = st.builds(
    draw_arm,
    st.integers(0, 2**32 - 1),
    st.integers(2, 8),
    kind=st.sampled_from(["any", "sparse", *kernel_names()]),
)
MONOTONE_ARMS = st.builds(
    draw_arm, st.integers(0, 2**32 - 1), st.integers(2, 8), kind=st.sampled_from(kernel_names())
)


# Families that are made to break a solver

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


# The index by its definition, in ball arithmetic


def _exact(arm: RestartArm, discount: float, bits: int):  # type: ignore[no-untyped-def]
    """Return P, Q, both costs and the discount in balls.

    A diagonal entry of P takes what its row leaves, and 1 stands for a discount that differs from
    it by 2^-bits.
    """
    b = arb(discount) if discount < 1 else 1 - arb(2) ** -bits
    states = range(arm.states)
    rows = [[arb(float(p)) for p in row] for row in arm.passive]
    for x in states:
        rows[x][x] = 1 - sum((rows[x][y] for y in states if y != x), arb(0))
    mass = sum((arb(float(q)) for q in arm.reset), arb(0))
    reset = [arb(float(q)) / mass for q in arm.reset]
    idle = [arb(float(c)) for c in arm.passive_cost]
    repair = [arb(float(c)) for c in arm.active_cost]
    return rows, reset, idle, repair, b


def precise_index(arm: RestartArm, discount: float, bits: int = 500) -> np.ndarray:
    """Return the index, correct to every digit of a float, by parametric policy iteration.

    The subsidy is raised from minus infinity, where every state is active. The values of a policy
    are linear in it and solve the policy's equations; the first state that ties turns passive, at
    its index.

    Raises
    ------
    ArithmeticError
        If the precision is too low to tell.
    """
    with ctx.workprec(4 * bits):
        states, system = range(arm.states), _exact(arm, discount, bits)
        passive: list[int] = []
        index = np.empty(arm.states)
        while len(passive) < arm.states:
            at_zero, slope = _advantage(*system, passive)
            ties = {x: -at_zero[x] / slope[x] for x in states if x not in passive}
            least = min(ties, key=lambda x: ties[x].mid())
            sharp = ties[least].rel_accuracy_bits() > 60 or ties[least].abs_upper() < 1e-100
            if not sharp or not all(slope[x] > 0 for x in ties):
                raise ArithmeticError(f"{bits} bits are too few")
            index[least] = float(ties[least].mid())
            passive.append(least)
        return index


def best_passive(
    arm: RestartArm, discount: float, subsidy: float, passive: list[int], bits: int = 500
) -> list[int]:
    """Return the states that are left passive at a subsidy, by policy iteration from some of them.

    Raises
    ------
    ArithmeticError
        If the precision is too low to tell.
    """
    with ctx.workprec(4 * bits):
        system = _exact(arm, discount, bits)
        for _ in range(10 * arm.states):
            lines = _advantage(*system, passive)
            saves = [a + arb(float(subsidy)) * s for a, s in zip(*lines, strict=True)]
            if any(saved.contains(0) for saved in saves):
                raise ArithmeticError(f"{bits} bits are too few")
            better = [x for x, saved in enumerate(saves) if saved > 0]
            if better == passive:
                return passive
            passive = better
        raise ArithmeticError("policy iteration did not settle")


def _advantage(rows, reset, idle, repair, b, passive):
    """Return a and s: passivity is cheaper by a + subsidy s under a policy's relative values.

    With gain g and sum Q h = 0, an active state has h = c1 + subsidy - g, and a passive one
    h = c0 - g + b P h. All are linear in 1, the subsidy and g, and so have three coefficients.
    """
    states = range(len(idle))
    parts = [[repair[x], arb(1), arb(-1)] for x in states]
    if passive:
        inside = set(passive)
        system = arb_mat([[(x == y) - b * rows[x][y] for y in passive] for x in passive])
        right = []
        for x in passive:
            from_outside = [
                b * sum((rows[x][y] * parts[y][c] for y in states if y not in inside), arb(0))
                for c in range(3)
            ]
            right.append([idle[x] + from_outside[0], from_outside[1], from_outside[2] - 1])
        for x, values in zip(passive, system.solve(arb_mat(right)).tolist(), strict=True):
            parts[x] = values
    met = [
        sum((q * part[c] for q, part in zip(reset, parts, strict=True)), arb(0)) for c in (0, 1, 2)
    ]
    gain = [-met[0] / met[2], -met[1] / met[2]]
    linear = [[part[c] + part[2] * gain[c] for c in (0, 1)] for part in parts]
    at_zero, slope = [], []
    for x in states:
        later = [b * sum((rows[x][y] * linear[y][c] for y in states), arb(0)) for c in (0, 1)]
        at_zero.append(repair[x] - idle[x] - later[0])
        slope.append(1 - later[1])
    return at_zero, slope


def over_families(few: int, many: int):  # type: ignore[no-untyped-def]
    """Run a test on some arms of each family: few, and many in ``make proofs``."""
    counts = pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])
    return lambda test: counts(pytest.mark.parametrize("family", FAMILIES)(test))


@cache
def truth(family: str, number: int) -> tuple[RestartArm, float, np.ndarray]:
    """An arm, a discount and the arm's index."""
    arm, discount = draw(family, number)
    return arm, discount, precise_index(arm, discount)


def scale(arm: RestartArm, index: np.ndarray) -> np.ndarray:
    """What an error is relative to."""
    every = np.concatenate([arm.passive_cost, arm.active_cost])
    spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
    return np.abs(index) + spread + 1e-7 * np.abs(every).max()


def right(arm: RestartArm, found: np.ndarray, index: np.ndarray) -> bool:
    """Whether an index has nine digits; nan stands for none."""
    return bool(((np.abs(found - index) <= 1e-9 * scale(arm, index)) | np.isnan(found)).all())


def draw_bandit(family: str, number: int) -> RestartBandit:
    """Three small arms of a family."""
    rng = np.random.default_rng([number, 3])
    arms = [draw(family, 3 * number + n, int(rng.integers(1, 4)))[0] for n in range(3)]
    return RestartBandit(arms, int(rng.integers(1, 3)), float(rng.choice([0.5, 0.9, 0.999])))
