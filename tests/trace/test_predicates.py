"""The sentences of the page on real publications turn with the numbers that they depend on."""

import itertools

import numpy as np
import pandas as pd
import pytest

from book.trace import publications_figures as figures
from book.trace import your_trace as page
from book.trace.publications import collect_predicates, steady_product

SIZES = ("small", "middle", "large")
RULES = {"fixed": 1.0, "forgetting": 1.02, "robin": 0.5, "oracle": 1.05, "feed": 1.6, "even": 0.9}


def numbers(**changes):
    """Return numbers under which all findings hold, with some of them replaced."""
    by_size = {
        "budget": (1, 4, 16), "fixed": (1.0, 0.99, 1.0), "shrunk": (1.0, 1.0, 1.0),
        "forgetting": (1.02, 1.01, 1.05), "greedy": (0.9, 0.87, 0.93), "robin": (0.2, 0.5, 0.9),
        "entry": (0.19, 0.52, 0.91), "even": (0.5, 0.9, 1.0), "lambdacrawl": (0.4, 0.7, 0.9),
        "nutch": (0.2, 0.2, 0.1), "oracle": (1.05, 1.07, 1.07), "feed": (2.2, 1.6, 1.2),
        "upload-oracle": (1.3, 1.2, 1.1), "memory": (240, 120, 120),
        "harmonic-even": (0.1, 0.03, 0.01), "harmonic-index": (0.9, 0.5, 0.1),
        "harmonic-robin": (0.11, 0.033, 0.01), "campbell-index": (1.0, 1.0, 1.0),
        "campbell-fixed": (1.0, 1.0, 1.0), "campbell-greedy": (1.0, 1.0, 1.0),
        "campbell-robin": (1.05, 1.01, 1.0),
    }  # fmt: skip
    v = {f"{k}-{s}": x for k, xs in by_size.items() for s, x in zip(SIZES, xs, strict=True)}
    v |= {f"rule-{rule}-{key}": x for rule, (key, x) in itertools.product(range(5), RULES.items())}
    v |= {"rule-0-robin": 0.2, "rule-2-robin": 0.9}
    v |= {"surrogates": 99, "upload-largest-p": 0.02, "commit-largest-p": 0.02}
    v |= {"curse": 0.85, "rest": 1.1, "values-unknown": 0.1}
    return v | {"half-life-double": 0.01, "half-life-half": 0.03} | changes


def test_findings_hold_for_similar_numbers():
    assert all(collect_predicates(numbers()).values())


@pytest.mark.parametrize(
    ("finding", "changes"),
    [
        ("not-poisson", {"commit-largest-p": 0.04}),
        ("tie", {"fixed-large": 0.97}),
        ("greedy-loses", {"greedy-middle": 1.0}),
        ("entry-is-robin", {"entry-small": 0.3}),
        ("campbell-robin-worst", {"campbell-index-middle": 0.9}),
        ("stale-falls", {"upload-oracle-large": 1.25}),
        ("stale-falls", {"budget-large": 1}),
        ("curse-holds", {"curse": 1.2}),
        ("prior-little", {"shrunk-small": 0.9}),
        ("forgetting-helps", {"forgetting-middle": 0.99}),
        ("memory-falls", {"memory-large": 480}),
        ("order-stays", {"rule-3-robin": 1.01}),
        ("longer-is-safer", {"half-life-double": 0.05}),
        ("values-matter", {"values-unknown": 0.02}),
        ("ping-first", {"feed-small": 1.07}),
        ("robin-moves-most", {"rule-2-feed": 16.0}),
        ("two-objectives", {"even-middle": 1.1}),
        ("robin-is-fresh", {"harmonic-robin-middle": 0.1}),
        ("robin-is-fresh", {"robin-middle": 0.85}),
    ],
)
def test_a_finding_turns_with_its_numbers(finding, changes):
    assert not collect_predicates(numbers(**changes))[finding]


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
