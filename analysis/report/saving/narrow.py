"""A figure relaid for a telephone: panels below each other, lines broken, no letter too small.

Nothing is computed anew: the same artists get another page. It is shown some 342 pixels wide on a
telephone, so that a letter of 8 points has 9 pixels there.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpecBase
from matplotlib.text import Text

#: Width of a narrow figure, in inches, and its least letters, in points.
WIDTH = 4.2
LEAST = 8.0
#: Width of a letter as a share of its height, on average.
_SLIM = 0.52
#: Panels that stand below each other; more stand in two columns.
_ONE_COLUMN = 4
_PIECE = re.compile(r"(?:\$[^$]*\$|\S)+")


def relay(figure: Figure) -> None:
    """Lay a figure out anew, in place, in a column of a telephone's width.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        A drawn figure whose panels stand in one grid, as `analysis.report.figure` makes it. It
        keeps its constrained layout, which the next drawing applies.
    """
    # Panels of the grid that were left empty go; a drawing, which has no axes either, stays.
    for axes in figure.axes:
        if not axes.get_visible() or not (axes.axison or axes.has_data()):
            axes.remove()
    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    columns = 1 if len(panels) <= _ONE_COLUMN else 2
    rows = -(-len(panels) // columns)
    each = figure.get_size_inches()[1] / _grid(panels[0]).nrows
    figure.set_layout_engine("constrained")
    _stack(figure, panels, rows, columns)
    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), LEAST))
    lines = _fold_legends(figure, panels)
    for text in (figure._suptitle, figure._supxlabel):  # type: ignore[attr-defined]
        if text is not None:
            _break(text, WIDTH - 0.2)
    for axes in panels:
        for label in axes.get_yticklabels():
            label.set_text(textwrap.fill(label.get_text(), 18))
    figure.set_size_inches(WIDTH, each * rows + 0.17 * lines + 0.15)
    titles = {text: text.get_text() for axes in panels for text in _titles(axes)}
    # The constrained layout reserves width for titles: break long ones before it runs.
    for text in titles:
        _break(text, 1.5 * WIDTH / columns)
    figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]
    for text, words in titles.items():
        text.set_text(words)
    for axes in panels:
        _break_lines(axes)
        _keep_apart(axes.xaxis)
    # Titles of more than three lines get a room of their own, and press no panel flat.
    breaks = max((text.get_text().count("\n") for text in titles), default=0)
    figure.set_figheight(figure.get_figheight() + 0.14 * rows * max(0, breaks - 2))


def _grid(axes: Axes) -> GridSpecBase:
    place = axes.get_subplotspec()
    assert place is not None
    return place.get_gridspec()


def _stack(figure: Figure, panels: list[Axes], rows: int, columns: int) -> None:
    """Put the panels into a grid of few columns; each has its own labels and ticks again."""
    before = _grid(panels[0])
    if before.ncols == columns:
        return
    grid = figure.add_gridspec(rows, columns)
    named = {axes: _of_its_row(axes, panels).get_ylabel() for axes in panels}
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


def _of_its_row(axes: Axes, panels: list[Axes]) -> Axes:
    """Return the panel of the same row that names the vertical axis."""
    row = axes.get_subplotspec().rowspan.start  # type: ignore[union-attr]
    mates = [one for one in panels if one.get_subplotspec().rowspan.start == row]  # type: ignore[union-attr]
    return next((one for one in (axes, *mates) if one.get_ylabel()), axes)


def _fold_legends(figure: Figure, panels: list[Axes]) -> int:
    """Put the figure's legend, or that of its only panel, below it; return its number of lines."""
    own = [legend for axes in panels if (legend := axes.get_legend()) is not None]
    legends = [*figure.legends, *(own if len(panels) == 1 else [])]
    named = figure.get_supxlabel()  # it stands where a legend would
    # Of points with bars a legend keeps a bare line: it has to be given the points themselves.
    points = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        if isinstance(handle, ErrorbarContainer)
    }
    lines = 0
    for legend in legends:
        title = legend.get_title().get_text()
        labels = [_broken(text.get_text(), WIDTH - 0.8, LEAST) for text in legend.get_texts()]
        widest = max(len(_plain(line)) for label in labels for line in label.split("\n"))
        columns = max(1, min(len(labels), int(WIDTH * 72 / (LEAST * (_SLIM * widest + 4.5)))))
        handles = [
            points.get(text.get_text(), handle)
            for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
            if handle is not None
        ]
        figure.legend(
            handles,
            labels,
            title=_broken(title, WIDTH - 0.8, LEAST) or None,
            loc="outside upper left" if named else "outside lower left",
            ncols=columns,
            fontsize=LEAST,
            title_fontsize=LEAST,
            columnspacing=1.0,
        )
        legend.remove()
        lines += -(-len(labels) // columns) + sum(label.count("\n") for label in labels)
        lines += bool(title)
    for legend in own if len(panels) > 1 else []:
        for text in legend.get_texts():
            text.set_text(_broken(text.get_text(), WIDTH / 2, LEAST))
            text.set_fontsize(LEAST)
    return lines


def _break_lines(axes: Axes) -> None:
    """Break the lines around a panel that was laid out once, and so has a size."""
    size = axes.get_window_extent()
    dpi = axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    width, height = size.width / dpi, size.height / dpi
    for text in (*_titles(axes), axes.xaxis.label):
        _break(text, width)
    _break(axes.yaxis.label, height)


def _titles(axes: Axes) -> list[Text]:
    """Return the titles of a panel, at the left, in the middle and at the right, that it has."""
    titles = axes._left_title, axes.title, axes._right_title  # type: ignore[attr-defined]
    return [text for text in titles if text.get_text()]


def _break(text: Text, inches: float) -> None:
    text.set_text(_broken(text.get_text(), inches, float(text.get_fontsize())))


def _broken(words: str, inches: float, size: float) -> str:
    """Break lines that are too wide; mathematics is one word, as long as its letters."""
    letters = int(inches * 72 / (_SLIM * size))
    return "\n".join(_wrapped(line, letters) for line in words.split("\n"))


def _wrapped(line: str, letters: int) -> str:
    if len(_plain(line)) <= letters:
        return line
    lines, used = [""], 0
    for piece in _pieces(line, letters):
        length = len(_plain(piece))
        if used and used + 1 + length > letters:
            lines.append("")
            used = 0
        lines[-1] += (" " if used else "") + piece
        used += length + (1 if used else 0)
    return "\n".join(lines)


def _pieces(line: str, letters: int) -> Iterator[str]:
    """Yield the words of a line; one that is longer than a line, such as an address, in parts."""
    for word in _PIECE.findall(line):
        if len(word) > letters and not set(word) & set("$\\"):
            yield from textwrap.wrap(word, letters, break_on_hyphens=False)
        else:
            yield word


def _plain(words: str) -> str:
    """Return words without the commands of mathematics, for their length alone."""
    return re.sub(r"\\[a-zA-Z]+|[${}^_\\]", "", re.sub(r"\\(?=[a-zA-Z]+)", r"x\\", words))


def _keep_apart(axis: Axis) -> None:
    """Tell tick labels apart that run into each other: words are turned, numbers left out."""
    labels = [label for label in axis.get_ticklabels() if label.get_text()]
    boxes = {label: label.get_window_extent() for label in labels}
    labels.sort(key=lambda label: boxes[label].x0)
    if all(boxes[right].x0 > boxes[left].x1 + 2 for left, right in pairwise(labels)):
        return
    if any(re.search("[a-z]{2}", label.get_text().replace("mathdefault", "")) for label in labels):
        for label in labels:
            label.set(rotation=35, horizontalalignment="right", rotation_mode="anchor")
        return
    end = -np.inf
    for label in labels:
        label.set_visible(bool(boxes[label].x0 > end + 2))
        end = boxes[label].x1 if label.get_visible() else end
