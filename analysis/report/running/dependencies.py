"""The cache key of a notebook's result: its text, parameters, imported code and the lock file.

Imports are followed from the notebook through `analysis`, module by module, including those inside
functions and names that a package loads lazily, so that a change in one part of the package reruns
only the notebooks that use it. Data files of an imported package count as part of it; of the files
with the words of verdicts only the page's own section counts.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import grimp

from analysis.report.paths import ROOT
from analysis.report.running.notebooks import Notebook, OwnFile, file_facts
from analysis.report.saving import words

PACKAGE = "analysis"


def result_key(
    notebook: Notebook, parameters: Mapping[str, Any], files: Sequence[OwnFile] = ()
) -> str:
    """Return the cache key: a hash that changes whenever the result may change."""
    code = "\n".join(c.source for c in notebook.content.cells if c.cell_type == "code")
    digest = hashlib.sha256()
    for part in (
        notebook.path.read_bytes(),
        json.dumps(parameters, sort_keys=True).encode(),
        json.dumps(file_facts(files), sort_keys=True).encode(),
        (ROOT / "requirements.lock").read_bytes(),
        words.words_of_page(notebook.name).encode(),
    ):
        digest.update(hashlib.sha256(part).digest())
    for path in sorted(_imported_files(_imported_names(code))):
        digest.update(path.relative_to(ROOT).as_posix().encode() + _file_hash(path))
    return digest.hexdigest()


@cache
def _file_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)


def _imported_files(names: set[str]) -> set[Path]:
    """Return the files of the modules that dotted names import, recursively, with data files."""
    files: set[Path] = set()
    found: set[str] = set()
    waiting = {module for name in names for module in _modules_of(name)}
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            files.update(_files(module))
            for imported in _graph().find_modules_directly_imported_by(module):
                waiting |= _modules_of(imported)
            waiting |= {module.rpartition(".")[0]} - {""}
    return files


def _imported_names(code: str) -> set[str]:
    """Return the dotted names below the package that a notebook's code imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == PACKAGE}


def _modules_of(name: str) -> set[str]:
    """Return the modules that define a dotted name; for a package, of all its public names."""
    if name in _graph().modules:
        return {name, *_reexports(name).values()}
    parent, _, inside = name.rpartition(".")
    exported = _reexports(parent)
    return {parent, exported[inside]} if inside in exported else _modules_of(parent)


@cache
def _reexports(package: str) -> dict[str, str]:
    """Return the modules that define a package's public names, from its stub or its imports."""
    folder = ROOT.joinpath(*package.split("."))
    paths = [path for path in (folder / "__init__.pyi", folder / "__init__.py") if path.exists()]
    text = paths[0].read_text(encoding="utf-8") if paths else ""
    homes: dict[str, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module}" if node.level else f"{node.module}"
            if module in _graph().modules:
                homes |= {alias.name: module for alias in node.names}
    return homes


def _files(module: str) -> Iterator[Path]:
    """Yield the file of a module and, for a package, its data files."""
    base = ROOT.joinpath(*module.split("."))
    if (base / "__init__.py").is_file():
        yield base / "__init__.py"
        yield from _data(base)
    else:
        yield base.with_suffix(".py")


def _data(folder: Path) -> Iterator[Path]:
    """Yield the data files of a package, without those of its subpackages."""
    for path in folder.iterdir():
        if path == words.FOLDER:
            continue
        if path.is_file() and path.suffix not in {".py", ".pyc", ".pyi"}:
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _data(path)
