"""Compiled scalar forms of the index, and the loop that plays a priority rule.

The formulas are those of `analysis.ephemeral.index`, one source at a time, so that the loops over
epochs and sources run at machine speed. `Rule` numbers the priorities that the loop knows:

    whittle      Theorem 1 in stable form, x/C above u*; by age where the content is not observed
    theorem      Theorem 1 to the letter, whose log^+ makes the index 0 for x >= u*
    remark       the short form of the Remark, used off the orbit where it does not hold
    myopic       content now per cost (by age where not observed)
    greedy       expected content at the age
    round-robin  turns taken in the order of the numbers, whatever the content
    table        an index given on a grid of states, continued with slope 1/C
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from analysis.arrays import Bools, Floats, Ints
from analysis.ephemeral.index import INVERSE, series_of_h
from analysis.kernel_cache import njit


class Rule(IntEnum):
    """Priorities that `play` knows; the module describes them."""

    WHITTLE = 0
    THEOREM = 1
    REMARK = 2
    MYOPIC = 3
    GREEDY = 4
    ROUND_ROBIN = 5
    TABLE = 6


class Arms(NamedTuple):
    """What the loop knows of N sources; shapes (N,), of a table's values (N, states)."""

    decay: Floats
    u_star: Floats
    cost: Floats
    lifetime: Floats  # periods after which content is worthless
    observed: Bools  # whether the policy sees the content
    table: Floats  # values of an index on a grid of states, of the rule TABLE
    step: Floats  # between two states of that grid


_series_of_h = njit(series_of_h)


@njit
def one_minus_short_exp(z: float) -> float:
    """1 - (1 + z) exp(-z) for z >= 0, to full relative accuracy."""
    if z > 0.5:
        return 1.0 - (1.0 + z) * np.exp(-z)
    series = 1.0
    for term in range(16, 2, -1):
        series = 1.0 + z * INVERSE[term] * series
    return 0.5 * z * z * series * np.exp(-z)


@njit
def h(y: float) -> float:
    """exp(-y) - 1 + y for y >= 0, to full relative accuracy."""
    if y > 0.5:
        return np.expm1(-y) + y
    return _series_of_h(y)


@njit
def relative_index_at_age(decay: float, h_decay: float, age: float) -> float:
    """Whittle index at an age, in units of u*/C; `h_decay` is h(decay)."""
    z = decay * age
    return one_minus_short_exp(z) + age * np.exp(-z) * h_decay


@njit
def relative_index(decay: float, h_decay: float, share: float) -> float:
    """Whittle index in state x = share u*, in units of u*/C; `h_decay` is h(decay)."""
    if share >= 1.0:
        return share
    fade = decay - h_decay if decay < 1.0 else 1.0 - np.exp(-decay)
    if share <= fade:  # eta = 1
        return fade * share
    eta = np.ceil(-np.log1p(-share) / decay)
    z = decay * eta
    if z < 1.0:
        return eta * (fade * share + h_decay) - h(z)
    return 1.0 - np.exp(-z) - eta * fade * (1.0 - share)


@njit
def printed_relative_index(decay: float, share: float, short: bool) -> float:
    """Theorem 1 (or, if `short`, the Remark) as printed, in units of u*/C."""
    alpha = np.exp(-decay)
    eta = np.ceil(np.log(1.0 - share) / -decay) if share < 1.0 else 0.0
    first = eta * (1.0 - alpha) * (share - 1.0)
    return first + share if short else first + 1.0 - alpha**eta


@njit
def tabulated_index(row: Floats, step: float, cost: float, state: float) -> float:
    """Index in a state, from its values at multiples of `step`; slope 1/C beyond the last."""
    position = state / step
    last = row.size - 1
    if position >= last:
        return row[last] + (state - last * step) / cost
    below = int(position)
    weight = position - below
    return (1.0 - weight) * row[below] + weight * row[below + 1]


@njit
def _priority(rule: int, i: int, state: float, age: int, h_decay: float, arms: Arms) -> float:
    """Priority of source i under a rule; `h_decay` is h of its decay rate."""
    decay, u_star, cost = arms.decay[i], arms.u_star[i], arms.cost[i]
    observed = arms.observed[i]
    if rule == Rule.GREEDY or (rule == Rule.MYOPIC and not observed):
        return -np.expm1(-decay * age) * u_star / (1.0 if rule == Rule.GREEDY else cost)
    if rule == Rule.MYOPIC:
        return state / cost
    if not observed:
        return relative_index_at_age(decay, h_decay, float(age)) * u_star / cost
    if rule == Rule.TABLE:
        return tabulated_index(arms.table[i], arms.step[i], cost, state)
    share = state / u_star if u_star > 0.0 else 0.0
    if rule == Rule.WHITTLE:
        return relative_index(decay, h_decay, share) * u_star / cost
    if rule == Rule.THEOREM or rule == Rule.REMARK:
        return printed_relative_index(decay, share, rule == Rule.REMARK) * u_star / cost
    raise ValueError("rule must be one of those of Rule that rank sources")


@njit
def next_in_turn(age: Ints, crawls: int) -> int:
    """Return the next source of round robin: the first older one after one of least age.

    If all ages are equal it is `crawls` modulo N, the next after so many crawls in turn.
    """
    youngest = age[0]
    for i in range(age.size):
        if age[i] < youngest:
            youngest = age[i]
    for i in range(age.size):
        if age[i] > youngest and age[i - 1] == youngest:
            return i
    return crawls % age.size


@njit
def kth_largest(values: Floats, k: int, work: Floats) -> float:
    """Return the k-th largest value, k >= 1, by quickselect; `work` is overwritten."""
    for i in range(values.size):
        work[i] = values[i]
    low, high, target = 0, values.size - 1, k - 1
    while low < high:
        pivot = work[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while work[i] > pivot:
                i += 1
            while work[j] < pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            break
    return work[target]


@njit
def mark_top(values: Floats, count: int, work: Floats, chosen: Bools) -> None:
    """Mark the `count` largest values, ties to the smaller position."""
    for i in range(values.size):
        chosen[i] = False
    if count <= 8:  # a few passes beat a selection
        for _ in range(count):
            best = -1
            for i in range(values.size):
                if not chosen[i] and (best < 0 or values[i] > values[best]):
                    best = i
            chosen[best] = True
        return
    limit = kth_largest(values, count, work)
    remaining = count
    for i in range(values.size):
        if values[i] > limit:
            chosen[i] = True
            remaining -= 1
    for i in range(values.size):
        if remaining == 0:
            return
        if values[i] == limit:
            chosen[i] = True
            remaining -= 1


@njit
def receive(alpha: Floats, content: Floats, state: Floats) -> None:
    """Let content fade over one epoch and add what arrives, in place."""
    for i in range(state.size):
        state[i] = alpha[i] * state[i] + content[i]


@njit
def pass_epoch(alpha: Floats, content: Floats, state: Floats, age: Ints) -> None:
    """Let one epoch pass, in place: `receive`, and ages grow by one."""
    receive(alpha, content, state)
    for i in range(age.size):
        age[i] += 1


@njit
def advance(
    epoch: int,
    chosen: Bools,
    content: Floats,
    start: Floats,
    lifetime: Floats,
    alpha: Floats,
    state: Floats,
    age: Ints,
    last_crawl: Ints,
) -> float:
    """Crawl the chosen sources and move all to the next epoch, in place; return the reward.

    This is (19) of the report, with content dropped that will be more than M_i periods old.
    `content`, shape (horizon, N), is what the epochs bring, and `start` the content at epoch 0,
    which counts as one period old. `last_crawl` is an epoch, or -1 before the first crawl.
    """
    earned = 0.0
    for i in range(state.size):
        if chosen[i]:
            earned += state[i]
            state[i] = 0.0
            age[i] = 0
            last_crawl[i] = epoch
        if epoch - lifetime[i] >= last_crawl[i]:
            column = epoch - int(lifetime[i])
            arrived = content[column, i] if column >= 0 else start[i]
            state[i] = max(0.0, state[i] - alpha[i] ** (lifetime[i] - 1.0) * arrived)
    pass_epoch(alpha, content[epoch], state, age)
    return earned


@njit
def play(
    rule: int,
    arms: Arms,
    content: Floats,
    start: Floats,
    age: Ints,
    budget: int,
    rewards: Floats,
    crawls: Ints,
    warm_up: int,
) -> None:
    """Play one rule against `content`, shape (horizon, N); count crawls after `warm_up`.

    `start` is the content at epoch 0 and `age` the ages, shapes (N,); `rewards`, shape (horizon,),
    and `crawls`, shape (N,), are written.
    """
    horizon, size = content.shape
    decay = arms.decay
    state, alpha, h_decay = np.empty(size), np.empty(size), np.empty(size)
    last_crawl = np.empty(size, np.int64)
    for i in range(size):
        state[i], alpha[i], h_decay[i] = start[i], np.exp(-decay[i]), h(decay[i])
        last_crawl[i] = -1
    priority, work = np.empty(size), np.empty(size)
    chosen = np.empty(size, np.bool_)
    for epoch in range(horizon):
        if rule == Rule.ROUND_ROBIN:
            first = next_in_turn(age, epoch * budget)
            for i in range(size):
                chosen[i] = (i - first) % size < budget
        else:
            for i in range(size):
                priority[i] = _priority(rule, i, state[i], age[i], h_decay[i], arms)
            mark_top(priority, budget, work, chosen)
        if epoch >= warm_up:
            for i in range(size):
                crawls[i] += chosen[i]
        rewards[epoch] = advance(
            epoch, chosen, content, start, arms.lifetime, alpha, state, age, last_crawl
        )
