"""Links to printed rows, and entries of the search index for them.

A link to a row leads to the place where the page first quotes the row's printed number, computed
value or verdict; for a figure, to the figure that redraws it; else to the row in the page's table.
"""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from scorecard.pages.collated import results
from scorecard.pages.markup import Markup
from scorecard.prints import printed_rows
from scorecard.verdicts import NUMERIC

_MENTIONS = "book_row_mentions"


def record_mention(env: BuildEnvironment, id: str) -> bool:
    """Record that this page mentions a row; True on its first mention, which gets the anchor."""
    mentions: dict[str, set[str]] = vars(env).setdefault(_MENTIONS, {})
    pages = mentions.setdefault(id, set())
    is_first = env.docname not in pages
    pages.add(env.docname)
    return is_first


class RowRole(SphinxRole):
    """``{row}`id` ``: the row's id, linked to the place that discusses it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link without target; `link_rows` sets it once all pages are read."""
        return [nodes.reference("", self.text, internal=True, row=self.text, refuri="")], []


def link_rows(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Set the targets of the links to rows on a page, and add its rows to the search index.

    A link with the attribute ``tabled`` leads to the row in its page's table; it becomes plain text
    if that is where the row's other link leads too. The index gets the ids of the page's rows, and
    their printed numbers.
    """
    rows, verdicts = printed_rows(), results(app).get("verdicts", {})
    mentions: dict[str, set[str]] = vars(app.env).get(_MENTIONS, {})
    for link in [link for link in doctree.findall(nodes.reference) if "row" in link]:
        id = link["row"]
        page, computed = verdicts[id]["page"], verdicts[id]["computed"]
        if page not in app.env.found_docs:
            page = page.rpartition("/")[2]  # a reader's own run has its page at the top
        if page not in app.env.found_docs:
            link.replace_self(link.children)
            continue
        anchor = f"mention-{id}" if page in mentions.get(id, ()) else f"row-{id}"
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
    for id, verdict in verdicts.items():
        if verdict["page"] == docname:
            row = rows[id]
            keywords = [id, row.printed] if row.kind in NUMERIC else [id]
            entries = [("single", word, f"row-{id}", "main", None) for word in keywords]
            doctree += addnodes.index(entries=entries)
