"""Claims of the page on the model: each turns on a false model."""

import numpy as np
import pytest

from analysis.restarts import (
    RestartBandit,
    evaluate_scores,
    index_scores,
    simulate,
    solve_joint,
    systems,
    whittle_indices,
)
from analysis.restarts.instances import SLIDE_DISCOUNT, slide_arms, unstructured_arm
from analysis.restarts.subsidised import solve_subsidised
from analysis.restarts.systems import exact_costs
from analysis.results import Estimate
from book.restarts import restart_model as page
from book.restarts import shared
from tests.support import assert_all_turn, verdicts


def bandit(kernel, arms, seed=0, states=3):
    drawn = slide_arms(kernel, arms, states, np.random.default_rng(seed))
    return RestartBandit(tuple(drawn), 1, SLIDE_DISCOUNT)


def cases(wrong=0.0):
    arms = [unstructured_arm(3, np.random.default_rng(seed)) for seed in range(3)]
    return [(arm, 0.3, solve_subsidised(arm, SLIDE_DISCOUNT, 0.3 + wrong)) for arm in arms]


@pytest.fixture(scope="module")
def true():
    hundred, three = bandit("one-step", 100), bandit("lazy-wearing", 3)
    scores = index_scores(three)
    rng = np.random.default_rng(7)
    run = simulate(three, {"index": scores}, paths=400, epochs=250, rng=rng)
    return {
        "value": float(evaluate_scores(three, scores).values.flat[0]),
        "simulated": run.mean("index", level=0.9999),
        "solved": {n: solve_joint(bandit("shock", n)) for n in (2, 3)},
        "hundred": hundred,
        "apart": whittle_indices(hundred.arms, SLIDE_DISCOUNT),
        "exact": exact_costs(["lazy-wearing"], seed=2019, instances=4, arms=4, budgets=[1], jobs=1),
        "checked": page.check_single_arms(cases(), SLIDE_DISCOUNT),
    }


def test_all_holds_but_the_lowest_index(true):
    found = verdicts(page.claims(**true))
    lost = {id for id, verdict in found.items() if verdict == "does not hold"}
    assert lost == {"C-smallest", "C-offline"}
    assert (found["C-3p100"], found["C-decompose"]) == ("matches", "used")


def test_claims_turn_on_false_models(true, monkeypatch):
    small = {"seed": 2019, "instances": 4, "arms": 3, "budgets": [1], "jobs": 1}
    alike = exact_costs(["lazy-wearing"], **small, identical=True)
    with monkeypatch.context() as patch:
        patch.setitem(systems.EXACT, "lowest", systems.EXACT["index_best"])
        highest = exact_costs(["lazy-wearing"], **small)
    assert_all_turn(
        page.claims,
        true,
        {
            "machines of four states": true
            | {"solved": {n: solve_joint(bandit("shock", n, states=4)) for n in (2, 3)}},
            "machines that are alike": true | {"exact": alike},
            "the highest index in the place of the lowest": true | {"exact": highest},
            "arms solved at another penalty": true
            | {"checked": page.check_single_arms(cases(wrong=0.5), SLIDE_DISCOUNT)},
        },
    )


def test_simulated_cost_matches_equations(true):
    simulated = true["simulated"]
    assert simulated.low <= true["value"] <= simulated.high


def test_bound_loose_on_some_systems(true):
    exact = true["exact"]
    assert page.bound_is_loose(exact)
    assert not page.bound_is_loose(exact.assign(bound=exact.optimal))


def test_equal_paths_have_no_interval():
    assert page.describe_simulation(Estimate(1.5, 1.5, 1.5, 9)) == "1.5000 on every path"
    said = page.describe_simulation(Estimate(1.5, 1.4, 1.6, 9))
    assert said == "1.5000, between 1.4000 and 1.6000 at 99.99%"


def test_index_repairs_wrong_machine():
    """By hand: the optimum leaves the first machine worn, at a cost of 1.2 from epoch 1 on."""
    two = shared.make_two_machines()
    assert solve_joint(two).values[0, 0] == pytest.approx(1.2 * SLIDE_DISCOUNT)
    assert evaluate_scores(two, index_scores(two)).values[0, 0] > 2
    first, second = index_scores(two)
    assert second[0] > first[0]
    assert first[1] > second[0]
