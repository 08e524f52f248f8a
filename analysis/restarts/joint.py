"""The joint problem solved exactly: optimum and the value of any priority policy.

A joint state is one state of each arm, K^n in all (slide 6), and an action the set of `budget`
arms to activate. Given the action arms move independently, so that the expectation of V is n small
contractions, one along each arm's axis: with P for a passive arm, with Q for an active one, whose
axis then drops out. Actions share their contractions. Values are normalised by 1 - b, as on slide
5; value iteration stops on the bounds of MacQueen and Porteus, which enclose the true values.

Source: the restart slides (2019), slides 5, 6 and 19.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
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
        self.actions = list(combinations(range(len(bandit.arms)), bandit.budget))
        self._number = {action: number for number, action in enumerate(self.actions)}
        self._kernels = [np.ascontiguousarray(arm.passive.T) for arm in bandit.arms]
        self._costs = [self._cost(action) for action in self.actions]

    def _along(self, arm: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        shape = [1] * len(self.bandit.arms)
        shape[arm] = -1
        return values.reshape(shape)

    def _cost(self, action: tuple[int, ...]) -> NDArray[np.float64]:
        total = np.zeros(self.bandit.shape)
        for n, arm in enumerate(self.bandit.arms):
            total += self._along(n, arm.active_cost if n in action else arm.passive_cost)
        return (1 - self.bandit.discount) * total

    def expectations(
        self, values: NDArray[np.float64]
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield every action's number and E V(next), of a shape that broadcasts to the joint one.

        Parameters
        ----------
        values : ndarray, of the joint shape
        """
        yield from self._contract(np.asarray(values).reshape(-1), 0, ())

    def _contract(
        self, flat: NDArray[np.float64], n: int, active: tuple[int, ...]
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Contract arm n: `flat` runs over arms n, n+1, ..., then over the arms done before it."""
        arms = self.bandit.arms
        if n == len(arms):
            shape = [1 if k in active else size for k, size in enumerate(self.bandit.shape)]
            yield self._number[active], flat.reshape(shape)
            return
        table = flat.reshape(arms[n].states, -1)
        if len(active) < self.bandit.budget:
            yield from self._contract(arms[n].reset @ table, n + 1, (*active, n))
        if len(arms) - n > self.bandit.budget - len(active):
            # Transposed, so that arm n's axis comes last and the next arm's first.
            yield from self._contract((table.T @ self._kernels[n]).reshape(-1), n + 1, active)

    def action_values(
        self, values: NDArray[np.float64]
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield every action's number and its cost-to-go, of the joint shape."""
        for number, expected in self.expectations(values):
            yield number, self._costs[number] + self.bandit.discount * expected

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

    def highest_actions(self, scores: Scores) -> list[NDArray[np.bool_]]:
        """Return where each action activates arms with the highest scores, ties broken anyhow.

        Parameters
        ----------
        scores : list of ndarray
            One array for each arm.

        Returns
        -------
        list of ndarray of bool, of the joint shape
            One for each of `actions`; at least one is true in each joint state.
        """
        joint = self._joint_scores(scores)
        last = np.sort(joint, axis=0)[-self.bandit.budget]
        allowed = []
        for action in self.actions:
            passive = [n for n in range(len(joint)) if n not in action]
            kept = (joint[list(action)] >= last).all(axis=0)
            allowed.append(kept & (joint[passive] <= last).all(axis=0))
        return allowed


def solve_joint(
    bandit: RestartBandit,
    *,
    tolerance: float = 1e-10,
    start: NDArray[np.float64] | None = None,
    model: JointModel | None = None,
) -> DiscountedSolution:
    """Solve the joint problem by value iteration with enclosing bounds.

    Parameters
    ----------
    bandit : RestartBandit
    tolerance : float
        Largest allowed half-width of the bounds, relative to the largest value.
    start : ndarray, of the joint shape, optional
        Values to start from.
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
    return _iterate(model, None, tolerance, start)


def evaluate_scores(
    bandit: RestartBandit,
    scores: Scores,
    *,
    ties: str = "lower arm",
    tolerance: float = 1e-10,
    start: NDArray[np.float64] | None = None,
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
    tolerance, start, model
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
        allowed = [chosen == number for number in range(len(model.actions))]
    else:
        allowed = model.highest_actions(scores)
    return _iterate(model, allowed, tolerance, start, worst=ties == "worst")


def _iterate(
    model: JointModel,
    allowed: list[NDArray[np.bool_]] | None,
    tolerance: float,
    start: NDArray[np.float64] | None,
    worst: bool = False,
) -> DiscountedSolution:
    """Iterate on the least (or greatest) cost-to-go of the allowed actions, all if not given."""
    bandit = model.bandit
    check_number("tolerance", tolerance, 0, low_open=True, high_open=True)
    values = np.zeros(bandit.shape) if start is None else check_array("start", start)
    if values.shape != bandit.shape:
        raise ValueError(f"start must have shape {bandit.shape}, got {values.shape}")
    factor = bandit.discount / (1 - bandit.discount)
    limit = int(50 / (1 - bandit.discount)) + 100
    for iteration in range(1, limit + 1):
        updated = _updated(model, values, allowed, worst)
        change = updated - values
        low, high = factor * change.min(), factor * change.max()
        values = updated
        if high - low <= 2 * tolerance * (1e-300 + np.abs(values).max()):
            values = values + (low + high) / 2
            chosen = _greedy(model, values, allowed, worst)
            return DiscountedSolution(
                values=values,
                policy=chosen,
                iterations=iteration,
                residual=(high - low) / 2,
                converged=True,
                method="value iteration",
            )
    raise NotConverged(f"bounds are still {high - low:.3g} apart after {limit} iterations")


def _updated(
    model: JointModel,
    values: NDArray[np.float64],
    allowed: list[NDArray[np.bool_]] | None,
    worst: bool,
) -> NDArray[np.float64]:
    updated = np.full(model.bandit.shape, -np.inf if worst else np.inf)
    better = np.maximum if worst else np.minimum
    for number, to_go in model.action_values(values):
        where = True if allowed is None else allowed[number]
        better(updated, to_go, out=updated, where=where)
    return updated


def _greedy(
    model: JointModel,
    values: NDArray[np.float64],
    allowed: list[NDArray[np.bool_]] | None,
    worst: bool,
) -> NDArray[np.int64]:
    best = np.full(model.bandit.shape, -np.inf if worst else np.inf)
    chosen = np.zeros(model.bandit.shape, dtype=np.int64)
    for number, to_go in model.action_values(values):
        better = to_go > best if worst else to_go < best
        if allowed is not None:
            better &= allowed[number]
        best[better] = to_go[better]
        chosen[better] = number
    return chosen
