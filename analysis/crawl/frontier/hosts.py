"""Crawl delays of hosts in seconds, converted to epochs and numbers of fetches.

With an epoch of T seconds and a crawl delay of D > T, a host rests until ceil(D / T) epochs after a
fetch; with D <= T at most floor(T / D) of its sources are fetched in an epoch. From a host with
unknown rules one source is fetched in an epoch.

A host that refuses (`REFUSED`) rests for longer after each epoch in a row in which it did.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from analysis.checks import check_integer, check_number
from analysis.crawl.frontier.state import DAY, FORBIDDEN, NEVER, Outcome

HostState = tuple[float | None, int, int]
"""Crawl delay in seconds, None where the rules are unknown; first epoch in which to fetch; epochs
in a row in which it refused."""
REFUSED = (429, 503)
"""HTTP statuses by which a host asks for fewer requests (RFC 6585, section 4; RFC 9110, 15.6.4)."""


def backoff(refusals: int) -> float:
    """Return the seconds of rest after so many earlier refusals: a minute, doubled up to a day.

    Examples
    --------
    >>> backoff(0), backoff(3)
    (60.0, 480.0)
    """
    return min(60.0 * 2 ** min(refusals, 11), DAY)


class Hosts:
    """The epochs, of length `seconds`, in which each host may be fetched from.

    `longest` limits the rest or crawl delay that a site can ask for, in seconds. `delay` holds the
    seconds between two fetches of each host whose rules are known, `free` the first epoch in which
    a host may be fetched from, and `refusals` the epochs in a row in which it refused.
    """

    def __init__(self, seconds: float, longest: float) -> None:
        self._seconds, self._longest = seconds, longest
        self.delay: dict[str, float] = {}
        self.free: dict[str, int] = {}
        self.refusals: dict[str, int] = {}

    def are_free(self, hosts: Iterable[str], epoch: int) -> list[bool]:
        """Return whether each host may be fetched from in an epoch."""
        return [self.free.get(host, 0) <= epoch for host in hosts]

    def epochs(self, seconds: float) -> int:
        """Return the least number of epochs that last so many seconds, at most `longest`."""
        least = min(seconds, self._longest) / self._seconds
        return math.ceil(min(least * (1 - 1e-12), NEVER // 2))

    def room(self, hosts: Iterable[str]) -> dict[str, int]:
        """Return how many fetches each host allows in one epoch."""
        room = dict.fromkeys(hosts, 1)  # its rules are unknown
        for host, delay in self.delay.items():
            most = self._seconds / delay * (1 + 1e-12) if delay > 0 else np.inf
            room[host] = max(int(min(most, NEVER)), 1)
        return room

    def note(self, host: str, outcome: Outcome, epoch: int) -> None:
        """Update the delay and the rest of a host after a fetch in an epoch."""
        if outcome.delay is not None:
            self.delay[host] = min(outcome.delay, self._longest)
        wait = self.epochs(outcome.host_rest)
        if outcome.kind != FORBIDDEN:  # otherwise only robots.txt was requested
            wait = max(wait, self.epochs(self.delay.get(host, 0.0)), 1)
        self.free[host] = max(self.free.get(host, 0), epoch + wait)

    def count_refusals(self, answered: Iterable[tuple[str, int]]) -> None:
        """Count an epoch of each host that refused in it; another answer ends the row.

        `answered` has host and HTTP status of each answer of the epoch, in any order.
        """
        refused: dict[str, bool] = {}
        for host, status in answered:
            refused[host] = refused.get(host, False) or status in REFUSED
        for host, has_refused in refused.items():
            if has_refused:
                self.refusals[host] = self.refusals.get(host, 0) + 1
            else:
                self.refusals.pop(host, None)

    def import_state(self, hosts: Mapping[str, HostState]) -> None:
        """Store the state of another frontier at the same epoch; the later of two epochs counts."""
        for host, (delay, free, refusals) in hosts.items():
            self.free[host] = max(self.free.get(host, 0), free)
            if refusals:
                self.refusals[host] = refusals
            if delay is not None:
                self.delay[host] = delay

    def state(self) -> dict[str, HostState]:
        """Return the state of each known host."""
        return {
            host: (self.delay.get(host), self.free.get(host, 0), self.refusals.get(host, 0))
            for host in self.delay.keys() | self.free.keys()
        }

    def restore(self, hosts: Mapping[str, HostState]) -> None:
        """Restore a state; raise ValueError if it is invalid."""
        for host, (delay, free, refusals) in hosts.items():
            self.free[host] = check_integer("free", free, 0, NEVER)
            if check_integer("refusals", refusals, 0, NEVER):
                self.refusals[host] = refusals
            if delay is not None:
                self.delay[host] = check_number("delay", delay, 0, high_open=True)
