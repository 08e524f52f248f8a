"""Division of an epoch's budget among sources whose hosts limit the fetches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analysis.ephemeral.policies import Observation, Policy, select_arms
from analysis.ephemeral.timetables.table import Timetable

Arms = NDArray[np.int64]


@dataclass
class Places:
    """Remaining fetches of an epoch, in all and by host, and sources that may be chosen."""

    left: int
    host: list[str]
    room: dict[str, int]
    free: NDArray[np.bool_]
    age: Arms
    taken: list[int] = field(default_factory=list)

    def among(self, arms: Arms) -> Arms:
        """Return the given sources that are free and whose host allows another fetch."""
        open_ = [i for i in arms[self.free[arms]].tolist() if self.room[self.host[i]] > 0]
        return np.array(open_, dtype=np.int64)

    def hold(self, arms: Arms) -> bool:
        """Return whether the budget and the hosts allow a fetch of all given sources."""
        count: dict[str, int] = {}
        for i in arms.tolist():
            count[self.host[i]] = count.get(self.host[i], 0) + 1
        return arms.size <= self.left and all(self.room[h] >= n for h, n in count.items())

    def take(self, arms: Arms) -> None:
        """Choose sources in their order while the budget and their hosts allow it."""
        for i in arms.tolist():
            if self.left and self.free[i] and self.room[self.host[i]] > 0:
                self.taken.append(i)
                self.free[i] = False
                self.left -= 1
                self.room[self.host[i]] -= 1


def take_by_preference(
    places: Places, policy: Policy, observation: Observation, rng: np.random.Generator, budget: int
) -> None:
    """Choose sources in a policy's order of preference until the places are taken.

    The order is that of its choices for budgets of 1, 2, 3, ..., each with the same draws. A policy
    that has no order, such as a timetable, may return the choice for the epoch's `budget` instead.
    """
    size, draws = places.age.size, rng.bit_generator.state
    choices: dict[int, Arms] = {0: np.empty(0, dtype=np.int64)}

    def first(count: int) -> Arms:
        if count not in choices:
            rng.bit_generator.state = draws
            asked = max(count, policy.budget) if isinstance(policy, Timetable) else count
            choices[count] = select_arms(policy, observation, asked, rng, most=max(count, budget))
        return choices[count]

    few, many = 0, places.left
    while places.left and few < size:
        _take_in_order(places, first, few, many)
        if first(many).size < many:
            return  # the policy chooses no more
        few, many = many, min(2 * many, size)


def _take_in_order(places: Places, first: Callable[[int], Arms], few: int, many: int) -> None:
    """Choose from the first `many` sources of an order without the first `few`.

    If not all of them can be fetched, those of the first half are preferred.
    """
    new = places.among(np.setdiff1d(first(many), first(few), assume_unique=True))
    if many - few <= 1 or places.hold(new):
        places.take(new[np.argsort(-places.age[new], kind="stable")])
        return
    middle = (few + many) // 2
    _take_in_order(places, first, few, middle)
    _take_in_order(places, first, middle, many)
