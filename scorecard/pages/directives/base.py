"""Base class of the directives that read results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from scorecard.pages.collated import results
from scorecard.text import typeset_powers

#: Link texts of files by suffix, where the text is not the suffix itself.
LINKS = {"csv": "data"}


class BookDirective(SphinxDirective):
    """Base class of the directives that read results."""

    has_content = False

    @property
    def data(self) -> dict[str, Any]:
        """The collated results of the notebooks."""
        return results(self.env.app)

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
