"""Sphinx extension with the directive ``{replications}``: replication reports as sections."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from analysis.report.pages.directives.base import BookDirective
from analysis.report.publishing.archive.replication import as_markdown, reports


class Replications(BookDirective):
    """The replication reports, one section a document."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, each with an explicit target."""
        found: list[nodes.Node] = []
        for report in reports(self.data["verdicts"]):
            name = f"replication-{report.document.key}"
            section = nodes.section(ids=[name], names=[name])
            section += nodes.title("", report.document.title)
            section += self.parse_text_to_nodes(as_markdown(report, fenced=True))
            self.state.document.note_explicit_target(section)
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("replications", Replications)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
