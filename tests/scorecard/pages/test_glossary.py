"""First uses of glossary terms on a page lead to their entries, and nothing else does."""

import json
import re

from docutils import nodes
from docutils.core import publish_doctree

from scorecard.collate import DATA
from scorecard.pages.references import Entry, link_terms, read_glossary
from scorecard.paths import BOOK
from scorecard.values import read_texts
from tests.scorecard.publishing.build import build_site

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
