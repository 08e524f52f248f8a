"""Links from the first use of a glossary term on a page to its entry; the title is the definition.

An entry of the glossary is a paragraph that begins with its term in bold; other terms in bold in
the paragraph are defined by the same entry. ``book/_search.yml`` names the pages to which the
search leads for terms that occur on many pages, or in the title of none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from scorecard.paths import BOOK
from scorecard.values import read_values

GLOSSARY = "guide/glossary"
#: Terms that are linked only on some pages, because elsewhere they are ordinary words.
_PARTS_OF_TERM = {
    "box": ("robots/robots-curve",),
    "bias": ("restarts/", "robots/"),
    "restart": ("restarts/",),
    "replication": ("ephemeral/", "restarts/", "learning/", "robots/"),
}
_DEFINITIONS = "book_definitions"
#: Parents of paragraphs of running text.
_TEXT_PARENTS = (nodes.document, nodes.section, nodes.list_item)
#: Nodes within which no term is linked.
_NEVER_LINKED = (
    nodes.reference, nodes.literal, nodes.math, nodes.title, nodes.strong, nodes.caption,
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """An entry of the glossary."""

    anchor: str  # id of the paragraph on the glossary's page
    definition: str  # the entry without its term, as text


def entries(glossary: nodes.document) -> dict[str, Entry]:
    """Return the entries of a glossary by term in lower case, and set the paragraphs' anchors."""
    terms: dict[str, Entry] = {}
    for paragraph in glossary.findall(nodes.paragraph):
        first = next((node for node in paragraph.children if node.astext()), None)  # not MyST's ""
        if not isinstance(first, nodes.strong):
            continue
        names = [_name(bold.astext()) for bold in paragraph.findall(nodes.strong)]
        anchor = f"term-{names[0].replace(' ', '-')}"
        _, _, definition = " ".join(paragraph.astext().split()).partition(". ")
        if anchor not in paragraph["ids"]:
            paragraph["ids"].append(anchor)
        terms |= {name: Entry(anchor, definition) for name in names}
    return terms


def _name(bold: str) -> str:
    """Return a term in lower case, without its full stop and a remark in parentheses."""
    return re.sub(r"\s*\(.*\)", "", bold.strip(" .")).lower()


def link_terms(doctree: nodes.document, terms: Mapping[str, Entry], glossary: str) -> None:
    """Link the first use of each term in the paragraphs of a page.

    `glossary`: URL of the glossary relative to the page.
    """
    unlinked = dict(terms)
    for text in list(_prose(doctree)):
        if not unlinked:
            return
        pieces: list[nodes.Node] = []
        start = 0
        for match in _pattern(tuple(unlinked)).finditer(text.astext()):
            name = _singular(match[0].lower(), unlinked)
            if name not in unlinked:
                continue  # used before in this very text
            entry = unlinked.pop(name)
            for other in [term for term, its in unlinked.items() if its == entry]:
                del unlinked[other]
            pieces.append(nodes.Text(text.astext()[start : match.start()]))
            link = nodes.reference("", match[0], classes=["book-term"], internal=True)
            link["refuri"] = f"{glossary}#{entry.anchor}"
            link["reftitle"] = entry.definition
            pieces.append(link)
            start = match.end()
        if pieces:
            pieces.append(nodes.Text(text.astext()[start:]))
            text.parent.replace(text, pieces)


def _prose(doctree: nodes.document) -> Iterator[nodes.Text]:
    """Yield the text nodes of a page's paragraphs in which terms may be linked."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, _TEXT_PARENTS) and not _is_aside(paragraph):
            for text in paragraph.findall(nodes.Text):
                around, node = [], text.parent
                while node is not paragraph:
                    around.append(node)
                    node = node.parent
                if not any(isinstance(node, _NEVER_LINKED) for node in around):
                    yield text


def _is_aside(node: nodes.Node) -> bool:
    """Whether a node is inside a container, such as the list of parameters."""
    while not isinstance(node, nodes.document):
        if isinstance(node, nodes.container):
            return True
        node = node.parent
    return False


def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches the terms in singular and plural, longer terms first."""
    stems = (name.removesuffix("y") for name in sorted(names, key=len, reverse=True))
    alternatives = "|".join(re.escape(stem) + r"(?:y|ies|s|es)?" for stem in stems)
    return re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])", re.IGNORECASE)


def _singular(used: str, names: Mapping[str, Entry]) -> str:
    """Return the glossary's form of a matched term, which may be the singular of a plural."""
    forms = (used, used.removesuffix("s"), used.removesuffix("es"), f"{used.removesuffix('ies')}y")
    return next((form for form in forms if form in names), used)


def store_entries(app: Sphinx, doctree: nodes.document) -> None:
    """Set the anchors of the glossary's entries, and store the entries in the environment."""
    if app.env.docname == GLOSSARY:
        vars(app.env)[_DEFINITIONS] = entries(doctree)


def link_page_terms(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the terms of one page, if this is an HTML build that includes the glossary."""
    definitions: dict[str, Entry] = vars(app.env).get(_DEFINITIONS, {})
    if page == GLOSSARY or GLOSSARY not in app.env.found_docs or app.builder.name != "html":
        return
    terms = {
        name: entry
        for name, entry in definitions.items()
        if page.startswith(_PARTS_OF_TERM.get(name, ("",)))
    }
    link_terms(doctree, terms, app.builder.get_relative_uri(page, GLOSSARY))


def add_subjects(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Let the search lead to a page by the names that ``book/_search.yml`` gives its subject."""
    subjects = app.config.book_subjects.get(page, [])
    doctree += addnodes.index(entries=[("single", name, "", "main", None) for name in subjects])


def setup_terms(app: Sphinx) -> None:
    """Register the event handlers."""
    app.add_config_value("book_subjects", read_values(BOOK / "_search.yml"), "html")
    app.connect("doctree-read", store_entries)
    app.connect("doctree-resolved", add_subjects)
    app.connect("doctree-resolved", link_page_terms)
