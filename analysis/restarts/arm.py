"""One restart arm: a Markov chain that deteriorates until it is sent back to a reset distribution.

In state x a passive epoch costs c(x, 0) and moves by the kernel P(x, .); an active epoch costs
c(x, 1) and moves by the reset distribution Q, whatever x was. States are numbered from 0 here
and from 1 on the slides. Two properties carry the theory of threshold policies: P stochastically
monotone (the tail sums P(x, {y, y+1, ...}) grow with x), and costs that make a worse state
relatively dearer to leave alone.

Source: the restart slides (2019), slides 4, 8 and 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import (
    ROW_SUM,
    SINGLE_ROW_SUM,
    check_array,
    check_number,
    normalising_factors,
    set_fields,
)
from analysis.display import brief


def probability_rows(name: str, value: ArrayLike, columns: int | None = None) -> Floats:
    """Return `value` as a read-only float64 array of distributions along its last axis.

    Rows in single precision are divided by their sums. `columns` is the number of states that every
    distribution must have. Raises ValueError, calling the array `name`, if a size is wrong, an
    entry is negative or not finite, or a row does not sum to one.
    """
    rows = check_array(name, value, 0, 1 + SINGLE_ROW_SUM)
    if rows.ndim not in (1, 2) or rows.size == 0:
        raise ValueError(
            f"{name} must be an array of one or two dimensions that holds at least one state, "
            f"got shape {rows.shape}"
        )
    if columns is not None and rows.shape[-1] != columns:
        raise ValueError(f"{name} must have {columns} entries a row, got {rows.shape[-1]}")
    sums = rows.sum(axis=-1, keepdims=True)
    factors, wrong = normalising_factors(value, sums)
    if wrong.any():
        worst = int(np.abs(sums - 1).argmax())
        row = f"[{worst}]" if rows.ndim > 1 else ""
        allowed = ROW_SUM if factors is None else SINGLE_ROW_SUM
        raise ValueError(
            f"{name}{row} must sum to 1 to within {allowed:g}, got {sums.flat[worst]:.12g}"
        )
    if factors is not None:
        rows *= factors
    rows.flags.writeable = False
    return rows


def check_states(name: str, value: ArrayLike, states: int) -> Floats:
    """Return `value` as a read-only float64 array, shape (states,), or raise ValueError."""
    costs = check_array(name, value)
    if costs.shape != (states,):
        raise ValueError(f"{name} must have shape ({states},), got {costs.shape}")
    costs.flags.writeable = False
    return costs


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class RestartArm:
    """A restart arm (slide 4), validated once.

    Parameters
    ----------
    passive : array_like, shape (states, states)
        Kernel P of a passive epoch; rows sum to one to within 1e-9, rows of float32 to within
        1e-6: those are divided by their sums.
    reset : array_like, shape (states,)
        Distribution Q of the next state after an active epoch.
    passive_cost, active_cost : array_like, shape (states,)
        Costs c(x, 0) and c(x, 1) of one epoch.

    Raises
    ------
    ValueError
        If an array has the wrong size, a row is not a distribution or a cost is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> wear, new = np.eye(2)[[1, 1]], np.array([1.0, 0.0])
    >>> arm = RestartArm(wear, new, passive_cost=np.array([0.0, 5.0]), active_cost=np.ones(2))
    >>> arm.passive.shape
    (2, 2)
    """

    passive: Floats
    reset: Floats
    passive_cost: Floats
    active_cost: Floats

    def __post_init__(self) -> None:
        passive = probability_rows("passive", self.passive)
        if passive.ndim != 2 or passive.shape[0] != passive.shape[1]:
            raise ValueError(f"passive must be a square matrix, got shape {passive.shape}")
        states = passive.shape[0]
        reset = probability_rows("reset", self.reset, states)
        if reset.ndim != 1:
            raise ValueError(f"reset must have shape ({states},), got {reset.shape}")
        set_fields(
            self,
            passive=passive,
            reset=reset,
            passive_cost=check_states("passive_cost", self.passive_cost, states),
            active_cost=check_states("active_cost", self.active_cost, states),
        )

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.reset.shape[0])

    @cached_property
    def short(self) -> float:
        """Largest distance of a row sum of P from 1; what a row lacks is counted as staying."""
        return float(np.abs(1.0 - self.passive.sum(axis=1)).max())

    @cached_property
    def stochastically_monotone(self) -> bool:
        """Whether the tail sums of P grow with the state, to `ROW_SUM`."""
        distribution = np.cumsum(self.passive, axis=1)
        return bool((np.diff(distribution, axis=0) <= ROW_SUM).all())

    def stopping_cost(self, discount: float) -> Floats:
        """Return r = c0 - c1 + b P c1, what one more passive epoch costs against restarting now.

        Parameters
        ----------
        discount : float
            Discount b in (0, 1].

        Returns
        -------
        ndarray, shape (states,)
        """
        return self.passive_cost - self.active_cost + discount * (self.passive @ self.active_cost)


def check_discount(discount: float, *, average: bool = True) -> float:
    """Return a discount of (0, 1], or (0, 1) unless `average` costs are allowed, or raise."""
    return check_number("discount", discount, 0, 1, low_open=True, high_open=not average)


def check_arms(arms: Sequence[RestartArm]) -> None:
    """Raise ValueError naming the first of the arms that is not a `RestartArm`."""
    if not isinstance(arms, Sequence):
        raise ValueError(f"arms must be a sequence of RestartArm, got {arms!r}")
    for n, arm in enumerate(arms):
        if not isinstance(arm, RestartArm):
            raise ValueError(f"arms[{n}] must be a RestartArm, got {arm!r}")


def stack_arms(arms: Sequence[RestartArm]) -> tuple[Floats, ...]:
    """Return P (n, K, K), Q (n, K) and both costs (n, K) of n arms of K states.

    Raises ValueError if there is no arm, one is not a `RestartArm`, or they differ in their number
    of states.
    """
    check_arms(arms)
    if not len(arms):
        raise ValueError("arms must hold at least one arm, got none")
    sizes = [arm.states for arm in arms]
    if len(set(sizes)) > 1:
        raise ValueError(f"arms must all have the same number of states, got {sizes}")
    names = ("passive", "reset", "passive_cost", "active_cost")
    return tuple(np.array([getattr(arm, name) for arm in arms]) for name in names)
