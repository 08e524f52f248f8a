"""Atomic replacement of files, and a hash of modules that ignores docstrings and comments."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file for writing, and replace `path` by it when the block ends.

    A process that is killed while it writes leaves the old file unchanged, and a partial file with
    the suffix ``.new``, which the next writer overwrites.

    Parameters
    ----------
    path : path
        The file to be replaced, or to be made.

    Yields
    ------
    binary file
        The temporary file. If the block raises an error, it is removed and `path` unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "state") as file:
    ...         _ = file.write(b"whole")
    ...
    ...     (Path(folder) / "state").read_bytes()
    ...
    b'whole'
    """
    target = Path(path)
    aside = target.with_name(target.name + ".new")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    aside.replace(target)


def code_hash(modules: Iterable[Path]) -> str:
    """Return a hash of modules that ignores docstrings, empty lines and comment lines.

    Parameters
    ----------
    modules : iterable of Path
        Python files; their order changes the hash.

    Returns
    -------
    str
        Twelve hexadecimal digits.
    """
    text = "".join(statements(path.read_text()) for path in modules)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def statements(source: str) -> str:
    """Return the source of a module without docstrings, empty lines and comment lines."""
    lines: list[str] = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            said = node.body[0]
            lines[said.lineno - 1 : said.end_lineno] = [""] * (said.end_lineno - said.lineno + 1)  # type: ignore[operator]
    return "".join(f"{line}\n" for line in lines if line.strip() and line.strip()[0] != "#")
