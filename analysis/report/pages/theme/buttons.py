"""Buttons in the header of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from analysis.report.pages.collated import results


def replace_download_buttons(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Replace the theme's download of a page's source by the portable notebook.

    The source has roles and directives that Jupyter does not render.
    """
    for group in context.get("header_buttons", ()):
        if group.get("label") != "download-buttons":
            continue
        buttons = [b for b in group["buttons"] if b["label"] == "download-pdf-button"]
        if page in results(app)["runs"]:
            address = context["pathto"](f"notebooks/{Path(page).name}.ipynb", 1)
            words = {"text": ".ipynb", "tooltip": "Download the notebook", "icon": "fas fa-code"}
            notebook = {"type": "link", "url": address, "label": "download-notebook-button"}
            buttons.insert(0, notebook | words)
        group["buttons"] = buttons
