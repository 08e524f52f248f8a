"""Formulas as MathML: those of the sources, their structure, and what cannot be set."""

import io
import xml.etree.ElementTree as ET

import pytest
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from scorecard.pages.mathematics import convert_to_mathml
from scorecard.running.notebooks import source_files

PARSER = MarkdownIt().use(dollarmath_plugin).use(colon_fence_plugin)


def formulas_of(text):
    """Yield the formulas of a page in Markdown, those within directives included."""
    for token in PARSER.parse(text):
        for part in [token, *(token.children or ())]:
            if part.type in {"math_inline", "math_block"}:
                yield part.content
        if token.type in {"fence", "colon_fence"}:
            if token.info.startswith("{math}"):
                lines = token.content.splitlines()
                yield "\n".join(line for line in lines if not line.startswith(":"))
            elif token.info.startswith("{") and not token.info.startswith("{code-cell}"):
                yield from formulas_of(token.content)


def test_every_formula_of_the_pages_becomes_mathml():
    pages = [path for path in source_files() if path.suffix == ".md"]
    found = [formula for path in pages for formula in formulas_of(path.read_text("utf-8"))]
    assert len(found) > 2000
    for formula in set(found):
        soup = BeautifulSoup(convert_to_mathml(formula, display=False), "html.parser")
        assert [child.name for child in soup.children] == ["math"], formula
        assert len(list(soup.math.children)) > 0, formula
        assert "\\" not in soup.get_text(), formula


def shape(element):
    """Return tags and texts of an element, nested."""
    inside = [shape(child) for child in element]
    return (element.tag, *inside) if inside else (element.tag, element.text)


def test_fraction_has_ordered_parts():
    root = ET.fromstring(convert_to_mathml(r"\frac{a}{b_i}", display=False))
    assert shape(root) == ("math", ("mfrac", ("mi", "a"), ("msub", ("mi", "b"), ("mi", "i"))))


def test_display_is_aligned():
    text = r"\begin{aligned} a &= \sum_{i} b_i \\ &\le c \end{aligned}"
    root = ET.fromstring(convert_to_mathml(text, display=True))
    assert root.get("display") == "block"
    assert [len(row) for row in root.iter("mtr")] == [2, 2]
    assert [element.tag for element in root.iter() if element.tag.startswith("munder")]


@pytest.mark.parametrize("formula", [r"\unheard{x}", r"\frac{a", r"\begin{aligned} x", "a_b_c"])
def test_unknown_formula_is_refused(formula):
    with pytest.raises(ValueError, match="is not understood") as caught:
        convert_to_mathml(formula, display=False)
    assert repr(formula) in str(caught.value)


def test_page_has_formulas(tmp_path):
    text = """Page
====

In :eq:`one`, :math:`x < 1`, not :math:`\\unheard{x}`.

.. math:: a
   :label: one

.. math:: c
"""
    (tmp_path / "index.rst").write_text(text, encoding="utf-8")
    extensions = {"extensions": ["scorecard.pages.mathematics"]}
    config = extensions | {"html_math_renderer": "mathml", "numfig": True}
    said = io.StringIO()
    with docutils_namespace():
        places = [tmp_path, None, tmp_path / "out", tmp_path / "trees", "html"]
        Sphinx(*places, confoverrides=config, status=None, warning=said).build()
    page = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    assert '<span class="math notranslate nohighlight"><math><mi>x</mi><mo>&lt;</mo>' in page
    assert "</mn></math></span>,</span> not" in page  # no line begins with a comma
    assert page.count("book-joined") == 2
    assert 'class="math notranslate nohighlight" id="equation-one"' in page
    assert '<span class="eqno">(1)' in page
    assert 'href="#equation-one"' in page
    assert '<math display="block"><mi>c</mi></math>' in page
    assert "mathjax" not in page.lower()
    assert '<span class="problematic">\\unheard{x}</span>' in page
    assert "index.rst:4: WARNING: the formula" in said.getvalue()
    assert said.getvalue().count("WARNING") == 1
