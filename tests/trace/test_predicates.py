"""The sentences of the page on real publications turn with the numbers that they depend on."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from book.trace import publications_figures as figures
from book.trace import your_trace as page
from book.trace.publications import (
    LABELS,
    check_trace,
    collect_predicates,
    orders_agree,
    ping_is_first,
    robin_is_worst,
    robin_moves_most,
    stale_cost_falls,
    steady_product,
)

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
