"""The style of the book's figures: colours for colour-blind readers, reproducible files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

STYLE = Path(__file__).with_name("book.mplstyle")

#: The Okabe-Ito colours, in the order in which figures use them.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def figure(
    rows: int = 1, columns: int = 1, *, width: float = 7.0, height: float = 3.6, **options: Any
) -> Any:
    """Return a figure and its axes in the book's style.

    Parameters
    ----------
    rows, columns : int
        Layout of the panels.
    width, height : float
        Size of the whole figure in inches.
    **options
        Passed on to `matplotlib.pyplot.subplots`.

    Returns
    -------
    figure, axes
        As `matplotlib.pyplot.subplots` returns them.
    """
    plt.style.use(STYLE)
    return plt.subplots(rows, columns, figsize=(width, height), layout="constrained", **options)
