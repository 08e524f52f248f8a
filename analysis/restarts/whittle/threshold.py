"""Threshold policies of a restart arm: D(k), N(k), L(k), M(k) and the optimal threshold.

With the first k states passive and the others active, a cycle from Q to the next restart costs
L(k) and lasts M(k), both discounted. The policy costs C(k) = D(k) + lambda N(k) from Q, where

    D(k) = L(k) / M(k),   N(k) = 1 / (b M(k)) - (1 - b) / b,

and lambda is the subsidy for passivity, paid here as a penalty on activity. k = 0 is always active
and k = K, which slide 15 leaves out, never. Consecutive lines cross at the index of the state
between them, and k_lambda, the least line, climbs one state at each crossing.

Source: the restart slides (2019), slides 13 to 16 and 23 (thresholds numbered from 1 there).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Floats, Ints
from analysis.checks import check_array, check_choice, check_integer, check_kind
from analysis.display import brief
from analysis.mdp.chains import stationary_law
from analysis.restarts.arm import RestartArm, check_discount
from analysis.restarts.whittle.definition import evaluate_policy
from analysis.restarts.whittle.elimination import Elimination, eliminate

#: Weight of an epoch so far ahead that it no longer counts.
NEGLIGIBLE = 1e-15


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


def cycle_by_definition(arm: RestartArm, discount: float, passive: int) -> tuple[float, float]:
    """Return L and M of slide 14 as the sums that define them, epoch by epoch from Q.

    `passive` is how many states, the first ones, are left passive; the discount is below 1.
    """
    discount = check_discount(discount, average=False)
    passive = check_integer("passive", passive, 0, arm.states)
    waits = np.arange(arm.states) < passive
    epoch_cost = np.where(waits, arm.passive_cost, arm.active_cost)
    # The law of the state on paths that have not been active before the epoch, and its weight.
    law, weight = arm.reset, 1.0
    cost = length = 0.0
    while weight > NEGLIGIBLE and law.any():
        cost += weight * float(law @ epoch_cost)
        length += weight * float(law.sum())
        law, weight = (law * waits) @ arm.passive, weight * discount
    return cost, length


def rates_by_equations(arm: RestartArm, discount: float, passive: int) -> tuple[float, float]:
    """Return D and N of slide 13 from the linear equations of the policy, at two subsidies.

    Arguments as in `cycle_by_definition`.
    """
    discount = check_discount(discount, average=False)
    passive = check_integer("passive", passive, 0, arm.states)
    policy = (np.arange(arm.states) >= passive).astype(np.int64)
    at_zero, at_one = (
        float(arm.reset @ evaluate_policy(arm, discount, subsidy, policy)[1])
        for subsidy in (0.0, 1.0)
    )
    return at_zero, at_one - at_zero


def passive_excess(arm: RestartArm) -> float:
    """Return what an arm that is never active costs on average above the least passive cost.

    Its passive chain has one recurrent class.
    """
    law = stationary_law(sparse.csr_array(arm.passive))
    return float(law @ (arm.passive_cost - arm.passive_cost.min()))


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
