"""The cache key of a notebook's result: its text, parameters, imported code and the lock file.

A change in one part of the library reruns only the notebooks that use it. Data files of an imported
package count as part of it, and so does what the documents print; of the files with the words of
verdicts only the page's own section counts.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis import fingerprint
from scorecard import prints
from scorecard.paths import BOOK, ROOT
from scorecard.running.notebooks import Notebook, OwnFile, file_facts
from scorecard.saving import words


def result_key(
    notebook: Notebook, parameters: Mapping[str, Any], files: Sequence[OwnFile] = ()
) -> str:
    """Return the cache key: a hash that changes whenever the result may change."""
    code = "\n".join(c.source for c in notebook.content.cells if c.cell_type == "code")
    digest = hashlib.sha256()
    for content in (
        notebook.path.read_bytes(),
        json.dumps(parameters, sort_keys=True).encode(),
        json.dumps(file_facts(files), sort_keys=True).encode(),
        (ROOT / "requirements.lock").read_bytes(),
        words.words_of_page(notebook.name).encode(),
    ):
        digest.update(hashlib.sha256(content).digest())
    names = imported_names(code)
    digest.update(fingerprint.fingerprint(names).encode())
    for path in sorted({*_data_files(fingerprint.modules_behind(names)), *_data(prints.FOLDER)}):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def imported_names(code: str) -> set[str]:
    """Return the dotted names below the packages that a notebook's code imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in fingerprint.PACKAGES}


def _data_files(modules: Iterable[str]) -> Iterator[Path]:
    """Yield the data files of the packages among some modules; texts of other pages are none."""
    for module in modules:
        if module.split(".")[0] == BOOK.name:
            continue
        file = fingerprint.source_file(module)
        if file.name == "__init__.py":
            yield from _data(file.parent)


def _data(folder: Path) -> Iterator[Path]:
    """Yield the data files of a package, without those of its subpackages."""
    for path in folder.iterdir():
        if path == words.FOLDER:
            continue
        if path.is_file() and path.suffix not in {".py", ".pyc", ".pyi"}:
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _data(path)
