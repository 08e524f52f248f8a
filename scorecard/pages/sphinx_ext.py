"""The Sphinx extension of the book: numbers, public names, and what pages say of their run.

Roles        ``{number}`254.66 <printed A-r-25466>` ``, a filled number and its source, which
             `scorecard.fill` writes; ``{row}`id` ``, a link to the place that discusses the row.
Directives   ``{repro-figure} id``, ``{front-figure} id`` (a figure of another page, linked),
             ``{repro-table} id``, ``{verdicts}`` (the rows of this page), ``{scorecard}``,
             ``{coverage}``, ``{bases}``, ``{errata}``, ``{gallery}``, ``{build-info}``;
             ``{public-names} PACKAGE``.
"""

from __future__ import annotations

from importlib import import_module
from inspect import isclass
from pathlib import Path
from typing import Any

import jinja2
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from scorecard.pages.explorables import register as register_explorables
from scorecard.pages.references import (
    BookReferences,
    copy_numbers,
    setup_terms,
    write_cards,
    write_index,
)
from scorecard.pages.results import HtmlElement, read_results
from scorecard.pages.scorecard import (
    RowRole,
    find_deciding_function,
    link_rows,
    record_mention,
    write_sources,
)
from scorecard.pages.theme import (
    correct_aria_roles,
    fold_navigations,
    label_folded_cells,
    make_proof_ids_unique,
    remove_recording_cells,
    remove_unused_files,
    replace_download_buttons,
    write_policy,
)
from scorecard.running.notebooks import find_notebook
from scorecard.values import FILES, book_settings

#: Modules of `scorecard.pages` that register their own nodes and directives.
EXTENSIONS = ("results", "scorecard")


class NumberRole(SphinxRole):
    """A filled number and its source, as `scorecard.fill` writes them.

    The source stays with the number on the page, where scripts find it as ``data-value``.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as an element; the first mention of a row on a page is its anchor."""
        text, _, source = self.text.removesuffix(">").rpartition(" <")
        kind, name, *linked = source.split()
        number = HtmlElement("", nodes.Text(text), element="span")
        number["attributes"] = {"data-value": name}
        is_row = kind in ("printed", "computed", "verdict")
        number["classes"] += [f"book-{kind}" if is_row else "book-value"]
        if is_row and record_mention(self.env, id := name.partition(":")[0]):
            number["ids"] += [f"mention-{id}"]
        if linked:
            number["attributes"] |= {f"data-{kind}": linked[0]}
            decimals = str(len(text.partition(".")[2]))
            number["attributes"] |= (
                {"data-control": linked[1]}
                if kind == "sets"
                else {"data-number": linked[1], "data-decimals": decimals}
            )
        return [number], []


class PublicNames(SphinxDirective):
    """``{public-names} analysis.mdp``: a summary table, then each name with its docstring.

    The directive's content, if any, lists the names to include.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the parsed directives of autosummary and autodoc for the names."""
        name = self.arguments[0]
        module = import_module(name)
        names = " ".join(self.content).split() or sorted(module.__all__, key=str.lower)
        lines = [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}.{public}" for public in names]
        for public in names:
            thing = getattr(module, public)
            kind = "class" if isclass(thing) else "function" if callable(thing) else "data"
            lines += ["", f".. auto{kind}:: {name}.{public}"]
            lines += ["   :members:"] if isclass(thing) else []
        text = ["```{eval-rst}", *lines, "```"]
        holder = nodes.container()
        self.state.nested_parse(StringList(text, self.env.docname), self.content_offset, holder)
        return holder.children


# What pages say of their run: the command that reruns them, and the parameters of a rerun


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
        "documents": documents | book_settings()["files"],
        "changed": [p for p in parameters if documents[p.name] != values[p.name]],
        "same": [p for p in parameters if documents[p.name] == values[p.name]],
    }


def copy_book_numbers(app: Sphinx, env: BuildEnvironment) -> None:
    """Copy the book's figure, table and equation numbers to a rerun's pages."""
    if pages := find_rerun_pages(app):
        copy_numbers(env, read_results(app)["book"], pages)


# The extension


def finish_build(app: Sphinx, problem: Exception | None) -> None:
    """Post-process a finished build (event ``build-finished``).

    The book gets ``references.json``, the sources of predicates and static files without what no
    page uses. The sites of reruns share complete static files.
    """
    write_cards(app, problem)
    if not find_rerun_pages(app):
        write_index(app, problem)
        remove_unused_files(app, problem)
        if problem is None and app.builder.name == "html":
            verdicts = read_results(app).get("verdicts", {})
            names = {
                find_deciding_function(verdict["page"], id) for id, verdict in verdicts.items()
            }
            write_sources(names, Path(app.outdir))
    fold_navigations(app, problem)
    write_policy(app, problem)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register roles, directives and event handlers."""
    app.add_role("number", NumberRole())
    for extension in EXTENSIONS:
        app.setup_extension(f"scorecard.pages.{extension}")
    app.add_directive("public-names", PublicNames)
    app.add_role("row", RowRole())
    app.connect("doctree-read", remove_recording_cells)
    app.connect("doctree-read", label_folded_cells)
    app.connect("doctree-resolved", link_rows)
    app.connect("html-page-context", correct_aria_roles)
    # After the theme, which adds its buttons at 501.
    app.connect("html-page-context", replace_download_buttons, priority=502)
    register_explorables(app)
    setup_terms(app)
    app.connect("doctree-read", add_rerun_notes)
    app.connect("doctree-read", make_proof_ids_unique)
    app.add_post_transform(BookReferences)
    app.connect("env-check-consistency", copy_book_numbers)
    # After the theme, which writes a style sheet at this event.
    app.connect("build-finished", finish_build, priority=900)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
