"""Fingerprints of code: which modules a result depends on, and one hash of them.

The cache of notebooks, the cache of compiled kernels and the certificates of recorded experiments
all use the same answer, which comes from the import graph: imports are followed module by module,
including those inside functions and the names that a package loads lazily from its stub.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import grimp

#: The packages of the repository; where the library is installed alone, the others are missing.
PACKAGES = ("analysis", "scorecard", "book")


def fingerprint(names: Iterable[str], *, ignore_docstrings: bool = False) -> str:
    """Return a hash of all modules that some names are made from.

    Parameters
    ----------
    names : iterable of str
        Dotted names of modules, packages or public names below one of `PACKAGES`.
    ignore_docstrings : bool
        Whether a change of docstrings, comments or empty lines leaves the hash as it is.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    ValueError
        If a name is no module and no name of one: a misspelt name would certify less than it says.

    Examples
    --------
    >>> fingerprint(["analysis.checks"]) == fingerprint(["analysis.results"])
    False
    """
    digest = hashlib.sha256()
    for module in sorted(modules_behind(names)):
        digest.update(module.encode() + _hash(source_file(module), ignore_docstrings))
    return digest.hexdigest()


def modules_behind(names: Iterable[str]) -> set[str]:
    """Return the modules that define dotted names, and all that these import, recursively.

    The package of a module counts, since Python runs it first. If a whole package is imported, so
    do the modules of all its public names; of a single public name only the module that defines it.
    """
    modules: set[str] = set()
    waiting = {module for name in names for module in _defining_modules(name)}
    while waiting:
        module = waiting.pop()
        if module not in modules:
            modules.add(module)
            for imported in _graph().find_modules_directly_imported_by(module):
                waiting |= _defining_modules(imported)
            waiting |= {module.rpartition(".")[0]} - {""}
    return modules


def source_file(module: str) -> Path:
    """Return the file of a module, or the ``__init__.py`` of a package."""
    base = _root().joinpath(*module.split("."))
    package = base / "__init__.py"
    return package if package.exists() else base.with_suffix(".py")


def statements(source: str) -> str:
    """Return the source of a module without docstrings, empty lines and comment lines."""
    lines: list[str] = source.splitlines()
    docstrings: list[ast.stmt] = []
    inside: set[int] = set()  # indices of lines that begin inside a string
    tree = ast.parse(source)
    for node in ast.walk(tree):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docstrings.append(node.body[0])
        if isinstance(node, ast.Constant | ast.JoinedStr):
            inside |= set(range(node.lineno, node.end_lineno or node.lineno))
    for docstring in docstrings:
        first, end = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
        # Offsets of the tree are in bytes.
        before = lines[first].encode()[: docstring.col_offset].decode()
        after = lines[end].encode()[docstring.end_col_offset :].decode()
        lines[first : end + 1] = [before + after] + [""] * (end - first)
        inside -= set(range(first, end + 1))
    return "".join(
        f"{line}\n"
        for number, line in enumerate(lines)
        if number in inside or (line.strip() and line.strip()[0] != "#")
    )


def forget() -> None:
    """Forget what was read of the package, so that the next fingerprint reads its files again."""
    for cached in (_root, _graph, _own_names, _reexports, _hash):
        cached.cache_clear()


@cache
def _root() -> Path:
    """Return the folder that holds the library's package, and in a checkout the others."""
    spec = find_spec(PACKAGES[0])
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parents[1]


@cache
def _graph() -> grimp.ImportGraph:
    # A package of the same name that lies elsewhere is not ours.
    specs = {name: find_spec(name) for name in PACKAGES}
    beside = [
        name
        for name, spec in specs.items()
        if spec is not None and spec.origin == str(_root() / name / "__init__.py")
    ]
    return grimp.build_graph(*beside, cache_dir=None, exclude_type_checking_imports=True)


@cache
def _hash(path: Path, ignore_docstrings: bool) -> bytes:
    content = path.read_bytes()
    return hashlib.sha256(
        statements(content.decode()).encode() if ignore_docstrings else content
    ).digest()


def _defining_modules(name: str) -> set[str]:
    """Return the modules that define a dotted name; for a package, of all its public names."""
    if name in _graph().modules:
        return {name, *_reexports(name).values()}
    parent, _, attribute = name.rpartition(".")
    if parent in _graph().modules:
        if attribute in _reexports(parent):
            return {parent, _reexports(parent)[attribute]}
        if attribute in _own_names(parent):
            return {parent}
    raise ValueError(
        f"names must be modules or public names below {', '.join(PACKAGES)}, got {name!r}"
    )


@cache
def _own_names(module: str) -> set[str]:
    """Return the names that a module binds or reads anywhere, and those that it imports."""
    tree = ast.parse(source_file(module).read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names


@cache
def _reexports(package: str) -> dict[str, str]:
    """Return the modules that define a package's public names, from its stub or its imports."""
    path = source_file(package)
    if path.name != "__init__.py":
        return {}
    stub = path.with_suffix(".pyi")
    text = (stub if stub.exists() else path).read_text(encoding="utf-8")
    modules: dict[str, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module}" if node.level else f"{node.module}"
            if module in _graph().modules:
                modules |= {alias.name: module for alias in node.names}
    return modules
