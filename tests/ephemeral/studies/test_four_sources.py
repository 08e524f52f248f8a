"""The four-source example: verdicts turn on falsified models, and the scan finds what it should."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral.optimum.exact import optimal_average_reward
from analysis.ephemeral.policies import SingleSourcePolicy
from analysis.ephemeral.simulation import long_run_cycle, simulate
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.studies.four_sources import (
    Results,
    chance_of_a_hit,
    greedy_content,
    predicates,
    rounding_to,
    scan_averages,
)
from analysis.ephemeral.studies.four_sources.claims import claims
from analysis.published import printed_number
from tests.support import assert_all_turn, verdicts


def results(sources, policy="whittle", budgets=(1, 2), alone=None, **changes):
    first, second = (long_run_cycle(sources, policy, budget) for budget in budgets)
    best = int(np.argmax(sources.u)) if alone is None else alone
    stays = long_run_cycle(sources, SingleSourcePolicy(best), 1)
    averages = scan_averages(four_sources(), "whittle", 1, 100)
    printed = printed_number("A-r-25466")
    scan = {
        "fits": rounding_to(averages, printed),
        "scanned": len(averages),
        "chance": chance_of_a_hit(averages, printed, 1.5),
    }
    rewards = simulate(sources, policy, budgets[0], 400).reward[-first.period :]
    optimum = optimal_average_reward(sources, budgets[0])
    known = {"optimum": optimum, **scan, **changes}
    return Results(sources, budgets, first, second, stays, rewards, **known)


def permuted(order):
    four = four_sources()
    return Sources(four.arrival_rate[order], four.mean_utility[order], four.decay_rate[order])


def test_every_computed_verdict_turns_on_a_falsified_model():
    four = four_sources()
    true = results(four)
    assert_all_turn(
        claims,
        (true,),
        {
            "sources in another order": (results(permuted([3, 2, 1, 0])),),
            "sources 1 and 2 swapped": (results(permuted([1, 0, 2, 3])),),
            "round robin in the place of the index": (results(four, "round-robin"),),
            "always the same source": (replace(true, first=true.alone, second=true.first),),
            "no decay in the greedy policy's rank": (
                replace(true, greedy=lambda sources, ages: ages * sources.u),
            ),
            "five sources": (replace(true, sources=permuted([0, 1, 2, 3, 3])),),
            "every epoch earns the same": (
                replace(true, epoch_rewards=np.full(2, true.first.average_reward)),
            ),
        },
    )


def test_the_verdicts_of_the_documents_own_model():
    found = verdicts(claims(results(four_sources())))
    assert found["A-r-25466"] == "explained"
    assert found["A-r-17979"] == "matches"
    assert found["A-r-t1-xi1"] == "used"
    assert "differs" not in found.values()
    assert "refused" not in found.values()


def test_a_policy_that_is_not_the_best_is_not_explained():
    found = verdicts(claims(results(four_sources(), "round-robin")))
    assert found["A-r-25466"] == found["A-s-25466"] == "differs"


def test_a_scan_holds_every_choice_once_and_agrees_with_runs():
    averages = scan_averages(four_sources(), "whittle", 1, 20)
    assert not averages.duplicated(["initial_state", "epochs", "divisor"]).any()
    assert len(averages) == 3 * 2 * 19
    row = averages.query("initial_state == 'full' and epochs == 7 and divisor == 'epochs - 1'")
    run = simulate(four_sources(), "whittle", 1, 7, initial_state="full")
    assert row.average.item() == pytest.approx(run.reward.sum() / 6)


def test_the_chance_of_a_hit_counts_the_numbers_that_a_scan_reaches():
    averages = pd.DataFrame({"average": [1.004, 1.0049, 1.02, 9.0]})
    assert chance_of_a_hit(averages, 1.0, 0.02) == pytest.approx(2 / 5)
    assert chance_of_a_hit(averages, 5.0, 0.02) == 0.0
    with pytest.raises(ValueError, match="half_width"):
        chance_of_a_hit(averages, 1.0, 0.0)


def test_the_slides_greedy_rank_is_the_content_at_each_age():
    sources = replace(four_sources(), period=0.5)
    ages = np.array([[0.0], [1.0], [30.0]])
    np.testing.assert_allclose(greedy_content(sources, ages), sources.state_at_age(ages))


def test_sentences_turn_with_the_budgets_and_the_rewards():
    def rewards(*whittle):
        columns = {"M = 1": [whittle[0], 2.0], "M = 2": [whittle[1], 3.0]}
        return pd.DataFrame(columns, index=["whittle", "greedy"])

    alike = predicates((1, 2), rewards(2.0, 3.3))
    assert (alike["two-budgets"], alike["greedy-alike"]) == (True, True)
    other = predicates((2, 2), rewards(2.0, 3.3))
    assert (other["two-budgets"], other["greedy-alike"]) == (False, False)
    assert other["over-greedy"] == pytest.approx(0.1)
