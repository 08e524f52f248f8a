"""Cache invalidation for compiled kernels, by all modules that a kernel's module imports.

Numba's own cache key of a function depends on the function's file only: a change in a function that
it calls, or in a constant that it reads, would go unnoticed if these are in another file. `Locator`
hashes every module of the package that the kernel's module imports, directly or indirectly. The
Makefile sets it in ``NUMBA_CACHE_LOCATOR_CLASSES``; without that setting Numba uses its own key.
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
    """Numba cache locator whose file names and stamps contain a hash of the code.

    Processes with different versions of the code use different files, and the files of an earlier
    version are found again when the code returns to it.
    """

    def __init__(self, py_func: FunctionType, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._stamp = stamp(py_func.__module__)

    def get_source_stamp(self) -> str:
        """Return the hash of all code that the kernel may depend on."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """Return the part of the file name that depends on the version of the code."""
        return self._stamp[:16]

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> Locator | None:
        """Return the locator of a function of this package, or None for another package."""
        if py_func.__module__.partition(".")[0] != PACKAGE:
            return None
        located: Locator | None = super().from_function(py_func, py_file)
        return located


def stamp(module: str) -> str:
    """Return a hash of a module and of all that it imports, directly or indirectly.

    If a name is imported from a package, all modules of the package count, because its
    ``__init__`` may import the name lazily from any of them.

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
    below = {module for name in found for module in graph.find_descendants(name)}
    found |= below.union(*(graph.find_upstream_modules(name) for name in below))
    return hashlib.sha256(
        b"".join(name.encode() + _hash(name) for name in sorted(found))
    ).hexdigest()


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)


@cache
def _hash(module: str) -> bytes:
    """Return the hash of a module's file at the first call."""
    home = find_spec(PACKAGE)
    assert home is not None
    assert home.origin is not None
    base = Path(home.origin).parent.joinpath(*module.split(".")[1:])
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    return hashlib.sha256(file.read_bytes()).digest()
