"""Phases for constant gaps, so that no epoch has more crawls than the budget.

**Powers of two.** Draw the budget M as the line [0, M), whose unit intervals are M *channels*. To
the block [c + a 2^-j, c + (a + 1) 2^-j) belong the epochs t = rev_j(a) mod 2^j of channel c, where
rev_j reverses j binary digits. The halves of a block have the two classes mod 2^(j+1) that make up
its own, so disjoint blocks have disjoint classes. Sources of gap 2^j take blocks of length 2^-j
from left to right in the order of rising gaps: every block is then aligned. They fit if and only if
the sum of their lengths is at most M.

**Several odd parts.** A *container* of the family of gaps m 2^j, with p the least prime factor of
m, is a class of gap 2^l m/p; it splits into p classes of gap 2^l m, which halve further. Families
are placed from the largest m down, the members of each in the order of rising j, and a container
with l = j is opened when all before it are full. Containers are members of the family of m/p.

**Unequal costs.** Density at most M does not suffice: gaps 1 and 2 with costs 1 and 2 have the mean
load 2 and some epoch carries 3; whether phases exist that keep a limit is strongly NP-hard
(3-partition: 3n sources of gap n). Gaps that are powers of two, placed in rising order, each in the
class of least load, with costs C and mean loads C/gap make no epoch heavier than max_i (D_i + C_i),
D_i the mean load of the entries placed before entry i: when it comes, loads are constant on the
classes modulo its gap, and the least of them is at most their mean D_i.

What a packing promises is checked from its gaps and phases alone by `disjoint`: classes r mod k and
r' mod k' meet if and only if r = r' mod gcd(k, k').

*Entries of a timetable; what they earn and keep to, from their gaps and phases alone.* An entry is
due at the epochs t with t = phase modulo gap. A source with several entries has one of a longest
gap and others half-way between its crawls, so that its gaps are that one and its half.

References: for the trees of classes, Bar-Noy, Dreizin and Patt-Shamir, Efficient algorithms for
periodic scheduling, Computer Networks 45 (2004) 155-173.
"""

from __future__ import annotations

from heapq import heappop, heappush
from shlex import quote

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints
from analysis.checks import check_array, check_integer, check_integers, check_whole
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.gaps import Choice, Families, load


def reverse(numbers: Ints, digits: int) -> Ints:
    """Return whole numbers below 2^digits with their `digits` binary digits reversed."""
    bits = numbers.astype(np.uint64)
    for shift, mask in (
        (1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF),
    ):  # fmt: skip
        step, keep = np.uint64(shift), np.uint64(mask)
        bits = ((bits >> step) & keep) | ((bits & keep) << step)
    return (bits >> np.uint64(64 - digits)).astype(np.int64) if digits else 0 * numbers


def pack(gaps: ArrayLike, budget: int) -> tuple[Ints, Ints]:
    """Return a channel, below `budget`, and a phase, below the gap, for each of K constant gaps.

    Entries of one channel have no epoch in common. ValueError if a gap is not in [1, 2^40], or the
    gaps do not fit in this way: powers of two fit if and only if the sum of 1/gap is at most the
    budget, other gaps may fit in another way.

    >>> pack([2, 4, 8, 8], budget=1)[1].tolist()
    [0, 1, 3, 7]
    """
    gap = check_integers("gaps", gaps)
    if gap.ndim != 1 or (gap.size and not 1 <= gap.min() <= gap.max() <= 2**40):
        raise ValueError(f"gaps must be one-dimensional, from 1 to 2^40, got {gaps!r:.200}")
    budget = check_whole("budget", budget, 1, 2**20)
    odd = gap // (gap & -gap)
    families = Families.of(odd)
    family = np.searchsorted(families.odd, odd)
    level = np.log2(gap // odd).astype(np.int64)
    digits = int(level.max(initial=0))
    counts = np.zeros((families.odd.size, digits + 1), np.int64)
    np.add.at(counts, (family, level), 1)
    opened = np.zeros_like(counts)
    need = load(counts, families, digits, opened)
    if need > budget << digits:
        raise ValueError(
            f"gaps must take at most the budget of {budget} crawls an epoch, got "
            f"{need / 2**digits:.6g} with the room that mixed gaps leave unused"
        )
    return _place(family, level, families, opened, digits)


def _place(
    family: Ints, level: Ints, families: Families, opened: Ints, digits: int
) -> tuple[Ints, Ints]:
    """Return channels and phases of entries m 2^level, in the containers that families open."""
    size, count = family.size, families.odd.size
    # Entries and containers alike are members of a family; containers come after the entries.
    number, exponent = np.nonzero(opened)
    repeats = opened[number, exponent].astype(np.intp)
    owner = np.repeat(number, repeats)  # family that each container serves
    member_level = np.concatenate([level, np.repeat(exponent, repeats)])
    member_family = np.concatenate([family, families.parent[owner]])
    channel, phase = np.empty((2, member_level.size), np.int64)
    order = np.lexsort((member_level, member_family))
    first = np.searchsorted(member_family[order], np.arange(count + 1))
    containers = size + np.searchsorted(owner, np.arange(count + 1))
    for m in range(count):
        members = order[first[m] : first[m + 1]]
        lengths = 1 << (digits - member_level[members])
        position = np.cumsum(lengths) - lengths
        if m == 0:
            channel[members] = position >> digits
            phase[members] = reverse(position & ((1 << digits) - 1), digits)
            continue
        prime, boxes = int(families.prime[m]), np.arange(containers[m], containers[m + 1])
        ends = np.cumsum(prime << (digits - member_level[boxes]))
        box_number = np.searchsorted(ends, position, side="right")
        box, low = boxes[box_number], member_level[boxes[box_number]]
        offset = position - (ends[box_number] - (prime << (digits - low)))
        child, within = offset >> (digits - low), offset & ((1 << (digits - low)) - 1)
        gap = (int(families.odd[m]) // prime) << low
        channel[members] = channel[box]
        halves = reverse(within, digits) >> low
        phase[members] = phase[box] + gap * (child + prime * halves)
    return channel[:size], phase[:size]


def pack_shared(
    gaps: ArrayLike, budget: int, longer: int
) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints, Ints]]:
    """Pack powers of two, and let one more source fill the budget with two neighbouring gaps.

    The gaps, shape (K,), leave room for a frequency between 1/longer and 2/longer, else ValueError;
    `longer`, a power of two of at least 2, is the longer gap of the source that shares. Returns
    channels and phases of the gaps; and channels, phases and gaps of the entries of the source that
    shares: one of gap `longer`, and others whose epochs lie half-way between two of those.
    """
    gap = check_integers("gaps", gaps)
    digits = int(np.log2(max(gap.max(initial=1), longer)))
    unit = 1 << digits
    length = unit // gap
    extra = (budget << digits) - int(length.sum()) - unit // longer
    if not 0 <= extra < unit // longer:
        room = extra / unit + 1 / longer
        raise ValueError(f"gaps must leave room from 1/{longer} to 2/{longer}, got {room:g}")
    order = np.argsort(gap, kind="stable")
    short = int(np.searchsorted(gap[order], longer))  # gaps of at most half the longer one
    sizes = length[order]
    start = np.cumsum(sizes) - sizes
    block = int(sizes[:short].sum())
    end = block + 2 * unit // longer
    start[short:] += 2 * unit // longer
    over = np.flatnonzero(start + sizes > budget << digits)  # they go back behind the shared source
    over = over[over >= short]
    start[over] = end - np.cumsum(sizes[over])
    position = np.empty_like(start)
    position[order] = start
    pieces = [unit // longer, *(1 << d for d in range(digits, -1, -1) if extra >> d & 1)]
    shares = np.array(pieces, dtype=np.int64)
    shares_start: Ints = block + np.cumsum(shares) - shares
    return (
        _class_of(position, digits),
        (*_class_of(shares_start, digits), unit // shares),
    )


def insert(channel: ArrayLike, gap: ArrayLike, phase: ArrayLike, budget: int, new: int) -> Ints:
    """Return channels and phases of a packing of powers of two with one more entry, the last.

    Where no class is free, entries of longer gaps move: of the classes that no single entry fills,
    the one that holds least is emptied for the new entry, and its entries are inserted elsewhere.
    With 2^J the longest gap in use, entries that take at most (J - j)/2^j of the budget move for a
    new gap 2^j. The result has shape (2, K + 1); ValueError if a gap is no power of two, or the new
    one takes more than is left of the budget.
    """
    gaps = np.append(check_integers("gap", gap), check_integer("new", new, 1, 2**40))
    if (gaps & (gaps - 1)).any():
        raise ValueError(
            f"gap must hold powers of two alone, got {np.unique(gaps).tolist()!r:.200}"
        )
    digits = int(np.log2(gaps.max()))
    length = (1 << digits) // gaps
    room = budget << digits
    if length.sum() > room:
        remaining = budget - float((1 / gaps[:-1]).sum())
        raise ValueError(
            f"new must fit in what is left of the budget, {remaining:.6g}, got 1/{new}"
        )
    start = (np.asarray(channel) << digits) + reverse(np.asarray(phase), digits)
    start = np.append(start, -1)
    waiting = [length.size - 1]
    while waiting:  # the longest blocks first
        entry = waiting.pop(0)
        size = int(length[entry])
        placed = np.flatnonzero(start >= 0)
        begin = _free_block(start[placed], length[placed], size, room)
        if begin < 0:
            begin = _least_filled(start[placed], length[placed], size)
            displaced = placed[(start[placed] >= begin) & (start[placed] < begin + size)]
            start[displaced] = -1
            waiting = sorted([*waiting, *displaced.tolist()], key=lambda e: -int(length[e]))
        start[entry] = begin
    return np.stack(_class_of(start, digits))


def _free_block(start: Ints, length: Ints, size: int, room: int) -> int:
    """Return the start of a free aligned block of a size, -1 if there is none.

    Of all such blocks it lies in the shortest free stretch of the line.
    """
    order = np.argsort(start)
    low = np.append(0, (start + length)[order])
    high = np.append(start[order], room)
    aligned = -(-low // size) * size
    fit = np.flatnonzero(aligned + size <= high)
    return int(aligned[fit[np.argmin((high - low)[fit])]]) if fit.size else -1


def _least_filled(start: Ints, length: Ints, size: int) -> int:
    """Return the start of the aligned block that holds least, in entries shorter than it alone."""
    short = length < size
    block, block_number = np.unique(start[short] // size, return_inverse=True)
    filled = np.bincount(block_number, weights=length[short].astype(float))
    return int(block[np.argmin(filled)]) * size


def _class_of(position: Ints, digits: int) -> tuple[Ints, Ints]:
    """Return channel and phase of blocks that begin at some positions of the line."""
    return position >> digits, reverse(position & ((1 << digits) - 1), digits)


def disjoint(channel: ArrayLike, gap: ArrayLike, phase: ArrayLike) -> bool:
    """Return whether no two entries of one channel are ever due at the same epoch.

    Entries, shape (K,), are due at the epochs t with t = phase modulo gap. No hyperperiod is
    enumerated: the entries of a channel are grouped by their phase modulo the greatest common
    divisor of their gaps; entries of different groups never meet, and within a group that divisor
    is taken out.
    """
    group, period, residue = (np.asarray(a, dtype=np.int64) for a in (channel, gap, phase))
    while group.size:
        order = np.argsort(group, kind="stable")
        group, period, residue = group[order], period[order], residue[order]
        first = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
        sizes = np.diff(first, append=group.size)
        many = np.repeat(sizes > 1, sizes)
        divisor = np.repeat(np.gcd.reduceat(period, first), sizes)
        stuck = many & (divisor == 1)
        if stuck.any():
            return _never_meet(group[stuck], period[stuck], residue[stuck]) and disjoint(
                group[many & ~stuck], period[many & ~stuck], residue[many & ~stuck]
            )
        group, period, residue, divisor = (a[many] for a in (group, period, residue, divisor))
        residue, remainder = np.divmod(residue, divisor)
        period //= divisor
        order = np.lexsort((remainder, group))
        group, remainder, period, residue = (a[order] for a in (group, remainder, period, residue))
        new = (np.diff(group, prepend=-1) != 0) | (np.diff(remainder, prepend=-1) != 0)
        group = np.cumsum(new)
    return True


def _never_meet(group: Ints, gap: Ints, phase: Ints) -> bool:
    """Return what `disjoint` does, pair by pair, for groups whose gaps have no common divisor."""
    for entry in range(group.size):
        later = slice(entry + 1, None)
        divisor = np.gcd(gap[entry], gap[later])
        meet = (group[entry] == group[later]) & ((phase[entry] - phase[later]) % divisor == 0)
        if meet.any():
            return False
    return True


def assign_phases(gaps: ArrayLike, costs: ArrayLike) -> tuple[Ints, float]:
    """Return phases of entries of unequal costs, each placed where the load is least, and the peak.

    `gaps` are powers of two up to 2^40, `costs` not negative, both of shape (K,), else ValueError.
    The peak is the largest cost of any epoch, at most ``max(D_i + C_i)``.

    >>> phase, peak = assign_phases([1, 2, 2], [1.0, 2.0, 1.0])
    >>> phase.tolist(), peak
    ([0, 0, 1], 3.0)
    """
    gap, cost = check_integers("gaps", gaps), check_array("costs", costs, 0)
    if gap.ndim != 1 or (gap.size and not 1 <= gap.min() <= gap.max() <= 2**40):
        raise ValueError(f"gaps must be one-dimensional, from 1 to 2^40, got {gaps!r:.200}")
    if (gap & (gap - 1)).any():
        raise ValueError(f"gaps must be powers of two, got {gaps!r:.200}")
    if cost.shape != gap.shape:
        raise ValueError(f"costs must have {gap.size} entries, one a gap, got {cost.size}")
    phase = np.zeros(gap.size, dtype=np.int64)
    classes: list[tuple[float, int, int]] = [(0.0, 0, 1)]  # load, phase, and gap of each class
    for entry in np.lexsort((-cost, gap)):
        load, first, width = heappop(classes)
        while width < gap[entry]:  # the halves of a class have its load
            heappush(classes, (load, first + width, 2 * width))
            width *= 2
        phase[entry] = first
        heappush(classes, (load + float(cost[entry]), first, width))
    return phase, max(load for load, _, _ in classes)


# Entries of a timetable; what they earn and keep to, from their gaps and phases alone


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
