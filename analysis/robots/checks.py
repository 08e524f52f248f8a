"""The checks that robot models repeat."""

from __future__ import annotations

import math
from typing import Any

from analysis.checks import check_number


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a float, or raise ValueError unless it is positive and finite."""
    return check_number(name, value, 0.0, low_open=True, high_open=True)


def check_finite(what: str, value: float, **arguments: float) -> float:
    """Return a result, or raise ValueError naming it and its arguments where it is not finite."""
    if not math.isfinite(value):
        names, values = ", ".join(arguments), ", ".join(f"{x:g}" for x in arguments.values())
        raise ValueError(f"{names} must leave {what} a number that a float can hold, got {values}")
    return value
