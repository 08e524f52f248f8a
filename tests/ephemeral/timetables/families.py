"""Sets that are hard for a timetable, and what every method gives on them, entry by entry."""

import io
import tempfile
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import gcd, lcm
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Observation, Sources, relaxed_problem, timetable
from analysis.ephemeral.timetables.packing import (
    assign_phases,
    disjoint,
    insert,
    pack,
    pack_shared,
)

LONGEST = 4096  # epochs that are enumerated


def due_at(*gaps):
    """Sources that the relaxed problem crawls at these ages for certain, at the price 1."""
    gap = np.array(gaps)
    decay = 0.6 / gap
    ages = np.array([gap, gap - 1])
    left = np.exp(-decay * ages)
    index = 1 - left - ages * left * -np.expm1(-decay)
    limit = 1 / index.mean(axis=0)
    return Sources(limit * decay, np.ones(gap.size), decay)


def limits_of(*rates):
    """Sources of given u* and decay."""
    limit, decay = np.array(rates).T
    return Sources(limit * decay, np.ones(limit.size), decay)


_DECADES = 10.0 ** np.arange(-7, 4)
#: Sources, budget, limits of gaps.
CASES = {
    "one source": (Sources([3.0], [1.0], [0.3]), 1, {}),
    "equal sources": (Sources([2.0] * 7, [1.0] * 7, [0.4] * 7), 3, {}),
    "budget of all": (limits_of((1, 0.1), (2, 0.3), (3, 1.0)), 3, {}),
    "decays over ten decades": (Sources(_DECADES, np.ones(11), _DECADES), 2, {}),
    "two gaps for one source": (limits_of((1, 40), (0.5 / 0.05, 0.05)), 1, {}),
    "worth nothing": (Sources([0.0, 2.0, 0.0, 1.0], [1.0] * 4, [0.1] * 4), 1, {}),
    "forbidden by their least gap": (
        limits_of((9, 0.1), (1, 0.3), (2, 0.5)), 1, {"min_age": [2**50, 1, 1]},
    ),
    "least gaps that bind": (
        Sources([50.0] * 5, [1.0] * 5, [2.0] * 5), 2, {"min_age": [2, 3, 3, 5, 8]},
    ),
    "greatest gaps that bind": (
        limits_of((9, 0.1), (1, 0.3), (2, 0.5), (2, 0.1)), 1, {"max_age": [2, 4, 8, 8]},
    ),
    "budget exactly full": (due_at(2, 4, 8, 8), 1, {}),
    "whole due ages 3": (due_at(3, 3, 3), 1, {}),
}  # fmt: skip


def on_cases(check):
    """One family a case."""
    return {name: lambda case=case: check(*case) for name, case in CASES.items()}


@cache
def _made(name, odd_parts):
    sources, budget, limits = CASES[name]
    return timetable(sources, budget, odd_parts=odd_parts, **limits)


def made(sources, odd_parts=None):
    """The timetable of a case."""
    name = next(name for name, case in CASES.items() if case[0] is sources)
    return _made(name, odd_parts)


def times_of(table, source, end):
    """Epochs of one source before an end, by the entries alone."""
    rows = zip(table.source, table.gap, table.phase, strict=True)
    return sorted(t for i, gap, phase in rows if i == source for t in range(phase, end, gap))


def meets(table):
    """Whether two entries of a channel are due together at some epoch: pair by pair."""
    rows = list(zip(table.channel.tolist(), table.gap.tolist(), table.phase.tolist(), strict=True))
    return any(
        c == d and (r - s) % gcd(k, m) == 0 for (c, k, r), (d, m, s) in combinations(rows, 2)
    )


def reward_by_hand(table):
    """Reward per epoch from the gaps between crawls, in high precision; None if too long."""
    total = mpmath.mpf(0)
    for i in range(len(table.sources)):
        own = table.gap[table.source == i].tolist()
        if not own:
            continue
        period = lcm(*own)
        if len(own) > 1 and period > LONGEST:
            return None
        times = times_of(table, i, period) if len(own) > 1 else [0]
        gaps = np.diff(times, append=times[0] + period).tolist()
        with mpmath.workdps(30):
            decay = mpmath.mpf(float(table.sources.decay[i]))
            limit = (
                mpmath.mpf(float(table.sources.arrival_rate[i]))
                * mpmath.mpf(float(table.sources.mean_utility[i]))
                / mpmath.mpf(float(table.sources.decay_rate[i]))
            )
            total += sum(-limit * mpmath.expm1(-decay * g) for g in gaps) / period
    return float(total)


def choices(sources, budget, limits):
    """Gaps within limits, no two crawls of a channel together, the reward of the gaps."""
    for odd_parts in (None, (1,)):
        table = made(sources, odd_parts)
        assert not meets(table)
        assert ((table.channel >= 0) & (table.channel < budget)).all()
        assert ((table.phase >= 0) & (table.phase < table.gap)).all()
        earned = reward_by_hand(table)
        assert earned is None or table.average_reward == pytest.approx(earned, rel=1e-12)
        bound = relaxed_problem(sources, budget, **limits).bound
        assert table.bound == pytest.approx(bound, rel=1e-9)
        assert table.average_reward <= bound * (1 + 1e-12)
        assert table.margin == pytest.approx(bound / table.average_reward - 1, abs=1e-9)
        least = np.broadcast_to(limits.get("min_age", 1), len(sources))
        most = np.broadcast_to(limits.get("max_age", np.inf), len(sources))
        for i in set(table.source.tolist()):
            longest = int(table.gap[table.source == i].min())
            single = (table.source == i).sum() == 1
            assert least[i] <= (longest if single else longest // 2)
            assert longest <= most[i]
        if not limits and odd_parts:
            assert table.average_reward >= (1 - 0.0378209) * bound


def exact_optima():
    """Due ages on the grid fill the budget: nothing is lost, and no crawl is left."""
    for name in ("one source", "budget of all", "budget exactly full", "whole due ages 3"):
        sources, budget, _ = CASES[name]
        table = made(sources)
        assert table.margin == pytest.approx(0.0, abs=1e-12)
        assert sum(1 / table.gap) == pytest.approx(budget)
    for name in ("worth nothing", "forbidden by their least gap"):
        assert 0 not in made(CASES[name][0]).source
    nothing = timetable(Sources([0.0] * 3, [1.0] * 3, [1.0] * 3), 1)
    assert (nothing.average_reward, nothing.bound, nothing.margin) == (0.0, 0.0, 0.0)
    assert nothing.verify()


def crawls(sources, budget, limits):
    """Crawls, policy and dates of epochs: those of the entries."""
    table = made(sources)
    end = min(lcm(*table.gap.tolist()), 256)
    for start in (0, 10**15):  # far from zero too
        for epoch in range(start, start + end):
            entries = zip(table.source, table.gap, table.phase, strict=True)
            due = sorted(int(i) for i, gap, phase in entries if epoch % gap == phase)
            assert table.crawls(epoch).tolist() == due
            assert len(due) <= budget
            seen = Observation(epoch, np.full(len(sources), 7), np.full(len(sources), np.nan))
            assert table.select(seen, budget).tolist() == due
        epoch, entry = table.due(start, start + end)
        listed = sorted(zip(epoch.tolist(), table.source[entry].tolist(), strict=True))
        assert listed == [(t, i) for t in range(start, start + end) for i in table.crawls(t)]
    if budget > 1:
        with pytest.raises(ValueError, match="budget"):
            table.select(seen, budget - 1)
    for wrong in (-1, 0.5, None):
        with pytest.raises(ValueError, match="epoch"):
            table.crawls(wrong)


def dated(sources, budget, limits):
    """Dates, periods and phases, and the written table: each the crawls of the entries."""
    table = made(sources)
    urls = [f"https://{i}.example/a?b={i},c" for i in range(len(sources))]
    seconds, start = 90, pd.Timestamp("2026-02-03 04:05:06", tz="UTC")
    first = -int(-start.timestamp() // seconds)
    end = first + min(lcm(*table.gap.tolist()), 300)
    truth = [(t, urls[i]) for t in range(first, end) for i in table.crawls(t)]
    dates = table.dates(start, seconds, end - first, urls)
    assert list(zip(dates["epoch"], dates["name"], strict=True)) == truth
    at = [pd.Timestamp(t * seconds, unit="s", tz="UTC") for t, _ in truth]
    assert dates["date"].tolist() == at
    written = io.StringIO()
    table.periods(seconds, urls).to_csv(written, index=False)
    read = pd.read_csv(io.StringIO(written.getvalue()))
    assert read.columns.tolist() == ["period", "phase", "url"]
    for t in range(first, end):
        fetched = read["url"][t * seconds % read["period"] == read["phase"]]
        assert sorted(fetched, key=urls.index) == [urls[i] for i in table.crawls(t)]
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(Path(folder) / "table.csv")
        again = pd.read_csv(Path(folder) / "table.csv")
    for column in ("gap", "phase", "channel"):
        assert again[column].tolist() == getattr(table, column).tolist()
    assert again["name"].astype(str).tolist() == [sources.names[i] for i in table.source]
    with pytest.raises(ValueError, match="urls"):
        table.periods(1, ["one too few"] * (len(sources) - 1))
    with pytest.raises(ValueError, match="seconds"):
        table.periods(0)


def verdicts(sources, budget, limits):
    """Each promise falsified in turn; a phase that is moved, only where two crawls then meet."""
    table = made(sources)
    assert table.verify()
    for field, wrong in {
        "average_reward": table.average_reward * (1 + 1e-6),
        "bound": table.bound * (1 - 1e-6),
        "budget": 0,
        "channel": table.channel + budget,
        "phase": table.phase + table.gap,
    }.items():
        assert not replace(table, **{field: wrong}).verify(), field
    rng = np.random.default_rng(1)
    for _ in range(10):
        phase = table.phase.copy()
        one = rng.integers(phase.size)
        phase[one] = rng.integers(table.gap[one])
        moved = replace(table, phase=phase)
        if np.bincount(table.source)[table.source[one]] == 1:
            assert moved.verify() != meets(moved)
    if np.isfinite(table.max_age).any():
        assert not replace(table, max_age=table.max_age / 2).verify()
    assert not replace(table, min_age=np.full(len(sources), 2.0**60)).verify()
    for number in (-1, len(sources)):
        assert not replace(table, source=np.full_like(table.source, number)).verify()


def removals(sources, budget, limits):
    """Every source in turn: the others keep their epochs, and the bound is still one."""
    table = made(sources)
    for gone in range(len(sources)):
        if len(sources) <= max(budget, 1):
            with pytest.raises(ValueError, match="source"):
                table.without(gone)
            continue
        left = table.without(gone)
        assert left.verify()
        others = [i for i in range(len(sources)) if i != gone]
        for new, old in enumerate(others):
            assert times_of(left, new, 512) == times_of(table, old, 512)
        assert list(left.sources.names) == [sources.names[i] for i in others]
        earned = reward_by_hand(left)
        assert earned is None or left.average_reward == pytest.approx(earned, rel=1e-12)
        of_rest = {name: np.delete(np.array(ages), gone) for name, ages in limits.items()}
        best = relaxed_problem(sources.subset(np.array(others)), budget, **of_rest).bound
        assert left.bound >= best * (1 - 1e-9)
    for wrong in (-1, len(sources), 0.5):
        with pytest.raises(ValueError, match="source"):
            table.without(wrong)


#: u* and decay of sources that come.
COMERS = {
    "worth nothing": (0.0, 1.0),
    "slow": (5.0, 1e-14),
    "fast": (5.0, 1e3),
    "like others": (5.0, 0.4),
}


def insertions(sources, budget, limits):
    """Sources come to what one has left, until the budget is full to the last crawl."""
    if limits or len(sources) <= budget:
        return
    table = made(sources, (1,))
    table = table.without(int(table.source[np.argmin(table.gap)]))
    for comer in COMERS.values():
        wider = table.with_source(limits_of(comer))
        assert wider.verify()
        assert not meets(wider)
        assert set(table.source) <= set(wider.source)
        names = list(wider.sources.names)
        assert names[:-1] == list(table.sources.names)
        assert len(set(names)) == len(names)
        own = wider.gap[wider.source == len(table.sources)].tolist()
        assert own == [] if comer[0] <= table.price else len(own) == 1
        earned = reward_by_hand(wider)
        assert earned is None or wider.average_reward == pytest.approx(earned, rel=1e-12)
        assert wider.bound >= relaxed_problem(wider.sources, budget).bound * (1 - 1e-9)
    room = budget - sum(1 / gap for gap in table.gap.tolist())
    while room > 0:  # the longest block that fits
        gap = 1 << int(np.ceil(-np.log2(room)))
        if gap > 1:
            with pytest.raises(ValueError, match="gap"):
                table.with_source(limits_of((5.0, 0.4)), gap // 2)
        table = table.with_source(limits_of((5.0, 0.4)), gap)
        assert table.verify()
        assert not meets(table)
        room -= 1 / gap
    assert room == 0
    for gap in (1, 2**20, None):
        with pytest.raises(ValueError, match="gap"):
            table.with_source(limits_of((1e9, 0.4)), gap)
    for gap in (0, 3, -2, 1.5, 2**41):
        with pytest.raises(ValueError, match="gap"):
            table.with_source(limits_of((1.0, 0.4)), gap)


def mixed_insertions():
    """Other gaps than powers of two, other periods, other costs, two sources: refused by name."""
    table = made(CASES["whole due ages 3"][0]).without(0)
    with pytest.raises(ValueError, match="powers of two"):
        table.with_source(limits_of((5.0, 0.4)), 4)
    for wrong in (
        limits_of((1, 1), (1, 1)), Sources([1.0], [1.0], [1.0], cost=2.0),
        Sources([1.0], [1.0], [1.0], period=2.0), "no source",
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match="added"):
            table.with_source(wrong)


def peaks_of_costs():
    """Peaks by brute force, at gaps and costs that differ as much as they can."""
    rng = np.random.default_rng(3)
    families = {
        "one entry": ([1], [3.0]),
        "equal": ([8] * 20, [1.0] * 20),
        "worth nothing": ([4, 2], [0.0, 0.0]),
        "costs over ten decades": (2 ** rng.integers(0, 10, 30), 10.0 ** rng.uniform(-5, 5, 30)),
        "3-partition": ([4] * 12, [25, 30, 45, 26, 33, 41, 27, 35, 38, 29, 31, 40]),
    }
    for gap, cost in families.values():
        gap, cost = np.array(gap), np.array(cost, dtype=float)
        phase, peak = assign_phases(gap, cost)
        assert ((phase >= 0) & (phase < gap)).all()
        epoch = np.arange(gap.max())[:, None]
        load = np.where(epoch % gap == phase, cost, 0.0).sum(axis=1)
        assert peak == pytest.approx(load.max(), rel=1e-12)
        order = np.lexsort((-cost, gap))
        before = np.cumsum((cost / gap)[order]) - (cost / gap)[order]
        assert peak <= (before + cost[order]).max() * (1 + 1e-12)
    assert assign_phases([2**40, 2**40], [1.0, 1.0])[1] == 1.0


def packings():
    """Entries that fill channels to the last class, and one that is then refused."""
    rng = np.random.default_rng(4)
    for budget in (1, 3):
        gaps = [1] * budget
        for _ in range(30):
            one = gaps.pop(int(rng.integers(len(gaps))))
            parts = int(rng.choice([2, 2, 3]))
            gaps += [parts * one] * parts if one % 3 or parts == 2 else [2 * one] * 2
        mixed = [gap for gap in gaps if gap % 3 == 0]
        powers = [gap for gap in gaps if gap % 3]
        for entries in filter(None, (powers, [2**40], [1] * budget, mixed[:2])):
            channel, phase = pack(entries, budget)
            rows = zip(channel.tolist(), entries, phase.tolist(), strict=True)
            assert not any(
                c == d and (r - s) % gcd(k, m) == 0
                for (c, k, r), (d, m, s) in combinations(list(rows), 2)
            )
            assert disjoint(channel, entries, phase)
        with pytest.raises(ValueError, match="gaps"):
            pack([*([1] * budget), 2**40], budget)


def shared_packings():
    """Room of just 1/q, and of all but the last block up to 2/q."""
    for longer in (2, 8, 64):
        for rest in ([4], [longer], [512], [2, 4, 8, 16, 32, 64, 128, 256, 512]):
            room = 1 - sum(1 / gap for gap in rest)
            if not 1 / longer <= room < 2 / longer:
                with pytest.raises(ValueError, match="gaps"):
                    pack_shared(rest, 1, longer)
                continue
            (_, phase), (_, phases, pieces) = pack_shared(rest, 1, longer)
            load = np.zeros(512, dtype=int)
            for gap, first in zip([*rest, *pieces], [*phase, *phases], strict=True):
                load[first::gap] += 1
            assert (load == 1).all()


def inserted():
    """Room in crumbs: all of it is of use, whatever has to move."""
    for width in (2, 16, 128):
        channel, phase = pack([width] * width, 1)
        kept = phase < width // 2
        for new in (2, width, 2**40):
            gap = np.append(np.full(width // 2, width), new)
            channels, phases = insert(channel[kept], gap[:-1], phase[kept], 1, new)
            rows = list(zip(gap.tolist(), phases.tolist(), strict=True))
            assert not channels.any()
            assert not any((r - s) % gcd(k, m) == 0 for (k, r), (m, s) in combinations(rows, 2))


FAMILIES = {
    "timetable": {
        **{f"gaps, {name}": check for name, check in on_cases(choices).items()},
        "nothing is lost": exact_optima,
    },
    "Timetable.crawls": on_cases(crawls),
    "Timetable.periods": on_cases(dated),
    "Timetable.verify": on_cases(verdicts),
    "Timetable.with_source": {**on_cases(insertions), "what cannot join": mixed_insertions},
    "Timetable.without": on_cases(removals),
    "timetables.packing.assign_phases": {"gaps and costs far apart": peaks_of_costs},
    "timetables.packing.insert": {"room in crumbs": inserted},
    "timetables.packing.pack": {"full to the last class": packings},
    "timetables.packing.pack_shared": {"least and most room": shared_packings},
}
