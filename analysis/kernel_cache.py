"""When a compiled kernel is stale: its module, or one of those that it is made from, has changed.

Numba keeps what it has compiled, and looks at the file of a function alone: a change in a function
that a kernel calls, or in a constant that it reads, would go unnoticed where these stand in another
file. `Locator` looks at every module of the package that a kernel's module imports, itself or
through others. The Makefile names it in ``NUMBA_CACHE_LOCATOR_CLASSES``; without that, Numba does
as it does for every package.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType

import grimp
from numba.core.caching import UserProvidedCacheLocator

PACKAGE = "analysis"


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]  # Numba has no types
    """Keeps the kernels of this package in Numba's folder, those of each state of the code apart.

    So processes on two states of the code share no file, and a state that comes back is known.
    """

    def __init__(self, py_func: FunctionType, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._stamp = stamp(py_func.__module__)

    def get_source_stamp(self) -> str:
        """Return a hash of all code that the kernel may be made from."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """Return what tells the files of a kernel from those of its other states."""
        return self._stamp[:16]

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> Locator | None:
        """Return the locator of a function of this package; nothing for those of others."""
        if py_func.__module__.partition(".")[0] != PACKAGE:
            return None
        located: Locator | None = super().from_function(py_func, py_file)
        return located


def stamp(module: str) -> str:
    """Return a hash of a module and of those that it imports, at any remove.

    A package is read whole where a name is imported from it: its face may lend that from anywhere
    below it.

    Parameters
    ----------
    module : str
        Dotted name of a module of the package.

    Returns
    -------
    str

    Examples
    --------
    >>> stamp("analysis.checks") == stamp("analysis.results")
    False
    """
    graph = _graph()
    found = {module} | graph.find_upstream_modules(module)
    lent = {below for name in found for below in graph.find_descendants(name)}
    found |= lent.union(*(graph.find_upstream_modules(name) for name in lent))
    return hashlib.sha256(
        b"".join(name.encode() + _hash(name) for name in sorted(found))
    ).hexdigest()


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)


@cache
def _hash(module: str) -> bytes:
    """Return the hash of a module's file, as it was at first."""
    home = find_spec(PACKAGE)
    assert home is not None
    assert home.origin is not None
    base = Path(home.origin).parent.joinpath(*module.split(".")[1:])
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    return hashlib.sha256(file.read_bytes()).digest()
