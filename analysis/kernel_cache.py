"""Compiled kernels: `njit` with a cache on disk that no change of code deceives.

Numba's own cache key of a function depends on the function's file only: a change in a function that
it calls, or in a constant that it reads, would go unnoticed if these are in another file. `Locator`
uses the fingerprint of the kernel's module. The Makefile sets it in
``NUMBA_CACHE_LOCATOR_CLASSES``; without that setting Numba uses its own key.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

import numba
from numba.core import event
from numba.core.caching import UserProvidedCacheLocator

PACKAGE = "analysis"
COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
"""False where ``NUMBA_DISABLE_JIT`` is set: kernels are then run by Python."""
Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def njit(function: Function) -> Function: ...
@overload
def njit(**options: Any) -> Callable[[Function], Function]: ...
def njit(function: Any = None, **options: Any) -> Any:
    """Compile a function as `numba.njit` does, and keep the result on disk where that can be done.

    Where no folder for it can be written, kernels are compiled anew in each process, and a warning
    says so. Numba alone would refuse to import the module.

    Parameters
    ----------
    function : function
        The kernel; without it, a decorator is returned.
    **options
        Options of `numba.njit`.

    Returns
    -------
    Dispatcher
        The compiled function.
    """
    if function is None:
        return lambda function: njit(function, **options)
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        warnings.warn(
            "no folder for compiled kernels can be written: each process compiles them anew; "
            "set NUMBA_CACHE_DIR to one that can",
            RuntimeWarning,
            stacklevel=1,
        )
        return numba.njit(**options)(function)


class _Announcement(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Prints one line on a terminal before the first kernel is compiled, which takes a while."""

    done = False

    def on_start(self, _: event.Event) -> None:
        if not self.done and sys.stderr.isatty():
            print(
                "compiling kernels: some seconds up to a minute, once; later starts load them",
                file=sys.stderr,
                flush=True,
            )
        self.done = True

    def on_end(self, _: event.Event) -> None:
        """Do nothing: one line is enough."""


event.register("numba:compile", _Announcement())


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]  # Numba has no types
    """Numba cache locator whose file names and stamps contain a hash of the code.

    Processes with different versions of the code use different files, and the files of an earlier
    version are found again when the code returns to it.
    """

    def __init__(self, py_func: FunctionType, py_file: str) -> None:
        from analysis.fingerprint import fingerprint  # needs grimp, which models alone do not

        super().__init__(py_func, py_file)
        self._stamp = fingerprint([py_func.__module__])

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
