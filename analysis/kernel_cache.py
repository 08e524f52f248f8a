"""When a compiled kernel is stale: its module, or one of those that it is made from, has changed.

Numba keeps what it has compiled, and looks at the file of a function alone: a change in a function
that a kernel calls, or in a constant that it reads, would go unnoticed where these stand in another
file. `Locator` looks at every module of the package that a kernel's module imports, itself or
through others. The Makefile names it in ``NUMBA_CACHE_LOCATOR_CLASSES``; without that, Numba does
as it does for every package.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from types import FunctionType

from numba.core.caching import UserProvidedCacheLocator

PACKAGE = Path(__file__).parent
#: An import statement that can define a name, with the names in their parentheses.
IMPORT = re.compile(r"^(?:from (\S+) import (\([^)]*\)|.*)|import (\S+))", re.MULTILINE)


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]  # Numba has no types
    """Keeps the kernels of this package in Numba's folder, those of each state of the code apart.

    So processes on two states of the code share no file, and a state that comes back is known.
    """

    def get_source_stamp(self) -> str:
        """Return a hash of all code that the kernel may be made from."""
        return stamp(Path(self._py_file), PACKAGE)

    def get_disambiguator(self) -> str:
        """Return what tells the files of a kernel from those of its other states."""
        return self.get_source_stamp()[:16]

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> Locator | None:
        """Return the locator of a function of this package; nothing for those of others."""
        if not Path(py_file).is_relative_to(PACKAGE):
            return None
        located: Locator | None = super().from_function(py_func, py_file)
        return located


def stamp(module: Path, package: Path) -> str:
    """Return a hash of a module's file and of those that it imports, at any remove.

    A package is read whole where a name is imported from it: its face may load that from anywhere
    below it. Imports inside functions do not count, since no kernel can reach what they define.

    Parameters
    ----------
    module : Path
        A file of the package.
    package : Path
        The folder of the package.

    Returns
    -------
    str

    Examples
    --------
    >>> stamp(PACKAGE / "checks.py", PACKAGE) == stamp(PACKAGE / "results.py", PACKAGE)
    False
    """
    digest = hashlib.sha256()
    for path in sorted(_closure(module, package)):
        digest.update(path.relative_to(package).as_posix().encode() + _contents(path)[0])
    return digest.hexdigest()


def _closure(module: Path, package: Path) -> set[Path]:
    """Return the files of a package that a module is made from."""
    found: set[Path] = set()
    waiting = {module}
    while waiting:
        path = waiting.pop()
        found.add(path)
        for name in _contents(path)[1]:
            waiting |= _files(name, package) - found
    return found


@cache
def _contents(path: Path) -> tuple[bytes, tuple[str, ...]]:
    """Return the hash of a file and the dotted names that it imports, as they were at first."""
    text = path.read_text(encoding="utf-8")
    names = []
    for home, listed, whole in IMPORT.findall(text):
        inside = re.findall(r"(\w+)(?: as \w+)?", listed)
        names += [f"{home}.{name}" for name in inside] if home else [whole]
    return hashlib.sha256(text.encode()).digest(), tuple(names)


@cache
def _files(name: str, package: Path) -> frozenset[Path]:
    """Return the files behind a dotted name of the package; nothing for those of others."""
    top, *parts = name.split(".")
    if top != package.name:
        return frozenset()
    place = package
    for part in parts:
        if (place / f"{part}.py").is_file():
            return frozenset([place / f"{part}.py"])
        if not (place / part).is_dir():
            break
        place /= part
    return frozenset(place.rglob("*.py"))
