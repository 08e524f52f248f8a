"""Least gaps, hosts, costs, other laws of fading and of arrivals: proved or refuted."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from analysis.ephemeral import Sources, relaxed_problem, timetable
from analysis.ephemeral.timetables.gaps import choose, multiples
from analysis.ephemeral.timetables.guarantees import chord_loss
from analysis.ephemeral.timetables.packing import assign_phases, pack, pack_shared
from tests.ephemeral.timetables.test_table import (
    check_entries,
    drawn,
    random_case,
    value_of_linear_program,
)

# Equal least gaps: powers of two times h.


def check_multiples(seed):
    """The relaxed problem over h, 2h, 4h, ... is attained, at most eta(2) below the bound."""
    sources, budget = random_case(seed)
    least = int(np.random.default_rng(seed).integers(2, 9))
    gaps = least * 2 ** np.arange(22)
    ages = np.full(len(sources), float(least)), np.full(len(sources), np.inf)
    chosen = choose(sources, budget, multiples(least), *ages)
    best = value_of_linear_program(sources.state_at_age(gaps[:, None]).T, gaps, budget)
    assert chosen.average_reward == pytest.approx(best, rel=1e-7)
    table = timetable(sources, budget, min_age=least)
    check_entries(table, min_age=least)
    assert table.average_reward >= best * (1 - 1e-7)
    assert table.average_reward >= (1 - chord_loss(2.0)) * table.bound


@drawn(25)
def test_equal_least_gaps_keep_the_promise(seeds):
    for seed in seeds:
        check_multiples(seed)


@pytest.mark.parametrize("exponent", range(1, 7))
def test_unequal_gaps_break_promise(exponent):
    """2^c + 1 saturated sources of that least gap: round robin, and up to half of it is lost."""
    least = 2**exponent + 1
    full = Sources(np.full(least, 50.0), np.ones(least), np.full(least, 50.0))
    plain = timetable(full, 1, min_age=least, odd_parts=(1,))
    lost = 1 - plain.average_reward / plain.bound
    assert lost == pytest.approx(1 - least / 2 ** (exponent + 1))
    assert timetable(full, 1, min_age=least).average_reward == pytest.approx(plain.bound)


# Hosts.


def crawl_times(table, horizon):
    """Crawls of every source in so many epochs, epoch by epoch, and the largest load."""
    crawled = np.zeros((len(table.sources), horizon), dtype=bool)
    largest = 0
    for epoch in range(horizon):
        due = table.crawls(epoch)
        assert np.unique(due).size == due.size
        largest = max(largest, due.size)
        crawled[due, epoch] = True
    return crawled, largest


def gaps_around(crawled):
    """Gaps between crawls of one source over a period, around its end."""
    times = np.flatnonzero(crawled)
    return np.diff(times, append=times[:1] + crawled.size)


def host_case(seed):
    rng = np.random.default_rng([7, seed])
    size = int(rng.integers(1, 25))
    sources = Sources(rng.lognormal(0, 1, size), np.ones(size), rng.lognormal(-1, 1, size))
    hosts = rng.integers(0, rng.integers(1, size + 1), size)
    return sources, int(rng.integers(1, size + 1)), hosts, int(rng.integers(1, 7))


def bound_by_linear_program(sources, budget, hosts, least, longest=200):
    """Best frequencies of gaps when budget and hosts hold on average only, by HiGHS."""
    size, gaps = len(sources), np.arange(least, longest)
    content = sources.state_at_age(gaps[:, None]).T
    once = np.kron(np.eye(size), np.ones(gaps.size))
    load = np.tile(1 / gaps, size)
    of_host = [load * np.repeat(hosts == q, gaps.size) for q in np.unique(hosts)]
    limits = [*np.ones(size), *np.full(len(of_host), 1 / least), budget]
    rows = np.vstack([once, *of_host, load])
    found = linprog(-(content / gaps).ravel(), A_ub=rows, b_ub=limits, method="highs")
    return -found.fun


def check_hosts(seed):
    """Every epoch and every host by brute force over the longest gap, twice."""
    sources, budget, hosts, least = host_case(seed)
    table = timetable(sources, budget, hosts=hosts.tolist(), host_gap=least)
    assert table.verify()
    assert table.average_reward <= table.bound * (1 + 1e-12)
    period = int(table.gap.max(initial=1))
    if period > 2**12:
        return
    crawled, largest = crawl_times(table, period)
    assert largest <= budget
    for host in np.unique(hosts):
        of_host = crawled[hosts == host]
        assert of_host.sum(axis=0).max() <= 1
        if of_host.any():
            assert gaps_around(of_host.any(axis=0)).min() >= least
    rows = [gaps_around(row) for row in crawled]
    earned = sum(
        (sources.u_star[i] * -np.expm1(-sources.decay[i] * gap)).sum() / period
        for i, gap in enumerate(rows)
    )
    assert earned == pytest.approx(table.average_reward, rel=1e-12)


@drawn(40)
def test_crawls_of_a_host_lie_apart(seeds):
    for seed in seeds:
        check_hosts(seed)


@pytest.mark.parametrize("seed", range(12))
def test_host_bound_equals_linear_program(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    sources = Sources(rng.lognormal(0, 1, size), np.ones(size), rng.uniform(0.1, 2, size))
    hosts, least = rng.integers(0, 3, size), int(rng.integers(1, 5))
    budget = int(rng.integers(1, size + 1))
    table = timetable(sources, budget, hosts=hosts.tolist(), host_gap=least)
    best = bound_by_linear_program(sources, budget, hosts, least)
    assert table.bound >= best * (1 - 1e-7)
    assert table.bound == pytest.approx(best, rel=1e-3)  # gaps of the program end at 199
    assert table.average_reward >= 0.8 * table.bound


def test_one_source_per_host():
    sources, budget = random_case(3)
    alone = timetable(sources, budget, hosts=range(len(sources)))
    assert alone.bound == pytest.approx(relaxed_problem(sources, budget).bound, rel=1e-9)


def test_five_hosts_fit_on_average():
    """Gaps 4 and 8 on each host, two epochs apart, M = 2: four hosts fit, five do not."""

    def exist(hosts):
        """Try every parity of the hosts and every phase: 8 epochs, as loads by epoch."""
        each = []
        for four, eight in product(range(4), range(8)):
            times = np.zeros(8, dtype=int)
            times[four::4] += 1
            times[eight] += 1
            if (times + np.roll(times, 1) <= 1).all():
                each.append(times)
        reached = {tuple([0] * 8)}
        for _ in range(hosts):
            reached = {
                tuple(load)
                for one in reached
                for times in each
                if (load := np.add(one, times)).max() <= 2
            }
        return bool(reached)

    assert 5 * (1 / 4 + 1 / 8) <= 2
    assert 1 / 4 + 1 / 8 <= 1 / 2
    assert exist(4)
    assert not exist(5)


def test_hosts_that_are_false_are_refused():
    from dataclasses import replace

    sources, budget, hosts, _ = host_case(5)
    table = timetable(sources, budget, hosts=hosts.tolist(), host_gap=3)
    assert table.verify()
    phase = table.phase.copy()
    phase[0] = (phase[0] + 1) % table.gap[0]
    assert not replace(table, phase=phase).verify()
    assert not replace(table, bound=0.999 * table.bound).verify()
    with pytest.raises(ValueError, match="hosts"):
        timetable(sources, budget, hosts=[0])
    for wrong in (3, object(), [[]] * len(sources)):
        with pytest.raises(ValueError, match="hosts"):
            timetable(sources, budget, hosts=wrong)
    with pytest.raises(ValueError, match="hosts"):
        timetable(sources, budget, hosts=hosts.tolist(), min_age=2)
    with pytest.raises(ValueError, match="host_gap"):
        timetable(sources, budget, hosts=hosts.tolist(), host_gap=0)
    with pytest.raises(ValueError, match="host_gap"):
        timetable(sources, budget, host_gap=2)
    with pytest.raises(ValueError, match="hosts"):
        table.without(0)


# Costs.


def costs_case(seed):
    rng = np.random.default_rng([11, seed])
    size = int(rng.integers(1, 40))
    gap = 2 ** rng.integers(0, 8, size)
    return gap, rng.choice([1.0, rng.exponential()], size) * rng.integers(1, 9, size)


COSTS = {
    "equal": ([8] * 20, [1.0] * 20),
    "worth nothing": ([4, 2], [0.0, 0.0]),
    "costs over ten decades": (2 ** (np.arange(30) % 10), 10.0 ** np.linspace(-5, 5, 30)),
    "3-partition": ([4] * 12, [25, 30, 45, 26, 33, 41, 27, 35, 38, 29, 31, 40]),
}


def check_costs(gap, cost):
    """Peak by brute force over the hyperperiod, at most the largest D_i + C_i."""
    gap, cost = np.array(gap), np.array(cost, dtype=float)
    phase, peak = assign_phases(gap, cost)
    assert ((phase >= 0) & (phase < gap)).all()
    load = np.zeros(gap.max())
    for k, r, c in zip(gap, phase, cost, strict=True):
        load[r::k] += c
    order = np.lexsort((-cost, gap))
    before = np.cumsum((cost / gap)[order]) - (cost / gap)[order]
    assert load.max() == pytest.approx(peak, rel=1e-12)
    assert peak <= (before + cost[order]).max() * (1 + 1e-12)
    return peak, (cost / gap).sum()


@pytest.mark.parametrize("name", COSTS)
def test_hard_costs_keep_near_their_mean(name):
    check_costs(*COSTS[name])


@drawn(40)
def test_unequal_costs_keep_near_their_mean(seeds):
    for seed in seeds:
        check_costs(*costs_case(seed))


def test_mean_load_is_not_enough():
    """Gaps 1 and 2 of costs 1 and 2: mean load 2, and some epoch carries 3."""
    assert any(np.subtract(*check_costs(*costs_case(seed))) > 1e-9 for seed in range(20))
    phase, peak = assign_phases([1, 2], [1, 2])
    assert peak == 3.0
    assert phase.tolist() == [0, 0]
    with pytest.raises(ValueError, match="gaps"):
        assign_phases([3], [1])
    with pytest.raises(ValueError, match="costs"):
        assign_phases([2], [1, 1])


# Other laws by which worth fades, and other arrivals.


def concave_contents(rng, size, longest):
    """Contents that rise ever more slowly: deadlines, powers, exponentials, steps at random."""
    ages = np.arange(longest + 1)
    rows = []
    for _ in range(size):
        kind, scale = rng.integers(4), rng.lognormal(0, 1)
        if kind == 0:
            row = np.minimum(ages, rng.uniform(1, longest / 2))
        elif kind == 1:
            row = (1 + ages) ** rng.uniform(0.1, 0.9) - 1
        elif kind == 2:
            row = -np.expm1(-ages * rng.uniform(0.02, 2))
        else:
            steps = np.sort(rng.exponential(1, longest) ** 3)[::-1]
            row = np.concatenate([[0], np.cumsum(steps)])
        rows.append(scale * row / row[-1])
    return np.array(rows)


def check_any_fading(seed):
    """A corner of the linear program over powers of two, given phases, earns its value."""
    rng = np.random.default_rng([13, seed])
    size, longest = int(rng.integers(2, 12)), 256
    budget = int(rng.integers(1, size))
    content = concave_contents(rng, size, longest)
    gaps = 2 ** np.arange(9)
    at_gaps = content[:, gaps]
    once = np.kron(np.eye(size), np.ones(gaps.size))
    load = np.tile(1 / gaps, size)[None]
    limits = [*np.ones(size), budget]
    found = linprog(
        -(at_gaps / gaps).ravel(), A_ub=np.vstack([once, load]), b_ub=limits, method="highs-ds"
    )
    share = found.x.reshape(size, gaps.size)
    mixed = [i for i in range(size) if ((share[i] > 1e-9) & (share[i] < 1 - 1e-9)).any()]
    assert len(mixed) <= 1
    whole = [(i, int(gaps[np.argmax(share[i])])) for i in range(size)
             if i not in mixed and share[i].max() > 0.5]  # fmt: skip
    used = np.array([gap for _, gap in whole], dtype=np.int64)
    every = {i: [] for i in range(size)}
    if mixed:
        room = budget - (1 / used).sum()
        longer = 2 ** int(np.ceil(np.log2(1 / room) - 1e-9))
        if longer > longest or room >= 1:
            return
        (_, phase), (_, phases, pieces) = pack_shared(used, budget, longer)
        every[mixed[0]] = list(zip(pieces, phases, strict=True))
    else:
        _, phase = pack(used, budget)
    for (i, gap), r in zip(whole, phase, strict=True):
        every[i] = [(gap, r)]
    period, epochs, earned = longest * 2, np.zeros(longest * 2, dtype=int), 0.0
    for i, entries in every.items():
        times = np.zeros(period, dtype=bool)
        for gap, r in entries:
            times[r::gap] = True
        epochs += times
        if times.any():
            earned += content[i, gaps_around(times)].sum() / period
    assert epochs.max() <= budget
    assert earned == pytest.approx(-found.fun, rel=1e-6)
    # Against all whole gaps: at most 17.16%, whatever the law.
    ages = np.arange(1, longest + 1)
    best = value_of_linear_program(content[:, 1:], ages, budget)
    assert earned >= (2 * np.sqrt(2) - 2) * best * (1 - 1e-6)


@drawn(20)
def test_any_decay_attains_powers(seeds):
    for seed in seeds:
        check_any_fading(seed)


def test_freshness_is_the_same_function():
    """Mean freshness at a gap k by integrating the chance that nothing has changed since."""
    from scipy.integrate import quad

    rng = np.random.default_rng(4)
    for _ in range(20):
        weight, change, gap = rng.lognormal(), rng.lognormal(-1), int(rng.integers(1, 40))
        fresh = weight * quad(lambda t, rate=change: np.exp(-rate * t), 0, gap)[0] / gap
        as_source = Sources([weight], [1.0], [change])  # u* = weight / change
        assert as_source.state_at_age([gap])[0] / gap == pytest.approx(fresh, rel=1e-9)
