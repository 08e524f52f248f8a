"""Eliminations that rounding disturbs: how much, and again in ball arithmetic.

A bound on the error that holds where cycles are short is checked first. Elsewhere random errors of
the size of rounding are added to every term and carried through the elimination: what reaches the
index says how far rounding itself can have moved it (small-sample statistical condition
estimation). An arm whose index is moved too far is eliminated in ball arithmetic, by the same
steps, with as many bits as that takes.

Reference: Kenney and Laub, Small-sample statistical condition estimates for general matrix
functions (SIAM Journal on Scientific Computing 15, 1994); Johansson, Arb: efficient
arbitrary-precision midpoint-radius interval arithmetic (IEEE Transactions on Computers 66, 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.display import brief
from analysis.restarts.arm import RestartArm
from analysis.restarts.whittle.elimination_steps import (
    UNDECIDED,
    Arm,
    Outcome,
    Steps,
    System,
    eliminate_arm,
    eliminate_in_place,
    restore_costs,
    set_up_elimination,
    sum_crossings,
)
from analysis.results import NotConverged

#: Largest error of an index, relative to its size and the spread of the costs of either action.
TOLERANCE = 1e-9
#: Errors that are sown at a time.
PROBES = 4
#: Bits of the first elimination in balls, and of the last.
LEAST_BITS, MOST_BITS = 256, 65536
NO_SIGNS, NOTHING_LOST = np.empty((0, 0)), np.empty(0)


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Elimination:
    """What one elimination found; k counts the states of `order` left passive.

    Attributes
    ----------
    order : ndarray of int, shape (states,)
    critical, crossings : ndarray, shape (states,)
        nu and w along the order.
    cost, length, activity : ndarray, shape (states + 1,)
        L(k), M(k) and N(k), the normalised discounted number of active epochs. L is nan and M
        infinite where the arm is never active again (discount 1); M is infinite above 1e308.
    rising : bool
        Whether critical values never fall along the order, which is then optimal.
    residual : float
        Estimate of the largest error of a crossing, relative to its size and the spread of the
        costs of either action.
    """

    order: Ints
    critical: Floats
    crossings: Floats
    cost: Floats
    length: Floats
    activity: Floats
    rising: bool
    residual: float


@lru_cache
def _signs(states: int) -> Floats:
    """Return random signs, each with a weight of its own, so that no two errors cancel exactly."""
    rng = np.random.default_rng(states)
    size = (PROBES, states)
    return rng.uniform(0.5, 1.0, size) * rng.choice([-1.0, 1.0], size)


def _lost(values: Floats, differences: Floats) -> Floats:
    """Return exactly what values less the least of them lost to rounding (Knuth's two-sum)."""
    least = values - differences
    return (values - (differences + least)) + (least - values.min())


def _rounding_of_costs(arm: RestartArm, discount: float) -> Floats:
    """Return the terms of r that are rounded; 0 where r is exact."""
    idle, repair = (cost - cost.min() for cost in (arm.passive_cost, arm.active_cost))
    if not repair.any():
        return idle * (_lost(arm.passive_cost, idle) != 0)
    moved = np.abs(arm.active_cost - arm.active_cost[:, None])
    return idle + (1 - discount) * repair + discount * (arm.passive * moved).sum(axis=1)


def eliminate_in_floats(
    arm: RestartArm, discount: float, *, adaptive: bool, probes: bool
) -> Elimination | None:
    """Eliminate in floating point; the error is bounded, or estimated from errors sown.

    None where fewer states can be eliminated than there are; see `eliminate_in_place`.
    """
    states = arm.states
    order = np.empty(states, dtype=np.int64)
    outcome = Outcome(order, *np.empty((2, states)), *np.empty((3, states + 1)))
    signs, lost = NO_SIGNS, NOTHING_LOST
    if probes:
        signs, lost = _signs(states), _rounding_of_costs(arm, discount)
    arrays = Arm(arm.passive, arm.reset, arm.passive_cost, arm.active_cost)
    done, rising, error = eliminate_arm(arrays, discount, signs, lost, adaptive, outcome)
    return Elimination(*outcome, rising, error) if done else None


def eliminate_in_balls(
    arm: RestartArm, discount: float, *, adaptive: bool, tolerance: float
) -> Elimination | None:
    """Eliminate in ball arithmetic, with more and more bits until the error is small enough.

    None where fewer states can be eliminated than there are; see `eliminate_in_place`. Where terms
    of the size of 1 - b decide at discount 1, the limit of discounts that tend to it is found.
    Raises ImportError if python-flint is not installed.
    """
    from flint import arb, ctx

    bits = LEAST_BITS
    while True:
        with ctx.workprec(bits):
            elimination = _one_in_balls(arm, arb(discount), adaptive)
        # More bits tell apart what differs; what may tie even then is left to the limit.
        if isinstance(elimination, int):
            negligible = _negligible(arm)
            if bits >= min(negligible, MOST_BITS):
                return _limit_in_balls(arm, adaptive, tolerance, negligible)
        elif elimination is None or elimination.residual <= tolerance or bits >= MOST_BITS:
            return elimination
        bits *= 2


def _negligible(arm: RestartArm) -> int:
    """Return bits such that 1 - b = 2^-bits is negligible at whatever pace the passive chain moves.

    A state that can be reached is reached by a path of probability 2^-d or more, d being the
    longest of all shortest paths in the lengths -log2 P. A set of n states that can be left is
    therefore left within n 2^d epochs on average, whose square is short beside 1/(1 - b).
    """
    nonzero = arm.passive > 0
    steps = np.zeros_like(arm.passive)
    # A step that is certain has a length too, as no entry stands for no step.
    steps[nonzero] = 1e-9 - np.log2(arm.passive[nonzero])
    paths = csgraph.shortest_path(sparse.csr_array(steps))
    longest = float(paths[np.isfinite(paths)].max()) + np.log2(arm.states)
    bits = LEAST_BITS
    while bits < 2 * longest + LEAST_BITS / 2:
        bits *= 2
    return bits


def _limit_in_balls(arm: RestartArm, adaptive: bool, tolerance: float, bits: int) -> Elimination:
    """Eliminate at discounts 1 - 2^-bits until the crossings of two of them agree.

    Begun with the bits of `_negligible`, a cycle of more than 2^(bits/2) epochs is one that does
    not end at discount 1. Raises NotConverged if the first two discounts take more than
    `MOST_BITS`.
    """
    from flint import arb, ctx

    if 8 * bits > MOST_BITS:
        raise NotConverged(
            f"states of an arm of {arm.states} states tie at discount 1, and which comes first is "
            f"decided by terms of the size of 1 - discount; its passive chain is so slow that a "
            f"discount of 1 - 2^-{bits} would be needed to tell: take a discount below 1"
        )
    previous = np.full(arm.states, np.inf)
    spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
    while True:
        with ctx.workprec(4 * bits):
            elimination = _one_in_balls(arm, 1 - arb(2) ** -bits, adaptive)
        assert isinstance(elimination, Elimination)  # below discount 1 every state is eliminated
        crossings = np.empty(arm.states)
        crossings[elimination.order] = elimination.crossings
        with np.errstate(invalid="ignore"):
            change = np.abs(crossings - previous) / (np.abs(crossings) + spread)
        residual = max(
            elimination.residual, float(np.nan_to_num(change, nan=0.0, posinf=np.inf).max())
        )
        if residual <= tolerance or 8 * bits > MOST_BITS:
            endless = np.log2(elimination.length) > bits / 2
            return replace(
                elimination,
                cost=np.where(endless, np.nan, elimination.cost),
                length=np.where(endless, np.inf, elimination.length),
                activity=np.where(endless, 0.0, elimination.activity),
                residual=residual,
            )
        bits, previous = 2 * bits, crossings


def _balls(values: Floats) -> NDArray[np.object_]:
    from flint import arb

    return np.array([arb(float(x)) for x in values.flat], dtype=object).reshape(values.shape)


def _one_in_balls(arm: RestartArm, b: Any, adaptive: bool) -> Elimination | int | None:
    """Return the elimination at a discount; `UNDECIDED` as `eliminate_in_place` says."""
    from flint import arb

    states = arm.states
    passive, reset, idle, repair = (
        _balls(x) for x in (arm.passive, arm.reset, arm.passive_cost, arm.active_cost)
    )
    order = np.empty(states, dtype=np.int64)
    a, excess, rises = (np.empty((rows, states), dtype=object) for rows in (states, 1, 1))
    den, visits, dens, critical, crossings = np.empty((5, states), dtype=object)
    weights, cost, length, activity = np.empty((4, states + 1), dtype=object)
    begin, _, spread = set_up_elimination(
        passive, reset, idle, repair, b, a, visits, excess, den, cost, length, activity
    )
    steps = Steps(order, critical, rises, weights, dens, cost, length, activity)
    done, closing = eliminate_in_place(
        System(a, visits, excess, den), b, np.empty((0, states)), adaptive, 0, steps
    )
    if done < states:
        return None
    if closing == UNDECIDED:
        return UNDECIDED
    sum_crossings(begin, rises[0], weights, crossings)
    error = float(np.finfo(float).eps)
    longest = max(arb(weight).abs_upper() for weight in weights[:-1])
    for k in range(states):
        wrong = crossings[k].rad()
        if k > 0 and not rises[0, k] > 0:
            # What looks like nothing may come first or second; see `elimination_steps`.
            wrong += rises[0, k].rad() * arb(dens[k]).abs_upper() * longest**2
        if wrong > 0:
            share = float(wrong / (abs(crossings[k]).mid() + spread.mid()))
            error = max(error, share) if share < np.inf else np.inf
    restore_costs(idle, repair, b, critical, cost, length, activity)
    rising = all(rise > 0 or rise.contains(0) for rise in rises[0, 1:])
    return Elimination(
        order, _middles(critical), _middles(crossings), _middles(cost), _middles(length),
        _middles(activity), rising, error,
    )  # fmt: skip


def _middles(values: NDArray[np.object_]) -> Floats:
    return np.array([float(x if isinstance(x, float) else x.mid()) for x in values])
