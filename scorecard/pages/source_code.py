"""Source code on the site: functions that decide rows, and the public names of a package.

The function that decides a row is a text file, with the constants that it reads; the row links to
it. On the pages themselves the code would be as long as the text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from inspect import isclass
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from scorecard.paths import ROOT


def source_path(name: str) -> str:
    """Return the path in the site of a function's source, given its name ``module:function``."""
    return f"code/{re.sub(r'[^a-zA-Z0-9_]+', '-', name)}.txt"


def write_sources(names: Iterable[str], site: Path) -> None:
    """Write the source of each named function to its file in a site."""
    for name in filter(None, names):
        path = site / source_path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"# {name.replace(':', ', ')}\n\n{read_predicate(name)}\n", encoding="utf-8"
        )


@cache
def find_deciding_function(page: str, id: str) -> str:
    """Return the function of a page's module that decides a row, as ``module:function``.

    It is the innermost function that names the row in its code, or else the function ``claims``, or
    the last public one that returns a list of `Claim`. Empty if the page has no such function.
    """
    module = f"book.{page.replace('/', '.').replace('-', '_')}"
    if not _source_file(module).exists():
        return ""
    if id in (naming := _index_constants(module)):
        return f"{module}:{naming[id]}"
    makers = [
        f.name for f in _list_functions(module) if f.returns and "Claim" in ast.unparse(f.returns)
    ]
    public = [name for name in makers if not name.startswith("_")]
    chosen = "claims" if "claims" in public else next(reversed(public), "")
    return chosen and f"{module}:{chosen}"


@cache
def _index_constants(module: str) -> dict[str, str]:
    """Return the innermost function of a module that has each text among its constants."""
    innermost: dict[str, str] = {}
    for function in sorted(_list_functions(module), key=_count_lines, reverse=True):
        constants = (node.value for node in ast.walk(function) if isinstance(node, ast.Constant))
        innermost |= {text: function.name for text in constants if isinstance(text, str)}
    return innermost


def _count_lines(function: ast.FunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno


@cache
def _list_functions(module: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(_parse(module)[1]) if isinstance(node, ast.FunctionDef)]


#: Packages whose constants are shown with a predicate that reads them.
_OURS = ("analysis.", "book.")


@cache
def read_predicate(name: str) -> str:
    """Return the source of a function, preceded by the constants of the package that it reads.

    `name`: module and function, such as ``book.robots.robots_open:claims``.
    Raises KeyError if the module has no such function.
    """
    module, _, function = name.partition(":")
    text, _ = _parse(module)
    definition = {node.name: node for node in _list_functions(module)}[function]
    names = [n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and n.id.isupper()]
    constants = filter(
        None, (_read_constant(module, constant) for constant in dict.fromkeys(names))
    )
    return "\n".join([*constants, "", *_cut_lines(text, definition)]).strip("\n")


def _read_constant(module: str, name: str) -> str:
    """Return the source of a constant's assignment, in the module or where that imports it from."""
    text, tree = _parse(module)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            if any(n.id == name and isinstance(n.ctx, ast.Store) for n in names):
                return "\n".join(_cut_lines(text, node))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OURS):
            imported = {alias.asname or alias.name: alias.name for alias in node.names}
            if name in imported:
                return _read_constant(str(node.module), imported[name])
    return ""


def _cut_lines(text: str, node: ast.stmt) -> list[str]:
    return text.splitlines()[node.lineno - 1 : node.end_lineno]


@cache
def _parse(module: str) -> tuple[str, ast.Module]:
    text = _source_file(module).read_text(encoding="utf-8")
    return text, ast.parse(text)


def _source_file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


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
