"""Gaps for all sources from one grid: the relaxed problem over the grid, made to fit.

A source that is crawled every k epochs earns X(k)/k an epoch, X(k) = u*(1 - alpha^k). On a grid of
gaps with neighbours p < q the best gap at a price lambda for a crawl is the first p with

    gamma(p) = (q X(p) - p X(q)) / (q - p) >= lambda,

the intercept at 0 of the chord of X through p and q: the *grid index*. With q = p + 1 it is the
Whittle index at age p, and for the powers of two, q = 2p, it is u*(1 - alpha^p)^2. It rises with p,
so the gaps of all sources follow from one price.

A grid here is a set of gaps m 2^j, m odd. What gaps need of the budget is counted by `load` (see
`analysis.ephemeral.timetables.packing`): the sum of 1/k for powers of two alone, and a little more
where there are several odd parts. The price is found, by bisection, at which the gaps begin to fit
in the budget, and the rest of the budget goes to one source after the other. On the powers of two
it goes exactly: the last source shares two neighbouring gaps p and 2p, with as many crawls as are
left, and what is earned is the value of the relaxed problem over the powers of two. Their multiples
m, 2m, 4m, ... go in the same way: the epochs that are r modulo m are as many lines of the whole
budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import check_integers
from analysis.display import brief
from analysis.ephemeral.kernels import h
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.guarantees import guaranteed_loss, least_prime, odd_below
from analysis.kernel_cache import njit

#: Binary logarithm of the longest gap, and so of the parts that an epoch's place is cut into.
LEVELS = 30
_EXPONENTS = np.arange(LEVELS + 1, dtype=np.int64)
#: Sources up to which every grid is tried; beyond, those alone that promise most.
_FEW = 5_000
#: Steps that are tried in one pass, those first that are worth most.
_STEPS = 20_000
_PASSES = 40


class Families(NamedTuple):
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
        closed = {1}
        for number in map(int, np.unique(odd_parts)):
            while number > 1:
                closed.add(number)
                number //= least_prime(number)
        odd = sorted(closed)
        prime = [1, *(least_prime(m) for m in odd[1:])]
        parent = [odd.index(m // p) for m, p in zip(odd, prime, strict=True)]
        return cls(*(np.array(column, dtype=np.int64) for column in (odd, prime, parent)))


class Layout(NamedTuple):
    """The gaps m 2^j of a grid, each with the number of its family and j; and the families."""

    gaps: Ints
    family: Ints
    level: Ints
    families: Families


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Grid:
    """A set of gaps with a name: `gaps`, shape (G,), rise up to at most 2^30 times 63."""

    name: str
    gaps: Ints

    @property
    def halves(self) -> bool:
        """Whether each gap is twice the one before, so that the relaxed problem is attained."""
        return bool((self.gaps[1:] == 2 * self.gaps[:-1]).all())

    @cached_property
    def layout(self) -> Layout:
        """The gaps as the compiled loops take them."""
        odd = self.gaps // (self.gaps & -self.gaps)
        families = Families.of(odd)
        level = np.log2(self.gaps // odd).astype(np.int64)
        return Layout(self.gaps, np.searchsorted(families.odd, odd), level, families)


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


def grids(odd_parts: tuple[int, ...] | None, budget: int, min_age: Floats) -> list[Grid]:
    """Return the grids to try: that of `odd_parts`, or powers of two and some that lose least."""
    if odd_parts is not None:
        name = f"m 2^j, m in {', '.join(map(str, odd_parts))}"
        return [with_odd_parts(name, odd_parts) if odd_parts[1:] else powers_of_two()]
    below = sorted(map(odd_below, range(2, 9)), key=lambda odd: guaranteed_loss(budget, odd))
    few = min_age.size <= _FEW
    grids_tried = [powers_of_two()]
    for odd in below[: 5 if few else 2]:
        grids_tried.append(with_odd_parts(f"m 2^j, m odd below {odd[-1] + 1}", odd))
    if few:
        grids_tried += _for_few()
    least = int(min_age.max())
    if least > 1 and (min_age == least).all():
        grids_tried.append(multiples(least))
    return grids_tried


def _for_few() -> list[Grid]:
    """Return grids that can be better where there are few sources or few channels."""
    smooth = {3: (1, 3, 9, 27), 5: (1, 3, 5, 9, 15, 25, 27, 45)}
    grids_tried = [with_odd_parts(f"{p}-smooth numbers", odd) for p, odd in smooth.items()]
    grids_tried += [chain(odd, level) for odd in (3, 5, 7) for level in range(8)]
    grids_tried += [multiples(odd) for odd in (3, 5, 7)]
    for odd in ((1, 3), (1, 3, 5, 7)):
        for level in (1, 2, 3, 5):
            name = f"powers of two, and m 2^j, m in {odd[1:]}, from j = {level} on"
            grids_tried.append(with_odd_parts(name, odd, level))
    return grids_tried


def check_odd_parts(odd_parts: Sequence[int]) -> tuple[int, ...]:
    """Return odd parts of gaps in rising order, 1 among them, or raise naming `odd_parts`."""
    odd = check_integers("odd_parts", odd_parts)
    if odd.ndim != 1 or not odd.size or odd.min() < 1 or odd.max() > 999 or (odd % 2 == 0).any():
        raise ValueError(f"odd_parts must be odd numbers from 1 to 999, got {odd_parts!r:.200}")
    return tuple(sorted({1, *map(int, odd)}))


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Choice:
    """Gaps that fit in the budget: `gap`, shape (N,), on the `grid`, 0 for never.

    Source number `shared`, if not -1, shares two neighbouring gaps; its `gap` is the longer of the
    two. `average_reward` is per epoch.
    """

    grid: Grid
    gap: Ints
    shared: int
    average_reward: float


def choose(
    sources: Sources, budget: int, grid: Grid, min_age: Floats, max_age: Floats
) -> Choice | None:
    """Return the gaps of all sources on a grid, between `min_age` and `max_age`, shape (N,).

    None if the grid has no gap between the two limits of a source, or the greatest ones do not fit
    in the budget.
    """
    gaps, layout = grid.gaps, grid.layout
    least = np.searchsorted(gaps, min_age)
    most = np.where(np.isinf(max_age), gaps.size, np.searchsorted(gaps, max_age, side="right") - 1)
    least = np.where(sources.u_star > 0.0, least, most)
    if (least > np.minimum(most, gaps.size)).any() or not fits(most, layout, budget):
        return None
    if fits(least, layout, budget):
        return _as_choice(sources, grid, least)
    often, seldom = least.copy(), most.copy()
    bracket_places(sources.u_star, sources.decay, layout, budget, often, seldom)
    if grid.halves:
        return _fill_exactly(sources, budget, grid, often, seldom)
    return _as_choice(sources, grid, _fill(sources, budget, grid, seldom, least))


def _fill(sources: Sources, budget: int, grid: Grid, places: Ints, least: Ints) -> Ints:
    """Return places in the grid after shorter gaps have gone to one source after the other.

    All fit in the budget, and no gap is longer than twice the longest one that is in use already.
    """
    used = int(np.max(places, where=places < grid.gaps.size, initial=0))
    last = int(np.searchsorted(grid.gaps, 2 * grid.gaps[used], side="right"))
    gaps, family, level = (column[:last] for column in grid.layout[:3])
    layout = Layout(gaps, family, level, grid.layout.families)
    places = np.minimum(places, last)
    for _ in range(_PASSES):
        gain = next_gain(sources.u_star, sources.decay, gaps, places, least)
        first = np.flatnonzero(gain)
        if first.size > _STEPS:
            first = first[np.argpartition(-gain[first], _STEPS)[:_STEPS]]
        order = first[np.argsort(-gain[first], kind="stable")]
        if not raise_in_turn(order, places, least, layout, budget):
            break
    return np.where(places < last, places, grid.gaps.size)


def _as_choice(sources: Sources, grid: Grid, places: Ints) -> Choice:
    """Return gaps at places of a grid as a `Choice` without a source that shares."""
    gap = np.append(grid.gaps, 0)[places]
    rates = sources.state_at_age(gap) / np.maximum(gap, 1)
    return Choice(grid, gap, -1, float(rates.sum()))


def _fill_exactly(sources: Sources, budget: int, grid: Grid, often: Ints, seldom: Ints) -> Choice:
    """Return the choice that spends the whole budget on a grid in which each gap is twice the last.

    Sources move from their longer to their shorter gap in the order of gain; one shares the two.
    """
    gaps, unit = grid.gaps, 1 << LEVELS
    base = int(gaps[0])
    length = np.append(unit // (gaps // base), 0)  # of a crawl's place on the line; 0 for never
    tied = np.flatnonzero(often < seldom)
    steps = (seldom[tied] - often[tied]).astype(np.intp)
    source = np.repeat(tied, steps)
    start = np.cumsum(steps) - steps
    # One neighbour at a time: the steps of a source from its longest gap on.
    step_to = np.repeat(seldom[tied], steps) - (np.arange(source.size) - np.repeat(start, steps))
    gain = np.array([0.0]) if not source.size else _gain(sources, gaps, source, step_to - 1)
    order = np.lexsort((-step_to, -gain))
    spent = np.cumsum((length[step_to - 1] - length[step_to])[order])
    remaining = (budget * base << LEVELS) - int(length[seldom].sum())
    steps_taken = int(np.searchsorted(spent, remaining, side="right"))
    places = seldom.copy()
    np.subtract.at(places, source[order[:steps_taken]], 1)
    extra = remaining - (int(spent[steps_taken - 1]) if steps_taken else 0)
    if extra == 0 or steps_taken == source.size:
        return _as_choice(sources, grid, places)
    shared = int(source[order[steps_taken]])
    longer = int(gaps[places[shared]])
    frequency = 1 / longer + extra / (unit * base)
    rounded = _as_choice(sources, grid, places)
    content = sources.state_at_age(np.array([[longer // 2], [longer]]))[:, shared]
    # The chord: between two gaps the reward rate is linear in the frequency.
    often_share = (frequency - 1 / longer) * longer
    rate = often_share * content[0] / (longer / 2) + (1 - often_share) * content[1] / longer
    reward = rounded.average_reward - content[1] / longer + rate
    return Choice(grid, rounded.gap, shared, float(reward))


def _gain(sources: Sources, gaps: Ints, source: Ints, position: Ints) -> Floats:
    """Return a source's grid index at a place of a grid in which each gap is twice the last."""
    gap = gaps[position]
    last = position + 1 == gaps.size
    content = -np.expm1(-sources.decay[source] * gap)
    return sources.u_star[source] * np.where(last, content, content**2)


def best_power_of_two(source: Sources, price: float) -> int:
    """Return the first power of two at which the grid index of one source reaches a price.

    In closed form 2^ceil(log2(-log(1 - sqrt(price/u*))/d)), d the decay of an epoch; 0 for a source
    that is not worth the price at any gap.
    """
    share = price / float(source.u_star[0]) if source.u_star[0] > 0.0 else np.inf
    if share >= 1.0:
        return 0
    gap = max(1.0, -np.log1p(-np.sqrt(share)) / float(source.decay[0]))
    return 1 << min(LEVELS, int(np.ceil(np.log2(gap))))


# Compiled loops. Places in the grid stand for gaps, the place after the last one for never.


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
def load(counts: Ints, families: Families, levels: int, opened: Ints) -> int:
    """Return the part of the budget that sources of given gaps take, in 2^-levels of a crawl.

    `counts`, shape (F, levels + 1), has the sources of each family m and exponent j; containers are
    added to their family, in place. `opened`, of the same shape, is set to the containers that each
    family opens at each exponent. The result is the sum of 2^-j over sources and containers of
    family 1.
    """
    for family in range(families.odd.size - 1, 0, -1):
        free, prime = 0, families.prime[family]
        for level in range(levels + 1):
            free *= 2
            lacking = counts[family, level] - free
            opened_now = 0
            if lacking > 0:
                opened_now = (lacking + prime - 1) // prime
                counts[families.parent[family], level] += opened_now
            opened[family, level] = opened_now
            free = opened_now * prime - lacking
    total = 0
    for level in range(levels + 1):
        total += counts[0, level] << (levels - level)
    return total


@njit
def count_places(places: Ints, layout: Layout) -> Ints:
    """Count sources by family and exponent."""
    counts = np.zeros((layout.families.odd.size, layout.level.max() + 1), np.int64)
    for place in places:
        if place < layout.gaps.size:
            counts[layout.family[place], layout.level[place]] += 1
    return counts


@njit
def fits(places: Ints, layout: Layout, budget: int) -> bool:
    """Return whether the gaps at some places of the grid fit in the budget."""
    counts, levels = count_places(places, layout), layout.level.max()
    return load(counts, layout.families, levels, np.zeros_like(counts)) <= budget << levels


@njit
def bracket_places(
    limit: Floats, decay: Floats, layout: Layout, budget: int, often: Ints, seldom: Ints
) -> None:
    """Find the price at which the best gaps of all sources begin to fit in the budget.

    `limit` and `decay` are u* and mu T of the N sources. `often` and `seldom`, shape (N,), are the
    least and greatest place that each source may have; on return, its places just below the price,
    where they do not fit, and just above it, where they do.
    """
    gaps, family, level = layout.gaps, layout.family, layout.level
    levels = level.max()
    counts = np.zeros((layout.families.odd.size, levels + 1), np.int64)
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
        all_fit = load(counts, layout.families, levels, opened) <= room
        remaining = 0
        for i in active:
            if all_fit:
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
        if all_fit:
            high = middle
        else:
            low = middle


@njit
def raise_in_turn(order: Ints, places: Ints, least: Ints, layout: Layout, budget: int) -> int:
    """Give sources the next shorter gap, one after the other, wherever all fit; return the steps.

    `order` has the sources, those first that gain most per crawl; `places` change in place, down to
    `least`. A step from one gap to the next that did not fit is not tried again.
    """
    family, level = layout.family, layout.level
    counts, levels = count_places(places, layout), level.max()
    trial, opened = counts.copy(), counts.copy()
    refused = np.zeros(layout.gaps.size + 1, np.bool_)
    room, steps = budget << levels, 0
    for i in order:
        now = places[i]
        if now == least[i] or refused[now]:
            continue
        trial[:] = counts
        trial[family[now - 1], level[now - 1]] += 1
        if now < layout.gaps.size:
            trial[family[now], level[now]] -= 1
        before = trial.copy()
        if load(trial, layout.families, levels, opened) <= room:
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
