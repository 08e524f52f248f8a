"""A docutils node for any HTML element, where docutils has none or writes verbose HTML."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

#: Elements whose end tag is optional in HTML.
_UNCLOSED = {"tr", "th", "td"}
#: Inline elements, after which a newline would show as a space.
_INLINE = {"a", "span"}


class Markup(nodes.General, nodes.Element):
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
    app.add_node(Markup, html=(_open, _close))
