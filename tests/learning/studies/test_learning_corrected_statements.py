"""What the page says in words turns with the runs."""

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral.sources import Sources, four_sources
from analysis.learning.studies.learning_corrected import BAD, ZERO
from analysis.learning.studies.learning_corrected.statements import (
    of_climbing,
    of_learning,
    of_the_projection,
    of_what_remains,
    wall_costs,
)


def learning(zero=257.0, bad=255.0, undrawn=260.0, at_bad=80.0):
    kept = {ZERO: np.full(3, undrawn), BAD: np.full(3, undrawn)}
    return of_learning(260.0, at_bad, {ZERO: zero, BAD: bad}, kept)


def test_what_is_said_of_learning_turns():
    assert learning() == {"learns": True, "drawing-costs": True}
    assert not learning(bad=80.5)["learns"]
    assert not learning(undrawn=257.5)["drawing-costs"]
    assert not learning(zero=259.5)["drawing-costs"]


def test_what_is_said_of_the_climbs_turns():
    assert of_climbing(260.0, 259.9, 257.0) == {"climb-is-certain": True, "constant-is-less": True}
    assert of_climbing(260.0, 250.0, 250.0) == {
        "climb-is-certain": False,
        "constant-is-less": False,
    }


def test_intervals_of_poor_and_rich_sources_may_meet():
    assert of_the_projection(four_sources()) == (0, 2, True)
    alike = Sources([5.0, 5.0], [1.0, 1.1], [0.5, 0.5])
    assert of_the_projection(alike) == (1, 0, False)


def test_a_wall_costs_where_the_intervals_are_apart_and_the_reward_falls():
    assert wall_costs(True, 200.0, 257.0, 260.0)
    assert not wall_costs(False, 200.0, 257.0, 260.0)
    assert not wall_costs(True, 256.5, 257.0, 260.0)


@pytest.mark.parametrize(
    ("changed", "silent"),
    [
        ({"climbed": 340.0}, "form-lacks"),
        ({"learned": 336.5}, "steps-too-short"),
        ({"stuck": 337.0}, "steeper-is-stuck"),
    ],
)
def test_what_is_said_of_the_second_budget_turns(changed, silent):
    def said(climbed=337.0, learned=290.0, stuck=327.0):
        columns = {"index policy": 340.0, "climbed off-line": climbed, "learned": learned}
        bad = pd.Series(columns)
        return of_what_remains(pd.Series(columns | {"climbed off-line": 330.0}), bad, stuck)

    assert set(said().values()) == {True}
    assert not said(**changed)[silent]
