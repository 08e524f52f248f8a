"""What pages can say of the results: roles for numbers, directives for figures and tables.

Roles        ``{printed}`id` `` what a document prints; ``{computed}`id:.2f` `` what the book
             computes for that row; ``{value}`id:.2f` `` a number of its own; ``{verdict}`id` ``;
             ``{row}`id` `` a link to where the row's verdict is argued.
Directives   ``{repro-figure} id``, ``{front-figure} id`` (the same elsewhere, linked),
             ``{repro-table} id``, ``{verdicts}`` (the rows of this page), ``{scorecard}``,
             ``{coverage}``, ``{errata}``, ``{gallery}``, ``{build-info}``; ``{document-only}``,
             whose content stands only where the documents' own parameters were used; and
             ``{when} id`` or ``{when} not id``, whose content stands where a saved value is true,
             or false: a sentence about results is bound to the predicate that it states.
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
from analysis.report.pages.access import fit_roles, name_folded_cells, name_toggles
from analysis.report.pages.api import Face
from analysis.report.pages.bound import DocumentOnly, DropEmptySections, When
from analysis.report.pages.collated import number_text, results
from analysis.report.pages.deciding import code_file, write_code
from analysis.report.pages.explorables import register as register_explorables
from analysis.report.pages.pictures import Picture, setup_pictures
from analysis.report.pages.references import BookReferences, write_index
from analysis.report.pages.rerun import mark_rerun, number_as_in_the_book, pages_of_rerun
from analysis.report.pages.rows import RowRole, add_search_entries, mark_told, resolve_rows
from analysis.report.pages.terms import setup_terms
from analysis.report.pages.used import ship_used
from analysis.report.run import DIGITS, FORMATS
from analysis.report.running.notebooks import Parameter, all_notebooks, find_notebook
from analysis.report.scorecard import SAID
from analysis.report.text import escaped, escaped_words

#: What links to files are called where their ending does not say it.
LINKS = {"csv": "data"}
PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "papermill", "jupyter-book", "sphinx")


class UnknownId(ValueError):
    """A page names a figure, a row or a number that no notebook left behind."""


class NumberRole(SphinxRole):
    """A number by its id, with an optional format behind a colon."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as text, or say on the page's log that there is none."""
        try:
            text = number_text(results(self.env.app), self.kind, self.text)
        except (KeyError, ValueError, TypeError) as error:
            message = self.inliner.reporter.error(f"{self.kind} {self.text!r}: {error!r}")
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        number = nodes.inline("", text, classes=[f"book-{self.kind}"])
        id = self.text.partition(":")[0]
        if self.kind != "value" and mark_told(self.env, id):
            number["ids"] = [f"told-{id}"]
        return [number], []


class BookDirective(SphinxDirective):
    """What the directives share."""

    has_content = False

    @property
    def data(self) -> dict[str, Any]:
        """What the notebooks left behind."""
        return results(self.env.app)

    def link(self, text: str, page: str, anchor: str = "") -> nodes.TextElement:
        """Return a link to another page of the book, or the bare text if it is not in it."""
        if page not in self.env.found_docs:
            return nodes.inline("", text)
        uri = self.env.app.builder.get_relative_uri(self.env.docname, page)
        target = uri if not anchor or "#" in uri else f"{uri}#{anchor}"
        return nodes.reference("", text, refuri=target or f"#{anchor}", internal=True)

    @property
    def up(self) -> str:
        """What leads from this page to the top of the site."""
        single = self.env.app.builder.name == "singlehtml"
        return "" if single else "../" * self.env.docname.count("/")

    def file_link(self, text: str, path: str) -> nodes.Node:
        """Return a link to a file that lies beside the pages."""
        return nodes.reference("", text, refuri=self.up + path, classes=["book-file"])

    def product_links(self, folder: str, product: dict[str, Any], formats: list[str]) -> nodes.Node:
        """Return the line of links to all that one needs to check and cite a figure or a table."""
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
        """Parse a line of Markdown in place; HTML in it is text."""
        parsed = self.parse_text_to_nodes(text)
        for html in [node for part in parsed for node in part.findall(nodes.raw)]:
            html.replace_self(nodes.Text(html.astext()))
        return list(parsed[0].children or parsed) if len(parsed) == 1 else parsed


class ReproFigure(BookDirective):
    """A figure with its number, caption, alt text, and all that one needs to check and cite it."""

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
    """A figure of another page, linked to its place."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the picture and its caption."""
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
    """What a template of the directive's name makes of the results, in Markdown."""

    def run(self) -> list[nodes.Node]:
        """Return the template's content; the page's own name is the last part of its place."""
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
        """Return a link as HTML, which the roles and links of Markdown cannot say."""
        link = self.link(text, page, anchor)
        opening = '<a href="%s">'
        if "refuri" not in link:
            return _words(text)
        return Markup(opening) % link["refuri"] + _words(text) + Markup("</a>")


class Gallery(BookDirective):
    """All figures, small, each linked to its place."""

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


def lead_to_rows(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let links and the search lead to printed rows."""
    verdicts = results(app).get("verdicts", {})
    resolve_rows(app, doctree, docname, printed_rows(), verdicts)
    add_search_entries(doctree, docname, printed_rows(), verdicts)


def number_proofs(app: Sphinx, doctree: nodes.document) -> None:
    """Tell proofs and the insides of theorems apart by id: sphinx-proof gives all the same two."""
    same = [n for n in doctree.findall(nodes.Element) if n["ids"] in (["proof"], ["proof-content"])]
    for number, node in enumerate(same):
        node["ids"] = [f"{node['ids'][0]}-{number}"]


def add_source_links(app: Sphinx, doctree: nodes.document) -> None:
    """Say under a notebook's title how to rerun it."""
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


def offer_portable_notebook(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Let the download button give the notebook that runs on its own, as a file to keep.

    The theme's own is the page's source for Sphinx, whose roles and directives no notebook shows.
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
    """Return one parameter: its name, what it is, its unit, what is allowed and the default."""
    unit = "" if parameter.unit == "none" else f", {parameter.unit}"
    said = f" = {parameter.default!r}{unit}: {parameter.description} ({parameter.type}, "
    allowed = "any" if parameter.allowed == "any" else f"in {parameter.allowed}"
    line = nodes.paragraph("", "", nodes.literal("", parameter.name))
    line += nodes.Text(f"{said}{allowed})")
    return nodes.list_item("", line)


def computed_text(verdict: dict[str, Any]) -> str:
    """Return the computed value, and its interval with as many decimals."""
    computed: str = verdict["computed"]
    if not verdict["interval"]:
        return computed
    decimals = re.search(r"\.(\d+)", computed)
    style = ".4g" if "e" in computed else f".{len(decimals[1]) if decimals else 0}f"
    low, high = (format(end, style) for end in verdict["interval"])
    return f"{computed} ({low} to {high})"


#: Kinds of rows that a document puts in; all others come out of its model.
_GIVEN = ("parameter", "premise", "reference")
#: What is said of the rows that come out, in few words, and the verdicts behind each.
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
    """Return how many of a document's outputs there are of each outcome, by verdict."""
    rows = printed_rows()
    counts = Counter(
        verdict["verdict"]
        for id, verdict in data["verdicts"].items()
        if rows[id].document == document and rows[id].kind not in _GIVEN
    )
    return {
        said: {v: counts[v] for v in verdicts if counts[v]} for said, verdicts in OUTCOMES.items()
    }


def _turned(data: dict[str, Any], document: str) -> dict[str, int]:
    """Return how many statements of a document rest on what; in context or open ones last."""
    rows = printed_rows()
    counts = Counter(
        verdict["basis"]
        for id, verdict in data["verdicts"].items()
        if rows[id].document == document and rows[id].kind in SAID
    )
    kept = {basis: counts.pop(basis, 0) for basis in ("computed", "proved", "judged")}
    return kept | {"": counts.total()}


def _counted(verdicts: Sequence[dict[str, Any]]) -> list[str]:
    """Return how many there are of each verdict, in words, the most frequent first."""
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    return [f"{number} {verdict}" for verdict, number in counts.most_common()]


def _why(verdict: dict[str, Any]) -> str:
    """Return what a verdict holds under, the choices that it rests on, and its reason."""
    condition = f"Under: {verdict['condition']}" if verdict["condition"] else ""
    choices = "; ".join(verdict["assumes"]) if not condition else ""
    assumed = f"Assumes: {choices}" if choices else ""
    parts = (condition, verdict["reason"], assumed)
    return ". ".join(part.rstrip(". ") for part in parts if part)


def _words(value: Any) -> Markup:
    """Escape a value for Markdown; leave `Markup` untouched."""
    if isinstance(value, Markup):
        return value
    return Markup(escaped(" ".join(str(value).split())))


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    finalize=_words,
    trim_blocks=True,
)
TEMPLATES.globals |= {
    "computed": computed_text,
    "counted": _counted,
    "outcomes": list(OUTCOMES),
    "outputs": _outputs,
    "turned": _turned,
    "why": _why,
}
# Words of a document in a cell of a table, with their formulas as mathematics.
TEMPLATES.filters["printed"] = lambda text: Markup(escaped_words(text).replace("|", r"\|"))
TEMPLATES.filters["code_file"] = code_file
# The Markdown of this repository itself, in a cell of a table.
TEMPLATES.filters["cell"] = lambda text: Markup(text.replace("|", r"\|"))
TEMPLATES.filters["json"] = json.dumps


def finish(app: Sphinx, problem: Exception | None) -> None:
    """After the build of a book: write `references.json` and strip theme assets that no page uses.

    Pages of reruns share the theme of the book whole.
    """
    if not pages_of_rerun(app):
        write_index(app, problem)
        ship_used(app, problem)
        if problem is None and app.builder.name == "html":
            verdicts = results(app).get("verdicts", {}).values()
            write_code({verdict.get("code") for verdict in verdicts}, Path(app.outdir))
    name_toggles(app, problem)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register roles and directives; jupyter-book itself adds what lies in ``_static``."""
    for kind in ("printed", "computed", "value", "verdict"):
        app.add_role(kind, NumberRole(kind))
    app.add_directive("repro-figure", ReproFigure)
    app.add_directive("front-figure", FrontFigure)
    app.setup_extension("analysis.report.pages.markup")
    app.setup_extension("analysis.report.pages.tables")
    app.setup_extension("analysis.report.pages.scorecard_page")
    app.add_directive("gallery", Gallery)
    for name in ("verdicts", "coverage", "turned", "errata", "build-info", "sources-of-book"):
        app.add_directive(name, Template)
    app.add_directive("document-only", DocumentOnly)
    app.add_directive("when", When)
    app.add_directive("face", Face)
    setup_pictures(app)
    app.add_role("row", RowRole())
    app.connect("doctree-read", name_folded_cells)
    app.connect("doctree-resolved", lead_to_rows)
    app.connect("html-page-context", fit_roles)
    # After the theme, which adds its buttons at 501.
    app.connect("html-page-context", offer_portable_notebook, priority=502)
    register_explorables(app)
    setup_terms(app)
    app.connect("doctree-read", add_source_links)
    app.connect("doctree-read", mark_rerun)
    app.connect("doctree-read", number_proofs)
    app.add_transform(DropEmptySections)
    app.add_post_transform(BookReferences)
    app.connect("env-check-consistency", number_as_in_the_book)
    # After the theme, which writes a sheet of style then.
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
