"""Directives of figures and tables: number, caption, links to data, provenance and citation.

The image of a figure has a light and a dark variant, each also for narrow screens. A table is
written as HTML elements, not docutils' table, so that header cells have a scope, the caption does
not scroll with a wide table, and the scrolling part can be focused by keyboard.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from scorecard.pages.results import BookDirective, HtmlElement
from scorecard.record import DARK, FORMATS, NARROW
from scorecard.running.notebooks import all_notebooks

#: Widest screen, in pixels, that gets the narrow variant.
SMALL_SCREEN = 600


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
    app.add_node(Picture, html=(visit_picture, None))
    app.add_directive("repro-figure", ReproFigure)
    app.add_directive("front-figure", FrontFigure)
    app.add_directive("gallery", Gallery)
    app.add_enumerable_node(ReproTableNode, "table", html=(_open_table, _close_table))
    app.add_node(TableCaption, html=(_open_caption, _close_caption))
    app.add_directive("repro-table", ReproTable)
