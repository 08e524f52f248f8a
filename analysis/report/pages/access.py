"""What assistive technology reads of a page: names of folded cells, roles and headers that fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

#: What other packages write, and what fits: an entry of a bibliography is no item of an ARIA list,
#: a header without words is none, and what is folded is named by its words.
_FITTING = (
    (' role="list" class="citation-list"', ' class="citation-list"'),
    (' role="doc-biblioentry"', ""),
    (' aria-label="Toggle hidden content"', ""),
    ("<th></th>", "<td></td>"),
)
_TOGGLE = '<summary><span class="toctree-toggle"'
_NAMED = '<summary aria-label="Pages of this part">'
_CALLS = re.compile(r"\b(?:study|pictures|page|shown)\.(\w+)\(")


def fit_roles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the body of a page roles and names that fit."""
    for found, fitting in _FITTING if "body" in context else ():
        context["body"] = context["body"].replace(found, fitting)


def name_toggles(app: Sphinx, problem: Exception | None) -> None:
    """Name what folds a part of the contents: the theme draws an arrow and says nothing."""
    for path in Path(app.outdir).rglob("*.html") if problem is None else ():
        text = path.read_text(encoding="utf-8")
        if _TOGGLE in text:
            named = text.replace(_TOGGLE, _TOGGLE.replace("<summary>", _NAMED))
            path.write_text(named, encoding="utf-8")


def name_folded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Name each folded cell after what it does."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and cell.get("hide_mode"):
            does = what_it_does(cell.children[0].astext())
            cell["prompt_show"] = f"Show the code: {does}"
            cell["prompt_hide"] = f"Hide the code: {does}"


def what_it_does(code: str) -> str:
    """Say in a few words what a cell does.

    Its first line says so where it is a comment; else the names of what it calls do.
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
