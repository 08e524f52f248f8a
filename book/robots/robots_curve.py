"""The switching curve: its theorem on exact values, its ends, and the draft's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, LogNorm
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.robots.control import RobotControl, without_cap
from analysis.robots.curve import (
    OptimalSequence,
    ReducedQueue,
    lossless_until,
    optimal_range,
    optimal_sequence,
    saturated_from,
)
from analysis.robots.curve.growth import largest_checked_fleet
from analysis.robots.curve.statements import STATEMENTS, count_outcomes
from analysis.robots.curve.values import (
    CurveValues,
    curve_line,
    draw_optima,
    draw_other_curves,
    linear_rates,
    optimal_curve,
)
from analysis.robots.mm1k import optimal_robots
from book.robots.shared import ALWAYS, HIGH, LOW, NEVER, list_printed_rows, read_gamma
from scorecard import (
    COLOURS,
    MACHINE_CHECKED,
    Claim,
    add_legend,
    add_panels,
    claim,
    save_figure,
    save_value,
)

#: Three robots that share a line: lambda_r in the unit of mu. With K = 3 they need no curve.
SHARED = [Fraction(0), Fraction(3), Fraction(31, 10), Fraction(16, 5)]
#: Fleets for which the policies that a search would have to evaluate are counted: (N, K, lambda).
SEARCHED = [(4, 6, 0.3), (8, 10, 0.15), (16, 16, 0.1), (16, 5, 0.1), (40, 15, 0.03)]


# The theorem on exact values ----------------------------------------------------------------------


def count_statement_checks(number: int, others: int, seed: int) -> pd.DataFrame:
    """Count how often each statement of the proof held: at optima, and off them where it follows.

    Each optimum is checked at a weight and at both ends of its range.
    """
    right, wrong = (
        count_outcomes(draw_optima(seed, number)),
        count_outcomes(draw_other_curves(seed, others)),
    )
    table = pd.DataFrame(
        {
            "at optima": [right[name].cases for name in STATEMENTS],
            "of them true": [right[name].assumed - right[name].failed for name in STATEMENTS],
            "hypotheses elsewhere": [wrong[name].assumed for name in STATEMENTS],
            "conclusions": [wrong[name].assumed - wrong[name].failed for name in STATEMENTS],
        },
        index=pd.Index(STATEMENTS, name="statement"),
    )
    return table


def statements_hold(table: pd.DataFrame) -> bool:
    """Whether no statement of such a table has failed, and each has been tried at optima."""
    true = table["at optima"] == table["of them true"]
    follows = table["hypotheses elsewhere"] == table["conclusions"]
    return bool(true.all() and follows.all() and (table["at optima"] > 0).all())


@dataclass(frozen=True)
class Shared:
    """The robots that share a line, K = 3."""

    # The costs theta between which no curve is optimal.
    low: float
    high: float
    # The statements that fail at the ties before, at which the optima are curves.
    failing: tuple[str, ...]
    above: float  # d(3, 0) at the tie that ends the curves


def follow_shared_line() -> Shared:
    """Follow the optimal policies of robots that share a line, in rational numbers."""
    sequence = optimal_sequence(3, SHARED, 1, 3, exact=True)
    assert sequence.costs is not None
    curve, values = [2, 1, 0], []
    for gamma, (q, r) in zip(sequence.breakpoints, sequence.switched, strict=True):
        values.append(curve_line(SHARED, 3, tuple(curve)).at(gamma))
        if r and curve[r - 1] < q:
            break
        curve[r] = q
    last = len(values)
    gains = [
        float(loss + gamma * starved)
        for gamma, (loss, starved) in zip(sequence.breakpoints, sequence.costs[1:], strict=True)
    ]
    failing = tuple(name for name, count in count_outcomes(values).items() if count.failed)
    return Shared(gains[last - 1], gains[last], failing, _to_float(values[-1].d(3, 0)))


def count_shared_lines(instances: int, robots: int, rng: np.random.Generator) -> int:
    """Count random concave rates (N robots, K >= N) with an optimum that is no switching curve."""
    strange = 0
    for _ in range(instances):
        steps = np.sort(np.exp(rng.uniform(-3, 1.5, size=robots)))[::-1]
        sequence = optimal_sequence(robots, [0.0, *np.cumsum(steps)])
        strange += not sequence.are_curves
    return strange


def list_optimum_steps(robots: int, arrival_rate: float, capacity: int, gamma: float) -> Any:
    """Return the exact optimum that the figure of the proof shows."""
    lam, weight = (Fraction(x).limit_denominator(10**6) for x in (arrival_rate, gamma))
    return optimal_curve(linear_rates(robots, lam), capacity, weight).at(weight)


def list_curve_values(values: CurveValues) -> pd.DataFrame:
    """Return f(r), A_r and the next step F_(r+1)(A_r) of each row."""
    rows = range(values.robots)
    return pd.DataFrame(
        {
            "r": rows,
            "f(r)": [values.f(r) for r in rows],
            "A": [_to_float(values.along(r)) for r in rows],
            "F": [_to_float(values.onwards(r + 1, values.along(r))) for r in rows],
        }
    )


def _to_float(exact: Any) -> float:
    return float(Fraction(int(exact.p), int(exact.q)))


# What follows -------------------------------------------------------------------------------------


def compare_ends(robots: int, arrival_rate: float, capacities: Sequence[int]) -> pd.DataFrame:
    """Return the closed forms of the first and the last box beside what the search finds (mu = 1).

    The search follows all optimal policies, whatever their shape, in rational numbers.
    """
    lam = Fraction(arrival_rate).limit_denominator(10**6)
    rows = []
    for capacity in capacities:
        sequence = optimal_sequence(robots, lam, 1, capacity, exact=True)
        first, last = (closed(robots, lam, capacity) for closed in (lossless_until, saturated_from))
        edges = [(sequence.breakpoints[k], sequence.switched[k]) for k in (0, -1)]
        rows.append(
            {
                "K": capacity,
                "first box": str(first.box),
                "from γ": float(first.gamma),
                "last box": str(last.box),
                "from γ on": float(last.gamma),
                "as the search": edges == [(first.gamma, first.box), (last.gamma, last.box)],
            }
        )
    return pd.DataFrame(rows).set_index("K")


def count_evaluated_policies(weights: int) -> pd.DataFrame:
    """Count the policies that each method evaluates for an optimum, over weights 0.01 to 100.

    Policy iteration tries a few; a search along the growing curves evaluates those from the first
    one on; a search among curves with falls of 0 or 1 has them all before it.
    """
    rows = []
    for robots, capacity, lam in SEARCHED:
        tried, steps = [], []
        for gamma in np.geomspace(0.01, 100, weights):
            solution = RobotControl(robots, lam, 1.0, capacity, float(gamma)).solve()
            tried.append(solution.iterations)
            lowest = np.maximum(capacity - 1 - np.arange(robots), -1)
            steps.append(1 + int((solution.curve - lowest).sum()))
        rows.append(
            {
                "N": robots,
                "K": capacity,
                "policy iteration": f"{min(tried)} to {max(tried)}",
                "box by box": f"{min(steps)} to {max(steps)}",
                "curves": f"{_count_gentle_curves(robots, capacity):.3g}",
                "ratio": float(np.mean(steps) / np.mean(tried)),
            }
        )
    return pd.DataFrame(rows).set_index(["N", "K"])


def _count_gentle_curves(robots: int, capacity: int) -> int:
    """Count the curves with falls of 0 or 1 that are off at (K, N - 1)."""
    ways = {capacity: 1, capacity - 1: 1}
    for _ in range(robots - 1):
        after: dict[int, int] = {}
        for height, number in ways.items():
            for lower in {height, max(height - 1, -1)}:
                after[lower] = after.get(lower, 0) + number
        ways = after
    return sum(ways.values()) - ways.get(capacity, 0)


# All weights at once ------------------------------------------------------------------------------


def index_rises(index: Floats) -> bool:
    """Whether the index rises with r, and no slower from (q, r + 1) to (q + 1, r)."""
    along = (index[:, :-1] <= index[:, 1:]).all()
    return bool(along and (index[:-1, 1:] <= index[1:, :-1]).all())


def find_table_weights() -> pd.DataFrame:
    """Return for each row of Tables 1 and 2 the breakpoints next to its weight (mu = 1)."""
    rows = []
    for table, rate_text, places, printed in list_printed_rows():
        capacity, lam = int(places), float(rate_text)
        gamma = read_gamma(printed, capacity, 1.0)
        if table == "t1":
            model = RobotControl(
                optimal_robots(lam, gamma, capacity, 1.0), lam, 1.0, capacity, gamma
            )
            solution = model.solve()
        else:
            model, solution = without_cap(lam, 1.0, capacity, gamma)
        queue = ReducedQueue(model.robots, capacity)
        low, high = optimal_range(queue, solution.policy, 1.0, model.arrival_rates)
        rows.append(
            {
                "table": table[1:],
                "λ": rate_text,
                "K": capacity,
                "N": model.robots,
                "γ": gamma,
                "from": low,
                "to": high,
                "largest fall": int(-np.diff(solution.curve).min()),
            }
        )
    return pd.DataFrame(rows)


# Values and tables


def save_checks(checks: Checks) -> None:
    """Save the numbers of the checks that the page quotes."""
    statements, weights, shared = checks.statements, checks.weights, checks.shared
    save_value("robots-curve-places", int(statements["at optima"].sum()))
    save_value("robots-curve-places-true", int(statements["of them true"].sum()))
    save_value("robots-curve-elsewhere", int(statements["hypotheses elsewhere"].sum()))
    save_value("robots-curve-table-weights", len(weights))
    within = (weights["from"] <= weights["γ"]) & (weights["γ"] <= weights["to"])
    save_value("robots-curve-table-inside", int(within.sum()))
    save_value("robots-curve-narrowest", float((weights["to"] / weights["from"] - 1).min()))
    save_value("robots-curve-shared-low", shared.low)
    save_value("robots-curve-shared-high", shared.high)
    save_value("robots-curve-shared-tie", shared.above)
    save_value("robots-curve-shared-strange", checks.strange)
    save_value("robots-curve-fleet", largest_checked_fleet())


def save_shared_optimum() -> None:
    """Save the optimum of three robots that share a line, at a weight without a curve."""
    model = RobotControl(3, 3.0, 1.0, 3, 1900.0, speedup=(0.0, 1.0, 3.1 / 3, 3.2 / 3))
    best = model.solve()
    save_value("robots-curve-shared-cost", best.gain)
    save_value("robots-curve-shared-first", best.bias[3, 1] - best.bias[3, 0])
    save_value("robots-curve-shared-second", best.bias[3, 2] - best.bias[3, 1])


def least_index_above(robots: int, rate: float, capacity: int) -> float:
    """Return the least index of the boxes in the rows r >= K."""
    index = optimal_sequence(robots, rate, 1.0, capacity).index()
    return float(np.min(index[:, capacity:]))


def save_solutions() -> None:
    """Save the numbers that the solutions quote."""
    save_value("robots-curve-least-index", least_index_above(16, 0.1, 2))


# Claims


@dataclass(frozen=True)
class Checks:
    """Checks of the page's theorems."""

    # The statements of the proof on exact values, as `count_statement_checks` returns them.
    statements: pd.DataFrame
    sequence: OptimalSequence  # the optimal policies of one instance, over all weights
    ends: (
        pd.DataFrame
    )  # the closed forms of the first and the last box, as `compare_ends` returns them
    weights: pd.DataFrame  # the rows of the draft's tables, as `find_table_weights` returns them
    shared: Shared  # the counter-example
    strange: int  # random fleets that share a line and have no curve


def list_checks(checks: Checks) -> dict[str, bool]:
    """Return each statement of the page, and whether its check holds."""
    return {
        "each statement of the proof, on exact values": statements_hold(checks.statements),
        "all optimal policies of one instance are curves": checks.sequence.are_curves,
        "optimal curves of the draft's tables fall by 0 or 1": bool(
            (checks.weights["largest fall"] <= 1).all()
        ),
        "the first and the last box, in closed form": bool(checks.ends["as the search"].all()),
        "robots that share a line have no curve": checks.shared.low < checks.shared.high
        and checks.strange > 0,
        "of the proof, they break the columns alone": checks.shared.failing == ("Columns",),
    }


def claims(checks: Checks) -> list[Claim]:
    """Return the page's claims on what the draft suspects."""
    tried = int(checks.statements["at optima"].sum())
    holds = list_checks(checks)
    suspected = all(holds[name] for name in holds if "statement" in name or "curves" in name)
    return [
        claim(
            "D-suspect", suspected, basis=MACHINE_CHECKED, proof="curve-theorem",
            numbers={"places": tried},
        )
    ]  # fmt: skip


# Figures


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
