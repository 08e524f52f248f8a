"""References of pages: into the book, to the glossary, and cards of links."""

import json
import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from scorecard.collate import DATA
from scorecard.files import BOOK
from scorecard.pages import references
from scorecard.pages.references import (
    INDEX,
    Entry,
    find_targets,
    index_sources,
    link_terms,
    make_card,
    mark_links,
    read_glossary,
    read_index,
    write_cards,
)
from scorecard.running import notebooks
from scorecard.values import read_texts
from tests.scorecard.build import build_site

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


def built(folder, pages, data):
    """Build pages without a word from Sphinx; return the folder of HTML."""
    for name, text in pages.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "line.png").write_bytes(b"")
    facts = {"runs": {}, "document": True, "profile": "paper", "values": {}}
    (folder / DATA).write_text(json.dumps(facts | data))
    return build_site(folder, next(iter(pages)), "sphinx_proof")


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


# Terms of the glossary


TERMS = {
    "budget": Entry("term-budget", "Arms that may be active."),
    "restless bandit": Entry("term-restless-bandit", "Several arms."),
    "policy": Entry("term-policy", "A rule."),
}


def linked(text, terms=TERMS):
    """The words that are linked in a page of reStructuredText, and where to."""
    tree = publish_doctree(f"Title\n=====\n\n{text}\n")
    link_terms(tree, terms, "glossary.html")
    links = [link for link in tree.findall(nodes.reference) if "book-term" in link["classes"]]
    return [(link.astext(), link["refuri"]) for link in links]


def test_first_use_is_linked():
    text = "Two policies with a Budget.\n\nA budget, a policy and restless bandits."
    assert linked(text) == [
        ("policies", "glossary.html#term-policy"),
        ("Budget", "glossary.html#term-budget"),
        ("restless bandits", "glossary.html#term-restless-bandit"),
    ]


def test_code_and_headings_are_unlinked():
    text = (
        "Budgetary, sub-budget, ``budget``, `a budget <https://a.example>`_ and **budget**.\n\n"
        "A policy\n--------\n\nNothing.\n\n.. container:: aside\n\n   - A budget."
    )
    assert linked(text) == []


def test_the_words_around_a_link_stay():
    tree = publish_doctree("T\n=\n\nThe budget and the policy are kept; a budget.")
    before = tree.astext()
    link_terms(tree, TERMS, "g.html")
    assert tree.astext() == before


def test_entries_begin_with_term():
    tree = publish_doctree(
        "**Average reward (gain).** What an *epoch* earns. Its top is the **best gain**.\n\nProse."
    )
    entry = Entry("term-average-reward", "What an epoch earns. Its top is the best gain.")
    assert read_glossary(tree) == {"average reward": entry, "best gain": entry}
    (paragraph,) = [node for node in tree.findall(nodes.paragraph) if node["ids"]]
    assert paragraph["ids"] == ["term-average-reward"]


def test_page_shows_definition(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide/glossary.md").write_text("# Glossary\n\n**Budget.** At most *three* arms.\n")
    (tmp_path / "page.md").write_text(
        "# A page\n\nThe budget.\n\n```{toctree}\n:hidden:\nguide/glossary\n```\n"
    )
    edition = {"commit": "abc", "date": "2026-11-22", "address": ""}
    data = {"runs": {}, "document": False, "profile": "paper", "edition": edition}
    (tmp_path / DATA).write_text(json.dumps(data))
    out = build_site(tmp_path, "page")
    page = (out / "page.html").read_text()
    (link,) = re.findall(r"<a [^>]*book-term[^>]*>budget</a>", page)
    assert 'href="guide/glossary.html#term-budget"' in link
    assert 'title="At most three arms."' in link
    assert 'id="term-budget"' in (out / "guide/glossary.html").read_text()


def test_search_terms_lead_to_pages():
    subjects = read_texts(BOOK / "_search.yml")
    assert [page for page in subjects if not (BOOK / f"{page}.md").exists()] == []
    names = [name.lower() for page in subjects.values() for name in page]
    assert len(names) == len(set(names)) > 20


# Cards of links


THEOREM = (
    '<div class="proof theorem admonition" id="t-1"><p>Theorem <a href="x.html">1</a></p>'
    '<div id="inner">in <div>it</div></div></div>'
)
FIGURE = (
    '<figure class="repro-figure align-center" id="f-1"><img src="../_images/f.svg" loading="lazy">'
    '<p class="repro-links"><a href="../figures/f.csv">data</a></p></figure>'
)


def test_targets_end_with_their_element():
    page = f'<div>{THEOREM}<div class="other" id="o">no card</div>{FIGURE}</div>'
    assert find_targets(page) == {"t-1": THEOREM, "f-1": FIGURE}


def test_unclosed_target_is_refused():
    with pytest.raises(ValueError, match="page"):
        find_targets(THEOREM.removesuffix("</div>"))


def test_card_has_no_links_and_no_ids():
    card = make_card(THEOREM)
    assert "<a" not in card
    assert "id=" not in card
    assert "Theorem 1" in card
    assert "it</div></div></div>" in card


def test_card_of_figure_has_picture_from_root():
    assert make_card(FIGURE) == (
        '<figure class="repro-figure align-center"><img src="_images/f.svg"></figure>'
    )


@pytest.mark.parametrize(
    ("link", "marked", "elsewhere"),
    [
        ('<a href="#t-1">', 'data-card=""', set()),
        ('<a href="../b/y.html#t-9">', 'data-card="b-y"', {"b/y.html#t-9"}),
        ('<a href="../b/y.html#none">', "", set()),
        ('<a class="headerlink" href="#t-1">', "", set()),
        ('<a href="https://a.example/y.html#t-9">', "", set()),
    ],
)
def test_links_to_targets_are_marked(link, marked, elsewhere):
    targets = {"a/x.html": {"t-1": ""}, "b/y.html": {"t-9": ""}}
    html, found = mark_links("a/x.html", f"{link}<article>{link}</article>", targets)
    assert found == elsewhere
    assert html == f"{link}<article>{link[:-1]}{' ' * bool(marked)}{marked}></article>"


def test_cards_of_other_pages_are_scripts(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.html").write_text('<article><a href="y.html#t-1">see</a></article>')
    (tmp_path / "a/y.html").write_text(f"<article>{THEOREM}{FIGURE}</article>")
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="html"))
    write_cards(app, None)
    assert 'data-card="a-y">see' in (tmp_path / "a/x.html").read_text()
    (script,) = (tmp_path / "cards").iterdir()
    call = script.read_text(encoding="utf-8")
    assert call.startswith('bookCards("a-y", ')
    cards = json.loads(call.removeprefix('bookCards("a-y", ').removesuffix(");\n"))
    assert cards == {"t-1": make_card(THEOREM)}  # the figure is not referred to
