"""The static section: verdicts turn when a formula of it is another one."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

from analysis.mdp import stationary_law
from analysis.robots import mm1k
from analysis.robots import static_theory as theory
from book.robots import exercises
from book.robots import robots_static as page
from tests.support import assert_all_turn, verdicts

WRONG = {5: 0.8, 15: 0.5, 50: 0.1, 200: 0.0}


@pytest.fixture
def small(monkeypatch):
    """Take a grid that is quick to evaluate."""
    monkeypatch.setattr(page, "LARGEST", 12)
    monkeypatch.setattr(page, "WEIGHTS", np.geomspace(0.05, 30, 10))
    monkeypatch.setattr(page, "CAPACITIES", (2, 5, 8))


def test_verdicts_of_the_draft(small):
    said = verdicts(page.claims(WRONG, 5.7))
    wrong = ["D-abs-closed", "D-concl-cost", "D-eq11", "D-eq14", "D-intro-cost", "D-prop2-bound",
             "D-xref"]  # fmt: skip
    assert sorted(id for id, v in said.items() if v == "does not hold") == wrong
    assert {said[id] for id in ("D-fig1", "D-fig2", "D-t3", "D-lem2-K0")} == {"not determined"}
    assert {said[id] for id in ("D-assump", "D-eq1")} == {"context"}
    assert {said[id] for id in ("D-prop1", "D-R-double")} == {"holds under"}
    assert said["D-eq9"] == "holds"
    assert said["D-fig2-57"] == "used"


def negative_starvation(rho, gamma, capacity, *_):
    """Return the cost with the wrong sign before the starvation."""
    starved = gamma * mm1k.starvation_probability(rho, capacity)
    return static_cost(rho, gamma, capacity) - 2 * starved


def root_of_14(gamma, capacity):
    """Return the load at which (14) as printed, with K = 5, is 0."""
    return brentq(page.printed_14, 1.0, 3.0, args=(gamma, capacity, 5))


#: Functions of the model and of its theory, as they are.
load, static_cost, numerator = mm1k.optimal_load, mm1k.static_cost, theory.numerator
loss_rate, full_probability = mm1k.loss_rate, mm1k.full_probability
limit_cost, turning = mm1k.infinite_capacity_cost, mm1k.turning_capacity
reduced = theory.reduced_numerator
cost, zero_order = theory.cost, theory.zero_order_at_one
FALSIFIED = {
    "losses counted as a rate": {
        "mm1k.full_probability": lambda rho, k: rho * full_probability(rho, k),
        "mm1k.loss_rate": lambda rho, k, *_: rho * full_probability(rho, k),
    },
    "the best load is the root of (14) as printed": {
        "mm1k.optimal_load": lambda g, k, *_: root_of_14(g, k) if (g, k) == (2.0, 8) else load(g, k)
    },
    "the slope of the cost as (11) is printed": {"theory.slope_ratio": page.printed_11},
    "best loads a fifth too high, whatever the capacity": {
        "mm1k.optimal_load": lambda g, k, *_: 1.2 * load(g, k),
        "mm1k.turning_capacity": lambda *_: 2,
    },
    "R with the wrong sign": {"theory.numerator": lambda *a: -numerator(*a)},
    "R off by one": {"theory.numerator": lambda *a: numerator(*a) + 1},
    "a cost without its starvation": {"theory.cost": lambda rho, g, k: cost(rho, 0 * g, k)},
    "a zero counted by another weight": {
        "theory.zero_order_at_one": lambda g, k: zero_order(g + Fraction(9, 10), k)
    },
    "S with the wrong sign": {"theory.reduced_numerator": lambda *a: -reduced(*a)},
    "another zero of the slope of S": {"theory.reduced_minimum": lambda g, k: g / k},
    "the weight of the draft's bound": {"mm1k.critical_gamma": lambda k, *_: (k + 1) / k},
    "half the cost at infinite capacity": {
        "mm1k.infinite_capacity_cost": lambda *a: limit_cost(*a) / 2
    },
    "a later turn": {"mm1k.turning_capacity": lambda g, *_: turning(g) + 2},
    "a load that falls with the weight": {
        "mm1k.optimal_load": lambda g, k, *_: 0.9 / g / k,
        "mm1k.turning_capacity": lambda *_: 2,
    },
    "a loss that falls": {"mm1k.loss_rate": lambda rho, k, *_: -loss_rate(rho, k)},
    "starvation of a full queue": {"mm1k.starvation_probability": lambda *a: full_probability(*a)},
    "a starving queue that earns": {"mm1k.static_cost": negative_starvation},
    "a queue that balances other rates": {
        "robots_static.stationary_law": lambda rates: stationary_law(rates.T.tocsr())
    },
    "one robot at most": {"mm1k.optimal_robots": lambda *_: 1},
}


@pytest.fixture
def falsified(monkeypatch):
    """Return the claims of the page with functions of the model replaced, by name."""
    homes = {"mm1k": mm1k, "theory": theory, "robots_static": page}

    def said(changes):
        with monkeypatch.context() as patch:
            for name, wrong in changes.items():
                home, function = name.split(".")
                patch.setattr(homes[home], function, wrong)
            return page.claims(WRONG, 5.7)

    return said


def test_verdicts_turn_on_other_models(small, falsified):
    # The conditions of the last four stand in words alone: no predicate decides them.
    stands = {"D-R-double", "D-eq15", "D-eq16", "D-prop1"}
    wrong = {name: (changes,) for name, changes in FALSIFIED.items()}
    assert_all_turn(falsified, ({},), wrong, stands=stands)


def test_large_queue_approximation_fails_small():
    shares = page.count_wrong_shares(40, np.random.default_rng(1))
    assert shares[5] > 0.3 > 0.1 > shares[200]


def test_figure_sentences_follow_data():
    ks = np.array([2, 5, 9])
    assert "rises throughout" in page.describe_run(0.5, ks, np.array([0.5, 0.6, 0.7]))
    assert "up to K = 5 and falls" in page.describe_run(2.0, ks, np.array([1.0, 1.2, 1.1]))
    assert "falls throughout" in page.describe_run(4.0, ks, np.array([1.4, 1.2, 1.1]))
    assert page.describe_small_queues({9: 3, 2: 8, 5: 4})
    assert not page.describe_small_queues({2: 8, 5: 8})


def test_solutions_match_best_numbers():
    weight = exercises.second_robot_weight()
    assert [mm1k.optimal_robots(0.6, weight * factor, 5) for factor in (0.99, 1.01)] == [1, 2]
    assert exercises.list_loads_at_twice().idxmax() == mm1k.turning_capacity(2.0)
