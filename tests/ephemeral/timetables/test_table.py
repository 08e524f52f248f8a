"""Timetables: gaps, loads and rewards by brute force, optimum by a linear program, and bounds."""

import io
import subprocess
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import gcd, lcm

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from analysis.ephemeral import (
    Observation,
    Sources,
    bound_at_price,
    four_sources,
    relaxed_problem,
    timetable,
)
from tests.ephemeral.sets import SETS

LONGEST = 2**12  # periods that are enumerated


def drawn(few):
    """Mark a test of many random cases: of a few seeds, and of a thousand more in `make proofs`."""
    more = pytest.param(range(few, few + 1000), marks=pytest.mark.slow)
    return pytest.mark.parametrize("seeds", [range(few), more], ids=["few", "thousand"])


def random_case(seed):
    """Sources of like or very different rates, some worth nothing, and a budget."""
    rng = np.random.default_rng([29, seed])
    size = int(rng.choice([1, 2, 3, 4, 5, 8, 20, 60]))
    spread = float(rng.choice([0.0, 0.3, 1.0, 2.0]))
    sources = Sources(
        rng.lognormal(0, spread, size) * (rng.random(size) > 0.1),
        rng.lognormal(0, spread / 2, size),
        rng.lognormal(-1, spread, size),
    )
    return sources, int(rng.integers(1, size + 1))


def value_of_linear_program(content, gaps, budget):
    """Largest reward of frequencies of gaps whose sum is the budget, by HiGHS.

    `content`, shape (N, G), is what a crawl of each source brings after each gap.
    """
    size, count = content.shape
    cost = -(content / gaps).ravel()
    once = np.kron(np.eye(size), np.ones(count))
    load = np.tile(1 / gaps, size)[None]
    bounds = np.concatenate([np.ones(size), [budget]])
    found = linprog(cost, A_ub=np.vstack([once, load]), b_ub=bounds, method="highs")
    return -found.fun


def bound_of_real_gaps(sources, budget):
    """Largest reward when gaps may be any real numbers of at least 1 on average, by bisection.

    At a price the best gap g has X(g) - g X'(g) equal to it.
    """
    limit, decay = sources.u_star, sources.decay

    def at(price):
        low, high = np.ones(len(sources)), np.full(len(sources), 1e9)
        for _ in range(60):
            gap = np.sqrt(low * high)
            fade = np.exp(-decay * gap)
            short = limit * (1 - fade - decay * gap * fade) < price
            low, high = np.where(short, gap, low), np.where(short, high, gap)
        surplus = np.maximum(0, (limit * -np.expm1(-decay * high) - price) / high)
        return price * budget + surplus.sum()

    low, high = 0.0, float(limit.max(initial=0.0))
    for _ in range(40):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at(high)


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
    "rates over ten decades": (SETS["rates over ten decades"], 1, {}),
    "decay 1e-14": (SETS["decay 1e-14"], 1, {}),
    "decay 1e3": (SETS["decay 1e3"], 1, {}),
}  # fmt: skip
ON_CASES = pytest.mark.parametrize("name", CASES)


@cache
def made(name, odd_parts=None):
    """The timetable of a case."""
    sources, budget, limits = CASES[name]
    return timetable(sources, budget, odd_parts=odd_parts, **limits)


def times_of(table, source, end):
    """Epochs of one source before an end, by the entries alone."""
    rows = zip(table.source, table.gap, table.phase, strict=True)
    return sorted(t for i, gap, phase in rows if i == source for t in range(phase, end, gap))


def gaps_of(table, source):
    """Gaps between the crawls of one source, over a period of its entries."""
    period = lcm(*table.gap[table.source == source].tolist())
    times = times_of(table, source, period)
    return np.diff(times, append=times[0] + period).tolist()


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
        gaps = gaps_of(table, i) if len(own) > 1 else own
        with mpmath.workdps(30):
            decay = mpmath.mpf(float(table.sources.decay[i]))
            limit = (
                mpmath.mpf(float(table.sources.arrival_rate[i]))
                * mpmath.mpf(float(table.sources.mean_utility[i]))
                / mpmath.mpf(float(table.sources.decay_rate[i]))
            )
            total += sum(-limit * mpmath.expm1(-decay * g) for g in gaps) / period
    return float(total)


def check_entries(table, **limits):
    """By the entries alone: no two crawls of a channel together, gaps within limits, the reward."""
    sources, budget = table.sources, table.budget
    assert table.verify()
    assert not meets(table)
    assert ((table.channel >= 0) & (table.channel < budget)).all()
    assert ((table.phase >= 0) & (table.phase < table.gap)).all()
    bound = relaxed_problem(sources, budget, **limits).bound
    assert table.bound == pytest.approx(bound, rel=1e-9)
    assert table.average_reward <= bound * (1 + 1e-12)
    if table.average_reward > 0:
        assert table.margin == pytest.approx(bound / table.average_reward - 1, abs=1e-9)
    earned = reward_by_hand(table)
    assert earned is None or table.average_reward == pytest.approx(earned, rel=1e-12)
    least = np.broadcast_to(limits.get("min_age", 1), len(sources))
    most = np.broadcast_to(limits.get("max_age", np.inf), len(sources))
    assert set(np.flatnonzero(np.isfinite(most))) <= set(table.source)
    entries = np.bincount(table.source, minlength=len(sources))
    assert (entries > 1).sum() <= 1
    for i in np.flatnonzero(entries):
        own = table.gap[table.source == i]
        longest = int(own.min())
        assert least[i] <= (longest if own.size == 1 else longest // 2)
        assert longest <= most[i]
        if own.size > 1 and lcm(*own.tolist()) <= LONGEST:
            assert set(gaps_of(table, i)) == {longest // 2, longest}


@pytest.mark.parametrize("odd_parts", [None, (1,)], ids=["best grid", "powers of two"])
@ON_CASES
def test_hard_sets_have_timetables(name, odd_parts):
    limits, table = CASES[name][2], made(name, odd_parts)
    check_entries(table, **limits)
    if not limits and odd_parts:
        assert table.average_reward >= (1 - 0.0378209) * table.bound


def check_powers_of_two(seed):
    """The relaxed problem over the powers of two is attained, and all gaps are such powers."""
    sources, budget = random_case(seed)
    table = timetable(sources, budget, odd_parts=(1,))
    check_entries(table)
    assert (table.gap & (table.gap - 1) == 0).all()
    gaps = 2 ** np.arange(25)
    content = sources.state_at_age(gaps[:, None]).T
    best = value_of_linear_program(content, gaps, budget)
    assert table.average_reward == pytest.approx(best, rel=1e-7)
    assert table.average_reward >= (1 - 0.0378209) * table.bound
    real = bound_of_real_gaps(sources, budget)  # crawls at any real time
    assert real >= table.bound * (1 - 1e-9)
    assert table.average_reward >= (1 - 0.0378209) * real


@pytest.mark.sampled
@drawn(80)
def test_powers_attain_relaxed_problem(seeds):
    for seed in seeds:
        check_powers_of_two(seed)


def check_best_grid(seed):
    sources, budget = random_case(seed)
    table = timetable(sources, budget)
    check_entries(table)
    assert table.average_reward >= timetable(sources, budget, odd_parts=(1,)).average_reward


@drawn(40)
def test_best_grid(seeds):
    for seed in seeds:
        check_best_grid(seed)


@pytest.mark.parametrize("seed", range(30))
def test_the_certificate_is_n_maxima(seed):
    """The bound at any price by brute force over the gaps; the printed price gives the least."""
    sources, budget = random_case(seed)
    table = timetable(sources, budget)
    gaps = np.arange(1, 3000)[:, None]
    for factor in (0.0, 0.7, 1.0, 1.4):
        price = factor * table.price
        best = ((sources.state_at_age(gaps) - price) / gaps).max(axis=0)
        brute = price * budget + np.maximum(best, 0).sum()
        assert bound_at_price(sources, budget, price) == pytest.approx(brute, rel=1e-6)
        assert brute >= table.bound * (1 - 1e-6)
    assert bound_at_price(sources, budget, table.price) == pytest.approx(table.bound, rel=1e-12)


@pytest.mark.parametrize("decay", [1e-14, 1e-10])
def test_price_of_slow_sources(decay):
    """Best gaps of millions of epochs, in high precision."""
    sources = Sources([250.0, 50.0], [1.0, 1.0], [decay, 3 * decay])
    for price in (1.0, 1e5, 1e9):
        total = mpmath.mpf(price)
        for m, u, limit in zip(sources.decay, sources.u, sources.u_star, strict=True):
            gaps = [int(np.sqrt(2 * price / (u * m)) * 1.001**j) + 1 for j in range(-9, 10)]
            with mpmath.workdps(60):
                m, limit = mpmath.mpf(float(m)), mpmath.mpf(float(limit))
                total += max(0, *((-limit * mpmath.expm1(-m * k) - price) / k for k in gaps))
        assert bound_at_price(sources, 1, price) == pytest.approx(float(total), rel=1e-8)


def test_ages_are_kept_within_limits():
    rng = np.random.default_rng(3)
    for _ in range(40):
        size = int(rng.integers(2, 9))
        budget = int(rng.integers(1, size + 1))
        sources = Sources(rng.uniform(0.1, 9, size), np.ones(size), rng.uniform(0.05, 2, size))
        least = rng.integers(1, 4, size)
        most = np.where(rng.random(size) < 0.3, 8 * size, np.inf)
        table = timetable(sources, budget, min_age=least, max_age=most)
        check_entries(table, min_age=least, max_age=most)
        bound = bound_at_price(sources, budget, table.price, min_age=least, max_age=most)
        assert bound == pytest.approx(table.bound, rel=1e-9)


def test_price_needs_equal_costs():
    with pytest.raises(ValueError, match="sources"):
        bound_at_price(Sources([1.0, 2.0], [1.0, 1.0], [0.5, 0.5], cost=[1.0, 2.0]), 1, 0.1)


def test_infeasible_gaps_are_refused():
    alike = Sources(np.ones(3), np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="max_age"):
        timetable(alike, 1, max_age=3, odd_parts=(1,))  # round robin is no power of two
    assert timetable(alike, 1, max_age=3).gap.tolist() == [3, 3, 3]


def check_changes(seed):
    """Sources leave and come; return how often a source no longer alternates between two gaps.

    All classes stay disjoint, every source keeps an entry, and few entries move.
    """
    simpler = 0
    rng = np.random.default_rng([seed, 10])
    size, budget = int(rng.integers(3, 30)), int(rng.integers(1, 3))
    sources = Sources(rng.lognormal(0, 1, size), np.ones(size), rng.lognormal(-1, 1, size))
    table = timetable(sources, budget, odd_parts=(1,))
    for _ in range(6):
        gone = int(rng.integers(len(table.sources)))
        if len(table.sources) <= budget + 1:
            break
        before = {i: table.phase[table.source == i] for i in range(len(table.sources))}
        table = table.without(gone)
        assert table.verify()
        for i in range(len(table.sources)):
            same = before[i + (i >= gone)]
            assert np.array_equal(table.phase[table.source == i], same)
        if (1 / table.gap).sum() > budget - 1e-9:
            continue
        rates = [[rng.lognormal(0, 1)], [3.0], [rng.lognormal(-1, 1)]]
        wider = table.with_source(Sources(*rates))
        assert wider.verify()
        added = wider.gap[wider.source == len(table.sources)]
        assert set(table.source) <= set(wider.source)
        assert wider.average_reward <= wider.bound * (1 + 1e-12)
        assert wider.margin >= 0.0
        simpler += len(wider) < len(table)
        if added.size and len(wider) == len(table) + 1:
            kept = len(table)
            moved = (wider.phase[:kept] != table.phase) | (wider.channel[:kept] != table.channel)
            levels = np.log2(max(wider.gap.max(), 2) / added[0])
            assert (1 / table.gap[moved]).sum() <= max(0, levels) / added[0] + 1e-12
        table = wider
    return simpler


@drawn(25)
def test_sources_come_and_go(seeds):
    for seed in seeds:
        check_changes(seed)


def test_rounding_leaves_no_margin():
    check_changes(994)


def test_empty_timetable_has_no_margin():
    """One source takes every epoch; without it nothing is crawled until another comes."""
    sources = Sources([4000.0, 1.0, 1.0], np.ones(3), [40.0, 1.0, 2.0])
    empty = timetable(sources, 1, odd_parts=(1,)).without(0)
    assert len(empty) == 0
    assert empty.verify()
    assert empty.margin == np.inf
    assert "inf% more" in str(empty)
    assert empty.with_source(sources.subset(slice(0, 1)), 1).margin < np.inf


def test_moving_source_keeps_one_gap():
    assert check_changes(725) == 1


@pytest.mark.parametrize("minutes", [1, 7, 30, 60, 120])
def test_crontab_matches_epochs(minutes, tmp_path):
    """Each line's test is put to a shell with clocks of our own, at the minutes cron would."""
    table = timetable(four_sources(), 2)
    lines = table.crontab("echo", minutes).splitlines()
    epochs = range(1000, 1009)
    script = []
    for epoch in epochs:
        clock = epoch * minutes * 60 + 1
        for line in lines:
            field, test = line.split(" ", 1)[0], "[" + line.split("[", 1)[1]
            assert clock // 60 % {"0": 60, "*": 1}.get(field, minutes) == 0
            script.append(test.replace("\\%", "%").replace("$(date +%s)", str(clock)))
        script.append("echo --")
    said = subprocess.run(["sh", "-c", "\n".join(script)], capture_output=True, text=True).stdout
    for epoch, block in zip(epochs, said.split("--\n"), strict=False):
        due = [table.sources.names[i] for i in table.crawls(epoch)]
        assert sorted(block.split()) == due


def test_table_is_printed():
    assert "no policy more than 338.05" in str(timetable(four_sources(), 2))


def test_due_ages_on_grid_lose_nothing():
    for name in ("one source", "budget of all", "budget exactly full", "whole due ages 3"):
        table = made(name)
        assert table.margin == pytest.approx(0.0, abs=1e-12)
        assert sum(1 / table.gap) == pytest.approx(CASES[name][1])
    for name in ("worth nothing", "forbidden by their least gap"):
        assert 0 not in made(name).source
    nothing = timetable(Sources([0.0] * 3, [1.0] * 3, [1.0] * 3), 1)
    assert (nothing.average_reward, nothing.bound, nothing.margin) == (0.0, 0.0, 0.0)
    assert nothing.verify()


@ON_CASES
def test_crawls_are_those_of_entries(name):
    sources, budget, _ = CASES[name]
    table = made(name)
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


@ON_CASES
def test_lists_have_crawls_of_entries(name, tmp_path):
    """Dates, periods and phases, and the written table."""
    sources, table = CASES[name][0], made(name)
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
    table.to_csv(tmp_path / "table.csv")
    again = pd.read_csv(tmp_path / "table.csv")
    for column in ("gap", "phase", "channel"):
        assert again[column].tolist() == getattr(table, column).tolist()
    assert again["name"].astype(str).tolist() == [sources.names[i] for i in table.source]
    with pytest.raises(ValueError, match="urls"):
        table.periods(1, ["one too few"] * (len(sources) - 1))
    with pytest.raises(ValueError, match="seconds"):
        table.periods(0)


@ON_CASES
def test_false_promises_are_seen(name):
    """Each promise falsified in turn; a phase that is moved, only where two crawls then meet."""
    sources, budget, _ = CASES[name]
    table = made(name)
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


@ON_CASES
def test_without_keeps_other_epochs(name):
    sources, budget, limits = CASES[name]
    table = made(name)
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


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if not case[2] and len(case[0]) > case[1]]
)
def test_sources_fill_free_budget(name):
    """Sources come to what one has left, until the budget is full to the last crawl."""
    budget, table = CASES[name][1], made(name, (1,))
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


def test_what_cannot_join_is_refused():
    table = made("whole due ages 3").without(0)
    with pytest.raises(ValueError, match="powers of two"):
        table.with_source(limits_of((5.0, 0.4)), 4)
    for wrong in (
        limits_of((1, 1), (1, 1)), Sources([1.0], [1.0], [1.0], cost=2.0),
        Sources([1.0], [1.0], [1.0], period=2.0), "no source",
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match="added"):
            table.with_source(wrong)
