"""`save_figure`, the only way to a figure of the book.

A figure is a set of files with one permanent id: SVG, PDF and PNG, an SVG relaid for a telephone,
the data behind it as CSV, and its caption, alt text and provenance as JSON. The same inputs give
the same bytes.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from analysis.report.narrow import relay
from analysis.report.run import DIGITS, FORMATS, NARROW, by_hand, run_facts, run_folder, write_json

_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_saved: set[str] = set()


def save_figure(
    id: str,
    figure: Figure,
    data: pd.DataFrame | Mapping[str, Any],
    caption: str,
    alt: str,
) -> Figure | None:
    """Save a figure with all that a reader needs to check and to cite it.

    Parameters
    ----------
    id : str
        Permanent id, unique in the book: lower-case words joined by hyphens.
    figure : matplotlib.figure.Figure
        The drawn figure. It is closed.
    data : pandas.DataFrame or mapping of columns
        The numbers that are drawn.
    caption : str
        One message, in Markdown without directives; true of the parameters of this run.
    alt : str
        What a reader who cannot see the figure should know: its message, not its looks.

    Returns
    -------
    Figure or None
        The figure itself where the notebook was opened by hand, so that Jupyter shows it.

    Raises
    ------
    ValueError
        If the id is malformed or taken, or the caption, the alt text or the data are empty.
    """
    if not _ID.fullmatch(id):
        raise ValueError(f"id must be lower-case words joined by hyphens, got {id!r}")
    if id in _saved and not by_hand():
        raise ValueError(f"id {id!r} is taken: another figure of this notebook has it")
    for name, text in {"caption": caption, "alt": alt}.items():
        if not text.strip():
            raise ValueError(f"{name} of the figure {id!r} must not be empty")
    frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame(data)
    if frame.empty:
        raise ValueError(f"data of the figure {id!r} must not be empty")
    _saved.add(id)
    folder = run_folder() / "figures"
    folder.mkdir(exist_ok=True)
    frame.to_csv(
        folder / f"{id}.csv", index=False, float_format=f"%.{DIGITS}g", lineterminator="\n"
    )
    # The layout is found once: `savefig` would find it anew, and draw twice, for each format.
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    with mpl.rc_context({"svg.hashsalt": id}):
        for suffix in FORMATS:
            figure.savefig(folder / f"{id}.{suffix}", metadata=_METADATA[suffix])
        if not by_hand():
            relay(figure)
            figure.savefig(folder / f"{id}.{NARROW}", metadata=_METADATA["svg"])
    facts = run_facts()
    description = {
        "id": id,
        "caption": " ".join(caption.split()),
        "alt": " ".join(alt.split()),
        "notebook": facts["notebook"],
        "parameters": facts["parameters"],
        "versions": {name: version(name) for name in ("numpy", "scipy", "matplotlib", "pandas")}
        | {"python": platform.python_version()},
    }
    write_json(folder / f"{id}.json", description)
    plt.close(figure)
    return figure if by_hand() else None
