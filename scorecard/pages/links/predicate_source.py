"""Source code of the predicates that decide rows, as text files of the site.

A file holds one function of a page and the constants that it reads; the rows that it decides link
to it. On the pages themselves the code would be as long as the text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

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
            f"# {name.replace(':', ', ')}\n\n{predicate_source(name)}\n", encoding="utf-8"
        )


@cache
def deciding_function(page: str, id: str) -> str:
    """Return the function of a page's module that decides a row, as ``module:function``.

    It is the innermost function that names the row in its code, or else the function ``claims``, or
    the last public one that returns a list of `Claim`. Empty if the page has no such function.
    """
    module = f"book.{page.replace('/', '.').replace('-', '_')}"
    if not _source_file(module).exists():
        return ""
    if id in (naming := _functions_by_constant(module)):
        return f"{module}:{naming[id]}"
    makers = [f.name for f in _functions(module) if f.returns and "Claim" in ast.unparse(f.returns)]
    public = [name for name in makers if not name.startswith("_")]
    chosen = "claims" if "claims" in public else next(reversed(public), "")
    return chosen and f"{module}:{chosen}"


@cache
def _functions_by_constant(module: str) -> dict[str, str]:
    """Return the innermost function of a module that has each text among its constants."""
    innermost: dict[str, str] = {}
    for function in sorted(_functions(module), key=_count_lines, reverse=True):
        constants = (node.value for node in ast.walk(function) if isinstance(node, ast.Constant))
        innermost |= {text: function.name for text in constants if isinstance(text, str)}
    return innermost


def _count_lines(function: ast.FunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno


@cache
def _functions(module: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(_parsed(module)[1]) if isinstance(node, ast.FunctionDef)]


#: Packages whose constants are shown with a predicate that reads them.
_OURS = ("analysis.", "book.")


@cache
def predicate_source(name: str) -> str:
    """Return the source of a function, preceded by the constants of the package that it reads.

    `name`: module and function, such as ``book.robots.robots_open:claims``.
    Raises KeyError if the module has no such function.
    """
    module, _, function = name.partition(":")
    text, _ = _parsed(module)
    definition = {node.name: node for node in _functions(module)}[function]
    names = [n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and n.id.isupper()]
    constants = filter(None, (_constant(module, constant) for constant in dict.fromkeys(names)))
    return "\n".join([*constants, "", *_lines(text, definition)]).strip("\n")


def _constant(module: str, name: str) -> str:
    """Return the source of a constant's assignment, in the module or where that imports it from."""
    text, tree = _parsed(module)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            if any(n.id == name and isinstance(n.ctx, ast.Store) for n in names):
                return "\n".join(_lines(text, node))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OURS):
            imported = {alias.asname or alias.name: alias.name for alias in node.names}
            if name in imported:
                return _constant(str(node.module), imported[name])
    return ""


def _lines(text: str, node: ast.stmt) -> list[str]:
    return text.splitlines()[node.lineno - 1 : node.end_lineno]


@cache
def _parsed(module: str) -> tuple[str, ast.Module]:
    text = _source_file(module).read_text(encoding="utf-8")
    return text, ast.parse(text)


def _source_file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
