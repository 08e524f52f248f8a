"""The Whittle index of a restart arm by its definition, in ball arithmetic."""

from __future__ import annotations

import numpy as np
from flint import arb, arb_mat, ctx

from analysis.restarts import RestartArm


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
