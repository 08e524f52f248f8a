"""What opens the page of a rerun: its parameters beside the documents'."""

import io
import json
import re
from html import unescape
from types import SimpleNamespace

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from scorecard.collate import DATA
from scorecard.pages import rerun
from scorecard.running.parameters import Parameter
from scorecard.values import Relation

PARAMETERS = [
    Parameter("budget", "int", 1, "sources per epoch", "[1, N]", "how many are crawled"),
    Parameter("kernels", "list[str]", [], "names", "any", "generators, all of them if empty"),
    Parameter("law", "str", "a", "none", "any", "law of the <utilities>"),
    Parameter("sources", "str", "", "path", "any", "CSV file with sources of your own"),
]
DOCUMENTS = {"budget": 1, "kernels": [], "law": "exponential", "sources": ""}


@pytest.fixture
def built(tmp_path, monkeypatch):
    relation = Relation.parse("len(kernels) < 4", "there is room for <three>")
    declared = {p.name: p for p in PARAMETERS}
    notebook = SimpleNamespace(name="page", parameters=declared, relations=[relation])
    monkeypatch.setattr(rerun, "find_notebook", lambda name: notebook)

    def build(address, document=False, files=None, name="part/page", **mine):
        (tmp_path / "page.md").write_text("# A page\n\nWords.\n")
        run = {"given": mine, "parameters": DOCUMENTS | mine, "documents": DOCUMENTS}
        run["files"] = files or {}
        book = {"address": address, "targets": {}, "numbers": {}}
        data = {"runs": {name: run}, "document": document, "profile": "paper", "book": book}
        (tmp_path / DATA).write_text(json.dumps(data))
        settings = {
            "extensions": ["myst_parser", "scorecard.pages.sphinx_ext"],
            "root_doc": "page",
            "smartquotes": False,
        }
        out, warnings = tmp_path / "out", io.StringIO()
        with docutils_namespace():
            Sphinx(tmp_path, None, out, out, "html", settings, None, warning=warnings).build()
        assert warnings.getvalue() == ""
        return (out / "page.html").read_text()

    return build


def rows(html):
    """Return the cells of the first table in a piece of HTML."""
    table = html[html.index("<tbody>") : html.index("</tbody>")]
    cells = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in table.split("<tr")[1:]]
    return [[unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in cells]


def test_changed_parameters_are_shown(built):
    mine = {"name": "my <feeds>.csv", "shipped": "sources.csv", "sha256": "ab" * 32}
    text = built(
        "../book", files={"sources": mine}, budget=2, law="<b>x</b>", sources="sources.csv"
    )
    open_part, folded = text.split("<details>")
    assert rows(open_part) == [
        ["budget how many are crawled (sources per epoch)", "1", "2"],
        ["law law of the <utilities>", "exponential", "<b>x</b>"],
        [
            "sources CSV file with sources of your own",
            "Table 1 of the report",
            f"my <feeds>.csv, SHA-256 {'ab' * 32}",
        ],
    ]
    assert 'href="notebooks/sources.csv"' in open_part
    assert "sources = my &lt;feeds&gt;.csv" in open_part
    assert "<strong>2</strong>" in open_part
    assert "<summary>1 parameter as in the documents</summary>" in folded
    assert rows(folded) == [["kernels generators, all of them if empty", "(empty)", "(empty)"]]
    assert 'href="../book/part/page.html">The book\'s page</a>' in open_part


def test_the_command_comes_with_ranges_and_relations(built):
    text = built("../book", document=True, name="page")
    assert "sources per epoch: how many are crawled (int, in [1, N])" in text
    assert ">len(kernels) &lt; 4</code> must hold: there is room for &lt;three&gt;" in text


def test_page_without_book_links_nowhere(built):
    text = built("", budget=2)
    assert "The book's page has the documents' own." in text
    assert ">The book's page</a>" not in text


def test_document_run_has_no_banner(built):
    assert "book-rerun" not in built("../book", document=True)
