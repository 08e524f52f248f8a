"""The joint problem solved exactly: optimum and the value of any priority policy.

A joint state is one state of each arm, K^n in all (slide 6), and an action the set of `budget`
arms to activate. Given the action arms move independently, so that the expectation of V is n small
contractions, one along each arm's axis: with Q for an active arm, whose axis then drops out, and
with P for a passive one on the few states that are left. Values are normalised by 1 - b, as on
slide 5; value iteration stops on the bounds of MacQueen and Porteus, which enclose the true values.

In the compiled part joint states are numbered with the last arm's state running fastest.

Source: the restart slides (2019), slides 5, 6 and 19.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import check_array, check_choice, check_kind, check_positive
from analysis.kernel_cache import njit
from analysis.restarts.bandit import RestartBandit, Scores, check_scores
from analysis.results import DiscountedSolution, NotConverged


@njit
def mark_highest(joint, active, lower_arms, allowed):  # type: ignore[no-untyped-def]
    """Mark the actions whose active arms all score at least as high as the passive ones.

    Of the actions that tie, the first in lexicographic order has the lower arms.
    """
    states = joint.shape[1]
    open_yet = np.ones(states, dtype=np.bool_)
    for number in range(active.shape[0]):
        least_active, most_passive = np.full(states, np.inf), np.full(states, -np.inf)
        for n in range(joint.shape[0]):
            for state in range(states):
                if active[number, n]:
                    least_active[state] = min(least_active[state], joint[n, state])
                else:
                    most_passive[state] = max(most_passive[state], joint[n, state])
        for state in range(states):
            highest = least_active[state] >= most_passive[state]
            allowed[number, state] = highest and open_yet[state]
            if highest and lower_arms:
                open_yet[state] = False


class JointProblem(NamedTuple):
    """The arrays of a joint problem.

    `shape` has the states of each arm; `kernels` (arms, K, K) and `resets` (arms, K) hold P and Q,
    `active` (actions, arms) the arms that an action activates, `costs` (actions, joint states) the
    normalised cost of an epoch, and `places` the entry of its action's expectations that a joint
    state reads: that of the states of its passive arms.
    """

    shape: Ints
    kernels: Floats
    resets: Floats
    active: Bools
    places: Ints
    costs: Floats
    discount: float


@njit
def value_iteration(  # type: ignore[no-untyped-def]
    values, policy, problem, allowed, worst, ends, tolerance, limit
):
    """Iterate in place; return the sweeps, the bounds' half-width and whether it is small enough.

    No expectation depends on any but the states `ends`; the others are done in the last sweep.
    """
    shape, kernels, resets, active, places, costs, discount = problem
    sign = -1.0 if worst else 1.0
    room = 0
    for number in range(active.shape[0]):
        room = max(room, places[number, values.size - 1] + 1)
    expected = np.empty((active.shape[0], room))
    looked_up = expected.ravel()
    first, at, cost = _choices(allowed, places, costs, ends, expected.shape[1])
    factor = discount / (1.0 - discount)
    for sweep in range(limit):  # noqa: B007
        _expect(values, shape, kernels, resets, active, expected)
        low, high, largest = np.inf, -np.inf, 1e-300
        for k in range(ends.size):
            least = np.inf
            for i in range(first[k], first[k + 1]):
                to_go = sign * (cost[i] + discount * looked_up[at[i]])
                least = to_go if to_go < least else least
            change = sign * least - values[ends[k]]
            if change < low:
                low = change
            if change > high:
                high = change
            if abs(least) > largest:
                largest = abs(least)
            values[ends[k]] = sign * least
        converged = factor * (high - low) <= 2.0 * tolerance * largest
        if converged:
            break
    for state in ends:
        values[state] += factor * (low + high) / 2.0
    _expect(values, shape, kernels, resets, active, expected)
    for state in range(values.size):
        least = np.inf
        for number in range(active.shape[0]):
            if allowed[number, state]:
                position = places[number, state]
                to_go = sign * (costs[number, state] + discount * expected[number, position])
                if to_go < least:
                    least, policy[state] = to_go, number
        values[state] = sign * least
    return sweep + 1, factor * (high - low) / 2.0, converged


@njit
def _choices(allowed, places, costs, states, room):  # type: ignore[no-untyped-def]
    """List what the states may choose, one state after another: first, place and cost.

    State k has the choices from first[k] to first[k + 1]; each action's places take up `room`.
    """
    first, total = np.zeros(states.size + 1, dtype=np.int64), 0
    most = allowed.shape[0] * states.size
    position, cost = np.empty(most, dtype=np.int64), np.empty(most)
    for k in range(states.size):
        for number in range(allowed.shape[0]):
            if allowed[number, states[k]]:
                position[total] = number * room + places[number, states[k]]
                cost[total] = costs[number, states[k]]
                total += 1
        first[k + 1] = total
    return first, position, cost


@njit
def _expect(values, shape, kernels, resets, active, expected):  # type: ignore[no-untyped-def]
    """Write E V(next) of every action, flat, the axes of active arms dropped."""
    work = np.empty((3, values.size))
    row = work[2]
    for number in range(active.shape[0]):
        source, size, turn, outer = values, values.size, 0, 1
        for n in range(shape.size):
            if not active[number, n]:
                outer *= shape[n]
                continue
            inner = size // (outer * shape[n])
            target = work[turn]
            target[: outer * inner] = 0.0
            for a in range(outer):
                for y in range(shape[n]):
                    if resets[n, y] > 0:
                        begin = (a * shape[n] + y) * inner
                        for c in range(inner):
                            target[a * inner + c] += resets[n, y] * source[begin + c]
            source, size, turn = target, outer * inner, 1 - turn
        # From here the first axis is taken off and put back last, so that sums run along rows.
        for n in range(shape.size):
            if active[number, n]:
                continue
            states = shape[n]
            columns = size // states
            target = work[turn]
            for x in range(states):
                row[:columns] = 0.0
                for y in range(states):
                    if kernels[n, x, y] > 0:
                        for c in range(columns):
                            row[c] += kernels[n, x, y] * source[y * columns + c]
                for c in range(columns):
                    target[c * states + x] = row[c]
            source, turn = target, 1 - turn
        expected[number, :size] = source[:size]


#: Joint systems beyond this many states are refused rather than started.
MOST_JOINT_STATES = 2_000_000


class JointModel:
    """Costs and expectations of a joint system; `actions` are the sets of active arms, in order.

    Raises ValueError if the system has more than `MOST_JOINT_STATES` joint states.
    """

    def __init__(self, bandit: RestartBandit):
        if bandit.joint_states > MOST_JOINT_STATES:
            raise ValueError(
                f"bandit must have at most {MOST_JOINT_STATES} joint states to be solved exactly, "
                f"got {bandit.joint_states:.3g}"
            )
        self.bandit = bandit
        count, most = len(bandit.arms), max(bandit.shape)
        self.actions = list(combinations(range(count), bandit.budget))
        kernels, resets = np.zeros((count, most, most)), np.zeros((count, most))
        for n, arm in enumerate(bandit.arms):
            kernels[n, : arm.states, : arm.states] = arm.passive
            resets[n, : arm.states] = arm.reset
        self._active = np.zeros((len(self.actions), count), dtype=np.bool_)
        for number, action in enumerate(self.actions):
            self._active[number, list(action)] = True
        self._problem = JointProblem(
            np.array(bandit.shape, dtype=np.int64), kernels, resets, self._active,
            _places(bandit.shape, bandit.budget), self._epoch_costs(), bandit.discount,
        )  # fmt: skip
        # The joint states in which an epoch can end: `budget` arms have just been reset.
        fresh = np.zeros(bandit.shape)
        for n, arm in enumerate(bandit.arms):
            fresh += self._along(n, np.sign(arm.reset))
        self._ends = np.flatnonzero(fresh >= bandit.budget)

    def _along(self, arm: int, values: Floats) -> Floats:
        shape = [1] * len(self.bandit.arms)
        shape[arm] = -1
        return values.reshape(shape)

    def _epoch_costs(self) -> Floats:
        """Return the normalised cost of each action in each joint state."""
        arms = self.bandit.arms
        extra = [self._along(n, arm.active_cost - arm.passive_cost) for n, arm in enumerate(arms)]
        passive = np.zeros(self.bandit.shape)
        for n, arm in enumerate(arms):
            passive += self._along(n, arm.passive_cost)
        costs = np.stack([passive + sum(extra[n] for n in action) for action in self.actions])
        return (1 - self.bandit.discount) * costs.reshape(len(self.actions), -1)

    def highest_actions(self, scores: Scores, *, lower_arms: bool = False) -> Bools:
        """Return where each action activates arms of the highest scores, (actions, *joint shape).

        At least one action is allowed in each joint state; with `lower_arms`, ties go to the arm of
        lower number and exactly one is.
        """
        tables = check_scores(self.bandit, scores)
        along = [self._along(n, table) for n, table in enumerate(tables)]
        joint = np.stack(np.broadcast_arrays(*along))
        allowed = np.empty((len(self.actions), *self.bandit.shape), dtype=np.bool_)
        mark_highest(
            joint.reshape(len(joint), -1), self._active, lower_arms,
            allowed.reshape(len(allowed), -1),
        )  # fmt: skip
        return allowed

    def iterate(
        self,
        allowed: Bools,
        initial_values: Floats | None,
        *,
        tolerance: float,
        worst: bool = False,
    ) -> DiscountedSolution:
        """Iterate on the least cost-to-go of the allowed actions until the bounds close.

        `allowed`, shape (actions, *joint shape), has at least one action in each joint state;
        `worst` takes the greatest cost-to-go instead. The rest is as in `solve_joint`.
        """
        tolerance = check_positive("tolerance", tolerance)
        values = np.zeros(self.bandit.shape)
        if initial_values is not None:
            values = check_array("initial_values", initial_values)
        if values.shape != self.bandit.shape:
            raise ValueError(
                f"initial_values must have shape {self.bandit.shape}, got {values.shape}"
            )
        outcome, policy = values.ravel(), np.zeros(values.size, dtype=np.int64)
        limit = int(50 / (1 - self.bandit.discount)) + 100
        iterations, residual, converged = value_iteration(
            outcome, policy, self._problem, allowed.reshape(len(allowed), -1), worst,
            self._ends, tolerance, limit,
        )  # fmt: skip
        if not converged:
            raise NotConverged(
                f"bounds are still {2 * residual:.3g} apart after {iterations} iterations"
            )
        # Bounds that meet say nothing of what rounding has added up to.
        rounding = np.finfo(float).eps * np.abs(outcome).max() / (1 - self.bandit.discount)
        return DiscountedSolution(
            values=outcome.reshape(values.shape),
            policy=policy.reshape(values.shape),
            iterations=iterations,
            residual=float(max(residual, rounding)),
            converged=True,
            method="value iteration",
        )


@lru_cache(maxsize=2)
def _places(shape: tuple[int, ...], budget: int) -> Ints:
    """Return the places of joint states among an action's expectations, by action first."""
    positions = []
    for action in combinations(range(len(shape)), budget):
        sizes = [1 if n in action else states for n, states in enumerate(shape)]
        numbers = np.arange(prod(sizes)).reshape(sizes)
        positions.append(np.broadcast_to(numbers, shape).ravel())
    return np.stack(positions)


def solve_joint(
    bandit: RestartBandit,
    *,
    tolerance: float = 1e-10,
    initial_values: Floats | None = None,
    model: JointModel | None = None,
) -> DiscountedSolution:
    """Solve the joint problem by value iteration with enclosing bounds.

    Parameters
    ----------
    bandit : RestartBandit
    tolerance : float
        Largest allowed half-width of the bounds, relative to the largest value.
    initial_values : ndarray, of the joint shape, optional
        Where the iteration begins.
    model : JointModel, optional
        The bandit's, where it is at hand.

    Returns
    -------
    DiscountedSolution
        `values` holds the normalised values and `policy` the action numbers, both of the joint
        shape; `residual` is the half-width of the bounds on every value.

    Raises
    ------
    NotConverged
        If the bounds do not close.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = [slide_arm(one_step(4, stay)) for stay in (0.2, 0.5, 0.8)]
    >>> bandit = RestartBandit(tuple(arms), budget=1, discount=0.9)
    >>> float(solve_joint(bandit).values[0, 0, 0].round(4))
    4.676
    """
    check_kind("bandit", bandit, RestartBandit)
    check_kind("model", model, JointModel, None)
    model = model or JointModel(bandit)
    every = np.ones((len(model.actions), *bandit.shape), dtype=np.bool_)
    return model.iterate(every, initial_values, tolerance=tolerance)


def evaluate_scores(
    bandit: RestartBandit,
    scores: Scores,
    *,
    ties: str = "lower arm",
    tolerance: float = 1e-10,
    initial_values: Floats | None = None,
    model: JointModel | None = None,
) -> DiscountedSolution:
    """Value a priority policy exactly.

    Parameters
    ----------
    bandit : RestartBandit
    scores : list of ndarray
        One array of scores for each arm.
    ties : {"lower arm", "best", "worst"}
        Of arms with equal scores, activate those with the lower numbers; or those, in each joint
        state, that make the cost least or greatest among all ways to break the ties.
    tolerance, initial_values, model
        As `solve_joint`.

    Returns
    -------
    DiscountedSolution
        As `solve_joint`.

    Raises
    ------
    ValueError
        If the scores do not fit the arms, or for unknown ties.
    NotConverged
        If the bounds do not close.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = [slide_arm(one_step(4, stay)) for stay in (0.2, 0.5, 0.8)]
    >>> bandit = RestartBandit(tuple(arms), budget=1, discount=0.9)
    >>> from analysis.restarts import index_scores
    >>> float(evaluate_scores(bandit, index_scores(bandit)).values[0, 0, 0].round(4))
    4.676
    """
    check_kind("bandit", bandit, RestartBandit)
    check_choice("ties", ties, ("lower arm", "best", "worst"))
    check_kind("model", model, JointModel, None)
    model = model or JointModel(bandit)
    allowed = model.highest_actions(scores, lower_arms=ties == "lower arm")
    return model.iterate(allowed, initial_values, tolerance=tolerance, worst=ties == "worst")
