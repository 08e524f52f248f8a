"""Content that stands only where it is true: `document-only` and `when`.

A section that is left with nothing but its title, because all its content was hidden, goes too.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from analysis.report.pages.collated import results

#: Classes of a cell whose code is folded.
FOLDED = {"tag_hide-input", "tag_hide-cell"}


class hidden(nodes.Invisible, nodes.Element):
    """Placeholder for omitted content; `DropEmptySections` removes it."""


class Bound(SphinxDirective):
    """What the two directives share."""

    has_content = True

    def shown_if(self, true: bool) -> list[nodes.Node]:
        """Return the content, or the mark of its absence."""
        return self.parse_content_to_nodes(allow_section_headings=True) if true else [hidden()]


class DocumentOnly(Bound):
    """Content that is true of the documents' own parameters only."""

    def run(self) -> list[nodes.Node]:
        """Return the content, or nothing on the page of a rerun with other parameters."""
        return self.shown_if(results(self.env.app)["document"])


class When(Bound):
    """Content that is true of some results only: the saved value says of which."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the content where the predicate has the wanted value."""
        *negation, id = self.arguments[0].split()
        if negation not in ([], ["not"]):
            raise self.error(f"when takes an id or 'not' and an id, got {self.arguments[0]!r}")
        value = results(self.env.app)["values"].get(id, {}).get("value")
        if not isinstance(value, bool):
            raise self.error(f"no notebook saved {id!r} as true or false")
        return self.shown_if(value is not bool(negation))


class DropEmptySections(SphinxTransform):
    """Take out sections whose whole content is hidden, from the page and from its contents."""

    default_priority = 800  # sections have their labels, and nobody has listed them yet

    def apply(self, **_: object) -> None:
        """Look through the sections, the innermost first."""
        sections = [
            s for s in self.document.findall(nodes.section) if s.parent is not self.document
        ]
        for section in reversed(sections):
            if any(section.findall(hidden)) and not any(map(_is_content, section.children)):
                self._forget(section)
                section.replace_self(hidden())
        for mark in list(self.document.findall(hidden)):
            mark.parent.remove(mark)

    def _forget(self, section: nodes.section) -> None:
        """Take a section's labels back: nothing may refer to them."""
        for target in list(self.document.findall(nodes.target)):
            if target.get("refid") in section["ids"]:
                target.parent.remove(target)
        for name in {name for part in section.findall(nodes.Element) for name in part["names"]}:
            self.document.nametypes.pop(name, None)


def _is_content(node: nodes.Node) -> bool:
    """Whether a reader finds anything there: folded code without an output is nothing to read."""
    if isinstance(node, nodes.Invisible | nodes.title | nodes.target):
        return False
    if isinstance(node, nodes.system_message):
        return int(node["level"]) > 1  # others are notes, which are never shown
    if isinstance(node, nodes.Element) and FOLDED & set(node["classes"]):
        return any("cell_output" in part["classes"] for part in node.findall(nodes.container))
    return True
