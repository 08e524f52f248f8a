"""Phases by brute force over the hyperperiod, and the thresholds that no packing can pass."""

from itertools import combinations, product
from math import gcd, lcm

import numpy as np
import pytest

from analysis.ephemeral.timetables.guarantees import waste
from analysis.ephemeral.timetables.packing import disjoint, insert, pack, pack_shared, reverse
from tests.ephemeral.timetables.test_table import drawn

FAMILIES = ([1], [1, 3], [1, 3, 5, 7], [1, 3, 9, 27], [1, 3, 5, 9, 15, 25])


def phases_exist(gaps, budget):
    """Tell by trying all phases whether constant gaps fit, the load of every epoch counted."""
    period = lcm(*gaps)
    epochs = np.arange(period)
    for phases in product(*(range(gap) for gap in gaps[1:])):
        load = (epochs % gaps[0] == 0).astype(int)
        for gap, phase in zip(gaps[1:], phases, strict=True):
            load += epochs % gap == phase
        if load.max() <= budget:
            return True
    return False


def loads(gap, phase, channel, channels):
    """Crawls of each channel at each epoch of the hyperperiod."""
    load = np.zeros((channels, lcm(*map(int, gap))), dtype=int)
    for c, k, r in zip(channel, gap, phase, strict=True):
        load[c, r::k] += 1
    return load


def check_packing(seed):
    """Gaps are added until one does not fit: what fits has no two crawls of a channel together."""
    rng = np.random.default_rng([5, seed])
    odd = FAMILIES[seed % len(FAMILIES)]
    budget = int(rng.integers(1, 6))
    gaps = []
    while True:
        gap = int(rng.choice(odd) * 2 ** rng.integers(0, 5))
        try:
            channel, phase = pack([*gaps, gap], budget)
        except ValueError:
            break
        gaps.append(gap)
    # Density up to the budget less the waste always fits.
    assert sum(1 / k for k in [*gaps, gap]) > budget - waste(odd) - 1e-12
    if not gaps or lcm(*gaps) > 200_000:
        return
    channel, phase = pack(gaps, budget)
    gaps = np.array(gaps)
    assert ((phase >= 0) & (phase < gaps)).all()
    assert loads(gaps, phase, channel, budget).max() == 1
    assert disjoint(channel, gaps, phase)
    moved = phase.copy()  # one phase changed at random: refused if and only if two crawls meet
    one = rng.integers(gaps.size)
    moved[one] = rng.integers(gaps[one])
    meets = loads(gaps, moved, channel, budget).max() > 1
    assert disjoint(channel, gaps, moved) != meets


@drawn(50)
def test_packing(seeds):
    for seed in seeds:
        check_packing(seed)


def test_powers_of_two_fill_budget():
    rng = np.random.default_rng(1)
    for _ in range(50):
        gaps = [1] * 3
        for _ in range(40):  # halve one place after the other
            one = gaps.pop(int(rng.integers(len(gaps))))
            gaps += [2 * one, 2 * one]
        gaps = rng.permutation([k for k in gaps if k <= 2**14] or [1])
        channel, phase = pack(gaps, 3)
        assert loads(gaps, phase, channel, 3).max() == 1
        if sum(1 / gaps) == 3:
            with pytest.raises(ValueError, match="gaps"):
                pack([*gaps, 2**40], 3)
    channel, phase = pack([2**40] * 2, 1)
    assert disjoint(channel, [2**40] * 2, phase)


@pytest.mark.parametrize(
    ("gaps", "budget"),
    [([2, 3], 1), ([3, 4], 1), ([3, 8], 1), ([3, 5, 7, 8], 3), ([3, 5, 8], 2), ([3, 5, 4], 2)],
)
def test_density_alone_is_not_enough(gaps, budget):
    """Different odd primes and a power of two, one more than channels: some epoch has them all."""
    assert sum(1 / k for k in gaps) < budget
    assert not phases_exist(gaps, budget)
    with pytest.raises(ValueError, match="gaps"):
        pack(gaps, budget)


def test_waste_is_a_sharp_threshold():
    """{1, 3}: density 1/3 always fits in one channel; 1/3 and a little need not."""
    assert waste([1, 3]) == pytest.approx(2 / 3)
    for exponent in range(2, 12):
        gaps = [3, 2**exponent]  # density 1/3 + 2^-exponent
        with pytest.raises(ValueError, match="gaps"):
            pack(gaps, 1)
    assert pack([3], 1)[1].tolist() == [0]  # and a single source attains the waste


@pytest.mark.parametrize("seed", range(40))
def test_shared_source_has_two_gaps(seed):
    rng = np.random.default_rng([seed, 2])
    longer = int(2 ** rng.integers(1, 7))
    budget = int(rng.integers(1, 4))
    gaps, room = [], budget - 1 / longer
    for gap in (2 ** rng.integers(0, 10, 200)).tolist():
        if 1 / gap <= room:
            gaps.append(gap)
            room -= 1 / gap
    for gap in gaps[::-1]:  # leave room for more than the longer gap, and less than the shorter one
        if room + 1 / gap < 1 / longer and rng.random() < 0.7:
            gaps.remove(gap)
            room += 1 / gap
    (channel, phase), (channels, phases, pieces) = pack_shared(gaps, budget, longer)
    every = [np.concatenate(p) for p in ((gaps, pieces), (phase, phases), (channel, channels))]
    load = loads(*every, budget)
    assert (load == 1).all()  # nothing is left
    times = np.zeros(load.shape[1], dtype=int)
    for k, r in zip(pieces, phases, strict=True):
        times[r::k] += 1
    crawls = np.flatnonzero(times)
    around = np.diff(crawls, append=crawls[0] + times.size)
    assert set(around.tolist()) <= {longer // 2, longer}


def test_reversal_of_digits():
    for digits in (0, 1, 5, 16):
        numbers = np.arange(2 ** min(digits, 10))
        text = [format(n, f"0{digits}b")[::-1] if digits else "0" for n in numbers]
        assert reverse(numbers, digits).tolist() == [int(t, 2) for t in text]


@pytest.mark.parametrize("exponent", [1, 4, 6, 7])
def test_half_channel_is_wasted(exponent):
    """Every second class of 2^j is free: no class of a shorter gap is, until entries move."""
    width = 2**exponent
    gaps = np.full(width, width)
    channel, phase = pack(gaps, 1)
    kept = phase < width // 2  # of each pair of classes that make up one of half the gap, one stays
    for new in (2, width, 2**40):
        channels, phases = insert(channel[kept], gaps[kept], phase[kept], 1, new)
        rows = list(zip([*gaps[kept].tolist(), new], phases.tolist(), strict=True))
        assert not channels.any()
        assert not any((r - s) % gcd(k, m) == 0 for (k, r), (m, s) in combinations(rows, 2))
        moved = (phases[:-1] != phase[kept]).sum()
        if new == 2:
            assert moved / width <= (exponent - 1) / 2
        assert (moved > 0) == (new < width)


def test_what_cannot_be_packed_is_refused():
    for gaps in ([0], [[2]], [2**41]):
        with pytest.raises(ValueError, match="gaps"):
            pack(gaps, 1)
    for gaps in ([], [1], [2], [4, 8]):
        with pytest.raises(ValueError, match="gaps"):
            pack_shared(gaps, 1, 4)
    with pytest.raises(ValueError, match="gap"):
        insert([0], [3], [0], 1, 2)
    with pytest.raises(ValueError, match="new"):
        insert([0], [2], [0], 1, 1)
    assert disjoint([], [], [])
    assert disjoint([0, 0, 0], [6, 10, 15], [0, 1, 2])  # pairwise divisors 2, 3 and 5, none common
    assert not disjoint([0, 0, 0], [6, 10, 15], [0, 1, 3])
