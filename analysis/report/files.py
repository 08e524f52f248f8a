"""Files and folders of a build: what is finished goes in place whole, or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import sys
from pathlib import Path

from analysis.report.paths import ROOT

_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_EXCHANGE = 2  # RENAME_EXCHANGE
_ON_DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG


def replace_folder(new: Path, target: Path) -> None:
    """Put a finished folder in place of another, which is removed.

    Where the system can exchange two folders (Linux), a process killed at any moment leaves the old
    one or the new one; elsewhere there is an instant at which neither stands.
    """
    if not target.exists():
        new.rename(target)
        return
    try:
        _exchange(new, target)
    except (OSError, AttributeError):
        old = new.with_name(f"{new.name}.old")
        target.rename(old)
        new.rename(target)
        new = old
    shutil.rmtree(new, ignore_errors=True)


def _exchange(one: Path, other: Path) -> None:
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "the folders cannot be exchanged")


def replace_file(source: Path, target: Path) -> None:
    """Copy a file over another in one step."""
    aside = target.with_name(f".{target.name}~")
    shutil.copyfile(source, aside)
    aside.replace(target)


def fresh_folder(folder: Path) -> Path:
    """Return a folder with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def raise_if_full(said: str, path: Path) -> None:
    """Raise what a child process said of a full disk.

    Raises
    ------
    OSError
        If that is what it said.
    """
    if (full := os.strerror(errno.ENOSPC)) in said:
        raise OSError(errno.ENOSPC, f"{full}: make room and build again", str(path))


def end_with_parent() -> None:
    """Let this process, a child that is about to be another program, end when its parent has ended.

    Linux sees to it, also where the parent is killed; elsewhere the program runs to its end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ON_DEATH_OF_PARENT, signal.SIGKILL)


def child_environment() -> dict[str, str]:
    """Return the environment of a child process that imports `analysis`."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def shown(path: Path) -> str:
    """Return a path as a reader sees it, relative to where they stand if it is below."""
    here = Path.cwd()
    return os.fspath(path.relative_to(here) if path.is_relative_to(here) else path)
