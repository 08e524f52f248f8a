"""The banner on the page of a rerun: its parameters, and a link to the book's own page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from analysis.report.pages.collated import results
from analysis.report.pages.links.references import copy_numbers
from analysis.report.running.notebooks import Parameter, find_notebook

#: What the book uses in place of a reader's own file.
FILES = {"sources": "Table 1 of the report", "trace": "the trace of the book"}


def pages_of_rerun(app: Sphinx) -> dict[str, str]:
    """Return the book's pages of a rerun by their docnames; empty in the book itself."""
    data = results(app)
    return {Path(page).name: page for page in data["runs"]} if "book" in data else {}


def add_rerun_hint(app: Sphinx, doctree: nodes.document) -> None:
    """Add under a notebook's title the command that reruns it, and its parameters."""
    page = app.env.docname
    if page not in results(app)["runs"]:
        return
    notebook = find_notebook(Path(page).name)
    hint = nodes.container(classes=["book-rerun-hint"])
    command = nodes.literal("", f'make run NB={notebook.name} P="…"')
    line = nodes.paragraph("", "", nodes.Text("Rerun this page: "), command)
    if repository := results(app).get("repository"):
        line += nodes.Text(" in a clone of ")
        line += nodes.reference("", "the repository", refuri=repository)
    hint += line
    mine = [p for p in notebook.parameters.values() if p.name not in {"sources", "trace"}]
    if mine:
        hint += nodes.raw("", "<details><summary>Parameters</summary>", format="html")
        hint += nodes.bullet_list("", *map(_parameter, mine))
        hint += nodes.raw("", "</details>", format="html")
    next(iter(doctree.findall(nodes.section))).insert(1, hint)


def _parameter(parameter: Parameter) -> nodes.list_item:
    """Return a list item with a parameter's name, default, unit, description and range."""
    unit = "" if parameter.unit == "none" else f", {parameter.unit}"
    said = f" = {parameter.default!r}{unit}: {parameter.description} ({parameter.type}, "
    allowed = "any" if parameter.allowed == "any" else f"in {parameter.allowed}"
    line = nodes.paragraph("", "", nodes.literal("", parameter.name))
    line += nodes.Text(f"{said}{allowed})")
    return nodes.list_item("", line)


def add_banner(app: Sphinx, doctree: nodes.document) -> None:
    """Add a banner to the page of a rerun, and a warning to pages of the quick profile."""
    data, docname = results(app), app.env.docname
    title = next(iter(doctree.findall(nodes.section)), None)
    if title is None:
        return
    page = pages_of_rerun(app).get(docname)
    if page and not data["document"]:
        said = _banner(data["runs"][page], page, data["book"]["address"])
    elif data["profile"] == "quick":
        text = "Built with the quick profile, for tests: its verdicts are not the book's."
        said = [nodes.paragraph("", text)]
    else:
        return
    title.insert(1, nodes.note("", *said, classes=["book-rerun"]))


def _banner(run: dict[str, Any], page: str, address: str) -> list[nodes.Element]:
    """Return the content of a rerun's banner: a sentence, and a table of all parameters."""
    documents, mine = run["documents"], run["parameters"]
    given = run["given"] | {key: file["name"] for key, file in run["files"].items()}
    values = ", ".join(f"{key} = {value}" for key, value in given.items())
    line = nodes.paragraph("", f"A rerun with parameters of your own: {values}. ")
    words = "The book's page"
    there = nodes.reference("", words, refuri=f"{address}/{page}.html") if address else None
    line += [there or nodes.Text(words), nodes.Text(" has the documents' own.")]
    parameters = find_notebook(Path(page).name).parameters.values()
    rows = {p.name: _row(p, documents[p.name], mine[p.name], run["files"]) for p in parameters}
    changed = [row for name, row in rows.items() if documents[name] != mine[name]]
    same = [row for name, row in rows.items() if documents[name] == mine[name]]
    said: list[nodes.Element] = [line, _table(changed, "book-changed")]
    if same:
        number = f"{len(same)} parameter{'s' if len(same) > 1 else ''}"
        fold = f"<details><summary>{number} as in the documents</summary>"
        said += [nodes.raw("", fold, format="html"), _table(same, "book-unchanged")]
        said += [nodes.raw("", "</details>", format="html")]
    return said


def _row(
    parameter: Parameter, documents: Any, mine: Any, files: dict[str, dict[str, str]]
) -> list[nodes.Element]:
    """Return the table cells of one parameter: name and description, the two values."""
    name = parameter.name
    unit = "" if parameter.unit in {"none", "name", "names", "path"} else f" ({parameter.unit})"
    if name in FILES:
        documents, mine = FILES[name], FILES[name]
    what = nodes.paragraph("", "", nodes.literal("", name))
    what += nodes.Text(f" {parameter.description}{unit}")
    value = nodes.Text(_value_text(mine))
    yours = nodes.paragraph("", "", value if mine == documents else nodes.strong("", "", value))
    cells = [what, nodes.paragraph("", _value_text(documents))]
    cells.append(_own_file_cell(files[name]) if name in files else yours)
    return [nodes.entry("", cell) for cell in cells]


def _own_file_cell(file: dict[str, str]) -> nodes.paragraph:
    """Return the cell of a reader's own file: its name, linked to the copy, and its hash."""
    name = nodes.strong("", file["name"])
    link = nodes.reference("", "", name, refuri=f"notebooks/{file['shipped']}")
    digest = nodes.literal("", file["sha256"], classes=["book-hash"])
    return nodes.paragraph("", "", link, nodes.Text(", SHA-256 "), digest)


def _value_text(value: Any) -> str:
    return (
        ", ".join(map(_value_text, value)) or "(empty)" if isinstance(value, list) else str(value)
    )


def _table(rows: Iterable[list[nodes.Element]], kind: str) -> nodes.container:
    titles = ("Parameter", "The documents'", "Yours")
    head = [nodes.entry("", nodes.paragraph("", title)) for title in titles]
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in titles), cols=len(titles))
    group += nodes.thead("", nodes.row("", *head))
    group += nodes.tbody("", *(nodes.row("", *row) for row in rows))
    table = nodes.table("", group, classes=["book-parameters", kind])
    return nodes.container("", table, classes=["book-table"])


def copy_book_numbers(app: Sphinx, env: BuildEnvironment) -> None:
    """Copy the book's figure, table and equation numbers to a rerun's pages."""
    if pages := pages_of_rerun(app):
        copy_numbers(env, results(app)["book"], pages)
