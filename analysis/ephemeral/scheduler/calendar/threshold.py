"""The threshold of a scheduler, which changes its speed and not its crawls.

The epoch's bucket of the calendar holds every source whose index is at least the threshold. If the
threshold is just below the lowest index crawled, few sources are ranked and not crawled; if it is
above, the calendar has to be sorted anew.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from analysis.arrays import Floats
from analysis.ephemeral.scheduler.calendar import buckets
from analysis.ephemeral.scheduler.calendar import epoch as epoch_kernel
from analysis.ephemeral.scheduler.calendar.buckets import Calendar, Limits

MEMORY = 16
"""Epochs whose lowest crawled index sets the threshold."""
MARGIN = 0.0015
"""Relative margin of the threshold below the lowest index crawled; doubled if too small."""
CROWDED = 8
"""Ratio of bucket size to crawls above which the threshold rises before `MEMORY` epochs."""
SAMPLE = 1000
"""Number of due sources that are sampled to find a threshold."""
SAFETY = 1.0 + 1e-9
"""Factor by which an index is above the threshold beyond rounding."""


class Threshold:
    """Least index, the `level`, of the sources that are ranked at an epoch.

    `rebuilds` counts how often the calendar was sorted anew under a lower one.
    """

    def __init__(self, level: float = np.inf, margin: float = MARGIN) -> None:
        self.level = level
        self.rebuilds = 0
        self._margin, self._raise = margin, 1.0 + margin
        self._cuts: deque[float] = deque(maxlen=MEMORY)

    def above(self, index: float) -> bool:
        """Return whether the threshold is above an index, or equal to it up to rounding."""
        return index < self.level * SAFETY

    def follow(self, cut: float, crawls: int, looked_at: int, epoch: int) -> None:
        """Raise the threshold to a margin below the lowest index crawled in the last epochs."""
        self._cuts.append(cut)
        if len(self._cuts) == MEMORY and epoch % MEMORY == 0:
            lowest = min(self._cuts)
        elif looked_at > CROWDED * (crawls + MEMORY):
            # From equal initial ages all indices increase at every epoch.
            lowest = min(list(self._cuts)[-4:])
        else:
            return
        raised = lowest * (1.0 - self._margin)
        if self._raise * self.level < raised < epoch_kernel.OVERDUE:
            self.level = raised

    def lower(
        self,
        want: float,
        budget: float,
        calendar: Calendar,
        epoch: int,
        cost: Floats,
        limits: Limits,
    ) -> bool:
        """Sort the calendar anew under a threshold at which sources of a cost above `want` are due.

        Sources that cost more than the budget do not count. If no other source may be crawled now,
        nothing is changed and False returned.
        """
        totals, high = epoch_kernel.demand(calendar, epoch, np.zeros(1), cost, limits, budget)
        total = totals[0]
        if total == 0.0:
            return False
        # Only one block in `every` is counted.
        every = max(1, int(want / total * calendar.pool.size / SAMPLE))
        want *= 1.0 if every == 1 else 1.1
        low = 0.0
        if total > want:
            for _ in range(60):
                middle = 0.5 * (low + high)
                level = np.array([middle])
                totals, _ = epoch_kernel.demand(calendar, epoch, level, cost, limits, budget, every)
                total = totals[0]
                if total >= want:
                    low = middle
                else:
                    high = middle
                if want <= total <= 1.2 * want:
                    break
        if self.rebuilds:
            self._margin = min(2 * self._margin, 0.5)
        # Many sources may have the same index: a threshold equal to it is unsafe under rounding.
        self.level = low / SAFETY**2
        self.rebuilds += 1
        self._cuts.clear()
        buckets.rebuild(calendar, epoch, self.level, limits)
        return True
