"""The directive ``{scorecard}``: every printed row of the documents in one table.

The table is large, so its HTML is kept small: cells have no inner elements, optional end tags are
omitted, the colour of a verdict is a class of its cell, and a document is named once, above its
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from scorecard.pages.directives.base import BookDirective
from scorecard.pages.directives.template import computed_text
from scorecard.pages.markup import Markup
from scorecard.prints import KINDS, Printed, documents, printed_rows
from scorecard.saving.claims import BASES
from scorecard.text import escape_prose, typeset_symbols
from scorecard.verdicts import VERDICTS

#: Headings of the columns.
COLUMNS = (
    "Row", "Verdict", "Under, assuming", "Computed", "Printed", "Place", "Kind", "Why", "Basis"
)  # fmt: skip
#: Basis of most rows, which the table leaves out.
USUAL_BASIS = "computed"
#: CSS classes of the verdicts that have a colour.
_SHADES = {
    "agrees": ("matches", "holds", "within the interval"),
    "limited": ("explained", "holds under", "matches under", "not determined"),
    "differs": ("differs", "does not hold"),
}


class Scorecard(BookDirective):
    """All rows, with the choices of the page's filters as data attributes."""

    def run(self) -> list[nodes.Node]:
        """Return the element with the choices, and the table."""
        filters = {
            "verdict": [verdict for verdict in VERDICTS if verdict != "missing"],
            "basis": BASES,
            "kind": KINDS,
        }
        named = {f"data-{name}": "|".join(values) for name, values in filters.items()}
        choices = Markup(element="div", attributes=named | {"hidden": "hidden"})
        choices["ids"].append("scorecard-choices")
        rows = [row for id, row in printed_rows().items() if id in self.data["verdicts"]]
        heads = _line(*([nodes.Text(name)] for name in COLUMNS), cell="th")
        table = Markup("", Markup("", heads, element="thead"), element="table")
        table["classes"] += ["book-scorecard", "table"]
        for document, document_rows in groupby(rows, lambda row: row.document):
            name = Markup("", nodes.Text(documents()[document].short), element="th")
            name["attributes"] = {"colspan": str(len(COLUMNS)), "scope": "rowgroup"}
            title = Markup("", name, element="tr")
            table += Markup("", title, *map(self._row, document_rows), element="tbody")
        return [choices, nodes.container("", table, classes=["book-table"])]

    def _row(self, row: Printed) -> nodes.Element:
        verdict = self.data["verdicts"][row.id]
        basis, computed = verdict["basis"] or "none", computed_text(verdict)
        condition = verdict["condition"] or "; ".join(verdict["assumes"])
        cells: list[Sequence[nodes.Node]] = [
            [_link(row.id, row.id)],
            self.markdown(escape_prose(typeset_symbols(condition))) if condition else [],
            [_link(row.id, computed, tabled=True)] if computed else [],
            self.markdown(escape_prose(row.printed)),
            [nodes.Text(row.place)],
            [nodes.Text(row.kind)],
            self.markdown(escape_prose(typeset_symbols(verdict["reason"])))
            if verdict["reason"]
            else [],
        ]
        line = _line(*cells, *([] if basis == USUAL_BASIS else [[nodes.Text(basis)]]))
        shades = [shade for shade, those in _SHADES.items() if verdict["verdict"] in those]
        cell = Markup("", nodes.Text(verdict["verdict"]), element="td")
        cell["classes"] += [f"verdict-{shade}" for shade in shades]
        line.insert(1, cell)
        return line


def _line(*cells: Sequence[nodes.Node], cell: str = "td") -> nodes.Element:
    return Markup("", *(Markup("", *content, element=cell) for content in cells), element="tr")


def _link(id: str, text: str, **attributes: Any) -> nodes.reference:
    """Return a link to a row; `scorecard.pages.links.rows` sets its target."""
    return nodes.reference("", text, internal=True, row=id, refuri="", **attributes)


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("scorecard", Scorecard)
