"""What the page says in words turns with the runs."""

import pandas as pd
import pytest

from analysis.ephemeral.sources import four_sources
from analysis.learning.studies import learning_as_printed as study
from analysis.learning.studies.learning_as_printed.statements import statements


@pytest.fixture(scope="module")
def divisors():
    return study.bounds_by_divisor(four_sources(), 2.0)


def points(*counts):
    """Number of crawls at rising kappa, with a deviation of half of it."""
    columns = {"sources crawled": counts, "their deviation": [count / 2 for count in counts]}
    return pd.DataFrame(columns, index=range(len(counts)))


def test_all_is_said_of_runs_that_stick_at_their_bounds(divisors):
    said = statements(divisors, 1.0, 160.0, (175.7, 208.3), points(1.4, 0.9, 0.3))
    assert set(said.values()) == {True}


@pytest.mark.parametrize(
    ("changed", "silent"),
    [
        ({"share": 0.5}, {"stuck", "kappa-alone"}),
        ({"earned": 180.0}, {"simple-does-better"}),
        ({"points": points(0.3, 0.9)}, {"kappa-alone"}),
        ({"points": points(0.3)}, {"kappa-alone"}),
    ],
)
def test_a_sentence_is_silent_where_it_is_false(divisors, changed, silent):
    true = {"share": 1.0, "earned": 160.0, "simple": (175.7, 208.3), "points": points(1.4, 0.9)}
    said = statements(divisors, **(true | changed))
    assert {name for name, holds in said.items() if not holds} == silent


def test_the_unit_does_not_decide_where_all_divisors_earn_alike(divisors):
    one = divisors["the largest u*"]
    same = {"one": one, "other": one}
    assert not statements(same, 1.0, 160.0, (175.7, 208.3), points(1.0))["unit-decides"]
