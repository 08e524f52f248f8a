"""What the robot models refuse, said once: name, allowed range, value."""

from __future__ import annotations

import math
from numbers import Integral, Real


def integer(name: str, value: object, least: int) -> int:
    """Return `value` as an int, or raise ValueError unless it is an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def positive(name: str, value: object) -> float:
    """Return `value` as a float, or raise ValueError unless it is positive and finite."""
    if not isinstance(value, Real) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    return float(value)
