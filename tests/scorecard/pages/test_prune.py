"""What pages use of the theme is shipped: rules that can match, glyphs that they show, scripts."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont

from scorecard.pages.theme import (
    FONTS,
    ICON_SCRIPT,
    find_formula_characters,
    keep_used_glyphs,
    keep_used_rules,
    keep_used_scripts,
    prune_site,
)
from scorecard.paths import BOOK

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
