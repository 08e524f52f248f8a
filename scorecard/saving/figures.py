"""`figure` in the book's style, and `save_figure`, the only function that adds one to the book.

A figure is a set of files with one permanent id: SVG, PDF and PNG, an SVG with a narrow layout for
telephones, the plotted data as CSV, and caption, alt text and provenance as JSON. The same inputs
give the same bytes.

The narrow layout has stacked panels, wrapped text and a minimum font size. The artists of the drawn
figure are moved; no data are drawn again. A telephone shows the figure about 342 pixels wide, so
that a letter of 8 points is 9 pixels high.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from fontTools import subset  # type: ignore[import-untyped]
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpecBase
from matplotlib.legend import Legend
from matplotlib.path import Path as Curve
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox

from scorecard.run import (
    FORMATS,
    NARROW,
    by_hand,
    check_id,
    check_instances,
    run_folder,
    show_by_hand,
    write_provenance,
)
from scorecard.saving.tables import write_csv

#: Width of a narrow figure, in inches, and its minimum font size, in points.
WIDTH = 4.2
MINIMUM_POINTS = 8.0
#: Letters in a line of a name beside the vertical axis.
LETTERS = 26
#: Average width of a letter divided by the font size.
_LETTER_ASPECT = 0.52
#: Largest number of panels in one column; more panels get two columns.
_ONE_COLUMN = 4
_TOKEN = re.compile(r"(?:\$[^$]*\$|\S)+")


def reflow(figure: Figure) -> None:
    """Give a figure the narrow layout, in place.

    `figure`: a drawn figure whose panels are in one grid, as `scorecard.figure` makes it.
    Its layout engine is constrained layout afterwards.
    """
    # Remove empty panels of the grid. A panel with its axis lines off but with data is kept.
    for axes in figure.axes:
        if not axes.get_visible() or not (axes.axison or axes.has_data()):
            axes.remove()
    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    columns = 1 if len(panels) <= _ONE_COLUMN else 2
    rows = -(-len(panels) // columns)
    row_height = figure.get_size_inches()[1] / _find_grid(panels[0]).nrows
    figure.set_layout_engine("constrained")
    _stack(figure, panels, rows, columns)
    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), MINIMUM_POINTS))
    lines = _move_legends_below(figure, panels)
    for text in figure.texts:  # its title and the label below all panels
        if text.get_text() in {figure.get_suptitle(), figure.get_supxlabel()}:
            _wrap_text(text, WIDTH - 0.2)
    for axes in panels:
        _wrap_names(axes.yaxis)
    figure.set_size_inches(WIDTH, row_height * rows + 0.17 * lines + 0.15)
    titles = {text: text.get_text() for axes in panels for text in _find_titles(axes)}
    # The constrained layout reserves width for titles: break long ones before it runs.
    for text in titles:
        _wrap_text(text, 1.5 * WIDTH / columns)
    figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]
    for text, original in titles.items():
        text.set_text(original)
    for axes in panels:
        _wrap_panel_labels(axes)
        _separate_tick_labels(axes.xaxis)
    # Add height for titles of more than three lines, so that they do not shrink the panels.
    breaks = max((text.get_text().count("\n") for text in titles), default=0)
    figure.set_figheight(figure.get_figheight() + 0.14 * rows * max(0, breaks - 2))


def _find_grid(axes: Axes) -> GridSpecBase:
    spec = axes.get_subplotspec()
    assert spec is not None
    return spec.get_gridspec()


def _stack(figure: Figure, panels: list[Axes], rows: int, columns: int) -> None:
    """Move the panels to a grid with fewer columns, and restore the labels that they shared."""
    before = _find_grid(panels[0])
    if before.ncols == columns:
        return
    grid = figure.add_gridspec(rows, columns)
    named = {axes: _panel_with_row_label(axes, panels).get_ylabel() for axes in panels}
    below = next((axes.get_xlabel() for axes in reversed(panels) if axes.get_xlabel()), "")
    for number, axes in enumerate(panels):
        row, column = divmod(number, columns)
        axes.set_subplotspec(grid[row, column])
        axes.set_ylabel(named[axes] if column == 0 else "")
        is_last = number + columns >= len(panels)
        axes.tick_params(
            labelleft=True, labelbottom=is_last or axes.xaxis.get_tick_params()["labelbottom"]
        )
        axes.set_xlabel(axes.get_xlabel() or (below if is_last else ""))


def _panel_with_row_label(axes: Axes, panels: list[Axes]) -> Axes:
    """Return the panel of the same row whose vertical axis has a label, or else the panel."""
    row = axes.get_subplotspec().rowspan.start  # type: ignore[union-attr]
    mates = [panel for panel in panels if panel.get_subplotspec().rowspan.start == row]  # type: ignore[union-attr]
    return next((panel for panel in (axes, *mates) if panel.get_ylabel()), axes)


def _move_legends_below(figure: Figure, panels: list[Axes]) -> int:
    """Move the figure's legend, or that of its only panel, below it; return its number of lines."""
    own = [legend for axes in panels if (legend := axes.get_legend()) is not None]
    legends = [*figure.legends, *(own if len(panels) == 1 else [])]
    named = figure.get_supxlabel()  # it takes the legend's place, which then goes above
    # `legend_handles` has only the line of an error bar; the container draws the whole symbol.
    points = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        if isinstance(handle, ErrorbarContainer)
    }
    lines = 0
    for legend in legends:
        title = legend.get_title().get_text()
        labels = [
            _wrap_lines(text.get_text(), WIDTH - 0.8, MINIMUM_POINTS) for text in legend.get_texts()
        ]
        widest = max(len(_strip_tex(line)) for label in labels for line in label.split("\n"))
        columns = max(
            1,
            min(len(labels), int(WIDTH * 72 / (MINIMUM_POINTS * (_LETTER_ASPECT * widest + 4.5)))),
        )
        handles = [
            points.get(text.get_text(), handle)
            for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
            if handle is not None
        ]
        figure.legend(
            handles,
            labels,
            title=_wrap_lines(title, WIDTH - 0.8, MINIMUM_POINTS) or None,
            loc="outside upper left" if named else "outside lower left",
            ncols=columns,
            fontsize=MINIMUM_POINTS,
            title_fontsize=MINIMUM_POINTS,
            columnspacing=1.0,
        )
        legend.remove()
        lines += -(-len(labels) // columns) + sum(label.count("\n") for label in labels)
        lines += bool(title)
    for legend in own if len(panels) > 1 else []:
        for text in legend.get_texts():
            text.set_text(_wrap_lines(text.get_text(), WIDTH / 2, MINIMUM_POINTS))
            text.set_fontsize(MINIMUM_POINTS)
    return lines


def _wrap_names(axis: Axis) -> None:
    """Wrap the names that an axis has in place of numbers."""
    if isinstance(axis.get_major_locator(), FixedLocator):
        names = [textwrap.fill(label.get_text(), LETTERS) for label in axis.get_ticklabels()]
        axis.set_ticklabels(names)


def _wrap_panel_labels(axes: Axes) -> None:
    """Wrap the titles and axis labels of a panel to its size, which a first layout has set."""
    size = axes.get_window_extent()
    dpi = axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    width, height = size.width / dpi, size.height / dpi
    for text in (*_find_titles(axes), axes.xaxis.label):
        _wrap_text(text, width)
    _wrap_text(axes.yaxis.label, height)


def _find_titles(axes: Axes) -> list[Text]:
    """Return the titles of a panel that are not empty: centre, left, right."""
    texts = [child for child in axes.get_children() if isinstance(child, Text)]
    return [text for text in texts if text not in axes.texts and text.get_text()]


def _wrap_text(text: Text, inches: float) -> None:
    text.set_text(_wrap_lines(text.get_text(), inches, float(text.get_fontsize())))


def _wrap_lines(text: str, inches: float, size: float) -> str:
    """Wrap lines that are too wide; a formula is never broken and counts its visible letters."""
    letters = int(inches * 72 / (_LETTER_ASPECT * size))
    return "\n".join(_wrap_line(line, letters) for line in text.split("\n"))


def _wrap_line(line: str, letters: int) -> str:
    if len(_strip_tex(line)) <= letters:
        return line
    lines, used = [""], 0
    for piece in _split_words(line, letters):
        length = len(_strip_tex(piece))
        if used and used + 1 + length > letters:
            lines.append("")
            used = 0
        lines[-1] += (" " if used else "") + piece
        used += length + (1 if used else 0)
    return "\n".join(lines)


def _split_words(line: str, letters: int) -> Iterator[str]:
    """Yield the words of a line; split a word that is longer than a line, such as a URL."""
    for word in _TOKEN.findall(line):
        if len(word) > letters and not set(word) & set("$\\"):
            yield from textwrap.wrap(word, letters, break_on_hyphens=False)
        else:
            yield word


def _strip_tex(text: str) -> str:
    """Return text without TeX commands and delimiters, to estimate its width."""
    return re.sub(r"\\[a-zA-Z]+|[${}^_\\]", "", re.sub(r"\\(?=[a-zA-Z]+)", r"x\\", text))


def _separate_tick_labels(axis: Axis) -> None:
    """Separate tick labels that overlap: rotate words and names, hide some of the numbers."""
    labels = [label for label in axis.get_ticklabels() if label.get_text()]
    boxes = {label: label.get_window_extent() for label in labels}
    labels.sort(key=lambda label: boxes[label].x0)
    if all(boxes[after].x0 > boxes[before].x1 + 2 for before, after in pairwise(labels)):
        return
    texts = [label.get_text().replace("mathdefault", "") for label in labels]
    if any(re.search("[a-z]{2}|, ", word) for word in texts):
        for label in labels:
            label.set(rotation=35, horizontalalignment="right", rotation_mode="anchor")
        return
    end = -np.inf
    for label in labels:
        label.set_visible(bool(boxes[label].x0 > end + 2))
        end = boxes[label].x1 if label.get_visible() else end


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
    with style, _warn_once_of_missing_glyphs(), _use_outline_options():
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
def _use_outline_options() -> Iterator[None]:
    """Have Matplotlib make PDFs with `_OutlineOptions`: it has no option for these."""
    original, subset.Options = subset.Options, _OutlineOptions
    try:
        yield
    finally:
        subset.Options = original


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
