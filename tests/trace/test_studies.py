"""What the trace pages compute beyond the models: assumptions, schedules, and their words."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import four_sources
from analysis.trace.experiment import Experiment
from analysis.trace.trace import WEEK, publications
from book.trace import publications_figures as figures
from book.trace import your_trace as page
from book.trace.publications import (
    FINDINGS,
    LABELS,
    SIZES,
    assume_half_lives,
    check_trace,
    collect_predicates,
    find,
    orders_agree,
    ping_is_first,
    robin_is_worst,
    robin_moves_most,
    stale_cost_falls,
    steady_product,
    vary_beliefs,
)


@pytest.fixture(scope="module")
def plan():
    return page.split_trace(publications("commit"), 0.9, 24.0, 2, 60, 1)


def test_half_lives_keep_ends():
    trace = publications("both")
    rules = assume_half_lives(trace, trace.begin, trace.begin + 104 * WEEK, 0)
    assert len(rules) == 5
    for hours in rules.values():
        assert hours.shape == (len(trace),)
        assert (hours > 0).all()
        assert np.unique(hours).size <= 24
    gap = rules["half the mean gap"]
    assert gap.min() >= 6.0 / 2**0.25
    assert gap.max() <= 336.0 * 2**0.25
    assert gap[np.argmax(trace.counts(trace.begin, trace.begin + 104 * WEEK))] == gap.min()


def test_wrong_half_life_costs(values):
    trace, split = publications("both"), 80 * WEEK
    plan = Experiment(trace, trace.begin, split, split + 30 * WEEK, 24.0, 4, phases=1)
    table = vary_beliefs(plan, [0.25, 0.5, 1.0, 2.0], 0).iloc[:, 0]
    assert table.iloc[2] == 1.0
    assert table.iloc[0] < table.iloc[1] < 1.0
    assert table.iloc[-1] < 1.0
    assert values()["publications-half-life-double"]["value"] == pytest.approx(1 - table.iloc[3])


def test_the_schedule_spends_the_budget(plan):
    table = page.recommend_schedule(plan, [120.0])
    assert set(table["source"]) == set(plan.trace.names)
    assert table["visits_per_day"].sum() == pytest.approx(48.0)
    visited = table[table["visits_per_day"] > 0]
    product = visited["visits_per_day"] * visited["hours_between_visits"]
    assert product.to_numpy() == pytest.approx(np.full(len(visited), 24.0))
    assert (visited["first_visit_hours"] < visited["hours_between_visits"]).all()
    assert (np.diff(visited["visits_per_day"]) <= 0).all()
    busiest = table.set_index("source").loc["commit/harfbuzz"]
    assert busiest["visits_per_day"] == table["visits_per_day"].max()


def test_omitted_sources_keep_visits():
    best, found = (page.reserve_visits(four_sources(), 1, kept) for kept in (0.0, 0.1))
    assert (best > 0).tolist() == [True, True, False, False]
    assert found[2:] == pytest.approx([0.05, 0.05])
    assert found.sum() == pytest.approx(1.0)
    spread = page.reserve_visits(four_sources(), 3.5, 0.1)
    assert (spread > 0).all()  # none is left out, and nothing is kept
    assert spread == pytest.approx(page.reserve_visits(four_sources(), 3.5, 0.0))


def test_default_trace_is_books(tmp_path):
    trace, repairs = page.load_trace("", "drop")
    assert len(trace) == 436
    assert repairs == []
    path = tmp_path / "my.csv"
    rows = [f"s{n % 3},2021-03-{1 + n % 28:02d}T{n % 24:02d}:00Z" for n in range(60)]
    path.write_text("\n".join(["source,utc", *rows, "s0,never"]))
    table = page.tabulate_repairs(*page.load_trace(str(path), "drop"))
    assert table.loc["repaired", "found"] == "time that cannot be read, left out: 1 (row 62)"


@pytest.mark.parametrize(
    ("change", "said"),
    [({"budget": 42}, "budget"), ({"share": 0.999}, "weeks")],
)
def test_plans_that_cannot_be_are_refused(change, said):
    facts = {"share": 0.5, "half_life": 24.0, "budget": 1, "period": 60, "phases": 1}
    with pytest.raises(ValueError, match=said):
        page.split_trace(publications("commit"), **{**facts, **change})


def test_few_items_are_no_matter_for_tests():
    times = pd.date_range("2020-01-01", periods=30, freq="D").to_series()
    trace = publications("commit").of(pd.Series([f"s{n % 3}" for n in range(30)]), times)
    table = page.compare_with_poisson(trace, 19, 0)
    assert table.iloc[0, 0] == "no source has 20 items: nothing to test"


def small_trace(tmp_path, sources=2, weeks=8):
    """Return a trace of an item every eleven hours and less, at each source in turn."""
    times = pd.date_range("2024-01-01", periods=weeks * 7 * 24 // 11, freq="11h")
    rows = [f"s{n % sources},{time.isoformat()}Z" for n, time in enumerate(times)]
    path = tmp_path / "small.csv"
    path.write_text("\n".join(["source,utc", *rows, f"s0,{times[0] + pd.Timedelta(weeks=weeks)}"]))
    return page.load_trace(str(path), "drop")[0]


@pytest.mark.parametrize("budget", [1, 2])
def test_eight_weeks_have_no_intervals(values, tmp_path, budget):
    plan = page.split_trace(small_trace(tmp_path), 0.6, 24.0, budget, 60, 1)
    table = page.compare_policies(plan, [30], 100, 0)
    assert table[["low", "high"]].isna().all(axis=None)
    assert (page.tabulate_comparison(table)[["low", "high"]] == "–").all(axis=None)
    saved = values()
    assert saved["your-trace-enough-weeks"]["value"] is False
    assert saved["your-trace-fixed"]["interval"] is None
    page.save_doubled_budget(plan, [30])
    assert values()["your-trace-can-double"]["value"] is (budget == 1)


def test_an_interval_takes_weeks_that_differ():
    index, weights = np.array([2.0, 3.0, 4.0]), np.array([[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
    other = np.array([1.0, 3.0, 5.0])
    ratio, low, high = page.ratio_with_interval(other, index, weights)
    assert 0.5 < low < high < 1.0 == ratio
    for case in [
        (other, index, None),
        (2 * index, index, weights),
        (other, index * [0, 1, 1], weights),
    ]:
        ratio, low, high = page.ratio_with_interval(*case)
        assert ratio == pytest.approx(case[0].sum() / case[1].sum())
        assert np.isnan([low, high]).all()


def test_frame_hides_missing_numbers():
    frame = pd.DataFrame({"hours": [1.5, np.inf], "ratio": [np.nan, 1.0], "name": ["a", "b"]})
    shown = page.format_with_dashes(frame).to_numpy().tolist()
    assert shown == [["1.500", "–", "a"], ["–", "1.000", "b"]]


def test_full_schedule_omits_nobody():
    assert page.describe_left_out(0, 6) == "All 6 sources are visited."
    assert page.describe_left_out(2, 6) == "Never visited at this budget: 2 of 6 sources."
    same = pd.DataFrame({"items_per_day": [1.0, 2.0], "visits_per_day": [24.0, 24.0]})
    assert page.describe_rise(same) == ""
    assert page.describe_visits(same["visits_per_day"]) == "24 visits a day."
    assert page.describe_visits(same["visits_per_day"] / 24) == "1 visit a day."


@pytest.mark.parametrize(
    ("finding", "changed"),
    [
        ("tie", {("fixed", "middle"): 1.03}),
        ("greedy", {("greedy", "small"): 1.0}),
        ("robin", {("robin", "large"): 1.1}),
        ("even", {("even", "large"): 1.1}),
        ("forgetting", {("forgetting", size): 1.1 for size in SIZES}),
        ("oracle", {("oracle", size): 1.1 for size in SIZES}),
        ("feed", {("feed", "large"): 0.9}),
        ("poisson", {}),
    ],
)
def test_finding_turns_with_values(finding, changed):
    values = {(policy, size): 0.9 for policy in LABELS for size in SIZES}
    values |= {(policy, size): 1.0 for policy in ("index", "fixed") for size in SIZES}
    values |= {("feed", size): 2.0 for size in SIZES}
    before, after = find(values, True), find(values | changed, bool(changed))
    assert before.keys() == FINDINGS.keys()
    assert [name for name in before if before[name] != after[name]] == [finding]


SIZES = ("small", "middle", "large")


def numbers(**changes):
    """Return numbers under which all findings hold, with some of them replaced."""
    by_size = {
        "budget": (1, 4, 16), "fixed": (1.0, 0.99, 1.0), "shrunk": (1.0, 1.0, 1.0),
        "forgetting": (1.02, 1.01, 1.05), "robin": (0.2, 0.5, 0.9),
        "entry": (0.19, 0.52, 0.91), "even": (0.5, 0.9, 1.0),
        "memory": (240, 120, 120),
        "harmonic-even": (0.1, 0.03, 0.01), "harmonic-index": (0.9, 0.5, 0.1),
        "harmonic-robin": (0.11, 0.033, 0.01),
    }  # fmt: skip
    v = {f"{k}-{s}": x for k, xs in by_size.items() for s, x in zip(SIZES, xs, strict=True)}
    v |= {"curse": 0.85, "rest": 1.1, "values-unknown": 0.1, "greedy-loss-middle": 0.13}
    return v | {"half-life-double": 0.01, "half-life-half": 0.03} | changes


def test_findings_hold_for_similar_numbers():
    assert all(collect_predicates(numbers()).values())


@pytest.mark.parametrize(
    ("finding", "changes"),
    [
        ("tie", {"fixed-large": 0.97}),
        ("greedy-loses", {"greedy-loss-middle": 0.0}),
        ("entry-is-robin", {"entry-small": 0.3}),
        ("curse-holds", {"curse": 1.2}),
        ("prior-little", {"shrunk-small": 0.9}),
        ("forgetting-helps", {"forgetting-middle": 0.99}),
        ("memory-falls", {"memory-large": 480}),
        ("longer-is-safer", {"half-life-double": 0.05}),
        ("values-matter", {"values-unknown": 0.02}),
        ("values-matter", {"values-unknown": 4e-3, "half-life-double": 0, "half-life-half": 0}),
        ("two-objectives", {"even-middle": 1.1}),
        ("robin-is-fresh", {"harmonic-robin-middle": 0.1}),
        ("robin-is-fresh", {"robin-middle": 0.85}),
    ],
)
def test_a_finding_turns_with_its_numbers(finding, changes):
    assert not collect_predicates(numbers(**changes))[finding]


def test_half_lives_keep_order():
    row = {"fixed": 1.0, "forgetting": 1.02, "robin": 0.5, "oracle": 1.05, "feed": 1.6, "even": 0.9}
    ratios = pd.DataFrame(row, index=["6 hours", "a day", "a week"])
    ratios.loc["6 hours", ["robin", "even"]] = 0.2, 1.03
    assert orders_agree(ratios)
    assert robin_moves_most(ratios)
    ratios.loc["a day", "robin"] = 1.01
    ratios.loc["a week", "feed"] = 16.0
    assert not orders_agree(ratios)
    assert not robin_moves_most(ratios)


def test_ping_gains_most():
    ratio = pd.Series(dict.fromkeys(LABELS, 0.9) | {"nutch": 1.05, "feed": 1.2})
    assert ping_is_first(ratio)
    assert not ping_is_first(ratio.replace(1.05, 1.11))
    assert not ping_is_first(ratio.replace({1.05: 0.9, 1.2: 1.01}))


def test_stale_rates_cost_less_with_visits():
    assert stale_cost_falls([1.3, 1.2, 1.1])
    assert not stale_cost_falls([1.3, 1.2, 1.25])
    assert not stale_cost_falls([])  # a trace of the reader's own has no uploads


@pytest.mark.parametrize(
    ("place", "path", "message"),
    [
        ("first", "", "place"),
        ("first", "two-feeds.csv", "training"),
        ("second", "two-feeds.csv", "training"),
        ("first", "four-feeds.csv", "large"),
    ],
)
def test_unfit_traces_are_refused(place, path, message):
    path = path and str(Path(__file__).parents[1] / "book" / "tables" / path)
    parameters = {"trace": path, "place": place, "training": 20, "test": 8, "large": 5}
    with pytest.raises(ValueError, match=message):
        check_trace(None, parameters)


def test_formula_is_worst_for_robin():
    off = pd.DataFrame(
        {"1": [1.01, 0.95], "4": [1.0, 1.02]}, index=["index, trained rates", "round robin"]
    )
    assert robin_is_worst(off)
    assert not robin_is_worst(off.assign(**{"4": [0.9, 1.02]}))


def test_nutch_interval_is_stationary():
    x = steady_product()
    found = -np.expm1(-x)
    assert found * np.log(0.8) + (1 - found) * np.log(1.4) == pytest.approx(0, abs=1e-15)
    assert found == pytest.approx(0.6, abs=0.01)


def test_differing_budgets_are_named():
    table = pd.DataFrame(
        {
            "budget": [1, 1, 4, 4],
            "policy": ["index", "even"] * 2,
            "value": [1.0, 0.5, 1.0, 1.1],
            "penalty": [0.9, 0.1, 0.4, 0.02],
        }
    )
    said = figures.describe_differences(table, ["index", "even"])
    assert said.startswith("At budgets of 1 the")
    assert not figures.describe_differences(table[2:], ["index", "even"])


def test_schedule_words_follow():
    def words(visits):
        return page.describe_rise(
            pd.DataFrame({"items_per_day": [1.0, 2.0, 8.0], "visits_per_day": visits})
        )

    assert "more slowly" in words([1.0, 1.5, 3.0])
    assert words([1.0, 3.0, 16.0]) == "They rise with items per day. "
    assert words([1.0, 3.0, 2.0]) == ""
