"""Entries of a timetable; what they earn and keep to, from their gaps and phases alone.

An entry is due at the epochs t with t = phase modulo gap. A source with several entries has one of
a longest gap and others half-way between its crawls, so that its gaps are that one and its half.
"""

from __future__ import annotations

from shlex import quote

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.choice import Choice
from analysis.ephemeral.timetables.packing import disjoint, pack, pack_shared


def entries_of(choice: Choice, budget: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return source, gap, phase and channel of each entry, in order of source and of phase.

    The gaps of the choice fit in the budget; a packing gives their phases.
    """
    unshared = np.flatnonzero((choice.gap > 0) & (np.arange(choice.gap.size) != choice.shared))
    gap = choice.gap[unshared]
    if choice.shared < 0:
        rows = [unshared, gap, *reversed(pack(gap, budget))]
    else:
        longer, base = int(choice.gap[choice.shared]), int(choice.grid.gaps[0])
        packed = pack_shared(gap // base, budget * base, longer // base)
        # Line number c of the budget times m is one of the m classes modulo m of a channel.
        (channel, phase), (channels, phases) = (
            (lines // base, base * places + lines % base) for lines, places, *_ in packed
        )
        gaps = base * packed[1][2]
        pairs = (
            (unshared, np.full(gaps.size, choice.shared)), (gap, gaps), (phase, phases),
            (channel, channels),
        )  # fmt: skip
        rows = [np.concatenate(pair) for pair in pairs]
    order = np.lexsort((rows[2], rows[0]))
    source, gap, phase, channel = (row[order] for row in rows)
    return source, gap, phase, channel


def reward_of_entries(sources: Sources, source: Ints, gap: Ints, phase: Ints) -> float:
    """Return the reward per epoch; nan if the entries of one source do not halve its gap.

    `source`, `gap` and `phase` have one row an entry, shape (E,).
    """
    gaps = np.zeros(len(sources), dtype=np.int64)
    single = np.bincount(source.astype(np.intp), minlength=len(sources))[source] == 1
    gaps[source[single]] = gap[single]
    alone = float((sources.state_at_age(gaps) / np.maximum(gaps, 1)).sum())
    if single.all():
        return alone
    return alone + _reward_of_several(sources, source[~single], gap[~single], phase[~single])


def _reward_of_several(sources: Sources, source: Ints, gap: Ints, phase: Ints) -> float:
    """Return the reward per epoch of sources with several entries."""
    order = np.lexsort((gap, source))
    source, gap, phase = source[order], gap[order], phase[order]
    which, first, group = np.unique(source, return_index=True, return_inverse=True)
    longer, between = gap[first][group], np.ones(order.size, dtype=bool)
    between[first] = False
    half_way = (phase - phase[first][group]) % longer * 2 == longer
    apart = disjoint(source, gap, phase)
    if not (apart and half_way[between].all() and (gap[between] % longer[between] == 0).all()):
        return np.nan
    rate = np.bincount(group[between], 1.0 / gap[between], which.size)
    ages = np.zeros((2, len(sources)), dtype=np.int64)
    ages[:, which] = gap[first] // np.array([[2], [1]])
    halves, wholes = sources.state_at_age(ages)[:, which]
    return float((2.0 * rate * halves + (1.0 / gap[first] - rate) * wholes).sum())


def keeps_ages(min_age: Floats, max_age: Floats, source: Ints, gap: Ints) -> bool:
    """Return whether the gaps between crawls lie in the limits of each source."""
    shortest = np.full(min_age.size, np.inf)
    np.minimum.at(shortest, source, gap)
    longest = shortest.copy()  # of the first entry of a source; others halve it here and there
    shortest[np.bincount(source.astype(np.intp), minlength=min_age.size) > 1] /= 2
    spared = np.isinf(max_age) | (longest <= max_age)
    return bool(((shortest >= min_age) & spared).all())


def cron_line(name: str, gap: int, phase: int, command: str, minutes: int) -> str:
    r"""Return an entry as a line of a crontab: epochs of some minutes; `name` follows `command`.

    The line computes the number of the epoch from 1970-01-01 00:00 UTC on, since the fields of cron
    know no gap that does not divide an hour or a day. The name is quoted for the shell.

    >>> cron_line("1", 2, 0, "fetch", 60)
    '0 * * * * [ $(( $(date +\\%s) / 3600 \\% 2 )) -eq 0 ] && fetch 1\n'
    """
    field = "0" if minutes % 60 == 0 else f"*/{minutes}" if 60 % minutes == 0 else "*"
    seconds, step = (60 * minutes, 1) if field != "*" or minutes == 1 else (60, minutes)
    if minutes > 60 and field == "0":
        seconds, step = 3600, minutes // 60
    test = f"$(( $(date +\\%s) / {seconds} \\% {gap * step} )) -eq {phase * step}"
    return f"{field} * * * * [ {test} ] && {command} {quote(name)}\n"
