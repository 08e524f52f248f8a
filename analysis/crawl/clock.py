"""Time of a crawl: a steady clock, virtual time, and lengths of time as users write them."""

from __future__ import annotations

import re
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

    def compute_offset(self) -> float:
        """Return the seconds by which the clock of the machine is ahead of this one."""
        return time.time() - self.now()


UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
"""Seconds of each unit."""
LONGEST = 366 * UNITS["d"]


def read_duration(text: str) -> float:
    """Return the seconds of a length of time from 1 s to 366 days.

    Raises
    ------
    ValueError
        If it is none, or out of range.

    Examples
    --------
    >>> read_duration("30m")
    1800.0
    """
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    value = float(parts[1]) * UNITS[parts[2]] if parts else 0.0
    if not 1.0 <= value <= LONGEST:
        raise ValueError(f"must be from 1s to 366d, as in 30m, got {text!r}")
    return value


def write_duration(seconds: float) -> str:
    """Return a length of time in the largest unit that divides it.

    Examples
    --------
    >>> write_duration(5400.0)
    '90m'
    """
    unit = next((unit for unit in "dhm" if not seconds % UNITS[unit]), "s")
    return f"{seconds / UNITS[unit]:g}{unit}"
