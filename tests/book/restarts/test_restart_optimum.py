"""Claims of the page on the optimum: each turns on a false model."""

import numpy as np
import pytest

from analysis.restarts import evaluate_scores, index_scores, solve_joint
from analysis.restarts.instances import SLIDE_DISCOUNT, slide_arms
from analysis.restarts.systems import exact_costs
from book.restarts import restart_optimum as page
from book.restarts import shared
from tests.support import assert_all_turn, assert_turns, verdicts

POLICIES = ["index", "index_best", "index_worst"]


@pytest.fixture(scope="module")
def true():
    kernels = ["one-step", "lazy-simplex"]
    rng = np.random.default_rng(0)
    exact = exact_costs(kernels, POLICIES, seed=0, instances=3, arms=3, jobs=1)
    return {
        "systems": page.add_ratios(exact),
        "instances": 100,
        "arms": slide_arms("one-step", 5, 5, rng),
        "larger": slide_arms("one-step", 1, 10, rng)[0],
        "monotone": {
            name: slide_arms(name, 1, 5, rng)[0].stochastically_monotone for name in kernels
        },
        "discount": SLIDE_DISCOUNT,
        "drawn": (shared.printed_ticks("C-e12-xaxis"), shared.printed_ticks("C-e12-yaxis")),
    }


def test_range_open_at_lower_end(true):
    found = verdicts(page.claims(**true))
    assert found["C-close"] == found["C-concl-close"] == "context"
    assert (found["C-e12-lo"], found["C-e12-hi"]) == ("not determined", "matches under")
    assert found["C-alpha-def"] == "context"
    inputs = {id for id in found if id.startswith(("C-e12-", "C-P", "C-Q", "C-c", "C-b"))}
    inputs -= {"C-e12-lo", "C-e12-hi", "C-e12-fig", "C-e12-split", "C-close", "C-concl-close"}
    assert {found[id] for id in inputs} == {"used"}


def test_claims_turn_on_false_models(true):
    systems = true["systems"]
    one = systems[systems.budget == 1]["index"].to_numpy()
    two = systems[systems.budget == 2]
    assert_all_turn(
        page.claims,
        true,
        {
            "one repair for the index policy, two for the optimum": true
            | {"systems": page.add_ratios(two.assign(index=one))},
        },
    )


def test_inputs_turn_with_arms(true):
    ticks, counts = true["drawn"]
    shifted = slide_arms("one-step", 1, 6, np.random.default_rng(0))[0]
    for wrong, rows in [
        ({"drawn": (ticks - 1, counts / 2)}, {"C-e12-xaxis", "C-e12-yaxis"}),
        ({"arms": true["arms"][:4]}, {"C-e12-n"}),
        ({"arms": [shifted] * 5}, {"C-e12-X"}),
        ({"monotone": dict.fromkeys(true["monotone"], False)}, {"C-P-structured", "C-P-random"}),
        ({"discount": 0.95}, {"C-beta"}),
    ]:
        assert_turns(page.claims, true, true | wrong, rows)


def test_bands_count_below_print(true):
    bands = page.compute_bands(
        page.add_ratios(true["systems"].assign(index=2 * true["systems"].optimal))
    )
    assert (bands["below 95.5"] == 3).all()
    assert np.allclose(bands["median"], 50)
    assert len(bands) == 4


def test_tie_predicates_turn(true):
    systems = true["systems"]
    assert set(page.collect_predicates(systems).values()) == {True}
    tied = systems.assign(alpha_worst=systems.alpha_best, index_best_least=1.0)
    assert set(page.collect_predicates(tied).values()) == {False}


def test_trap_arms_not_monotone():
    """By hand: 2 for the repair of one of the two that fail, in turns, and 1 for the middle."""
    bandit = page.make_trap()
    scores = index_scores(bandit)
    assert not bandit.arms[0].stochastically_monotone
    assert (scores[0][:-1] < scores[0][1:]).all()
    assert solve_joint(bandit).values[0, 0, 1] == pytest.approx(3)
    assert evaluate_scores(bandit, scores).values[0, 0, 1] > 5


def test_shock_ties_keep_likely_failure():
    ratios = page.compute_shock_ratios(4)
    assert ratios.rule.to_numpy() == pytest.approx(ratios.best.to_numpy(), abs=1e-4)
    assert (ratios.lower < 99.9).any()
