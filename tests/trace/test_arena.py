"""The comparison of deployed rules: lateness, hourly rates, and what is tried."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Sources, WhittlePolicy, simulate
from analysis.trace.experiment import Experiment
from analysis.trace.replay import Clock, Visits, visits_by_age
from analysis.trace.trace import DAY, HOUR, WEEK, Trace, publications
from book.trace import arena as page
from book.trace.arena import (
    RULES,
    hourly_rates,
    list_settings,
    make_rule,
    measure_lateness,
    score_visits,
    simulate_hourly_visits,
)
from book.trace.shared import load_trace
from tests.ephemeral.timetables.test_table import value_of_linear_program

OWN = str(Path(__file__).parent.parent / "book" / "tables" / "four-feeds.csv")


def trace_of(hours):
    """A trace of items at given hours of each source, from midnight."""
    rows = [(f"s{i}", round(h * HOUR)) for i, items in enumerate(hours) for h in items]
    names, seconds = zip(*rows, strict=True)
    stamps = pd.Timestamp("1970-01-01") + pd.to_timedelta(pd.Series(seconds), unit="s")
    return Trace.of(pd.Series(names), stamps)


def drawn(size=6, hours=400, seed=2):
    rng = np.random.default_rng(seed)
    return trace_of([np.sort(rng.uniform(0, hours, 40)) for _ in range(size)])


def test_lateness_by_single_items():
    trace, rng = drawn(), np.random.default_rng(3)
    visits = np.array([rng.permutation(6)[:2] for _ in range(300)])
    visits[rng.random(visits.shape) < 0.3] = -1
    clock, warm_up = Clock(20 * HOUR, 300), 50
    hours, unchanged = measure_lateness(trace, Visits(visits), clock, warm_up)
    late, empty, made_ = [], 0, 0
    for i in range(6):
        waiting = [t for t in trace.times_of(i).tolist() if clock.begin <= t < clock.end]
        for epoch in range(300):
            if i in visits[epoch]:
                now = clock.begin + epoch * HOUR
                found = [t for t in waiting if t <= now]
                waiting = waiting[len(found) :]
                late += [(now - t) / HOUR for t in found if t >= clock.begin + warm_up * HOUR]
                if epoch >= warm_up:
                    made_, empty = made_ + 1, empty + (not found)
        late += [np.inf for t in waiting if t >= clock.begin + warm_up * HOUR]
    assert np.sort(hours) == pytest.approx(np.sort(late))
    assert unchanged == pytest.approx(empty / made_)


def test_hourly_rates_keep_mean():
    day = [24 * d + 9.5 for d in range(400)]
    night = [24 * d + 21.5 for d in range(400)]
    trace = trace_of([day, night])
    hourly = hourly_rates(trace, 0, 400 * DAY, np.array([1 / 24, 1 / 24]))
    assert hourly.mean(axis=1) == pytest.approx([1 / 24, 1 / 24])
    assert hourly.argmax(axis=1).tolist() == [9, 21]
    assert hourly[0, 21] == pytest.approx(12 / 424)  # half of the common profile's 24 items


def test_hourly_index_without_rhythm():
    sources = Sources([0.3, 0.1, 0.07, 0.02], np.ones(4), [0.05, 0.03, 0.1, 0.01])
    flat = np.repeat(sources.arrival_rate[:, None], 24, axis=1)
    clock = Clock(5 * HOUR, 200)
    by_hour = simulate_hourly_visits(sources, flat, 1, clock)
    by_age = visits_by_age(WhittlePolicy(sources), 1, 200, np.ones(4, dtype=np.int64))
    assert by_hour.arm.tolist() == by_age.arm.tolist()
    assert by_hour.epoch.tolist() == by_age.epoch.tolist()


def test_hourly_index_follows_publication():
    """Two sources of one rate that publish at hours 9 and 21: each is visited after its own."""
    sources = Sources([1 / 24] * 2, [1.0, 1.0], [0.2, 0.2])
    hourly = np.zeros((2, 24))
    hourly[0, 9] = hourly[1, 21] = 1.0
    visits = simulate_hourly_visits(sources, hourly, 1, Clock(0, 480))
    late = visits.epoch >= 48
    first = (visits.epoch[late & (visits.arm == 0)] % 24).tolist()
    assert 10 in first
    assert 22 not in first


@pytest.mark.parametrize("rule", RULES)
def test_defaults_are_tried_first(rule):
    for size, budget in ((436, 1), (436, 40), (10, 10)):
        tried = list(list_settings(rule, size, budget))
        assert tried[0] == {}
        for settings in tried:
            make_rule(rule, size, 3600.0, settings)


def guaranteed(experiment, monkeypatch):
    """The column `guarantee` of the index and of the timetable."""
    monkeypatch.setattr(page, "save_data", lambda *_: None)
    horizon, ones = experiment.clock(0)[0].horizon, np.ones(len(experiment.trace), dtype=np.int64)
    index = WhittlePolicy(experiment.sources(experiment.trained))
    played = {
        name: score_visits(
            experiment, [(visits_by_age(policy, 1, horizon, ones), *experiment.clock(0))]
        )
        for name, policy in (("index", index), ("table", experiment.timetable))
    }
    table = page.compare_budgets({"small": played}, {"small": experiment}, np.ones((2, 2)))
    return table.set_index("policy")["guarantee"]


def test_guarantee_fails_for_false_timetable(
    monkeypatch,
):
    """By playing the timetable epoch by epoch, and the best frequencies of all gaps by HiGHS."""
    rng = np.random.default_rng(6)
    items = [np.sort(rng.uniform(0, 4 * 168, count)) for count in (400, 190, 90, 50, 20, 9)]
    made_up = Experiment(
        trace_of(items), 0, 2 * WEEK, 4 * WEEK, 24.0, budget=1, phases=1, warm_up=1
    )
    sources = made_up.sources(made_up.trained)
    gaps = np.arange(1, 400)
    best = value_of_linear_program(sources.state_at_age(gaps[:, None]).T, gaps, 1)

    right, entries = made_up.timetable, made_up.timetable.gap
    turns = 40 * int(np.lcm.reduce(entries))

    def played(policy):
        run = simulate(sources, policy, 1, 3 * turns, initial_state="fresh")
        return run.reward[turns:].mean()

    share = guaranteed(made_up, monkeypatch)
    assert np.isnan(share["index"])
    assert played(right) == pytest.approx(share["table"] * best, rel=1e-6)
    for rule in ("whittle", "myopic", "round-robin"):
        assert played(right) >= share["table"] * played(rule) * (1 - 1e-9)
    seldom = np.where(right.source == right.source[np.argmin(entries)], 2 * entries, entries)
    for false in (
        replace(right, gap=seldom),
        replace(right, average_reward=1.01 * right.average_reward),
        replace(right, bound=0.99 * right.bound),
    ):
        vars(made_up)["timetable"] = false
        share = guaranteed(made_up, monkeypatch)
        assert played(false) < share["table"] * best * (1 - 1e-3)
        assert not false.verify()


def made_up_values(**changed):
    """Values of all policies at the three budgets, of which some are changed."""
    names = [f"{rule}-{kind}" for rule in RULES for kind in ("default", "chosen")]
    names += ["nutch-forced", "even-low", *page.WITH_RATES]
    values = {f"{name}-{size}": 0.5 for name in names for size in page.SIZES}
    values |= {f"hours-{size}": 1.0 for size in page.SIZES}
    return values | {name.replace("_", "-"): value for name, value in changed.items()}


@pytest.mark.parametrize(
    ("finding", "changed"),
    [
        ("index-first", {"friendica_chosen_large": 1.0}),
        ("settings-matter", {"comma_chosen_small": 0.8}),
        ("even-wins-large", {"even_low_large": 1.1}),
        ("forgetting-leads-large", {"forgetting_large": 0.6}),
        ("hours-little", {"hours_middle": 1.03}),
        ("forced-is-no-robin", {f"nutch_forced_{size}": 0.2 for size in page.SIZES}),
        ("mending-helps", {f"mended_chosen_{size}": 0.6 for size in page.SIZES}),
    ],
)
def test_finding_turns_with_values(finding, changed):
    before, after = page.findings(made_up_values()), page.findings(made_up_values(**changed))
    assert before.keys() == page.FINDINGS.keys()
    assert [name for name in before if before[name] != after[name]] == [finding]


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"training": 30}, "training"),
        ({"test": 12}, "training"),
        ({"large": 5}, "large"),
    ],
)
def test_unfit_traces_are_refused(changed, name):
    parameters = {"trace": OWN, "kind": "both", "training": 20, "test": 8, "large": 3}
    page.check_trace(None, parameters)
    with pytest.raises(ValueError, match=name):
        page.check_trace(None, parameters | changed)


def test_own_trace_takes_the_place_of_kind():
    assert len(load_trace("release", OWN)) == 4
    assert load_trace("commit", "").names == publications("commit").names
