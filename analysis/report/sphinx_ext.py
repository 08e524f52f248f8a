"""What pages can say of the results: roles for numbers, directives for figures and tables.

Roles        ``{printed}`id` `` what a document prints; ``{computed}`id:.2f` `` what the book
             computes for that row; ``{value}`id:.2f` `` a number of its own; ``{verdict}`id` ``.
Directives   ``{repro-figure} id``, ``{verdicts}`` (the rows of this page), ``{scorecard}``,
             ``{coverage}``, ``{errata}``, ``{gallery}``, ``{build-info}``, and ``{document-only}``,
             whose content stands only where the documents' own parameters were used.
"""

from __future__ import annotations

import json
import platform
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from analysis.published import documents, printed_rows
from analysis.report.collate import DATA
from analysis.report.figures import FORMATS
from analysis.report.notebooks import find_notebook

Cell = str | nodes.Node | Sequence[nodes.Node]


class UnknownId(ValueError):
    """A page names a figure, a row or a number that no notebook left behind."""


def results(app: Sphinx) -> dict[str, Any]:
    """Return what the notebooks left behind, as `analysis.report.collate` wrote it."""
    return _read(Path(app.srcdir) / DATA)


@cache
def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


class NumberRole(SphinxRole):
    """A number by its id, with an optional format behind a colon."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as text, or say on the page's log that there is none."""
        id, _, style = self.text.partition(":")
        try:
            return [nodes.inline("", self.look_up(id, style), classes=[f"book-{self.kind}"])], []
        except (KeyError, ValueError, TypeError) as error:
            message = self.inliner.reporter.error(f"{self.kind} {self.text!r}: {error!r}")
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]

    def look_up(self, id: str, style: str) -> str:
        """Return what stands under `id`, formatted."""
        data = results(self.env.app)
        if self.kind == "printed":
            return printed_rows()[id].printed
        if self.kind == "verdict":
            return str(data["verdicts"][id]["verdict"])
        value = data["records" if self.kind == "computed" else "values"][id]["value"]
        if isinstance(value, list):
            return "[" + ", ".join(format(entry, style) for entry in value) + "]"
        return format(value, style)


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

    def file_link(self, text: str, path: str) -> nodes.Node:
        """Return a link to a file that lies beside the pages."""
        up = (
            "" if self.env.app.builder.name == "singlehtml" else "../" * self.env.docname.count("/")
        )
        return nodes.reference("", text, refuri=up + path, classes=["book-file"])

    def markdown(self, text: str) -> list[nodes.Node]:
        """Parse a line of Markdown in place."""
        parsed = self.parse_text_to_nodes(text)
        return list(parsed[0].children) if len(parsed) == 1 else parsed


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
        image = nodes.image(uri=f"/_site/figures/{id}.svg", alt=description["alt"], width="100%")
        caption = nodes.caption("", "", *self.markdown(description["caption"]))
        figure += [image, caption, nodes.legend("", self._links(id, description))]
        self.state.document.note_explicit_target(figure)
        return [figure]

    def _links(self, id: str, description: dict[str, Any]) -> nodes.Node:
        name = Path(description["notebook"]).name
        links: list[nodes.Node] = [nodes.reference("", "permalink", refuri=f"#{id}")]
        links += [self.file_link(suffix.upper(), f"figures/{id}.{suffix}") for suffix in FORMATS]
        links += [
            self.file_link("data", f"figures/{id}.csv"),
            self.file_link("notebook", f"notebooks/{name}.ipynb"),
            self.file_link("provenance", f"figures/{id}.json"),
            self.file_link("cite", f"figures/{id}.bib"),
        ]
        line = nodes.paragraph(classes=["repro-links"])
        for number, node in enumerate(links):
            line += [nodes.Text(" · "), node] if number else [node]
        return line


class Verdicts(BookDirective):
    """The rows that this page speaks of, each with print, computed value and verdict."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        page = Path(self.env.docname).name  # a rerun's page stands in no part of the book
        rows: list[list[Cell]] = []
        for id, verdict in self.data["verdicts"].items():
            if Path(verdict["page"]).name == page:
                row = printed_rows()[id]
                where = f"{documents()[row.document].short}, {row.place}"
                name = nodes.inline("", where, ids=[f"row-{id}"])
                name["classes"].append("book-row")
                said = [nodes.paragraph("", "", _badge(verdict)), self.basis(verdict)]
                rows.append([name, row.printed, _computed(verdict), said, _why(verdict)])
        if not rows:
            text = (
                "Verdicts are about the documents' own parameters; this page was run with others."
            )
            return [nodes.paragraph("", text)]
        header = ["Where", "Printed", "Computed", "Verdict, basis", "Why"]
        # Folded away, but a link to one of its rows unfolds it.
        count = f"{len(rows)} rows" if len(rows) > 1 else "row"
        opening = f"<details class='book-rows'><summary>The {count} of this page</summary>"
        return [
            nodes.raw("", opening, format="html"),
            _table(header, rows, "book-verdicts"),
            nodes.raw("", "</details>", format="html"),
        ]

    def basis(self, verdict: dict[str, Any]) -> nodes.paragraph:
        """Return what a verdict rests on, with the number of its proof."""
        proof = verdict["proof"]
        words = self.markdown(f"{{prf:ref}}`{proof}`") if proof else []
        text = "proved: " if proof else verdict["basis"]
        return nodes.paragraph("", "", nodes.Text(text), *words, classes=["book-basis"])


class Scorecard(BookDirective):
    """Every row of every document that has entered, with its verdict; filtered by a script."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows: list[list[Cell]] = []
        for id, row in printed_rows().items():
            verdict = self.data["verdicts"].get(id)
            if verdict:
                title = documents()[row.document].short
                computed = self.link(
                    _computed(verdict) or "shown here", verdict["page"], f"row-{id}"
                )
                where: list[Cell] = [id, title, row.place, row.kind, row.printed, computed]
                assumed = "; ".join(verdict["assumes"])
                rows.append([*where, _badge(verdict), verdict["basis"], assumed])
        header = ["Row", "Document", "Place", "Kind", "Printed", "Computed", "Verdict"]
        header += ["Basis", "Assumes"]
        return [_table(header, rows, "book-scorecard")]


class Coverage(BookDirective):
    """How many rows each document has, and their verdicts; rows still to come are counted."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows: list[list[Cell]] = []
        for key, document in documents().items():
            mine = [row.id for row in printed_rows().values() if row.document == key]
            counts = Counter(
                self.data["verdicts"][id]["verdict"] for id in mine if id in self.data["verdicts"]
            )
            said = [f"{number} {verdict}" for verdict, number in counts.most_common()]
            to_come = document.rows - counts.total()
            said += [f"{to_come} still to come"] * bool(to_come)
            judged = sum(
                self.data["verdicts"][id]["basis"] == "judged"
                for id in mine
                if id in self.data["verdicts"]
            )
            rows.append([document.title, str(document.rows), ", ".join(said), str(judged)])
        header = ["Document", "Rows", "Verdicts", "Judged by a person"]
        return [_table(header, rows, "book-coverage")]


class Errata(BookDirective):
    """The corrections, each with a link to its evidence."""

    def run(self) -> list[nodes.Node]:
        """Return one table a document."""
        found: list[nodes.Node] = []
        for key, document in documents().items():
            rows: list[list[Cell]] = []
            for erratum in self.data["errata"]:
                if erratum["document"] == key:
                    anchor = f"row-{erratum['record']}"
                    evidence = self.link(erratum["record"], erratum["page"], anchor)
                    verdict = self.data["verdicts"][erratum["record"]]["verdict"]
                    rows.append(
                        [
                            erratum["place"],
                            self.markdown(erratum["printed"]),
                            self.markdown(erratum["corrected"]),
                            [evidence, nodes.Text(f" ({verdict})")],
                        ]
                    )
            if rows:
                found.append(nodes.rubric("", document.title))
                header = ["Where", "Printed", "Should be", "Evidence"]
                found.append(_table(header, rows, "book-errata"))
        return found


class Gallery(BookDirective):
    """All figures, small, each linked to its place."""

    def run(self) -> list[nodes.Node]:
        """Return one card a figure."""
        gallery = nodes.container(classes=["book-gallery"])
        for id, figure in self.data["figures"].items():
            card = nodes.container(classes=["book-card"])
            image = nodes.image(uri=f"/_site/figures/{id}.svg", alt=figure["alt"])
            link = self.link("", figure["notebook"], id)
            link += image
            card += nodes.paragraph("", "", link)
            caption = nodes.paragraph("", "", *self.markdown(figure["caption"]))
            card += [caption, nodes.paragraph("", "", nodes.literal("", id))]
            gallery += card
        return [gallery]


class BuildInfo(BookDirective):
    """What this build was made with: versions, commit, and the time of each notebook."""

    def run(self) -> list[nodes.Node]:
        """Return two tables."""
        packages = ("numpy", "scipy", "numba", "matplotlib", "papermill", "jupyter-book", "sphinx")
        facts: list[list[Cell]] = [
            ["commit", self.data["commit"]],
            ["profile", self.data["profile"]],
        ]
        facts.append(["python", platform.python_version()])
        facts += [[name, version(name)] for name in packages]
        times: list[list[Cell]] = [
            [
                self.link(page, page),
                f"{run['seconds']:.1f}",
                json.dumps(run["given"]) if run["given"] else "nothing",
            ]
            for page, run in self.data["runs"].items()
        ]
        return [
            _table(["What", "Which"], facts, "book-facts"),
            _table(["Notebook", "Seconds", "Set by the profile"], times, "book-times"),
        ]


class DocumentOnly(SphinxDirective):
    """Content that is true of the documents' own parameters only."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the content, or nothing on the page of a rerun with other parameters."""
        if not results(self.env.app)["document"]:
            return []
        return self.parse_content_to_nodes(allow_section_headings=True)


def mark_rerun(app: Sphinx, doctree: nodes.document) -> None:
    """Say at the top of a rerun's page whose parameters it shows; warn of the quick profile."""
    data = results(app)
    sections = list(doctree.findall(nodes.section))
    if not sections:
        return
    if not data["document"] and app.env.docname in {Path(page).name for page in data["runs"]}:
        (run,) = data["runs"].values()
        said = ", ".join(f"{key} = {value}" for key, value in run["given"].items())
        text = (
            f"A rerun with parameters of your own: {said}. The book's page has the documents' own."
        )
    elif data["profile"] == "quick":
        text = "Built with the quick profile, for tests: its verdicts are not the book's."
    else:
        return
    sections[0].insert(1, nodes.note("", nodes.paragraph("", text), classes=["book-rerun"]))


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
    name = Path(page).name
    line = nodes.paragraph(classes=["book-rerun-hint"])
    line += [nodes.Text("Rerun this page: "), nodes.literal("", f'make run NB={name} P="…"')]
    phrases = find_notebook(name).describe()
    if phrases:
        line += nodes.Text(". Parameters: " + "; ".join(phrases) + ".")
    section = next(iter(doctree.findall(nodes.section)))
    section.insert(1, line)


def _computed(verdict: dict[str, Any]) -> str:
    """Return the computed value, and its interval with as many decimals."""
    computed: str = verdict["computed"]
    if not verdict["interval"]:
        return computed
    decimals = re.search(r"\.(\d+)", computed)
    style = ".4g" if "e" in computed else f".{len(decimals[1]) if decimals else 0}f"
    low, high = (format(end, style) for end in verdict["interval"])
    return f"{computed} ({low} to {high})"


def _why(verdict: dict[str, Any]) -> str:
    """Return the reason of a verdict, and the choices that it rests on."""
    assumed = "Assumes: " + "; ".join(verdict["assumes"]) if verdict["assumes"] else ""
    return ". ".join(part.rstrip(". ") for part in (verdict["reason"], assumed) if part)


def _badge(verdict: dict[str, Any]) -> nodes.Node:
    name = verdict["verdict"]
    return nodes.inline("", name, classes=["verdict", "verdict-" + name.replace(" ", "-")])


def _table(header: Sequence[str], rows: Sequence[Sequence[Cell]], name: str) -> nodes.Node:
    group = nodes.tgroup(cols=len(header))
    group += [nodes.colspec(colwidth=1) for _ in header]
    group += nodes.thead("", _row(header))
    group += nodes.tbody("", *[_row(row) for row in rows])
    return nodes.container("", nodes.table("", group, classes=[name]), classes=["book-table"])


def _row(cells: Sequence[Cell]) -> nodes.Node:
    row = nodes.row()
    for cell in cells:
        if isinstance(cell, str):
            content: list[nodes.Node] = [nodes.Text(cell)]
        else:
            content = [cell] if isinstance(cell, nodes.Node) else list(cell)
        inline = all(isinstance(node, nodes.Inline | nodes.Text) for node in content)
        row += nodes.entry("", *([nodes.paragraph("", "", *content)] if inline else content))
    return row


def setup(app: Sphinx) -> dict[str, Any]:
    """Register roles and directives; jupyter-book itself adds what lies in ``_static``."""
    for kind in ("printed", "computed", "value", "verdict"):
        app.add_role(kind, NumberRole(kind))
    app.add_directive("repro-figure", ReproFigure)
    app.add_directive("verdicts", Verdicts)
    app.add_directive("scorecard", Scorecard)
    app.add_directive("coverage", Coverage)
    app.add_directive("errata", Errata)
    app.add_directive("gallery", Gallery)
    app.add_directive("build-info", BuildInfo)
    app.add_directive("document-only", DocumentOnly)
    app.connect("doctree-read", add_source_links)
    app.connect("doctree-read", mark_rerun)
    app.connect("doctree-read", number_proofs)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
