"""Public functions of traces against second methods, on traces made to break them."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from functools import partial

import mpmath
import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.trace import (
    AutoTtl,
    CommaFeed,
    EntryFrequency,
    Experiment,
    ForgettingIndex,
    FrequencyPolicy,
    Friendica,
    NextcloudNews,
    NutchAdaptive,
    StormCrawler,
    Trace,
    best_fixed_frequencies,
    choose_memory,
    known_from,
    lambdacrawl,
    lambdacrawl_rates,
    publications,
    read_pings,
    read_trace,
)
from analysis.trace.replay import Clock, score, visits_by_age, visits_of_learner
from analysis.trace.trace import DATA, DAY, WEEK
from tests.ephemeral.sets import QUICK, SETS, budgets, relaxed_by_linear_program
from tests.trace.slow_replay import slow_replay

ORIGIN = np.datetime64("2026-01-01", "s")


def trace_of(items):
    """Make a trace of the times of each source."""
    source = np.repeat(np.arange(len(items)), [len(times) for times in items])
    time = np.concatenate([np.asarray(times, np.int64) for times in items])
    order = np.argsort(time, kind="stable")
    names = tuple(f"source {i}" for i in range(len(items)))
    return Trace(names, ORIGIN, source[order], time[order])


def drawn(size, seed=0):
    rng = np.random.default_rng(seed)
    return [np.sort(rng.integers(0, 12 * DAY, rng.integers(1, 60))) for _ in range(size)]


TRACES = {
    "drawn": drawn(4),
    "one source": drawn(1),
    "one item": [[0], []],
    "all in one second": [[3600] * 5, [3600] * 3],
    "at the epochs": [range(0, 5 * DAY, 3600), range(0, 5 * DAY, 7200)],
    "equal sources": [range(500, 9 * DAY, 9000)] * 3,
    "unlike by decades": [range(0, 12 * DAY, 900), range(0, 12 * DAY, 100_000), [12 * DAY]],
    "one that publishes nothing": [*drawn(2), []],
}


each_trace = pytest.mark.parametrize("items", TRACES.values(), ids=TRACES)


@each_trace
def test_counts_are_those_of_items(items):
    trace = trace_of(items)
    for begin, end in ((0, trace.end), (3600, 3601), (0, 0), (DAY, 2 * DAY)):
        truth = [sum(begin <= time < end for time in times) for times in items]
        assert trace.counts(begin, end).tolist() == truth
    for arm, times in enumerate(items):
        assert trace.times_of(arm).tolist() == list(times)
    assert trace.begin <= min(trace.time) < trace.begin + DAY
    assert trace.end - DAY <= max(trace.time) < trace.end


def policies(items):
    """What each policy is made by, on a trace."""
    trace, size = trace_of(items), len(items)
    sources = Sources(np.ones(size), np.ones(size), np.full(size, 0.1))

    def forgetting():
        known = known_from(trace, -WEEK, 0, 50.0, np.ones(size, np.int64))
        return ForgettingIndex(sources, known, 50.0, (0.5, 24.0), 0)

    return {
        "EntryFrequency": partial(EntryFrequency, size),
        "ForgettingIndex": forgetting,
        "FrequencyPolicy": partial(FrequencyPolicy, np.linspace(0, 1, size + 1)[1:]),
        "NutchAdaptive": partial(NutchAdaptive, size),
        "StormCrawler": partial(StormCrawler, size, first=7200.0),
        "AutoTtl": partial(AutoTtl, size),
        "CommaFeed": partial(CommaFeed, size, longest=40 * 3600.0, listed=3),
        "NextcloudNews": partial(NextcloudNews, size),
        "Friendica": partial(Friendica, size),
    }


@each_trace
@pytest.mark.parametrize("name", policies(TRACES["drawn"]))
def test_replay_equals_slow_replay(name, items):
    """Compiled visits and a search an item, against one epoch and one item at a time."""
    trace, make = trace_of(items), policies(items)[name]
    decay, value = np.full(len(items), 0.1), np.linspace(1, 2, len(items))
    clock, ones = Clock(0, 100), np.ones(len(items), np.int64)
    for budget in {1, len(items)}:
        if name == "FrequencyPolicy":
            visits = visits_by_age(make(), budget, clock.horizon, ones)
        else:
            visits = visits_of_learner(trace, make(), budget, clock)
        fast = score(trace, visits, clock, decay, value)
        slow = slow_replay(items, make(), budget, 0, 100, 3600, decay, value, ones)
        for one, other in zip(
            (fast.reward, fast.stale, fast.harmonic), np.array(slow, object)[[0, 2, 3]], strict=True
        ):
            np.testing.assert_allclose(one, np.asarray(other, float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", QUICK)
def test_fixed_frequencies_earn_relaxed_bound(name):
    sources = SETS[name]
    for budget in budgets(sources):
        frequency = best_fixed_frequencies(sources, budget).frequency
        assert frequency @ sources.cost == pytest.approx(budget, rel=1e-12)
        gap = 1 / np.maximum(frequency, 1e-300)
        low, high = np.floor(gap * (1 + 1e-12)), np.ceil(gap * (1 - 1e-12))
        # The best reward of a frequency, between whole gaps, is linear in it.
        reward = []
        for i in range(len(sources)):
            if frequency[i] == 0:
                continue
            ends = np.maximum([low[i], high[i]], 1.0)
            earned = [sources.state_at_age(np.full(len(sources), end))[i] / end for end in ends]
            reward.append(
                np.interp(frequency[i], 1 / ends[::-1], earned[::-1]) if ends[0] < ends[1]
                else earned[0]
            )  # fmt: skip
        assert sum(reward) == pytest.approx(relaxed_by_linear_program(sources, budget), rel=1e-6)


def test_lambdacrawl_rates_have_one_price():
    """The conditions of the optimum, with one price for all, in 50 digits."""
    rng = np.random.default_rng(0)
    cases = [(np.ones(3), np.ones(3)), (np.array([2.0]), np.array([1.0]))]
    cases += [10.0 ** rng.uniform(-5, 5, (2, 8)) for _ in range(6)]
    for change, weight in cases:
        for budget in (1e-6, 0.3 * change.size, change.size):
            rates = lambdacrawl_rates(change, weight, budget)
            assert rates.sum() == pytest.approx(budget, rel=1e-9)
            with mpmath.workdps(50):
                price = [
                    float(mpmath.mpf(m) * d / (mpmath.mpf(r) * (mpmath.mpf(r) + d)))
                    for m, d, r in zip(weight, change, rates, strict=True)
                ]
            inside = [p for p, r in zip(price, rates, strict=True) if r < 1]
            if inside:
                assert max(inside) == pytest.approx(min(inside), rel=1e-9)
                capped = [p for p, r in zip(price, rates, strict=True) if r == 1]
                assert min(capped, default=np.inf) >= max(inside) * (1 - 1e-9)


@pytest.mark.parametrize("name", SETS)
def test_lambdacrawl_spends_budget(name):
    sources = SETS[name]
    change = sources.arrival_rate * sources.period
    live = np.count_nonzero((change > 0) & (sources.mean_utility > 0))
    for budget in (0.5, live):
        rates = lambdacrawl_rates(change, sources.mean_utility, budget)
        np.testing.assert_array_equal(lambdacrawl(sources, budget).frequency, rates)
        assert rates.sum() == pytest.approx(budget, rel=1e-9)


@each_trace
def test_known_items_fade(items):
    trace = trace_of(items)
    for memory in (1e-3, 10.0, 1e6, np.inf):
        known = known_from(trace, 0, 10 * DAY, memory, np.ones(len(items), np.int64))
        with mpmath.workdps(40):
            fading = 0 if np.isinf(memory) else 1 / (3600 * mpmath.mpf(memory))
            weights = [
                mpmath.fsum(
                    mpmath.exp(-(10 * DAY - int(t)) * fading) for t in times if t < 10 * DAY
                )
                for times in items
            ]
            hours = -mpmath.expm1(-10 * DAY * fading) / (3600 * fading) if fading else 240
        np.testing.assert_allclose(known.items, np.array(weights, float), rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(known.hours, float(hours), rtol=1e-9)


def test_memory_earns_most_in_training():
    """Three sources in five weeks."""
    rng = np.random.default_rng(1)
    trace = trace_of([np.sort(rng.integers(0, 5 * WEEK, number)) for number in (400, 60, 5)])
    experiment = Experiment(trace, 0, 4 * WEEK, 5 * WEEK, 24.0, 1, phases=1, warm_up=1)
    inner = experiment.inside_training()
    memory, earned = choose_memory(experiment, [20.0, 2000.0, np.inf])
    by_hand = [inner.forgetting(m).weekly.sum() for m in (20.0, 2000.0, np.inf)]
    np.testing.assert_allclose(earned, np.array(by_hand) / by_hand[-1], rtol=1e-12)
    assert memory == (20.0, 2000.0, np.inf)[int(np.argmax(by_hand))]


def test_publications_are_those_of_another_reader():
    """Counts by the standard library's reader."""
    with gzip.open(DATA / "publications.csv.gz", "rt") as file:
        truth = Counter(f"{row['kind']}/{row['source']}" for row in csv.DictReader(file))
    trace = publications()
    found = dict(zip(trace.names, trace.counts(trace.begin, trace.end).tolist(), strict=True))
    assert found == truth


@each_trace
def test_written_trace_is_read(items, tmp_path):
    trace = trace_of(items)
    path = tmp_path / "trace.csv"
    stamps = trace.origin + trace.time.astype("timedelta64[s]")
    names = np.array(trace.names)[trace.source]
    rows = [f"{name},{stamp}Z" for name, stamp in zip(names, stamps, strict=True)]
    path.write_text("\n".join(["source,utc", *rows[::-1]]))
    publishing = sum(len(times) > 0 for times in items)
    if trace.time.size < 20 or publishing < 2:
        with pytest.raises(ValueError, match=r"at least 20 items|one source only"):
            read_trace(path, now="2027-01-01", duplicates="keep")
        return
    found, _ = read_trace(path, now="2027-01-01", duplicates="keep")
    truth = {name: stamps[trace.source == i].tolist() for i, name in enumerate(trace.names)}
    for arm, name in enumerate(found.names):
        again = found.origin + found.times_of(arm).astype("timedelta64[s]")
        assert again.tolist() == truth[name]
    assert len(found) == publishing


@each_trace
def test_ping_after_item_announces_it(items, tmp_path):
    """A ping at the second of an item announces it, and one a year later is false."""
    trace = trace_of(items)
    if trace.time.size == 0:
        return
    stamps = trace.origin + trace.time.astype("timedelta64[s]")
    names = np.array(trace.names)[trace.source]
    path = tmp_path / "pings.csv"
    later = stamps + np.timedelta64(365, "D")
    rows = [f"{name},{t}Z" for name, t in zip([*names] * 2, [*stamps, *later], strict=True)]
    path.write_text("\n".join(["source,utc", *rows[::-1]]))
    pings, repairs = read_pings(path, trace, now="2100-01-01", duplicates="keep")
    assert pings.announced.all()
    assert repairs == []
    assert (
        np.bincount(pings.source, minlength=len(trace)).tolist()
        == trace.counts(trace.begin, trace.end).tolist()
    )
