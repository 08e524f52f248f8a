"""What pages say of their run: the command that reruns them, and the parameters of a rerun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from scorecard.pages.references import copy_numbers
from scorecard.pages.results import read_results
from scorecard.running.notebooks import FILES, find_notebook

#: What the book uses in place of a reader's own file.
_DEFAULTS = {
    "sources": "Table 1 of the report",
    "trace": "the trace of the book",
    "signals": "simulated pings",
}


def _format_value(value: Any) -> str:
    is_list = isinstance(value, list)
    return ", ".join(map(_format_value, value)) or "(empty)" if is_list else str(value)


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
)
_ENVIRONMENT.filters |= {"value": _format_value, "repr": repr}


def find_rerun_pages(app: Sphinx) -> dict[str, str]:
    """Return the book's pages of a rerun by their docnames; empty in the book itself."""
    data = read_results(app)
    return {Path(page).name: page for page in data["runs"]} if "book" in data else {}


def add_rerun_notes(app: Sphinx, doctree: nodes.document) -> None:
    """Add notes under a page's title, by the template ``rerun.html`` (event ``doctree-read``).

    A notebook's page in the book gets the command that reruns it, and its parameters; the page of a
    rerun a table of its own parameters beside the documents'; pages of the quick profile a warning.
    """
    data, docname = read_results(app), app.env.docname
    title = next(iter(doctree.findall(nodes.section)), None)
    if title is None:
        return
    fields: dict[str, Any] = {"quick": data["profile"] == "quick"}
    page = find_rerun_pages(app).get(docname)
    if page and not data["document"]:
        fields |= _make_rerun_fields(data["runs"][page], page) | {
            "address": data["book"]["address"]
        }
    if docname in data["runs"]:
        notebook = find_notebook(Path(docname).name)
        fields["command"] = f'make run NB={notebook.name} P="…"'
        fields["repository"] = data.get("repository")
        fields["parameters"] = [p for p in notebook.parameters.values() if p.name not in FILES]
        fields["relations"] = notebook.relations
        is_published = not page and app.builder.name == "html"
        fields["recompute"] = notebook.name if is_published else ""
        fields["up"] = "../" * docname.count("/")
    if html := _ENVIRONMENT.get_template("rerun.html").render(fields).strip():
        title.insert(1, nodes.raw("", html, format="html"))


def _make_rerun_fields(run: dict[str, Any], page: str) -> dict[str, Any]:
    """Return the template's fields on a rerun: its parameters, changed and unchanged."""
    documents, values = run["documents"], run["parameters"]
    parameters = find_notebook(Path(page).name).parameters.values()
    return {
        "run": run,
        "page": page,
        "given": run["given"] | {key: file["name"] for key, file in run["files"].items()},
        "documents": documents | _DEFAULTS,
        "changed": [p for p in parameters if documents[p.name] != values[p.name]],
        "same": [p for p in parameters if documents[p.name] == values[p.name]],
    }


def copy_book_numbers(app: Sphinx, env: BuildEnvironment) -> None:
    """Copy the book's figure, table and equation numbers to a rerun's pages."""
    if pages := find_rerun_pages(app):
        copy_numbers(env, read_results(app)["book"], pages)
