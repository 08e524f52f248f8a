"""One source fewer or more in a timetable of powers of two, without a new packing of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import check_integer, check_kind
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.bound import bound_at_price
from analysis.ephemeral.timetables.choice import best_power_of_two
from analysis.ephemeral.timetables.entries import reward_of_entries
from analysis.ephemeral.timetables.packing import insert

if TYPE_CHECKING:
    from analysis.ephemeral.timetables.table import Timetable


def without(table: Timetable, source: int) -> Timetable:
    """Return what `Timetable.without` does."""
    source = check_integer("source", source, 0, len(table.sources) - 1)
    if len(table.sources) <= max(table.budget, 1):
        raise ValueError(f"source must leave at least {table.budget} others, one a crawl")
    places = np.delete(np.arange(len(table.sources)), source)
    kept = np.flatnonzero(table.source != source)
    number = table.source[kept] - (table.source[kept] > source)
    names = table.sources.names or ()
    left = replace(table.sources.subset(places), names=[names[i] for i in places.tolist()])
    limits = (table.min_age[places], table.max_age[places])
    return _changed(table, left, limits, number, table.gap[kept], table.phase[kept],
                    table.channel[kept])  # fmt: skip


def with_source(table: Timetable, added: Sources, gap: int | None) -> Timetable:
    """Return what `Timetable.with_source` does."""
    check_kind("added", added, Sources)
    if len(added) != 1 or added.cost[0] != 1.0 or added.period != table.sources.period:
        raise ValueError("added must be one source with a cost of 1 and the same period")
    best = best_power_of_two(added, table.price) if gap is None else _power_of_two(gap)
    room = table.budget - float((1.0 / table.gap).sum())
    if best * room < 1.0:
        if gap is not None or (best and room <= 0.0):
            raise ValueError(f"gap must fit in what is left of the budget, {room:.6g}, got "
                             f"1/{best}")  # fmt: skip
        best = max(best, 1 << int(np.ceil(-np.log2(room)))) if best else 0
    joined = Sources(
        np.append(table.sources.arrival_rate, added.arrival_rate),
        np.append(table.sources.mean_utility, added.mean_utility),
        np.append(table.sources.decay_rate, added.decay_rate),
        period=table.sources.period,
        names=_with_name(table.sources.names or (), (added.names or ("",))[0]),
    )
    entries = (table.source, table.gap, table.phase, table.channel)
    if best:
        channel, phase = insert(table.channel, table.gap, table.phase, table.budget, best)
        number, gaps = np.append(table.source, len(joined) - 1), np.append(table.gap, best)
        entries = (number, gaps, phase, channel)
    limits = (np.append(table.min_age, 1.0), np.append(table.max_age, np.inf))
    wider = _changed(table, joined, limits, *entries)
    if np.isnan(wider.average_reward):  # entries of one source have moved apart
        return with_source(_without_sharing(table), added, gap)
    return wider


def _without_sharing(table: Timetable) -> Timetable:
    """Return the timetable in which each source has its entry of the least gap alone."""
    order = np.lexsort((table.gap, table.source))
    kept = np.sort(order[np.unique(table.source[order], return_index=True)[1]])
    entries = (table.source[kept], table.gap[kept], table.phase[kept], table.channel[kept])
    return _changed(table, table.sources, (table.min_age, table.max_age), *entries)


def _changed(
    table: Timetable,
    sources: Sources,
    limits: tuple[Floats, Floats],
    source: Ints,
    gap: Ints,
    phase: Ints,
    channel: Ints,
) -> Timetable:
    """Return other entries for other sources, with their reward and the bound at the price."""
    if table.hosts is not None:
        raise ValueError("a timetable with hosts cannot change its sources: make a new one")
    least, most = limits
    return replace(
        table, sources=sources, source=source, gap=gap, phase=phase, channel=channel,
        min_age=least, max_age=most,
        average_reward=reward_of_entries(sources, source, gap, phase),
        bound=bound_at_price(sources, table.budget, table.price, min_age=least, max_age=most),
    )  # fmt: skip


def _power_of_two(gap: int) -> int:
    """Return a gap that is a power of two up to 2^40, or raise naming `gap`."""
    gap = check_integer("gap", gap, 1, 2**40)
    if gap & (gap - 1):
        raise ValueError(f"gap must be a power of two, got {gap}")
    return gap


def _with_name(names: Sequence[str], name: str) -> list[str]:
    """Return names and one more, or a number if there is that one already."""
    taken = set(names)
    numbers = map(str, count(len(taken) + 1))
    return [*names, next(n for n in chain([name], numbers) if n not in taken)]
