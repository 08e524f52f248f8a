"""Virtual time, in which requests state their time and epochs follow at once; a steady clock."""

from __future__ import annotations

import time

START = 1_704_067_200
"""Unix time at which sites start by default: 2024-01-01, 00:00 UTC."""
TIME_HEADER = "X-Time"
"""Header with the Unix time of a request."""
STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that nobody sets; on Linux one that goes on while the machine sleeps."""


class SteadyClock:
    """The Unix time when it was made, and from then on without jumps."""

    def __init__(self) -> None:
        self._zero = time.time() - time.clock_gettime(STEADY)

    def now(self) -> float:
        """Return the time."""
        return self._zero + time.clock_gettime(STEADY)

    def ahead(self) -> float:
        """Return the seconds by which the clock of the machine is ahead of this one."""
        return time.time() - self.now()
