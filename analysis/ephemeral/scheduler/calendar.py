"""Calendar of due sources: buckets of entries by the epoch at which they fall due.

Between crawls the index of a source depends on its age alone and rises with it, so a threshold
theta gives every source its *due age*, the first at which its index is at least theta. The calendar
keeps each source in the bucket of the epoch at which it falls due; one that is due and not crawled
moves on to the next epoch's bucket. So the epoch's bucket holds every source whose index is at
least theta, and if the M largest indices in it are above theta they are the M largest of all. The
calendar is the index policy itself, whatever theta is: theta is a matter of speed alone.

A bucket is a chain of packed blocks of entries, and an entry holds all that its source's index
needs, so that an epoch reads and writes memory in order; a linked list of sources, or a table of
sources that buckets point into, would miss the cache at every step.

*The index at an age without branches or calls, so that loops over sources compile to SIMD code.* It
equals `analysis.ephemeral.index.whittle_index_at_age` up to a few units in the last place, at a few
nanoseconds a source. The value for a source and an age is the same to the last bit in every loop,
so that the order of sources does not depend on how the work is split. Polynomials are evaluated
with explicit fused multiply-add instructions, which leave the compiler no choice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.lagrangian import advantage
from analysis.kernel_cache import COMPILED, intrinsic, njit

# The index at an age without branches or calls, so that loops over sources compile to SIMD code


def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, rounded once."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


def _multiply_and_add(a: float, b: float, c: float) -> float:
    """Return a b + c, rounded twice, in place of `_fma` where nothing is compiled."""
    return a * b + c


fma: Any = intrinsic(_fma, _multiply_and_add)


@njit(inline="always")
def exp_minus(z: float) -> float:
    """Return exp(-z) for z >= 0 to one unit in the last place; it compiles to SIMD code."""
    z = min(z, 700.0)
    n = np.floor(z * 1.4426950408889634 + 0.5)
    r = (n * 6.93147180369123816490e-01 - z) + n * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    p = fma(p, r, 1.0 / 479001600.0)
    p = fma(p, r, 1.0 / 39916800.0)
    p = fma(p, r, 1.0 / 3628800.0)
    p = fma(p, r, 1.0 / 362880.0)
    p = fma(p, r, 1.0 / 40320.0)
    p = fma(p, r, 1.0 / 5040.0)
    p = fma(p, r, 1.0 / 720.0)
    p = fma(p, r, 1.0 / 120.0)
    p = fma(p, r, 1.0 / 24.0)
    p = fma(p, r, 1.0 / 6.0)
    p = fma(p, r, 0.5)
    # 1023 - n stands in the last bits of a double near 2^52; the shift makes it the exponent.
    power = np.int64(np.float64((1023.0 - n) + 6755399441055744.0).view(np.int64) << 52)
    return (1.0 + (r + r * r * p)) * power.view(np.float64)


@njit(inline="always")
def bend_of(decay: float) -> float:
    """Return h(mu T) = exp(-mu T) - 1 + mu T >= 0, in a form that compiles to SIMD code."""
    y = min(decay, 0.5)
    s = 1.0 / 87178291200.0
    s = fma(s, y, -1.0 / 6227020800.0)
    s = fma(s, y, 1.0 / 479001600.0)
    s = fma(s, y, -1.0 / 39916800.0)
    s = fma(s, y, 1.0 / 3628800.0)
    s = fma(s, y, -1.0 / 362880.0)
    s = fma(s, y, 1.0 / 40320.0)
    s = fma(s, y, -1.0 / 5040.0)
    s = fma(s, y, 1.0 / 720.0)
    s = fma(s, y, -1.0 / 120.0)
    s = fma(s, y, 1.0 / 24.0)
    s = fma(s, y, -1.0 / 6.0)
    s = fma(s, y, 0.5)
    return s * y * y if decay <= 0.5 else decay - 1.0 + exp_minus(decay)


@njit(inline="always")
def shares(decay: float, bend: float, age: float) -> tuple[float, float]:
    """Return the index in units of u*/C and the content in units of u*, at an age.

    With z = mu T k they are e^-z (e^z - 1 - z + k h) and e^-z (z + e^z - 1 - z); the bracketed
    differences come from a series for z <= 1/2. Without branches, so that it compiles to SIMD code.
    """
    z = decay * age
    remaining = exp_minus(z)
    s = 1.0 / 1307674368000.0
    s = fma(s, z, 1.0 / 87178291200.0)
    s = fma(s, z, 1.0 / 6227020800.0)
    s = fma(s, z, 1.0 / 479001600.0)
    s = fma(s, z, 1.0 / 39916800.0)
    s = fma(s, z, 1.0 / 3628800.0)
    s = fma(s, z, 1.0 / 362880.0)
    s = fma(s, z, 1.0 / 40320.0)
    s = fma(s, z, 1.0 / 5040.0)
    s = fma(s, z, 1.0 / 720.0)
    s = fma(s, z, 1.0 / 120.0)
    s = fma(s, z, 1.0 / 24.0)
    s = fma(s, z, 1.0 / 6.0)
    s = fma(s, z, 0.5)
    s *= z * z
    turn = age * bend
    old = z > 0.5
    index = 1.0 - remaining * (1.0 + z - turn) if old else remaining * (s + turn)
    content = 1.0 - remaining if old else remaining * (z + s)
    return index, content


Ints = NDArray[np.int32]
Entries = NDArray[np.void]

PRECISIONS = {"double": "f8", "single": "f4"}
"""Types of the rates in an entry; all computations are in double precision."""
ENTRIES = {
    name: np.dtype(
        [
            ("limit", rate),  # u*/C
            ("decay", rate),  # mu T
            ("number", "i4"),  # number of the source
            ("last", "i4"),  # epoch of the last crawl
            ("due", "i4"),  # age at which it falls due
        ]
    )
    for name, rate in PRECISIONS.items()
}
NEVER = 2**30
"""Due age of a source whose index stays below the threshold; such sources have one bucket."""
AHEAD = 3
"""Entries by which prefetching is ahead of the last entry of a bucket."""
RING = 1024
DORMANT = RING
BLOCK = 256


class Calendar(NamedTuple):
    """Buckets of entries: one for each of the next RING epochs, one for sources never due.

    `pool` holds blocks of BLOCK entries; `link` chains blocks of one bucket, or free ones; `head`
    and `fill` are the first block of each bucket and the entries in it; `free` is the first free
    block, how many there are, and whether one was missing.
    """

    pool: Entries
    link: Ints
    head: Ints
    fill: Ints
    free: NDArray[np.int64]


def empty_calendar(precision: str = "double") -> Calendar:
    """Return a calendar without room for any entry; its rates have one of the `PRECISIONS`."""
    # Compiled code reads fields of records as attributes, NumPy those of a recarray alone.
    kind = np.ndarray if COMPILED else np.recarray
    return Calendar(
        kind(0, ENTRIES[precision]),
        np.empty(0, np.int32),
        np.full(RING + 1, -1, np.int32),
        np.zeros(RING + 1, np.int32),
        np.array([-1, 0, 0]),
    )


def precision_of(entries: Entries) -> str:
    """Return the precision of the rates in entries; raise ValueError if there is none."""
    for name, kind in ENTRIES.items():
        if entries.dtype == kind:
            return name
    raise ValueError(f"entries must be of one of the kinds of this module, got {entries.dtype}")


def with_room(calendar: Calendar, entries: int) -> Calendar:
    """Return the calendar with room for so many entries, whatever their buckets."""
    have = calendar.link.size
    missing = entries // BLOCK + RING + 4 - have
    if missing <= 0:
        return calendar
    missing = max(missing, have // 8)  # growing in proportion keeps the cost per added source low
    link = np.arange(1, have + missing + 1, dtype=np.int32)
    link[:have] = calendar.link
    link[-1] = calendar.free[0]
    # Resizing in place avoids a copy; there is no other reference to the pool.
    calendar.pool.resize((have + missing) * BLOCK, refcheck=False)
    free = np.array([have, calendar.free[1] + missing, 0])
    return calendar._replace(link=link, free=free)


def _prefetch(typing_context: Any, address: Any) -> Any:
    """Emit an instruction that loads the cache line at an address ahead of its use."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, word = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [ir.Constant(word, flag) for flag in (0, 3, 1)]  # read, keep, data
        builder.call(function, [builder.inttoptr(args[0], pointer), *flags])
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _no_prefetch(address: int) -> None:
    """Do nothing, in place of `_prefetch` where nothing is compiled."""


prefetch: Any = intrinsic(_prefetch, _no_prefetch)


NO_CAPS = np.empty(0)
"""No caps, for pages without a price."""


class Limits(NamedTuple):
    """Minimal and maximal ages: none, one for all sources, or one a number.

    `cap` holds the largest index of each number if pages have a price, and is empty otherwise. So
    is `goal`, unless sources rank by the Lagrangian index: then it holds the due age of each number
    at `crawl_price`.
    """

    least: Ints
    most: Ints
    cap: Floats = NO_CAPS
    goal: Floats = NO_CAPS
    crawl_price: float = 0.0


@njit(inline="always")
def least_age(limits: Limits, number: int) -> Any:
    """Return the minimal age of a source."""
    least = limits.least
    return np.int64(least[number if least.size > 1 else 0]) if least.size else np.int64(0)


@njit
def first_age(entry: Any, theta: float, least: Any) -> Any:
    """Return the first age, at least `least`, at which the index is at least theta; or NEVER."""
    limit, decay = np.float64(entry.limit), np.float64(entry.decay)
    if theta <= 0.0:
        return least
    if theta >= limit:
        return NEVER
    bend, ratio = bend_of(decay), theta / limit
    guess = max(np.sqrt(2.0 * ratio), -np.log1p(-ratio)) / decay
    above = np.int64(min(max(guess, least), NEVER))
    step = 1
    if limit * shares(decay, bend, float(above))[0] >= theta:
        below = above - step
        while below >= least and limit * shares(decay, bend, float(below))[0] >= theta:
            above, step = below, 2 * step
            below = above - step
        below = max(below, least - 1)
    else:
        below, above = above, above + step
        while limit * shares(decay, bend, float(above))[0] < theta:
            below, step = above, 2 * step
            above = below + step
            if above >= NEVER:
                return NEVER
    while above - below > 1:
        middle = (below + above) // 2
        if limit * shares(decay, bend, float(middle))[0] >= theta:
            above = middle
        else:
            below = middle
    return above


@njit
def worth(limit: float, decay: float, goal: float, crawl_price: float, age: float) -> float:
    """Return the Lagrangian index plus the price, which is never negative: a crawl's worth now."""
    return max(advantage(limit, decay, goal, crawl_price, age) + crawl_price, 0.0)


@njit
def first_age_of_worth(entry: Any, theta: float, goal: float, price: float, least: Any) -> Any:
    """Return the first age, at least `least`, at which the worth is at least theta; or NEVER."""
    limit, decay = np.float64(entry.limit), np.float64(entry.decay)
    if theta <= 0.0:
        return least
    below, above = np.int64(least) - 1, np.int64(NEVER)
    if theta <= price and goal < NEVER:
        above = max(np.int64(goal), np.int64(least))
    elif worth(limit, decay, goal, price, float(NEVER)) < theta:
        return NEVER
    while above - below > 1:
        middle = (below + above) // 2
        if worth(limit, decay, goal, price, float(middle)) >= theta:
            above = middle
        else:
            below = middle
    return above


@njit(inline="always")
def due_age(entry: Any, theta: float, limits: Limits) -> Any:
    """Return the age at which an entry falls due."""
    if limits.goal.size:
        goal = limits.goal[entry.number]
        least = least_age(limits, entry.number)
        due = first_age_of_worth(entry, theta, goal, limits.crawl_price, least)
    else:
        due = first_age(entry, theta, least_age(limits, entry.number))
    if limits.cap.size and (limits.cap[entry.number] < theta or limits.cap[entry.number] < 0.0):
        due = NEVER
    if limits.most.size:
        due = min(due, limits.most[entry.number])
    return due


@njit
def check_blocks(calendar: Calendar) -> None:
    """Raise if no free block was left for an entry, which would then be lost.

    A calendar from `with_room` always has a free block.
    """
    if calendar.free[2]:
        raise MemoryError("the calendar is out of blocks")


@njit
def fresh_block(calendar: Calendar, after: int) -> Any:
    """Take a free block and link it before another in its chain."""
    fresh = np.int32(calendar.free[0])
    calendar.free[2] |= fresh < 0
    calendar.free[0] = calendar.link[fresh]
    calendar.free[1] -= 1
    calendar.link[fresh] = after
    return fresh


@njit(inline="always")
def push(calendar: Calendar, entry: Any, earliest: int) -> None:
    """Add an entry to the bucket of the epoch at which it falls due, `earliest` or later."""
    if entry.due == NEVER:
        bucket = DORMANT
    else:
        bucket = min(max(entry.last + entry.due, earliest), earliest + RING - 2) & (RING - 1)
    block = calendar.head[bucket]
    if block < 0 or calendar.fill[bucket] == BLOCK:
        # Inlined, and with a flag instead of an exception: a call or a raise in this loop would
        # count references to the arrays for every entry, and take four times as long.
        fresh = np.int32(calendar.free[0])
        calendar.free[2] |= fresh < 0
        calendar.free[0] = calendar.link[fresh]
        calendar.free[1] -= 1
        calendar.link[fresh] = block
        calendar.head[bucket] = block = fresh
        calendar.fill[bucket] = 0
    slot = np.int64(block) * BLOCK + calendar.fill[bucket]
    calendar.pool[slot] = entry
    calendar.fill[bucket] += 1
    # For the next entry of this bucket.
    prefetch(calendar.pool.ctypes.data + (slot + AHEAD) * calendar.pool.itemsize)


@njit(inline="always")
def release(calendar: Calendar, block: int) -> int:
    """Free a block; return the next block of its chain."""
    after = calendar.link[block]
    calendar.link[block] = calendar.free[0]
    calendar.free[0] = block
    calendar.free[1] += 1
    return after


@njit
def bucket_size(calendar: Calendar, epoch: int) -> int:
    """Return the number of entries in the bucket of an epoch."""
    bucket = epoch & (RING - 1)
    block = calendar.head[bucket]
    size = 0 if block < 0 else calendar.fill[bucket] - BLOCK
    while block >= 0:
        size += BLOCK
        block = calendar.link[block]
    return size


@njit
def insert(calendar: Calendar, entries: Entries, epoch: int, theta: float, limits: Limits) -> None:
    """Add entries to the calendar, due under theta."""
    for j in range(entries.size):
        entry = entries[j]
        entry.due = due_age(entry, theta, limits)
        push(calendar, entry, epoch)
    check_blocks(calendar)


@njit
def gather(calendar: Calendar) -> tuple[int, int]:
    """Move all entries into one chain; return its first block, the only partial one, and its fill.

    This frees the partly filled blocks before the buckets are filled again.
    """
    first, fill = -1, BLOCK
    for bucket in range(RING + 1):
        block, size = calendar.head[bucket], calendar.fill[bucket]
        calendar.head[bucket] = -1
        while block >= 0:
            after = calendar.link[block]
            if size == BLOCK and first < 0:
                calendar.link[block] = -1
                first = block
            elif size == BLOCK:
                calendar.link[block] = calendar.link[first]
                calendar.link[first] = block
            else:
                for j in range(size):
                    if fill == BLOCK:
                        first, fill = fresh_block(calendar, first), 0
                    slot = np.int64(first) * BLOCK + fill
                    calendar.pool[slot] = calendar.pool[np.int64(block) * BLOCK + j]
                    fill += 1
                release(calendar, block)
            block, size = after, BLOCK
    return first, fill


@njit
def rebuild(calendar: Calendar, epoch: int, theta: float, limits: Limits) -> None:
    """Sort all entries anew under another threshold, in place."""
    block, size = gather(calendar)
    while block >= 0:
        for j in range(np.int64(block) * BLOCK, np.int64(block) * BLOCK + size):
            entry = calendar.pool[j]
            entry.due = due_age(entry, theta, limits)
            push(calendar, entry, epoch)
        block, size = release(calendar, block), BLOCK
    check_blocks(calendar)


@njit
def extract(calendar: Calendar, marked: NDArray[np.bool_], out: Entries, leave: bool) -> int:
    """Copy the entries of the marked numbers to `out`; remove them unless `leave` is true.

    Returns the number of entries found.
    """
    count = 0
    for bucket in range(RING + 1):
        block, j = calendar.head[bucket], 0
        while block >= 0:
            head = calendar.head[bucket]
            if j == (calendar.fill[bucket] if block == head else BLOCK):
                block, j = calendar.link[block], 0
                continue
            slot = np.int64(block) * BLOCK + j
            if not marked[calendar.pool[slot].number]:
                j += 1
                continue
            out[count] = calendar.pool[slot]
            count += 1
            if leave:
                j += 1
                continue
            # The last entry of the first block fills the hole. It has been looked at already,
            # unless the hole is in that block, too.
            calendar.fill[bucket] -= 1
            calendar.pool[slot] = calendar.pool[np.int64(head) * BLOCK + calendar.fill[bucket]]
            if block != head:
                j += 1
            if calendar.fill[bucket] == 0:
                calendar.head[bucket] = release(calendar, head)
                calendar.fill[bucket] = BLOCK
                if block == head:
                    block, j = calendar.head[bucket], 0
    return count
