"""A subsidised restart arm solved exactly, and the index straight from its definition.

With a penalty lambda on every active epoch (a subsidy for passivity, up to a constant) one arm is

    V(x) = min{(1-b) c(x,0) + b sum_y P(x,y) V(y),  (1-b)(c(x,1) + lambda) + b sum_y Q(y) V(y)},

or, with V = g + (1-b) h and sum Q h = 0, for every discount up to and with 1,

    g + h(x) = min{c(x,0) + b sum_y P(x,y) h(y),  c(x,1) + lambda},

which keeps its digits as b tends to 1, where V becomes the same in every state. Policy iteration
solves it to rounding; the index w(x) is the root in lambda of the advantage of passivity in x.

Source: the restart slides (2019), slides 8 to 10.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy import sparse

from analysis.arrays import Floats, Ints, one_thread, read_only_arrays
from analysis.checks import check_integer, check_number
from analysis.display import brief
from analysis.mdp.chains import recurrent_classes, stationary_law
from analysis.restarts.arm import RestartArm, check_discount
from analysis.restarts.elimination import TOLERANCE, multichain_error
from analysis.results import AverageSolution, NotConverged

#: By how much the entries of equations are disturbed, to see what rounding does to their solution.
DISTURBANCE = 2.0**-26
#: Weight of an epoch so far ahead that it no longer counts.
NEGLIGIBLE = 1e-15


@brief
@read_only_arrays
@dataclass(frozen=True, kw_only=True)
class SubsidisedSolution(AverageSolution):
    """Solution of one arm with a penalty on activity, at any discount up to 1.

    `gain` is the normalised cost from a restart, Q V, at discount 1 the average cost; `bias` holds
    the relative values h with Q h = 0; `values` are V = gain + (1 - discount) h, shape (states,).
    """

    values: Floats = field(repr=False)


def solve_subsidised(arm: RestartArm, discount: float, subsidy: float) -> SubsidisedSolution:
    """Solve one arm with a penalty lambda on each active epoch by policy iteration.

    At discount 1, the average-cost problem, the arm's passive chain must have one recurrent class.
    Raises NotConverged after ten times as many rounds as states, and ValueError if the discount or
    the subsidy is out of range or, at discount 1, a policy on the way has several closed classes.
    """
    discount, subsidy = check_discount(discount), check_number("subsidy", subsidy)
    active = arm.active_cost + subsidy
    policy = np.ones(arm.states, dtype=np.int64)
    for iteration in range(1, 10 * arm.states + 10):
        gain, relative = relative_values(arm, discount, subsidy, policy)
        passive = arm.passive_cost + discount * (arm.passive @ relative)
        # Keep the action where both tie, so that rounding cannot make the policy cycle.
        slack = 1e-13 * max(float(np.abs(passive).max()), float(np.abs(active).max()))
        better = np.where(policy == 1, passive < active - slack, active < passive - slack)
        if not better.any():
            return SubsidisedSolution(
                gain=gain,
                bias=relative,
                values=gain + (1 - discount) * relative,
                policy=policy,
                iterations=iteration,
                residual=float(np.abs(np.minimum(passive, active) - gain - relative).max()),
                converged=True,
                method="policy iteration",
            )
        policy = np.where(better, 1 - policy, policy)
    raise NotConverged(f"policy iteration did not settle in {iteration} rounds")


def relative_values(
    arm: RestartArm, discount: float, subsidy: float, policy: Ints
) -> tuple[float, Floats]:
    """Return g and h of a policy, with sum Q h = 0, at any discount in (0, 1].

    Raises ValueError at discount 1 if the policy has several closed classes.
    """
    cost = np.where(policy == 1, arm.active_cost + subsidy, arm.passive_cost)
    solved = solve(policy_system(arm, discount, policy), np.append(cost, 0.0)[:, None])[:, 0]
    return float(solved[-1]), solved[:-1]


def policy_system(arm: RestartArm, discount: float, policy: Ints) -> Floats:
    """Return the matrix of the equations of a policy's h and g, the last of which is sum Q h = 0.

    Errors as `relative_values`. What a row of P lacks to 1 is counted as staying, so that an entry
    of the diagonal is a sum of terms of one sign.
    """
    is_active = policy[:, None] == 1
    if discount == 1:
        kernel = sparse.csr_array(np.where(is_active, arm.reset, arm.passive))
        if len(recurrent_classes(kernel)) > 1:
            raise ValueError(
                "discount must be below 1 for this arm and policy, got 1: they have several "
                "closed classes, hence no single average cost"
            )
    states = arm.states
    leaves = arm.passive.copy()
    np.fill_diagonal(leaves, 0.0)
    stays = np.diag(1 - discount + discount * leaves.sum(axis=1))
    system = np.ones((states + 1, states + 1))
    system[:-1, :-1] = np.where(
        is_active, np.eye(states) - discount * arm.reset, stays - discount * leaves
    )
    system[-1, :-1], system[-1, -1] = arm.reset, 0.0
    return system


def solve(systems: Floats, right: Floats) -> Floats:
    """Solve linear systems, or raise NotConverged if one is singular to working precision."""
    try:
        with one_thread(systems.shape[-1]):
            return np.asarray(np.linalg.solve(systems, right))
    except np.linalg.LinAlgError as error:
        raise NotConverged("a policy's equations are singular to working precision") from error


def evaluate_policy(
    arm: RestartArm, discount: float, subsidy: float, policy: Ints
) -> tuple[float, Floats]:
    """Return gain (nan below discount 1) and normalised or relative values of a policy."""
    gain, relative = relative_values(arm, discount, subsidy, policy)
    if discount == 1:
        return gain, relative
    return np.nan, gain + (1 - discount) * relative


def least_over_policies(arm: RestartArm, discount: float, subsidy: float) -> Floats:
    """Return the least value in each state over all 2^K policies of an arm of at most 12 states.

    Tries every policy, at a discount in (0, 1).
    """
    discount = check_discount(discount, average=False)
    check_integer("states", arm.states, 1, 12)
    least = np.full(arm.states, np.inf)
    for actions in product((0, 1), repeat=arm.states):
        least = np.minimum(least, evaluate_policy(arm, discount, subsidy, np.array(actions))[1])
    return least


class Ties:
    """Where the two actions of one arm cost the same, and how well floating point can tell.

    Under the values of a fixed policy, passivity is better in state x by a(x) + lambda s(x). Costs
    are counted from the least of either action, which keeps small differences exact: `shift` has to
    be added to a subsidy for the arm's own costs, and `spread` is the largest difference of two
    passive or two active costs.
    """

    def __init__(self, arm: RestartArm, discount: float):
        idle, repair = float(arm.passive_cost.min()), float(arm.active_cost.min())
        self.arm = RestartArm(
            arm.passive, arm.reset, arm.passive_cost - idle, arm.active_cost - repair
        )
        self.discount, self.shift = discount, idle - repair
        self.spread = float(max(self.arm.passive_cost.max(), self.arm.active_cost.max()))
        self.rounding = 16 * np.finfo(float).eps * np.sqrt(arm.states) / DISTURBANCE

    def lines(self, policy: Ints, disturbed: int = 0) -> tuple[Floats, Floats]:
        """Return a and s, shapes (1 + disturbed, states), of a policy's equations.

        The first row is of the equations as they are, the others of equations of which each entry
        is off by a share of up to `DISTURBANCE`.
        """
        arm, states = self.arm, self.arm.states
        system = policy_system(arm, self.discount, policy)
        right = np.zeros((states + 1, 2))
        right[:-1] = np.column_stack(
            [np.where(policy == 1, arm.active_cost, arm.passive_cost), policy]
        )
        rng = np.random.default_rng(states)
        off = rng.uniform(-DISTURBANCE, DISTURBANCE, (1 + disturbed, states + 1, 2 * states + 3))
        off[0] = 0.0
        solved = solve(system * (1 + off[:, :, : states + 1]), right * (1 + off[:, :, -2:]))
        passive = arm.passive * (1 + off[:, :-1, states + 1 : -2])
        later = self.discount * (passive @ solved[:, :-1])
        return arm.active_cost - arm.passive_cost - later[:, :, 0], 1 - later[:, :, 1]

    def best_policy(self, subsidy: float, policy: Ints) -> Ints:
        """Return an optimal policy, by policy iteration from another."""
        tried = set()
        while policy.tobytes() not in tried:  # rounding can only make it cycle among equals
            tried.add(policy.tobytes())
            (at_zero,), (slope,) = self.lines(policy)
            better = at_zero + subsidy * slope
            policy = np.where(better == 0, policy, better < 0).astype(np.int64)
        return policy

    def root(self, state: int) -> tuple[float, float]:
        """Return the subsidy at which the actions of a state tie, and its relative error.

        Newton's method on the advantage of passivity, which is piecewise linear and rises, held
        between the subsidies at which it is known to be negative and positive. Raises NotConverged.
        """
        if self.spread == 0:
            return 0.0, float(np.finfo(float).eps)
        low, high, subsidy = -np.inf, np.inf, 0.0
        policy = np.ones(self.arm.states, dtype=np.int64)
        for _ in range(200):
            policy = self.best_policy(subsidy, policy)
            at_zero, slope = (float(line[0, state]) for line in self.lines(policy))
            if at_zero + subsidy * slope < 0:
                low = subsidy
            else:
                high = subsidy
            root = -at_zero / slope if slope > 0 else np.nan
            if abs(root - subsidy) <= 1e-14 * (abs(root) + self.spread):
                return root, self._error(root, state, policy)
            subsidy = root if low < root < high else (low + high) / 2
            if not np.isfinite(subsidy):
                break
        raise NotConverged(f"no subsidy was found at which the actions of state {state} tie")

    def _error(self, root: float, state: int, policy: Ints) -> float:
        """Return how far rounding can have moved a root, relative to its size and the spread."""
        at_zero, slope = self.lines(policy, disturbed=3)
        roots = -at_zero[:, state] / slope[:, state]
        moved = self.rounding * float(np.abs(roots[1:] - root).max())
        better = at_zero + root * slope
        unsure = self.rounding * np.abs(better[1:] - better[0]).max(axis=0)
        wrong = np.where(policy == 1, better[0], -better[0]) > unsure
        tied = np.abs(better[0]) <= unsure
        wrong[state] = tied[state] = False
        if wrong.any():
            return np.inf
        if tied.any():
            for action in (0, 1):
                at_zero, slope = self.lines(np.where(tied, action, policy))
                moved += abs(float(-at_zero[0, state] / slope[0, state]) - root)
        return float(np.finfo(float).eps) + moved / (abs(root + self.shift) + self.spread)


def index_by_definition(arm: RestartArm, discount: float) -> tuple[Floats, float]:
    """Return the subsidy at which each state's two actions tie, (states,), and its largest error.

    The error is relative to the size of an index and the spread of the costs of either action: how
    far an index moves if the equations are disturbed as rounding does, and if actions change that
    rounding does not tell apart. Raises NotConverged if no root is found or the error is above
    `TOLERANCE`, and ValueError if the passive chain or a policy on the way has several closed
    classes at discount 1.
    """
    discount = check_discount(discount)
    if discount == 1 and len(recurrent_classes(sparse.csr_array(arm.passive))) > 1:
        raise multichain_error("its states")
    ties = Ties(arm, discount)
    roots, errors = zip(*(ties.root(state) for state in range(arm.states)), strict=True)
    if not max(errors) <= TOLERANCE:
        raise NotConverged(
            f"rounding may have moved the root of state {int(np.argmax(errors))} by "
            f"{max(errors):.2g} of its size at discount {discount!r}"
        )
    return np.array(roots) + ties.shift, max(errors)


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
