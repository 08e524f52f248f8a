"""Argument checks for the whole package; errors are one sentence that names the argument.

Numbers are int, float, Fraction, NumPy's integers and floats, and zero-dimensional arrays of these.
Booleans, strings, complex numbers, dates, time differences, masked and structured arrays are
refused, although NumPy converts most of them. The functions return a plain int or float, or an
array of int64 or float64 in C order; callers use this value, not the argument.
"""

from __future__ import annotations

import math
import os
import reprlib
import stat
from collections.abc import Iterable, Sequence, Sized
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST = 2**63 - 1
"""The largest integer of an int64 array."""
LONGEST = 160
"""Length to which a wrong value is cut in a message."""
DEEPEST = 64
"""Axes that an array may have in NumPy."""
Rng = np.random.Generator | np.random.SeedSequence | int | Sequence[int] | None
"""A generator of random numbers, or the seed of a new one: what `check_rng` takes."""
MOST_BYTES = 10**9
"""Size of the largest file that is read, packed or not."""
_KINDS_OF_FILES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
ROW_SUM, SINGLE_ROW_SUM = 1e-9, 1e-6
"""Tolerances of the sum of a row of probabilities in float64, and in float32."""


def check_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a float if it is a number in the interval.

    Raises
    ------
    ValueError
        If `value` is not a real number, lies outside the interval, or is finite and too large for
        a float.
    """
    real = _real(value)
    try:
        number = math.nan if real is None else float(real)
    except OverflowError:
        number = math.inf
    if math.isinf(number) and real not in (math.inf, -math.inf):
        raise ValueError(f"{name} must be a number that a float can hold, got {shown(value)}")
    above = number > low if low_open else number >= low
    below = number < high if high_open else number <= high
    if not (above and below):  # nor is it where the number is nan
        allowed = interval_text(low, high, low_open, high_open)
        raise ValueError(f"{name} must be a number in {allowed}, got {shown(value)}")
    return number


def check_integer(name: str, value: Any, low: int, high: float = LARGEST) -> int:
    """Return `value` as an int if it is an integer in [low, high].

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : int, or a number of another type equal to one, except floats
    low, high : int
        Ends of the range. `high` is the largest int64 unless given; ``math.inf`` for no bound, as
        for seeds.

    Raises
    ------
    ValueError
        If `value` is not an integer or lies outside the range.
    """
    number = _whole(value)
    if number is None or not low <= number <= high:
        bounded = high < LARGEST or (number or 0) > LARGEST
        allowed = f"in [{low}, {high}]" if bounded else f"of at least {low}"
        raise ValueError(f"{name} must be an integer {allowed}, got {shown(value)}")
    return number


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a float, or raise ValueError unless it is positive and finite."""
    return check_number(name, value, 0.0, low_open=True, high_open=True)


def check_finite(what: str, value: float, **arguments: float) -> float:
    """Return a result, or raise ValueError naming it and its arguments where it is not finite."""
    if not math.isfinite(value):
        names, values = ", ".join(arguments), ", ".join(f"{x:g}" for x in arguments.values())
        raise ValueError(f"{names} must leave {what} a number that a float can hold, got {values}")
    return value


def check_whole(name: str, value: Any, low: int, high: float = LARGEST) -> int:
    """Return `value` as an int if it is a whole number in [low, high], also a float, as 2.0 is.

    This is the rule of every budget in numbers of crawls: 2 and 2.0 are the same budget everywhere.

    Raises
    ------
    ValueError
        If `value` is not a whole number or lies outside the range.
    """
    number = _rounded(value)
    if number is not None and low <= number <= high:
        return number
    return check_integer(name, value, low, high)  # which raises, and shows the value as it is


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`.

    Raises
    ------
    ValueError
        If `value` is not one of `choices`.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {shown(value)}")
    return str(value)


def check_kind(name: str, value: Any, *kinds: type | None) -> None:
    """Check that `value` is an instance of one of `kinds`, or None if that is one of them.

    A zero-dimensional array does not count as a sequence, although it has the methods of one.

    Raises
    ------
    ValueError
        If it is of another class.
    """
    classes = tuple(type(None) if kind is None else kind for kind in kinds)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        classes = tuple(kind for kind in classes if kind not in (Sized, Iterable, Sequence))
    if not isinstance(value, classes):
        names = " or ".join("None" if kind is None else kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must be of class {names}, got {shown(value)}")


def check_file(name: str, path: Any, most: float = MOST_BYTES) -> str:
    """Return the path of a file that a user names, if it is a regular file of bounded size.

    A device or a pipe may be read for ever. The file is not opened: opening a pipe may wait.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    path : str or PathLike
    most : float
        Largest size in bytes; ``math.inf`` for no bound.

    Raises
    ------
    ValueError
        If `path` is no text or path, contains a zero, names a folder, a device, a pipe or a socket,
        or a file of more than `most` bytes.
    OSError
        If there is no such file, or it is out of reach.
    """
    check_kind(name, path, str, os.PathLike)
    text = os.fspath(path)
    if not isinstance(text, str) or "\0" in text:
        raise ValueError(f"{name} must be the name of a file, got {shown(path)}")
    status = os.stat(text)
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS_OF_FILES.get(stat.S_IFMT(status.st_mode), "something else")
        raise ValueError(f"{name} must be a regular file, got {kind}: {shown(text)}")
    if status.st_size > most:
        size = f"{status.st_size:,} bytes in {shown(text)}"
        raise ValueError(f"{name} must be a file of at most {most:,} bytes, got {size}")
    return text


def check_array(
    name: str,
    values: ArrayLike,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    low_open: bool = False,
    high_open: bool = False,
    finite: bool = True,
) -> NDArray[np.float64]:
    """Return a copy of `values` as float64 in C order, every entry in the interval and finite.

    With ``finite=False`` entries may be infinite where the interval is.

    Raises
    ------
    ValueError
        Naming the argument, the first offending entry and its position.
    """
    numbers = _numbers(values)
    if numbers is None:
        raise ValueError(f"{name} must be an array of numbers, got {shown(values)}")
    try:
        with np.errstate(over="ignore"):  # of a longer float: infinite below
            array = np.array(numbers, dtype=np.float64, order="C")
    except OverflowError:
        raise ValueError(
            f"{name} must be an array of numbers that a float can hold, got {shown(values)}"
        ) from None
    valid = np.isfinite(array) if finite else ~np.isnan(array)
    valid &= array > low if low_open else array >= low
    valid &= array < high if high_open else array <= high
    if not valid.all():
        position = tuple(int(i) for i in np.argwhere(~valid)[0])
        entry = f"{name}[{', '.join(map(str, position))}]" if position else name
        allowed = interval_text(low, high, low_open, high_open)
        number = "a finite number" if finite else "a number"
        raise ValueError(f"{entry} must be {number} in {allowed}, got {array[position]}")
    return array


def check_integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return a copy of `values` as int64 in C order; numbers with a point are not integers.

    Raises
    ------
    ValueError
        If an entry is not an integer, or none that an int64 can hold.
    """
    array = _numbers(values)
    all_whole = array is not None and (
        all(_whole(value) is not None for value in array.flat)
        if array.dtype.kind == "O"
        else array.dtype.kind != "f"
    )
    if array is None or not all_whole:
        raise ValueError(f"{name} must be an array of integers, got {shown(values)}")
    if array.size and not -LARGEST - 1 <= array.min() <= array.max() <= LARGEST:
        raise ValueError(
            f"{name} must be an array of integers in [-2**63, 2**63 - 1], got {shown(values)}"
        )
    return np.array(array, dtype=np.int64, order="C")


def check_selected(name: str, arms: Any, most: int, size: int) -> NDArray[np.int64]:
    """Return chosen sources as a new array of int64, in their order, for every loop of epochs.

    Parameters
    ----------
    name : str
        Who chose them, for the message.
    arms : array_like, shape (K,)
        Numbers of the sources, which may be floats that are whole. No mask: a mask of truth values
        would be taken for the sources 0 and 1.
    most, size : int
        Largest number of sources, and N.

    Raises
    ------
    ValueError
        Unless they are at most `most` different whole numbers in [0, N).
    """
    array = arms if type(arms) is np.ndarray and arms.dtype == np.int64 else _numbers(arms)
    right = False
    if array is not None and array.ndim == 1 and array.size <= most:
        values = array.tolist()
        if array.dtype.kind in "fO":
            values = [-1 if (number := _rounded(value)) is None else number for value in values]
        # Lists and sets: few sources are chosen at most epochs, where NumPy's calls take longer.
        right = len(set(values)) == len(values)
        right = right and (not values or (min(values) >= 0 and max(values) < size))
    if not right:
        mask = np.asarray(arms, dtype=object)
        hint = mask.size and all(isinstance(value, bool | np.bool_) for value in mask.flat)
        raise ValueError(
            f"{name} must be at most {most} different sources, numbers in [0, {size - 1}], "
            f"got {shown(arms)}" + "; np.flatnonzero gives the numbers of a mask" * bool(hint)
        )
    return np.array(values, dtype=np.int64)


def check_rng(rng: Rng) -> np.random.Generator:
    """Return a generator of random numbers, as `numpy.random.default_rng` does.

    A generator is returned as it is; from anything else a new one is made.

    Parameters
    ----------
    rng : Generator, SeedSequence, int, sequence of int, or None
        A generator, or a seed: 3 is ``numpy.random.default_rng(3)``. Integers are not negative;
        None is another seed at each call.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or isinstance(rng, np.random.SeedSequence):
        return np.random.default_rng(rng)
    several: Any = rng
    if not (isinstance(rng, list | tuple) or (type(rng) is np.ndarray and rng.ndim == 1)):
        several = [rng]
    seeds = [-1 if (seed := _whole(entry)) is None else seed for entry in several]
    if not seeds or min(seeds) < 0:
        raise ValueError(
            "rng must be a numpy.random.Generator or SeedSequence, an integer of at least 0, or "
            f"None, got {shown(rng)}"
        )
    return np.random.default_rng(seeds if len(seeds) > 1 else seeds[0])


def check_booleans(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Return a copy of `values` as an array of truth values; the numbers 0 and 1 are such.

    Raises
    ------
    ValueError
        If an entry is neither true nor false.
    """
    array = _array(values, str, bytes, np.ma.MaskedArray)
    kind = "" if array is None else array.dtype.kind
    if array is None or kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} must hold true or false (1 or 0), got {shown(values)}")
    return np.array(array, dtype=np.bool_, order="C")


def normalising_factors(
    rows: Any, sums: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Return the factors that make rows of probabilities sum to one, and the rows that are wrong.

    A row of float32 sums to one to about seven digits only; as float64 it is divided by its sum.

    Parameters
    ----------
    rows : array_like or sparse matrix
        The rows as passed by the caller; their precision sets the tolerance.
    sums : ndarray
        Sums of the rows as float64.

    Returns
    -------
    factors : ndarray or None
        Factor of each row, 1 for those that are wrong. None in double precision.
    wrong : ndarray of bool
        Rows whose sum differs from one by more than `ROW_SUM`, or `SINGLE_ROW_SUM` for float32.
    """
    precision = rows.dtype if hasattr(rows, "dtype") else np.asarray(rows).dtype
    single = precision == np.float32
    wrong = ~(np.abs(sums - 1) <= (SINGLE_ROW_SUM if single else ROW_SUM))
    return (1 / np.where(wrong, 1.0, sums) if single else None), wrong


def set_fields(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass to their checked values, for its `__post_init__`."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def interval_text(low: float, high: float, low_open: bool, high_open: bool) -> str:
    """Write an interval with a round bracket at an open or infinite end."""
    opening = "(" if low_open or math.isinf(low) else "["
    closing = ")" if high_open or math.isinf(high) else "]"
    return f"{opening}{low:g}, {high:g}{closing}"


def shown(value: Any) -> str:
    """Write a wrong value for a message: its `repr` in one line of at most `LONGEST` characters."""
    text = " ".join(_REPR.repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


class _Repr(reprlib.Repr):
    """`repr` of the ends of a text and of the first entries of a list."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 3, LONGEST, LONGEST

    def repr_int(self, x: int, level: int) -> str:
        """Write an int, also one of more digits than Python writes."""
        try:
            repr(x)
        except ValueError:
            return f"an integer of {x.bit_length()} bits"
        return super().repr_int(x, level)


_REPR = _Repr()


def _real(value: Any) -> Real | None:
    """Return a value, or the one in a zero-dimensional array, as a real number; else None."""
    if type(value) is np.ndarray and value.ndim == 0:
        value = value[()]
    wrong = isinstance(value, bool | np.timedelta64) or not isinstance(value, Real)
    return None if wrong else value


def _whole(value: Any) -> int | None:
    """Return a value as an int if it is an integer; else None."""
    real = _real(value)
    if isinstance(real, Rational) and real.denominator == 1:
        return int(real.numerator)
    return None


def _rounded(value: Any) -> int | None:
    """Return a value as an int if it is whole, an integer or a float; else None."""
    real = _real(value)
    if isinstance(real, float | np.floating) and math.isfinite(real) and real == int(real):
        return int(real)
    return _whole(value)


def _numbers(values: ArrayLike) -> NDArray[Any] | None:
    """Return `values` as an array of integers, floats or objects that are numbers, or None."""
    array = _array(values, bool, np.bool_, str, bytes, np.ma.MaskedArray)
    if array is None:
        return None
    fits = array.dtype.kind in "iuf" or (
        array.dtype.kind == "O" and all(_real(value) is not None for value in array.flat)
    )
    return array if fits else None


def _array(values: Any, *refused: type) -> NDArray[Any] | None:
    """Return `values` as an array; None if they are ragged or contain a refused class."""
    if _holds(values, refused):
        return None
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths
        return None


def _holds(values: Any, kinds: tuple[type, ...], depth: int = 0) -> bool:
    """Return whether a value, or anything in it, is an object of one of these classes."""
    if not isinstance(values, list | tuple) or depth > DEEPEST:
        matches = isinstance(values, np.ndarray) and issubclass(values.dtype.type, kinds)
        return matches or isinstance(values, kinds)
    plain = all(issubclass(k, Real) and not issubclass(k, kinds) for k in set(map(type, values)))
    return not plain and any(_holds(value, kinds, depth + 1) for value in values)
