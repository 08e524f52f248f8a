"""Content that depends on the run: the directives `document-only` and `when`, and notes on reruns.

A section all of whose content is omitted is removed with its title. The command that reruns a page
stands under its title; the page of a rerun lists its parameters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from scorecard.pages.references import copy_numbers
from scorecard.pages.results import read_results
from scorecard.running.notebooks import FILES, find_notebook

#: Classes of a cell whose code is folded.
FOLDED = {"tag_hide-input", "tag_hide-cell"}


class omitted(nodes.Invisible, nodes.Element):
    """Placeholder for omitted content; `DropEmptySections` removes it."""


class ConditionalDirective(SphinxDirective):
    """Base class of the two directives."""

    has_content = True

    def content_if(self, true: bool) -> list[nodes.Node]:
        """Return the parsed content if a condition is true, else a placeholder."""
        return self.parse_content_to_nodes(allow_section_headings=True) if true else [omitted()]


class DocumentOnly(ConditionalDirective):
    """Content that applies to the documents' own parameters only."""

    def run(self) -> list[nodes.Node]:
        """Return the content, or a placeholder on the page of a rerun with other parameters."""
        return self.content_if(read_results(self.env.app)["document"])


class When(ConditionalDirective):
    """Content under a condition on the results: ``{when} id`` or ``{when} not id``.

    The id is that of a truth value that a notebook saved.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the content if the condition is true, else a placeholder."""
        *negation, id = self.arguments[0].split()
        if negation not in ([], ["not"]):
            raise self.error(f"when takes an id or 'not' and an id, got {self.arguments[0]!r}")
        value = read_results(self.env.app)["values"].get(id, {}).get("value")
        if not isinstance(value, bool):
            raise self.error(f"no notebook saved {id!r} as true or false")
        return self.content_if(value is not bool(negation))


class DropEmptySections(SphinxTransform):
    """Remove sections whose whole content is omitted, and all placeholders."""

    default_priority = 800  # after sections get their labels, before the contents are collected

    def apply(self, **_: object) -> None:
        """Visit the sections, the innermost first."""
        sections = [
            s for s in self.document.findall(nodes.section) if s.parent is not self.document
        ]
        for section in reversed(sections):
            if any(section.findall(omitted)) and not any(map(_is_content, section.children)):
                self._remove_labels(section)
                section.replace_self(omitted())
        for mark in list(self.document.findall(omitted)):
            mark.parent.remove(mark)

    def _remove_labels(self, section: nodes.section) -> None:
        """Remove the labels of a section from the document, so that nothing refers to them."""
        for target in list(self.document.findall(nodes.target)):
            if target.get("refid") in section["ids"]:
                target.parent.remove(target)
        for name in {
            name for element in section.findall(nodes.Element) for name in element["names"]
        }:
            self.document.nametypes.pop(name, None)


def _is_content(node: nodes.Node) -> bool:
    """Whether a node counts as visible content; folded code without an output does not."""
    if isinstance(node, nodes.Invisible | nodes.title | nodes.target):
        return False
    if isinstance(node, nodes.system_message):
        return int(node["level"]) > 1  # others are notes, which are never shown
    if isinstance(node, nodes.Element) and FOLDED & set(node["classes"]):
        return any(
            "cell_output" in container["classes"] for container in node.findall(nodes.container)
        )
    return True


#: What the book uses in place of a reader's own file.
_DEFAULTS = {"sources": "Table 1 of the report", "trace": "the trace of the book"}


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
