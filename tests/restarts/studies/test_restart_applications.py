"""What the page on applications claims, and that each claim would turn on a false model."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.restarts import RestartBandit
from analysis.restarts.instances.applications import example_machines, example_queues
from analysis.restarts.studies.restart_applications import arms_table, claims
from tests.support import assert_all_turn, assert_turns, verdicts

COSTS = {"optimum": 2.0, "index policy": 2.01, "worst state first": 3.0}


def bandit(arms, budget=1):
    return RestartBandit(tuple(arms), budget, 0.95)


def changed(arms, **fields):
    return [replace(arm, **fields) for arm in arms]


@pytest.fixture
def true():
    return {
        "machines": bandit(example_machines(4)),
        "mended": COSTS,
        "queues": bandit(example_queues(4)),
        "emptied": COSTS,
    }


def test_every_application_with_a_model_is_a_restart_arm(true):
    found = verdicts(claims(**true))
    assert found.pop("C-app-clinical") == "context"
    assert set(found.values()) == {"holds"}


def test_each_claim_turns_on_a_false_model(true):
    half_mended = changed(example_machines(4), reset=np.eye(4)[1])
    emptied_for_good = changed(example_queues(4), reset=np.eye(5)[0])
    assert_all_turn(
        claims,
        true,
        {
            "a repair that does not make new": true | {"machines": bandit(half_mended)},
            "a queue without arrivals after its service": true
            | {"queues": bandit(emptied_for_good)},
        },
    )


def test_the_details_of_both_paragraphs_count(true):
    free = changed(example_queues(4), active_cost=np.zeros(5))
    same = changed(example_machines(4), passive_cost=np.ones(4))
    for falsified, rows in [
        ({"queues": bandit(free)}, {"C-app-queue", "C-app-data"}),
        ({"machines": bandit(same)}, {"C-app-repair"}),
        ({"machines": bandit(example_machines(4), budget=2)}, {"C-app-repair"}),
    ]:
        assert_turns(claims, true, true | falsified, rows)


def test_evidence_is_computed_from_the_costs(true):
    said = {claim.id: claim.evidence for claim in claims(**true)}
    assert "0.50% above the exact optimum, worst state first 50.0%" in said["C-app-machine"]


def test_the_table_of_arms_holds_every_law():
    arms = example_queues(4)[:2]
    table = arms_table(arms, ["trickle", "bursts"], "holding", "sending")
    assert len(table) == 2 * (5 + 1)
    row = table.loc[("bursts", "1")]
    assert [row[f"to {y}"] for y in range(5)] == pytest.approx([0, 0.8, 0, 0, 0.2])
    assert table.loc[("bursts", "restart"), "to 0"] == pytest.approx(0.8)
    assert (row["holding"], row["sending"]) == (1, 1)
