"""The draft's process and its Lemma 4: verdicts turn on another process, or another wording."""

import operator
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from analysis.robots.controlled.control import RobotControl
from analysis.robots.printed.fullchain import full_chain
from analysis.robots.studies.robots_controlled import process as study
from analysis.robots.studies.robots_controlled.process_claims import claims
from tests.support import assert_all_turn, verdicts

MODEL = RobotControl(2, 0.4, 1.0, 3, 1.0)


@pytest.fixture(scope="module")
def found():
    return study.small_process(MODEL)


@pytest.fixture(scope="module")
def policies():
    return study.all_policies(full_chain(RobotControl(1, 0.4, 1.0, 2, 1.0)))


def faster_clock(chain):
    """Return the process with a tenth more events, which are fictitious."""
    index = {state: k for k, state in enumerate(chain.states)}
    idle = sparse.lil_array((len(index), len(index)))
    for (q, r, _), k in index.items():
        idle[k, index.get((q, r, 2), k)] = 1.0
    slower = sparse.csr_array(0.9 * sparse.eye_array(len(index)) + 0.1 * sparse.csr_array(idle))
    return replace(chain, transitions=[sparse.csr_array(t @ slower) for t in chain.transitions])


def without_starts(chain):
    """Return the process in which action 1 does what action 0 does, where both are allowed."""
    both = sparse.diags_array(np.isfinite(chain.costs).all(axis=0).astype(float))
    one = chain.transitions[1] - both @ chain.transitions[1] + both @ chain.transitions[0]
    return replace(chain, transitions=[chain.transitions[0], sparse.csr_array(one)])


def free_at_one(chain):
    """Return the process in which action 0 is allowed at (1,0,0), and starts a robot too."""
    place = chain.states.index((1, 0, 0))
    costs, passive = chain.costs.copy(), sparse.lil_array(chain.transitions[0])
    costs[0, place], passive[place] = 0.0, chain.transitions[1][[place]]
    return replace(chain, costs=costs, transitions=[passive.tocsr(), chain.transitions[1]])


def test_the_verdicts_on_the_draft(found, policies):
    said = verdicts(claims(found, policies))
    wrong = ["D-fict", "D-eq19", "D-eq20", "D-multichain", "D-lem4", "D-lem4-1b", "D-lem4-3",
             "D-lem4-order"]  # fmt: skip
    assert {id for id, verdict in said.items() if verdict == "does not hold"} == set(wrong)
    assert said["D-lem4-1"] == said["D-lem4-2"] == said["D-example-N2"] == "holds under"


def test_every_computed_verdict_turns(found, policies):
    chain = found.chain
    dearer = replace(chain, costs=2 * chain.costs)
    corrected = study.Process(
        MODEL,
        chain,
        dict.fromkeys(found.printed, found.gain),
        "",
        found.randomised,
        fictitious=lambda m, q, r: (m.robots - r) * m.arrival_rate / m.event_rate,
        level_zero=operator.gt,
        lowest=1,
        direction=-1,
    )
    several = replace(policies, classes=np.ones_like(policies.classes), costs=policies.early + 1)
    several.costs[0, 0] = -1.0
    assert_all_turn(
        claims,
        (found, policies),
        {
            "events twice as dear": (replace(found, chain=dearer), policies),
            "a faster clock": (replace(found, chain=faster_clock(chain)), policies),
            "no robot is started": (replace(found, chain=without_starts(chain)), policies),
            "a choice at (1,0,0)": (replace(found, chain=free_at_one(chain)), policies),
            "the print corrected": (corrected, policies),
            "averages that depend on the start": (found, several),
            "a mixture that costs less": (replace(found, randomised=0.5 * found.gain), policies),
        },
    )


def test_all_policies_of_a_small_process_are_evaluated(policies):
    assert len(policies.costs) == 2**6
    assert policies.costs.min() == pytest.approx(RobotControl(1, 0.4, 1.0, 2, 1.0).solve().gain)


def test_two_robots_have_policies_with_two_classes():
    model = RobotControl(2, 0.4, 1.0, 2, 1.0)
    found = study.all_policies(full_chain(model), doublings=25)
    assert set(found.classes) == {1, 2}
    assert found.costs.min() == pytest.approx(model.solve().gain, rel=1e-6)


def test_mixtures_of_policies_cost_no_less(found):
    assert found.randomised == pytest.approx(found.gain, rel=1e-9)
