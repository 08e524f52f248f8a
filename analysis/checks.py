"""Argument checks that every part of the package shares: one sentence, naming what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a float inside the interval, or raise naming it.

    Raises
    ------
    ValueError
        If `value` is not a real number or lies outside the interval.
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if real else math.nan
    above = number > low if low_open else number >= low
    below = number < high if high_open else number <= high
    if not (above and below):  # nor is it where the number is nan
        allowed = interval_text(low, high, low_open, high_open)
        raise ValueError(f"{name} must be a number in {allowed}, got {value!r}")
    return number


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high], or raise naming it.

    Raises
    ------
    ValueError
        If `value` is not an integer or lies outside the range.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        allowed = f"of at least {low}" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"{name} must be an integer {allowed}, got {value!r}")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`, or raise naming them all.

    Raises
    ------
    ValueError
        If `value` is not one of `choices`.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return str(value)


def check_kind(name: str, value: Any, *kinds: type | None) -> None:
    """Refuse `value` unless it is an instance of one of `kinds`; None stands for itself.

    Raises
    ------
    ValueError
        If it is of another class.
    """
    if not isinstance(value, tuple(type(None) if kind is None else kind for kind in kinds)):
        wanted = " or ".join("None" if kind is None else kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must be of class {wanted}, got {value!r:.200}")


def check_array(
    name: str,
    values: ArrayLike,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> NDArray[np.float64]:
    """Return `values` as a float64 array with every entry finite and inside the interval.

    Raises
    ------
    ValueError
        Naming the argument, the first offending entry and its position.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {values!r}") from None
    inside = np.isfinite(array)
    inside &= array > low if low_open else array >= low
    inside &= array < high if high_open else array <= high
    if not inside.all():
        position = tuple(int(i) for i in np.argwhere(~inside)[0])
        place = f"{name}[{', '.join(map(str, position))}]" if position else name
        allowed = interval_text(low, high, low_open, high_open)
        raise ValueError(f"{place} must be a finite number in {allowed}, got {array[position]}")
    return array


def check_integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return `values` as an int64 array; numbers with a point are not integers.

    Raises
    ------
    ValueError
        If an entry is not an integer.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be an array of integers, got {values!r:.200}")
    return array.astype(np.int64)


def interval_text(low: float, high: float, low_open: bool, high_open: bool) -> str:
    """Write an interval as readers expect it, with a round bracket at an open end."""
    left = "(" if low_open or math.isinf(low) else "["
    right = ")" if high_open or math.isinf(high) else "]"
    return f"{left}{low:g}, {high:g}{right}"
