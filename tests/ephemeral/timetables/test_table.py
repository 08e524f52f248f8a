"""Timetables: gaps, loads and rewards by brute force, optimum by a linear program, and bounds."""

from math import lcm

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import (
    Sources,
    bound_at_price,
    four_sources,
    optimal_cycle,
    relaxed_problem,
    simulate,
    timetable,
)
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.timetables.guarantees import chord_loss, guaranteed_loss, odd_below
from tests.ephemeral.timetables.cases import (
    bound_of_real_gaps,
    crawl_times,
    gaps_around,
    random_case,
    value_of_linear_program,
)

LONGEST = 2**14  # hyperperiods that are enumerated


def check_powers_of_two(seed):
    """The relaxed problem over the powers of two is attained, and all gaps are such powers."""
    sources, budget = random_case(seed)
    table = timetable(sources, budget, odd_parts=(1,))
    assert table.verify()
    gaps = 2 ** np.arange(25)
    content = sources.state_at_age(gaps[:, None]).T
    best = value_of_linear_program(content, gaps, budget)
    assert table.average_reward == pytest.approx(best, rel=1e-7)
    assert table.average_reward >= (1 - 0.0378209) * table.bound
    real = bound_of_real_gaps(sources, budget)  # crawls at any real time
    assert real >= table.bound * (1 - 1e-9)
    assert table.average_reward >= (1 - 0.0378209) * real
    period = int(table.gap.max(initial=1))
    if period > LONGEST:
        return
    crawled, largest = crawl_times(table, period)
    assert largest <= budget
    mixed, earned = 0, 0.0
    for i, row in enumerate(crawled):
        different = np.unique(gaps_around(row))
        assert (different & (different - 1) == 0).all()
        assert different.size <= 1 or (different.size == 2 and different[1] == 2 * different[0])
        mixed += different.size > 1
        ages = gaps_around(row)
        earned += (sources.u_star[i] * -np.expm1(-sources.decay[i] * ages)).sum() / period
    assert mixed <= 1
    assert earned == pytest.approx(table.average_reward, rel=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(80))
def test_powers_attain_relaxed_problem(seed):
    check_powers_of_two(seed)


@pytest.mark.slow
def test_powers_attain_it_on_sets():
    for seed in range(80, 1080):
        check_powers_of_two(seed)


def check_best_grid(seed):
    """The best grid keeps the budget at every epoch, with a constant gap for all but one source."""
    sources, budget = random_case(seed)
    table = timetable(sources, budget)
    assert table.verify()
    assert table.average_reward >= timetable(sources, budget, odd_parts=(1,)).average_reward
    assert table.average_reward <= table.bound * (1 + 1e-12)
    assert table.bound == relaxed_problem(sources, budget).bound
    period = lcm(*map(int, table.gap))
    if period <= LONGEST:
        crawled, largest = crawl_times(table, period)
        assert largest <= budget
        assert sum(np.unique(gaps_around(row)).size > 1 for row in crawled) <= 1
        run = simulate(sources, table, budget, 2 * period)
        assert run.reward[period:].mean() == pytest.approx(table.average_reward, rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_best_grid(seed):
    check_best_grid(seed)


@pytest.mark.slow
def test_best_grid_on_a_thousand_sets():
    for seed in range(1000):
        check_best_grid(seed)


def check_finer_grids(seed, exponents):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(200, 600))
    budget = int(rng.integers(20, size // 2))
    spread = rng.choice([0.0, 1.0])
    sources = Sources(
        rng.lognormal(0, spread, size), np.ones(size), rng.lognormal(-2, spread, size)
    )
    for exponent in exponents:
        odd = odd_below(exponent)
        table = timetable(sources, budget, odd_parts=odd)
        assert table.verify()
        assert 1 - table.average_reward / table.bound <= guaranteed_loss(budget, odd)
    return sources, budget, table.bound


@pytest.mark.parametrize("seed", range(12))
def test_finer_grids_keep_promise(seed):
    sources, budget, bound = check_finer_grids(seed, (2, 3, 4))
    assert 1 - timetable(sources, budget).average_reward / bound <= 0.92 * budget ** (-2 / 3)


@pytest.mark.slow
def test_finer_grids_on_a_thousand_sets():
    for seed in range(12, 1012):
        check_finer_grids(seed, (2 + seed % 3,))


@pytest.mark.parametrize(("copies", "loss"), [(3, 0.0368), (11, 0.0375), (363, 0.03782)])
def test_equal_sources_make_the_constant_sharp(copies, loss):
    """So 96.3% is more than powers of two can promise: the same statement fails."""
    worst = 0.0
    for decay in np.linspace(1.5, 1.62, 60) / copies:
        alike = Sources(np.full(copies, decay), np.ones(copies), np.full(copies, decay))
        table = timetable(alike, 1, odd_parts=(1,))
        worst = max(worst, 1 - table.average_reward / table.bound)
    assert loss < worst < chord_loss(2.0) + 1e-9
    assert worst > 1 - 0.964
    if copies > 3:
        assert worst > 1 - 0.963


def test_constant_gaps_lose_a_third():
    """Two sources in one channel: gaps that are both constant have a common divisor."""
    for decay, share in ((0.1, 0.18), (0.01, 0.2855), (0.001, 0.319)):
        pair = Sources([40.0, 0.5], [1.0, 1.0], [40.0, decay])
        table = timetable(pair, 1)
        gaps = np.arange(1, 400)
        rate = pair.state_at_age(gaps[:, None]) / gaps[:, None]
        together = np.gcd.outer(gaps, gaps) > 1
        constant = max(rate.max(), np.where(together, np.add.outer(*rate.T), 0).max())
        assert constant == pytest.approx(1.0)
        assert 1 - constant / table.average_reward == pytest.approx(share, abs=6e-4)


@pytest.mark.parametrize("instance", range(12))
def test_optimum_lies_between(instance):
    sources, budget = random_set(instance, 3, 3)
    table = timetable(sources, budget)
    best = optimal_cycle(sources, budget, tolerance=1e-7)
    assert table.average_reward <= best.upper * (1 + 1e-9)
    assert best.average_reward <= table.bound * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_the_certificate_is_n_maxima(seed):
    """The bound at any price by brute force over the gaps; the printed price gives the least."""
    sources, budget = random_case(seed)
    table = timetable(sources, budget)
    gaps = np.arange(1, 3000)[:, None]
    for factor in (1.0, 0.7, 1.4):
        price = factor * table.price
        best = ((sources.state_at_age(gaps) - price) / gaps).max(axis=0)
        brute = price * budget + np.maximum(best, 0).sum()
        assert bound_at_price(sources, budget, price) == pytest.approx(brute, rel=1e-6)
        assert brute >= table.bound * (1 - 1e-6)
    assert bound_at_price(sources, budget, table.price) == pytest.approx(table.bound, rel=1e-12)


def reward_of_following(pair, delay, epochs, rng):
    """Crawl source 1, and source 2 in the epoch after each crawl of 1 that found something.

    Source 2 has the items of source 1 so many epochs later, or (None) its own.
    """
    rate, decay = pair.arrival_rate[0], pair.decay[0]

    def contents(counts):
        """What arrives in each epoch, faded to its end."""
        fades = np.exp(-decay * rng.random(counts.sum()))
        return np.bincount(np.repeat(np.arange(epochs), counts), fades, epochs)

    first = contents(rng.poisson(rate, epochs))
    second = contents(rng.poisson(rate, epochs)) if delay is None else np.roll(first, delay)
    state, earned, follow = np.zeros(2), 0.0, False
    for arrived in zip(first, second, strict=True):
        state = np.exp(-decay) * state + arrived
        arm = int(follow)
        earned += state[arm]
        follow = arm == 0 and state[0] > 0
        state[arm] = 0.0
    return earned / epochs


def test_dependent_sources_break_bound():
    """Each is Poisson: the bound needs that they are independent of each other."""
    pair = Sources([0.05, 0.05], [1.0, 1.0], [2.0, 2.0])
    bound = relaxed_problem(pair, 1).bound
    rng = np.random.default_rng(1)
    assert reward_of_following(pair, 1, 100_000, rng) > 1.5 * bound
    assert reward_of_following(pair, None, 100_000, rng) < bound


def test_predictable_arrivals_break_bound():
    """Items at all even or at all odd epochs, a coin for each source, worth something at once."""
    rng = np.random.default_rng(2)
    sets, epochs = 400, 200
    earned = 0
    for parities in rng.integers(2, size=(sets, 2)):
        known = {0: parities[0], 1: parities[1]}  # after an epoch at each
        for epoch in range(2, epochs):
            earned += any(parity == epoch % 2 for parity in known.values())
    assert earned / (sets * epochs) > 0.7  # a crawl finds an item half of the time: bound 0.5


def test_ages_are_kept_within_limits():
    rng = np.random.default_rng(3)
    for _ in range(40):
        size = int(rng.integers(2, 9))
        budget = int(rng.integers(1, size + 1))
        sources = Sources(rng.uniform(0.1, 9, size), np.ones(size), rng.uniform(0.05, 2, size))
        least = rng.integers(1, 4, size)
        most = np.where(rng.random(size) < 0.3, 8 * size, np.inf)
        table = timetable(sources, budget, min_age=least, max_age=most)
        assert table.verify()
        bound = relaxed_problem(sources, budget, min_age=least, max_age=most).bound
        assert table.average_reward <= bound * (1 + 1e-12)
        assert bound_at_price(
            sources, budget, table.price, min_age=least, max_age=most
        ) == pytest.approx(bound, rel=1e-9)
        crawled, largest = crawl_times(table, min(LONGEST, lcm(*map(int, table.gap))))
        assert largest <= budget
        for i, row in enumerate(crawled):
            if row.any():
                assert gaps_around(row).min() >= least[i]
            if np.isfinite(most[i]):
                assert gaps_around(row).max() <= most[i]


def test_price_needs_equal_costs():
    with pytest.raises(ValueError, match="sources"):
        bound_at_price(Sources([1.0, 2.0], [1.0, 1.0], [0.5, 0.5], cost=[1.0, 2.0]), 1, 0.1)


def test_equal_gaps_attain_neighbours_bound():
    """With h = 3 the gaps 3, 6, 12, ...: loss at most that of powers of two."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        sources = Sources(rng.lognormal(0, 1, 20), np.ones(20), rng.lognormal(-2, 1, 20))
        table = timetable(sources, 4, min_age=3)
        assert table.verify()
        assert 1 - table.average_reward / table.bound < 0.0379 + 1 / (3 * 4)


def test_infeasible_gaps_are_refused():
    alike = Sources(np.ones(3), np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="max_age"):
        timetable(alike, 1, max_age=3, odd_parts=(1,))  # round robin is no power of two
    assert timetable(alike, 1, max_age=3).gap.tolist() == [3, 3, 3]
    with pytest.raises(ValueError, match="cost"):
        timetable(Sources([1.0, 1.0], [1.0, 1.0], [1.0, 1.0], cost=[1.0, 2.0]), 1)


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


@pytest.mark.parametrize("seed", range(25))
def test_sources_come_and_go(seed):
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


@pytest.mark.slow
def test_sources_come_and_go_often():
    for seed in range(25, 1025):
        check_changes(seed)


@pytest.mark.parametrize("minutes", [1, 7, 30, 60, 120])
def test_crontab_matches_epochs(minutes, tmp_path):
    """Each line's test is put to a shell with clocks of our own, at the minutes cron would."""
    import subprocess

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


def test_table_is_printed_and_written(tmp_path):
    table = timetable(four_sources(), 2)
    assert "no policy more than 338.05" in str(table)
    table.to_csv(tmp_path / "table.csv")
    assert pd.read_csv(tmp_path / "table.csv")["gap"].tolist() == [1, 2, 8, 4, 8]
