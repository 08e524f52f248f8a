"""The directive ``{repro-table} id``: a table with its number, caption, data and citation.

It is written as HTML elements, not docutils' table, so that header cells have a scope, the caption
does not scroll with a wide table, and the scrolling part can be focused by keyboard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from analysis.report.pages.directives.base import BookDirective
from analysis.report.pages.markup import Markup
from analysis.report.text import with_powers


class ReproTableNode(nodes.General, nodes.Element):
    """A numbered table of the book."""


class TableCaption(nodes.caption):
    """The caption of a table, which begins with its number."""


class ReproTable(BookDirective):
    """A table with its number, caption, and links to data, provenance and citation."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table node."""
        id = self.arguments[0]
        if id not in self.data["tables"]:
            raise self.error(f"no notebook saved a table {id!r}")
        table = self.data["tables"][id]
        shown = ReproTableNode(ids=[id], names=[id], classes=["repro-table"])
        named = {"aria-labelledby": f"{id}-caption"}
        scroller = Markup(element="div", attributes={"tabindex": "0", "role": "region", **named})
        scroller["classes"].append("book-table")
        grid = Markup(element="table", attributes=named, classes=["table"])
        body = Markup(element="tbody")
        body += [self._row(table, row) for row in table["rows"]]
        grid += [Markup("", self._header(table), element="thead"), body]
        scroller += grid
        caption = self.markdown(with_powers(table["caption"]))
        shown += TableCaption("", "", *caption, ids=[f"{id}-caption"])
        shown += [scroller, self.product_links("tables", table, ["csv"])]
        self.state.document.note_explicit_target(shown)
        return [shown]

    def _header(self, table: dict[str, Any]) -> nodes.Element:
        cells = [
            Markup("", *self.markdown(label), element="th", attributes={"scope": "col"})
            for label in table["header"]
        ]
        for cell, numeric in zip(cells, table["numeric"], strict=True):
            cell["classes"] += ["number"] if numeric else []
        return Markup("", *cells, element="tr")

    def _row(self, table: dict[str, Any], row: list[str]) -> nodes.Element:
        return Markup("", *self._cells(table, row), element="tr")

    def _cells(self, table: dict[str, Any], row: list[str]) -> Iterator[nodes.Element]:
        for place, (text, numeric) in enumerate(zip(row, table["numeric"], strict=True)):
            head = place < table["heads"]
            cell = Markup("", nodes.Text(text), element="th" if head else "td")
            cell["attributes"] = {"scope": "row"} if head else {}
            cell["classes"] += ["number"] if numeric and not head else []
            yield cell


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
