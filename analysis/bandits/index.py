"""An arm of a restless bandit, its Whittle index, and whether it has one, by one elimination.

An arm is a Markov chain with two actions, passive (0) and active (1): in state s action a earns
`rewards[a, s]` and moves to t with probability `transitions[a, s, t]`. A restart arm is the special
case in which all rows of the active kernel are equal.

With a subsidy lambda for each passive epoch and discount b in (0, 1], g and h of an arm solve

    g + h(s) = max{ r0(s) + lambda + b sum_t P0(s, t) h(t),  r1(s) + b sum_t P1(s, t) h(t) },

with h = 0 in a reference state; at b = 1, g is the average reward. Let A_a be the matrix that takes
(g, h) to g + h - b P_a h. If the states of a set S are passive and the others active, what
passivity earns above activity, for one epoch in state s and the policy S from the next epoch on,
is an advantage d(s) that solves

    B_SS d_S = (z + lambda)_S,   d(s) = z(s) + lambda - B_sS d_S  for s not in S,

with B = A_0 A_1^-1 and z the advantage under the policy that is always active. Its first line is
what is left of the policy's own equations A_S (g, h) = r; its second is a row of Gaussian
elimination. To make one more state passive is therefore one step of a Gauss-Jordan elimination of
B, with the right-hand sides z and 1, which hold the advantage of every state as a line in lambda.
The pivot is the ratio of the determinants of A_S after and before: positive, and zero where the new
policy has several closed classes at discount 1.

As lambda rises from minus infinity, where all states are active, the next state to turn passive is
the one whose line reaches zero first. The arm is indexable iff no passive state's line falls
below zero on the way. The same elimination begins at plus infinity with the actions exchanged; the
difference of the two is the estimate of the error.

Source: Whittle (1988) for the definition. Gast, Gaujal and Khun (2023) compute the same steps with
the formula of Sherman and Morrison, in as many operations; the form as an elimination extends that
of restart arms (`analysis.restarts.elimination`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from analysis.arrays import Floats, one_thread, read_only_arrays
from analysis.checks import check_array, check_kind, set_fields
from analysis.display import brief
from analysis.kernel_cache import njit
from analysis.mdp.chains import recurrent_classes
from analysis.restarts.arm import RestartArm, check_discount, probability_rows
from analysis.restarts.subsidised import solve
from analysis.results import NotConverged

ACTIONS = ("passive", "active")
#: Advantages up to this share of the largest are zero but for rounding.
ROUNDING = 1e-12
#: An index that two eliminations find to differ by more, relative to its size, is refused.
TOLERANCE = 1e-9
#: Steps of an elimination that are applied to the matrix together, by one matrix product.
BLOCK = 48
#: A pivot below this is looked at: the policy may have several closed classes.
SMALL_PIVOT = 1e-6


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Arm:
    """An arm with two actions, validated once.

    Parameters
    ----------
    transitions : array_like, shape (2, states, states)
        Kernels of a passive and of an active epoch; rows sum to one to within 1e-9, rows of float32
        to within 1e-6.
    rewards : array_like, shape (2, states)
        Reward of a passive and of an active epoch.

    Raises
    ------
    ValueError
        If an array has the wrong shape, a row is not a distribution or a reward is not finite.

    Examples
    --------
    >>> stay, move = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    >>> Arm([stay, move], [[0.0, 0.0], [1.0, 2.0]]).states
    2
    """

    transitions: Floats
    rewards: Floats

    def __post_init__(self) -> None:
        kernels = check_array("transitions", self.transitions)
        if kernels.ndim != 3 or kernels.shape[0] != 2 or kernels.shape[1] != kernels.shape[2]:
            raise ValueError(
                f"transitions must have shape (2, states, states), got {kernels.shape}"
            )
        # Indexed as they were given: their precision sets the tolerance of a row's sum.
        given = np.asarray(self.transitions)
        rows = [probability_rows(f"transitions[{a}]", given[a]) for a in (0, 1)]
        rewards = check_array("rewards", self.rewards)
        if rewards.shape != kernels.shape[:2]:
            raise ValueError(f"rewards must have shape {kernels.shape[:2]}, got {rewards.shape}")
        set_fields(self, transitions=np.stack(rows), rewards=rewards)

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.rewards.shape[1])

    @classmethod
    def of(cls, arm: RestartArm) -> Arm:
        """Return a restart arm as an arm of two kernels, with costs as negative rewards."""
        check_kind("arm", arm, RestartArm)
        active = np.broadcast_to(arm.reset, arm.passive.shape)
        return cls(np.stack([arm.passive, active]), -np.stack([arm.passive_cost, arm.active_cost]))


def check_arms(arms: Sequence[Arm]) -> None:
    """Raise ValueError unless `arms` is a sequence of at least one `Arm`."""
    if not isinstance(arms, Sequence) or not len(arms):
        raise ValueError(f"arms must be a sequence of at least one Arm, got {arms!r}")
    for n, arm in enumerate(arms):
        if not isinstance(arm, Arm):
            raise ValueError(f"arms[{n}] must be an Arm, got {arm!r}")


class Witness(NamedTuple):
    """Why an arm is not indexable: a state that a higher subsidy makes active again.

    Attributes
    ----------
    state : int
    passive_at : float
        Subsidy at which only the passive action is optimal in the state.
    active_at : float
        A higher subsidy, at which only the active action is.
    """

    state: int
    passive_at: float
    active_at: float


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Indexability:
    """Whether an arm is indexable, and its index or the reason why it has none.

    Attributes
    ----------
    index : ndarray, shape (states,)
        Whittle index of each state; nan in all states if the arm is not indexable.
    witness : Witness or None
        None if the arm is indexable.
    residual : float
        Largest difference of an index from that of the elimination that begins at the other end,
        relative to its size and the spread of the rewards of either action.
    """

    index: Floats
    witness: Witness | None
    residual: float

    @property
    def holds(self) -> bool:
        """Whether the arm is indexable."""
        return self.witness is None


def whittle_index(arm: Arm, discount: float = 1.0) -> Floats:
    """Compute the Whittle index of each state of an arm.

    Parameters
    ----------
    arm : Arm
    discount : float
        In (0, 1]; 1 gives the index for average rewards.

    Returns
    -------
    ndarray, shape (states,)
        The subsidy for passivity at which both actions are optimal; activate the highest.

    Raises
    ------
    ValueError
        If the arm is not indexable, or at discount 1 if a policy on the way has several closed
        classes, so that its average reward depends on the state.
    NotConverged
        If rounding may have moved an index by more than 1e-9, relative to its size and the spread
        of the rewards, or hides whether the arm is indexable.

    Examples
    --------
    >>> stay, move = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    >>> whittle_index(Arm([stay, move], [[0.0, 0.0], [1.0, 2.0]]), 0.9).round(4).tolist()
    [1.6207, 2.0]
    """
    certificate = certify_indexability(arm, discount)
    if certificate.witness is not None:
        state, low, high = certificate.witness
        raise ValueError(
            f"arm must be indexable, got one whose state {state} is passive at a subsidy of "
            f"{low:.6g} and active at {high:.6g}"
        )
    return certificate.index


def certify_indexability(arm: Arm, discount: float = 1.0) -> Indexability:
    """Test whether an arm is indexable, and compute its index.

    An arm is indexable if the states in which passivity is optimal become more, and never fewer,
    as the subsidy for passivity grows.

    Parameters
    ----------
    arm : Arm
    discount : float
        In (0, 1]; 1 is for average rewards.

    Returns
    -------
    Indexability

    Raises
    ------
    ValueError, NotConverged
        As `whittle_index`, but for an arm that is not indexable.

    Examples
    --------
    >>> stay, move = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    >>> certify_indexability(Arm([stay, move], [[0.0, 0.0], [1.0, 2.0]])).holds
    True
    """
    check_kind("arm", arm, Arm)
    discount = check_discount(discount)
    if discount == 1:
        for name, kernel in zip(ACTIONS, arm.transitions, strict=True):
            if (classes := _count_closed_classes(kernel)) > 1:
                raise _several_classes(f"its {name} chain has", classes)
    with one_thread(arm.states):
        rising = _sweep(arm.transitions, arm.rewards, discount, ACTIONS)
        falling = _sweep(arm.transitions[::-1], arm.rewards[::-1], discount, ACTIONS[::-1])
    if isinstance(rising, Witness) != isinstance(falling, Witness):
        raise NotConverged(
            "rounding hides whether the arm is indexable: eliminations from both ends of the "
            "subsidies disagree"
        )
    if isinstance(rising, Witness):
        return Indexability(np.full(arm.states, np.nan), rising, 0.0)
    assert not isinstance(falling, Witness)
    apart = np.abs(rising + falling)
    size = np.abs(rising) + np.ptp(arm.rewards, axis=1).max()
    residual = float(np.divide(apart, size, out=np.zeros_like(apart), where=apart > 0).max())
    if not residual <= TOLERANCE:
        raise NotConverged(
            f"eliminations from both ends of the subsidies differ in an index of the arm by "
            f"{residual:.2g} of its size at discount {discount!r}: by rounding or, at discount 1, "
            "since relative values of arms with ties may not be unique"
        )
    return Indexability(rising, None, residual)


def _sweep(
    kernels: Floats, rewards: Floats, discount: float, names: tuple[str, str]
) -> Floats | Witness:
    """Turn states from action 1 to action 0 as the subsidy for action 0 rises.

    Returns the subsidy at which each state turns, or a state that turns back. `names` of the
    actions are for messages.
    """
    states = rewards.shape[1]
    least = rewards.min(axis=1)
    shift = float(least[1] - least[0])
    rewards = rewards - least[:, None]
    table, value = _advantages(kernels, rewards, discount)
    subsidy = -float(value.max())
    unit = max(float(np.ptp(value)), float(np.ptp(rewards, axis=1).max()), 1e-300)
    order = np.empty(states, dtype=np.int64)
    index, pivots = np.empty((2, states))
    done, back, low, high = _turn_in_order(
        table, value + subsidy, subsidy, unit, order, index, pivots
    )
    if discount == 1:
        for count in np.flatnonzero(pivots[:done] < SMALL_PIVOT) + 1:
            turned = np.isin(np.arange(states), order[:count])
            chain = np.where(turned[:, None], kernels[0], kernels[1])
            if (classes := _count_closed_classes(chain)) > 1:
                policy = f"states {np.flatnonzero(turned).tolist()} {names[0]}"
                raise _several_classes(f"with {policy} and the others {names[1]} it has", classes)
    if back >= 0 and low < high:
        return Witness(back, low + shift, high + shift)
    if back >= 0:
        raise NotConverged(
            f"both actions tie in state {back} at a subsidy of {low + shift:.6g}, and rounding "
            "hides which is better beyond it"
        )
    if done < states:
        raise NotConverged(
            f"rounding hides at which subsidy the next state turns, after {done} of {states}"
        )
    return index + shift


@njit
def _turn_in_order(table, value, subsidy, unit, order, index, pivots):  # type: ignore[no-untyped-def]
    """Eliminate in place; return the number of states done, and a state that turns back, or -1.

    The other two numbers are subsidies: where that state is passive and where it is active again,
    or twice the same where rounding hides that. Between two subsidies the advantage of action 0 is
    `value` + (later - subsidy) `slope`: at least 0 where turned and at most 0 elsewhere.
    """
    states = value.size
    slope = np.ones(states)
    turned = np.zeros(states, dtype=np.bool_)
    largest, largest_at = np.zeros(states), np.full(states, subsidy)
    column_of = np.arange(states)  # of a state that has not turned, in `table`
    # Steps of a block, which are applied to `table` by one product: it is the one that takes time.
    columns, rows = np.empty((BLOCK, states)), np.empty((BLOCK, states))
    held = 0
    for count in range(states):
        steepest = 0.0
        for x in range(states):
            unit, steepest = max(unit, abs(value[x])), max(steepest, abs(slope[x]))
        zero, flat = ROUNDING * unit, ROUNDING * steepest
        state, wait = -1, np.inf
        for x in range(states):
            if not turned[x] and slope[x] > flat and max(-value[x], 0.0) / slope[x] < wait:
                state, wait = x, max(-value[x], 0.0) / slope[x]
        # Does a line fall below zero before the next state turns?
        if wait * steepest > zero:
            back, first = -1, np.inf
            for x in range(states):
                falls = slope[x] < -flat and (turned[x] or value[x] >= -zero)
                if falls and (state < 0 or value[x] + wait * slope[x] < -zero):
                    crossing = max(value[x], 0.0) / -slope[x]
                    if crossing < first:
                        back, first = x, crossing
            if back >= 0:
                if not turned[back] or largest[back] <= 1e3 * zero:
                    return count, back, subsidy, subsidy
                beyond = min(wait - first, unit / steepest)
                return count, back, largest_at[back], subsidy + first + 1e-3 * beyond
        if state < 0:
            break
        subsidy += wait
        for x in range(states):
            value[x] += wait * slope[x]
            if turned[x] and value[x] > largest[x]:
                largest[x], largest_at[x] = value[x], subsidy
        value[state] = 0.0
        order[count], index[state], turned[state] = state, subsidy, True
        # Column and row of the state in the matrix as it is after the steps of this block.
        column, row = columns[held], rows[held]
        at, width = column_of[state], table.shape[1]
        column[:] = table[:, at]
        row[:width] = table[state]
        for k in range(held):
            left, right = rows[k, at], columns[k, state]
            for x in range(states):
                column[x] -= left * columns[k, x]
            for j in range(width):
                row[j] -= right * rows[k, j]
        pivot = column[state]
        pivots[count] = pivot
        if not pivot > 0.0:
            return count + 1, -1, subsidy, subsidy
        turn = slope[state] / pivot
        for x in range(states):
            slope[x] -= column[x] * turn
        slope[state] = turn
        column[state] = pivot - 1.0
        row[:width] /= pivot
        held += 1
        if held == BLOCK:
            product = np.dot(np.ascontiguousarray(columns.T), np.ascontiguousarray(rows[:, :width]))
            live = np.flatnonzero(~turned)
            smaller = np.empty((states, live.size))
            for x in range(states):
                for j in range(live.size):
                    at = column_of[live[j]]
                    smaller[x, j] = table[x, at] - product[x, at]
            column_of[live] = np.arange(live.size)
            table, held = smaller, 0
    return (states if state >= 0 else count), -1, subsidy, subsidy


def _advantages(kernels: Floats, rewards: Floats, discount: float) -> tuple[Floats, Floats]:
    """Return B, and z: what action 0 earns above action 1 where the policy is action 1."""
    states = rewards.shape[1]
    # h is zero in state 0, whose column holds the coefficient of g.
    system = np.eye(states) - discount * kernels[1]
    system[:, 0] = 1.0
    change = discount * (kernels[0] - kernels[1])
    change[:, 0] = 0.0
    # change @ system^-1, as the transposed system's solution.
    moved = solve(system.T, change.T).T
    value = rewards[0] - rewards[1] + moved @ rewards[1]
    table = np.eye(states) - moved
    return np.ascontiguousarray(table), value


def _count_closed_classes(kernel: Floats) -> int:
    """Return the number of closed classes of a chain."""
    return len(recurrent_classes(sparse.csr_array(kernel)))


def _several_classes(which: str, classes: int) -> ValueError:
    return ValueError(
        f"discount must be below 1 for this arm, got 1: {which} {classes} closed classes, hence no "
        "single average reward"
    )
