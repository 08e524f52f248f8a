"""The directive ``{face}``: the public names of one part, with their docstrings.

The names are those of the part's ``__init__.pyi``, so that a name which enters or leaves a face
enters or leaves the book.
"""

from __future__ import annotations

from importlib import import_module
from inspect import isclass

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


class Face(SphinxDirective):
    """``{face} analysis.mdp``: a summary of the names, then each with its docstring.

    Names in the directive's content restrict it to these.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Write the directives of autosummary and autodoc for the names, and parse them."""
        name = self.arguments[0]
        module = import_module(name)
        names = " ".join(self.content).split() or sorted(module.__all__, key=str.lower)
        lines = [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}.{public}" for public in names]
        for public in names:
            thing = getattr(module, public)
            kind = "class" if isclass(thing) else "function" if callable(thing) else "data"
            lines += ["", f".. auto{kind}:: {name}.{public}"]
            lines += ["   :members:"] if isclass(thing) else []
        text = ["```{eval-rst}", *lines, "```"]
        holder = nodes.container()
        self.state.nested_parse(StringList(text, self.env.docname), self.content_offset, holder)
        return holder.children
