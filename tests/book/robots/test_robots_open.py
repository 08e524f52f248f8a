"""The proofs of the static section: each check of a step can fail."""

import pytest

from analysis.robots import mm1k
from analysis.robots import static_theory as theory
from book.robots import robots_open as page
from tests.support import verdicts

CAPACITIES = [2, 3]


#: Functions of the proof, as they are.
turning_gamma, crossing = theory.turning_gamma, theory.zero_of_exponential_sum
identities, moments = theory.static_identities, theory.exponential_moments


def claimed(changes, patch, largest=20):
    for (module, name), wrong in changes.items():
        patch.setattr(module, name, wrong)
    exact = page.check_identities(CAPACITIES)
    return page.claims(page.check_proof_steps(exact, largest), CAPACITIES)


def test_open_question_is_settled(monkeypatch):
    assert verdicts(claimed({}, monkeypatch)) == {"D-lem2-open": "done"}


@pytest.mark.parametrize(
    "wrong",
    [
        {(theory, "static_identities"): lambda k: identities(k) | {"h": False}},
        {(theory, "sign_changes"): lambda n: 5},
        {(theory, "exponential_moments"): lambda n, count: [m + 1 for m in moments(n, count)]},
        {(theory, "zero_of_exponential_sum"): lambda n: -crossing(n)},
        {(theory, "turning_gamma"): lambda k: 1 / turning_gamma(k)},
        {(mm1k, "turning_capacity"): lambda g: 3},
    ],
)
def test_wrong_step_leaves_it_open(wrong, monkeypatch):
    assert verdicts(claimed(wrong, monkeypatch)) == {"D-lem2-open": "open"}
