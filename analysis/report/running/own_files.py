"""A file of the reader's own, which goes with the run that it was given to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Names that no file of a run has, and that need no quoting in an address or in a notebook.
_PLAIN = re.compile(r"\w[\w-]{0,59}(\.[\w-]{1,20}){0,2}\.csv", re.ASCII)


@dataclass(frozen=True)
class OwnFile:
    """What a reader gave for one parameter of a notebook.

    Parameters
    ----------
    parameter : str
        "sources" or "trace".
    name : str
        What the reader calls the file, without its folder.
    content : bytes
        What is in it.
    """

    parameter: str
    name: str
    content: bytes

    @classmethod
    def read(cls, parameter: str, path: str) -> OwnFile:
        """Read a file."""
        return cls(parameter, Path(path).name, Path(path).read_bytes())

    @property
    def shipped(self) -> str:
        """Its name beside the notebook: its own, or that of the parameter where that is safer."""
        return self.name if _PLAIN.fullmatch(self.name) else f"{self.parameter}.csv"

    @property
    def sha256(self) -> str:
        """The hash of what is in it."""
        return hashlib.sha256(self.content).hexdigest()


def file_facts(files: Iterable[OwnFile]) -> dict[str, dict[str, str]]:
    """Return what pages, figures and citations say of files, by parameter."""
    return {
        file.parameter: {"name": file.name, "shipped": file.shipped, "sha256": file.sha256}
        for file in files
    }
