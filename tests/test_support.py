"""The helpers themselves: a verdict that does not turn is named."""

import pytest

from scorecard import Claim
from tests.support import assert_all_turn, assert_turns, verdicts

NUMBER, STATEMENT, PROSE = "A-r-17979", "A-r-thm1", "A-r-intro-exp"


def claims(number, holds):
    return [
        Claim(NUMBER, number),
        Claim(STATEMENT, holds, evidence="a check"),
        Claim(PROSE, context="motivation"),
    ]


def test_claims_are_judged_outside_a_notebook():
    found = verdicts(claims(179.79, True))
    assert found == {NUMBER: "matches", STATEMENT: "holds", PROSE: "context"}
    assert verdicts([Claim(NUMBER, True)]) == {NUMBER: "refused"}


def test_unturned_verdict_is_named():
    assert_turns(claims, (179.79, True), {"number": 1.0, "holds": False}, {NUMBER, STATEMENT})
    with pytest.raises(AssertionError, match=STATEMENT):
        assert_turns(claims, (179.79, True), (1.0, True), {NUMBER, STATEMENT})


def test_statements_are_falsifiable():
    true = (179.79, True)
    assert_all_turn(claims, true, {"another number": (1.0, True), "not so": (179.79, False)})
    with pytest.raises(AssertionError, match=STATEMENT):
        assert_all_turn(claims, true, {"another number": (1.0, True)})
    with pytest.raises(AssertionError, match=STATEMENT):
        assert_all_turn(claims, true, {"another number": (1.0, True)}, {"not so": (179.79, False)})
    with pytest.raises(AssertionError, match="'nothing wrong' turns no verdict"):
        assert_all_turn(claims, true, {"nothing wrong": true, "not so": (179.79, False)})


def test_errata_can_fall():
    def conditional(needs):
        return [Claim(STATEMENT, needs < 2, condition="a condition" * needs, evidence="a check")]

    assert_all_turn(conditional, (1,), {"no condition": (0,), "not so": (2,)})
    with pytest.raises(AssertionError, match=f"makes fall: .*{STATEMENT}"):
        assert_all_turn(conditional, (1,), {"not so": (2,)})
    assert_all_turn(conditional, (1,), {"not so": (2,)}, stands={STATEMENT})
    with pytest.raises(AssertionError, match="makes fall"):
        assert_all_turn(conditional, (1,), {"no condition": (0,)}, stands={STATEMENT})
