"""Many values of a page at once: predicates that its sentences state, numbers of its solutions."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.report import save_value


def save_values(page: str, values: Mapping[str, float]) -> None:
    """Keep values for the prose of a page, each under the page's name and its own.

    Parameters
    ----------
    page : str
        Name of the page.
    values : mapping of str to float, int or bool
        What is kept, by name.
    """
    for name, value in values.items():
        save_value(f"{page}-{name}", value)
