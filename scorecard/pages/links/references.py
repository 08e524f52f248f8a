"""Cross-references from the page of a rerun to the book, and the book's numbers on that page.

The book's build writes an index of its reference targets, ``references.json``, beside its pages. A
rerun's build reads it: figures, tables, equations and theorems of its page get the numbers that
they have in the book, and a reference to another page becomes a link to the book with the book's
link text. Where no book is built, the link texts come from the book's sources.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from scorecard.pages.collated import results
from scorecard.paths import BOOK
from scorecard.run import write_json
from scorecard.running.notebooks import source_files

INDEX = "references.json"
#: Reference targets: kind -> label -> (page, anchor, link text).
Targets = dict[str, dict[str, tuple[str, str, str]]]
_NUMBERED = {"figure": "Fig. {}", "table": "Table {}", "code-block": "Listing {}"}
_HEADING = re.compile(r"^\((?P<label>[^)\n]+)\)=\n+#+ (?P<title>.+)$", re.M)
_LABELLED = re.compile(
    r"^[`:]{3,}\{(?:prf:)?(?P<kind>[a-z]+)\}[^\n]*\n:label: (?P<label>\S+)$", re.M
)
_FIGURE = re.compile(r"^[`:]{3,}\{repro-(?P<kind>figure|table)\} (?P<label>\S+)$", re.M)


def book_index(env: BuildEnvironment) -> dict[str, Any]:
    """Return the index of a book that Sphinx has read: reference targets and numbers."""
    labels, equations = env.domains["std"].data["labels"], env.domains["math"].data["objects"]
    anonymous = env.domains["std"].data["anonlabels"]
    targets: Targets = {
        "ref": {name: (page, anchor, str(text)) for name, (page, anchor, text) in labels.items()},
        "numref": {
            name: (page, anchor, text.format(number))
            for name, (page, anchor) in anonymous.items()
            for kind, text in _NUMBERED.items()
            if (number := _number(env, page, kind, anchor))
        },
        "doc": {page: (page, "", env.titles[page].astext()) for page in env.found_docs},
        "eq": {},
        "prf": {},
    }
    for name, (page, _) in equations.items():
        anchor = nodes.make_id(f"equation-{name}")
        targets["eq"][name] = (page, anchor, f"({_number(env, page, 'displaymath', anchor)})")
    for name, proof in getattr(env, "proof_list", {}).items():
        number = (
            "" if proof["nonumber"] else _number(env, proof["docname"], proof["countertype"], name)
        )
        text = f"{proof['realtype'].title()} {number}".strip()
        targets["prf"][name] = (proof["docname"], name, text)
    return {"targets": targets, "numbers": env.toc_fignumbers}


def _number(env: BuildEnvironment, page: str, kind: str, anchor: str) -> str:
    return ".".join(map(str, env.toc_fignumbers.get(page, {}).get(kind, {}).get(anchor, ())))


def source_index() -> dict[str, Any]:
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
        write_json(Path(app.outdir) / INDEX, book_index(app.env))


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
        data = results(self.app)
        page_of_name = {Path(page).name: page for page in data["runs"]}
        if "book" not in data or self.env.docname not in page_of_name:
            return
        book, page = data["book"], page_of_name[self.env.docname]
        for node in list(self.document.findall(addnodes.pending_xref)):
            kind, label = index_key(_role(node), node["reftarget"], page)
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
        entry_text, target = text_and_link(entry, address)
        text = node.astext() if node.get("refexplicit") else entry_text
        if not target:
            return nodes.inline("", text, classes=["book-elsewhere"])
        return nodes.reference("", text, refuri=target, classes=["book-elsewhere"])


def text_and_link(entry: Sequence[str], address: str) -> tuple[str, str]:
    """Return the text and the URL of an index entry; the URL is empty without an address."""
    page, anchor, text = entry
    link = f"{address}/{page}.html" + (f"#{anchor}" if anchor else "")
    return text, link if address else ""


def index_key(role: str, target: str, page: str) -> tuple[str, str]:
    """Translate a Sphinx role and its target on a page into an index key, `(kind, label)`."""
    if role == "doc":
        folder = posixpath.dirname(page)
        return role, posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return role.removesuffix(":ref"), target.lower() if role == "ref" else target


def _role(node: addnodes.pending_xref) -> str:
    return "prf:ref" if node.get("refdomain") == "prf" else str(node["reftype"])
