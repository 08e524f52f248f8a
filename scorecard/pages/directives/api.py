"""The directive ``{public-names}``: the public names of one package, with their docstrings.

The names are those of the package's ``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from inspect import isclass

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


class PublicNames(SphinxDirective):
    """``{public-names} analysis.mdp``: a summary table, then each name with its docstring.

    The directive's content, if any, lists the names to include.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the parsed directives of autosummary and autodoc for the names."""
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
