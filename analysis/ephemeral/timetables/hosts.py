"""Timetables where sources share hosts, and crawls of one host lie some epochs apart.

Let crawls of a host be at least h epochs apart. A host that keeps to one class of epochs modulo
h 2^l obeys that, and its sources share the class as they would share a channel. The h classes
modulo h of a channel are h lines, on which the classes modulo h 2^l are blocks of length 2^-l
(`analysis.ephemeral.timetables.packing`), so that all hosts fit if sum 2^-l <= M h. That is enough,
not necessary; densities of at most 1/h on each host with a sum of at most M are not enough.

No policy earns more than a bound that follows, as without hosts, from a price lambda for a crawl
and a price nu_q for a crawl of host q, both not negative:

    lambda M + sum_q nu_q / h + sum_i max(0, max_{k >= h} (X_i(k) - lambda - nu_q(i)) / k).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.display import brief
from analysis.ephemeral.relaxed import due_ages
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.gaps import Choice, choose, powers_of_two
from analysis.ephemeral.timetables.packing import disjoint, entries_of, pack

_BISECTIONS = 100
_LONGEST = 30  # binary logarithm of the longest gap


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Hosts:
    """Host of each source, and the prices that bound what policies earn.

    Attributes
    ----------
    number : ndarray of int, shape (N,)
        Host of each source, numbered from 0.
    gap : int
        Least number of epochs between two crawls of a host.
    price : ndarray, shape (H,)
        nu_q, the price of a crawl of each host on top of that of any crawl.
    """

    number: Ints
    gap: int
    price: Floats

    def keep_apart(self, source: Ints, gap: Ints, phase: Ints) -> bool:
        """Return whether entries of one host are never due less than `gap` epochs apart.

        True if those of each host keep to one class of epochs modulo a number of at least `gap`
        and never meet.
        """
        host = self.number[source]
        common = np.zeros(self.price.size, dtype=np.int64)
        np.gcd.at(common, host, gap)
        first = np.full(self.price.size, -1, dtype=np.int64)
        first[host[::-1]] = phase[::-1]
        np.gcd.at(common, host, np.abs(phase - first[host]))
        return bool((common[host] >= self.gap).all() and disjoint(host, gap, phase))


def number_hosts(hosts: Sequence[Hashable], size: int) -> Ints:
    """Return the number of each source's host, or raise naming `hosts`."""
    try:
        names = list(hosts)
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    except TypeError:
        raise ValueError(f"hosts must be a list of names or numbers, got {hosts!r:.200}") from None
    if len(names) != size:
        raise ValueError(f"hosts must have {size} entries, one a source, got {len(names)}")
    return np.array([numbers[name] for name in names], dtype=np.intp)


def bound_with_hosts(sources: Sources, budget: float, price: float, hosts: Hosts) -> float:
    """Bound what any policy earns that keeps crawls of a host apart, by prices: weak duality."""
    source_price = price + hosts.price[hosts.number]
    age = np.maximum(_due(sources, source_price), hosts.gap)
    surplus = np.maximum(0.0, (sources.state_at_age(age) - source_price) / age)
    return float(price * budget + hosts.price.sum() / hosts.gap + surplus.sum())


def _due(sources: Sources, price: Floats) -> Floats:
    """Return the best age of each source at a price of its own."""
    free = price <= 0.0  # nothing is better than the shortest gap
    return np.where(free, 1.0, due_ages(replace(sources, cost=np.where(free, 1.0, price)), 1.0))


def _densities(sources: Sources, price: Floats, hosts: Ints, least: int) -> Floats:
    """Return the crawls per epoch of each host at a price for each source."""
    age = np.maximum(_due(sources, price), least)
    many = int(hosts.max()) + 1
    density: Floats = np.bincount(hosts.astype(np.intp), 1.0 / age, many).astype(np.float64)
    return density


def prices(sources: Sources, budget: int, number: Ints, gap: int) -> tuple[float, Hosts]:
    """Return the prices of least bound, by bisection: of each host alone, then of all together."""
    top = float(sources.u_star.max())
    low, high = np.zeros(int(number.max()) + 1), np.full(int(number.max()) + 1, top)
    within = _densities(sources, low[number], number, gap) <= 1.0 / gap
    high[within] = 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        fits = _densities(sources, middle[number], number, gap) <= (1.0 + 1e-12) / gap
        low, high = np.where(fits, low, middle), np.where(fits, middle, high)
    alone = high

    def fit(price: float) -> bool:
        source_price = np.maximum(price, alone)[number]
        return bool(_densities(sources, source_price, number, gap).sum() <= budget * (1.0 + 1e-12))

    price = _least(fit, top)
    return price, Hosts(number, gap, np.maximum(0.0, alone - price))


def _least(holds: Callable[[float], bool], top: float) -> float:
    """Return the least price up to a top at which `holds`, which stays true as prices rise."""
    low, high = 0.0, top
    if holds(0.0):
        return 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def place_on_hosts(sources: Sources, budget: int, price: float, hosts: Hosts) -> list[Ints]:
    """Return source, gap, phase and channel of each entry: each host in one class of epochs."""
    members = np.split(
        np.argsort(hosts.number, kind="stable"),
        np.cumsum(np.bincount(hosts.number.astype(np.intp)))[:-1],
    )
    level = _levels(sources, budget, price, hosts)
    _widen(sources, budget, members, level, hosts.gap)
    used = np.flatnonzero(level >= 0)
    lines, slot = pack(2 ** level[used], budget * hosts.gap)
    channel, start = lines // hosts.gap, hosts.gap * slot + lines % hosts.gap
    parts = []
    for q, line, first in zip(used, channel, start, strict=True):
        width = hosts.gap << int(level[q])
        own, gap, phase, _ = entries_of(_inside(sources, members[q], width), 1)
        parts.append([members[q][own], width * gap, first + width * phase, np.full(own.size, line)])
    if not parts:
        return [np.empty(0, dtype=np.int64)] * 4
    rows = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((rows[2], rows[0]))
    return [row[order] for row in rows]


def _levels(sources: Sources, budget: int, price: float, hosts: Hosts) -> Ints:
    """Return the l of each host's class modulo h 2^l, -1 for none, at the least price that fits."""
    alone = price + hosts.price

    def found(at: float) -> Ints:
        source_price = np.maximum(at, alone)[hosts.number]
        density = _densities(sources, source_price, hosts.number, hosts.gap)
        with np.errstate(divide="ignore"):
            level = np.clip(np.floor(-np.log2(density * hosts.gap) + 1e-9), 0, _LONGEST)
        return np.where(density > 0.0, level, -1).astype(np.int64)

    def fit(at: float) -> bool:
        level = found(at)
        return bool((2.0 ** -level[level >= 0]).sum() <= budget * hosts.gap)

    return found(_least(fit, float(sources.u_star.max())))


def _inside(sources: Sources, own: Ints, width: int) -> Choice:
    """Return the gaps of the sources of one host, in units of `width` epochs."""
    own_sources = sources.subset(own)
    slow = replace(own_sources, period=own_sources.period * width)
    ones = np.ones(own.size)
    choice = choose(slow, 1, powers_of_two(), ones, np.inf * ones)
    assert choice is not None, "gaps without limits always fit"
    return choice


def _widen(sources: Sources, budget: int, members: list[Ints], level: Ints, least: int) -> None:
    """Double the frequencies of hosts' classes while they fit, most gain per length first.

    Changes `level` in place.
    """
    room = budget * least - float((2.0 ** -level[level >= 0]).sum())

    def reward(q: int, exponent: int) -> float:
        width = least << exponent
        return _inside(sources, members[q], width).average_reward / width

    earned = {q: reward(q, int(level[q])) for q in np.flatnonzero(level >= 0).tolist()}
    wider: dict[int, float] = {}
    heap: list[tuple[float, int]] = []

    def offer(q: int) -> None:
        if level[q] > 0:
            wider[q] = reward(q, int(level[q]) - 1)
            heappush(heap, ((earned[q] - wider[q]) * 2.0 ** int(level[q]), q))

    for q in earned:
        offer(q)
    while heap:
        gain, q = heappop(heap)
        length = 2.0 ** -int(level[q])
        if gain < 0.0 and length <= room:
            room, level[q], earned[q] = room - length, level[q] - 1, wider[q]
            offer(q)
