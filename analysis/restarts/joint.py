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

#: Joint states that allow each action, one action after another, and how many of each.
Listed = tuple[NDArray[np.int64], NDArray[np.int64]]
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
        self._every = self.listed(np.ones(self._costs.shape, dtype=np.bool_))

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
        """Return which of an action's expectations each joint state looks up."""
        kept = np.where(active, 1, self._shape)
        places = np.arange(kept.prod()).reshape(kept)
        return np.broadcast_to(places, self.bandit.shape).ravel()

    def listed(self, allowed: NDArray[np.bool_]) -> Listed:
        """Return the joint states that allow each action, one action after another, and how many.

        Parameters
        ----------
        allowed : ndarray of bool, shape (actions, *joint shape)
            At least one action in each joint state.
        """
        flat = allowed.reshape(len(self.actions), -1)
        return np.nonzero(flat)[1], np.count_nonzero(flat, axis=1)

    def improve(
        self,
        values: NDArray[np.float64],
        listed: Listed | None = None,
        *,
        worst: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the least cost-to-go over actions, and the number of an action that has it.

        Parameters
        ----------
        values : ndarray, of the joint shape
        listed : pair of ndarray, optional
            The allowed actions, as `listed` returns them; all if not given.
        worst : bool
            Take the greatest instead of the least.

        Returns
        -------
        updated, chosen : ndarray, of the joint shape
        """
        updated = np.full(values.size, np.inf)
        chosen = np.zeros(values.size, dtype=np.int64)
        states, counts = self._every if listed is None else listed
        _improve(
            np.ascontiguousarray(values, dtype=np.float64).ravel(), self._shape, self._kernels,
            self._resets, self._active, self._places, self._costs, states, counts,
            self.bandit.discount, -1.0 if worst else 1.0, updated, chosen,
        )  # fmt: skip
        return updated.reshape(values.shape), chosen.reshape(values.shape)

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
    values, shape, kernels, resets, active, places, costs, states, counts, discount, sign, updated,
    chosen,
):  # fmt: skip
    work, row = np.empty((2, values.size)), np.empty(values.size)
    first = 0
    for number in range(active.shape[0]):
        expected = _expectation(values, shape, kernels, resets, active[number], work, row)
        for listed in range(first, first + counts[number]):
            state = states[listed]
            to_go = costs[number, state] + discount * expected[places[number, state]]
            if sign * to_go < updated[state]:
                updated[state], chosen[state] = sign * to_go, number
        first += counts[number]
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
                if resets[n, y] > 0:
                    begin = (a * shape[n] + y) * after
                    for c in range(after):
                        target[a * after + c] += resets[n, y] * source[begin + c]
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

    Examples
    --------
    >>> from analysis.restarts.instances.generators import one_step, slide_arm
    >>> arms = [slide_arm(one_step(4, stay)) for stay in (0.2, 0.5, 0.8)]
    >>> bandit = RestartBandit(tuple(arms), budget=1, discount=0.9)
    >>> float(solve_joint(bandit).values[0, 0, 0].round(4))
    4.676
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

    Examples
    --------
    >>> from analysis.restarts.instances.generators import one_step, slide_arm
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
    if ties == "lower arm":
        chosen = model.priority_actions(scores)
        allowed = np.stack([chosen == number for number in range(len(model.actions))])
    else:
        allowed = model.highest_actions(scores)
    return _iterate(model, model.listed(allowed), tolerance, initial_values, worst=ties == "worst")


def _iterate(
    model: JointModel,
    listed: Listed | None,
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
        updated, _ = model.improve(values, listed, worst=worst)
        change = updated - values
        low, high = factor * change.min(), factor * change.max()
        values = updated
        if high - low <= 2 * tolerance * (1e-300 + np.abs(values).max()):
            values = values + (low + high) / 2
            return DiscountedSolution(
                values=values,
                policy=model.improve(values, listed, worst=worst)[1],
                iterations=iteration,
                residual=(high - low) / 2,
                converged=True,
                method="value iteration",
            )
    raise NotConverged(f"bounds are still {high - low:.3g} apart after {limit} iterations")
