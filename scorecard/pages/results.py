"""What notebooks saved, on pages: what directives share, and those of figures and tables.

The image of a figure has a light and a dark variant, each also for narrow screens. A table is
written as HTML elements, not docutils' table, so that header cells have a scope, the caption does
not scroll with a wide table, and the scrolling part can be focused by keyboard.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from scorecard.collate import DATA
from scorecard.record import DARK, FORMATS, NARROW
from scorecard.running.notebooks import all_notebooks
from scorecard.text import typeset_powers

#: What a page has in the place of the policy of the site, known once all pages are rendered.
PLACEHOLDER = "CONTENT-SECURITY-POLICY-OF-THIS-SITE"


def read_results(app: Sphinx) -> dict[str, Any]:
    """Return the results that `scorecard.collate` gathered for this build."""
    return _read(Path(app.srcdir) / DATA)


@cache
def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes()))


#: Elements whose end tag is optional in HTML.
_UNCLOSED = {"tr", "th", "td"}
#: Inline elements, after which a newline would show as a space.
_INLINE = {"a", "span"}


class HtmlElement(nodes.General, nodes.Element):
    """An HTML element: its name is the attribute ``element``, its attributes ``attributes``."""


def _open(translator: Any, node: nodes.Element) -> None:
    attributes: dict[str, str] = node.get("attributes", {})
    translator.body.append(translator.starttag(node, node["element"], "", **attributes))


def _close(translator: Any, node: nodes.Element) -> None:
    name = node["element"]
    if name not in _UNCLOSED:
        translator.body.append(f"</{name}>" if name in _INLINE else f"</{name}>\n")


#: Widest screen, in pixels, that gets the narrow variant.
SMALL_SCREEN = 600
#: Link texts of files by suffix, where the text is not the suffix itself.
LINKS = {"csv": "data"}


class BookDirective(SphinxDirective):
    """Base class of the directives that read results."""

    has_content = False

    @property
    def data(self) -> dict[str, Any]:
        """The collated results of the notebooks."""
        return read_results(self.env.app)

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

    def product(self, kind: str) -> dict[str, Any]:
        """Return the description of the figure or table that the directive's argument names."""
        description: dict[str, Any] | None = self.data[f"{kind}s"].get(self.arguments[0])
        if description is None:
            raise self.error(f"no notebook saved a {kind} {self.arguments[0]!r}")
        return description

    def caption(self, product: dict[str, Any]) -> list[nodes.Node]:
        """Parse the caption of a figure or table."""
        return self.markdown(typeset_powers(product["caption"]))

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
        for html in [node for parsed_node in parsed for node in parsed_node.findall(nodes.raw)]:
            html.replace_self(nodes.Text(html.astext()))
        return list(parsed[0].children or parsed) if len(parsed) == 1 else parsed


# Figures and tables


class Picture(nodes.image):
    """The image node: ``uri`` is the light, wide variant, ``others`` the folder of all variants."""


def visit_picture(self: HTML5Translator, node: Picture) -> None:
    """Write one ``picture`` element for each theme; CSS shows that of the current theme."""
    stem = f"{node['others']}{Path(node['uri']).stem}"
    media = f'media="(max-width: {SMALL_SCREEN}px)"'
    alt = escape(node["alt"])
    wide = f"{self.builder.imgpath}/{self.builder.images[node['uri']]}"
    if self.builder.name == "singlehtml":  # for print: one file, in one variant
        self.body.append(f'<img class="dark-light" src="{escape(wide)}" alt="{alt}">')
        raise nodes.SkipNode
    for theme, small, source in (
        ("light", f"{stem}.{NARROW}svg", wide),
        ("dark", f"{stem}.{NARROW}{DARK}svg", f"{stem}.{DARK}svg"),
    ):
        self.body.append(
            f'<picture class="book-{theme}"><source {media} srcset="{escape(small)}">'
            f'<img class="dark-light" src="{escape(source)}" alt="{alt}" loading="lazy"></picture>'
        )
    raise nodes.SkipNode


class FigureDirective(BookDirective):
    """Base class of the directives that show one figure."""

    required_arguments = 1

    def picture(self) -> tuple[dict[str, Any], Picture]:
        """Return the description of the figure, and its image."""
        figure = self.product("figure")
        image = Picture(uri=f"/_site/figures/{figure['id']}.svg", alt=figure["alt"])
        image["others"] = self.up + "figures/"
        return figure, image


class ReproFigure(FigureDirective):
    """A figure with its number, caption, alt text, and links to data, provenance and citation."""

    def run(self) -> list[nodes.Node]:
        """Return the figure node."""
        product, image = self.picture()
        id = product["id"]
        figure = nodes.figure(ids=[id], names=[id], classes=["repro-figure"])
        figure["align"] = "center"
        links = self.product_links("figures", product, [*FORMATS, "csv"])
        figure += [image, nodes.caption("", "", *self.caption(product)), nodes.legend("", links)]
        self.state.document.note_explicit_target(figure)
        return [figure]


class FrontFigure(FigureDirective):
    """A figure of another page, linked to that page."""

    def run(self) -> list[nodes.Node]:
        """Return the linked image and its caption."""
        product, image = self.picture()
        link = self.link("", product["notebook"], product["id"])
        link += image
        caption = nodes.paragraph("", "", *self.caption(product), classes=["book-front"])
        ids, classes = [f"front-{product['id']}"], ["repro-figure"]
        picture = nodes.paragraph("", "", link)
        return [nodes.container("", picture, caption, ids=ids, classes=classes)]


class Gallery(BookDirective):
    """Thumbnails of all figures, each linked to its page."""

    def run(self) -> list[nodes.Node]:
        """Return one card a figure."""
        gallery = nodes.container(classes=["book-gallery"])
        position = {notebook.page: n for n, notebook in enumerate(all_notebooks().values())}
        figures = self.data["figures"].items()
        for id, figure in sorted(figures, key=lambda item: position.get(item[1]["notebook"], -1)):
            card = nodes.container(classes=["book-card"])
            image = nodes.image(uri=f"/_site/thumbnails/{id}.png", alt=figure["alt"])
            link = self.link("", figure["notebook"], id)
            link += image
            card += nodes.paragraph("", "", link)
            card += nodes.paragraph("", "", *self.caption(figure))
            card += nodes.paragraph("", "", nodes.literal("", id))
            gallery += card
        return [gallery]


class ReproTableNode(nodes.General, nodes.Element):
    """A numbered table of the book."""


class TableCaption(nodes.caption):
    """The caption of a table, which begins with its number."""


class ReproTable(BookDirective):
    """A table with its number, caption, and links to data, provenance and citation."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table node."""
        table = self.product("table")
        id = table["id"]
        node = ReproTableNode(ids=[id], names=[id], classes=["repro-table"])
        named = {"aria-labelledby": f"{id}-caption"}
        scroller = HtmlElement(
            element="div", attributes={"tabindex": "0", "role": "region", **named}
        )
        scroller["classes"].append("book-table")
        head = HtmlElement("", self._header(table), element="thead")
        body = HtmlElement("", *(self._row(table, row) for row in table["rows"]), element="tbody")
        scroller += HtmlElement(
            "", head, body, element="table", attributes=named, classes=["table"]
        )
        node += TableCaption("", "", *self.caption(table), ids=[f"{id}-caption"])
        node += [scroller, self.product_links("tables", table, ["csv"])]
        self.state.document.note_explicit_target(node)
        return [node]

    def _header(self, table: dict[str, Any]) -> nodes.Element:
        cells = []
        for label, numeric in zip(table["header"], table["numeric"], strict=True):
            cell = HtmlElement("", *self.markdown(label), element="th", attributes={"scope": "col"})
            cell["classes"] += ["number"] if numeric else []
            cells.append(cell)
        return HtmlElement("", *cells, element="tr")

    def _row(self, table: dict[str, Any], row: list[str]) -> nodes.Element:
        cells = []
        for column, (text, numeric) in enumerate(zip(row, table["numeric"], strict=True)):
            head = column < table["heads"]
            cell = HtmlElement("", nodes.Text(text), element="th" if head else "td")
            cell["attributes"] = {"scope": "row"} if head else {}
            cell["classes"] += ["number"] if numeric and not head else []
            cells.append(cell)
        return HtmlElement("", *cells, element="tr")


def _open_table(translator: Any, node: nodes.Element) -> None:
    translator.body.append(translator.starttag(node, "figure"))


def _close_table(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</figure>\n")


def _open_caption(translator: Any, node: nodes.Element) -> None:
    translator.body.append(translator.starttag(node, "figcaption", ""))
    translator.add_fignumber(node.parent)
    translator.body.append('<span class="caption-text">')


def _close_caption(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</span></figcaption>\n")


def setup(app: Sphinx) -> None:
    """Register the nodes and the directives."""
    app.add_node(HtmlElement, html=(_open, _close))
    app.add_node(Picture, html=(visit_picture, None))
    app.add_directive("repro-figure", ReproFigure)
    app.add_directive("front-figure", FrontFigure)
    app.add_directive("gallery", Gallery)
    app.add_enumerable_node(ReproTableNode, "table", html=(_open_table, _close_table))
    app.add_node(TableCaption, html=(_open_caption, _close_caption))
    app.add_directive("repro-table", ReproTable)
