"""A reader's own input file, of which a run keeps a copy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Names that need no escaping in a URL or a notebook, and that no output file of a run has.
_SAFE_NAME = re.compile(r"\w[\w-]{0,59}(\.[\w-]{1,20}){0,2}\.csv", re.ASCII)


@dataclass(frozen=True)
class OwnFile:
    """The file that a reader gave for one parameter of a notebook."""

    parameter: str  # "sources" or "trace"
    name: str  # name of the file, without its folder
    content: bytes  # content of the file

    @classmethod
    def read(cls, parameter: str, path: str) -> OwnFile:
        """Read a file."""
        return cls(parameter, Path(path).name, Path(path).read_bytes())

    @property
    def shipped(self) -> str:
        """Name of the copy beside the notebook: the file's own if it is safe, else a fixed one."""
        return self.name if _SAFE_NAME.fullmatch(self.name) else f"{self.parameter}.csv"

    @property
    def sha256(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()


def file_facts(files: Iterable[OwnFile]) -> dict[str, dict[str, str]]:
    """Return name, name of the copy and hash of each file, by parameter."""
    return {
        file.parameter: {"name": file.name, "shipped": file.shipped, "sha256": file.sha256}
        for file in files
    }
