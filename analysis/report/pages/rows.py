"""Ways to a printed row: a link to where a page argues its verdict, and entries for the search.

A page speaks of a row where it first quotes its print, its computed value or its verdict, or in
the figure that redraws it; else the row of the page's table is all that there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from analysis.published import Printed
from analysis.report.pages.markup import Markup
from analysis.report.scorecard import NUMERIC

_TOLD = "book_told"


def mark_told(env: BuildEnvironment, id: str) -> bool:
    """Record that this page mentions a row; True on its first mention, which gets the anchor."""
    told: dict[str, set[str]] = vars(env).setdefault(_TOLD, {})
    pages = told.setdefault(id, set())
    is_first = env.docname not in pages
    pages.add(env.docname)
    return is_first


class RowRole(SphinxRole):
    """``{row}`id` ``: the row's name, linked to the place that argues its verdict."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link; where it leads is known once all pages are read."""
        return [nodes.reference("", self.text, internal=True, row=self.text, refuri="")], []


def resolve_rows(
    app: Sphinx,
    doctree: nodes.document,
    docname: str,
    rows: Mapping[str, Printed],
    verdicts: Mapping[str, Any],
) -> None:
    """Let the links to rows lead to the place that argues; some, to the row in its page's table.

    Such a link is words where the row's name leads there too.
    """
    told: dict[str, set[str]] = vars(app.env).get(_TOLD, {})
    for link in [link for link in doctree.findall(nodes.reference) if "row" in link]:
        id = link["row"]
        page, computed = verdicts[id]["page"], verdicts[id]["computed"]
        if page not in app.env.found_docs:
            page = page.rpartition("/")[2]  # a reader's own run has its page at the top
        if page not in app.env.found_docs:
            link.replace_self(link.children)
            continue
        anchor = f"told-{id}" if page in told.get(id, ()) else f"row-{id}"
        if rows[id].kind == "figure" and computed:
            anchor = computed
        if "tabled" in link:
            if anchor == f"row-{id}":
                link.replace_self(link.children)
                continue
            anchor = f"row-{id}"
        uri = app.builder.get_relative_uri(docname, page)
        address = {"href": uri if "#" in uri else f"{uri}#{anchor}"}
        link.replace_self(Markup("", *link.children, element="a", attributes=address))


def add_search_entries(
    doctree: nodes.document, docname: str, rows: Mapping[str, Printed], verdicts: Mapping[str, Any]
) -> None:
    """Let the search find a row by its name, and a number by its print, on the page that has it."""
    for id, verdict in verdicts.items():
        if verdict["page"] == docname:
            row = rows[id]
            words = [id, row.printed] if row.kind in NUMERIC else [id]
            entries = [("single", word, f"row-{id}", "main", None) for word in words]
            doctree += addnodes.index(entries=entries)
