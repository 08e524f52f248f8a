"""The proofs of the static section: each check of a step can fail."""

from dataclasses import replace

import pytest

from analysis.robots.static import theory
from analysis.robots.studies import robots_open as study
from tests.support import assert_turns, verdicts

CAPACITIES = [2, 3]


def claims(steps, largest=20):
    exact = study.identities(steps, CAPACITIES)
    return study.claims(study.proof_checks(steps, exact, largest), CAPACITIES)


def test_the_open_question_is_settled():
    assert verdicts(claims(study.Steps())) == {"D-lem2-open": "done"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"identities": lambda k: theory.static_identities(k) | {"h": False}},
        {"sign_changes": lambda n: 5},
        {"moments": lambda n, count: [m + 1 for m in theory.moments(n, count)]},
        {"crossing": lambda n: -theory.crossing(n)},
        {"turning_gamma": lambda k: 1 / theory.turning_gamma(k)},
        {"turning_capacity": lambda g: 3},
    ],
)
def test_one_wrong_step_leaves_it_open(wrong):
    steps = study.Steps()
    assert_turns(claims, (steps,), (replace(steps, **wrong),), ["D-lem2-open"])
