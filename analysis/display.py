"""A class decorator for a short ``repr``: constructor arguments in one line, arrays by shape."""

from __future__ import annotations

import reprlib
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

#: Entries of an array, a sequence or a mapping that are printed one by one.
FEW = 4
#: Greatest length of the ``repr`` of any other object; a longer one is replaced by the class name.
LONGEST = 80
_Type = TypeVar("_Type", bound=type)


def brief(cls: _Type) -> _Type:
    """Give a class a ``repr`` in one line, as ``Name(argument=value, ...)``.

    It shows the constructor's arguments that the object has as attributes, with or without a
    leading underscore, except dataclass fields with ``repr=False``. An array, a sequence or a
    mapping of more than `FEW` entries is shown by its shape or length, a float with six digits.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @brief
    ... @dataclass
    ... class Chain:
    ...     transitions: np.ndarray
    ...     discount: float
    >>> Chain(np.eye(3), 1 / 3)
    Chain(transitions=array of shape (3, 3), discount=0.333333)
    """

    def __repr__(self: Any) -> str:
        unseen = (
            {member.name for member in fields(self) if not member.repr}
            if is_dataclass(self)
            else set()
        )
        attributes = {
            name: f"_{name}" for name in signature(type(self)).parameters if name not in unseen
        }
        arguments = [
            f"{name}={_short(getattr(self, name if hasattr(self, name) else hidden))}"
            for name, hidden in attributes.items()
            if hasattr(self, name) or hasattr(self, hidden)
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"

    setattr(cls, "__repr__", __repr__)  # noqa: B010  (mypy takes no assignment to a method)
    return cls


def _short(value: Any) -> str:
    """Return the short form of one argument."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        few = isinstance(value, np.ndarray) and value.ndim == 1 and value.size <= FEW
        return _listed(value.tolist()) if few else f"array of shape {value.shape}"
    if isinstance(value, list | tuple):
        return _listed(value) if len(value) <= FEW else f"{len(value)} entries"
    if isinstance(value, dict):
        return f"{len(value)} entries"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(reprlib.repr(value).split()) if isinstance(value, str | bytes) else repr(value)
    return text if len(text) <= LONGEST and " at 0x" not in text else type(value).__name__


def _listed(values: Any) -> str:
    return f"[{', '.join(map(_short, values))}]"
