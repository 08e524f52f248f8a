"""Roles that fit, and parts of the sidebar that fold."""

import re

import pandas as pd

from scorecard.pages.theme import correct_aria_roles, fold_navigation


def test_wrong_roles_are_removed():
    body = '<div role="list" class="citation-list"><div role="doc-biblioentry">x</div></div>'
    context = {"body": body + '<summary aria-label="Toggle hidden content">y</summary>'}
    correct_aria_roles(None, "page", "page.html", context, None)
    assert context["body"] == ('<div class="citation-list"><div>x</div></div><summary>y</summary>')


NAVIGATION = (
    "<nav>"
    '<p aria-level="2" class="caption" role="heading"><span class="caption-text">I</span></p>\n'
    '<ul class="nav bd-sidenav">\n<li><a href="a.html">A</a><ul>\n<li>B</li>\n</ul>\n</li>\n</ul>\n'
    '<p aria-level="2" class="caption" role="heading"><span class="caption-text">II</span></p>\n'
    '<ul class="current nav bd-sidenav">\n<li>C</li>\n</ul>\n\n    </div></nav>'
)


def test_tables_of_pandas_have_no_style_of_their_own():
    table = pd.DataFrame({"a": [1]}, index=["x"])._repr_html_()
    context = {"body": table}
    correct_aria_roles(None, "page", "page.html", context, None)
    assert "<style" in table
    assert '<div>\n<table class="dataframe">' in context["body"]


def test_parts_fold_but_for_that_of_page():
    folded = fold_navigation(NAVIGATION)
    first, second = re.findall(r"<details.*?</details>", folded, re.DOTALL)
    assert first.startswith('<details class="book-part"><summary><span')
    assert second.startswith('<details class="book-part" open><summary><span')
    assert "<li>B</li>" in first
    assert "<li>C</li>" in second
    assert folded.count("<ul") == folded.count("</ul>") == NAVIGATION.count("<ul")
