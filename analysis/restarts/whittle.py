"""The Whittle index of a restart arm, by four routes, and a certificate that it exists.

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

*Indexability.* Write u = (V/(1-b)) - c1 - W/(1-b), with W = (1-b) lambda + b sum Q V the cost of
restarting but for (1-b) c1. The optimality equation becomes u = min(0, r - W + b P u), r = c0 - c1
+ b P c1: the arm is a stopping problem in which lambda appears through W alone. State x is passive
iff nu(x) < W,

    nu(x) = inf over tau >= 1 of E_x sum_{t<tau} b^t r(X_t) / E_x sum_{t<tau} b^t
          = (1-b) inf over tau of (L(x, tau) - c(x, 1)) / (1 - E_x b^tau),

and W grows with lambda, so passive sets are nested. (Slide 11 prints b^tau without expectation
and W with lambda in place of (1-b) lambda.) The certificate checks the claim on the whole line of
subsidies: on each interval between crossings the advantage of passivity under the nested policy
is linear in lambda, so it has the right sign throughout iff it has at both ends.

*Nested policies.* With the first k states of an order passive and the others active, a cycle from
Q to the next restart costs L(k) and lasts M(k), both discounted. The policy costs C(k) = D(k) +
lambda N(k) from Q, where

    D(k) = L(k) / M(k),   N(k) = 1 / (b M(k)) - (1 - b) / b,

and lambda is the subsidy for passivity, paid here as a penalty on activity. k = 0 is always active
and k = K, which slide 15 leaves out, never. Consecutive lines cross at the index of the state
between them, and k_lambda, the least line, climbs one state at each crossing.

Source: the restart slides (2019), slides 9 to 16 and 23 (thresholds numbered from 1 there).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import check_array, check_choice, check_kind
from analysis.display import brief
from analysis.mdp.chains import recurrent_classes
from analysis.restarts.arm import RestartArm, check_discount
from analysis.restarts.elimination import (
    TOLERANCE,
    Elimination,
    eliminate,
    eliminate_all,
    multichain_error,
)
from analysis.restarts.elimination_steps import ROUNDING
from analysis.restarts.subsidised import (
    Ties,
    index_by_definition,
    passive_excess,
    solve,
    solve_subsidised,
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
                f"thresholds ({_explain_missing_thresholds(natural)})"
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


def _explain_missing_thresholds(natural: Thresholds | None) -> str:
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


# Nested policies, thresholds among them


@brief
@dataclass(frozen=True, eq=False)
class Thresholds:
    """The nested policies of an arm: policy k leaves the first k states of `order` passive.

    Attributes
    ----------
    discount : float
        Discount b in (0, 1].
    elimination : Elimination
        What the elimination of the states in this order found.
    """

    discount: float
    elimination: Elimination

    @property
    def order(self) -> Ints:
        """States in the order in which they turn passive, shape (states,)."""
        return self.elimination.order

    @property
    def crossings(self) -> Floats:
        """Subsidy at which policies k and k + 1 cost the same, shape (states,)."""
        return self.elimination.crossings

    @property
    def cost_rate(self) -> Floats:
        """D(k), normalised discounted cost from Q, shape (states + 1,)."""
        elimination = self.elimination
        # Never active again: the average cost of the closed class, which is its critical value.
        gain = np.append(elimination.critical[:1], elimination.critical)
        return np.where(np.isinf(elimination.length), gain, elimination.cost / elimination.length)

    @property
    def activity(self) -> Floats:
        """N(k), normalised discounted activity from Q, shape (states + 1,)."""
        return self.elimination.activity

    @property
    def optimal(self) -> bool:
        """Whether, for every subsidy, one of these policies is optimal among all policies.

        True exactly when critical values never fall along the order: it is then the greedy order,
        which is optimal for every arm.
        """
        return self.elimination.rising

    def cost_at(self, subsidy: ArrayLike) -> Floats:
        """Return C(k) = D(k) + lambda N(k), shape (..., states + 1)."""
        return self.cost_rate + np.multiply.outer(check_array("subsidy", subsidy), self.activity)

    def best(self, subsidy: ArrayLike) -> Ints:
        """Return k_lambda, the least k that minimises C(k), for each subsidy.

        C(k + 1) - C(k) = (N(k) - N(k + 1)) (w(k) - lambda), whose sign is that of the last factor
        unless the state is never visited passively.
        """
        at = check_array("subsidy", subsidy)
        falls = -np.diff(self.activity)
        if self.optimal:
            visited = np.where(falls > 0, np.arange(1, falls.size + 1), 0)
            last = np.maximum.accumulate(np.append(0, visited))
            return np.asarray(last[np.searchsorted(self.crossings, at)])
        beyond = np.cumsum(falls * (self.crossings - at[..., None]), axis=-1)
        none = np.zeros((*at.shape, 1))
        return np.asarray(np.concatenate([none, beyond], axis=-1).argmin(axis=-1))


def thresholds(arm: RestartArm, discount: float, *, order: str = "state") -> Thresholds:
    """Compute the nested policies of an arm from one factorisation.

    Parameters
    ----------
    arm : RestartArm
    discount : float
        In (0, 1]; at 1, averages per epoch.
    order : {"state", "critical"}
        Turn states passive in the order of their numbers (threshold policies), or of their
        critical values (the policies that are optimal, for any arm).

    Returns
    -------
    Thresholds

    Raises
    ------
    ValueError
        If the discount or the order is not one of those allowed, or at discount 1 if the arm has no
        average-cost index, or has none of the policies in state order.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> thresholds(slide_arm(one_step(4, 0.5)), 0.9).activity.round(4).tolist()
    [1.0, 0.3103, 0.1684, 0.108, 0.0]
    """
    nested = nested_policies(arm, discount, order=order)
    if nested is None:
        raise ValueError(
            "order must be 'critical' for this arm at discount 1, got 'state': with the first "
            "states passive it has several closed classes, hence no single average cost"
        )
    return nested


def nested_policies(arm: RestartArm, discount: float, *, order: str) -> Thresholds | None:
    """Return `thresholds`, None where discount 1 leaves the policies in state order undefined."""
    check_kind("arm", arm, RestartArm)
    discount = check_discount(discount)
    check_choice("order", order, ("state", "critical"))
    elimination = eliminate(arm, discount, adaptive=order == "critical")
    return None if elimination is None else Thresholds(discount, elimination)


def optimal_threshold(arm: RestartArm, discount: float, subsidy: ArrayLike) -> Ints:
    """Return k_lambda, how many states the best threshold policy leaves passive.

    Parameters
    ----------
    arm : RestartArm
    discount : float
        In (0, 1].
    subsidy : array_like
        Values of lambda.

    Returns
    -------
    ndarray of int, shape of `subsidy`
        0 is always active, the number of states never (which slide 15 leaves out).

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> optimal_threshold(slide_arm(one_step(4, 0.5)), 0.9, [-5.0, 0.0, 20.0]).tolist()
    [0, 2, 3]
    """
    return thresholds(arm, discount).best(subsidy)


# The certificate that every arm has an index


#: Residual of a certificate that holds.
CERTAIN = 1e-7


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Indexability:
    """A certificate that an arm's passive sets grow with the subsidy.

    Attributes
    ----------
    order : ndarray of int, shape (states,)
        The order in which states turn passive as the subsidy grows.
    crossings : ndarray, shape (states,)
        The subsidies at which they do: the Whittle index along the order, non-decreasing.
    critical : ndarray, shape (states,)
        nu along the order; W at the crossings.
    growth : ndarray, shape (states,)
        M along the order, the slope d lambda / d W between crossings: at least 1.
    residual : float
        By how much, at most, the subsidy at which two actions tie under a nested policy is on the
        wrong side of the subsidies of that policy, rounding included, relative to its size and the
        spread of the costs of either action.
    """

    order: Ints
    crossings: Floats
    critical: Floats
    growth: Floats
    residual: float

    @property
    def holds(self) -> bool:
        """Whether the nested policies are optimal for every subsidy, to `CERTAIN`.

        False too where rounding hides it, as it may near discount 1.
        """
        return bool(self.residual < CERTAIN and (self.growth >= 1).all())


def certify_indexability(arm: RestartArm, discount: float) -> Indexability:
    """Check, for every subsidy on the line, that the nested passive sets are optimal.

    Parameters
    ----------
    arm : RestartArm
        At most a few hundred states: there is one dense solve per passive set.
    discount : float
        In (0, 1).

    Returns
    -------
    Indexability

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> certify_indexability(slide_arm(one_step(4, 0.5)), 0.9).holds
    True
    """
    check_kind("arm", arm, RestartArm)
    discount = check_discount(discount, average=False)
    nested = thresholds(arm, discount, order="critical")
    ties = Ties(arm, discount)
    worst = 0.0
    edges = np.concatenate(([-np.inf], nested.crossings - ties.shift, [np.inf]))
    for k in range(arm.states + 1):
        policy = np.ones(arm.states, dtype=np.int64)
        policy[nested.order[:k]] = 0
        at_zero, slope = ties.lines(policy, disturbed=3)
        if not (slope[0] > 0).all():
            worst = np.inf
            break
        roots = -at_zero / slope
        # Where passive a state must tie below the policy's subsidies, where active above.
        beyond = np.where(policy == 0, roots[0] - edges[k], edges[k + 1] - roots[0])
        off = np.maximum(beyond, 0) + ties.rounding * np.abs(roots[1:] - roots[0]).max(axis=0)
        scale = np.abs(roots[0] + ties.shift) + ties.spread
        worst = max(
            worst, float(np.divide(off, scale, where=off > 0, out=np.zeros_like(off)).max())
        )
    critical = nested.elimination.critical
    growth = nested.elimination.length[:-1]
    return Indexability(nested.order, nested.crossings, critical, growth, worst)


def restart_level(arm: RestartArm, discount: float, subsidy: float) -> float:
    """Return W = (1-b) lambda + b sum Q V at b < 1: a state with a smaller nu is passive."""
    discount = check_discount(discount, average=False)
    values = solve_subsidised(arm, discount, subsidy).values
    return float((1 - discount) * subsidy + discount * (arm.reset @ values))


def critical_values(arm: RestartArm, discount: float) -> Floats:
    """Return nu by state, the least cost per discounted epoch of staying passive for a while."""
    nested = thresholds(arm, discount, order="critical")
    values = np.empty(arm.states)
    values[nested.order] = nested.elimination.critical
    return values
