"""Roles that fit."""

from scorecard.pages.theme import correct_aria_roles


def test_roles_that_do_not_fit_are_taken_off():
    body = '<div role="list" class="citation-list"><div role="doc-biblioentry">x</div></div>'
    context = {"body": body + '<summary aria-label="Toggle hidden content">y</summary>'}
    correct_aria_roles(None, "page", "page.html", context, None)
    assert context["body"] == ('<div class="citation-list"><div>x</div></div><summary>y</summary>')
