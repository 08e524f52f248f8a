"""What directives share: the collated results, links to them, and HTML elements."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from scorecard.collate import DATA
from scorecard.text import typeset_powers

#: What a page has in the place of the policy of the site, known once all pages are rendered.
PLACEHOLDER = "CONTENT-SECURITY-POLICY-OF-THIS-SITE"


def read_results(app: Sphinx) -> dict[str, Any]:
    """Return the results that `scorecard.collate` gathered for this build."""
    return _read(Path(app.srcdir) / DATA)


@cache
def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes()))


#: Elements whose end tag is optional in HTML.
_UNCLOSED = {"tr", "th", "td"}
#: Inline elements, after which a newline would show as a space.
_INLINE = {"a", "span"}


class HtmlElement(nodes.General, nodes.Element):
    """An HTML element: its name is the attribute ``element``, its attributes ``attributes``."""


def _open(translator: Any, node: nodes.Element) -> None:
    attributes: dict[str, str] = node.get("attributes", {})
    translator.body.append(translator.starttag(node, node["element"], "", **attributes))


def _close(translator: Any, node: nodes.Element) -> None:
    name = node["element"]
    if name not in _UNCLOSED:
        translator.body.append(f"</{name}>" if name in _INLINE else f"</{name}>\n")


def setup(app: Sphinx) -> None:
    """Register the node."""
    app.add_node(HtmlElement, html=(_open, _close))


#: Link texts of files by suffix, where the text is not the suffix itself.
LINKS = {"csv": "data"}


class BookDirective(SphinxDirective):
    """Base class of the directives that read results."""

    has_content = False

    @property
    def data(self) -> dict[str, Any]:
        """The collated results of the notebooks."""
        return read_results(self.env.app)

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
