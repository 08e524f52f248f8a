"""The static section: verdicts turn when a formula of it is another one."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.robots.static import mm1k, theory
from analysis.robots.studies.robots_static import claims
from analysis.robots.studies.robots_static import exercises as exercises
from analysis.robots.studies.robots_static import formulas as formulas
from analysis.robots.studies.robots_static import impact as impact
from analysis.robots.studies.robots_static import pictures as pictures
from tests.support import assert_all_turn, verdicts

WRONG = {5: 0.8, 15: 0.5, 50: 0.1, 200: 0.0}


@pytest.fixture
def small(monkeypatch):
    """Return the formulas as they are, and a grid that is quick to evaluate."""
    weights = np.geomspace(0.05, 30, 10)
    for module in (formulas, impact):
        monkeypatch.setattr(module, "LARGEST", 12)
        monkeypatch.setattr(module, "WEIGHTS", weights)
    for module in ("robots_static.WEIGHTS",):
        monkeypatch.setattr(f"analysis.robots.studies.{module}", weights)
    monkeypatch.setattr("analysis.robots.studies.robots_static.CAPACITIES", (2, 5, 8))
    monkeypatch.setattr(impact, "CAPACITIES", (2, 5, 8))
    return formulas.Formulas()


def test_the_verdicts_on_the_draft(small):
    said = verdicts(claims(small, WRONG, 5.7))
    wrong = ["D-abs-closed", "D-concl-cost", "D-eq11", "D-eq14", "D-prop2-bound", "D-xref"]
    assert sorted(id for id, v in said.items() if v == "does not hold") == wrong
    assert {said[id] for id in ("D-fig1", "D-fig2", "D-t3", "D-lem2-K0")} == {"not determined"}
    assert {said[id] for id in ("D-assump", "D-eq1")} == {"context"}
    assert {said[id] for id in ("D-prop1", "D-R-double")} == {"holds under"}
    assert said["D-eq9"] == "holds"
    assert said["D-fig2-57"] == "used"


def bracket_of_11(limit, k):
    """Return (11) with its parentheses set right."""
    left = k * limit ** (k + 1) - (k + 1) * limit**k + 1
    return limit**k * (limit ** (k + 2) - (k + 2) * limit + k + 1) / left


def negative_starvation(rho, gamma, capacity):
    """Return the cost with the wrong sign before the starvation."""
    starved = gamma * mm1k.starvation_probability(rho, capacity)
    return mm1k.static_cost(rho, gamma, capacity) - 2 * starved


def test_every_computed_verdict_turns_on_another_formula(small):
    none = dict.fromkeys(theory.static_identities(2), False)
    falsified = {
        "the misprints corrected": replace(
            small,
            full=mm1k.loss_rate,
            eq11=bracket_of_11,
            bound=lambda k: (k + 2) / k,
            exponent=lambda _, k: k,
        ),
        "other formulas of the proof": replace(
            small,
            identities=lambda _: none,
            order=lambda *_: 1,
            numerator=lambda *a: theory.numerator(*a) + 1,
            reduced=lambda *a: -theory.reduced_numerator(*a),
            reduced_minimum=lambda g, k: g / k,
            critical=lambda k: (k + 1) / k,
            limit_cost=lambda *a: mm1k.infinite_capacity_cost(*a) / 2,
            turning=lambda g: mm1k.turning_capacity(g) + 2,
        ),
        "a load that falls with the weight": replace(small, load=lambda g, k: 0.9 / g / k),
        "another queue": replace(
            small,
            loss=lambda rho, k: -mm1k.loss_rate(rho, k),
            starvation=mm1k.full_probability,
            law=lambda rho, k: (1 - rho) * rho ** np.arange(k + 1),
            cost=negative_starvation,
            robots=lambda *_: 1,
        ),
    }
    assert_all_turn(
        claims,
        (small, WRONG, 5.7),
        {name: (wrong, WRONG, 5.7) for name, wrong in falsified.items()},
    )


def test_the_approximation_for_large_queues_fails_for_small_ones():
    shares = formulas.wrong_shares(formulas.Formulas(), 40, np.random.default_rng(1))
    assert shares[5] > 0.3 > 0.1 > shares[200]


def test_the_words_on_the_figures_follow_from_what_they_draw():
    ks = np.array([2, 5, 9])
    assert "rises throughout" in pictures.how_it_runs(0.5, ks, np.array([0.5, 0.6, 0.7]))
    assert "up to K = 5 and falls" in pictures.how_it_runs(2.0, ks, np.array([1.0, 1.2, 1.1]))
    assert "falls throughout" in pictures.how_it_runs(4.0, ks, np.array([1.4, 1.2, 1.1]))
    assert pictures.most_at_small_queues({9: 3, 2: 8, 5: 4})
    assert not pictures.most_at_small_queues({2: 8, 5: 8})


def test_the_solutions_agree_with_the_best_numbers():
    weight = exercises.second_robot()
    assert [mm1k.optimal_robots(0.6, weight * factor, 5) for factor in (0.99, 1.01)] == [1, 2]
    assert exercises.loads_at_twice().idxmax() == mm1k.turning_capacity(2.0)
