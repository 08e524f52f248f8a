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

from analysis.mdp import NotConverged, Solution
from analysis.restarts.policies import RestartBandit, Scores, check_scores

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
        tables = check_scores(self.bandit, scores)
        along = [self._along(n, table) for n, table in enumerate(tables)]
        order = np.argsort(-np.stack(np.broadcast_arrays(*along)), axis=0, kind="stable")[
            : self.bandit.budget
        ]
        code = (1 << order).sum(axis=0)
        lookup = {sum(1 << n for n in action): number for action, number in self._number.items()}
        codes = np.array(sorted(lookup))
        numbers = np.array([lookup[c] for c in codes])
        return np.asarray(numbers[np.searchsorted(codes, code)])


def solve_joint(
    bandit: RestartBandit,
    *,
    tolerance: float = 1e-10,
    start: NDArray[np.float64] | None = None,
    model: JointModel | None = None,
) -> Solution:
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
    Solution
        `bias` holds the normalised values and `policy` the action numbers, both of the joint
        shape; `residual` is the half-width of the bounds on every value.

    Raises
    ------
    NotConverged
        If the bounds do not close.
    """
    model = model or JointModel(bandit)
    return _iterate(model, None, tolerance, start)


def evaluate_scores(
    bandit: RestartBandit,
    scores: Scores,
    *,
    tolerance: float = 1e-10,
    start: NDArray[np.float64] | None = None,
    model: JointModel | None = None,
) -> Solution:
    """Value a priority policy exactly; parameters and result as `solve_joint`.

    Parameters
    ----------
    bandit : RestartBandit
    scores : list of ndarray
        One array of scores for each arm.
    tolerance, start, model
        As `solve_joint`.

    Returns
    -------
    Solution
    """
    model = model or JointModel(bandit)
    return _iterate(model, model.priority_actions(scores), tolerance, start)


def _iterate(
    model: JointModel,
    policy: NDArray[np.int64] | None,
    tolerance: float,
    start: NDArray[np.float64] | None,
) -> Solution:
    bandit = model.bandit
    values = np.zeros(bandit.shape) if start is None else np.array(start)
    chosen = np.zeros(bandit.shape, dtype=np.int64) if policy is None else policy
    factor = bandit.discount / (1 - bandit.discount)
    limit = int(50 / (1 - bandit.discount)) + 100
    for iteration in range(1, limit + 1):
        updated = np.full(bandit.shape, np.inf)
        for number, to_go in model.action_values(values):
            if policy is None:
                np.minimum(updated, to_go, out=updated)
            else:
                np.copyto(updated, to_go, where=chosen == number)
        change = updated - values
        low, high = factor * change.min(), factor * change.max()
        values = updated
        if high - low <= 2 * tolerance * (1e-300 + np.abs(values).max()):
            values = values + (low + high) / 2
            if policy is None:
                chosen = _greedy(model, values)
            return Solution(np.nan, values, chosen, iteration, (high - low) / 2, True)
    raise NotConverged(f"bounds are still {high - low:.3g} apart after {limit} iterations")


def _greedy(model: JointModel, values: NDArray[np.float64]) -> NDArray[np.int64]:
    best = np.full(model.bandit.shape, np.inf)
    chosen = np.zeros(model.bandit.shape, dtype=np.int64)
    for number, to_go in model.action_values(values):
        better = to_go < best
        best[better] = to_go[better]
        chosen[better] = number
    return chosen
