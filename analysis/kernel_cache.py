"""Compiled kernels: `njit` with a cache on disk that no change of code deceives.

All kernels come from here. Where Numba is not installed, as in a browser, they are plain functions
with the same results.

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

try:
    import numba
    from numba import extending
    from numba.core import event
    from numba.core.caching import UserProvidedCacheLocator
except ModuleNotFoundError as error:
    if error.name != "numba":
        raise
    numba = None  # type: ignore[assignment]

PACKAGE = "analysis"
COMPILED = numba is not None and not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
"""False without Numba, or where ``NUMBA_DISABLE_JIT`` is set: Python then runs the kernels."""
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
        The compiled function; without Numba, the function itself.
    """
    if function is None:
        return lambda function: njit(function, **options)
    if numba is None:
        return function
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


def jitable(function: Function) -> Function:
    """Let compiled functions call a function of Python, which itself stays as it is."""
    return function if numba is None else extending.register_jitable(function)


def compiled_twin(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Return a decorator of the function that makes what compiled code calls in its place."""
    return jitable if numba is None else extending.overload(function)


def intrinsic(instruction: Callable[..., Any], function: Function) -> Function:
    """Return an instruction for compiled code, or its twin in Python where nothing is compiled."""
    chosen: Any = extending.intrinsic(instruction) if COMPILED else function
    return chosen  # type: ignore[no-any-return]


if numba is not None:

    class _Announcement(event.Listener):  # type: ignore[misc]  # Numba has no types
        """Prints one line on a terminal before the first kernel is compiled."""

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

        Processes with different versions of the code use different files, and the files of an
        earlier version are found again when the code returns to it.
        """

        def __init__(self, py_func: FunctionType, py_file: str) -> None:
            from analysis.fingerprint import fingerprint  # needs grimp, which models alone do not

            super().__init__(py_func, py_file)
            # A kernel made from a template has the module of its copy, and globals of another one.
            self._stamp = fingerprint({py_func.__module__, py_func.__globals__["__name__"]})

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
