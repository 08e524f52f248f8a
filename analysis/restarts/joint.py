"""The joint problem solved exactly: optimum and the value of any priority policy.

A joint state is one state of each arm, K^n in all (slide 6), and an action the set of `budget`
arms to activate. Given the action arms move independently, so that the expectation of V is n small
contractions, one along each arm's axis: with Q for an active arm, whose axis then drops out, and
with P for a passive one on the few states that are left. Values are normalised by 1 - b, as on
slide 5; value iteration stops on the bounds of MacQueen and Porteus, which enclose the true values.

Source: the restart slides (2019), slides 5, 6 and 19.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from analysis.checks import check_array, check_choice, check_kind, check_number
from analysis.restarts.policies import RestartBandit, Scores, check_scores
from analysis.results import DiscountedSolution, NotConverged

#: Joint systems beyond this many states are refused rather than started.
MOST_JOINT_STATES = 2_000_000


class JointModel:
    """Costs and expectations of a joint system, one action after another.

    Parameters
    ----------
    bandit : RestartBandit
        With at most `MOST_JOINT_STATES` joint states.

    Attributes
    ----------
    actions : list of tuple of int
        The sets of active arms, in lexicographic order.

    Raises
    ------
    ValueError
        If the system has too many joint states.
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
        self._number = {action: number for number, action in enumerate(self.actions)}
        self._shape = np.array(bandit.shape, dtype=np.int64)
        self._kernels, self._resets = np.zeros((count, most, most)), np.zeros((count, most))
        for n, arm in enumerate(bandit.arms):
            self._kernels[n, : arm.states, : arm.states] = arm.passive
            self._resets[n, : arm.states] = arm.reset
        self._active = np.zeros((len(self.actions), count), dtype=np.bool_)
        for number, action in enumerate(self.actions):
            self._active[number, list(action)] = True
        self._costs = np.stack([self._cost(action).ravel() for action in self.actions])
        self._places = np.stack([self._places_of(active) for active in self._active])
        self._every = np.ones_like(self._costs, dtype=np.bool_)

    def _along(self, arm: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        shape = [1] * len(self.bandit.arms)
        shape[arm] = -1
        return values.reshape(shape)

    def _cost(self, action: tuple[int, ...]) -> NDArray[np.float64]:
        total = np.zeros(self.bandit.shape)
        for n, arm in enumerate(self.bandit.arms):
            total += self._along(n, arm.active_cost if n in action else arm.passive_cost)
        return (1 - self.bandit.discount) * total

    def _places_of(self, active: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return where the expectations of each run along the last axis begin."""
        kept = np.where(active, 1, self._shape)
        places = np.arange(kept.prod()).reshape(kept)[..., 0]
        return np.broadcast_to(places, self.bandit.shape[:-1]).ravel()

    def improve(
        self,
        values: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
        *,
        worst: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the least cost-to-go over actions, and the number of an action that has it.

        Parameters
        ----------
        values : ndarray, of the joint shape
        allowed : ndarray of bool, shape (actions, *joint shape), optional
            Which actions each joint state allows, at least one; all if not given.
        worst : bool
            Take the greatest instead of the least.

        Returns
        -------
        updated, chosen : ndarray, of the joint shape
        """
        updated = np.empty(values.size)
        chosen = np.zeros(values.size, dtype=np.int64)
        _improve(
            np.ascontiguousarray(values, dtype=np.float64).ravel(), self._shape, self._kernels,
            self._resets, self._active, self._places, self._costs,
            self._every if allowed is None else allowed.reshape(self._every.shape),
            self.bandit.discount, -1.0 if worst else 1.0, updated, chosen,
        )  # fmt: skip
        return updated.reshape(self.bandit.shape), chosen.reshape(self.bandit.shape)

    def priority_actions(self, scores: Scores) -> NDArray[np.int64]:
        """Return the action of a priority policy in each joint state.

        Parameters
        ----------
        scores : list of ndarray
            One array for each arm; the highest are activated, ties go to the lower arm.

        Returns
        -------
        ndarray of int, of the joint shape
            Numbers into `actions`.
        """
        order = np.argsort(-self._joint_scores(scores), axis=0, kind="stable")[: self.bandit.budget]
        code = (1 << order).sum(axis=0)
        lookup = {sum(1 << n for n in action): number for action, number in self._number.items()}
        codes = np.array(sorted(lookup))
        numbers = np.array([lookup[c] for c in codes])
        return np.asarray(numbers[np.searchsorted(codes, code)])

    def _joint_scores(self, scores: Scores) -> NDArray[np.float64]:
        """Return every arm's score in every joint state, shape (arms, *joint shape)."""
        tables = check_scores(self.bandit, scores)
        along = [self._along(n, table) for n, table in enumerate(tables)]
        return np.stack(np.broadcast_arrays(*along))

    def highest_actions(self, scores: Scores) -> NDArray[np.bool_]:
        """Return where each action activates arms with the highest scores, ties broken anyhow.

        Parameters
        ----------
        scores : list of ndarray
            One array for each arm.

        Returns
        -------
        ndarray of bool, shape (actions, *joint shape)
            At least one action is allowed in each joint state.
        """
        joint = self._joint_scores(scores)
        last = np.sort(joint, axis=0)[-self.bandit.budget]
        allowed = []
        for action in self.actions:
            passive = [n for n in range(len(joint)) if n not in action]
            kept = (joint[list(action)] >= last).all(axis=0)
            allowed.append(kept & (joint[passive] <= last).all(axis=0))
        return np.stack(allowed)


@njit(cache=True)
def _improve(  # type: ignore[no-untyped-def]
    values, shape, kernels, resets, active, places, costs, allowed, discount, sign, updated, chosen,
):  # fmt: skip
    last = shape[-1]
    work, row = np.empty((2, values.size)), np.empty(values.size)
    updated[:] = np.inf
    for number in range(active.shape[0]):
        expected = _expectation(values, shape, kernels, resets, active[number], work, row)
        step = 0 if active[number, -1] else 1
        for run in range(places.shape[1]):
            for y in range(last):
                state = run * last + y
                if allowed[number, state]:
                    after = expected[places[number, run] + y * step]
                    to_go = sign * (costs[number, state] + discount * after)
                    if to_go < updated[state]:
                        updated[state], chosen[state] = to_go, number
    updated *= sign


@njit(cache=True)
def _expectation(values, shape, kernels, resets, active, work, row):  # type: ignore[no-untyped-def]
    """Return E V(next) of one action, flat, the axes of active arms dropped."""
    source, size, turn, before = values, values.size, 0, 1
    for n in range(shape.size):
        if not active[n]:
            before *= shape[n]
            continue
        after = size // (before * shape[n])
        target = work[turn]
        target[: before * after] = 0.0
        for a in range(before):
            for y in range(shape[n]):
                for c in range(after):
                    weight = resets[n, y] * source[(a * shape[n] + y) * after + c]
                    target[a * after + c] += weight
        source, size, turn = target, before * after, 1 - turn
    # From here on the first axis is taken off and put back last, so that sums run along rows.
    for n in range(shape.size):
        if active[n]:
            continue
        states = shape[n]
        rest = size // states
        target = work[turn]
        for x in range(states):
            row[:rest] = 0.0
            for y in range(states):
                if kernels[n, x, y] > 0:
                    for c in range(rest):
                        row[c] += kernels[n, x, y] * source[y * rest + c]
            for c in range(rest):
                target[c * states + x] = row[c]
        source, turn = target, 1 - turn
    return source


def solve_joint(
    bandit: RestartBandit,
    *,
    tolerance: float = 1e-10,
    initial_values: NDArray[np.float64] | None = None,
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
    """
    check_kind("bandit", bandit, RestartBandit)
    check_kind("model", model, JointModel, None)
    model = model or JointModel(bandit)
    return _iterate(model, None, tolerance, initial_values)


def evaluate_scores(
    bandit: RestartBandit,
    scores: Scores,
    *,
    ties: str = "lower arm",
    tolerance: float = 1e-10,
    initial_values: NDArray[np.float64] | None = None,
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
    """
    check_kind("bandit", bandit, RestartBandit)
    check_choice("ties", ties, ("lower arm", "best", "worst"))
    check_kind("model", model, JointModel, None)
    model = model or JointModel(bandit)
    if ties == "lower arm":
        chosen = model.priority_actions(scores)
        allowed = np.stack([chosen == number for number in range(len(model.actions))])
    else:
        allowed = model.highest_actions(scores)
    return _iterate(model, allowed, tolerance, initial_values, worst=ties == "worst")


def _iterate(
    model: JointModel,
    allowed: NDArray[np.bool_] | None,
    tolerance: float,
    initial_values: NDArray[np.float64] | None,
    worst: bool = False,
) -> DiscountedSolution:
    """Iterate on the least (or greatest) cost-to-go of the allowed actions, all if not given."""
    bandit = model.bandit
    check_number("tolerance", tolerance, 0, low_open=True, high_open=True)
    values = np.zeros(bandit.shape)
    if initial_values is not None:
        values = check_array("initial_values", initial_values)
    if values.shape != bandit.shape:
        raise ValueError(f"initial_values must have shape {bandit.shape}, got {values.shape}")
    factor = bandit.discount / (1 - bandit.discount)
    limit = int(50 / (1 - bandit.discount)) + 100
    for iteration in range(1, limit + 1):
        updated, _ = model.improve(values, allowed, worst=worst)
        change = updated - values
        low, high = factor * change.min(), factor * change.max()
        values = updated
        if high - low <= 2 * tolerance * (1e-300 + np.abs(values).max()):
            values = values + (low + high) / 2
            return DiscountedSolution(
                values=values,
                policy=model.improve(values, allowed, worst=worst)[1],
                iterations=iteration,
                residual=(high - low) / 2,
                converged=True,
                method="value iteration",
            )
    raise NotConverged(f"bounds are still {high - low:.3g} apart after {limit} iterations")
