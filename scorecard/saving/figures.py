"""`figure` in the book's style, and `save_figure`, the only function that adds one to the book.

A figure is a set of files with one permanent id: SVG, PDF and PNG, an SVG with a narrow layout for
telephones, the plotted data as CSV, and caption, alt text and provenance as JSON. The same inputs
give the same bytes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from fontTools import subset  # type: ignore[import-untyped]
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.path import Path as Curve
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from scorecard.run import FORMATS, NARROW, by_hand, run_folder, show_by_hand
from scorecard.saving.narrow import reflow
from scorecard.saving.provenance import check_id, check_instances, write_csv, write_provenance

STYLE = Path(__file__).with_name("book.mplstyle")
#: The Okabe-Ito colours, for colour-blind readers, in the order in which figures use them.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}

_MISSING_GLYPH = re.compile(r"Glyph (\d+) .* missing from font")
#: Characters without a glyph about which this notebook has warned already.
warned_glyphs: set[str] = set()


class _OutlineOptions(subset.Options):  # type: ignore[misc]
    """Options of font subsets without ligatures and kerning, which no PDF uses: half the time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.drop_tables += ["GSUB", "GPOS", "GDEF"]


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


def save_figure(
    id: str,
    figure: Figure,
    data: pd.DataFrame | Mapping[str, Any],
    caption: str,
    alt: str,
    *,
    instances: str | None = None,
) -> None:
    """Save a figure with its data, caption and provenance; outside the runner, display it too.

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
    style = mpl.rc_context({"svg.hashsalt": id})
    # Matplotlib makes fontTools' options for a PDF itself, and has no option for them.
    fonts = patch.object(subset, "Options", _OutlineOptions)
    with style, _warn_once_of_missing_glyphs(), fonts:
        freeze_layout(figure)
        uncover_texts(figure)
        for suffix in FORMATS:
            figure.savefig(folder / f"{id}.{suffix}", metadata=_METADATA[suffix])
        if not by_hand():
            reflow(figure)
            freeze_layout(figure)
            uncover_texts(figure)
            figure.savefig(folder / f"{id}.{NARROW}", metadata=_METADATA["svg"])
    texts = {"caption": " ".join(caption.split()), "alt": " ".join(alt.split())}
    write_provenance("figure", folder, {"id": id, **texts, "instances": instances})
    plt.close(figure)
    show_by_hand(figure)


@contextmanager
def _warn_once_of_missing_glyphs() -> Iterator[None]:
    """Replace Matplotlib's warnings on missing glyphs, one a character, by a single warning.

    Figures use the fonts that come with Matplotlib, so that they are the same on every machine.
    Characters of some scripts are missing there and are drawn as boxes.
    """
    with warnings.catch_warnings(record=True) as caught:
        yield
    lacking = {
        chr(int(match[1])) for w in caught if (match := _MISSING_GLYPH.match(str(w.message)))
    }
    for w in caught:
        if not _MISSING_GLYPH.match(str(w.message)):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if new := lacking - warned_glyphs:
        warned_glyphs.update(new)
        characters = "".join(sorted(new))
        message = f"the font of the figures has no glyphs for {characters!r}: they appear as boxes"
        warnings.warn(message, stacklevel=4)


def freeze_layout(figure: Figure) -> None:
    """Compute the layout once and fix it: `savefig` would compute it again for each format.

    Axes positions are rounded: their last bits differ from run to run, and an SVG derives the ids
    of its clip paths from all bits.
    """
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)
    for axes in figure.axes:
        position = axes.get_position(original=True)
        axes.set_position(Bbox(position.get_points().round(9)))
        axes.set_in_layout(True)  # for the narrow layout: setting a position takes it out


def uncover_texts(figure: Figure) -> None:
    """Give the texts and legends of panels that a curve crosses a white ground, which hides it.

    A layout must have been computed: where a text lies depends on it. On a colour map, whose text
    shows what lies below it, nothing is changed.
    """
    for axes in figure.axes:
        if any(isinstance(artist, QuadMesh) for artist in axes.collections):
            continue
        curves = [
            line.get_path().transformed(line.get_transform())
            for line in axes.lines
            if line.get_linestyle() != "None"
        ]
        for text in axes.texts:
            if text.get_text() and text.get_bbox_patch() is None and _is_crossed(text, curves):
                text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        legend = axes.get_legend()
        if legend is not None and _is_crossed(legend, curves):
            legend.set_frame_on(True)
            legend.get_frame().set(facecolor="white", edgecolor="none", alpha=1.0)


def _is_crossed(artist: Text | Legend, curves: list[Curve]) -> bool:
    """Whether a curve crosses the part of a text or legend that lies within its panel."""
    assert artist.axes is not None
    visible = Bbox.intersection(artist.get_window_extent(), artist.axes.bbox)
    return visible is not None and any(
        curve.intersects_bbox(visible, filled=False) for curve in curves
    )
