"""The Sphinx extension of the book: roles for numbers, directives for figures and tables.

Roles        ``{printed}`id` `` text that a document prints; ``{computed}`id:.2f` `` value that the
             book computes for that row; ``{value}`id:.2f` `` number of the book's own;
             ``{verdict}`id` ``; ``{row}`id` `` link to the place that discusses the row.
Directives   ``{repro-figure} id``, ``{front-figure} id`` (a figure of another page, linked),
             ``{repro-table} id``, ``{verdicts}`` (the rows of this page), ``{scorecard}``,
             ``{coverage}``, ``{bases}``, ``{errata}``, ``{gallery}``, ``{build-info}``;
             ``{document-only}``, content for the documents' own parameters only; and ``{when} id``
             or ``{when} not id``, content that is shown if a saved value is true, or false.
"""

from __future__ import annotations

import json
import platform
import re
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from analysis.published import documents, printed_rows
from analysis.report.pages.accessibility import (
    correct_aria_roles,
    label_folded_cells,
    label_toggles,
)
from analysis.report.pages.api import PublicNames
from analysis.report.pages.collated import number_text, results
from analysis.report.pages.conditional import DocumentOnly, DropEmptySections, When
from analysis.report.pages.explorables import register as register_explorables
from analysis.report.pages.pictures import Picture, setup_pictures
from analysis.report.pages.predicate_source import source_path, write_sources
from analysis.report.pages.prune import prune_site
from analysis.report.pages.references import BookReferences, write_index
from analysis.report.pages.rerun import add_banner, copy_book_numbers, pages_of_rerun
from analysis.report.pages.rows import RowRole, add_search_entries, record_mention, resolve_rows
from analysis.report.pages.terms import setup_terms
from analysis.report.run import DIGITS, FORMATS
from analysis.report.running.notebooks import Parameter, all_notebooks, find_notebook
from analysis.report.scorecard import VERBAL
from analysis.report.text import escaped, escaped_words

#: Link texts of files by suffix, where the text is not the suffix itself.
LINKS = {"csv": "data"}
PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "papermill", "jupyter-book", "sphinx")


class NumberRole(SphinxRole):
    """A number by its id, with an optional format after a colon."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as text, or report an error on the page's log."""
        try:
            text = number_text(results(self.env.app), self.kind, self.text)
        except (KeyError, ValueError, TypeError) as error:
            message = self.inliner.reporter.error(f"{self.kind} {self.text!r}: {error!r}")
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        number = nodes.inline("", text, classes=[f"book-{self.kind}"])
        id = self.text.partition(":")[0]
        if self.kind != "value" and record_mention(self.env, id):
            number["ids"] = [f"mention-{id}"]
        return [number], []


class BookDirective(SphinxDirective):
    """Base class of the directives that read results."""

    has_content = False

    @property
    def data(self) -> dict[str, Any]:
        """The collated results of the notebooks."""
        return results(self.env.app)

    def link(self, text: str, page: str, anchor: str = "") -> nodes.TextElement:
        """Return a link to another page, or plain text if this site does not have the page."""
        if page not in self.env.found_docs:
            return nodes.inline("", text)
        uri = self.env.app.builder.get_relative_uri(self.env.docname, page)
        target = uri if not anchor or "#" in uri else f"{uri}#{anchor}"
        return nodes.reference("", text, refuri=target or f"#{anchor}", internal=True)

    @property
    def up(self) -> str:
        """Relative path from this page to the root of the site."""
        single = self.env.app.builder.name == "singlehtml"
        return "" if single else "../" * self.env.docname.count("/")

    def file_link(self, text: str, path: str) -> nodes.Node:
        """Return a link to a file of the site, given its path from the root."""
        return nodes.reference("", text, refuri=self.up + path, classes=["book-file"])

    def product_links(self, folder: str, product: dict[str, Any], formats: list[str]) -> nodes.Node:
        """Return a line of links below a figure or table: data, notebook, provenance, citation."""
        id, name = product["id"], Path(product["notebook"]).name
        links: list[nodes.Node] = [nodes.reference("", "permalink", refuri=f"#{id}")]
        links += [self.file_link(LINKS.get(f, f.upper()), f"{folder}/{id}.{f}") for f in formats]
        if instances := product["instances"]:
            links += [self.file_link("instances", f"data/{instances}.csv")]
        links += [
            self.file_link("notebook", f"notebooks/{name}.ipynb"),
            self.file_link("provenance", f"{folder}/{id}.json"),
            self.file_link("cite", f"{folder}/{id}.bib"),
        ]
        line = nodes.paragraph(classes=["repro-links"])
        for number, node in enumerate(links):
            line += [nodes.Text(" · "), node] if number else [node]
        return line

    def markdown(self, text: str) -> list[nodes.Node]:
        """Parse a line of Markdown; HTML in it is shown as text."""
        parsed = self.parse_text_to_nodes(text)
        for html in [node for part in parsed for node in part.findall(nodes.raw)]:
            html.replace_self(nodes.Text(html.astext()))
        return list(parsed[0].children or parsed) if len(parsed) == 1 else parsed


class ReproFigure(BookDirective):
    """A figure with its number, caption, alt text, and links to data, provenance and citation."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the figure node."""
        id = self.arguments[0]
        if id not in self.data["figures"]:
            raise self.error(f"no notebook saved a figure {id!r}")
        description = self.data["figures"][id]
        figure = nodes.figure(ids=[id], names=[id], classes=["repro-figure"])
        figure["align"] = "center"
        image = Picture(uri=f"/_site/figures/{id}.svg", alt=description["alt"])
        image["others"] = self.up + "figures/"
        caption = nodes.caption("", "", *self.markdown(description["caption"]))
        links = self.product_links("figures", description, [*FORMATS, "csv"])
        figure += [image, caption, nodes.legend("", links)]
        self.state.document.note_explicit_target(figure)
        return [figure]


class FrontFigure(BookDirective):
    """A figure of another page, linked to that page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the linked image and its caption."""
        id = self.arguments[0]
        if id not in self.data["figures"]:
            raise self.error(f"no notebook saved a figure {id!r}")
        shown = self.data["figures"][id]
        image = Picture(uri=f"/_site/figures/{id}.svg", alt=shown["alt"])
        image["others"] = self.up + "figures/"
        link = self.link("", shown["notebook"], id)
        link += image
        said = nodes.paragraph("", "", *self.markdown(shown["caption"]), classes=["book-front"])
        picture = nodes.paragraph("", "", link)
        return [nodes.container("", picture, said, ids=[f"front-{id}"], classes=["repro-figure"])]


class Template(BookDirective):
    """Content of a Jinja template in Markdown; the directive and the template have one name."""

    def run(self) -> list[nodes.Node]:
        """Return the parsed content of the template."""
        versions = {"python": platform.python_version()} | {
            name: version(name) for name in PACKAGES
        }
        text = TEMPLATES.get_template(f"{self.name}.md").render(
            data=self.data,
            rows=printed_rows(),
            documents=documents(),
            page=Path(self.env.docname).name,
            versions=versions,
            digits=DIGITS,
            link=self.html_link,
            up=self.up,
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)

    def html_link(self, text: str, page: str, anchor: str = "") -> Markup:
        """Return a link to another page as HTML, for templates."""
        link = self.link(text, page, anchor)
        opening = '<a href="%s">'
        if "refuri" not in link:
            return _as_markup(text)
        return Markup(opening) % link["refuri"] + _as_markup(text) + Markup("</a>")


class Gallery(BookDirective):
    """Thumbnails of all figures, each linked to its page."""

    def run(self) -> list[nodes.Node]:
        """Return one card a figure."""
        gallery = nodes.container(classes=["book-gallery"])
        place = {notebook.page: n for n, notebook in enumerate(all_notebooks().values())}
        figures = self.data["figures"].items()
        for id, figure in sorted(figures, key=lambda one: place.get(one[1]["notebook"], -1)):
            card = nodes.container(classes=["book-card"])
            image = nodes.image(uri=f"/_site/thumbnails/{id}.png", alt=figure["alt"])
            link = self.link("", figure["notebook"], id)
            link += image
            card += nodes.paragraph("", "", link)
            caption = nodes.paragraph("", "", *self.markdown(figure["caption"]))
            card += [caption, nodes.paragraph("", "", nodes.literal("", id))]
            gallery += card
        return [gallery]


def link_rows(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Resolve links to printed rows and add their search entries (``doctree-resolved``)."""
    verdicts = results(app).get("verdicts", {})
    resolve_rows(app, doctree, docname, printed_rows(), verdicts)
    add_search_entries(doctree, docname, printed_rows(), verdicts)


def make_proof_ids_unique(app: Sphinx, doctree: nodes.document) -> None:
    """Append numbers to the ids of proofs and theorem contents, which sphinx-proof repeats."""
    same = [n for n in doctree.findall(nodes.Element) if n["ids"] in (["proof"], ["proof-content"])]
    for number, node in enumerate(same):
        node["ids"] = [f"{node['ids'][0]}-{number}"]


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


def _parameter(parameter: Parameter) -> nodes.list_item:
    """Return a list item with a parameter's name, default, unit, description and range."""
    unit = "" if parameter.unit == "none" else f", {parameter.unit}"
    said = f" = {parameter.default!r}{unit}: {parameter.description} ({parameter.type}, "
    allowed = "any" if parameter.allowed == "any" else f"in {parameter.allowed}"
    line = nodes.paragraph("", "", nodes.literal("", parameter.name))
    line += nodes.Text(f"{said}{allowed})")
    return nodes.list_item("", line)


def computed_text(verdict: dict[str, Any]) -> str:
    """Return the computed value of a row, and its interval rounded to the same decimals."""
    computed: str = verdict["computed"]
    if not verdict["interval"]:
        return computed
    decimals = re.search(r"\.(\d+)", computed)
    style = ".4g" if "e" in computed else f".{len(decimals[1]) if decimals else 0}f"
    low, high = (format(end, style) for end in verdict["interval"])
    return f"{computed} ({low} to {high})"


#: Kinds of rows that are inputs of a document's model; all others are its outputs.
_INPUT_KINDS = ("parameter", "premise", "reference")
#: Outcomes that the coverage table counts outputs by, and the verdicts of each.
OUTCOMES = {
    "match": ("matches", "within the interval", "holds", "redrawn"),
    "match under": ("matches under", "holds under"),
    "explained": ("explained",),
    "do not hold": ("does not hold",),
    "not determined": ("not determined",),
    "differ": ("differs",),
    "done": ("done",),
    "open": ("open",),
}


def _outputs(data: dict[str, Any], document: str) -> dict[str, dict[str, int]]:
    """Return the number of a document's outputs by outcome and verdict."""
    rows = printed_rows()
    counts = Counter(
        verdict["verdict"]
        for id, verdict in data["verdicts"].items()
        if rows[id].document == document and rows[id].kind not in _INPUT_KINDS
    )
    return {
        said: {v: counts[v] for v in verdicts if counts[v]} for said, verdicts in OUTCOMES.items()
    }


def _bases(data: dict[str, Any], document: str) -> dict[str, int]:
    """Return the number of a document's statements by basis; those without one last."""
    rows = printed_rows()
    counts = Counter(
        verdict["basis"]
        for id, verdict in data["verdicts"].items()
        if rows[id].document == document and rows[id].kind in VERBAL
    )
    kept = {basis: counts.pop(basis, 0) for basis in ("computed", "proved", "judged")}
    return kept | {"": counts.total()}


def _verdict_counts(verdicts: Sequence[dict[str, Any]]) -> list[str]:
    """Return the number of each verdict as a phrase, the most frequent first."""
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    return [f"{number} {verdict}" for verdict, number in counts.most_common()]


def _why(verdict: dict[str, Any]) -> str:
    """Return a verdict's condition, reason and assumed choices as one text."""
    condition = f"Under: {verdict['condition']}" if verdict["condition"] else ""
    choices = "; ".join(verdict["assumes"]) if not condition else ""
    assumed = f"Assumes: {choices}" if choices else ""
    parts = (condition, verdict["reason"], assumed)
    return ". ".join(part.rstrip(". ") for part in parts if part)


def _as_markup(value: Any) -> Markup:
    """Escape a value for Markdown; leave `Markup` untouched."""
    if isinstance(value, Markup):
        return value
    return Markup(escaped(" ".join(str(value).split())))


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    finalize=_as_markup,
    trim_blocks=True,
)
TEMPLATES.globals |= {
    "computed": computed_text,
    "counted": _verdict_counts,
    "outcomes": list(OUTCOMES),
    "outputs": _outputs,
    "bases": _bases,
    "why": _why,
}
# A document's text in a table cell, with its formulas as mathematics.
TEMPLATES.filters["printed"] = lambda text: Markup(escaped_words(text).replace("|", r"\|"))
TEMPLATES.filters["source_path"] = source_path
# Markdown of this repository in a table cell.
TEMPLATES.filters["cell"] = lambda text: Markup(text.replace("|", r"\|"))
TEMPLATES.filters["json"] = json.dumps


def finish_build(app: Sphinx, problem: Exception | None) -> None:
    """Post-process a finished build (event ``build-finished``).

    The book gets ``references.json``, the sources of predicates and static files without what no
    page uses. The sites of reruns share complete static files.
    """
    if not pages_of_rerun(app):
        write_index(app, problem)
        prune_site(app, problem)
        if problem is None and app.builder.name == "html":
            verdicts = results(app).get("verdicts", {}).values()
            write_sources({verdict.get("code") for verdict in verdicts}, Path(app.outdir))
    label_toggles(app, problem)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register roles, directives and event handlers."""
    for kind in ("printed", "computed", "value", "verdict"):
        app.add_role(kind, NumberRole(kind))
    app.add_directive("repro-figure", ReproFigure)
    app.add_directive("front-figure", FrontFigure)
    app.setup_extension("analysis.report.pages.markup")
    app.setup_extension("analysis.report.pages.tables")
    app.setup_extension("analysis.report.pages.scorecard_page")
    app.add_directive("gallery", Gallery)
    for name in ("verdicts", "coverage", "bases", "errata", "build-info", "sources-of-book"):
        app.add_directive(name, Template)
    app.add_directive("document-only", DocumentOnly)
    app.add_directive("when", When)
    app.add_directive("public-names", PublicNames)
    setup_pictures(app)
    app.add_role("row", RowRole())
    app.connect("doctree-read", label_folded_cells)
    app.connect("doctree-resolved", link_rows)
    app.connect("html-page-context", correct_aria_roles)
    # After the theme, which adds its buttons at 501.
    app.connect("html-page-context", replace_download_buttons, priority=502)
    register_explorables(app)
    setup_terms(app)
    app.connect("doctree-read", add_rerun_hint)
    app.connect("doctree-read", add_banner)
    app.connect("doctree-read", make_proof_ids_unique)
    app.add_transform(DropEmptySections)
    app.add_post_transform(BookReferences)
    app.connect("env-check-consistency", copy_book_numbers)
    # After the theme, which writes a style sheet at this event.
    app.connect("build-finished", finish_build, priority=900)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
