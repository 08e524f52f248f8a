"""The only doors to the book: `save_figure`, `save_table`, and `save_data` for raw results.

A picture is a function of an empty figure: it draws, and returns the data that it drew. It is
called once for each width of the screen and each background, with the book's style for these.
Colours come from the style: `COLOURS`, `ink` and `paper`. What differs on a narrow screen is
decided by `add_panels`, `add_legend`, `fold_names` and `is_narrow`.

A figure is a set of files with one permanent id: SVG for two widths and two backgrounds, PDF and
PNG, the data as CSV, and caption, alt text and provenance as JSON. The same inputs give the same
bytes. A table has few rows, formatted for reading, with all digits in its CSV; data are one tidy
CSV, one row an instance, with a description of each column.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib import font_manager, style
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox
from pandas.api.types import is_numeric_dtype

from scorecard.record import (
    DARK,
    DIGITS,
    FORMATS,
    NARROW,
    by_hand,
    check_id,
    check_instances,
    run_folder,
    show_by_hand,
    write_provenance,
)
from scorecard.text import (
    clean_for_markdown,
    clean_for_mathtext,
    clean_text,
    encode_csv,
    escape_cell,
    join_words,
)

#: Default format of floating-point numbers.
_PLAIN = ".6g"
#: Text of a cell without a value.
NONE = "–"
STYLE = Path(__file__).with_name("book.mplstyle")
#: Width of a figure on a wide and on a narrow screen, in inches. A telephone shows the latter in
#: some 342 pixels, so that its letters of 8 points are more than 7 points high.
WIDTH, NARROW_WIDTH = 7.0, 4.0
#: Changes of the style for a narrow screen.
NARROW_STYLE = {"font.size": 8, "lines.linewidth": 1.4, "lines.markersize": 5}
#: Font of all figures, as in the style.
FONT = "DejaVu Sans"
#: Names of the colours of a figure, in the order in which figures use them; the style has their
#: values (Okabe and Ito's, for colour-blind readers; lighter on dark pages). The last is the ink.
COLOURS = tuple(f"C{number}" for number in range(7))
#: Ink and paper of the theme's dark pages.
INK, PAPER = "#ced6dd", "#121212"
_INKED = (
    "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color",
    "patch.edgecolor", "boxplot.boxprops.color", "boxplot.whiskerprops.color",
    "boxplot.capprops.color", "boxplot.flierprops.color", "boxplot.flierprops.markeredgecolor",
)  # fmt: skip
#: Changes of the style for a dark page.
DARK_STYLE = {
    **dict.fromkeys(_INKED, INK),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), PAPER),
    "grid.color": "#3a3d40",
    "axes.prop_cycle": cycler(
        color=["#3d9fdb", "#f07a28", "#1fb88d", "#dd94bb", "#e6c229", "#a9d8f7", INK]
    ),
}
#: Ending of the SVG of each variant, with the changes of the style. The first has all formats.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "svg": (),
    f"{DARK}svg": (DARK_STYLE,),
    f"{NARROW}svg": (NARROW_STYLE,),
    f"{NARROW}{DARK}svg": (NARROW_STYLE, DARK_STYLE),
}
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
#: Most panels that a narrow figure has in one column; more have two columns.
_ONE_COLUMN = 4
#: Height of a panel below others in units of its height beside others.
_STACKED = 0.8
#: Letters in a line of a name beside the vertical axis of a narrow figure.
_LETTERS = 22
#: Width of the symbol of a legend's entry and of the gap to the next one, and height of a line, in
#: units of the size of its letters.
_SYMBOL, _LINE = 4.3, 1.6


def ink() -> str:
    """Return the colour of text on the present background."""
    return str(mpl.rcParams["text.color"])


def paper() -> str:
    """Return the colour of the present background."""
    return str(mpl.rcParams["figure.facecolor"])


def is_narrow(figure: Figure) -> bool:
    """Whether a figure is drawn for a narrow screen."""
    return figure.get_figwidth() <= NARROW_WIDTH


def add_panels(
    figure: Figure, count: int = 1, columns: int | None = None, **options: Any
) -> list[Any]:
    """Add panels to an empty figure, on a narrow screen in one column, or in two if they are many.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure; it becomes higher if it has more rows than on a wide screen.
    count : int
        Number of panels.
    columns : int, optional
        Number of columns on a wide screen; default: one row.
    **options
        Passed on to `matplotlib.figure.Figure.subplots`, such as ``sharey``; ``width_ratios`` are
        for the wide screen.

    Returns
    -------
    list of matplotlib.axes.Axes
        The panels, row by row.
    """
    columns = columns or count
    rows = math.ceil(count / columns)
    if is_narrow(figure) and columns > 1:
        options.pop("width_ratios", None)
        columns = 1 if count <= _ONE_COLUMN else 2
        wide, rows = rows, math.ceil(count / columns)
        figure.set_figheight(figure.get_figheight() * _STACKED * rows / wide)
    panels = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for unused in panels[count:]:
        unused.remove()
    for last in panels[max(count - columns, 0) : count]:  # of each column
        last.tick_params(labelbottom=True)
    return panels[:count]


def fold_names(figure: Figure, names: Iterable[str]) -> list[str]:
    """Break the names beside the vertical axis of a figure into lines where it is narrow."""
    if not is_narrow(figure):
        return list(names)
    return [name if "$" in name else textwrap.fill(name, _LETTERS) for name in names]


def label_names(names: Sequence[str]) -> tuple[list[str], str]:
    """Return names as labels for a figure, and a sentence that explains numbers among them.

    A name with characters that the figures' font lacks, or in a script that is written from right
    to left, which Matplotlib does not set, becomes its number in the list: the font comes with
    Matplotlib, so that figures are the same on every machine.

    Parameters
    ----------
    names : sequence of str
        Names of a reader's own, such as those of sources.

    Returns
    -------
    labels : list of str
        One label a name, for texts of Matplotlib.
    sentence : str
        In Markdown, for the caption; it begins with a space. Empty if all names can be drawn.
    """
    labels, numbered = [], []
    for number, name in enumerate(names, start=1):
        drawable = _can_draw(name)
        labels.append(clean_for_mathtext(name) if drawable else f"no. {number}")
        if not drawable:
            numbered.append(f"no. {number} is {clean_for_markdown(name)}")
    return labels, f" In the picture {join_words(numbered)}." if numbered else ""


def _can_draw(name: str) -> bool:
    """Whether the figures' font has all characters of a name, and they run from left to right."""
    font = font_manager.get_font(font_manager.findfont(FONT))
    line = clean_text(name)
    return not line.startswith("\u2068") and all(font.get_char_index(ord(c)) for c in line)


def add_legend(figure: Figure, *, title: str = "") -> None:
    """Add one legend for all panels of a figure above them, where it hides no data.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        A drawn figure; its legend has each label once. On a narrow screen it grows by the legend.
    title : str, optional
        Title of the legend.
    """
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    size = float(mpl.rcParams["font.size"])
    room = 72 * figure.get_figwidth() / size - 1  # in units of the size of letters
    labels = [_fold_label(label, room - _SYMBOL) for label in entries]
    widest = max(_measure_label(label) for label in labels) + _SYMBOL
    rows = math.ceil(len(labels) / max(1, int(room / widest)))
    figure.legend(
        entries.values(), labels, title=title or None, loc="outside upper left",
        ncols=math.ceil(len(labels) / rows), columnspacing=1.5, alignment="left",
    )  # fmt: skip
    if is_narrow(figure):
        lines = rows + sum(label.count("\n") for label in labels) + bool(title)
        figure.set_figheight(figure.get_figheight() + lines * _LINE * size / 72)


def _fold_label(label: str, room: float) -> str:
    """Break a label that is wider than the room for it; one with mathematics stays."""
    if "$" in label or _measure_label(label) <= room:
        return label
    return textwrap.fill(label, int(1.7 * room))


def _measure_label(label: str) -> float:
    """Return the width of a label in units of the size of its letters."""
    return max(TextPath((0, 0), line, size=1).get_extents().x1 for line in label.split("\n"))


def save_figure(
    id: str,
    draw: Callable[[Figure], pd.DataFrame | Mapping[str, Any]],
    caption: str,
    alt: str,
    *,
    height: float = 3.6,
    instances: str | None = None,
) -> None:
    """Draw and save a figure with its data, caption and provenance; without the runner, show it.

    A page computes first, and draws what it has computed::

        def draw(figure):
            (axis,) = add_panels(figure)
            axis.plot(table["age"], table["index"], color=COLOURS[0])
            axis.set(xlabel="age (epochs)", ylabel="index (value units)")
            return table

        save_figure("page-index", draw, "The index rises with the age.", "A rising curve.")

    Parameters
    ----------
    id : str
        Permanent id, unique in the book: lower-case words joined by hyphens.
    draw : callable
        Draws into an empty figure and returns the data that it drew, as a data frame or a mapping
        of columns. It is called once for each width and background, and must return the same data
        each time: nothing in it is random or takes long.
    caption : str
        One message, in Markdown without directives; true of the parameters of this run.
    alt : str
        What a reader who cannot see the figure should know: its message, not its looks.
    height : float
        Height in inches on a wide screen, where the width is 7 inches.
    instances : str, optional
        Id of the instance-level results behind it, which `save_data` saved before.

    Raises
    ------
    TypeError
        If `draw` is no function.
    ValueError
        If the id is malformed or taken, the caption, the alt text or the data are empty, `draw`
        returns other data when it is called again, or there are no such instances.
    """
    check_id(id)
    check_instances(instances)
    if not callable(draw):
        raise TypeError(f"draw must be a function of a figure, got {type(draw).__name__}")
    for name, text in {"caption": caption, "alt": alt}.items():
        if not text.strip():
            raise ValueError(f"{name} of the figure {id!r} must not be empty")
    folder = run_folder() / "figures"
    saved: pd.DataFrame | None = None
    for ending, changes in list(VARIANTS.items())[: 1 if by_hand() else None]:
        with style.context([STYLE, *changes, {"svg.hashsalt": id}], after_reset=True):
            width = NARROW_WIDTH if NARROW in ending else WIDTH
            figure = Figure(figsize=(width, height), layout="constrained")
            frame = pd.DataFrame(draw(figure))
            if frame.empty:
                raise ValueError(f"data of the figure {id!r} must not be empty")
            if saved is None:
                write_csv(frame, folder / f"{id}.csv")
            elif not frame.equals(saved):
                raise ValueError(f"draw of the figure {id!r} must return the same data each time")
            saved = frame
            _fix_layout(figure)
            for form in FORMATS if ending == "svg" else ("svg",):
                path = folder / f"{id}.{ending.removesuffix('svg')}{form}"
                figure.savefig(path, metadata=_METADATA[form])
    texts = {"caption": " ".join(caption.split()), "alt": " ".join(alt.split())}
    write_provenance("figure", folder, {"id": id, **texts, "instances": instances})
    if by_hand():
        from IPython.display import Image

        show_by_hand(Image(filename=folder / f"{id}.png", width=96 * WIDTH))


def _fix_layout(figure: Figure) -> None:
    """Compute the layout once: `savefig` would compute it again for each format.

    Positions of panels are rounded: their last bits differ from run to run, and an SVG derives the
    ids of its clip paths from all bits.
    """
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    figure.set_layout_engine(None)
    for axes in figure.axes:
        axes.set_position(Bbox(axes.get_position(original=True).get_points().round(9)))


# Tables and data


def save_table(
    id: str,
    frame: pd.DataFrame,
    caption: str,
    *,
    formats: Mapping[str, str] | str | None = None,
    labels: Mapping[str, str] | None = None,
    instances: str | None = None,
) -> None:
    """Save a table with its data, caption and provenance; outside the runner, display it too.

    A page shows it with the directive of the same id::

        save_table("page-what", frame, "One message.", formats=".3f")

        ```{repro-table} page-what
        ```

    Parameters
    ----------
    id : str
        Permanent id, unique among figures, tables and data of the book: lower-case words joined by
        hyphens, by custom the page's name first.
    frame : pandas.DataFrame
        The rows. The levels of a named index become row headers; an index without a name must be a
        RangeIndex, and is left out.
    caption : str
        One message, in Markdown without directives; true of the parameters of this run.
    formats : str or mapping of column to str, optional
        Format specifications such as ``".3f"``: one for all floating-point columns, or one a
        column. Default: six significant digits. The CSV has all digits.
    labels : mapping of column (or index level) to str, optional
        Column headings in Markdown, with units; default: the column's name.
    instances : str, optional
        Id of the instance-level results behind it, which `save_data` saved before.

    Raises
    ------
    ValueError
        If the id is malformed or taken, the caption or the frame is empty, column names are not
        unique texts, or formats, labels or instances name a column or data that do not exist.
    """
    check_id(id)
    check_instances(instances)
    flat, names, heads = _with_index_as_columns(id, frame)
    if not caption.strip():
        raise ValueError(f"caption of the table {id!r} must not be empty")
    column_formats: Mapping[str, str] = formats if isinstance(formats, Mapping) else {}
    for name, mapping in {"formats": column_formats, "labels": labels or {}}.items():
        if unknown := sorted(set(mapping) - set(names)):
            raise ValueError(f"{name} must name columns of the table {id!r}, got {unknown}")
    every = formats if isinstance(formats, str) else _PLAIN
    folder = run_folder() / "tables"
    write_csv(flat, folder / f"{id}.csv")
    columns = [
        [_cell_text(v, column_formats.get(name, ""), every) for v in flat[name]] for name in names
    ]
    description = {
        "id": id,
        "caption": " ".join(caption.split()),
        "header": [(labels or {}).get(name, name) for name in names],
        "heads": heads,
        "numeric": [pd.api.types.is_numeric_dtype(flat[name]) for name in names],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "instances": instances,
    }
    write_provenance("table", folder, description)
    show_by_hand(frame)


def save_data(id: str, frame: pd.DataFrame, description: str, columns: Mapping[str, str]) -> None:
    """Save the instance-level results of an experiment as one tidy CSV.

    A figure or table links to them by ``instances="page-instances"``::

        save_data(
            "page-instances",
            frame,
            "One row a random instance and policy.",
            {"instance": "number of the instance", "loss": "loss against the optimum, in %"},
        )

    Parameters
    ----------
    id : str
        Permanent id, unique among figures, tables and data of the book.
    frame : pandas.DataFrame
        One row an instance (or replication, or epoch), one column a variable; no index is kept.
    description : str
        What one row is, and of which experiment, in one plain sentence.
    columns : mapping of column to str
        What each column holds, with its unit.

    Raises
    ------
    ValueError
        If the id is malformed or taken, the frame or the description is empty, or a column is not
        described.
    """
    check_id(id)
    flat, names, _ = _with_index_as_columns(id, frame)
    if not description.strip():
        raise ValueError(f"description of the data {id!r} must not be empty")
    if names != list(columns) or not all(text.strip() for text in columns.values()):
        raise ValueError(
            f"columns of the data {id!r} must describe {names} in this order, got {dict(columns)}"
        )
    folder = run_folder() / "data"
    write_csv(flat, folder / f"{id}.csv")
    explained = [{"name": name, "description": text} for name, text in columns.items()]
    text = " ".join(description.split())
    write_provenance(
        "data",
        folder,
        {"id": id, "description": text, "columns": explained, "count": len(flat)},
    )


def _with_index_as_columns(id: str, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str], int]:
    """Return the frame with its index as columns, the column names and the number of index levels.

    An index without a name is dropped, and counts as no level.
    """
    if frame.empty:
        raise ValueError(f"frame of {id!r} must have rows and columns, got shape {frame.shape}")
    named = [name is not None for name in frame.index.names]
    if not all(named) and not isinstance(frame.index, pd.RangeIndex):
        raise ValueError(f"index of {id!r} must have a name, which heads its column")
    flat = frame.reset_index() if all(named) else frame
    if not all(isinstance(name, str) and name for name in flat) or not flat.columns.is_unique:
        raise ValueError(f"columns of {id!r} must have one name each, got {list(flat)}")
    return flat, [str(name) for name in flat], frame.index.nlevels if all(named) else 0


def _cell_text(value: Any, style: str, every: str) -> str:
    """Format a cell: with `style` if it is given, else floats with the format `every`."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return NONE
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return format(int(value), style or "d")
    if isinstance(value, (float, np.floating)):
        text = format(float(value), style or every)
        # Zero has no sign; the letters keep that of -nan and -inf.
        return text.lstrip("-") if not any(c in "123456789ni" for c in text) else text
    return str(value)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as CSV with `DIGITS` significant digits, reproducibly to the byte.

    `escape_cell` escapes texts that a spreadsheet would read as formulas.
    """
    path.parent.mkdir(exist_ok=True)
    safe = frame.apply(
        lambda column: column if is_numeric_dtype(column) else column.map(escape_cell)
    )
    safe.columns = [escape_cell(name) for name in frame.columns]
    text = safe.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
    path.write_bytes(encode_csv(text))
