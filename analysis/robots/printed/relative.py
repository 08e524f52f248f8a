r"""Relative value iteration on the draft's own chain, exactly as Proposition 4 runs it.

The robot study, section 3.1.  States x = (q, r, s) are read just before an event of type s: 0
departure, 1 arrival, 2 fictitious; events come at rate nu = lambda N + mu.  With the misprints of
(19) and (20) corrected, the next event after a state is left with q' pages and r' robots is a
departure with probability mu 1(q'>0)/nu, an arrival with lambda r'/nu, else fictitious.  From
h_0 = 0

    h_{k+1}(x) = (1 - tau) h_k(x) + tau (T h_k(x) - T h_k(x_hat)),
    T h(x) = c(x) + min_a E[h(x') | x, a],   c(x) = gamma 1(q=0) + nu 1(q=K, s=1),

until ``max |(h_{k+1} - h_k)/h_k| < 1e-5`` over the states, those where both are 0 left out (the
reference always is one).  The optimal cost is then T h(x_hat), not tau T h(x_hat) as printed.

Relative values smaller than rounding count as 0.  Where rounding hides whether the rule holds, the
run ends with an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats
from analysis.checks import (
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    shown,
)
from analysis.display import brief
from analysis.results import NotConverged
from analysis.robots.controlled.control import RobotControl

#: The draft's tau, and the bound of its stopping rule.
STEP, TOLERANCE = 0.99999, 1e-5
#: Most that rounding changes a difference of two values by, as a share of the largest value.
ROUNDING = 2.0**-48
#: What `change_of` finds.
SETTLED, CHANGES, HIDDEN = 0, 1, 2


@brief
@dataclass(frozen=True)
class PrintedRun:
    """Where Proposition 4 stops.

    Attributes
    ----------
    cost : float
        T h(x_hat) at the last h: what the draft prints as the cost, not yet the optimum.
    updates : int
        Updates of h until the stopping rule held.  Figures 6 to 8 print this number, Table 1 one
        more.
    values : ndarray, shape (3, K + 1, N + 1)
        h(q, r, s) with s first; nan outside the state space.
    policy : ndarray of bool, shape (2, K + 1, N + 1)
        Whether the action at (q, r, s) is 1, s first.
    """

    cost: float
    updates: int
    values: Floats = field(repr=False)
    policy: Bools = field(repr=False)


@njit(cache=True)
def _next_event(h: Floats, arrival_rate: float, service_rate: float, event_rate: float) -> Floats:
    """Return E[h(x')] for each pair (q', r') that a state may be left with."""
    _, levels, width = h.shape
    ahead = np.empty((levels, width))
    for q in range(levels):
        for r in range(width):
            served = service_rate / event_rate if q > 0 else 0.0
            arrived = arrival_rate * r / event_rate
            value = 0.0
            if q > 0:
                value += served * h[0, q, r]
            if r > 0:
                value += arrived * h[1, q, r]
            if q > 0 or r > 0:
                value += (1.0 - served - arrived) * h[2, q, r]
            ahead[q, r] = value
    return ahead


@njit(cache=True)
def operator(h: Floats, arrival_rate: float, service_rate: float, gamma: float) -> Floats:
    """Return T h on the whole state space; the entries outside stay 0."""
    _, levels, width = h.shape
    top = width - 1
    event_rate = arrival_rate * top + service_rate
    ahead = _next_event(h, arrival_rate, service_rate, event_rate)
    image = np.zeros(h.shape)
    for q in range(levels):
        cost = gamma if q == 0 else 0.0
        above = min(q + 1, levels - 1)
        for r in range(width):
            if q > 0:
                started = ahead[q - 1, min(r + 1, top)]
                if q == 1 and r == 0:
                    image[0, q, r] = cost + started
                else:
                    image[0, q, r] = cost + min(ahead[q - 1, r], started)
            if r > 0:
                lost = event_rate if q == levels - 1 else 0.0
                image[1, q, r] = cost + lost + min(ahead[above, r - 1], ahead[above, r])
            if q > 0 or r > 0:
                image[2, q, r] = cost + ahead[q, r]
    return image


@njit(cache=True)
def change_of(old: float, change: float, tolerance: float, rounding: float) -> int:
    """Return whether the stopping rule holds for one state, or whether rounding hides it."""
    old, change = abs(old), abs(change)
    if old <= rounding and change <= rounding:
        return SETTLED
    if change + rounding < tolerance * (old - rounding):
        return SETTLED
    return CHANGES if change - rounding >= tolerance * (old + rounding) else HIDDEN


@njit(cache=True)
def _run(
    h: Floats,
    arrival_rate: float,
    service_rate: float,
    gamma: float,
    reference: tuple[int, int, int],
    step: float,
    tolerance: float,
    max_updates: int,
) -> tuple[Floats, int]:
    """Iterate from h, in place, until the stopping rule holds.

    The updates are -1 at the limit, -2 where rounding hides whether the rule holds.
    """
    shape = h.shape
    for update in range(1, max_updates + 1):
        image = operator(h, arrival_rate, service_rate, gamma)
        offset = image[reference]
        rounding = ROUNDING * np.abs(image).max()
        state = SETTLED
        for s in range(3):
            for q in range(1 if s == 0 else 0, shape[1]):
                for r in range(1 if s == 1 or q == 0 else 0, shape[2]):
                    old = h[s, q, r]
                    new = (1.0 - step) * old + step * (image[s, q, r] - offset)
                    h[s, q, r] = new
                    if state != CHANGES:
                        found = change_of(old, new - old, tolerance, rounding)
                        state = found if found != SETTLED else state
        if state != CHANGES:
            return h, update if state == SETTLED else -2
    return h, -1


def checked_run(
    model: RobotControl, step: float, tolerance: float, max_updates: int
) -> tuple[float, float, int]:
    """Return tau, the bound of the stopping rule and the limit, or raise ValueError."""
    check_kind("model", model, RobotControl)
    if model.speedup is not None:
        raise ValueError(f"model must be without a speedup, got {model.speedup}")
    step = check_number("step", step, 0, 1, low_open=True, high_open=True)
    tolerance = check_number("tolerance", tolerance, 0, low_open=True, high_open=True)
    return step, tolerance, check_integer("max_updates", max_updates, 1)


def checked_reference(reference: ArrayLike, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return a reference state (q, r, s) of a queue of shape (K + 1, N + 1), or raise."""
    state = check_integers("reference", reference)
    if state.shape != (3,):
        raise ValueError(f"reference must be a state (q, r, s), got {shown(reference)}")
    q, r, s = (int(number) for number in state)
    inside = 0 <= q < shape[0] and 0 <= r < shape[1] and s in (0, 1, 2)
    if not inside or (s == 0 and q == 0) or (s == 1 and r == 0) or (q == r == 0):
        raise ValueError(
            f"reference must be a state (q, r, s) with q from 0 to {shape[0] - 1}, r from 0 to "
            f"{shape[1] - 1} and an event s that can occur, got {(q, r, s)}"
        )
    return q, r, s


def why_none(model: RobotControl, updates: int, tolerance: float, max_updates: int) -> str:
    """Return why a run has no count of updates: -1 at the limit, -2 where rounding hides it."""
    load = model.robots * model.arrival_rate / model.service_rate
    at = f"a tolerance of {tolerance:g} and robots * arrival_rate / service_rate = {load:g}"
    if updates == -1:
        return (
            f"Proposition 4's stopping rule did not hold in {max_updates} updates at {at}: take "
            "that load nearer to 1, fewer robots, or a larger tolerance"
        )
    return (
        f"rounding hides where Proposition 4's stopping rule begins to hold at {at}: values of "
        f"states differ by less than rounding. Take that load nearer to 1, a capacity below "
        f"{model.capacity}, or a larger tolerance"
    )


def proposition_4(
    model: RobotControl,
    *,
    step: float = STEP,
    tolerance: float = TOLERANCE,
    reference: tuple[int, int, int] = (1, 1, 1),
    initial: ArrayLike | None = None,
    max_updates: int = 200_000,
) -> PrintedRun:
    """Run the draft's relative value iteration to its own stopping rule.

    Parameters
    ----------
    model : RobotControl
        The controlled queue.
    step : float, in (0, 1)
        The draft's tau.
    tolerance : float
        Largest relative change of h at which to stop.
    reference : tuple of int
        The state x_hat = (q, r, s), which the draft leaves open.
    initial : array_like, shape (3, K + 1, N + 1), optional
        h_0(q, r, s) with s first, 0 at x_hat, which the draft leaves open too; 0 without it.
        Entries outside the state space are not used.
    max_updates : int
        Limit on the number of updates.

    Raises
    ------
    ValueError
        If an argument is out of range, `reference` is no state, or the model has a speedup, which
        the draft's process has not.
    NotConverged
        If the limit is reached, or rounding hides where the rule begins to hold.

    Examples
    --------
    >>> from analysis.robots import RobotControl
    >>> run = proposition_4(RobotControl(2, 0.3, 1.0, 3, 1.2))
    >>> round(run.cost, 4)
    0.5751
    """
    step, tolerance, max_updates = checked_run(model, step, tolerance, max_updates)
    q, r, s = checked_reference(reference, model.shape)
    rates = (model.arrival_rate, model.service_rate, model.gamma)
    first = np.zeros((3, *model.shape))
    if initial is not None:
        first = check_array("initial", initial).copy()
        if first.shape != (3, *model.shape) or first[s, q, r] != 0.0:
            raise ValueError(
                f"initial must have shape {(3, *model.shape)} and be 0 at the reference state "
                f"{reference}, got shape {first.shape}"
            )
        first[0, 0], first[1, :, 0], first[2, 0, 0] = 0.0, 0.0, 0.0
    h, updates = _run(first, *rates, (s, q, r), step, tolerance, max_updates)
    if updates < 0:
        raise NotConverged(why_none(model, updates, tolerance, max_updates))
    event_rate = model.arrival_rate * model.robots + model.service_rate
    ahead = _next_event(h, model.arrival_rate, model.service_rate, event_rate)
    cost = float(operator(h, *rates)[s, q, r])
    better = np.zeros(model.shape, dtype=np.bool_)
    better[:, :-1] = ahead[:, 1:] < ahead[:, :-1]
    policy = np.zeros((2, *model.shape), dtype=np.bool_)
    policy[0, 1:] = better[:-1]
    policy[0, 1, 0] = True
    policy[1, :-1, 1:] = better[1:, :-1]
    policy[1, -1, 1:] = better[-1, :-1]
    h[0, 0], h[1, :, 0], h[2, 0, 0] = np.nan, np.nan, np.nan
    return PrintedRun(cost, updates, h, policy)
