"""Many arms under a budget: the relaxed problem, the Lagrangian index, and a simulation.

Let `budget` of N arms be active in an epoch on average only, and pay a subsidy lambda for each
passive epoch. Arms then part, and for every lambda

    reward of every policy <= sum_i g_i(lambda) - (N - budget) lambda,

where g_i is the best average reward of arm i with the subsidy or, at a discount b < 1, its best
normalised discounted reward, (1 - b) V_i, from its initial state. The right side is convex and
piecewise linear; its minimum is the relaxed bound. The Lagrangian index of an arm in a state is the
advantage of activity there at a subsidy that attains the minimum, Q(s, 1) - Q(s, 0). It needs no
indexability. Where an interval of subsidies attains the minimum, its middle is taken.

Source: Whittle (1988) for the relaxation; Avrachenkov, Borkar and Shah (2024) for the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Floats, Ints
from analysis.bandits.index import Arm, check_arms, whittle_index
from analysis.checks import (
    Rng,
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_rng,
    check_whole,
)
from analysis.display import brief
from analysis.mdp.average import policy_iteration
from analysis.mdp.chains import stationary_law
from analysis.mdp.discounted import solve_discounted
from analysis.restarts.arm import check_discount
from analysis.results import Estimate, NotConverged

#: Values of the dual function that differ by less, relative to the rewards, are equal.
EQUAL = 1e-11
#: What is left of the optimality equation of an arm, relative to rewards and bias, is rounding.
ROUNDING = 1e-13
#: Bias in units of the rewards up to which an arm is solved by dense matrices, and their steps.
LARGEST_BIAS, MOST_STEPS = 1e3, 50


@brief
@dataclass(frozen=True, eq=False)
class Relaxation:
    """The relaxed problem of a set of arms, solved.

    Attributes
    ----------
    bound : float
        At least the reward of every policy: average or, below discount 1, normalised discounted.
    interval : tuple of float
        Least and largest subsidy that attain the bound.
    subsidy : float
        The middle of the interval.
    index : tuple of ndarray
        Lagrangian index of each arm by state, at `subsidy`; activate the highest.
    """

    bound: float
    interval: tuple[float, float]
    subsidy: float
    index: tuple[Floats, ...]


def relaxed_problem(
    arms: Sequence[Arm],
    budget: int,
    discount: float = 1.0,
    *,
    initial_state: Sequence[int] | None = None,
) -> Relaxation:
    """Solve the relaxed problem of arms of which `budget` are active per epoch.

    Parameters
    ----------
    arms : sequence of Arm
        N arms, indexable or not.
    budget : int
        At least 1 and less than N.
    discount : float
        In (0, 1]; 1 is for average rewards, which needs arms whose best average reward is the same
        from every state.
    initial_state : sequence of int, optional
        State of each arm at first, which counts below discount 1; the first of all by default.

    Returns
    -------
    Relaxation

    Raises
    ------
    ValueError
        If an argument is out of its range.
    NotConverged
        If the problem of an arm is not solved (`analysis.mdp`), as where its best average reward
        depends on the state.

    Examples
    --------
    >>> stay, move = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    >>> arms = [Arm([stay, move], [[0.0, 0.0], [worth, 2.0]]) for worth in (0.5, 1.0)]
    >>> found = relaxed_problem(arms, budget=1)
    >>> round(found.bound, 4)
    1.6667
    """
    check_arms(arms)
    budget = check_whole("budget", budget, 1, len(arms) - 1)
    discount = check_discount(discount)
    initial = _initial_states(arms, initial_state)

    def dual(subsidy: float) -> tuple[float, float]:
        """Return the value of the dual function and its slope."""
        each = [
            _solve(arm, discount, subsidy, int(state))[:2]
            for arm, state in zip(arms, initial, strict=True)
        ]
        value, share = (sum(parts) for parts in zip(*each, strict=True))
        idle = len(arms) - budget
        return value - idle * subsidy, share - idle

    unit = sum(max(float(np.ptp(arm.rewards)), 1e-300) for arm in arms)
    low, high = _minimisers(dual, unit, len(arms))
    subsidy = (low + high) / 2
    index = tuple(
        _solve(arm, discount, subsidy, int(state))[2]
        for arm, state in zip(arms, initial, strict=True)
    )
    return Relaxation(dual(subsidy)[0], (low, high), subsidy, index)


def _initial_states(arms: Sequence[Arm], initial_state: Sequence[int] | None) -> Ints:
    if initial_state is None:
        return np.zeros(len(arms), dtype=np.int64)
    states = check_integers("initial_state", initial_state)
    limits = np.array([arm.states for arm in arms])
    if states.shape != limits.shape or (states < 0).any() or (states >= limits).any():
        raise ValueError(
            f"initial_state must hold a state of each of {len(arms)} arms, got {initial_state!r}"
        )
    return states


def _solve(arm: Arm, discount: float, subsidy: float, initial: int) -> tuple[float, float, Floats]:
    """Return the best reward of an arm with a subsidy, its passive share and the advantages."""
    rewards = arm.rewards + np.array([[subsidy], [0.0]])
    states = np.arange(arm.states)
    if discount == 1 and (solution := _solve_one_class(arm, rewards)) is not None:
        return solution
    if discount == 1:
        average = policy_iteration(arm.transitions, rewards)
        bias, policy, value = average.bias, average.policy, average.gain
        chain = sparse.csr_array(arm.transitions[policy, states])
        share = float(stationary_law(chain, initial) @ (policy == 0))
    else:
        found = solve_discounted(arm.transitions, rewards, discount)
        bias, policy = found.values, found.policy
        value = (1 - discount) * float(bias[initial])
        system = np.eye(arm.states) - discount * arm.transitions[policy, states]
        passive = np.linalg.solve(system, (policy == 0).astype(np.float64))
        share = (1 - discount) * float(passive[initial])
    worth = rewards + discount * (arm.transitions @ (bias - bias[0]))
    return value, share, worth[1] - worth[0]


def _solve_one_class(arm: Arm, rewards: Floats) -> tuple[float, float, Floats] | None:
    """Solve as `_solve` does, by Howard's iteration on dense matrices; None without convergence.

    Its policies must have one closed class each. What it returns solves the optimality equation, so
    that no policy earns more from any state, whatever classes that policy has.
    """
    states = np.arange(arm.states)
    policy = np.zeros(arm.states, dtype=np.int64)
    size = float(np.abs(rewards).max())
    for _ in range(MOST_STEPS):
        # The bias is 0 in the first state, whose column holds the coefficient of the gain.
        system = np.eye(arm.states) - arm.transitions[policy, states]
        system[:, 0] = 1.0
        right = np.stack([rewards[policy, states], policy == 0], axis=1)
        try:
            solution = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return None
        gain, share = solution[0].tolist()
        solution[0] = 0.0
        bias, largest = solution[:, 0], float(np.abs(solution[:, 0]).max())
        # With several classes, or nearly so, one of the two biases is large or not a number.
        if not (largest <= LARGEST_BIAS * size and np.abs(solution[:, 1]).max() <= LARGEST_BIAS):
            return None
        worth = rewards + arm.transitions @ bias
        excess = worth - (gain + bias)
        if excess.max() <= ROUNDING * (size + largest):
            return gain, share, worth[1] - worth[0]
        policy = np.where(
            excess.max(axis=0) > ROUNDING * (size + largest), excess.argmax(axis=0), policy
        )
    return None


def _minimisers(dual, unit: float, count: int) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Return the interval on which a convex piecewise linear function is least.

    Tangents of both sides are followed to where they meet: a finite number of steps.
    """
    span = unit
    while (low := (-span, *dual(-span)))[2] >= 0:
        span *= 4
    while (high := (span, *dual(span)))[2] <= 0:
        span *= 4
    flat, level = None, EQUAL * count
    for _ in range(10_000):
        # Where the tangents meet, counted from `low`.
        step = (high[1] - low[1] - high[2] * (high[0] - low[0])) / (low[2] - high[2])
        at = low[0] + float(np.clip(step, 0.0, high[0] - low[0]))
        value, slope = dual(at)
        least = low[1] + low[2] * (at - low[0])
        close = EQUAL * (unit + abs(at))
        if abs(slope) <= level:
            flat = (at, value, slope)
            break
        if value <= least + close or not low[0] < at < high[0]:
            return at, at
        low, high = ((at, value, slope), high) if slope < 0 else (low, (at, value, slope))
    else:
        raise NotConverged("the multiplier of the relaxed problem was not found")
    ends = []
    for side in (low, high):
        for _ in range(10_000):
            at = side[0] + (flat[1] - side[1]) / side[2]
            value, slope = dual(at)
            if value <= flat[1] + EQUAL * (unit + abs(at)) or abs(slope) <= level:
                ends.append(at)
                break
            side = (at, value, slope)
        else:
            raise NotConverged("the interval of multipliers was not found")
    return ends[0], ends[1]


def index_scores(arms: Sequence[Arm], discount: float = 1.0) -> list[Floats]:
    """Return the Whittle index of every arm; errors as `whittle_index`.

    Examples
    --------
    >>> stay = [[1.0, 0.0], [0.0, 1.0]]
    >>> arm = Arm([stay, stay], [[0.0, 0.0], [1.0, 2.0]])
    >>> index_scores([arm], discount=0.9)[0].round(6).tolist()
    [1.0, 2.0]
    """
    check_arms(arms)
    return [whittle_index(arm, discount) for arm in arms]


def simulate(
    arms: Sequence[Arm],
    scores: Mapping[str, Sequence[ArrayLike]],
    budget: int,
    *,
    epochs: int,
    paths: int,
    rng: Rng,
    warm_up: int = 0,
    initial_state: Sequence[int] | None = None,
) -> dict[str, Estimate]:
    """Simulate policies that activate the arms of the highest scores, on common random numbers.

    Parameters
    ----------
    arms : sequence of Arm
        N arms.
    scores : mapping of str to sequence of array_like
        For each policy one score for each arm and state; of equal scores the lower arm goes first.
    budget : int
        Arms activated per epoch, at least 1 and less than N.
    epochs, paths : int
        Epochs that count, at least 1, and replications, at least 2.
    rng : numpy.random.Generator or seed
    warm_up : int
        Epochs before those that count.
    initial_state : sequence of int, optional
        State of each arm at first; the first of all by default.

    Returns
    -------
    dict of str to Estimate
        Mean reward per epoch of all arms, with its 95% interval over the paths.

    Raises
    ------
    ValueError
        If an argument is out of its range, or scores do not fit the arms.

    Examples
    --------
    >>> stay, move = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    >>> arms = [Arm([stay, move], [[0.0, 0.0], [worth, 2.0]]) for worth in (0.5, 1.0)]
    >>> policies = {"index": index_scores(arms)}
    >>> found = simulate(arms, policies, 1, epochs=500, paths=20, rng=0)
    >>> round(found["index"].value, 1)
    1.7
    """
    check_arms(arms)
    size = len(arms)
    budget = check_whole("budget", budget, 1, size - 1)
    epochs, paths = check_integer("epochs", epochs, 1), check_integer("paths", paths, 2)
    warm_up, rng = check_integer("warm_up", warm_up, 0), check_rng(rng)
    check_kind("scores", scores, Mapping)
    if not scores:
        raise ValueError("scores must hold at least one policy, got none")
    most = max(arm.states for arm in arms)
    laws, rewards = np.ones((size, 2, most, most)), np.zeros((size, 2, most))
    tables = np.zeros((len(scores), size, most))
    for i, arm in enumerate(arms):
        laws[i, :, : arm.states, : arm.states] = np.cumsum(arm.transitions, axis=2)
        rewards[i, :, : arm.states] = arm.rewards
        # What rounding leaves of a row goes to its last state with mass.
        last = arm.states - 1 - (arm.transitions[:, :, ::-1] > 0).argmax(axis=2)
        laws[i, :, : arm.states][np.arange(most) >= last[:, :, None]] = 1.0
    for table, (name, by_arm) in zip(tables, scores.items(), strict=True):
        if len(by_arm) != size:
            raise ValueError(f"scores of {name} must be {size} arrays, got {len(by_arm)}")
        for i, arm in enumerate(arms):
            values = check_array(f"scores of {name}, arm {i}", by_arm[i])
            if values.shape != (arm.states,):
                raise ValueError(
                    f"scores of {name} must have shape ({arm.states},) for arm {i}, "
                    f"got {values.shape}"
                )
            table[i, : arm.states] = values
    state = np.empty((len(scores), paths, size), dtype=np.int64)
    state[:] = _initial_states(arms, initial_state)
    total, number = np.zeros((len(scores), paths)), np.arange(size)
    policy = np.arange(len(scores))[:, None, None]
    for epoch in range(warm_up + epochs):
        ranked = np.argsort(-tables[policy, number, state], axis=-1, kind="stable")
        action = np.zeros(state.shape, dtype=np.int64)
        np.put_along_axis(action, ranked[:, :, :budget], 1, axis=-1)
        if epoch >= warm_up:
            total += rewards[number, action, state].sum(axis=-1)
        uniform = rng.random((paths, size, 1))
        state = (uniform > laws[number, action, state]).sum(axis=-1)
    return {name: Estimate.of(sums / epochs) for name, sums in zip(scores, total, strict=True)}
