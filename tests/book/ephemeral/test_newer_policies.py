"""Newer policies and many copies: verdicts turn on falsified models, and gaps are exact."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Utility, four_sources, long_run_cycle, relaxed_problem
from analysis.ephemeral.instances import random_set
from analysis.sweep import sweep
from book.ephemeral import newer_policies as page
from book.ephemeral import shared as sets
from scorecard.verdicts import add_words
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
    return page.measure_gaps_by_copies(FOUR, 2, LAW, **options).assign(sources="Table 1")


@pytest.fixture(scope="module")
def true():
    one = long_run_cycle(FOUR, "whittle", 2).average_reward
    return page.Results(
        instances=instances((3, 1), (4, 2)),
        stuck=1 - one / sets.relaxed_problem(FOUR, 2).bound,
        alike=page.measure_alike_gaps(FOUR.subset(slice(0, 1)), 0.4, (5, 15)),
        copies=gaps(),
        lasting=float(
            page.select_lasting_gaps(page.measure_random_set_gaps(5, 40, seed=3)).random.mean()
        ),
    )


def test_verdicts_turn_on_falsified_models(true):
    robin, two = instances_of_round_robin(), instances((2, 1))
    expected = true.copies[true.copies.content == "expected"].assign(content="random")
    assert_all_turn(
        page.claims,
        true,
        {
            "round robin on the random sets": replace(true, instances=robin),
            "two sources, where the index is optimal": replace(true, instances=two),
            "contents that are as expected": replace(true, copies=expected),
        },
    )


def test_verdicts_of_the_document(true):
    assert verdicts(page.claims(true)) == {
        "A-r-intro-asym": "holds under",
        "A-s-asym-ww": "context",
        "A-s-asym-verloop": "context",
    }


def test_equal_sources_sentence_follows_gap(true):
    four_types = replace(true, alike=page.measure_alike_gaps(FOUR, 2, (5, 15)))
    contexts = [
        {row.id: add_words(row).context for row in page.claims(r)} for r in (true, four_types)
    ]
    assert "no gap up to rounding" in contexts[0]["A-s-asym-ww"]
    assert "gaps of up to" in contexts[1]["A-s-asym-ww"]


def gap_curves(content="random", last=(1e-5, 2e-5)):
    """Gaps that fall from a tenth, for each beginning, as those of random content do."""
    rows = [
        {"content": content, "start": start, "copies": n, "gap": gap, "low": gap, "high": high}
        for start in ("together", "random")
        for n, gap, high in ((1, 0.1, 0.11), (1000, *last))
    ]
    return pd.DataFrame(rows).assign(sources="Table 1")


def test_equal_starts_keep_one_copys_gap():
    study = page.measure_random_set_gaps(5, 40, seed=3)
    assert study.instance.tolist() == list(range(5))
    for row in study[study.exact].itertuples():
        sources, budget = random_set(row.instance, seed=3)
        alone = long_run_cycle(sources, "whittle", budget).average_reward
        gap = 1 - alone / relaxed_problem(sources, budget).bound
        assert row.together == pytest.approx(gap, abs=1e-10)
        assert row.random >= -1e-12


def test_table_1_gap_by_content():
    gaps = page.measure_gaps_by_copies(
        four_sources(), 2, Utility("exponential"),
        sizes=[1, 50], random_sizes=[1, 30], runs=3, horizon=1500, seed=5,
    )  # fmt: skip
    key = gaps.set_index(["content", "start", "copies"]).gap
    alone = long_run_cycle(four_sources(), "whittle", 2).average_reward
    kept = 1 - alone / relaxed_problem(four_sources(), 2).bound
    assert kept > 5e-4
    for copies in (1, 50):
        assert key["expected", "together", copies] == pytest.approx(kept, rel=1e-9)
    assert key["random", "together", 30] < 0.3 * key["random", "together", 1]
    assert ("closed form", "random", 1) not in key.index
    assert (gaps.low <= gaps.gap).all()
    assert (gaps.gap <= gaps.high).all()


def test_gap_closes_with_every_curve():
    assert page.gap_closes(gap_curves())
    assert not page.gap_closes(gap_curves(last=(0.001, 0.02)))
    expected = gap_curves("expected", last=(0.09, 0.1))
    assert page.gap_closes(pd.concat([gap_curves(), expected]))
    assert not page.gap_closes(
        pd.concat([gap_curves(), gap_curves(last=(0.09, 0.1)).assign(sources="B")])
    )


def test_no_policy_beats_optimum():
    one = page.measure_losses_of_one_copy(2, 120, 2, seed=1)
    assert set(one) == set(page.LABELS)
    for name in ("index", "timetable", "two-level", "lp-update"):
        assert one[name].shape == (2, 1)
        assert one[name].min() > -1e-12
    assert one["ftva"].shape == one["id"].shape == (2, 2)
    many = page.measure_losses_of_copies(8, 3, 121, 2, seed=1)
    assert all(losses.min() > -1e-12 for losses in many.values())
    assert many["index"][[0, 2]] == pytest.approx(0.0, abs=1e-12)  # it earns the bound there
    assert np.abs(many["two-level"]).max() < 0.02
    assert many["ftva"].mean() < 0.1


@pytest.mark.slow
def test_hard_sets_match_search():
    three, five = (page.compute_hard_rewards().loc[f"{size} sources"] for size in ("three", "five"))
    assert three["index below bound"] == pytest.approx(0.0390, abs=5e-5)
    assert three["optimum"] == pytest.approx(0.7592677, abs=5e-8)
    assert five["index below bound"] == pytest.approx(0.04745, abs=5e-6)
    for row in (three, five):
        assert row["index"] < row["timetable"] <= row["optimum"] * (1 + 1e-12) <= row["bound"]


def test_aperiodic_chains_are_few():
    assert 0.0 < page.aperiodic_share(60, seed=1) < 0.5


def test_sentences_turn_with_losses():
    one = {"index": 0.01, "lp-update": 0.02, "ftva": 0.03}
    ahead = page.collect_loss_values({name: np.array([[loss]]) for name, loss in one.items()})
    assert (ahead["five-too-few"], ahead["index-ahead"]) == (True, True)
    one |= {"lp-update": 0.005}
    behind = page.collect_loss_values({name: np.array([[loss]]) for name, loss in one.items()})
    assert (behind["five-too-few"], behind["index-ahead"]) == (False, False)
