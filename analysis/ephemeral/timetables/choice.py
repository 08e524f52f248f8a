"""Gaps for all sources from one grid: the relaxed problem over the grid, made to fit.

At a price every source has its best gap; the price is found at which the gaps begin to fit in the
budget, and the rest of the budget goes to one source after the other. On the powers of two it goes
exactly: the last source shares two neighbouring gaps p and 2p, with as many crawls as are left, and
what is earned is the value of the relaxed problem over the powers of two. Their multiples m, 2m,
4m, ... go in the same way: the epochs that are r modulo m are as many lines of the whole budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import check_integers
from analysis.display import brief
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.grid import (
    LEVELS,
    Grid,
    chain,
    crossing,
    load,
    multiples,
    next_gain,
    powers_of_two,
    raise_in_turn,
    tally,
    with_odd_parts,
)
from analysis.ephemeral.timetables.guarantees import guaranteed_loss, odd_below

#: Sources up to which every grid is tried; beyond, those alone that promise most.
_FEW = 5_000
#: Steps that are tried in one pass, those first that are worth most.
_STEPS = 20_000
_PASSES = 40


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
    gaps, (family, level) = grid.gaps, grid.place
    shape = (gaps, family, level, grid.families.odd, grid.families.prime, grid.families.parent)
    least = np.searchsorted(gaps, min_age)
    most = np.where(np.isinf(max_age), gaps.size, np.searchsorted(gaps, max_age, side="right") - 1)
    least = np.where(sources.u_star > 0.0, least, most)
    if (least > np.minimum(most, gaps.size)).any() or not _fits(most, budget, grid):
        return None
    often, seldom = least.copy(), most.copy()
    if _fits(least, budget, grid):
        return _as_choice(sources, grid, least)
    crossing(sources.u_star, sources.decay, *shape, budget, often, seldom)
    if grid.halves:
        return _fill_exactly(sources, budget, grid, often, seldom)
    return _as_choice(sources, grid, _fill(sources, budget, grid, seldom, least))


def _fill(sources: Sources, budget: int, grid: Grid, places: Ints, least: Ints) -> Ints:
    """Return places in the grid after shorter gaps have gone to one source after the other.

    All fit in the budget, and no gap is longer than twice the longest one that is in use already.
    """
    used = int(np.max(places, where=places < grid.gaps.size, initial=0))
    last = int(np.searchsorted(grid.gaps, 2 * grid.gaps[used], side="right"))
    gaps, (family, level) = grid.gaps[:last], (column[:last] for column in grid.place)
    shape = (gaps, family, level, grid.families.odd, grid.families.prime, grid.families.parent)
    places = np.minimum(places, last)
    for _ in range(_PASSES):
        gain = next_gain(sources.u_star, sources.decay, gaps, places, least)
        first = np.flatnonzero(gain)
        if first.size > _STEPS:
            first = first[np.argpartition(-gain[first], _STEPS)[:_STEPS]]
        order = first[np.argsort(-gain[first], kind="stable")]
        if not raise_in_turn(order, places, least, *shape, budget):
            break
    return np.where(places < last, places, grid.gaps.size)


def _fits(places: Ints, budget: int, grid: Grid) -> bool:
    """Return whether the gaps at some places of the grid fit in the budget."""
    (family, level), families = grid.place, grid.families
    levels = int(level.max())
    counts = np.zeros((families.odd.size, levels + 1), np.int64)
    tally(places, grid.gaps.size, family, level, counts)
    opened = np.zeros_like(counts)
    need = load(counts, families.odd, families.prime, families.parent, levels, opened)
    return bool(need <= budget << levels)


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


def check_odd_parts(odd_parts: Sequence[int]) -> tuple[int, ...]:
    """Return odd parts of gaps in rising order, 1 among them, or raise naming `odd_parts`."""
    odd = check_integers("odd_parts", odd_parts)
    if odd.ndim != 1 or not odd.size or odd.min() < 1 or odd.max() > 999 or (odd % 2 == 0).any():
        raise ValueError(f"odd_parts must be odd numbers from 1 to 999, got {odd_parts!r:.200}")
    return tuple(sorted({1, *map(int, odd)}))


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
