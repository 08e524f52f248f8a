"""Errors as pages print them, whatever the rounding of a linear algebra library."""

from __future__ import annotations

import math

import pandas as pd

from scorecard import save_table

LEAST = 1e-7
"""Errors below it, also of differences, are rounding and are not written out."""


def error_bound(error: float, least: float = LEAST) -> float:
    """Return the least power of ten, from `least` on, that an error does not exceed."""
    return float(f"1e{math.ceil(math.log10(max(abs(float(error)), least)) - 1e-9):d}")


def format_error(value: float) -> str:
    """Write a number with three digits, or that it is rounding only."""
    return f"{value:.3g}" if abs(value) > LEAST else f"below {LEAST:.0e}"


def save_gradient_errors(id: str, gradients: pd.DataFrame, note: str = "") -> None:
    """Save the error of each formula against the true gradient; rounding errors are marked."""
    errors = gradients["largest relative error"].map(format_error)
    save_table(
        id,
        gradients.assign(**{"largest relative error": errors}).rename_axis("formula"),
        "Two sources, one an epoch: the gradient by each formula against central differences of "
        f"the exact average reward, at random points.{note}",
        formats=".3f",
    )
