"""Quality and many copies: verdicts turn on falsified models."""

from dataclasses import replace

import pandas as pd
import pytest

from analysis.ephemeral import Utility, four_sources, long_run_cycle
from analysis.sweep import sweep
from book.ephemeral import newer_policies as page
from book.ephemeral import shared as sets
from book.ephemeral.newer_policies import (
    measure_alike_gaps,
    measure_gaps_by_copies,
    measure_random_set_gaps,
    select_lasting_gaps,
)
from tests.support import assert_all_turn, verdicts

FOUR, LAW = four_sources(), Utility("exponential")


def instances(*sizes):
    """Rows of random sets of these sizes."""
    rows = sweep(sets.compare_with_optimum, sizes, seed=3, replications=8, jobs=1, progress=False)
    return pd.DataFrame([row for point in rows for row in point])


def instances_of_round_robin():
    """Rows of random sets on which round robin is played in the place of the index policy."""

    def played(sources, policy, budget):
        return long_run_cycle(sources, "round-robin" if policy == "whittle" else policy, budget)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "long_run_cycle", played)
        return instances((3, 1), (4, 2))


def gaps():
    """Gaps with random and with expected contents on Table 1 at M = 2."""
    options = {"sizes": [1, 16], "random_sizes": [1, 100], "runs": 3, "horizon": 20_000, "seed": 5}
    return measure_gaps_by_copies(FOUR, 2, LAW, **options).assign(sources="Table 1")


@pytest.fixture(scope="module")
def true():
    one = long_run_cycle(FOUR, "whittle", 2).average_reward
    return page.Results(
        instances=instances((3, 1), (4, 2)),
        stuck=1 - one / sets.relaxed_problem(FOUR, 2).bound,
        alike=measure_alike_gaps(FOUR.subset(slice(0, 1)), 0.4, (5, 15)),
        copies=gaps(),
        lasting=float(select_lasting_gaps(measure_random_set_gaps(5, 40, seed=3)).random.mean()),
    )


def test_verdicts_turn_on_falsified_models(true):
    robin, two = instances_of_round_robin(), instances((2, 1))
    expected = true.copies[true.copies.content == "expected"].assign(content="random")
    assert_all_turn(
        page.claims,
        (true,),
        {
            "round robin on the random sets": (replace(true, instances=robin),),
            "two sources, where the index is optimal": (replace(true, instances=two),),
            "contents that are as expected": (replace(true, copies=expected),),
        },
    )


def test_round_robin_differs_from_index():
    true, wrong = instances((3, 1), (4, 2)), instances_of_round_robin()
    assert wrong["whittle"].tolist() == wrong["round-robin"].tolist()
    assert wrong["round-robin"].tolist() == pytest.approx(true["round-robin"].tolist())
    assert (wrong["period"] != true["period"]).any()


def test_verdicts_of_the_document(true):
    assert verdicts(page.claims(true)) == {
        "A-r-intro-asym": "holds under",
        "A-s-asym-ww": "context",
        "A-s-asym-verloop": "context",
    }


def test_equal_sources_sentence_follows_gap(true):
    four_types = replace(true, alike=measure_alike_gaps(FOUR, 2, (5, 15)))
    contexts = [{row.id: row.context for row in page.claims(r)} for r in (true, four_types)]
    assert "no gap up to rounding" in contexts[0]["A-s-asym-ww"]
    assert "gaps of up to" in contexts[1]["A-s-asym-ww"]
