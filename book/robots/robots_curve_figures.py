"""Figures of the page on the switching curve.

The queue runs across and the robots up, so that row r of the proof is a row of the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, LogNorm
from matplotlib.figure import Figure

from analysis.robots.curve import OptimalSequence
from analysis.robots.curve.values import CurveValues
from book.robots.robots_curve import index_rises, list_curve_values
from book.robots.shared import ALWAYS, HIGH, LOW, NEVER
from scorecard import COLOURS, add_legend, add_panels, save_figure

STYLES = ("-", "--", "-.")
#: Boxes up to which each bears its number.
MOST_NUMBERS = 140
#: Queue lengths whose numbers fit beside each other on a telephone.
MOST_COLUMNS = 7


def draw_diagram(sequence: OptimalSequence, gammas: Sequence[float], arrival_rate: float) -> None:
    """Draw the boxes with their indices, and the curves of some weights."""
    index = sequence.index().T
    robots, capacity = index.shape[0], index.shape[1] - 1
    free = np.ma.masked_where((index == 0) | np.isinf(index), index)
    grid = np.arange(capacity + 2) - 0.5, np.arange(robots + 1) - 0.5
    settled = np.ma.masked_where(~free.mask, np.isinf(index))
    rises = "The index rises with the queue, and less steeply with the robots. "

    table = pd.DataFrame(index, columns=[f"q = {q}" for q in range(capacity + 1)])
    table = table.rename_axis("r").reset_index()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.pcolormesh(*grid, settled, cmap=ListedColormap([ALWAYS, NEVER]), vmin=0, vmax=1)
        mesh = axis.pcolormesh(
            *grid, free, norm=LogNorm(), cmap=LinearSegmentedColormap.from_list("", [LOW, HIGH])
        )
        if index.size <= MOST_NUMBERS and capacity < MOST_COLUMNS:
            for (r, q), value in np.ndenumerate(index):
                digits = 1 if value < 0.01 else 2
                label = "∞" if np.isinf(value) else f"{value:.{digits}g}"
                axis.text(q, r, label, ha="center", va="center", color="black")
        _draw_outline(axis, sequence, gammas)
        figure.colorbar(mesh, ax=axis, label="index: weight γ from which a robot is started")
        axis.set(xlabel="pages left, q", ylabel="robots already active, r")
        axis.set(xticks=range(capacity + 1), xlim=(-0.5, capacity + 0.5))
        axis.set(yticks=range(0, robots, 1 + robots // 20), ylim=(-0.5, robots - 0.5))
        axis.grid(False)
        add_legend(figure)
        return table

    save_figure(
        "robots-curve-diagram",
        draw,
        caption=f"The boxes for $N = {robots}$, $K = {capacity}$, $\\lambda = {arrival_rate:g}$, "
        "$\\mu = 1$: the colour of a box is its index, the weight of starvation from which a robot "
        "is started there, 0 (green) for always and infinite (orange) for never. Each "
        "line is the optimal switching curve at one weight; as the weight rises it takes in box "
        "after box.",
        alt=f"A grid of {capacity + 1} queue lengths by {robots} numbers of active robots. "
        f"{rises * index_rises(index.T)}Lines separate boxes with an index below a weight from the "
        "others: staircases that step back by 0 or 1 with each more robot.",
        height=min(8.0, 1.6 + 0.27 * robots),
    )


def _draw_outline(axis: Axes, sequence: OptimalSequence, gammas: Sequence[float]) -> None:
    """Draw the edge of the started boxes at each weight."""
    robots = sequence.queue.robots
    for number, gamma in enumerate(gammas):
        heights = sequence.policy(sequence.position(gamma))[:, :-1].sum(axis=0) - 0.5
        shift = 0.06 * (number - (len(gammas) - 1) / 2)
        edges = np.repeat(np.arange(robots + 1) - 0.5, 2)[1:-1]
        (line,) = axis.plot(
            np.repeat(heights, 2) + shift, edges, linewidth=2.4, color=COLOURS[number % 3],
            linestyle=STYLES[number % 3], label=f"curve at γ = {gamma:g}",
        )  # fmt: skip
        line.set_path_effects([patheffects.Stroke(linewidth=4.4, foreground="white"),
                               patheffects.Normal()])  # fmt: skip


def draw_idea(values: CurveValues) -> None:
    """Draw what the proof knows of the neighbours of a curve, and the values along the curve."""
    steps = list_curve_values(values)
    robots, capacity = values.robots, values.capacity

    def draw(figure: Figure) -> pd.DataFrame:
        boxes, axis = add_panels(figure, 2, width_ratios=[1.25, 1])
        _draw_boxes(boxes, values)
        axis.plot(steps["r"], steps["A"], "o-", color=COLOURS[0], label="$A_r$, across the curve")
        axis.plot(
            steps["r"], steps["F"], "v--", color=COLOURS[1], label="$F_{r+1}(A_r)$, one step on"
        )
        axis.set(
            xlabel="robots already active, r",
            ylabel="one page more for one robot less\n(lost pages)",
        )
        axis.set_xticks(range(robots))
        axis.legend()
        return steps

    save_figure(
        "robots-curve-idea",
        draw,
        caption=f"An exact optimum, $N = {robots}$, $K = {capacity}$. In the boxes: a robot is "
        "started in the blue and green ones, in the green ones by early start. Numbers say how a "
        "statement travels. (1) From row to row along the curve, by steps $F_r$ of the optimality "
        "equation. (2) From the curve into its row: the value is convex "
        "in the queue. (3) Then $d$ rises along the row, and (4) from row to row. In the other "
        "panel: a further step $F_{r+1}$ always leads below $A_r$, which is what (2) starts from.",
        alt="A grid of boxes with a staircase between those in which a robot is started and the "
        "others; arrows along the staircase, from it into a row, along a row and across rows. "
        "Beside it two falling lines, the values across the curve and their next steps, which lie "
        "below them.",
        height=3.9,
    )


def _draw_boxes(axis: Axes, values: CurveValues) -> None:
    robots, capacity = values.robots, values.capacity
    kinds = np.array(
        [
            [0 if q + r < capacity else 1 if values.on(q, r) else 2 for q in range(capacity + 1)]
            for r in range(robots)
        ]
    )
    axis.pcolormesh(
        np.arange(capacity + 2) - 0.5,
        np.arange(robots + 1) - 0.5,
        kinds,
        cmap=ListedColormap([ALWAYS, HIGH, NEVER]),
        edgecolors="#fffbe8",
        linewidth=0.8,
    )
    corners = [(values.f(r) + 0.5, r) for r in range(robots)]
    across, up = zip(*corners, strict=True)
    axis.plot(across, up, "o", color="#14213d", markersize=5)
    middle = robots // 2
    arrows = [(*both, int(r == middle)) for r, both in enumerate(pairwise(corners))]
    arrows += [
        ((across[middle + 1], middle + 1), (across[middle + 1] + 1.9, middle + 1), 2),
        ((capacity - 2.9, robots - 1), (capacity - 1.0, robots - 1), 3),
        ((capacity, 1), (capacity, 3), 4),
    ]
    axis.text(0.5, 1, "$d < 0$", ha="center", va="center", color="black")
    axis.text(capacity, robots - 2, "$d > 0$", ha="center", va="center", color="black")
    for start, end, number in arrows:
        axis.annotate(
            "", end, start, arrowprops={"arrowstyle": "-|>", "color": "#14213d", "linewidth": 1.6}
        )
        if number:
            middle_point = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
            axis.text(
                *middle_point, str(number), ha="center", va="center", color="black",
                bbox={"boxstyle": "circle", "facecolor": "#fffbe0", "edgecolor": "#14213d"},
            )  # fmt: skip
    axis.set(xlabel="pages left, q", ylabel="robots already active, r")
    axis.set(xticks=range(capacity + 1), yticks=range(robots))
    axis.grid(False)


def draw_envelope(sequence: OptimalSequence, gammas: Sequence[float]) -> None:
    """Draw the optimal cost as the lower envelope of the lines of the sequence's policies."""
    costs = np.array(sequence.costs, dtype=float)
    high = 2.0 * max(gammas)
    grid = np.linspace(0.0, high, 200)
    lines = costs[:, 0] + grid[:, None] * costs[:, 1]
    lowest = lines.min(axis=1)
    turns = np.array([p for p in map(float, sequence.breakpoints) if p <= high])
    distinct = len({(f"{loss:.10g}", f"{starved:.10g}") for loss, starved in costs})

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(grid, lines, color="grey", linewidth=0.6, alpha=0.7)
        axis.plot(grid, lowest, color=COLOURS[0], linewidth=2.4, label="optimal cost")
        axis.plot(
            turns, [sequence.gain(p) for p in turns], "|", color=COLOURS[1], markersize=9,
            label="breakpoints: a box is added",
        )  # fmt: skip
        axis.set(
            xlabel="weight of starvation γ (μ = 1)", ylabel="cost per unit of time\n(in lost pages)"
        )
        axis.set(xlim=(0, 1.03 * high), ylim=(0, 1.25 * lowest.max()))
        add_legend(figure)
        return pd.DataFrame({"gamma": grid, "optimal cost": lowest})

    save_figure(
        "robots-curve-envelope",
        draw,
        caption="Each policy of the sequence costs $L + \\gamma S$, a line in the weight (grey); "
        "the optimum is their lower envelope. There are "
        f"{len(sequence)} policies for all weights from nothing to infinity, on {distinct} lines: "
        "some boxes are added where no recurrent state asks for them.",
        alt="Many thin straight lines of different slope; the lowest of them at each weight "
        "together form a concave rising curve, on which ticks mark where a box is added.",
        height=3.9,
    )
