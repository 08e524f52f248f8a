"""Files that are replaced whole, and a hash of what modules compute, without what they say."""

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
    """Open a file beside `path` for writing; put it in the place of `path` when it is complete.

    A process that is killed while it writes leaves the old file as it was, and what it had written
    under the name of the new file with ``.new`` behind it, which the next writer overwrites.

    Parameters
    ----------
    path : path
        The file to be replaced, or to be made.

    Yields
    ------
    binary file
        What is written to it stands in `path` once the block has ended without an error.

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


def write_aside(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file by one of this content; see `replacing`."""
    with replacing(path) as file:
        file.write(content)


def code_hash(modules: Iterable[Path]) -> str:
    """Return a hash of modules; docstrings, empty lines and lines of comment alone do not count.

    Parameters
    ----------
    modules : iterable of Path
        Python files, in an order that counts.

    Returns
    -------
    str
        Twelve hexadecimal digits.
    """
    text = "".join(statements(path.read_text()) for path in modules)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def statements(source: str) -> str:
    """Return the lines of a module without docstrings, empty lines and lines of comment."""
    lines: list[str] = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            said = node.body[0]
            lines[said.lineno - 1 : said.end_lineno] = [""] * (said.end_lineno - said.lineno + 1)  # type: ignore[operator]
    return "".join(f"{line}\n" for line in lines if line.strip() and line.strip()[0] != "#")
