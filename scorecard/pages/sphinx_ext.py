"""The Sphinx extension of the book: numbers, and directives for figures and tables.

Roles        ``{number}`254.66 <printed A-r-25466>` ``, a filled number and its source, which
             `scorecard.fill` writes; ``{row}`id` ``, a link to the place that discusses the row.
Directives   ``{repro-figure} id``, ``{front-figure} id`` (a figure of another page, linked),
             ``{repro-table} id``, ``{verdicts}`` (the rows of this page), ``{scorecard}``,
             ``{coverage}``, ``{bases}``, ``{errata}``, ``{gallery}``, ``{build-info}``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from scorecard.pages.explorables import register as register_explorables
from scorecard.pages.references import BookReferences, setup_terms, write_cards, write_index
from scorecard.pages.rerun import (
    add_rerun_notes,
    copy_book_numbers,
    find_rerun_pages,
)
from scorecard.pages.results import HtmlElement, read_results
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


class NumberRole(SphinxRole):
    """A filled number and its source, as `scorecard.fill` writes them.

    The source stays with the number on the page, where scripts find it as ``data-value``.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as an element; the first mention of a row on a page is its anchor."""
        text, _, source = self.text.removesuffix(">").rpartition(" <")
        kind, name, *linked = source.split()
        number = HtmlElement("", nodes.Text(text), element="span")
        number["attributes"] = {"data-value": name}
        is_row = kind in ("printed", "computed", "verdict")
        number["classes"] += [f"book-{kind}" if is_row else "book-value"]
        if is_row and record_mention(self.env, id := name.partition(":")[0]):
            number["ids"] += [f"mention-{id}"]
        if linked:
            number["attributes"] |= {f"data-{kind}": linked[0]}
            decimals = str(len(text.partition(".")[2]))
            number["attributes"] |= (
                {"data-control": linked[1]}
                if kind == "sets"
                else {"data-number": linked[1], "data-decimals": decimals}
            )
        return [number], []


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
    app.add_role("number", NumberRole())
    for extension in EXTENSIONS:
        app.setup_extension(f"scorecard.pages.{extension}")
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
    app.add_post_transform(BookReferences)
    app.connect("env-check-consistency", copy_book_numbers)
    # After the theme, which writes a style sheet at this event.
    app.connect("build-finished", finish_build, priority=900)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
