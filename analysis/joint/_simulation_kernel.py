"""One run of crawler and engine, page by page, compiled; behind `analysis.joint.simulation`."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.kernel_cache import njit


class Order(IntEnum):
    """Which page is indexed next; see `analysis.joint.simulation`."""

    FIRST = 0
    LAST = 1
    WORTH = 2
    LOSS = 3


@njit
def _priority(order: int, log_worth: float, rank: int, decay: float, now: float) -> float:
    """Return how early a page is taken: the larger, the earlier."""
    if order == Order.FIRST:
        return -float(rank)
    if order == Order.LAST:
        return float(rank)
    value = log_worth - decay * now
    return value if order == Order.WORTH else value + np.log(decay)


@njit
def _extreme(
    order: int, best: bool, log_worth: Floats, rank: Ints, head: Ints, count: Ints, decay: Floats,
    now: float,
) -> int:  # fmt: skip
    """Return the source of the page taken next (or last, unless `best`), -1 if there is none."""
    found, at = -1, 0.0
    size = log_worth.shape[1]
    for i in range(count.size):
        if count[i] > 0:
            # A list runs from early to late pages: first come first served takes its head.
            place = head[i] if best == (order == Order.FIRST) else (head[i] + count[i] - 1) % size
            value = _priority(order, log_worth[i, place], rank[i, place], decay[i], now)
            if found < 0 or (value > at) == best:
                found, at = i, value
    return found


@njit
def _taken(order: int, i: int, log_worth: Floats, head: Ints, count: Ints) -> float:
    """Take the next page of a source off its list and return the logarithm of its worth."""
    size = log_worth.shape[1]
    count[i] -= 1
    if order == Order.FIRST:
        place = head[i]
        head[i] = (head[i] + 1) % size
    else:
        place = (head[i] + count[i]) % size
    return float(log_worth[i, place])


@njit
def _choose(
    queue: int, age: Ints, queues: Ints, index: Floats, budget: int, chosen: Ints
) -> tuple[int, int, float]:
    """Write the sources of the largest positive index to `chosen`; return how many, and a place.

    The place in the table of indices is a row and the weight of the next one.
    """
    row = 0
    while row + 2 < queues.size and queues[row + 1] <= queue:
        row += 1
    weight = 0.0
    if queues.size > 1:
        weight = min(1.0, (queue - queues[row]) / (queues[row + 1] - queues[row]))
    number = 0
    score = np.empty(age.size)
    for i in range(age.size):
        k = min(age[i], index.shape[1]) - 1
        score[i] = index[row, k, i]
        if weight > 0.0:
            score[i] += weight * (index[row + 1, k, i] - index[row, k, i])
    while number < budget:
        best = -1
        for i in range(age.size):
            if score[i] > 0.0 and (best < 0 or score[i] > score[best]):
                best = i
        if best < 0:
            break
        score[best] = -1.0
        chosen[number] = best
        number += 1
    return number, row, weight


@njit
def play(
    births: Floats, starts: Ints, completions: Floats, period: float, warm_up: int, epochs: int,
    decay: Floats, first_log_worth: Floats, queues: Ints, index: Floats, window: Floats, stop: int,
    budget: int, places: int, order: int, preempt: bool, push_out: bool, totals: Floats,
    crawls: Floats,
) -> None:  # fmt: skip
    """Simulate epochs; add reward, indexed, lost, queue and idle completions to `totals`."""
    sources = decay.size
    size = places + 1
    log_worth, rank = np.empty((sources, size)), np.empty((sources, size), np.int64)
    head, count = np.zeros(sources, np.int64), np.zeros(sources, np.int64)
    age = np.ones(sources, np.int64)
    next_birth, last_crawl = starts[:-1].copy(), np.zeros(sources)
    chosen = np.empty(budget, np.int64)
    serving, serving_worth = -1, 0.0
    queue, joined, event = 0, 0, 0
    while event < completions.size and completions[event] < period:
        event += 1
    for epoch in range(epochs):
        now = (epoch + 1) * period
        counts = epoch >= warm_up
        if counts:
            totals[3] += queue
        if queue <= stop:
            number, row, weight = _choose(queue, age, queues, index, budget, chosen)
            for turn in range(number):
                i = chosen[turn]
                if counts:
                    crawls[i] += 1.0
                wide = window[row, i]
                if weight > 0.0:
                    wide += weight * (window[row + 1, i] - wide)
                oldest = max(last_crawl[i], now - wide)
                end = next_birth[i]
                while end < starts[i + 1] and births[end] < now:
                    end += 1
                begin = next_birth[i]
                while begin < end and births[begin] < oldest:
                    begin += 1
                next_birth[i], last_crawl[i], age[i] = end, now, 0
                if not push_out and end - begin > places - queue:
                    if counts:
                        totals[2] += end - begin - (places - queue)
                    begin = end - (places - queue)
                for n in range(end - begin):
                    page = end - 1 - n if order == Order.FIRST else begin + n
                    place = (head[i] + count[i]) % size
                    log_worth[i, place] = first_log_worth[i] + decay[i] * births[page]
                    rank[i, place] = joined
                    joined += 1
                    count[i] += 1
                    queue += 1
                    if queue > places:
                        out = _extreme(order, False, log_worth, rank, head, count, decay, now)
                        head[out] = (head[out] + 1) % size
                        count[out] -= 1
                        queue -= 1
                        if counts:
                            totals[2] += 1.0
        age += 1
        if serving < 0 and queue > 0 and not preempt:
            serving = _extreme(order, True, log_worth, rank, head, count, decay, now)
            serving_worth = _taken(order, serving, log_worth, head, count)
        while event < completions.size and completions[event] < now + period:
            time = completions[event]
            event += 1
            if queue == 0:
                if counts:
                    totals[4] += 1.0
                continue
            if preempt:
                serving = _extreme(order, True, log_worth, rank, head, count, decay, time)
                serving_worth = _taken(order, serving, log_worth, head, count)
            if counts:
                totals[0] += np.exp(serving_worth - decay[serving] * time)
                totals[1] += 1.0
            queue -= 1
            serving = -1
            if queue > 0 and not preempt:
                serving = _extreme(order, True, log_worth, rank, head, count, decay, time)
                serving_worth = _taken(order, serving, log_worth, head, count)
