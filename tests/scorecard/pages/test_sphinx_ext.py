"""What a page says of its run, its parameters beside the documents', and the public names."""

import json
import re
from html import unescape
from importlib import import_module
from inspect import isroutine
from types import SimpleNamespace

import pytest

from scorecard.collate import DATA
from scorecard.files import BOOK, ROOT
from scorecard.pages import sphinx_ext
from scorecard.running.notebooks import Parameter
from scorecard.values import Relation
from tests.scorecard.build import build_site


def test_page_shows_rerun_command(tmp_path, build_page):
    (tmp_path / "page.md").write_text("# A page\n")
    data = {"runs": {"page": {"given": {}, "files": {}}}, "document": True, "profile": "paper"}
    (tmp_path / DATA).write_text(json.dumps(data))
    text = build_page()
    folded = text[text.index("<details><summary>Parameters</summary>") : text.index("</details>")]
    words = " ".join(re.sub(r"<[^>]+>", "", folded).split())
    assert "budget = 1, sources per epoch: how many are crawled (int, in [1, N])" in words
    assert "make run NB=page" in re.sub(r"<[^>]+>", "", text[: text.index("<details>")])


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
    monkeypatch.setattr(sphinx_ext, "find_notebook", lambda name: notebook)

    def build(address, document=False, files=None, name="part/page", **mine):
        (tmp_path / "page.md").write_text("# A page\n\nWords.\n")
        run = {"given": mine, "parameters": DOCUMENTS | mine, "documents": DOCUMENTS}
        run["files"] = files or {}
        book = {"address": address, "targets": {}, "numbers": {}}
        data = {"runs": {name: run}, "document": document, "profile": "paper", "book": book}
        (tmp_path / DATA).write_text(json.dumps(data))
        return (build_site(tmp_path, "page") / "page.html").read_text()

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


# The API pages hold every public name of every part, and each says what it is

PACKAGES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in [*ROOT.glob("analysis/*/__init__.pyi"), *ROOT.glob("scorecard/__init__.pyi")]
)


def test_every_package_is_on_one_page():
    pages = [path.read_text(encoding="utf-8") for path in (BOOK / "api").glob("*.md")]
    shown = re.findall(r"^```\{public-names\} (\S+)$", "\n".join(pages), re.MULTILINE)
    assert sorted(shown) == PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_exist(name):
    module = import_module(name)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for public in module.__all__:
        thing = getattr(module, public)
        assert thing.__doc__, f"{name}.{public} has no docstring"
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", [name for name in PACKAGES if name != "scorecard"])
def test_public_functions_have_examples(name):
    """Doctest runs them. A result's class is shown by the function that returns it.

    The functions of `scorecard` write into a notebook's run; the notebooks show them.
    """
    module = import_module(name)
    functions = [public for public in module.__all__ if isroutine(getattr(module, public))]
    lacking = [public for public in functions if ">>>" not in getattr(module, public).__doc__]
    assert lacking == []
