"""References of pages: to the book from the page of a rerun, and from terms to the glossary.

The book's build writes an index of its reference targets, ``references.json``, beside its pages. A
rerun's build reads it: figures, tables, equations and theorems of its page get the numbers that
they have in the book, and a reference to another page becomes a link to the book with the book's
link text. Where no book is built, the link texts come from the book's sources.

The first use of a glossary term on a page links to its entry; the title is the definition. An entry
of the glossary is a paragraph that begins with its term in bold; other terms in bold in the
paragraph are defined by the same entry. ``book/_search.yml`` names the pages to which the search
leads for terms that occur on many pages, or in the title of none.

*Cards of links: the theorem, equation, figure, table or reference that a link leads to.* Links to
such targets get the attribute ``data-card``. ``previews.js`` shows the card while the link has the
pointer or the focus. A card of the same page is copied from the page. The cards of another page are
in a script, ``cards/PAGE.js``, which is loaded when one is needed: a page that is opened from disk
can load a script, and cannot fetch a file.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from scorecard.files import BOOK
from scorecard.pages.results import read_results
from scorecard.record import write_json
from scorecard.running.notebooks import source_files
from scorecard.values import book_settings, read_texts

INDEX = "references.json"
#: Reference targets: kind -> label -> (page, anchor, link text).
Targets = dict[str, dict[str, tuple[str, str, str]]]
_NUMBERED = {"figure": "Fig. {}", "table": "Table {}", "code-block": "Listing {}"}
_HEADING = re.compile(r"^\((?P<label>[^)\n]+)\)=\n+#+ (?P<title>.+)$", re.M)
_LABELLED = re.compile(
    r"^[`:]{3,}\{(?:prf:)?(?P<kind>[a-z]+)\}[^\n]*\n:label: (?P<label>\S+)$", re.M
)
_FIGURE = re.compile(r"^[`:]{3,}\{repro-(?P<kind>figure|table)\} (?P<label>\S+)$", re.M)


def index_book(env: BuildEnvironment) -> dict[str, Any]:
    """Return the index of a book that Sphinx has read: reference targets and numbers."""
    labels, equations = env.domains["std"].data["labels"], env.domains["math"].data["objects"]
    anonymous = env.domains["std"].data["anonlabels"]
    targets: Targets = {
        "ref": {name: (page, anchor, str(text)) for name, (page, anchor, text) in labels.items()},
        "numref": {
            name: (page, anchor, text.format(number))
            for name, (page, anchor) in anonymous.items()
            for kind, text in _NUMBERED.items()
            if (number := _find_number(env, page, kind, anchor))
        },
        "doc": {page: (page, "", env.titles[page].astext()) for page in env.found_docs},
        "eq": {},
        "prf": {},
    }
    for name, (page, _) in equations.items():
        anchor = nodes.make_id(f"equation-{name}")
        targets["eq"][name] = (page, anchor, f"({_find_number(env, page, 'displaymath', anchor)})")
    for name, proof in getattr(env, "proof_list", {}).items():
        number = (
            ""
            if proof["nonumber"]
            else _find_number(env, proof["docname"], proof["countertype"], name)
        )
        text = f"{proof['realtype'].title()} {number}".strip()
        targets["prf"][name] = (proof["docname"], name, text)
    return {"targets": targets, "numbers": env.toc_fignumbers}


def _find_number(env: BuildEnvironment, page: str, kind: str, anchor: str) -> str:
    return ".".join(map(str, env.toc_fignumbers.get(page, {}).get(kind, {}).get(anchor, ())))


def index_sources() -> dict[str, Any]:
    """Return an index made from the book's sources, with link texts but without numbers."""
    targets: Targets = {"ref": {}, "numref": {}, "eq": {}, "prf": {}, "doc": {}}
    for path in sorted(path for path in source_files() if path.suffix == ".md"):
        page, text = path.relative_to(BOOK).with_suffix("").as_posix(), path.read_text("utf-8")
        title = re.search(r"^# (.+)$", text, re.M)
        name = title[1] if title else page
        targets["doc"][page] = (page, "", name)
        for match in _HEADING.finditer(text):
            targets["ref"][match["label"].lower()] = (page, match["label"], match["title"])
        for match in _FIGURE.finditer(text):
            link_text = f"a {match['kind']} of {name}"
            targets["numref"][match["label"]] = (page, match["label"], link_text)
        for match in _LABELLED.finditer(text):
            label, kind = match["label"], match["kind"]
            article = "an" if kind[0] in "aeio" else "a"
            if kind == "math":
                targets["eq"][label] = (page, f"equation-{label}", f"an equation of {name}")
            else:
                targets["prf"][label] = (page, label, f"{article} {kind} of {name}")
    return {"targets": targets, "numbers": {}}


def read_index(book: Path) -> dict[str, Any] | None:
    """Return the index that the build of a book wrote, or None."""
    path = book / INDEX
    return dict(json.loads(path.read_bytes())) if path.exists() else None


def write_index(app: Sphinx, problem: Exception | None) -> None:
    """Write the index beside the pages of a book (event ``build-finished``)."""
    if problem is None and app.builder.name == "html" and app.env is not None:
        write_json(Path(app.outdir) / INDEX, index_book(app.env))


def copy_numbers(env: BuildEnvironment, book: dict[str, Any], pages: dict[str, str]) -> None:
    """Copy the book's figure, table and equation numbers to a rerun's pages.

    What the book's page does not have (content under another condition) gets the numbers after the
    book's last.

    `env`: the rerun's environment, after reading; `pages`: page of the book by the docname of the
    rerun's page.
    """
    if not book["numbers"]:
        return
    last: Counter[str] = Counter()
    for kinds in book["numbers"].values():
        for kind, numbers in kinds.items():
            last[kind] = max([last[kind], *(number[0] for number in numbers.values())])
    for docname, page in pages.items():
        for kind, page_numbers in env.toc_fignumbers.get(docname, {}).items():
            book_numbers = book["numbers"].get(page, {}).get(kind, {})
            for id in page_numbers:
                last[kind] += id not in book_numbers
                page_numbers[id] = tuple(book_numbers.get(id, (last[kind],)))


class BookReferences(SphinxPostTransform):
    """On a rerun's page, turn references to other pages into links to the book."""

    default_priority = 5  # before Sphinx resolves references, and would not find these

    def run(self, **_: Any) -> None:
        """Replace each reference whose target is not on this page."""
        data = read_results(self.app)
        page_of_name = {Path(page).name: page for page in data["runs"]}
        if "book" not in data or self.env.docname not in page_of_name:
            return
        book, page = data["book"], page_of_name[self.env.docname]
        for node in list(self.document.findall(addnodes.pending_xref)):
            kind, label = make_index_key(_role(node), node["reftarget"], page)
            entry = book["targets"].get(kind, {}).get(label)
            if entry and not self._is_on_page(kind, label):
                node.replace_self(self._link(node, entry, book["address"]))

    def _is_on_page(self, kind: str, label: str) -> bool:
        std, here = self.env.domains["std"].data, self.env.docname
        if kind == "eq":
            return bool(self.env.domains["math"].data["objects"].get(label, ("",))[0] == here)
        if kind == "prf":
            proofs = getattr(self.env, "proof_list", {})
            return bool(proofs.get(label, {}).get("docname") == here)
        return bool(std["anonlabels"].get(label, ("",))[0] == here)

    def _link(
        self, node: addnodes.pending_xref, entry: Sequence[str], address: str
    ) -> nodes.Element:
        entry_text, target = resolve_entry(entry, address)
        text = node.astext() if node.get("refexplicit") else entry_text
        if not target:
            return nodes.inline("", text, classes=["book-elsewhere"])
        return nodes.reference("", text, refuri=target, classes=["book-elsewhere"])


def resolve_entry(entry: Sequence[str], address: str) -> tuple[str, str]:
    """Return the text and the URL of an index entry; the URL is empty without an address."""
    page, anchor, text = entry
    link = f"{address}/{page}.html" + (f"#{anchor}" if anchor else "")
    return text, link if address else ""


def make_index_key(role: str, target: str, page: str) -> tuple[str, str]:
    """Translate a Sphinx role and its target on a page into an index key, `(kind, label)`."""
    if role == "doc":
        folder = posixpath.dirname(page)
        return role, posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return role.removesuffix(":ref"), target.lower() if role == "ref" else target


def _role(node: addnodes.pending_xref) -> str:
    return "prf:ref" if node.get("refdomain") == "prf" else str(node["reftype"])


GLOSSARY = "guide/glossary"
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


def read_glossary(glossary: nodes.document) -> dict[str, Entry]:
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
    for text in list(_find_prose(doctree)):
        if not unlinked:
            return
        pieces: list[nodes.Node] = []
        start = 0
        for match in _compile_pattern(tuple(unlinked)).finditer(text.astext()):
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


def _find_prose(doctree: nodes.document) -> Iterator[nodes.Text]:
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


def _compile_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
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
        vars(app.env)[_DEFINITIONS] = read_glossary(doctree)


def link_page_terms(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the terms of one page, if this is an HTML build that includes the glossary."""
    definitions: dict[str, Entry] = vars(app.env).get(_DEFINITIONS, {})
    if page == GLOSSARY or GLOSSARY not in app.env.found_docs or app.builder.name != "html":
        return
    terms = {
        name: entry
        for name, entry in definitions.items()
        if page.startswith(tuple(book_settings()["terms"].get(name, ("",))))
    }
    link_terms(doctree, terms, app.builder.get_relative_uri(page, GLOSSARY))


def add_subjects(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Let the search lead to a page by the names that ``book/_search.yml`` gives its subject."""
    subjects = app.config.book_subjects.get(page, [])
    doctree += addnodes.index(entries=[("single", name, "", "main", None) for name in subjects])


def setup_terms(app: Sphinx) -> None:
    """Register the event handlers."""
    app.add_config_value("book_subjects", read_texts(BOOK / "_search.yml"), "html")
    app.connect("doctree-read", store_entries)
    app.connect("doctree-resolved", add_subjects)
    app.connect("doctree-resolved", link_page_terms)


# Cards of links: the theorem, equation, figure, table or reference that a link leads to

#: Folder of the scripts, below the root of the site.
FOLDER = "cards"
_ARTICLE = re.compile(r"<article\b.*</article>", re.DOTALL)
_TARGET = re.compile(
    r'<(?P<tag>div|figure) class="(?:proof|math|citation|repro-figure|repro-table)\b[^"]*"'
    r' id="(?P<id>[^"]+)">'
)
_LINK = re.compile(
    r'<a (?![^>]*headerlink)[^>]*\bhref="(?P<page>[^"#:?]*)#(?P<id>[^"]+)"[^>]*(?=>)'
)
#: What a card does not show: links and ids, the lines below figures, and later loading.
_LEFT_OUT = re.compile(
    r'<p class="repro-links">.*?</p>|<a class="headerlink".*?</a>|</?a\b[^>]*>|\sid="[^"]*"|'
    r' loading="lazy"| tabindex="0"| role="region"| aria-labelledby="[^"]*"',
    re.DOTALL,
)
_UP = re.compile(r'(?<=[="])(?:\.\./)*(?=(?:_images|figures)/)')


def find_targets(page: str) -> dict[str, str]:
    """Return the HTML of the elements of a page that have a card, by id."""
    return {
        match["id"]: _cut_element(page, match.start(), match["tag"])
        for match in _TARGET.finditer(page)
    }


def _cut_element(page: str, start: int, tag: str) -> str:
    """Return the element that begins at a place of a page, up to its end tag."""
    depth = 0
    for match in re.compile(rf"<(/?){tag}\b[^>]*>").finditer(page, start):
        depth += -1 if match[1] else 1
        if depth == 0:
            return page[start : match.end()]
    raise ValueError(f"page must close each {tag}, got {page[start : start + 80]!r}")


def make_card(element: str) -> str:
    """Return the content of a card: the element without links, with paths from the site's root."""
    return _UP.sub("", _LEFT_OUT.sub("", element))


def mark_links(page: str, html: str, targets: dict[str, dict[str, str]]) -> tuple[str, set[str]]:
    """Return the HTML of a page with its links marked, and the targets on other pages.

    `page`: path of the page in the site; `targets`: elements with a card, by page and id. A target
    is returned as ``PAGE#ID``.
    """
    elsewhere = set()

    def mark(link: re.Match[str]) -> str:
        folder = posixpath.dirname(page)
        target = posixpath.normpath(posixpath.join(folder, link["page"])) if link["page"] else page
        if link["id"] not in targets.get(target, {}):
            return link[0]
        if target == page:
            return f'{link[0]} data-card=""'
        elsewhere.add(f"{target}#{link['id']}")
        return f'{link[0]} data-card="{_name_file(target)}"'

    return _ARTICLE.sub(lambda article: _LINK.sub(mark, article[0]), html), elsewhere


def _name_file(page: str) -> str:
    return page.removesuffix(".html").replace("/", "-")


def write_cards(app: Sphinx, problem: Exception | None) -> None:
    """Mark the links of a finished site, and write the cards (event ``build-finished``)."""
    if problem is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    texts = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    targets = {page: find_targets(text) for page, text in texts.items()}
    cards: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for page, text in texts.items():
        marked, elsewhere = mark_links(page, text, targets)
        if marked != text:
            (site / page).write_text(marked, encoding="utf-8")
        for place in sorted(elsewhere):
            target, _, id = place.partition("#")
            cards[target][id] = make_card(targets[target][id])
    for page, named in cards.items():
        (site / FOLDER).mkdir(exist_ok=True)
        name = _name_file(page)
        content = json.dumps(dict(sorted(named.items())), ensure_ascii=False, indent=0)
        script = f'bookCards("{name}", {content});\n'
        (site / FOLDER / f"{name}.js").write_text(script, encoding="utf-8")
