"""The exact optimum, by dynamic programming on the ages of all sources together.

Once every source has been crawled, its content is a function of its age k, the epochs since the
last crawl: X_i(k) = u*_i (1 - alpha_i^k), with the steps D_i(k) = X_i(k+1) - X_i(k). The joint
problem is then deterministic with integer states, and its optimum is the largest mean reward of a
cycle. Crawling one more source when the budget allows never hurts (its content now is worth more
than what would be left of it later), so only sets of sources to which nothing can be added are
tried, and the set crawled last is age 1: a state is that set and the ages of the others.

Ages are cut off at K_i, in one of two ways, neither of which takes reward from any policy:

    waiting   an epoch of waiting at K_i brings D_i(K_i) at once, a crawl X_i(K_i); X_i is concave,
              so that X_i(K_i + m) <= X_i(K_i) + m D_i(K_i);
    content   a crawl at K_i brings u*_i, the limit of X_i.

So the best cycle of the cut-off problem bounds every policy. If it never waits at a K_i of the
first kind and never crawls at a K_i of the second, then it earns as much in the true problem: it is
optimal, and no age above K_i is needed. Otherwise those K_i grow at which it did.

Where to begin: let lambda be the subsidy of the relaxed problem, B its bound, L what a known policy
earns, and c_i = max(0, max_k (X_i(k) - lambda C_i) / k). A gap of k epochs falls short of its part
c_i of the bound by c_i k + lambda C_i - X_i(k) >= 0, which grows from age K on by at least
c_i - D_i(K) an epoch. What a policy earns is B less all that is fallen short of, so under an
optimal one

    the share of epochs at which source i is left at an age of K or more
        is at most  (B - L) / (c_i - D_i(K))   if D_i(K) < c_i,

which is below 1 from the first K on at which D_i(K) < c_i - (B - L): there the search begins.

*Cycles for a few sources, searched where little is lost, with a certificate.* From the joint ages
of the cycles of the index policy and of the Lagrangian index policy the search expands the joint
ages that are reached with the least loss against the bound (the loss identity of
`analysis.ephemeral.lagrangian`), by six sets of sources: those of both indices, and those in which
one of the last two of the Lagrangian index is exchanged for one of the first two that wait. Of all
cycles in what was expanded the best is taken (Howard's iteration). It earns no less than either
policy, and the relaxed bound says by how much any policy could earn more.

Reference: report 8702, (2) to (5), for which it calls dynamic programming intractable.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import combinations, count

import numpy as np

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import check_integer, check_kind, check_number, check_whole
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.lagrangian import PricedSources, crawl_price
from analysis.ephemeral.optimum.static import schedule_reward
from analysis.ephemeral.policies import LagrangianPolicy, WhittlePolicy
from analysis.ephemeral.relaxed import RelaxedSolution, relaxed_problem
from analysis.ephemeral.simulation import OLDEST, long_run_cycle
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget, check_unit_costs
from analysis.mdp.cycles import maximum_mean_cycle
from analysis.results import NotConverged

Crawls = tuple[tuple[int, ...], ...]

MOST_SOURCES = 12
_EPOCHS = 5_000  # in which the index policy must come into its cycle to be of use


@brief
@read_only_arrays
@dataclass(frozen=True)
class Optimum:
    """The best long-run average reward, bracketed.

    Attributes
    ----------
    average_reward : float
        Reward per epoch of the best cycle found, a policy that can be played.
    upper : float
        No policy earns more.
    crawls : tuple of tuple of int
        Sources crawled at each epoch of that cycle, numbered from 0.
    last_age : ndarray of int, shape (N,)
        Where ages were cut off: `crawls` has each source crawled at these ages or before, or
        never. 0 if `states` is 0, as no ages were cut off.
    states : int
        Joint ages of the last problem that was solved; 0 if the index policy earns the relaxed
        bound, so that none had to be.
    """

    average_reward: float
    upper: float
    crawls: Crawls
    last_age: Ints
    states: int

    @property
    def gap(self) -> float:
        """Difference of the two bounds: 0 up to rounding, or within the tolerance."""
        return self.upper - self.average_reward


def feasible_sets(sources: Sources, budget: float) -> list[tuple[int, ...]]:
    """Return the sets of sources that fit in the budget and to which no other source can be added.

    ValueError if there are more than 12 sources, or the budget (cost per epoch) is out of range.
    """
    check_kind("sources", sources, Sources)
    if len(sources) > MOST_SOURCES:
        raise ValueError(
            f"sources must be at most {MOST_SOURCES} for an exact optimum, got {len(sources)}"
        )
    budget = check_budget(sources, budget)
    cheapest = float(sources.cost.min())
    if budget < cheapest * (1.0 - ROUNDING):
        raise ValueError(f"budget must be at least the smallest cost, {cheapest:g}, got {budget:g}")
    room = budget * (1.0 + ROUNDING)
    everything = range(len(sources))
    fitting = [
        set(members)
        for size in range(1, len(sources) + 1)
        for members in combinations(everything, size)
        if sources.cost[list(members)].sum() <= room
    ]
    return [
        tuple(sorted(members))
        for members in fitting
        if not any(members < larger for larger in fitting)
    ]


def optimal_cycle(
    sources: Sources,
    budget: float,
    *,
    tolerance: float = 1e-9,
    max_states: int = 1_000_000,
) -> Optimum:
    """Find the best cycle of crawls for a few sources.

    Parameters
    ----------
    sources : Sources
        N sources, at most 12.
    budget : float
        Cost that may be spent in one epoch (with costs of 1, the number of sources crawled).
    tolerance : float
        Largest relative distance of the two bounds; most often they agree up to rounding.
    max_states : int
        Largest number of joint ages.

    Returns
    -------
    Optimum

    Raises
    ------
    ValueError
        If there are too many sources, or the budget is out of range.
    NotConverged
        If the bounds still differ when the number of joint ages reaches its limit.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(optimal_cycle(four_sources(), 1).average_reward, 2)
    260.39
    """
    sets = feasible_sets(sources, budget)
    tolerance = check_number("tolerance", tolerance, 0, 1, low_open=True, high_open=True)
    most = check_number("max_states", max_states, 1)
    relaxed = relaxed_problem(sources, budget)
    upper = relaxed.bound
    reached, crawls = _index_cycle(sources, budget)
    if upper - reached <= tolerance * upper:
        none = np.zeros(len(sources), dtype=np.int64)
        return Optimum(reached, max(upper, reached), crawls, none, 0)
    oldest = np.maximum(2.0, np.ceil(-np.log(tolerance / 100) / sources.decay))
    cut = _first_cut_off(sources, relaxed, upper - reached, oldest)
    member = np.zeros((len(sets), len(sources)), dtype=bool)
    for row, arms in zip(member, sets, strict=True):
        row[list(arms)] = True
    while True:
        states = _count_states(member, cut.age)
        if states > most:
            raise NotConverged(
                f"the optimum to a relative {tolerance:g} needs {states:.2g} joint ages (it lies "
                f"in [{reached:.9g}, {upper:.9g}]); raise max_states = {max_states} or the "
                "tolerance, or take `relaxed_bound`"
            )
        gain, actions, ages = _solve(sources, member, cut)
        earned = schedule_reward(sources, member[actions].T)
        upper = min(upper, gain)
        if earned > reached:
            reached, crawls = earned, tuple(sets[action] for action in actions)
        if upper - reached <= tolerance * upper:
            return Optimum(reached, max(upper, reached), crawls, cut.age, states)
        grown = cut.grow(member[actions], ages, oldest)
        if grown is None:
            raise NotConverged(
                f"the optimum lies in [{reached:.9g}, {upper:.9g}], and rounding keeps it from a "
                f"relative tolerance of {tolerance:g}"
            )
        cut = grown


def optimal_average_reward(sources: Sources, budget: float) -> float:
    """Return the best long-run average reward, exact for a few sources.

    See `optimal_cycle` for the parameters and errors. The budget is a cost, not a number of
    sources: what no source fits into is not spent, and 1.5 earns what 1 does if each crawl costs 1.

    Returns
    -------
    float
        Reward per epoch.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(optimal_average_reward(four_sources(), 1), 2)
    260.39
    """
    return optimal_cycle(sources, budget).average_reward


@dataclass(frozen=True)
class _CutOff:
    """The last age, at least 2, of each source in a problem with finitely many ages.

    `waiting`, shape (N,), is whether waiting at the last `age` of a source brings its reward
    at once; if not, a crawl at that age brings u*.
    """

    age: Ints
    waiting: Bools

    def grow(self, crawled: Bools, ages: Ints, oldest: Floats) -> _CutOff | None:
        """Return later last ages for the sources whose last age a cycle reached; None if none did.

        `crawled` and `ages` have shape (period, N): which sources the cycle crawls, and all ages
        before that. At the ages `oldest`, shape (N,), the content is u* within the tolerance.
        """
        last = ages == self.age
        used = np.where(self.waiting, (last & ~crawled).any(axis=0), (last & crawled).any(axis=0))
        never = ~crawled.any(axis=0)
        later = np.minimum(np.ceil(1.5 * self.age) + 2, oldest).astype(np.int64)
        moved = used & ((later > self.age) | (self.waiting & never))
        if not moved.any():
            return None
        # A source that is left alone for ever must not be paid for it.
        return _CutOff(np.where(moved, later, self.age), self.waiting & ~(used & never))


def _index_cycle(sources: Sources, budget: float) -> tuple[float, Crawls]:
    """Return reward and crawls of the index policy; 0 and no crawls where costs are unequal."""
    if (sources.cost != sources.cost[0]).any():
        return 0.0, ((),)
    places = min(len(sources), int(budget * (1.0 + ROUNDING) / float(sources.cost[0])))
    try:
        cycle = long_run_cycle(sources, "whittle", places, max_epochs=_EPOCHS)
    except NotConverged:
        return 0.0, ((),)
    return cycle.average_reward, cycle.crawls


def _first_cut_off(
    sources: Sources, relaxed: RelaxedSolution, missing: float, oldest: Floats
) -> _CutOff:
    """Return the first ages at which an epoch of waiting loses more than is missing to the bound.

    A source whose part c_i of the bound is no more than what is missing has none; its last age is
    then a few epochs after its due age.
    """
    due = np.where(np.isfinite(relaxed.age), relaxed.age, 1.0)
    surplus = sources.state_at_age(due) - relaxed.subsidy * sources.cost
    share = np.maximum(0.0, surplus / due)  # c_i
    waiting = share > missing
    with np.errstate(divide="ignore", invalid="ignore"):
        age = np.floor(np.log(sources.u / (share - missing)) / sources.decay) + 1.0
    age = np.where(waiting, np.maximum(np.nan_to_num(age), due) + 2.0, due + 10.0)
    return _CutOff(np.clip(age, 2.0, oldest).astype(np.int64), waiting)


def _count_states(member: Bools, last_age: Ints) -> int:
    """Count the sets that were crawled last with all ages of the other sources, 2 and more."""
    return sum(int(np.prod([int(k) - 1 for k in last_age[~row]], dtype=object)) for row in member)


def _solve(sources: Sources, member: Bools, cut: _CutOff) -> tuple[float, Ints, Ints]:
    """Return the value of the problem with last ages, and the sets and ages of its best cycle.

    The value bounds every policy: it is the largest r + h(next) - h over all steps, with the bias h
    that was found. `actions` has shape (period,), `ages` before each crawl (period, N).
    """
    all_ages = np.arange(1, int(cut.age.max()) + 1)[:, None]
    content = sources.state_at_age(np.minimum(all_ages, cut.age))
    rising = sources.u * np.exp(-sources.decay * cut.age)
    content = np.where((all_ages >= cut.age) & ~cut.waiting, sources.u_star, content)
    rank = whittle_index_at_age(sources, np.minimum(all_ages, cut.age)) * sources.cost
    ages, successors, rewards, policy = _joint_ages(
        member, cut.age, content, np.where(cut.waiting, rising, 0.0), rank
    )
    solution, cycle = maximum_mean_cycle(successors, rewards, initial_policy=policy)
    upper = float((rewards + solution.bias[successors] - solution.bias).max())
    return max(upper, solution.gain), solution.policy[cycle], ages[cycle]


def _joint_ages(
    member: Bools, last_age: Ints, content: Floats, rising: Floats, rank: Floats
) -> tuple[Ints, Ints, Floats, Ints]:
    """Return the S states, next states and rewards of every set, and a first policy.

    They have shapes (S, N), (sets, S), (sets, S) and (S,). `member`, shape (sets, N), has the
    sources of each set. Ages do not grow beyond `last_age`, shape (N,), where an epoch of waiting
    earns `rising`. `content`, shape (ages, N), is the reward of a crawl at ages 1, 2, ...; the
    first policy takes the set with the largest sum of `rank`, of the same shape.
    """
    sets, size = member.shape
    # Number of a state: that of its first one with the same set, and its ages as digits.
    digits = np.where(member, 1, last_age - 1)
    stride = np.where(member, 0, np.cumprod(digits, axis=1) // digits)
    first = np.concatenate([[0], np.cumsum(np.prod(digits, axis=1))])
    states = int(first[-1])
    ages = np.ones((states, size), dtype=np.int64)
    for last in range(sets):
        number = np.arange(first[last + 1] - first[last])
        for i in np.flatnonzero(~member[last]):
            ages[first[last] : first[last + 1], i] = 2 + number // stride[last, i] % digits[last, i]
    every = np.arange(size)
    crawled, ranked = content[ages - 1, every].T, rank[ages - 1, every].T
    waited = np.where(ages == last_age, rising, 0.0).T
    digit = np.minimum(ages + 1, last_age).T - 2
    successors = np.empty((sets, states), dtype=np.int64)
    rewards = np.zeros((sets, states))
    policy, best = np.zeros(states, dtype=np.int64), np.full(states, -np.inf)
    for action in range(sets):
        total = np.zeros(states)
        successors[action] = first[action] + stride[action] @ digit
        for i in every:
            rewards[action] += crawled[i] if member[action, i] else waited[i]
            if member[action, i]:
                total += ranked[i]
        better = total > best
        policy[better], best[better] = action, total[better]
    return ages, successors, rewards, policy


# Cycles for a few sources, searched where little is lost, with a certificate

Ages = tuple[int, ...]
Arms = tuple[int, ...]


def guided_cycle(sources: Sources, budget: int, *, max_states: int = 3000) -> Optimum:
    """Search for a cycle of crawls that earns at least what both index policies do.

    Parameters
    ----------
    sources : Sources
        N sources with costs of 1, at most 12.
    budget : int or whole float
        Sources crawled at each epoch, from 1 to N.
    max_states : int
        Joint ages that are expanded, besides those of the two policies' cycles.

    Returns
    -------
    Optimum
        The cycle, and the relaxed bound as `upper`; `last_age` has the largest ages at a crawl.

    Raises
    ------
    ValueError
        If there are too many sources, costs differ, or an argument is out of range.
    NotConverged
        If a policy comes into no cycle.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> found = guided_cycle(four_sources(), 2)
    >>> round(found.average_reward, 2), round(found.upper, 2)
    (337.77, 338.05)
    """
    check_kind("sources", sources, Sources)
    check_unit_costs(sources)
    if len(sources) > MOST_SOURCES:
        raise ValueError(f"sources must be at most {MOST_SOURCES}, got {len(sources)}")
    budget = check_whole("budget", budget, 1, len(sources))
    max_states = check_integer("max_states", max_states, 0)
    priced = PricedSources(sources, crawl_price(sources, budget))
    oldest = np.clip(sources.settled_age, 2, OLDEST).astype(np.int64)
    cycles = [
        long_run_cycle(sources, policy, budget)
        for policy in (WhittlePolicy(sources), LagrangianPolicy(sources))
    ]
    best = max(cycles, key=lambda cycle: cycle.average_reward)
    bound = max(priced.bound(budget), best.average_reward)
    starts = [ages for cycle in cycles for ages in _ages_of(cycle.crawls, oldest)]
    steps = _expand(priced, budget, oldest, starts, max_states)
    reward, crawls = best.average_reward, best.crawls
    for start in (starts[0], starts[-1]):
        improved = _best_cycle(sources, steps, start)
        if improved[0] > reward * (1.0 + 1e-12):
            reward, crawls = improved
    used = np.zeros(len(sources), dtype=np.int64)
    for ages, arms in zip(_ages_of(crawls, oldest), crawls, strict=True):
        for i in arms:
            used[i] = max(used[i], ages[i])
    return Optimum(reward, max(bound, reward), crawls, used, len(steps))


def _ages_of(crawls: tuple[Arms, ...], oldest: Ints) -> list[Ages]:
    """Return the joint ages before each epoch of a cycle."""
    age = oldest.copy()
    joint_ages: list[Ages] = []
    for _ in range(2):  # the first round finds the ages at which the second begins
        joint_ages = []
        for arms in crawls:
            joint_ages.append(tuple(age.tolist()))
            age = np.minimum(age + 1, oldest)
            age[list(arms)] = 1
    return joint_ages


def _expand(
    priced: PricedSources, budget: int, oldest: Ints, starts: list[Ages], most: int
) -> dict[Ages, list[tuple[Arms, Ages]]]:
    """Return the sets tried at the joint ages that were expanded, and where each leads."""
    steps: dict[Ages, list[tuple[Arms, Ages]]] = {}
    order = count()  # ties to what was found first
    queue = [(0.0, next(order), ages) for ages in starts]
    most += len(set(starts))
    while queue and len(steps) < most:
        lost, _, ages = heapq.heappop(queue)
        if ages in steps:
            continue
        age = np.array(ages)
        index = priced.index(age)
        steps[ages] = []
        for arms in _sets(priced.sources, index, age, budget):
            after = np.minimum(age + 1, oldest)
            after[list(arms)] = 1
            leads = tuple(after.tolist())
            steps[ages].append((arms, leads))
            if leads not in steps:
                crawled = index[list(arms)].sum()
                heapq.heappush(
                    queue, (lost + np.maximum(index, 0.0).sum() - crawled, next(order), leads)
                )
    return steps


def _sets(sources: Sources, index: np.ndarray, age: Ints, budget: int) -> list[Arms]:
    """Return the sets of both indices, and exchanges of the last crawled for the first waiting."""
    order = np.argsort(-index, kind="stable").tolist()
    whittle = np.argsort(-whittle_index_at_age(sources, age), kind="stable")[:budget]
    sets = {tuple(sorted(order[:budget])), tuple(sorted(whittle.tolist()))}
    for out in order[max(budget - 2, 0) : budget]:
        for into in order[budget : budget + 2]:
            sets.add(tuple(sorted({*order[:budget], into} - {out})))
    return sorted(sets)


def _best_cycle(
    sources: Sources, steps: dict[Ages, list[tuple[Arms, Ages]]], start: Ages
) -> tuple[float, tuple[Arms, ...]]:
    """Return reward and crawls of the best cycle that a joint age reaches in what was expanded."""
    live = dict(steps)
    while True:  # drop what leads nowhere
        continuing = {a: [s for s in tried if s[1] in live] for a, tried in live.items()}
        continuing = {a: tried for a, tried in continuing.items() if tried}
        if len(continuing) == len(live):
            break
        live = continuing
    live = continuing
    number = {ages: i for i, ages in enumerate(live)}
    actions = max(len(tried) for tried in live.values())
    successors = np.zeros((actions, len(live)), dtype=np.int64)
    rewards = np.full((actions, len(live)), -np.inf)
    for ages, tried in live.items():
        content = sources.state_at_age(np.array(ages))
        for a, (arms, leads) in enumerate(tried):
            successors[a, number[ages]] = number[leads]
            rewards[a, number[ages]] = content[list(arms)].sum()
    solution, cycle = maximum_mean_cycle(successors, rewards, initial_state=number[start])
    names = list(live)
    crawls = tuple(live[names[state]][solution.policy[state]][0] for state in cycle)
    return solution.gain, crawls
