"""The draft's process and its Lemma 4: verdicts turn on another process, or another wording."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from analysis.robots.controlled.control import RobotControl
from analysis.robots.printed import full_chain, transition
from book.robots import robots_controlled as module
from book.robots import robots_controlled as page
from book.robots.robots_controlled import claims_on_the_process as claims
from tests.support import assert_all_turn, verdicts

MODEL = RobotControl(2, 0.4, 1.0, 3, 1.0)


@pytest.fixture(scope="module")
def found():
    return page.build_small_process(MODEL)


@pytest.fixture(scope="module")
def policies():
    return page.evaluate_all_policies(full_chain(RobotControl(2, 0.4, 1.0, 2, 1.0)), doublings=25)


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


def test_verdicts_of_the_draft(found, policies):
    said = verdicts(claims(found, policies))
    wrong = ["D-fict", "D-eq19", "D-eq20", "D-multichain", "D-lem4", "D-lem4-1b", "D-lem4-3",
             "D-lem4-order", "D-lem4-order-zero"]  # fmt: skip
    assert {id for id, verdict in said.items() if verdict == "does not hold"} == set(wrong)
    assert {said[f"D-{row}"] for row in ("lem4-1", "lem4-2", "example-N2", "lem4-3-zero")} == {
        "holds under"
    }


def robot_that_stays(chain):
    """Return the process in which action 0 at (0,1,1) keeps the robot, as action 1 does."""
    place, passive = chain.states.index((0, 1, 1)), sparse.lil_array(chain.transitions[0])
    passive[place] = chain.transitions[1][[place]]
    return replace(chain, transitions=[passive.tocsr(), chain.transitions[1]])


def slow(chain):
    """Return the process in which nothing happens at most events."""
    stay = sparse.eye_array(len(chain.states), format="csr")
    return replace(chain, transitions=[0.999 * stay + 0.001 * t for t in chain.transitions])


def with_a_free_refuge(chain):
    """Return the process with a state that is never left, never entered, and costs nothing."""
    place, costs = chain.states.index((1, 1, 2)), chain.costs.copy()
    moves = sparse.lil_array(chain.transitions[0])
    moves[place], costs[0, place] = 0.0, 0.0
    moves[place, place] = 1.0
    return replace(chain, costs=costs, transitions=[moves.tocsr(), chain.transitions[1]])


def server_that_waits_for_two(model, state, action):
    """Return the law after a state if one page alone is not served."""
    law = dict(transition(model, state, action))
    for served in [x for x in law if x[0] == 1 and x[2] == 0]:
        idle = (*served[:2], 2)
        law[idle] = law.get(idle, 0.0) + law.pop(served)
    return law


def test_computed_verdicts_turn(found, policies, monkeypatch):
    chain, one = found.chain, full_chain(RobotControl(1, 0.4, 1.0, 2, 1.0))
    busier = full_chain(replace(MODEL, arrival_rate=0.5))
    monkeypatch.setattr(module, "transition", server_that_waits_for_two)
    lone = claims(found, policies)
    monkeypatch.undo()

    def said(process, costs):
        return lone if process is None else claims(process, costs)

    assert_all_turn(
        said,
        (found, policies),
        {
            "events twice as dear": (
                replace(found, chain=replace(chain, costs=2 * chain.costs)),
                policies,
            ),
            "a faster clock": (replace(found, chain=faster_clock(chain)), policies),
            "no robot is started": (replace(found, chain=without_starts(chain)), policies),
            "a choice at (1,0,0)": (replace(found, chain=free_at_one(chain)), policies),
            "a robot that stays at (0,1,1)": (
                replace(found, chain=robot_that_stays(chain)),
                policies,
            ),
            "a page alone is not served": (None, policies),
            "robots that bring nothing": (
                page.build_small_process(RobotControl(2, 1e-13, 1.0, 3, 1.0)),
                policies,
            ),
            "as many robots as places": (
                page.build_small_process(RobotControl(3, 0.4, 1.0, 3, 1.0), more_robots=3),
                policies,
            ),
            "busier robots at decision epochs": (
                replace(found, epochs=page.compare_averages(MODEL, busier)[0]),
                policies,
            ),
            "hardly any event": (found, page.evaluate_all_policies(slow(one))),
            "a free refuge": (found, page.evaluate_all_policies(with_a_free_refuge(one))),
        },
    )


def test_small_process_policies_all_evaluated():
    model = RobotControl(1, 0.4, 1.0, 2, 1.0)
    found = page.evaluate_all_policies(full_chain(model))
    assert len(found.costs) == 2**6
    assert found.costs.min() == pytest.approx(model.solve().gain)


def test_two_robots_have_two_classes(policies):
    assert set(policies.classes) == {1, 2}
    gain = RobotControl(2, 0.4, 1.0, 2, 1.0).solve().gain
    assert policies.costs.min() == pytest.approx(gain, rel=1e-6)


def test_mixtures_of_policies_cost_no_less(found):
    assert found.randomised == pytest.approx(found.gain, rel=1e-9)
