"""Atomic replacement of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
