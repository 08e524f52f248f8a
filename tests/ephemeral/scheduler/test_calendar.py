"""The calendar keeps every entry, however buckets and thresholds fall."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral.scheduler import calendar as buckets


def limits(least):
    return buckets.Limits(np.asarray(least, np.int32), np.empty(0, np.int32))


def entries_of(limit, decay):
    entries = np.zeros(len(decay), buckets.ENTRIES["double"])
    entries["limit"], entries["decay"] = limit, decay
    entries["number"] = np.arange(len(decay))
    return entries


def filled(entries, theta, least):
    calendar = buckets.with_room(buckets.empty_calendar(), entries.size)
    buckets.insert(calendar, entries, 0, theta, limits(least))
    return calendar


def numbers_in(calendar, size):
    out = np.empty(size, buckets.ENTRIES["double"])
    assert buckets.extract(calendar, np.ones(size, bool), out, True) == size
    return np.sort(out["number"]).tolist()


def test_spreading_bucket_keeps_entries():
    # A thousand entries due at once; then one in each of a thousand buckets, while six hundred
    # buckets that hold one entry wait to be sorted anew.
    spreading = 0.2 / np.arange(2, 1002)  # index 0.02 at about these ages
    decay = np.concatenate([spreading, np.full(600, 1.0)])
    limit = np.concatenate([np.ones(1000), np.full(600, 1e9)])
    least = np.concatenate([np.ones(1000, int), np.arange(2, 602)])
    calendar = filled(entries_of(limit, decay), 0.0, least)
    buckets.rebuild(calendar, 0, 0.02, limits(least))
    assert (calendar.head >= 0).sum() > 900
    assert numbers_in(calendar, 1600) == list(range(1600))


@given(st.integers(1, 3000), st.integers(0, 2**32 - 1), st.lists(st.floats(0, 1), max_size=4))
@settings(max_examples=60)
def test_resorting_keeps_entries(size, seed, thetas):
    rng = np.random.default_rng(seed)
    entries = entries_of(rng.lognormal(0, 1, size), rng.lognormal(-4, 2, size))
    least = [rng.integers(0, 9)]
    calendar = filled(entries, 0.01, least)
    for theta in thetas:
        buckets.rebuild(calendar, 0, theta, limits(least))
        assert numbers_in(calendar, size) == list(range(size))
        used = sum(
            -(-buckets.bucket_size(calendar, e) // buckets.BLOCK) for e in range(buckets.RING)
        )
        dormant, block = 0, calendar.head[buckets.DORMANT]
        while block >= 0:
            dormant, block = dormant + 1, calendar.link[block]
        assert used + dormant + calendar.free[1] == calendar.link.size


def test_small_calendar_is_refused():
    entries = entries_of(np.ones(4000), np.full(4000, 0.1))
    calendar = buckets.with_room(buckets.empty_calendar(), 0)
    with pytest.raises(MemoryError, match="out of blocks"):
        buckets.insert(calendar, np.tile(entries, 100), 0, 0.0, limits(np.arange(4000) % 1000))
