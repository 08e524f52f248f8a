"""Links from the first use of a glossary term on a page to its entry, with the definition at hand.

An entry of the glossary is a paragraph that begins with its term in bold; other words in bold
within it are defined there, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "guide/glossary"
#: Terms that are ordinary words, or mean something else, but in the parts named.
_ONLY_IN = {
    "box": ("robots/robots-curve",),
    "bias": ("restarts/", "robots/"),
    "restart": ("restarts/",),
    "replication": ("ephemeral/", "restarts/", "learning/", "robots/"),
}
_DEFINITIONS = "book_definitions"
#: What the paragraphs of running text stand in.
_AROUND = (nodes.document, nodes.section, nodes.list_item)
#: Where a link would be in the way: what is a link already, code, mathematics, a heading.
_WITHOUT = (nodes.reference, nodes.literal, nodes.math, nodes.title, nodes.strong, nodes.caption)


@dataclass(frozen=True)
class Entry:
    """An entry of the glossary.

    Attributes
    ----------
    anchor : str
        Its place on the glossary's page.
    definition : str
        The entry without its term, as text.
    """

    anchor: str
    definition: str


def entries(glossary: nodes.document) -> dict[str, Entry]:
    """Return the entries of a glossary by term in lower case; each paragraph gets its anchor."""
    found: dict[str, Entry] = {}
    for paragraph in glossary.findall(nodes.paragraph):
        first = next((node for node in paragraph.children if node.astext()), None)  # not MyST's ""
        if not isinstance(first, nodes.strong):
            continue
        names = [_name(bold.astext()) for bold in paragraph.findall(nodes.strong)]
        anchor = f"term-{names[0].replace(' ', '-')}"
        _, _, definition = " ".join(paragraph.astext().split()).partition(". ")
        if anchor not in paragraph["ids"]:
            paragraph["ids"].append(anchor)
        found |= {name: Entry(anchor, definition) for name in names}
    return found


def _name(bold: str) -> str:
    """Return a term as prose has it: without its full stop and words in parentheses."""
    return re.sub(r"\s*\(.*\)", "", bold.strip(" .")).lower()


def link_terms(doctree: nodes.document, terms: Mapping[str, Entry], glossary: str) -> None:
    """Link the first use of each term in the paragraphs of a page.

    Parameters
    ----------
    doctree : document
        The page.
    terms : mapping of str to Entry
        As `entries` returns them.
    glossary : str
        Address of the glossary from the page.
    """
    left = dict(terms)
    for text in list(_prose(doctree)):
        if not left:
            return
        pieces: list[nodes.Node] = []
        start = 0
        for match in _pattern(tuple(left)).finditer(text.astext()):
            name = _singular(match[0].lower(), left)
            if name not in left:
                continue  # used before in this very text
            entry = left.pop(name)
            for other in [term for term, its in left.items() if its == entry]:
                del left[other]
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
    """Yield the texts of a page's paragraphs that a link may stand in."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, _AROUND) and not _is_aside(paragraph):
            for text in paragraph.findall(nodes.Text):
                around, node = [], text.parent
                while node is not paragraph:
                    around.append(node)
                    node = node.parent
                if not any(isinstance(node, _WITHOUT) for node in around):
                    yield text


def _is_aside(node: nodes.Node) -> bool:
    """Return whether a node stands in a box beside the text, such as the list of parameters."""
    while not isinstance(node, nodes.document):
        if isinstance(node, nodes.container):
            return True
        node = node.parent
    return False


def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds a term in prose, longer ones first, in singular and plural."""
    longest_first = sorted(names, key=len, reverse=True)
    words = "|".join(re.escape(_stem(name)) + r"(?:y|ies|s|es)?" for name in longest_first)
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def _stem(name: str) -> str:
    return name[:-1] if name.endswith("y") else name


def _singular(used: str, names: Mapping[str, Entry]) -> str:
    """Return the term that was used, in the singular if the glossary has it so."""
    forms = (used, used.removesuffix("s"), used.removesuffix("es"), f"{used.removesuffix('ies')}y")
    return next((form for form in forms if form in names), used)


def note_entries(app: Sphinx, doctree: nodes.document) -> None:
    """Give the glossary's entries their anchors and keep them for the other pages."""
    if app.env.docname == GLOSSARY:
        vars(app.env)[_DEFINITIONS] = entries(doctree)


def define_terms(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the terms of one page, if the glossary is in the same site; in print they are words."""
    found: dict[str, Entry] = vars(app.env).get(_DEFINITIONS, {})
    if page == GLOSSARY or GLOSSARY not in app.env.found_docs or app.builder.name != "html":
        return
    terms = {
        name: entry for name, entry in found.items() if page.startswith(_ONLY_IN.get(name, ("",)))
    }
    link_terms(doctree, terms, app.builder.get_relative_uri(page, GLOSSARY))


def setup_terms(app: Sphinx) -> None:
    """Connect to the events at which the glossary and the other pages are read."""
    app.connect("doctree-read", note_entries)
    app.connect("doctree-resolved", define_terms)
