"""Types of NumPy arrays, arrays that nobody changes, and linear algebra that repeats itself."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import cache, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Type = TypeVar("_Type", bound=type)

SHARED_FROM = 64
"""States from which BLAS and LAPACK may share the work on a dense matrix between threads."""


def read_only_arrays(cls: _Type) -> _Type:
    """Make the arrays in a frozen dataclass read-only, in its copies and pickles too.

    Fields hold views, so that an array of the caller's stays as it is. Instances with equal fields
    are equal, unless the class defines its own ``__eq__``; NaN equals NaN.

    Examples
    --------
    >>> import pickle
    >>> from analysis.restarts import RestartArm
    >>> arm = RestartArm([[0.5, 0.5], [0.0, 1.0]], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0])
    >>> pickle.loads(pickle.dumps(arm)).reset.flags.writeable
    False
    """
    make = cls.__init__  # type: ignore[misc]

    @wraps(make)
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        _lock(self)

    def __setstate__(self: Any, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _lock(self)

    def __eq__(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _equal(vars(self)[f.name], vars(other)[f.name]) for f in fields(self) if f.compare
        )

    methods: dict[str, Any] = {"__init__": __init__, "__setstate__": __setstate__}
    # The method that `dataclass` generates compares tuples, which raises where they hold arrays.
    own = vars(cls).get("__eq__")
    if own is not None and own.__code__.co_filename == "<string>":
        methods["__eq__"] = __eq__
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        inexact = np.issubdtype(np.asarray(value).dtype, np.inexact)
        return np.array_equal(value, other, equal_nan=bool(inexact))
    return bool(value == other)


def _lock(instance: Any) -> None:
    """Replace the arrays of an instance by read-only views."""
    values = vars(instance)
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            values[name] = value.view()
            values[name].flags.writeable = False


def one_thread(states: int) -> AbstractContextManager[object]:
    """Return a context in which matrices of so many states are worked on by one thread.

    Sums that threads share differ in their last digit by the number of threads.
    """
    return _libraries().limit(limits=1, user_api="blas") if states >= SHARED_FROM else nullcontext()


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  # whose BLAS is not NumPy's

    return ThreadpoolController()
