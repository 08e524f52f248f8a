"""The four-source example: verdicts turn on falsified models, and the scan finds what it should."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral.optimum.exact import optimal_average_reward
from analysis.ephemeral.policies import SingleSourcePolicy
from analysis.ephemeral.simulation import Cycle, long_run_cycle, simulate
from analysis.ephemeral.sources import Sources, four_sources
from book.ephemeral import four_sources as page
from book.ephemeral import shared
from scorecard.prints import printed_number
from tests.support import assert_all_turn, verdicts


def results(sources, policy="whittle", budgets=(1, 2), alone=None, **changes):
    first, second = (long_run_cycle(sources, policy, budget) for budget in budgets)
    best = int(np.argmax(sources.u)) if alone is None else alone
    stays = long_run_cycle(sources, SingleSourcePolicy(best), 1)
    averages = shared.scan_averages(four_sources(), "whittle", 1, 100)
    printed = printed_number("A-r-25466")
    scan = {
        "fits": page.select_matching_averages(averages, printed),
        "scanned": len(averages),
        "chance": page.hit_chance(averages, printed, 1.5),
    }
    rewards = simulate(sources, policy, budgets[0], 400).reward[-first.period :]
    optimum = optimal_average_reward(sources, budgets[0])
    drawn = sources.mean_utility * np.random.default_rng(1).standard_exponential(len(sources))
    known = {"optimum": optimum, "drawn": drawn, **scan, **changes}
    return page.Results(sources, budgets, first, second, stays, rewards, **known)


def growing(sources):
    """Return the sources with contents that grow by u at each epoch."""

    class Growing(Sources):
        @property
        def alpha(self):
            return np.ones(len(self))

    return Growing(sources.arrival_rate, sources.mean_utility, sources.decay_rate)


def permuted(order):
    four = four_sources()
    return Sources(four.arrival_rate[order], four.mean_utility[order], four.decay_rate[order])


def test_verdicts_turn_on_falsified_models():
    four = four_sources()
    true = results(four)
    slower = printed_number("A-r-25466") / true.first.average_reward
    assert_all_turn(
        page.claims,
        true,
        {
            "sources in another order": results(permuted([3, 2, 1, 0])),
            "sources 1 and 2 swapped": results(permuted([1, 0, 2, 3])),
            "round robin in the place of the index": results(four, "round-robin"),
            "always the same source": replace(
                true,
                first=true.alone,
                second=true.first,
                epoch_rewards=simulate(four, SingleSourcePolicy(0), 1, 9).reward[1:],
            ),
            "content that does not decay": replace(true, sources=growing(four)),
            "utilities that are all alike": replace(true, drawn=four.mean_utility),
            "rates at which the index policy earns what is printed": results(
                replace(four, arrival_rate=four.arrival_rate * slower)
            ),
            "five sources": results(permuted([0, 1, 2, 3, 3])),
        },
    )


def test_verdicts_of_the_document():
    found = verdicts(page.claims(results(four_sources())))
    assert found["A-r-25466"] == "explained"
    assert found["A-r-17979"] == "matches"
    assert found["A-s-greedy-def"] == "holds under"
    assert found["A-r-greedy1"] == found["A-s-two-sources"] == "holds"
    assert found["A-r-t1-xi1"] == "used"
    assert "differs" not in found.values()
    assert "refused" not in found.values()


def test_other_policy_is_not_explained():
    found = verdicts(page.claims(results(four_sources(), "round-robin")))
    assert found["A-r-25466"] == found["A-s-25466"] == "differs"


def test_scan_agrees_with_runs():
    averages = shared.scan_averages(four_sources(), "whittle", 1, 20)
    assert not averages.duplicated(["initial_state", "epochs", "divisor"]).any()
    assert len(averages) == 3 * 2 * 19
    row = averages.query("initial_state == 'full' and epochs == 7 and divisor == 'epochs - 1'")
    run = simulate(four_sources(), "whittle", 1, 7, initial_state="full")
    assert row.average.item() == pytest.approx(run.reward.sum() / 6)


def test_hit_chance_counts_reached_numbers():
    averages = pd.DataFrame({"average": [1.004, 1.0049, 1.02, 9.0]})
    assert page.hit_chance(averages, 1.0, 0.02) == pytest.approx(2 / 5)
    assert page.hit_chance(averages, 5.0, 0.02) == 0.0


def test_print_values_match_run():
    four, staying = four_sources(), SingleSourcePolicy(2)
    averages = shared.scan_averages(four, "whittle", 1, 80)
    fit = page.select_matching_averages(averages, printed_number("A-r-25466")).iloc[0]
    said = page.collect_print_values(four, staying, averages, fit, 200.0)
    run = simulate(four, "whittle", 1, int(fit.epochs), initial_state=fit.initial_state)
    assert said["print-epochs"] == fit.epochs
    assert said["literal-divisor"] == pytest.approx(run.reward.sum() / (fit.epochs - 1))
    assert said["same-recipe"] == pytest.approx((fit.epochs - 1) / fit.epochs * four.u[2])
    assert said["hit-chance"] == page.hit_chance(averages, 200.0, 1.5)
    assert said["hit-chance-wide"] == page.hit_chance(averages, 200.0, 4.5)


def test_greedy_rank_is_content():
    sources = replace(four_sources(), period=0.5)
    ages = np.array([[0.0], [1.0], [30.0]])
    rank = page.greedy_rank(sources, sources.mean_utility, ages)
    np.testing.assert_allclose(rank, sources.state_at_age(ages))


def rewards_of(index, greedy):
    policies = ["whittle", "greedy", "round-robin"]
    return pd.DataFrame({"M = 2": [index, greedy, 0.5]}, index=policies)


@pytest.mark.parametrize(
    ("size", "index", "greedy", "alike", "over"),
    [
        (4, 3.0, 3.0, True, 0.0),
        (4, 3.3, 3.0, False, 0.1),
        (4, 2.7, 3.0, False, -0.1),
        (2, 3.0, 3.0, False, 0.0),  # all sources are crawled: nothing to choose
        (4, 0.0, 0.0, True, 0.0),  # nothing to earn
        (4, 3.0, 0.0, False, 1.0),
    ],
)
def test_sentences_turn_with_budgets(size, index, greedy, alike, over):
    said = page.collect_predicates(size, (2, 2), rewards_of(index, greedy))
    assert not said["two-budgets"]
    assert said["greedy-alike"] is alike
    assert [said[k] for k in ("all-crawled", "greedy-alike", "greedy-apart")].count(True) == 1
    assert said["all-crawled"] is (size == 2)
    assert said["over-greedy"] == pytest.approx(over)
    assert page.collect_predicates(4, (2, 3), rewards_of(1.0, 1.0))["two-budgets"]


@pytest.mark.parametrize(
    ("gaps", "said"),
    [
        ((), "never crawled"),
        ((1, 2, 2), "1, 2, 2"),
        ((1,) * 400 + (2,) * 30, "400 of 1, 30 of 2"),
        (tuple(range(3, 90)), "87, from 3 to 89"),
    ],
)
def test_gaps_listed_while_readable(gaps, said):
    assert page.describe_gaps(gaps) == said


@pytest.mark.parametrize(
    ("utility", "decay", "said"),
    [
        ([2, 1, 3], [0.3, 0.2, 0.4], "An item of c starts highest, one of b lowest; interest in b"),
        (
            [2, 2, 1],
            [0.3, 0.3, 0.4],
            "An item of a and b starts highest, one of c lowest; interest in a and b",
        ),
        (
            [1, 1, 1],
            [0.3, 0.3, 0.3],
            "The items of all sources start alike; interest lasts equally long in all.",
        ),
        ([1, 1, 1], [0.3, 0.3, 0.2], "start alike; interest in c lasts longest."),
        ([2], [0.5], "An item is worth 2 at first, and half of it after 1.39."),
    ],
)
def test_captions_name_single_highest(utility, decay, said):
    sources = Sources(np.ones(len(decay)), np.array(utility, float), np.array(decay))
    assert said in page.describe_values(sources, ["a", "b", "c"][: len(decay)])


def test_one_epoch_has_no_plural():
    once, seven = (Cycle(0, ((0,),) * period, np.ones(1), 1.0) for period in (1, 7))
    assert page.describe_rhythm(once) == "The crawls are the same at every epoch"
    assert page.describe_rhythm(seven) == "The crawls repeat with period 7"
    assert "No ages come twice" in page.describe_rhythm(replace(seven, repeats=False))
    assert page.describe_spread([1.0, 1.004]) == "differ by less than 0.01"
    assert page.describe_spread([1.0, 1.12]) == "still differ by 0.12"
