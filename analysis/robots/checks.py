"""The one check that every robot model repeats."""

from __future__ import annotations

from typing import Any

from analysis.checks import check_number


def positive(name: str, value: Any) -> float:
    """Return `value` as a float, or raise ValueError unless it is positive and finite."""
    return check_number(name, value, 0.0, low_open=True, high_open=True)
