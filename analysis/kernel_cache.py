"""Cache invalidation for compiled kernels, by all modules that a kernel's module imports.

Numba's own cache key of a function depends on the function's file only: a change in a function that
it calls, or in a constant that it reads, would go unnoticed if these are in another file. `Locator`
uses the fingerprint of the kernel's module. The Makefile sets it in
``NUMBA_CACHE_LOCATOR_CLASSES``; without that setting Numba uses its own key.
"""

from __future__ import annotations

from types import FunctionType

from numba.core.caching import UserProvidedCacheLocator

from analysis import fingerprint


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]  # Numba has no types
    """Numba cache locator whose file names and stamps contain a hash of the code.

    Processes with different versions of the code use different files, and the files of an earlier
    version are found again when the code returns to it.
    """

    def __init__(self, py_func: FunctionType, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._stamp = fingerprint.fingerprint([py_func.__module__])

    def get_source_stamp(self) -> str:
        """Return the hash of all code that the kernel may depend on."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """Return the part of the file name that depends on the version of the code."""
        return self._stamp[:16]

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> Locator | None:
        """Return the locator of a function of this package, or None for another package."""
        if py_func.__module__.partition(".")[0] != fingerprint.PACKAGE:
            return None
        located: Locator | None = super().from_function(py_func, py_file)
        return located
