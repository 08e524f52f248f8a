"""What a notebook's result depends on: its text, its parameters, the code it imports, the lock.

Imports are followed from the notebook through `analysis`, module by module, so that a change in
one part of the package reruns only the notebooks that use it. Data files beside an imported module
count as part of it.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from analysis.report.notebooks import Notebook
from analysis.report.paths import ROOT


def result_key(notebook: Notebook, parameters: Mapping[str, Any], sources: bytes = b"") -> str:
    """Return a hash that changes whenever the result may change."""
    code = "\n".join(c.source for c in notebook.content.cells if c.cell_type == "code")
    digest = hashlib.sha256()
    for part in (
        notebook.path.read_bytes(),
        json.dumps(parameters, sort_keys=True).encode(),
        sources,
        (ROOT / "requirements.lock").read_bytes(),
    ):
        digest.update(hashlib.sha256(part).digest())
    for path in sorted(_closure(_imported(code))):
        digest.update(path.relative_to(ROOT).as_posix().encode() + _file_hash(path))
    return digest.hexdigest()


@cache
def _file_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def _closure(modules: set[str]) -> set[Path]:
    """Return the files of the named modules and of all that they import, data files included."""
    files: set[Path] = set()
    waiting = set(modules)
    while waiting:
        for path in _files(waiting.pop()):
            if path not in files:
                files.add(path)
                if path.suffix == ".py":
                    waiting |= _imports_of(path)
    return files


@cache
def _imports_of(path: Path) -> frozenset[str]:
    package = path.relative_to(ROOT).parent.parts
    return frozenset(_imported(path.read_text(encoding="utf-8"), package))


def _imported(code: str, package: tuple[str, ...] = ()) -> set[str]:
    """Return the dotted names below `analysis` that Python code in a package imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*around, *filter(None, [node.module])])
            names |= {f"{module}.{alias.name}" for alias in node.names} | {module}
    return {name for name in names if name.split(".")[0] == "analysis"}


def _files(module: str) -> Iterator[Path]:
    """Yield a module's file, those of the packages around it, and its package's data files."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        base = ROOT.joinpath(*parts[:end])
        if base.with_suffix(".py").is_file():
            yield base.with_suffix(".py")
        elif (base / "__init__.py").is_file():
            yield base / "__init__.py"
            yield from _data(base)


def _data(folder: Path) -> Iterator[Path]:
    """Yield the data files of a package, but not those of the packages below it."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix not in {".py", ".pyc"}:
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _data(path)
