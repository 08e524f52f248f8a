"""Compiled loops over epochs that compute which sources a policy visits.

Each is equivalent to calling the `select`, `update` and `read` of a policy at every epoch. Visits
are an array of shape (horizon, budget), in increasing order at each epoch, padded with -1 where
fewer sources are visited. Items are given source by source: those of source i are
``item[start[i]:start[i + 1]]``, in seconds, in increasing order.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats, Ints
from analysis.ephemeral.kernels import h, mark_top, relative_index
from analysis.kernel_cache import njit

DAY = 86_400


class Schedule(IntEnum):
    """Rules of `analysis.trace.deployed` for the next visit of a source."""

    NUTCH = 0
    STORM = 1
    ENTRY = 2
    AUTO = 3
    COMMAFEED = 4
    NEXTCLOUD = 5
    FRIENDICA = 6


@njit
def follow_priorities(
    weight: Floats, row: Ints, table: Floats, least: float, budget: int, visits: Ints, age: Ints
) -> None:
    """Visit the sources of largest weight times table[row, age], if that is above `least`."""
    size = age.size
    priority, work = np.empty(size), np.empty(size)
    chosen = np.empty(size, dtype=np.bool_)
    for epoch in range(visits.shape[0]):
        for i in range(size):
            priority[i] = weight[i] * table[row[i], age[i]]
        mark_top(priority, budget, work, chosen)
        _write(epoch, chosen, priority, least, visits, age)


@njit
def _write(
    epoch: int, chosen: NDArray[np.bool_], priority: Floats, least: float, visits: Ints, age: Ints
) -> None:
    """Write the chosen sources whose priority is above `least`, and update all ages."""
    count = 0
    for i in range(age.size):
        age[i] += 1
        if chosen[i] and priority[i] > least:
            visits[epoch, count] = i
            count += 1
            age[i] = 1


@njit
def first_items(item: Ints, start: Ints, begin: int) -> Ints:
    """Return the index of each source's first item at or after a second."""
    first = np.empty(start.size - 1, dtype=np.int64)
    for i in range(first.size):
        first[i] = start[i]
        while first[i] < start[i + 1] and item[first[i]] < begin:
            first[i] += 1
    return first


@njit
def fade_known(
    arm: int, hour: float, memory: float, last: Floats, items: Floats, hours: Floats
) -> None:
    """Update the weighted counts of a source at a visit; it was watched since the last one.

    `items` and `hours` are the weighted numbers of items and of hours watched, both with weight
    exp(-age/memory).
    """
    passed = hour - last[arm]
    fade = np.exp(-passed / memory)
    hours[arm] = fade * hours[arm] + memory * -np.expm1(-passed / memory)
    items[arm] *= fade
    last[arm] = hour


class Forgetting(NamedTuple):
    """A policy that estimates rates from counts that fade; arrays of shape (N,)."""

    scale: Floats  # priority of a source of rate 1 at its row's 1
    row: Ints  # of each source in the table
    table: Floats  # (rows, ages): index at an age, per rate
    memory: float  # hours after which a count weighs exp(-1)
    shape: float  # of the gamma prior of a rate
    rate: float
    last: Floats  # hour of the last visit; this and the counts are written
    items: Floats
    hours: Floats


@njit
def follow_forgetting(
    policy: Forgetting,
    budget: int,
    item: Ints,
    start: Ints,
    begin: int,
    period: int,
    visits: Ints,
    age: Ints,
) -> None:
    """Visit the sources of largest index at rates whose estimates every visit updates."""
    scale, items, hours = policy.scale, policy.items, policy.hours
    size = age.size
    priority, work = np.empty(size), np.empty(size)
    chosen = np.empty(size, dtype=np.bool_)
    weight = np.empty(size)
    for i in range(size):
        weight[i] = (items[i] + policy.shape) / (hours[i] + policy.rate) * scale[i]
    following = first_items(item, start, begin)
    for epoch in range(visits.shape[0]):
        for i in range(size):
            priority[i] = weight[i] * policy.table[policy.row[i], age[i]]
        mark_top(priority, budget, work, chosen)
        _write(epoch, chosen, priority, -np.inf, visits, age)
        second = begin + epoch * period
        for column in range(budget):
            i = visits[epoch, column]
            fade_known(i, second / 3600.0, policy.memory, policy.last, items, hours)
            # An item weighs less the longer before the visit it was published.
            while following[i] < start[i + 1] and item[following[i]] <= second:
                items[i] += np.exp((item[following[i]] - second) / (3600.0 * policy.memory))
                following[i] += 1
            weight[i] = (items[i] + policy.shape) / (hours[i] + policy.rate) * scale[i]


@njit
def follow_hours(
    hourly: Floats,
    decay: Floats,
    worth: Floats,
    row: Ints,
    table: Floats,
    begin: int,
    period: int,
    visits: Ints,
    age: Ints,
) -> None:
    """Visit the sources of largest index at the mean rates of the hours since the last visit.

    In the index, which is linear in the rate, stands the constant rate that would bring the content
    expected since the last visit, hour by hour, faded.

    `hourly`: rates by the hour of the day, shape (N, 24), per epoch; `decay`: per epoch; `worth`:
    of a unit of rate.
    """
    size, budget = age.size, visits.shape[1]
    priority, work = np.empty(size), np.empty(size)
    chosen = np.empty(size, dtype=np.bool_)
    content = np.empty(size)
    for i in range(size):
        content[i] = hourly[i, 0] * -np.expm1(-decay[i]) / decay[i]
    for epoch in range(visits.shape[0]):
        for i in range(size):
            rate = content[i] * decay[i] / -np.expm1(-decay[i] * age[i])
            priority[i] = rate * worth[i] * table[row[i], age[i]]
        mark_top(priority, budget, work, chosen)
        _write(epoch, chosen, priority, -np.inf, visits, age)
        hour = (begin + epoch * period) % DAY // 3600
        for i in range(size):
            kept = 0.0 if chosen[i] else content[i] * np.exp(-decay[i])
            content[i] = kept + hourly[i, hour] * -np.expm1(-decay[i]) / decay[i]


@njit
def listed_wait(rule: int, items: Ints, now: int, shortest: float, longest: float) -> float:
    """Return the seconds until the next visit by a rule that reads the items that a feed lists.

    `items` are their times in seconds, in increasing order, and `now` the time of the visit.
    """
    if rule == Schedule.COMMAFEED:
        wait = _commafeed(items, now, shortest, longest)
    elif rule == Schedule.NEXTCLOUD:
        return _nextcloud(items, now, shortest, longest)
    else:
        wait = 60.0 * _friendica(items, now)
    return min(max(wait, shortest), longest)


@njit
def _commafeed(items: Ints, now: int, shortest: float, longest: float) -> float:
    """Half the mean gap, up to a quarter of the longest; more after one, two and four weeks."""
    if items.size == 0 or now - items[-1] >= 30 * DAY:
        return longest
    if now - items[-1] >= 14 * DAY:
        return longest / 2
    if now - items[-1] >= 7 * DAY:
        return longest / 4
    if items.size == 1:
        return longest
    gap = (items[-1] - items[0]) / (items.size - 1)
    return min(max(gap / 2, shortest), longest / 4)


@njit
def _nextcloud(items: Ints, now: int, shortest: float, longest: float) -> float:
    """Until the mean or the median gap, and a tenth of it, has passed since the newest item."""
    gaps = np.sort(np.diff(items))
    mean, median, wait = 0, 0, shortest
    if gaps.size:
        mean, median = (items[-1] - items[0]) // gaps.size, gaps[gaps.size // 2]
    if items.size and now > items[-1] + int(1.1 * 7 * DAY):
        wait = longest
    elif items.size:
        for gap in (min(mean, median), max(mean, median)):
            later = items[-1] + int(gap + 0.1 * gap) - now
            if later > 0:
                wait = float(later)
                break
    return min(wait, longest) - 600.0  # what is due within ten minutes is visited


@njit
def _friendica(items: Ints, now: int) -> float:
    """Minutes by the largest number of items a day in the last seven days."""
    if items.size < 2:
        return 1440.0
    silent = now / DAY - items[-1] // DAY
    if silent > 730:
        return 43_200.0
    if silent > 365:
        return 10_080.0
    if silent >= 7:
        return 1440.0
    most, i = 0.0, 0
    while i < items.size:
        day, first = items[i] // DAY, i
        while i < items.size and items[i] // DAY == day:
            i += 1
        span = items[i - 1] - items[first]
        # Items of one day, as many as there were in a day of such hours, of at least four.
        if now / DAY - day < 7 and span > 0:
            most = max(most, DAY / max(span, 4 * 3600) * (i - first))
    minutes = (15.0, 30.0, 60.0, 120.0, 180.0, 360.0)
    for rank, items_a_day in enumerate((48.0, 24.0, 12.0, 8.0, 4.0, 2.0)):
        if most > items_a_day:
            return minutes[rank]
    return 720.0


@njit
def follow_due(
    rule: int,
    constants: Floats,
    interval: Floats,
    due: Floats,
    budget: int,
    item: Ints,
    start: Ints,
    begin: int,
    period: int,
    visits: Ints,
) -> None:
    """Visit the sources that are longest overdue by one of the rules of `deployed`.

    `constants` are the shortest and longest interval in epochs, and then, for NUTCH, increase,
    decrease, shift, and the time up to which the shift counts; for STORM the first interval; for
    ENTRY and AUTO the memory in seconds, and for ENTRY a week over its factor in minutes; for the
    rules of `listed_wait` how many items a feed lists. The intervals of STORM are whole minutes,
    nan before the first visit.
    """
    size = due.size
    shortest, longest = constants[0], constants[1]
    priority, work = np.empty(size), np.empty(size)
    chosen = np.empty(size, dtype=np.bool_)
    modified = np.zeros(size)
    following, oldest = first_items(item, start, begin), first_items(item, start, begin)
    for epoch in range(visits.shape[0]):
        waiting = 0
        for i in range(size):
            priority[i] = -due[i]
            chosen[i] = due[i] <= epoch
            waiting += chosen[i]
        if waiting > budget:
            mark_top(priority, budget, work, chosen)
        second = begin + epoch * period
        count = 0
        for i in range(size):
            if not chosen[i]:
                continue
            visits[epoch, count] = i
            count += 1
            new = False
            while following[i] < start[i + 1] and item[following[i]] <= second:
                following[i] += 1
                new = True
            if rule >= Schedule.COMMAFEED:
                earliest = max(oldest[i], following[i] - int(constants[2]))
                listed = item[earliest : following[i]] - begin
                limits = shortest * period, longest * period
                wait = listed_wait(rule, listed, epoch * period, *limits)
                due[i] = epoch + wait / period
            elif rule == Schedule.ENTRY or rule == Schedule.AUTO:
                while oldest[i] < following[i] and item[oldest[i]] <= second - constants[2]:
                    oldest[i] += 1
                late = following[i] - oldest[i]
                wait = longest
                if late > 0 and rule == Schedule.ENTRY:
                    wait = np.rint(constants[3] / late) * 60.0 / period
                elif late > 0:
                    gap = (item[following[i] - 1] - item[oldest[i]]) // late
                    wait = gap / period if gap > 0 else longest
                due[i] = epoch + min(max(wait, shortest), longest)
            elif rule == Schedule.STORM:
                minutes = period / 60.0
                if np.isnan(interval[i]):
                    interval[i] = constants[2] * minutes
                elif new:
                    interval[i] = np.floor(0.5 * interval[i] + 0.5 * shortest * minutes)
                else:
                    interval[i] = min(np.floor(1.5 * interval[i]), longest * minutes)
                due[i] = epoch + interval[i] / minutes
            else:
                if new:
                    modified[i] = epoch
                since = epoch - modified[i]
                wait = interval[i] * (1.0 - constants[3] if new else 1.0 + constants[2])
                interval[i] = min(max(wait, since, shortest), longest)
                due[i] = epoch + interval[i] - constants[4] * min(since, constants[5])


@njit
def follow_contents(
    u_star: Floats,
    decay: Floats,
    value: Floats,
    budget: int,
    item: Ints,
    start: Ints,
    begin: int,
    period: int,
    visits: Ints,
) -> None:
    """Visit the sources of largest index at their actual contents, if these are positive."""
    size = decay.size
    priority, work = np.zeros(size), np.empty(size)
    chosen = np.empty(size, dtype=np.bool_)
    content, alpha, h_decay = np.zeros(size), np.empty(size), np.empty(size)
    for i in range(size):
        alpha[i], h_decay[i] = np.exp(-decay[i]), h(decay[i])
    following = first_items(item, start, begin)
    for epoch in range(visits.shape[0]):
        second = begin + epoch * period
        for i in range(size):
            content[i] *= alpha[i]
            while following[i] < start[i + 1] and item[following[i]] <= second:
                age = (second - item[following[i]]) / period
                content[i] += value[i] * np.exp(-decay[i] * age)
                following[i] += 1
            priority[i] = 0.0
            if content[i] > 0.0:
                share = content[i] / u_star[i]
                priority[i] = u_star[i] * relative_index(decay[i], h_decay[i], share)
        mark_top(priority, budget, work, chosen)
        count = 0
        for i in range(size):
            if chosen[i] and content[i] > 0.0:
                visits[epoch, count] = i
                count += 1
                content[i] = 0.0


@njit
def best_visits(content: Floats, epoch: Ints, decay: float, subsidy: float, best: Floats) -> int:
    """Return the number of visits of a clairvoyant to one source; `best[-1]` becomes their value.

    `content` is the content, if the source were never visited, at the epochs that follow an
    arrival. best[j] is the largest value of visits up to the j-th of these epochs with one there,
    less `subsidy` a visit. Visits count in the second half of `best`; its last entry is the
    largest over all j.
    """
    size = epoch.size
    count = np.zeros(size, dtype=np.int64)
    top, visits = 0.0, 0
    for j in range(size):
        gain, previous = 0.0, 0
        for k in range(j - 1, -1, -1):
            remaining = np.exp(-decay * (epoch[j] - epoch[k])) * content[k]
            if best[k] - remaining > gain:
                gain, previous = best[k] - remaining, count[k]
        best[j] = content[j] - subsidy + gain
        count[j] = previous + 1
        if best[j] > top:
            top, visits = best[j], count[j]
    best[size] = top
    return visits
