"""Where files are; files and processes of a build: atomic replacement, full disks, children."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
BUILD = BOOK / "_build"
PROFILES = ("quick", "paper", "full")
INTERRUPTED = "interrupted: the previous build is unchanged"
_AT_FDCWD = -100  # paths are relative to the working folder
_RENAME_EXCHANGE = 2
_PR_SET_PDEATHSIG = 1
#: Beginning of the names of folders for temporary files; short, because sockets lie in them.
_TEMPORARY = "book-"
#: Their lock, which nothing else in such a place has.
_LOCK = "scorecard.lock"


def build_folder(profile: str) -> Path:
    """Return the build folder of a profile; the quick profile has its own."""
    return BUILD / "quick" if profile == "quick" else BUILD


def replace_folder(new: Path, target: Path) -> None:
    """Replace a folder by a new one, and remove the old one.

    On Linux the two are exchanged atomically: a process killed at any moment leaves one of them in
    place. Elsewhere there is an instant at which neither is in place.
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


def _exchange(path: Path, other: Path) -> None:
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    paths = _AT_FDCWD, os.fsencode(path), _AT_FDCWD, os.fsencode(other)
    if rename(*paths, _RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "the folders cannot be exchanged")


def replace_file(source: Path, target: Path) -> None:
    """Replace a file atomically by a copy of another."""
    aside = target.with_name(f".{target.name}~")
    shutil.copyfile(source, aside)
    aside.replace(target)


def empty_folder(folder: Path) -> Path:
    """Create a folder, or empty an existing one, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """Put temporary files of this process and its children into a folder of their own.

    It is removed at the end. Before, the folders of processes that were killed are removed: those
    whose lock nobody holds.
    """
    import filelock  # which a browser lacks, and needs only the paths of this module

    for lock in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY}*/{_LOCK}"):
        with suppress(filelock.Timeout, OSError), filelock.FileLock(lock, timeout=0):
            shutil.rmtree(lock.parent, ignore_errors=True)
    variable = os.environ.get("TMPDIR")
    with (
        tempfile.TemporaryDirectory(prefix=_TEMPORARY, ignore_cleanup_errors=True) as name,
        filelock.FileLock(Path(name) / _LOCK),
    ):
        os.environ["TMPDIR"] = tempfile.tempdir = name
        try:
            yield Path(name)
        finally:
            tempfile.tempdir = None
            del os.environ["TMPDIR"]
            if variable is not None:
                os.environ["TMPDIR"] = variable


def raise_if_disk_full(output: str, path: Path) -> None:
    """Raise an error if the output of a child process contains that of a full disk.

    Raises OSError with ENOSPC and the path.
    """
    if (full := os.strerror(errno.ENOSPC)) in output:
        raise OSError(errno.ENOSPC, f"{full}: make room and build again", str(path))


def exit_with_parent() -> None:
    """Have Linux kill this process when its parent ends; for ``preexec_fn`` of a subprocess.

    On other systems it does nothing, and the program runs to its end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def child_environment() -> dict[str, str]:
    """Return the environment of a child process that imports the library and the book's pages."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def display_path(path: Path) -> str:
    """Return a path for messages: relative to the working folder if it is below it."""
    here = Path.cwd()
    return os.fspath(path.relative_to(here) if path.is_relative_to(here) else path)
