"""A rerun's page refers into the book, in the book's words and with its numbers."""

import io
import json
import re

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from scorecard.collate import DATA
from scorecard.pages import references
from scorecard.pages.references import INDEX, index_sources, read_index
from scorecard.running import notebooks

ELSEWHERE = """(elsewhere)=
# Another page

```{math}
:label: eq-first
a = 1
```

```{prf:theorem}
:label: thm-first
It is so.
```

```{figure} /line.png
:name: elsewhere-figure

A line.
```
"""
PAGE = """(mine)=
# My page

By {eq}`eq-first`, {prf:ref}`thm-first`, {numref}`elsewhere-figure`, {ref}`elsewhere`,
{ref}`other words <elsewhere>` and {doc}`elsewhere`; here {eq}`eq-second`, {prf:ref}`thm-second`,
{numref}`mine-figure` and {ref}`mine`.

```{math}
:label: eq-second
b = 2
```

```{prf:theorem}
:label: thm-second
So it is.
```

```{figure} /line.png
:name: mine-figure

A line.
```
"""
INDEX_PAGE = """# A book

```{toctree}
part/elsewhere
part/page
```
"""
SETTINGS = {
    "extensions": ["myst_parser", "sphinx_proof", "scorecard.pages.sphinx_ext"],
    "numfig": True,
    "smartquotes": False,
}


def built(folder, pages, data):
    """Build pages without a word from Sphinx; return the folder of HTML."""
    for name, text in pages.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "line.png").write_bytes(b"")
    facts = {"runs": {}, "document": True, "profile": "paper", "values": {}}
    (folder / DATA).write_text(json.dumps(facts | data))
    settings = SETTINGS | {"root_doc": next(iter(pages))}
    warnings = io.StringIO()
    out = folder / "out"
    with docutils_namespace():
        Sphinx(folder, None, out, out, "html", settings, status=None, warning=warnings).build()
    assert warnings.getvalue() == ""
    return out


def references_of(out):
    """Return the sentence of references on the page, without its tags, and where each leads."""
    text = (out / "page.html").read_text()
    sentence = re.search(r"<p>By (.*?)</p>", text, re.DOTALL)[1]
    words = " ".join(re.sub(r"<[^>]+>", "", sentence).split())
    return words, re.findall(r'href="([^"]+)"', sentence)


@pytest.fixture
def book(tmp_path):
    pages = {"index": INDEX_PAGE, "part/elsewhere": ELSEWHERE, "part/page": PAGE}
    return built(tmp_path / "book", pages, {})


def run_page(folder, book):
    run = {key: {} for key in ("given", "files", "parameters", "documents")}
    data = {"runs": {"part/page": run}, "document": True, "book": book}
    return built(folder, {"page": PAGE}, data)


def test_references_lead_into_book(tmp_path, book):
    index = read_index(book) | {"address": "../book"}
    out = run_page(tmp_path / "run", index)
    words, links = references_of(out)
    assert words == (
        "(1), Theorem 1, Fig. 1, Another page, other words and Another page; "
        "here (2), Theorem 2, Fig. 2 and My page."
    )
    there = "../book/part/elsewhere.html"
    assert links == [
        f"{there}#equation-eq-first", f"{there}#thm-first", f"{there}#elsewhere-figure",
        f"{there}#elsewhere", f"{there}#elsewhere", there,
        "#equation-eq-second", "#thm-second", "#mine-figure", "#mine",
    ]  # fmt: skip
    assert (out / "page.html").read_text().count("book-elsewhere") == 6
    elsewhere = (book / "part/elsewhere.html").read_text()
    for link in links[:5]:
        assert f'id="{link.partition("#")[2]}"' in elsewhere
    text = (out / "page.html").read_text()
    assert re.search(r'caption-number">Fig. 2 ', text)
    assert 'class="eqno">(2)' in text


def test_new_items_are_numbered(tmp_path, book):
    index = read_index(book) | {"address": "../book"}
    index["numbers"]["part/page"]["figure"].clear()
    index["numbers"]["part/elsewhere"]["figure"]["more"] = [7]
    text = (run_page(tmp_path / "run", index) / "page.html").read_text()
    assert re.search(r'caption-number">Fig. 8 ', text)


def test_sources_give_words(tmp_path, monkeypatch):
    (tmp_path / "sources/part").mkdir(parents=True)
    (tmp_path / "sources/part/elsewhere.md").write_text(
        ELSEWHERE.replace(
            "{figure} /line.png\n:name: elsewhere-figure", "{repro-figure} elsewhere-figure"
        )
    )
    (tmp_path / "sources/_search.yml").write_text("part/elsewhere: [words]\n")
    monkeypatch.setattr(references, "BOOK", tmp_path / "sources")
    monkeypatch.setattr(notebooks, "BOOK", tmp_path / "sources")
    words, links = references_of(run_page(tmp_path / "run", index_sources() | {"address": ""}))
    assert words == (
        "an equation of Another page, a theorem of Another page, a figure of Another page, "
        "Another page, other words and Another page; here (1), Theorem 1, Fig. 1 and My page."
    )
    assert links == ["#equation-eq-second", "#thm-second", "#mine-figure", "#mine"]


def test_missing_index_means_no_book(tmp_path):
    assert read_index(tmp_path) is None
    (tmp_path / INDEX).write_text('{"targets": {}}')
    assert read_index(tmp_path) == {"targets": {}}
