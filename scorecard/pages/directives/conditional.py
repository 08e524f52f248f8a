"""Conditional content: the directives `document-only` and `when`.

A section all of whose content is omitted is removed with its title.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from scorecard.pages.collated import results

#: Classes of a cell whose code is folded.
FOLDED = {"tag_hide-input", "tag_hide-cell"}


class omitted(nodes.Invisible, nodes.Element):
    """Placeholder for omitted content; `DropEmptySections` removes it."""


class ConditionalDirective(SphinxDirective):
    """Base class of the two directives."""

    has_content = True

    def content_if(self, true: bool) -> list[nodes.Node]:
        """Return the parsed content if a condition is true, else a placeholder."""
        return self.parse_content_to_nodes(allow_section_headings=True) if true else [omitted()]


class DocumentOnly(ConditionalDirective):
    """Content that applies to the documents' own parameters only."""

    def run(self) -> list[nodes.Node]:
        """Return the content, or a placeholder on the page of a rerun with other parameters."""
        return self.content_if(results(self.env.app)["document"])


class When(ConditionalDirective):
    """Content under a condition on the results: ``{when} id`` or ``{when} not id``.

    The id is that of a truth value that a notebook saved.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the content if the condition is true, else a placeholder."""
        *negation, id = self.arguments[0].split()
        if negation not in ([], ["not"]):
            raise self.error(f"when takes an id or 'not' and an id, got {self.arguments[0]!r}")
        value = results(self.env.app)["values"].get(id, {}).get("value")
        if not isinstance(value, bool):
            raise self.error(f"no notebook saved {id!r} as true or false")
        return self.content_if(value is not bool(negation))


class DropEmptySections(SphinxTransform):
    """Remove sections whose whole content is omitted, and all placeholders."""

    default_priority = 800  # after sections get their labels, before the contents are collected

    def apply(self, **_: object) -> None:
        """Visit the sections, the innermost first."""
        sections = [
            s for s in self.document.findall(nodes.section) if s.parent is not self.document
        ]
        for section in reversed(sections):
            if any(section.findall(omitted)) and not any(map(_is_content, section.children)):
                self._remove_labels(section)
                section.replace_self(omitted())
        for mark in list(self.document.findall(omitted)):
            mark.parent.remove(mark)

    def _remove_labels(self, section: nodes.section) -> None:
        """Remove the labels of a section from the document, so that nothing refers to them."""
        for target in list(self.document.findall(nodes.target)):
            if target.get("refid") in section["ids"]:
                target.parent.remove(target)
        for name in {
            name for element in section.findall(nodes.Element) for name in element["names"]
        }:
            self.document.nametypes.pop(name, None)


def _is_content(node: nodes.Node) -> bool:
    """Whether a node counts as visible content; folded code without an output does not."""
    if isinstance(node, nodes.Invisible | nodes.title | nodes.target):
        return False
    if isinstance(node, nodes.system_message):
        return int(node["level"]) > 1  # others are notes, which are never shown
    if isinstance(node, nodes.Element) and FOLDED & set(node["classes"]):
        return any(
            "cell_output" in container["classes"] for container in node.findall(nodes.container)
        )
    return True
