"""Corrections of the theme's pages: roles, labels and ids for screen readers; the download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from scorecard.pages.collated import results

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


def correct_aria_roles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Correct roles and labels in the body of a page (event ``html-page-context``)."""
    for written, fitting in _REPLACEMENTS if "body" in context else ():
        context["body"] = context["body"].replace(written, fitting)


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


def replace_download_buttons(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Replace the theme's download of a page's source by the archive of its portable notebook.

    The source has roles and directives that Jupyter does not render.
    """
    for group in context.get("header_buttons", ()):
        if group.get("label") != "download-buttons":
            continue
        buttons = [b for b in group["buttons"] if b["label"] == "download-pdf-button"]
        if page in results(app)["runs"]:
            address = context["pathto"](f"notebooks/{Path(page).name}.zip", 1)
            label = {
                "text": ".zip",
                "tooltip": "Download the notebook and its code",
                "icon": "fas fa-code",
            }
            notebook = {"type": "link", "url": address, "label": "download-notebook-button"}
            buttons.insert(0, notebook | label)
        group["buttons"] = buttons
