"""Assignment of hosts to processes, and division of the budget among the processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analysis.checks import check_integer, check_whole


def share(offers: Sequence[ArrayLike], budget: int) -> list[int]:
    """Return how many of the overall largest offers belong to each part.

    Parameters
    ----------
    offers : sequence of array_like
        Indices that each part offers, in decreasing order.
    budget : int or whole float
        Number of offers that are accepted, at least 0.

    Returns
    -------
    list of int
        Accepted offers of each part. Among equal offers, those with the better place in their own
        list are accepted first.

    Raises
    ------
    ValueError
        If the budget is negative.

    Examples
    --------
    >>> share([[5.0, 1.0], [4.0, 3.0, 2.0]], 3)
    [1, 2]
    """
    budget = check_whole("budget", budget, 0)
    arrays = [np.asarray(offer, dtype=float) for offer in offers]
    sizes = [array.size for array in arrays]
    owner = np.repeat(np.arange(len(arrays)), sizes)
    rank = np.concatenate([np.arange(size) for size in sizes])
    first = np.lexsort((owner, rank, -np.concatenate(arrays)))[:budget]
    return [int(count) for count in np.bincount(owner[first], minlength=len(arrays))]


class Hosts:
    """Assignment of hosts to parts; a group of linked hosts stays together.

    Parameters
    ----------
    parts : int
        Number of parts.
    kept : mapping, optional
        State that `Hosts.kept` returned.

    Examples
    --------
    >>> hosts = Hosts(2)
    >>> hosts.assign(["a", "a", "a", "b", "c"])
    >>> hosts.part("a"), hosts.part("b"), hosts.part("c")
    (0, 1, 1)
    >>> sorted(hosts.join("c", "a"))
    ['c']
    >>> hosts.part("c")
    0
    """

    def __init__(self, parts: int, saved: dict[str, Any] | None = None) -> None:
        self.parts = check_integer("parts", parts, 1)
        self._of = {host: (int(part), str(group)) for host, (part, group) in (saved or {}).items()}

    def kept(self) -> dict[str, Any]:
        """Return the state of this object, for JSON."""
        return {host: list(entry) for host, entry in self._of.items()}

    def part(self, host: str) -> int | None:
        """Return the part of a host; None if it is not assigned."""
        return self._of[host][0] if host in self._of else None

    def of_part(self, part: int) -> list[str]:
        """Return the hosts of a part."""
        return [host for host, (own, _) in self._of.items() if own == part]

    def assign(self, hosts: Iterable[str]) -> None:
        """Assign each new host to the part with the fewest sources, large hosts first.

        `hosts` has the host of each source.
        """
        count: dict[str, int] = {}
        for host in hosts:
            count[host] = count.get(host, 0) + 1
        load = [0] * self.parts
        for host in count.keys() & self._of.keys():
            load[self._of[host][0]] += count[host]
        for host in sorted(count.keys() - self._of.keys(), key=lambda h: (-count[h], h)):
            part = load.index(min(load))
            self._of[host] = part, host
            load[part] += count[host]

    def join(self, home: str, target: str) -> set[str]:
        """Put two hosts into one group; return the hosts that change their part.

        A target that is not assigned joins the home's group; otherwise the home's group moves.
        """
        if target not in self._of:
            self._of[target] = self._of[home]
            return set()
        (old, group), entry = self._of[home], self._of[target]
        members = {host for host, (_, own) in self._of.items() if own == group}
        self._of |= dict.fromkeys(members, entry)
        return members if old != entry[0] else set()
