"""Names of folded cells, and roles that fit."""

import pytest

from analysis.report.pages.theme.accessibility import correct_aria_roles, describe_cell


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("# Two ways to the same number.\nfirst = 1", "Two ways to the same number"),
        ("budget: int = 1  # sources; [1, N]; how many", "parameters of this page"),
        ("study.save_states(arms)\nstudy.draw_costs(arms)", "states, draw costs"),
        ("from analysis.report import record_claims\nrecord_claims(study.claims())",
         "what the page says of each row"),
        ("import numpy as np\nfrom math import pi", "imports"),
        ("exact, found = solve(1), 2\nsecond = 3", "exact, second"),
        ("    1 + 1", "this step"),
    ],
)  # fmt: skip
def test_a_folded_cell_is_named_after_what_it_does(code, said):
    assert describe_cell(code) == said


def test_roles_that_do_not_fit_are_taken_off():
    body = '<div role="list" class="citation-list"><div role="doc-biblioentry">x</div></div>'
    context = {"body": body + '<summary aria-label="Toggle hidden content">y</summary>'}
    correct_aria_roles(None, "page", "page.html", context, None)
    assert context["body"] == ('<div class="citation-list"><div>x</div></div><summary>y</summary>')
