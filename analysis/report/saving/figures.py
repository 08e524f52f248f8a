"""`save_figure`, the only way to a figure of the book.

A figure is a set of files with one permanent id: SVG, PDF and PNG, an SVG relaid for a telephone,
the data behind it as CSV, and its caption, alt text and provenance as JSON. The same inputs give
the same bytes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from fontTools.subset import Options  # type: ignore[import-untyped]
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from analysis.report.run import FORMATS, NARROW, by_hand, run_folder, show_by_hand
from analysis.report.saving.narrow import relay
from analysis.report.saving.provenance import check_id, check_instances, keep, write_csv

_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}

_LACKING = re.compile(r"Glyph (\d+) .* missing from font")
#: Letters of which this notebook has been warned.
told: set[str] = set()

# A font in a PDF needs its letters only. To cut its tables of ligatures and kerning down to those
# letters took half of the time of a PDF, and Matplotlib takes fontTools' own choice of tables.
Options._drop_tables_default += ["GSUB", "GPOS", "GDEF"]


def save_figure(
    id: str,
    figure: Figure,
    data: pd.DataFrame | Mapping[str, Any],
    caption: str,
    alt: str,
    *,
    instances: str | None = None,
) -> None:
    """Save a figure with all that a reader needs to check and to cite it; by hand, show it too.

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
    instances : str, optional
        Id of the instance-level results behind it, which `save_data` saved before.

    Raises
    ------
    ValueError
        If the id is malformed or taken, the caption, the alt text or the data are empty, or there
        are no such instances.
    """
    check_id(id)
    check_instances(instances)
    for name, text in {"caption": caption, "alt": alt}.items():
        if not text.strip():
            raise ValueError(f"{name} of the figure {id!r} must not be empty")
    frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame(data)
    if frame.empty:
        raise ValueError(f"data of the figure {id!r} must not be empty")
    folder = run_folder() / "figures"
    write_csv(frame, folder / f"{id}.csv")
    with mpl.rc_context({"svg.hashsalt": id}), _missing_letters_told_once():
        fix_layout(figure)
        for suffix in FORMATS:
            figure.savefig(folder / f"{id}.{suffix}", metadata=_METADATA[suffix])
        if not by_hand():
            relay(figure)
            fix_layout(figure)
            figure.savefig(folder / f"{id}.{NARROW}", metadata=_METADATA["svg"])
    words = {"caption": " ".join(caption.split()), "alt": " ".join(alt.split())}
    keep("figure", folder, {"id": id, **words, "instances": instances})
    plt.close(figure)
    show_by_hand(figure)


@contextmanager
def _missing_letters_told_once() -> Iterator[None]:
    """Give one warning of all letters that the fonts lack, where Matplotlib warns of each.

    The book's fonts are Matplotlib's own, so that figures are the same on every machine: names in
    some scripts are boxes in figures, and text everywhere else.
    """
    with warnings.catch_warnings(record=True) as caught:
        yield
    lacking = {chr(int(found[1])) for w in caught if (found := _LACKING.match(str(w.message)))}
    for w in caught:
        if not _LACKING.match(str(w.message)):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if new := lacking - told:
        told.update(new)
        letters = "".join(sorted(new))
        said = f"the font of the figures has no letters for {letters!r}: boxes stand for them there"
        warnings.warn(said, stacklevel=4)


def fix_layout(figure: Figure) -> None:
    """Find the layout once: `savefig` would find it anew, and draw twice, for each format.

    The last bits of a layout differ from run to run, and an SVG names clip paths after all bits of
    where their panels stand: so panels stand at rounded places.
    """
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)
    for axes in figure.axes:
        place = axes.get_position(original=True)
        axes._set_position(Bbox(place.get_points().round(9)))  # type: ignore[attr-defined]
