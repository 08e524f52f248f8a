"""Cycles for a few sources, searched where little is lost, with a certificate.

From the joint ages of the cycles of the index policy and of the Lagrangian index policy the search
expands the joint ages that are reached with the least loss against the bound (the loss identity of
`analysis.ephemeral.lagrangian`), by six sets of sources: those of both indices, and those in which
one of the last two of the Lagrangian index is exchanged for one of the first two that wait. Of all
cycles in what was expanded the best is taken (Howard's iteration). It earns no less than either
policy, and the relaxed bound says by how much any policy could earn more.
"""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from analysis.arrays import Ints
from analysis.checks import check_integer, check_kind, check_whole
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.lagrangian import PricedSources, crawl_price
from analysis.ephemeral.optimum.exact import MOST_SOURCES, Optimum
from analysis.ephemeral.policies import LagrangianPolicy, WhittlePolicy
from analysis.ephemeral.simulation import OLDEST, long_run_cycle
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.mdp.cycles import maximum_mean_cycle

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
