"""Gaps on a grid: the relaxed problem over a set of gaps, and the gaps that solve it.

A source that is crawled every k epochs earns X(k)/k an epoch, X(k) = u*(1 - alpha^k). On a grid of
gaps with neighbours p < q the best gap at a price lambda for a crawl is the first p with

    gamma(p) = (q X(p) - p X(q)) / (q - p) >= lambda,

the intercept at 0 of the chord of X through p and q: the *grid index*. With q = p + 1 it is the
Whittle index at age p, and for the powers of two, q = 2p, it is u*(1 - alpha^p)^2. It rises with p,
so the gaps of all sources follow from one price, and the price from the budget, by bisection.

A grid here is a set of gaps m 2^j, m odd. What a set of gaps needs of the budget is counted by
`load` (see `analysis.ephemeral.timetables.packing`): the sum of 1/k for powers of two alone, and
a little more where there are several odd parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.display import brief
from analysis.ephemeral.kernels import h
from analysis.kernel_cache import njit

#: Binary logarithm of the longest gap, and so of the parts that an epoch's place is cut into.
LEVELS = 30
_EXPONENTS = np.arange(LEVELS + 1, dtype=np.int64)


def least_prime(number: int) -> int:
    """Return the least prime factor of a whole number of at least 2."""
    factor = 2
    while factor * factor <= number:
        if number % factor == 0:
            return factor
        factor += 1
    return number


def closure(odd_parts: set[int]) -> list[int]:
    """Return odd numbers, and what division by least prime factors makes of them, rising from 1."""
    numbers = {1}
    for number in odd_parts:
        while number > 1:
            numbers.add(number)
            number //= least_prime(number)
    return sorted(numbers)


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Grid:
    """A set of gaps with a name: `gaps`, shape (G,), rise up to at most 2^30 times 63."""

    name: str
    gaps: Ints

    @cached_property
    def odd(self) -> Ints:
        """Odd part of each gap."""
        return self.gaps // (self.gaps & -self.gaps)

    @property
    def halves(self) -> bool:
        """Whether each gap is twice the one before, so that the relaxed problem is attained."""
        return bool((self.gaps[1:] == 2 * self.gaps[:-1]).all())

    @cached_property
    def families(self) -> Families:
        """Odd parts of the gaps, and those of the containers that hold them."""
        return Families.of(self.odd)

    @cached_property
    def place(self) -> tuple[Ints, Ints]:
        """Number of each gap's family, and j of the gap m 2^j."""
        level = np.log2(self.gaps // self.odd).astype(np.int64)
        return np.searchsorted(self.families.odd, self.odd), level


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Families:
    """Families of gaps m 2^j, by their odd parts m; all arrays have shape (F,).

    `odd` has the odd parts, rising from 1, with m > 1 also m/p, p the least prime factor of m;
    `prime` has p, 1 for the first; `parent` the number of the family of m/p.
    """

    odd: Ints
    prime: Ints
    parent: Ints

    @classmethod
    def of(cls, odd_parts: Ints) -> Families:
        """Return the families that some odd parts need."""
        odd = closure(set(map(int, np.unique(odd_parts))))
        prime = [1, *(least_prime(m) for m in odd[1:])]
        parent = [odd.index(m // p) for m, p in zip(odd, prime, strict=True)]
        return cls(*(np.array(column, dtype=np.int64) for column in (odd, prime, parent)))


@cache
def powers_of_two() -> Grid:
    """Return the gaps 1, 2, 4, ..., 2^30."""
    return Grid("powers of two", 2**_EXPONENTS)


@cache
def with_odd_parts(name: str, odd_parts: tuple[int, ...], level: int = 0) -> Grid:
    """Return the powers of two, and m 2^j from j = `level` on for some odd m."""
    others = [m * 2 ** _EXPONENTS[level:] for m in odd_parts if m > 1]
    return Grid(name, np.unique(np.concatenate([2**_EXPONENTS, *others])))


@cache
def chain(odd: int, level: int) -> Grid:
    """Return the chain 1, 2, ..., 2^level, m 2^level, m 2^(level + 1), ... for an odd m."""
    head, tail = 2 ** _EXPONENTS[: level + 1], odd * 2 ** _EXPONENTS[level:]
    return Grid(f"1, ..., {2**level}, {odd * 2**level}, {odd * 2 ** (level + 1)}, ...",
                np.concatenate([head, tail]))  # fmt: skip


@cache
def multiples(least: int) -> Grid:
    """Return the gaps h 2^j of a least gap h."""
    return Grid(f"{least} times powers of two", least * 2**_EXPONENTS)


@njit
def relative_grid_index(decay: float, p: float, q: float) -> float:
    """Intercept at 0 of the chord of 1 - exp(-decay k) through gaps p < q, without cancellation."""
    if q == 2.0 * p:
        return np.expm1(-decay * p) ** 2
    if decay * q < 1.0:
        return (p * h(decay * q) - q * h(decay * p)) / (q - p)
    return (p * np.expm1(-decay * q) - q * np.expm1(-decay * p)) / (q - p)


@njit
def index_of_gap(decay: float, gaps: Ints, position: int) -> float:
    """Return the grid index at a place of the grid, in units of u*; X at the last gap."""
    if position + 1 < gaps.size:
        return relative_grid_index(decay, float(gaps[position]), float(gaps[position + 1]))
    return -np.expm1(-decay * gaps[position])


@njit
def load(counts: Ints, odd: Ints, prime: Ints, parent: Ints, levels: int, opened: Ints) -> int:
    """Return the part of the budget that sources of given gaps take, in 2^-levels of a crawl.

    `counts`, shape (F, levels + 1), has the sources of each family m and exponent j; containers are
    added to their family, in place. `opened`, of the same shape, is set to the containers that each
    family opens at each exponent; `odd`, `prime` and `parent` are those of `Families`. The result
    is the sum of 2^-j over sources and containers of family 1.
    """
    for family in range(odd.size - 1, 0, -1):
        free = 0
        for level in range(levels + 1):
            free *= 2
            lacking = counts[family, level] - free
            opened_now = 0
            if lacking > 0:
                opened_now = (lacking + prime[family] - 1) // prime[family]
                counts[parent[family], level] += opened_now
            opened[family, level] = opened_now
            free = opened_now * prime[family] - lacking
    total = 0
    for level in range(levels + 1):
        total += counts[0, level] << (levels - level)
    return total


@njit
def tally(places: Ints, gaps: int, family: Ints, level: Ints, counts: Ints) -> None:
    """Count sources by family and exponent into `counts`; a place of `gaps` stands for never."""
    counts[:] = 0
    for i in range(places.size):
        if places[i] < gaps:
            counts[family[places[i]], level[places[i]]] += 1


@njit
def crossing(
    limit: Floats,
    decay: Floats,
    gaps: Ints,
    family: Ints,
    level: Ints,
    odd: Ints,
    prime: Ints,
    parent: Ints,
    budget: int,
    often: Ints,
    seldom: Ints,
) -> float:
    """Return the price at which the best gaps of all sources begin to fit in the budget.

    `limit` and `decay` are u* and mu T of the N sources; `gaps`, `family` and `level` describe the
    `Grid`, `odd`, `prime` and `parent` its `Families`. `often` and `seldom`, shape (N,), are the
    least and greatest place in the grid that each source may have, G for never; on return, its
    places just below the price, where they do not fit, and just above it, where they do.
    """
    levels = level.max()
    counts = np.zeros((odd.size, levels + 1), np.int64)
    settled, opened = counts.copy(), counts.copy()
    active = np.arange(limit.size)
    middle_place = np.empty(limit.size, np.int64)
    low, high = 0.0, limit.max()
    room = budget << levels
    while active.size:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        counts[:] = settled
        for i in active:
            target = middle / limit[i] if limit[i] > 0.0 else np.inf
            below, above = often[i], seldom[i]
            while below < above:
                place = (below + above) // 2
                if index_of_gap(decay[i], gaps, place) >= target:
                    above = place
                else:
                    below = place + 1
            middle_place[i] = above
            if above < gaps.size:
                counts[family[above], level[above]] += 1
        fits = load(counts, odd, prime, parent, levels, opened) <= room
        remaining = 0
        for i in active:
            if fits:
                seldom[i] = middle_place[i]
            else:
                often[i] = middle_place[i]
            if often[i] == seldom[i]:
                if often[i] < gaps.size:
                    settled[family[often[i]], level[often[i]]] += 1
            else:
                active[remaining] = i
                remaining += 1
        active = active[:remaining]
        if fits:
            high = middle
        else:
            low = middle
    return high


@njit
def raise_in_turn(
    order: Ints,
    places: Ints,
    least: Ints,
    gaps: Ints,
    family: Ints,
    level: Ints,
    odd: Ints,
    prime: Ints,
    parent: Ints,
    budget: int,
) -> int:
    """Give sources the next shorter gap, one after the other, wherever all fit; return the steps.

    `order` has the sources, those first that gain most per crawl; `places` in the grid change in
    place, down to `least`; other arguments are as for `crossing`. A step from one gap to the next
    that did not fit is not tried again.
    """
    levels = level.max()
    counts = np.zeros((odd.size, levels + 1), np.int64)
    tally(places, gaps.size, family, level, counts)
    trial, opened = counts.copy(), counts.copy()
    refused = np.zeros(gaps.size + 1, np.bool_)
    room, steps = budget << levels, 0
    for i in order:
        now = places[i]
        if now == least[i] or refused[now]:
            continue
        trial[:] = counts
        trial[family[now - 1], level[now - 1]] += 1
        if now < gaps.size:
            trial[family[now], level[now]] -= 1
        before = trial.copy()
        if load(trial, odd, prime, parent, levels, opened) <= room:
            counts[:] = before
            places[i] = now - 1
            steps += 1
        else:
            refused[now] = True
    return steps


@njit
def next_gain(limit: Floats, decay: Floats, gaps: Ints, places: Ints, least: Ints) -> Floats:
    """Return each source's gain per additional crawl with its next shorter gap; 0 without one."""
    gain = np.zeros(limit.size)
    for i in range(limit.size):
        if places[i] > least[i]:
            gain[i] = limit[i] * index_of_gap(decay[i], gaps, places[i] - 1)
    return gain
