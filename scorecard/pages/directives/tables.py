"""The directive ``{repro-table} id``: a table with its number, caption, data and citation.

It is written as HTML elements, not docutils' table, so that header cells have a scope, the caption
does not scroll with a wide table, and the scrolling part can be focused by keyboard.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from scorecard.pages.directives.base import BookDirective
from scorecard.pages.markup import Markup


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
        scroller = Markup(element="div", attributes={"tabindex": "0", "role": "region", **named})
        scroller["classes"].append("book-table")
        head = Markup("", self._header(table), element="thead")
        body = Markup("", *(self._row(table, row) for row in table["rows"]), element="tbody")
        scroller += Markup("", head, body, element="table", attributes=named, classes=["table"])
        node += TableCaption("", "", *self.caption(table), ids=[f"{id}-caption"])
        node += [scroller, self.product_links("tables", table, ["csv"])]
        self.state.document.note_explicit_target(node)
        return [node]

    def _header(self, table: dict[str, Any]) -> nodes.Element:
        cells = []
        for label, numeric in zip(table["header"], table["numeric"], strict=True):
            cell = Markup("", *self.markdown(label), element="th", attributes={"scope": "col"})
            cell["classes"] += ["number"] if numeric else []
            cells.append(cell)
        return Markup("", *cells, element="tr")

    def _row(self, table: dict[str, Any], row: list[str]) -> nodes.Element:
        cells = []
        for column, (text, numeric) in enumerate(zip(row, table["numeric"], strict=True)):
            head = column < table["heads"]
            cell = Markup("", nodes.Text(text), element="th" if head else "td")
            cell["attributes"] = {"scope": "row"} if head else {}
            cell["classes"] += ["number"] if numeric and not head else []
            cells.append(cell)
        return Markup("", *cells, element="tr")


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
    """Register the directive and its nodes."""
    app.add_enumerable_node(ReproTableNode, "table", html=(_open_table, _close_table))
    app.add_node(TableCaption, html=(_open_caption, _close_caption))
    app.add_directive("repro-table", ReproTable)
