"""Monte Carlo for many arms: priority policies side by side on common random numbers.

Every path follows all its policies at once. Arm i at epoch t of path p draws its next state by
inverting its distribution function at the same uniform number under every policy, a counter hashed
from (seed, p, t, i): the policies differ by their decisions only, and a path can be repeated alone
or in another block. Inversion starts from a table of `CELLS` cells per row, so that a draw is one
look-up and, rarely, a step or two. Blocks of paths advance arm by arm, with an arm's tables in
cache. J = (1 - b) sum_t b^t cost_t over a finite horizon; what lies beyond it is bounded in `tail`.
With a price, losses against the relaxed problem take the place of costs: an exact control variate.

Source: the restart slides (2019), slides 5, 18 and 20 (5000 paths of 250 epochs).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import Rng, check_choice, check_integer, check_kind, check_rng
from analysis.display import brief
from analysis.kernel_cache import njit
from analysis.restarts.arm import RestartArm
from analysis.restarts.bandit import (
    RestartBandit,
    Scores,
    check_scores,
    epoch_losses,
    initial_states,
)
from analysis.results import Estimate

#: Cells of the look-up table of each row; a power of two.
CELLS = 256
#: Paths that advance together: enough of them that fetching the tables of an arm is worth while.
BLOCK = 256


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Paths:
    """Simulated normalised discounted cost of each policy on each path.

    Attributes
    ----------
    names : tuple of str
        The policies.
    costs : ndarray, shape (policies, paths)
        (1 - b) sum_t b^t cost_t; with a price, the same in expectation.
    tail : float
        Largest absolute error that the finite horizon can have made in any cost.
    """

    names: tuple[str, ...]
    costs: Floats
    tail: float

    def mean(self, name: str, *, level: float = 0.95) -> Estimate:
        """Return the mean cost of a policy with its confidence interval."""
        return Estimate.of(self._of(name), level)

    def _of(self, name: str) -> Floats:
        return np.asarray(self.costs[self.names.index(check_choice("name", name, self.names))])

    def saving(self, name: str, other: str, *, level: float = 0.95) -> Estimate:
        """Return by how many percent `name` is cheaper than `other`, with an interval.

        The ratio of means over paired paths, 100 (J(other) - J(name)) / J(other), which is the
        slides' eps_myp for the index policy against the myopic one; its interval is by the delta
        method.
        """
        costs, other_costs = self._of(name), self._of(other)
        ratio = costs.mean() / other_costs.mean()
        around = Estimate.of((costs - ratio * other_costs) / other_costs.mean(), level)
        saved, half = 100 * (1 - ratio), 100 * around.half_width
        return Estimate(saved, saved - half, saved + half, around.replications)


def simulate(
    bandit: RestartBandit,
    policies: Mapping[str, Scores],
    *,
    paths: int,
    epochs: int,
    rng: Rng,
    initial_state: Sequence[int] | None = None,
    price: float | None = None,
    threads: int = 1,
) -> Paths:
    """Simulate priority policies on common random numbers.

    Parameters
    ----------
    bandit : RestartBandit
        Arms with at most 255 states each.
    policies : mapping of str to list of ndarray
        Scores of each policy; the highest are activated, ties go to the lower arm.
    paths, epochs : int
        Replications (at least 2) and epochs of each (at least 1).
    rng : numpy.random.Generator or seed
        Only seeds the counters, with one draw.
    initial_state : sequence of int, optional
        Initial state of each arm; the first of all if not given.
    price : float, optional
        Add up what actions lose at this price of an active epoch (`bandit.epoch_losses`), not
        what they cost: the same mean and a smaller variance, at the price of the relaxed bound.
    threads : int
        Threads to run on; the result does not depend on it.

    Returns
    -------
    Paths

    Raises
    ------
    ValueError
        If a number is out of its range or a policy's scores do not fit the arms.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = [slide_arm(one_step(4, stay)) for stay in (0.2, 0.5, 0.8)]
    >>> bandit = RestartBandit(tuple(arms), budget=1, discount=0.9)
    >>> rng = np.random.default_rng(0)
    >>> from analysis.restarts import index_scores
    >>> policies = {"index": index_scores(bandit)}
    >>> found = simulate(bandit, policies, paths=1000, epochs=100, rng=rng)
    >>> round(found.mean("index").value, 1)
    4.7
    """
    check_kind("bandit", bandit, RestartBandit)
    paths = check_integer("paths", paths, 2)
    epochs = check_integer("epochs", epochs, 1)
    threads = check_integer("threads", threads, 1)
    rng = check_rng(rng)
    check_kind("policies", policies, Mapping)
    if not policies:
        raise ValueError("policies must hold at least one policy, got none")
    states = max(bandit.shape)
    if states > 255:
        raise ValueError(f"arms must have at most 255 states to be simulated, got {states}")
    guide, cut = _draw_tables(bandit.arms, states)
    ordered = [_ranks(_padded(check_scores(bandit, table), states)) for table in policies.values()]
    ranks, arm_of = (np.stack(tables) for tables in zip(*ordered, strict=True))
    passive, active, constant = _epoch_costs(bandit, price, initial_state)
    extra = [late - soon for soon, late in zip(passive, active, strict=True)]
    problem = (
        guide, cut, ranks, arm_of, _padded(passive, states), _padded(extra, states),
        initial_states(bandit, initial_state), bandit.budget, bandit.discount, epochs,
        rng.integers(2**64, dtype=np.uint64),
    )  # fmt: skip
    costs = np.empty((len(policies), paths))

    def advance(first: int) -> None:
        with np.errstate(over="ignore"):  # counters wrap around, which NumPy warns of
            _run_block(*problem, first, costs[:, first : first + BLOCK])

    blocks = range(0, paths, BLOCK)
    if sys.platform == "emscripten":  # a browser's Python starts no thread
        for first in blocks:
            advance(first)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(advance, blocks))
    largest = sum(float(np.abs(pair).max()) for pair in zip(passive, active, strict=True))
    return Paths(tuple(policies), constant + costs, bandit.discount**epochs * largest)


def _epoch_costs(
    bandit: RestartBandit, price: float | None, initial_state: Sequence[int] | None
) -> tuple[Scores, Scores, float]:
    """Return what a passive and an active epoch add, and what the sum begins from."""
    if price is not None:
        return epoch_losses(bandit, price, initial_state)
    passive = [arm.passive_cost for arm in bandit.arms]
    return passive, [arm.active_cost for arm in bandit.arms], 0.0


def _padded(tables: Sequence[Floats], states: int) -> Floats:
    padded = np.zeros((len(tables), states))
    for row, table in zip(padded, tables, strict=True):
        row[: len(table)] = table
    return padded


def _ranks(scores: Floats) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a rank for each arm and state, all different, and the arm of each rank.

    The higher of two ranks is activated; of equal scores the lower arm has the higher rank.
    """
    arm = np.repeat(np.arange(len(scores), dtype=np.int32), scores.shape[1])
    order = np.lexsort((-arm, scores.ravel()))
    ranks = np.empty(scores.size, dtype=np.int32)
    ranks[order] = np.arange(scores.size, dtype=np.int32)
    return ranks.reshape(scores.shape), arm[order]


def _draw_tables(
    arms: Sequence[RestartArm], states: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Return the guide (arms, rows, CELLS) and the cuts (arms, rows, states) for inversion.

    Row x is P(x, .); the last row, which an active arm draws from, is Q. A 64-bit uniform u falls
    in state y if cut[y - 1] < u <= cut[y]; guide[cell] is the state of the cell's least u.
    """
    rows = np.zeros((len(arms), states + 1, states))
    for law, arm in zip(rows, arms, strict=True):
        law[: arm.states, : arm.states] = arm.passive
        law[states, : arm.states] = arm.reset
    distribution = np.cumsum(rows, axis=-1)
    last = ((rows > 0) * np.arange(states)).max(axis=-1, keepdims=True)
    # The largest state with mass takes what rounding leaves over, so that none is drawn beyond it.
    full = np.arange(states) >= last
    scaled = np.minimum(distribution, 1.0) * 2.0**64
    cut = np.where(full, np.uint64(2**64 - 1), np.minimum(scaled, 2.0**64 - 2048).astype(np.uint64))
    least = np.arange(CELLS, dtype=np.uint64) << np.uint64(56)
    guide = [np.searchsorted(row, least) for row in cut.reshape(-1, states)]
    return np.array(guide, dtype=np.uint8).reshape(len(arms), states + 1, CELLS), cut


@njit(inline="always")
def _hash(z):  # type: ignore[no-untyped-def]
    """Return the finaliser of SplitMix64, a bijection that scatters counters."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True)
def _run_block(  # type: ignore[no-untyped-def]
    guide, cut, ranks, arm_of, passive_cost, extra_cost, initial, budget, discount, epochs,
    seed, first, costs,
):  # fmt: skip
    policies, arms, states = ranks.shape
    count = costs.shape[1]
    # `row` is the row to draw from next: the state, or `states` where the arm was activated.
    row = np.empty((policies, arms, count), dtype=np.uint8)
    best = np.empty((policies, budget, count), dtype=np.int32)
    rank = np.empty(count, dtype=np.int32)
    uniform = np.empty(count, dtype=np.uint64)
    epoch_cost = np.empty((policies, count))
    for q in range(policies):
        for i in range(arms):
            row[q, i, :] = initial[i]
    costs[:] = 0.0
    weight = 1.0 - discount
    for t in range(epochs):
        best[:] = -1
        epoch_cost[:] = 0.0
        for i in range(arms):
            if t > 0:
                for p in range(count):
                    counter = np.uint64(((first + p) * epochs + t) * arms + i)
                    uniform[p] = _hash(seed + counter * np.uint64(0x9E3779B97F4A7C15))
            for q in range(policies):
                if t > 0:
                    _draw(guide[i], cut[i], uniform, row[q, i])
                for p in range(count):
                    y = row[q, i, p]
                    epoch_cost[q, p] += passive_cost[i, y]
                    rank[p] = ranks[q, i, y]
                # One round of insertion into the sorted best, without branches.
                for k in range(budget):
                    for p in range(count):
                        previous = best[q, k, p]
                        best[q, k, p] = max(previous, rank[p])
                        rank[p] = min(previous, rank[p])
        for q in range(policies):
            for k in range(budget):
                for p in range(count):
                    i = arm_of[q, best[q, k, p]]
                    epoch_cost[q, p] += extra_cost[i, row[q, i, p]]
                    row[q, i, p] = states
            for p in range(count):
                costs[q, p] += weight * epoch_cost[q, p]
        weight *= discount


@njit(inline="always")
def _draw(guide, cut, uniform, row):  # type: ignore[no-untyped-def]
    for p in range(row.shape[0]):
        x = row[p]
        u = uniform[p]
        y = guide[x, u >> np.uint64(56)]
        while u > cut[x, y]:
            y += np.uint8(1)
        row[p] = y
