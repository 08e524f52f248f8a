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

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from scorecard.pages.conditional import (
    DocumentOnly,
    DropEmptySections,
    When,
    add_rerun_notes,
    copy_book_numbers,
    find_rerun_pages,
)
from scorecard.pages.explorables import register as register_explorables
from scorecard.pages.previews import write_cards
from scorecard.pages.references import BookReferences, setup_terms, write_index
from scorecard.pages.results import ResultRole, format_number, read_results
from scorecard.pages.scorecard import RowRole, link_rows, record_mention
from scorecard.pages.source_code import PublicNames, find_deciding_function, write_sources
from scorecard.pages.theme import (
    correct_aria_roles,
    fold_navigations,
    label_folded_cells,
    make_proof_ids_unique,
    prune_site,
    remove_recording_cells,
    replace_download_buttons,
    write_policy,
)

#: Modules of `scorecard.pages` that register their own nodes and directives.
EXTENSIONS = ("results", "figures_and_tables", "scorecard")


class NumberRole(ResultRole):
    """A number by its id, with an optional format after a colon."""

    def result(self) -> nodes.Node:
        """Return the number as text; the first mention of a row on a page is its anchor."""
        text = format_number(read_results(self.env.app), self.name, self.text)
        number = nodes.inline("", text, classes=[f"book-{self.name}"])
        id = self.text.partition(":")[0]
        if self.name != "value" and record_mention(self.env, id):
            number["ids"] = [f"mention-{id}"]
        return number


def finish_build(app: Sphinx, problem: Exception | None) -> None:
    """Post-process a finished build (event ``build-finished``).

    The book gets ``references.json``, the sources of predicates and static files without what no
    page uses. The sites of reruns share complete static files.
    """
    write_cards(app, problem)
    if not find_rerun_pages(app):
        write_index(app, problem)
        prune_site(app, problem)
        if problem is None and app.builder.name == "html":
            verdicts = read_results(app).get("verdicts", {})
            names = {
                find_deciding_function(verdict["page"], id) for id, verdict in verdicts.items()
            }
            write_sources(names, Path(app.outdir))
    fold_navigations(app, problem)
    write_policy(app, problem)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register roles, directives and event handlers."""
    for kind in ("printed", "computed", "value", "verdict"):
        app.add_role(kind, NumberRole())
    for extension in EXTENSIONS:
        app.setup_extension(f"scorecard.pages.{extension}")
    app.add_directive("document-only", DocumentOnly)
    app.add_directive("when", When)
    app.add_directive("public-names", PublicNames)
    app.add_role("row", RowRole())
    app.connect("doctree-read", remove_recording_cells)
    app.connect("doctree-read", label_folded_cells)
    app.connect("doctree-resolved", link_rows)
    app.connect("html-page-context", correct_aria_roles)
    # After the theme, which adds its buttons at 501.
    app.connect("html-page-context", replace_download_buttons, priority=502)
    register_explorables(app)
    setup_terms(app)
    app.connect("doctree-read", add_rerun_notes)
    app.connect("doctree-read", make_proof_ids_unique)
    app.add_transform(DropEmptySections)
    app.add_post_transform(BookReferences)
    app.connect("env-check-consistency", copy_book_numbers)
    # After the theme, which writes a style sheet at this event.
    app.connect("build-finished", finish_build, priority=900)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
