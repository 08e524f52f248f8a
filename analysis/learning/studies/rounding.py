"""Errors as bounds: what is rounding differs from one linear algebra library to the next."""

from __future__ import annotations

import math

LEAST = 1e-7
"""Errors below it are rounding, of differences too; no more is said of them."""


def bound(error: float, least: float = LEAST) -> float:
    """Return the least power of ten, from `least` on, that an error does not exceed.

    Examples
    --------
    >>> bound(0.03), bound(4e-13)
    (0.1, 1e-07)
    """
    return float(f"1e{math.ceil(math.log10(max(abs(float(error)), least)) - 1e-9):d}")


def shown(value: float) -> str:
    """Write a number with three digits, or that it is rounding only.

    Examples
    --------
    >>> shown(0.33333), shown(4e-13)
    ('0.333', 'below 1e-07')
    """
    return f"{value:.3g}" if abs(value) > LEAST else f"below {LEAST:.0e}"
