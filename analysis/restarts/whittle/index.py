"""The Whittle index of a restart arm, by four routes.

The index w(x) is the least subsidy lambda, charged on activity, at which x is left passive:
V = min((1-b) c0 + b P V, (1-b)(c1 + lambda) + b Q V). A state that is worse to leave alone has a
higher index, so the policy activates the highest. The routes, on shared definitions only:

* closed form: w(k) = nu(k) M(k) - b L(k), one factorisation in state order; exact where the
  critical values nu never fall, which is checked;
* elimination: the same with the next state chosen by its critical value, for every arm;
* ratio: w(k) = (D(k+1) - D(k)) / (N(k) - N(k+1)), one dense solve per threshold, as printed; nan
  where it is 0/0 or has lost its digits;
* definition: the root of the advantage of passivity, on a subsidised arm solved by policies.

Each estimates how far rounding can have moved its result, and refuses one that is not right to nine
digits.

Source: the restart slides (2019), slides 9, 10 and 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import check_choice, check_kind
from analysis.display import brief
from analysis.mdp.chains import recurrent_classes
from analysis.restarts.arm import RestartArm, check_discount
from analysis.restarts.whittle.definition import index_by_definition, solve
from analysis.restarts.whittle.elimination import eliminate_all, multichain_error
from analysis.restarts.whittle.elimination_steps import ROUNDING
from analysis.restarts.whittle.rounding import TOLERANCE
from analysis.restarts.whittle.threshold import (
    Thresholds,
    nested_policies,
    passive_excess,
    thresholds,
)

METHODS = ("auto", "closed form", "elimination", "ratio", "definition")


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class WhittleIndex:
    """The index of one arm, and how it was found.

    Attributes
    ----------
    index : ndarray, shape (states,)
        Whittle index by state, in cost per epoch; activate the highest.
    residual : float
        Estimate of the largest error of an index, relative to its size and the spread of the costs
        of either action: what rounding leaves of the equation that the method solves.
    method : str
        "closed form", "elimination", "ratio" or "definition".
    note : str
        Why the method was taken, where that needs saying.
    """

    index: Floats
    residual: float
    method: str
    note: str = ""


def whittle_index(arm: RestartArm, discount: float, *, method: str = "auto") -> WhittleIndex:
    """Compute the Whittle index of a restart arm.

    Parameters
    ----------
    arm : RestartArm
    discount : float
        In (0, 1]; 1 gives the average-cost index.
    method : {"auto", "closed form", "elimination", "ratio", "definition"}
        "auto" takes the closed form where threshold policies are optimal and elimination elsewhere.

    Returns
    -------
    WhittleIndex

    Raises
    ------
    ValueError
        If the discount or method is not allowed, if the closed form or the ratio is requested for
        an arm whose optimal policies are not thresholds, or if the arm has no average-cost index.
    NotConverged
        If rounding may have moved an index by more than 1e-9, relative to its size and the spread
        of the costs of either action. Elimination goes on in ball arithmetic first, for arms of up
        to 300 states and if python-flint is installed.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> found = whittle_index(slide_arm(one_step(4, 0.5)), 0.9)
    >>> found.index.round(4).tolist()
    [-4.5, -1.8636, 10.062, 35.4151]
    """
    check_kind("arm", arm, RestartArm)
    discount = check_discount(discount)
    check_choice("method", method, METHODS)
    if method == "definition":
        return WhittleIndex(*index_by_definition(arm, discount), method)
    if method != "elimination":
        natural = nested_policies(arm, discount, order="state")
        ordered = natural is not None and natural.optimal
        if method != "auto" and not ordered:
            raise ValueError(
                f"method must not be {method!r} for this arm: its optimal policies are not "
                f"thresholds ({_why_no_thresholds(natural)})"
            )
        if method == "ratio":
            return WhittleIndex(*_index_by_ratio(arm, discount), method)
        if natural is not None and ordered:
            return WhittleIndex(natural.crossings, natural.elimination.residual, "closed form")
    nested = thresholds(arm, discount, order="critical")
    index = np.empty(arm.states)
    index[nested.order] = nested.crossings
    note = "" if method == "elimination" else "threshold policies are not optimal for this arm"
    return WhittleIndex(index, nested.elimination.residual, "elimination", note)


def _why_no_thresholds(natural: Thresholds | None) -> str:
    """Say what goes wrong in state order."""
    if natural is None:
        return "with its first states passive it has several closed classes"
    falls = np.diff(natural.crossings)
    if falls.min() < 0:
        return f"the crossing falls after state {int(falls.argmin())}"
    return "the critical values fall"


def whittle_indices(arms: Sequence[RestartArm], discount: float) -> Floats:
    """Compute the Whittle index of many arms of one size in one call.

    Parameters
    ----------
    arms : sequence of RestartArm
        All with the same number of states.
    discount : float
        In (0, 1].

    Returns
    -------
    ndarray, shape (arms, states)

    Raises
    ------
    ValueError
        As `whittle_index`, or if the arms differ in their number of states.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = [slide_arm(one_step(4, stay)) for stay in (0.2, 0.8)]
    >>> whittle_indices(arms, 0.9).round(4).tolist()
    [[-4.5, -2.4024, 6.7814, 26.3187], [-4.5, -0.2857, 18.5561, 56.6009]]
    """
    discount = check_discount(discount)
    eliminations = eliminate_all(arms, discount)
    index = np.empty_like(eliminations.crossings)
    np.put_along_axis(index, eliminations.order, eliminations.crossings, axis=1)
    return index


def _index_by_ratio(arm: RestartArm, discount: float) -> tuple[Floats, float]:
    """Return (D(k+1) - D(k)) / (N(k) - N(k+1)) from one dense solve per threshold, and its error.

    nan where the ratio is 0/0, or differences of nearly equal numbers leave it too few digits.
    Raises ValueError at discount 1 if the passive chain has several closed classes.
    """
    states = arm.states
    if discount == 1 and len(recurrent_classes(sparse.csr_array(arm.passive))) > 1:
        raise multichain_error("its states")
    idle, repair = arm.passive_cost.min(), arm.active_cost.min()
    costs = np.stack([arm.passive_cost - idle, arm.active_cost - repair])
    rate, restarts, rounding = np.zeros((3, states + 1))
    for k in range(states + 1):
        waits = np.arange(states) < k
        visited = _visited_states(arm, waits)
        if discount == 1 and _may_stay(arm, waits, visited):
            rate[k], rounding[k] = passive_excess(arm), ROUNDING
            continue
        kernel = (waits[:, None] * arm.passive)[np.ix_(visited, visited)]
        policy_cost = np.where(waits, *costs)[visited]
        ones = np.ones(policy_cost.size)
        solved = solve(np.eye(ones.size) - discount * kernel, np.column_stack([policy_cost, ones]))
        cost, length = arm.reset[visited] @ solved
        rate[k], restarts[k] = cost / length, 1 / (discount * length)
        # A system with positive inverse: the largest time to go is the norm of that.
        rounding[k] = ROUNDING * 2 * np.abs(solved[:, 1]).max()
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = restarts[:-1] - restarts[1:]
        ratio = np.diff(rate) / fall
        # Both differences are off by the rounding of their terms.
        terms = rounding * (
            costs.max() + np.abs([np.append(ratio, 0), np.append(0, ratio)]) * restarts
        )
        error = (terms[0, :-1] + terms[1, 1:]) / np.where(fall > 0, fall, np.nan)
        index = ratio + (idle - repair)
        size = np.abs(index) + costs.max()
        np.divide(error, size, out=error, where=size > 0)  # costs of 0 are not rounded
    accurate = error <= TOLERANCE
    return np.where(accurate, index, np.nan), float(error[accurate].max(initial=0.0))


def _visited_states(arm: RestartArm, waits: Bools) -> Bools:
    """Mark the states that a cycle from Q can visit until its active epoch."""
    visited = arm.reset > 0
    while (newly_visited := ~visited & (arm.passive[visited & waits] > 0).any(axis=0)).any():
        visited = visited | newly_visited
    return visited


def _may_stay(arm: RestartArm, waits: Bools, visited: Bools) -> bool:
    """Whether a visited state leads to no active one, so that the arm may never be active again."""
    leads = ~waits
    while (newly_leading := ~leads & (arm.passive[:, leads] > 0).any(axis=1)).any():
        leads = leads | newly_leading
    return bool((visited & ~leads).any())
