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
from fontTools.ttLib import TTFont

from scorecard.files import BOOK
from scorecard.pages.results import PLACEHOLDER
from scorecard.pages.theme import (
    FONTS,
    ICON_SCRIPT,
    POLICY,
    correct_aria_roles,
    describe_cell,
    find_formula_characters,
    find_inline_scripts,
    fold_navigation,
    keep_used_glyphs,
    keep_used_rules,
    keep_used_scripts,
    make_policy,
    only_records,
    prune_site,
    remove_recording_cells,
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


@pytest.mark.parametrize(
    ("sheet", "kept"),
    [
        ("a{color:red}.a{b:c}.z{b:c}", "a{color:red}.a{b:c}"),
        (".a .z,.z,p.a>b{b:c}", "p.a>b{b:c}"),
        ("#a,#z{b:c}", "#a{b:c}"),
        (r".a\:b{b:c}.z\:b{b:c}", r".a\:b{b:c}"),
        (".made-of-two{b:c}.made-up{b:c}.mad-e{b:c}", ".made-of-two{b:c}"),
        (".-made{b:c}", ""),
        (".a:not(.z){b:c}:is(.z,.y){b:c}", ".a:not(.z){b:c}:is(.z,.y){b:c}"),  # not looked into
        ('[class*="z"]{b:c}', '[class*="z"]{b:c}'),
        ("@media print{.z{b:c}.a{b:c}}@media print{.z{b:c}}", "@media print{.a{b:c}}"),
        ("@supports (b:c){@media print{.a{b:c}}}", "@supports (b:c){@media print{.a{b:c}}}"),
        ("@keyframes z{50%{b:c}}@font-face{b:c}", "@keyframes z{50%{b:c}}@font-face{b:c}"),
        ("/* .a */.a{/* said */b:c}", ".a{b:c}"),
        (':root{--x:"\\f058"}', ':root{--x:"\uf058"}'),
    ],
)
def test_used_rules_stay(sheet, kept):
    assert keep_used_rules(sheet, {"a", "a:b", "made-of-", "-"}).replace("/**/", "") == kept


def test_malformed_sheet_is_refused():
    with pytest.raises(ValueError, match="sheet must be well formed"):
        keep_used_rules("a{b:c} d", set())


def test_font_keeps_characters(tmp_path):
    font = tmp_path / "font.woff2"
    shutil.copyfile(STATIC / "vendor/fontawesome/webfonts/fa-solid-900.woff2", font)
    keep_used_glyphs(font, {0xF058, ord("%")})
    assert set(TTFont(font).getBestCmap()) == {0xF058, ord("%")}
    assert font.stat().st_size < 3000


def test_formula_letters_are_found():
    page = "b<math><mi>x</mi><mo>&lt;</mo><mi>α</mi></math> q <math><mn>1</mn></math>"
    assert find_formula_characters(page) == set(map(ord, "x<α1𝑥𝛼"))


def test_formula_font_keeps_brackets(tmp_path):
    font = tmp_path / "math.woff2"
    shutil.copyfile(BOOK / "_static/math.woff2", font)
    keep_used_glyphs(font, set(map(ord, "(′")))
    kept = TTFont(font)
    assert set(kept.getBestCmap()) == set(map(ord, "()′"))  # one is the other's mirror image
    assert "ssty" in {record.FeatureTag for record in kept["GSUB"].table.FeatureList.FeatureRecord}
    assert len(kept["MATH"].table.MathVariants.VertGlyphConstruction) == 2
    assert font.stat().st_size < 10_000


def test_theme_is_pruned(tmp_path):
    shutil.copytree(STATIC, tmp_path / "_static")
    (tmp_path / "_static/own.js").write_text('element.classList.add("btn-outline-info");')
    (tmp_path / "index.html").write_text(
        '\n<script src="_static/scripts/fontawesome.js"></script>'
        '<i class="fa-solid fa-moon" id="x"></i><math><mn>1</mn></math>'
    )
    before = (tmp_path / "_static/styles/pydata-sphinx-theme.css").stat().st_size
    shutil.copyfile(BOOK / "_static/math.woff2", tmp_path / "_static/math.woff2")
    prune_site(SimpleNamespace(outdir=tmp_path), None)
    assert set(TTFont(tmp_path / "_static/math.woff2").getBestCmap()) == {ord("1")}
    sheet = (tmp_path / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf-8")
    assert len(sheet) < before / 2
    assert ".fa-moon:before{" in sheet
    assert ".btn-outline-info{" in sheet
    assert ".fa-sun:before{" not in sheet
    assert not (tmp_path / "_static" / ICON_SCRIPT).exists()
    assert "fontawesome.js" not in (tmp_path / "index.html").read_text()
    letters = TTFont(tmp_path / FONTS / "fa-solid-900.woff2").getBestCmap()
    assert 0xF186 in letters  # the moon
    assert 0xF185 not in letters  # the sun


def test_page_links_own_sheet(tmp_path):
    def made(name, page):
        site = tmp_path / name
        shutil.copytree(STATIC, site / "_static")
        link = '<link href="../_static/styles/pydata-sphinx-theme.css?digest=55c26e"/>'
        (site / "part").mkdir()
        (site / "part/page.html").write_text(link + page)
        prune_site(SimpleNamespace(outdir=site), None)
        return re.search(r"theme\.css\?(.*?)\"", (site / "part/page.html").read_text())[1]

    versions = [made(name, f'<i class="fa-{name[:-1]}"></i>') for name in ("sun1", "sun2", "moon1")]
    assert re.fullmatch("v=[0-9a-f]{8}", versions[0])
    assert versions[0] == versions[1] != versions[2]


def test_failed_build_is_unchanged(tmp_path):
    prune_site(SimpleNamespace(outdir=tmp_path), RuntimeError("no"))
    assert list(tmp_path.iterdir()) == []
