"""Accessibility of the rendered pages: labels of folded cells, and corrected ARIA roles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

#: HTML that other packages write, and its correction: bibliographies that are no ARIA list, labels
#: that hide the text of a toggle, header cells without text.
_REPLACEMENTS = (
    (' role="list" class="citation-list"', ' class="citation-list"'),
    (' role="doc-biblioentry"', ""),
    (' aria-label="Toggle hidden content"', ""),
    ("<th></th>", "<td></td>"),
)
_TOGGLE = '<summary><span class="toctree-toggle"'
_NAMED = '<summary aria-label="Pages of this part">'
_CALLS = re.compile(r"\b(?:study|pictures|page|shown)\.(\w+)\(")


def correct_aria_roles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Correct roles and labels in the body of a page (event ``html-page-context``)."""
    for found, fitting in _REPLACEMENTS if "body" in context else ():
        context["body"] = context["body"].replace(found, fitting)


def make_proof_ids_unique(app: Sphinx, doctree: nodes.document) -> None:
    """Append numbers to the ids of proofs and theorem contents, which sphinx-proof repeats."""
    same = [n for n in doctree.findall(nodes.Element) if n["ids"] in (["proof"], ["proof-content"])]
    for number, node in enumerate(same):
        node["ids"] = [f"{node['ids'][0]}-{number}"]


def label_toggles(app: Sphinx, problem: Exception | None) -> None:
    """Label the toggles of the navigation, where the theme has an icon without text."""
    for path in Path(app.outdir).rglob("*.html") if problem is None else ():
        text = path.read_text(encoding="utf-8")
        if _TOGGLE in text:
            named = text.replace(_TOGGLE, _TOGGLE.replace("<summary>", _NAMED))
            path.write_text(named, encoding="utf-8")


def label_folded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Set the labels that show and hide each folded cell."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and cell.get("hide_mode"):
            does = describe_cell(cell.children[0].astext())
            cell["prompt_show"] = f"Show the code: {does}"
            cell["prompt_hide"] = f"Hide the code: {does}"


def describe_cell(code: str) -> str:
    """Describe the code of a cell in a few words.

    The words are those of a comment in its first line, or else names of functions that it calls, or
    of variables that it sets.
    """
    first = code.strip().partition("\n")[0]
    if first.startswith("#"):
        return first.lstrip("# ").rstrip(".")
    if re.match(r"\w+: \w[\w\[\]]* = ", first):
        return "parameters of this page"
    if "record_claims(" in code:
        return "what the page says of each row"
    if names := list(dict.fromkeys(_CALLS.findall(code))):
        return ", ".join(name.removeprefix("save_") for name in names[:3]).replace("_", " ")
    if re.match(r"(from|import) ", first):
        return "imports"
    names = re.findall(r"^(\w+)(?:, \w+)* = ", code, re.M) or re.findall(r"^([a-z]\w*)", code, re.M)
    return ", ".join(dict.fromkeys(names[:3])).replace("_", " ") or "this step"
