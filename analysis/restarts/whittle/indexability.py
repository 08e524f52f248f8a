"""Why every restart arm is indexable, and a certificate for one arm.

Write u = (V/(1-b)) - c1 - W/(1-b), with W = (1-b) lambda + b sum Q V the cost of restarting but
for (1-b) c1. The optimality equation becomes u = min(0, r - W + b P u), r = c0 - c1 + b P c1: the
arm is a stopping problem in which lambda appears through W alone. State x is passive iff nu(x) < W,

    nu(x) = inf over tau >= 1 of E_x sum_{t<tau} b^t r(X_t) / E_x sum_{t<tau} b^t
          = (1-b) inf over tau of (L(x, tau) - c(x, 1)) / (1 - E_x b^tau),

and W grows with lambda, so passive sets are nested. (Slide 11 prints b^tau without expectation
and W with lambda in place of (1-b) lambda.) The certificate checks the claim on the whole line of
subsidies: on each interval between crossings the advantage of passivity under the nested policy
is linear in lambda, so it has the right sign throughout iff it has at both ends.

Source: the restart slides (2019), slides 10 to 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import check_kind
from analysis.display import brief
from analysis.restarts.arm import RestartArm, check_discount
from analysis.restarts.whittle.definition import Ties, solve_subsidised
from analysis.restarts.whittle.threshold import thresholds

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
