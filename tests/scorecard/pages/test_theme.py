"""Pages of the theme: cells, labels, the policy of a site, and what is shipped."""

import base64
import hashlib
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pydata_sphinx_theme
import pytest
from docutils import nodes
from docutils.utils import new_document

from scorecard.pages.results import PLACEHOLDER
from scorecard.pages.theme import (
    ICON_SCRIPT,
    POLICY,
    correct_aria_roles,
    describe_cell,
    find_inline_scripts,
    fold_navigation,
    keep_used_scripts,
    make_policy,
    only_records,
    remove_recording_cells,
    remove_unused_files,
    replace_handlers,
    write_policy,
)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("# Two ways to the same number.\nfirst = 1", "Two ways to the same number"),
        ("budget: int = 1  # sources; [1, N]; how many", "parameters of this page"),
        ("page.save_states(arms)\npage.draw_costs(arms)", "states, costs"),
        ("from scorecard import record_claims\nrecord_claims(study.claims())",
         "claims on the printed rows"),
        ("import numpy as np\nfrom math import pi", "imports"),
        ("exact, found = solve(1), 2\nsecond = 3", "exact, second"),
        ("    1 + 1", "this step"),
    ],
)  # fmt: skip
def test_folded_cell_has_label(code, said):
    assert describe_cell(code) == said


@pytest.mark.parametrize(
    "code",
    [
        'save_value("page-mean", mean)\nsave_values("page", exercises.of_page())',
        "save_table(\n    'page-rewards', table, 'Rewards.', formats='.2f'\n)",
        "if is_document_run():\n    record_claims(study.claims(found))\nnumbers.save_counts(found)",
        "# Solutions.\nexercises.of_the_page()\npage.draw_numbers(cells)",
        "for k in (1, 2):\n    save_value(f'a-{k}', k)",
        "save_figure('a', draw, 'It rises.', 'Up.')",
        "page.save_curve(curve)",
        "if budget == 1:\n    save_value('a', 1)\nelse:\n    save_value('a', 2)",
    ],
)
def test_a_cell_that_only_records_is_known(code):
    assert only_records(code)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "# A comment.",
        "save_value('a', mean)\nmean",
        "mean = 1\nsave_value('a', mean)",
        "from scorecard import save_value\nsave_value('a', 1)",
        "if sources:\n    save_value('a', 1)\nelse:\n    mean = 2",
        "simulate(sources, 'whittle', budget, horizon)",
        "%timeit save_value('a', 1)",
    ],
)
def test_cell_that_computes_or_shows_stays(code):
    assert not only_records(code)


def test_recording_cells_without_output_leave_the_page():
    tree = new_document("page")
    for code, outputs in (("save_value('a', 1)", 0), ("save_value('b', 2)", 1), ("x = 1", 0)):
        parts = [nodes.container("", nodes.literal_block("", code))]
        parts += [nodes.container("", nodes.Text("a warning"))] * outputs
        tree += nodes.container("", *parts, nb_element="cell_code")
    remove_recording_cells(None, tree)
    assert [cell[0].astext() for cell in tree.children] == ["save_value('b', 2)", "x = 1"]


# Roles that fit, and parts of the sidebar that fold


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


# The policy of a site


SCRIPTED = """<html><head>
  <script data-cfasync="false">
    mode();
  </script>
  <script src="_static/reading.js?v=1"></script>
  <script>DOCUMENTATION_OPTIONS.pagename = 'part/page';</script>
  <script type="application/ld+json">{"a": 1}</script>
  <script>late = "\N{GREEK SMALL LETTER MU}";</script>
</head><body>
<button onclick="window.print()" class="a">Print</button>
<button class="b" onclick="toggleFullScreen()">Wide</button>
<p>onclick="window.print()"</p>
<script type='application/json'>{"b": 2}</script>
</body></html>
"""


def digest(code):
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def test_handlers_become_actions():
    page = replace_handlers(SCRIPTED)
    assert '<button data-action="print" class="a">' in page
    assert '<button class="b" data-action="fullscreen">' in page
    assert "pagename" not in page
    assert replace_handlers(page) == page
    assert replace_handlers('<a onclick="other()">') == '<a onclick="other()">'


def test_policy_lists_hash_of_each_inline_script():
    page = replace_handlers(SCRIPTED)
    scripts = ["\n    mode();\n  ", 'late = "\N{GREEK SMALL LETTER MU}";']
    assert find_inline_scripts(page) == set(scripts)
    line = make_policy([page, "<script>more()</script>"])
    parts = dict(part.strip().split(" ", 1) for part in line.split(";"))
    hashes = {digest(code) for code in (*scripts, "more()")}
    assert set(parts["script-src"].split()) == {"'self'", *hashes}
    assert parts["default-src"] == "'self'"
    assert "unsafe-inline" not in parts["script-src"]
    assert "http" not in line


def test_site_gets_policy_and_shows_it(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part/page.html").write_text(SCRIPTED, encoding="utf-8")
    (tmp_path / "about.html").write_text(f"<td>{PLACEHOLDER}</td>", encoding="utf-8")
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="html"))
    write_policy(app, RuntimeError("of another step"))
    assert not (tmp_path / POLICY).exists()
    write_policy(app, None)
    line = (tmp_path / POLICY).read_text(encoding="utf-8").strip()
    assert line == make_policy([replace_handlers(SCRIPTED)])
    assert (tmp_path / "about.html").read_text(encoding="utf-8") == f"<td>{line}</td>"
    assert "onclick=" not in (tmp_path / "part/page.html").read_text().split("<p>")[0]


# What pages use of the theme is shipped


STATIC = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static"


def test_scripts_follow_content():
    tag = '\n    <script data-a="b" src="../_static/{}?v=1f"></script>'
    other, tabs, scorecard = map(tag.format, ("other.js", "design-tabs.js", "scorecard.js"))
    table, tab = '<table class="book-scorecard"></table>', '<div class="sd-tab-set"></div>'
    page = f"<head>{other}{tabs}{scorecard}\n</head><body>{{}}</body>"
    for body, loaded in ((other, other), (table, other + scorecard), (tab, other + tabs)):
        expected = f"<head>{loaded}\n</head><body>{body}</body>"
        assert keep_used_scripts(page.format(body)) == expected
    whole = page.format(table + tab)
    assert keep_used_scripts(whole) == whole
    assert keep_used_scripts(whole.replace("other.js", ICON_SCRIPT)) == whole.replace(other, "")


def test_icon_script_is_removed(tmp_path):
    shutil.copytree(STATIC, tmp_path / "_static")
    tag = '\n<script src="_static/scripts/fontawesome.js"></script>'
    (tmp_path / "index.html").write_text(f"{tag}<i></i>")
    remove_unused_files(SimpleNamespace(outdir=tmp_path), None)
    assert not (tmp_path / "_static" / ICON_SCRIPT).exists()
    assert not list(tmp_path.glob("_static/**/*.map"))
    assert (tmp_path / "index.html").read_text() == "<i></i>"


def test_failed_build_is_unchanged(tmp_path):
    remove_unused_files(SimpleNamespace(outdir=tmp_path), RuntimeError("no"))
    assert list(tmp_path.iterdir()) == []
