"""Files that are replaced whole: whoever opens one finds the old content or the new."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
