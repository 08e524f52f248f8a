"""The narrow layout of a figure, for telephones: stacked panels, wrapped text, a minimum font size.

The artists of the drawn figure are moved; no data are drawn again. A telephone shows the figure
about 342 pixels wide, so that a letter of 8 points is 9 pixels high.
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
from matplotlib.ticker import FixedLocator

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
    row_height = figure.get_size_inches()[1] / _grid(panels[0]).nrows
    figure.set_layout_engine("constrained")
    _stack(figure, panels, rows, columns)
    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), MINIMUM_POINTS))
    lines = _move_legends_below(figure, panels)
    for text in figure.texts:  # its title and the label below all panels
        if text.get_text() in {figure.get_suptitle(), figure.get_supxlabel()}:
            _wrap(text, WIDTH - 0.2)
    for axes in panels:
        _wrap_names(axes.yaxis)
    figure.set_size_inches(WIDTH, row_height * rows + 0.17 * lines + 0.15)
    titles = {text: text.get_text() for axes in panels for text in _titles(axes)}
    # The constrained layout reserves width for titles: break long ones before it runs.
    for text in titles:
        _wrap(text, 1.5 * WIDTH / columns)
    figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]
    for text, original in titles.items():
        text.set_text(original)
    for axes in panels:
        _wrap_panel_labels(axes)
        _separate_tick_labels(axes.xaxis)
    # Add height for titles of more than three lines, so that they do not shrink the panels.
    breaks = max((text.get_text().count("\n") for text in titles), default=0)
    figure.set_figheight(figure.get_figheight() + 0.14 * rows * max(0, breaks - 2))


def _grid(axes: Axes) -> GridSpecBase:
    spec = axes.get_subplotspec()
    assert spec is not None
    return spec.get_gridspec()


def _stack(figure: Figure, panels: list[Axes], rows: int, columns: int) -> None:
    """Move the panels to a grid with fewer columns, and restore the labels that they shared."""
    before = _grid(panels[0])
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
            _wrapped_text(text.get_text(), WIDTH - 0.8, MINIMUM_POINTS)
            for text in legend.get_texts()
        ]
        widest = max(len(_visible_text(line)) for label in labels for line in label.split("\n"))
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
            title=_wrapped_text(title, WIDTH - 0.8, MINIMUM_POINTS) or None,
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
            text.set_text(_wrapped_text(text.get_text(), WIDTH / 2, MINIMUM_POINTS))
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
    for text in (*_titles(axes), axes.xaxis.label):
        _wrap(text, width)
    _wrap(axes.yaxis.label, height)


def _titles(axes: Axes) -> list[Text]:
    """Return the titles of a panel that are not empty: centre, left, right."""
    texts = [child for child in axes.get_children() if isinstance(child, Text)]
    return [text for text in texts if text not in axes.texts and text.get_text()]


def _wrap(text: Text, inches: float) -> None:
    text.set_text(_wrapped_text(text.get_text(), inches, float(text.get_fontsize())))


def _wrapped_text(text: str, inches: float, size: float) -> str:
    """Wrap lines that are too wide; a formula is never broken and counts its visible letters."""
    letters = int(inches * 72 / (_LETTER_ASPECT * size))
    return "\n".join(_wrapped_line(line, letters) for line in text.split("\n"))


def _wrapped_line(line: str, letters: int) -> str:
    if len(_visible_text(line)) <= letters:
        return line
    lines, used = [""], 0
    for piece in _tokens(line, letters):
        length = len(_visible_text(piece))
        if used and used + 1 + length > letters:
            lines.append("")
            used = 0
        lines[-1] += (" " if used else "") + piece
        used += length + (1 if used else 0)
    return "\n".join(lines)


def _tokens(line: str, letters: int) -> Iterator[str]:
    """Yield the words of a line; split a word that is longer than a line, such as a URL."""
    for word in _TOKEN.findall(line):
        if len(word) > letters and not set(word) & set("$\\"):
            yield from textwrap.wrap(word, letters, break_on_hyphens=False)
        else:
            yield word


def _visible_text(text: str) -> str:
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
