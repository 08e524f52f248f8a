"""The Python runtime for browsers: which files it consists of, and how they come into a site.

``runtime.json`` lists the files of a Pyodide distribution that pages need, each with its SHA-256,
from the lock file of the distribution. A file is taken from wherever one of that hash can be had.
"""

from __future__ import annotations

import hashlib
import json
import urllib.request
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("runtime.json")
#: Folder of a site with the runtime.
FOLDER = "recompute/runtime"
#: File of a site with the policy of the worker, in one line.
POLICY = "recompute/worker-policy.txt"
#: Seconds to wait for a server.
TIMEOUT = 60


class RuntimeMissing(RuntimeError):
    """A file of the runtime cannot be had, or has another hash."""


@cache
def read_list() -> dict[str, Any]:
    """Return the list: version, address and files, each with name, SHA-256 and bytes."""
    content: dict[str, Any] = json.loads(LIST.read_bytes())
    return content


def make_policy() -> str:
    """Return the Content-Security-Policy of the worker: this site, and the runtime's address.

    Scripts of the runtime are run from memory, once their hashes are checked.
    """
    return (
        "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; "
        f"connect-src 'self' {read_list()['address']}"
    )


def install_runtime(folder: Path, origin: str = "") -> int:
    """Put the files of the runtime into a folder, each checked; return how many were copied.

    `origin`: a folder, or an archive (zip or wheel), that is searched for files of the right names
    before the distribution's own address is asked. Files in the folder that are right stay there.
    Raises RuntimeMissing naming the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copied = 0
    for file in read_list()["files"]:
        target = folder / file["name"]
        if target.exists() and _is_right(target.read_bytes(), file):
            continue
        content = _find_file(file, origin)
        new = target.with_name(f".{target.name}~")
        new.write_bytes(content)
        new.replace(target)
        copied += 1
    return copied


def _is_right(content: bytes, file: dict[str, Any]) -> bool:
    return hashlib.sha256(content).hexdigest() == file["sha256"]


def _find_file(file: dict[str, Any], origin: str) -> bytes:
    """Return the content of a file, from the origin or from the distribution's address."""
    wrong = ""
    for place, content in _read_origin(file["name"], origin):
        if _is_right(content, file):
            return content
        wrong = f"{place} has SHA-256 {hashlib.sha256(content).hexdigest()}"
    address = read_list()["address"] + file["name"]
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as reply:
            content = reply.read()
    except OSError as error:
        reason = wrong or f"{address} cannot be read ({error})"
        raise RuntimeMissing(
            f"{file['name']}: {reason}; needed is SHA-256 {file['sha256']}: "
            "name a folder or an archive that has the file, with FROM="
        ) from None
    if not _is_right(content, file):
        raise RuntimeMissing(
            f"{file['name']}: {address} has SHA-256 {hashlib.sha256(content).hexdigest()}; needed "
            f"is {file['sha256']}"
        )
    return bytes(content)


def _read_origin(name: str, origin: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a name in a folder or an archive, at any depth: place and content."""
    path = Path(origin)
    if not origin:
        return
    if path.is_dir():
        for found in sorted(path.rglob(name)):
            yield str(found), found.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.rpartition("/")[2] == name:
                    yield f"{origin}:{entry}", archive.read(entry)
    else:
        raise ValueError(f"from must be a folder or a zip archive, got {origin!r}")
