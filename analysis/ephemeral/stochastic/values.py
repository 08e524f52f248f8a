"""Value functions of one source with random content, equations (20) and (21) of the report.

Contents live on a lattice 0, h, 2h, ...; between and above its points a function is continued
linearly, above with slope 1, as every value function is once crawling is best. With `ahead` for
E V(alpha x + U) and V_0 = E V(U), one source with subsidy lambda, discount d and cost C has

    V_d(x) = max( C lambda + d E V_d(alpha x + U),  x + d E V_d(U) ),                        (20)
    W(x)   = max( x, g + E W(alpha x + U) ),   g = C lambda - beta,   beta = E W(U),

the second being (21) with the term after a crawl restored and V = W - beta. For a fixed g < 0 it is
a problem of optimal stopping, W(x) = max over tau of E[X_tau + g tau], so that W increases with g.
The solvers of `analysis.mdp` take (20) and (21); what passes the lattice's end, known by its mean,
goes into the rewards. `index_from_passages` estimates the index without any lattice.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_integer, check_number, check_positive
from analysis.display import brief
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import source_law
from analysis.kernel_cache import njit
from analysis.mdp import policy_iteration, solve_discounted
from analysis.results import AverageSolution, DiscountedSolution, Estimate, NotConverged


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class RandomSource:
    """One source with random content, on a lattice of points.

    Attributes
    ----------
    state : ndarray, shape (points,)
        Contents, from 0.
    alpha, mean, cost : float
        Share left after an epoch, u = E U, and C.
    chain : ndarray, shape (points, points)
        Law of alpha x + U for each content x; the probability of more is that of the last point.
    excess : ndarray, shape (points,)
        Mean of the content above the last point.
    """

    state: Floats
    alpha: float
    mean: float
    cost: float
    chain: Floats
    excess: Floats

    def ahead(self, value: Floats) -> Floats:
        """Return E V(alpha x + U) for each content x; shape (points,). Entry 0 is E V(U)."""
        return self.chain @ value + self.excess


def random_source(
    sources: Sources, arm: int, utility: Utility, *, points: int = 400, reach: float = 8.0
) -> RandomSource:
    """Return source number `arm` on a lattice of at least 20 points.

    The utility has a finite second moment; the lattice ends `reach` standard deviations of a never
    crawled source above u*. ValueError names the argument, its value and the allowed range.
    """
    arm = check_integer("arm", arm, 0, len(sources) - 1)
    points = check_integer("points", points, 20)
    reach = check_positive("reach", reach)
    if not np.isfinite(utility.second_moment):
        raise ValueError(f"utility must have a finite second moment, got {utility!r}")
    alpha, mean = float(sources.alpha[arm]), float(sources.u[arm])
    variance = float(Arrivals(sources, utility).variance[arm])
    end = float(sources.u_star[arm]) + reach * np.sqrt(variance / (1 - alpha**2))
    step = end / (points - 1)
    law = source_law(sources, arm, utility, step, points)
    state = step * np.arange(points)
    beyond = max(0.0, 1.0 - float(law.sum()))  # above the lattice, with this first moment
    moment = max(0.0, mean - float(law @ state))
    chain = np.zeros((points, points))
    excess = beyond * (alpha * state - end) + moment if beyond > 0 else np.zeros(points)
    chain[:, -1] = beyond
    for j in range(points):
        position = alpha * j
        below = int(position)
        for first, weight in ((below, 1 - position + below), (below + 1, position - below)):
            in_lattice = points - first
            chain[j, first:] += weight * law[:in_lattice]
            passed = weight * law[in_lattice:]
            chain[j, -1] += passed.sum()
            excess[j] += step * float(passed @ np.arange(1, first + 1))
    return RandomSource(state, alpha, mean, float(sources.cost[arm]), chain, excess)


def discounted_random_value(
    source: RandomSource, subsidy: float, discount: float
) -> DiscountedSolution:
    """Solve (20): V_d and the best action (1 for a crawl) in each state.

    ValueError if the discount is not in (0, 1), NotConverged if policy iteration does not settle.
    """
    subsidy = check_number("subsidy", subsidy, low_open=True, high_open=True)
    discount = check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    transitions, rewards = _decision_problem(source, subsidy, discount)
    return solve_discounted(transitions, rewards, discount)


def average_random_value(source: RandomSource, subsidy: float) -> AverageSolution:
    """Solve (21) with the term after a crawl restored, E V(U) = 0.

    The solution has beta as `gain`, V as `bias` (it is E V(U) that is zero, not V in a state), and
    the best action (1 for a crawl) in each state. The threshold that belongs to the subsidy must
    lie on the lattice. ValueError if the subsidy is not finite, NotConverged if policy iteration
    does not settle.
    """
    subsidy = check_number("subsidy", subsidy, low_open=True, high_open=True)
    transitions, rewards = _decision_problem(source, subsidy, 1.0)
    crawl_always = np.ones(source.state.size, dtype=np.int64)
    solution = policy_iteration(transitions, rewards, initial=crawl_always)
    return replace(solution, bias=solution.bias - source.ahead(solution.bias)[0])


def stopping_value(source: RandomSource, waiting: float) -> Floats:
    """Return W = max(x, g + E W(alpha x + U)) in each state, by policy iteration.

    `waiting` is g, what an epoch of waiting earns; ValueError if it is not negative, NotConverged
    if policy iteration does not settle.
    """
    waiting = check_number("waiting", waiting, high=0, low_open=True, high_open=True)
    stop = np.ones(source.state.size, dtype=bool)
    for _ in range(100):
        system = np.eye(stop.size) - np.where(stop[:, None], 0.0, source.chain)
        earned = np.where(stop, source.state, waiting + source.excess)
        value = np.asarray(np.linalg.solve(system, earned), np.float64)
        better = source.state >= waiting + source.ahead(value) - 1e-11 * value.max()
        if (better == stop).all():
            return value
        stop = better
    raise NotConverged("policy iteration did not settle in 100 steps")


def discount_to_crawl(source: RandomSource, policy: ArrayLike, factor: float) -> Floats:
    """Return E factor^tau from each state, tau being the epochs until the first crawl.

    The policy is 1 in the states in which the source is crawled; the factor is in [0, 1).
    """
    factor = check_number("factor", factor, 0, 1, high_open=True)
    crawl = np.asarray(policy) == 1
    waiting = np.where(crawl[:, None], 0.0, factor * source.chain)
    fading = np.linalg.solve(np.eye(crawl.size) - waiting, crawl.astype(np.float64))
    return np.asarray(fading, np.float64)


def _decision_problem(
    source: RandomSource, subsidy: float, discount: float
) -> tuple[Floats, Floats]:
    """Return transitions and rewards of waiting (0) and crawling (1).

    What content beyond the lattice's end adds to the value is part of the rewards.
    """
    fresh = np.broadcast_to(source.chain[0], source.chain.shape)
    wait = source.cost * subsidy + discount * source.excess
    crawl = source.state + discount * source.excess[0]
    return np.array([source.chain, fresh]), np.array([wait, crawl])


# The index from first passages


def index_from_passages(
    content: ArrayLike, alpha: float, state: float, cost: float = 1.0
) -> Estimate:
    """Estimate the index with random content from first passages, at a cost of one crawl.

    With a state a as threshold, the content starts from a, and from 0 after a crawl, and evolves
    until the first epoch at which it is at least a:

        g = (a - E_a X) / E_a epochs,   C gamma(a) = E_0 X + g E_0 epochs.

    `content`, shape (epochs,), arrives in each epoch and is divided into 20 batches, each of which
    gives a ratio estimate; `alpha` of it is left after an epoch. State and cost are positive, else
    ValueError; NotConverged if the content hardly ever reaches the state within a batch.
    """
    state = check_positive("state", state)
    cost = check_positive("cost", cost)
    values = []
    for batch in np.array_split(check_array("content", content, 0), 20):
        half = batch.size // 2
        from_state = _passages(batch[:half], alpha, state, state)
        from_empty = _passages(batch[half:], alpha, 0.0, state)
        if min(from_state[0], from_empty[0]) < 20:
            raise NotConverged(f"fewer than 20 passages to state {state:g} in a batch; draw more")
        passages, total, waits = from_state
        waiting = (state * passages - total) / waits
        passages, total, waits = from_empty
        values.append((total + waiting * waits) / passages / cost)
    return Estimate.of(values)


@njit
def _passages(content: Floats, alpha: float, start: float, level: float) -> tuple:
    """Return the passages from `start` to `level` or more, and sums of their content and epochs."""
    passages, total, waits, x, since = 0, 0.0, 0, start, 0
    for arrived in content:
        x = alpha * x + arrived
        since += 1
        if x >= level:
            passages += 1
            total += x
            waits += since
            x, since = start, 0
    return passages, total, waits
