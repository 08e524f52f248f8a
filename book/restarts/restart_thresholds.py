"""Thresholds and the closed form, each in several ways.

Thresholds are numbered from 1 on the slides and in the figures: threshold k is active from state k
on, and the last, one more than there are states, is never active.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, Ints
from analysis.restarts.arm import RestartArm
from analysis.restarts.instances import SLIDE_DISCOUNT, one_step, slide_arm
from analysis.restarts.subsidised import cycle_by_definition, evaluate_policy, rates_by_equations
from analysis.restarts.whittle import Thresholds, thresholds, whittle_index
from book.restarts.shared import make_two_machines
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    ink,
    paper,
    save_figure,
    save_table,
    save_value,
)

#: Largest difference of two exact routes, relative to 1 plus the value, that counts as rounding.
AGREE = 1e-9
#: Difference of two activities below which two lines count as one.
SAME = 1e-12
#: A penalty on activity other than the two that separate cost from activity.
THIRD_PENALTY = 2.5


def tabulate_routes(indices: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Return a table of an index by the methods that compute it, 0/0 where one is not defined."""
    values = np.array(list(indices.values()), dtype=float)
    columns = pd.Index([f"state {k + 1}" for k in range(values.shape[1])])
    table = pd.DataFrame(values.round(4) + 0.0, pd.Index(list(indices), name="index by"), columns)
    return table.astype(object).where(np.isfinite(values), "0/0")


def make_skipping_arm(second: float) -> RestartArm:
    """Return an arm of 4 states that wears by two at a time, and so skips the second from new."""
    costs = np.array([0.0, second, 2.0, 4.0])
    return RestartArm(np.eye(4)[[2, 2, 3, 3]], np.eye(4)[0], costs, np.full(4, 1.5))


def compare_cycles(arms: Sequence[RestartArm], discount: float) -> pd.DataFrame:
    """Compute cost and length of a cycle, and cost and activity of a threshold, in several ways.

    By the sums that define L and M, and by elimination; ``rate`` and ``activity``, D and N, and
    ``priced``, the cost at `THIRD_PENALTY`, by the linear equations of the policy.
    """
    rows = []
    for number, arm in enumerate(arms):
        cycle = thresholds(arm, discount).elimination
        for k in range(arm.states + 1):
            cost_sum, length_sum = cycle_by_definition(arm, discount, k)
            rate, activity = rates_by_equations(arm, discount, k)
            policy = (np.arange(arm.states) >= k).astype(np.int64)
            values = evaluate_policy(arm, discount, THIRD_PENALTY, policy)[1]
            sums = {"cost_sum": cost_sum, "length_sum": length_sum}
            eliminated = {"cost": cycle.cost[k], "length": cycle.length[k]}
            solved = {"rate": rate, "activity": activity, "priced": float(arm.reset @ values)}
            rows.append({"arm": number, "threshold": k + 1} | sums | eliminated | solved)
    return pd.DataFrame(rows)


def find_best_in_states(lines: Thresholds, prices: Floats) -> Ints:
    """Return the least threshold in X, so without never active, that costs least at each price.

    As `Thresholds.best`, from differences, so that rounding does not hide lines that coincide.
    """
    falls = -np.diff(lines.activity)[:-1]
    beyond = np.cumsum(falls * (lines.crossings[:-1] - prices[:, None]), axis=1)
    return np.asarray(np.pad(beyond, ((0, 0), (1, 0))).argmin(axis=1))


def measure_gaps(
    arms: Sequence[RestartArm], discount: float, indices: Sequence[Floats]
) -> tuple[list[Floats], int]:
    """Return the gaps between neighbouring lines at an index, and how many pairs coincide.

    Of each arm and state k, D(k) + w N(k) - D(k+1) - w N(k+1), with D and N by linear equations.
    """
    gaps, same = [], 0
    for arm, index in zip(arms, indices, strict=True):
        lines = [rates_by_equations(arm, discount, k) for k in range(arm.states + 1)]
        cost, activity = -np.diff(np.array(lines), axis=0).T
        gaps.append(cost + index * activity)
        same += int((np.abs(activity) <= SAME).sum())
    return gaps, same


def find_crossings(lines: Thresholds, first: int) -> dict[tuple[int, int], float]:
    """Return where the lines of four neighbouring thresholds cross, of neighbours and next but one.

    nan where they coincide, since the states between are never visited.
    """
    rate, activity = (values[first : first + 4] for values in (lines.cost_rate, lines.activity))
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    apart = {(i, j): float(activity[i] - activity[j]) for i, j in pairs}
    return {
        (i, j): float(rate[j] - rate[i]) / slope if slope > SAME else float("nan")
        for (i, j), slope in apart.items()
    }


def find_crossing_state(lines: Thresholds, near: int) -> int:
    """Return the state nearest to one, from 0, at whose threshold two different lines cross."""
    differ = np.flatnonzero(lines.activity[:-1] > lines.activity[1:] + SAME)
    return int(differ[np.abs(differ - near).argmin()])


# Values and tables


def save_numbers(by_condition: Sequence[bool], by_chance: Sequence[bool], wrong: Bools) -> None:
    """Save the numbers that the page quotes; `wrong` marks states whose index is not the ratio."""
    save_value("restart-thresholds-instances", len(by_chance))
    save_value("restart-thresholds-chance", sum(by_chance))
    save_value("restart-thresholds-condition", sum(by_condition))
    save_value("restart-thresholds-off", 100 * float(wrong.mean()))


def collect_penalty_values(lines: Thresholds) -> dict[str, float]:
    """Return the best threshold at the third penalty, its cost, and its active epochs in %."""
    best = int(lines.best(THIRD_PENALTY))
    return {
        "penalty": THIRD_PENALTY,
        "best": best + 1,
        "best-cost": float(lines.cost_at(THIRD_PENALTY)[best]),
        "best-activity": 100 * float(lines.activity[best]),
    }


def save_cycles(cycles: pd.DataFrame) -> None:
    """Save the cycles of the first arm."""
    first = cycles[cycles.arm == 0].drop(columns="arm").set_index("threshold")
    save_table(
        "restart-thresholds-cycles",
        first,
        "One arm, by threshold: cost and length of a cycle by the sums that define them and by "
        "elimination, cost and activity by the linear equations of the policy, and its cost at a "
        f"penalty of {THIRD_PENALTY:g}.",
        formats=".4f",
        labels={
            "cost_sum": "$L$, sums",
            "length_sum": "$M$, sums",
            "cost": "$L$, elimination",
            "length": "$M$, elimination",
            "rate": "$D$",
            "activity": "$N$",
            "priced": "$C_\\lambda$",
        },
    )


def index_of_sure_wear(arm: RestartArm, discount: float) -> Floats:
    """Return the index of an arm that wears by one state an epoch, in closed form."""
    powers = discount ** np.arange(1, arm.states + 1)
    before = np.concatenate(([0.0], np.cumsum(powers * arm.passive_cost)[:-1]))
    lengths = (1 - powers) / (1 - discount)
    return np.asarray(arm.passive_cost * lengths - before - arm.active_cost)


def save_solutions() -> None:
    """Save the numbers of the solutions."""
    sure = slide_arm(one_step(5, 0.0))
    save_value("restart-thresholds-sure-formula", index_of_sure_wear(sure, SLIDE_DISCOUNT)[-1])
    save_value("restart-thresholds-sure", whittle_index(sure, SLIDE_DISCOUNT).index[-1])
    dear = make_two_machines().arms[1]
    index, gains = whittle_index(dear, SLIDE_DISCOUNT).index, dear.stopping_cost(SLIDE_DISCOUNT)
    for state, value, gain in zip(("new", "worn"), index, gains, strict=True):
        save_value(f"restart-thresholds-dear-{state}", value)
        save_value(f"restart-thresholds-dear-r-{state}", gain)


# Claims


def claims(
    discount: float,
    cycles: pd.DataFrame,
    by_condition: Sequence[bool],
    by_chance: Sequence[bool],
    best: Ints,
    ratios: Floats,
    roots: Floats,
    skipped: tuple[Floats, Floats, Floats],
    gaps: Sequence[Floats],
    same: int,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 13 to 16, 21 and 23.

    `by_condition`, `by_chance`: whether thresholds are optimal, for arms under the sufficient
    condition and for others; `best`: the best threshold in X at rising penalties; `ratios`,
    `roots`: slide 16's ratio, nan where it is 0/0, and the index by its definition, of arms under
    the condition; `skipped`: the same of an arm that never visits its second state, with the closed
    form of this page; `gaps`: as `measure_gaps` returns them, of arms under the condition and the
    one that skips a state; `same`: in how many of their states both lines are the same.
    """
    c = cycles
    several = {"thresholds": len(c), "arms": c.arm.nunique()}
    printed_n = 1 / (discount * c.length_sum) - (1 - discount) / discount
    defined = ~np.isnan(ratios)
    visited = _is_near(ratios[defined], roots[defined], 1e-6)
    ratio, closed, root = skipped
    index_numbers = {
        "states": int(defined.sum()),
        "arms": len(roots),
        "closed": closed[1],
        "root": root[1],
    }
    index = visited and bool(np.isnan(ratio[1])) and _is_near(closed, root)
    climbs = bool((np.diff(best, axis=1) >= 0).all())
    thresholds = {"optimal": sum(by_condition), "arms": len(by_condition)}
    thresholds |= {"optimal_without": sum(by_chance), "arms_without": len(by_chance)}
    meet = {"states": sum(map(len, gaps)), "arms": len(gaps), "same": same}
    return [
        *(
            claim(row, _is_near(c.rate + THIRD_PENALTY * c.activity, c.priced), numbers=several)
            for row in ("C-C-D-N", "C-continuous")
        ),
        claim("C-L-M"),
        claim(
            "C-thm-D",
            _is_near(c.cost_sum / c.length_sum, c.rate),
            proof="thm-restart-cycle",
            numbers=several,
        ),
        claim(
            "C-thm-N", _is_near(printed_n, c.activity), proof="thm-restart-cycle", numbers=several
        ),
        claim("C-threshold", all(by_condition), proof="cor-restart-monotone", numbers=thresholds),
        claim("C-lem-klambda", climbs, proof="prop-restart-klambda", numbers={"arms": len(best)}),
        claim("C-thm-w", index, proof="thm-restart-threshold", numbers=index_numbers),
        claim("C-w-lines", _is_near(np.concatenate(gaps), 0, 1e-6), numbers=meet),
        claim("C-concl-closed", index, proof="thm-restart-threshold", numbers=index_numbers),
        claim("C-fig-klambda", figure="restart-thresholds-step"),
        claim("C-fig-w", figure="restart-thresholds-crossing"),
        claim("C-fig-last", figure="restart-thresholds-lines"),
    ]


def _is_near(values: ArrayLike, targets: ArrayLike, tolerance: float = AGREE) -> bool:
    values, targets = np.asarray(values), np.asarray(targets)
    return bool((np.abs(values - targets) <= tolerance * (1 + np.abs(targets))).all())


# Figures


PENALTY = r"penalty $\lambda$ (cost per active epoch)"


def draw_step(lines: Thresholds, kernel: str) -> None:
    """Draw the best threshold against the penalty."""
    w = lines.crossings
    states = w.size
    low, high = w[0] - 0.15 * np.ptp(w), w[-1] + 0.15 * np.ptp(w)
    grid = np.unique(np.concatenate([np.linspace(low, high, 400), w]))
    edges = np.concatenate(([low], w, [high]))
    levels = np.arange(1, states + 2)
    dotted = {"color": COLOURS[0], "linewidth": 0.8, "linestyle": ":"}
    label = "without the threshold that is never active, as printed"

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.hlines(levels, edges[:-1], edges[1:], color=COLOURS[0], linewidth=2.5)
        axis.vlines(w, levels[:-1], levels[1:], **dotted)
        axis.plot(w, levels[:-1], "o", color=COLOURS[0], markersize=5)
        axis.hlines(states, w[-1], high, color=COLOURS[1], linestyle="--", label=label)
        axis.set(xlabel=PENALTY, ylabel=r"best threshold $k_\lambda$", yticks=levels)
        axis.set(xlim=(low, high), ylim=(0.4, states + 1.4))
        add_legend(figure)
        for k, at in enumerate(w, start=1):
            look = {"xytext": (4, -12), "textcoords": "offset points"}
            axis.annotate(f"$w({k})$", (at, k), **look)
        return pd.DataFrame({"penalty": grid, "threshold": lines.best(grid) + 1})

    save_figure(
        "restart-thresholds-step",
        draw,
        caption="The best threshold $k_\\lambda$ against the penalty, here for one "
        f"{kernel} arm with {states} states and slide 18's costs. It climbs by one at each index "
        f"$w(k)$, and ends at {states + 1}, never active, which the sketch of slide 15 leaves out.",
        alt=f"A step curve rises from threshold 1 to {states + 1}, one step at the index of each "
        f"state. A dashed line at {states} shows where it would stay if never active were not "
        "allowed.",
        height=3.4,
    )


def draw_crossing(lines: Thresholds, k: int) -> None:
    """Draw the lines of two neighbouring thresholds where they cross; `k` counts states from 0."""
    w = lines.crossings
    at = w[k]
    reach = 0.6 * (np.ptp(w[max(0, k - 1) : k + 2]) or 1.0)
    near = np.linspace(at - reach, at + reach, 100)
    active_cost, passive_cost = lines.cost_at(near)[:, [k, k + 1]].T
    label = f"$C_\\lambda({k + 2})$: passive in state {k + 1}"
    tie = float(lines.cost_rate[k] + at * lines.activity[k])
    crossing_label = f"$w({k + 1}) = {at:.4g}$"

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(
            near,
            active_cost,
            color=COLOURS[0],
            label=f"$C_\\lambda({k + 1})$: active in state {k + 1}",
        )
        axis.plot(near, passive_cost, color=COLOURS[1], linestyle="--", label=label)
        axis.plot(at, tie, "o", color=ink())
        axis.axvline(at, color=ink(), linewidth=0.8, linestyle=":")
        axis.annotate(crossing_label, (at, tie), xytext=(8, -14), textcoords="offset points")
        axis.set(xlabel=PENALTY, ylabel="cost per epoch from $Q$", xlim=(near[0], near[-1]))
        add_legend(figure)
        return pd.DataFrame(
            {"penalty": near, f"C({k + 1})": active_cost, f"C({k + 2})": passive_cost}
        )

    save_figure(
        "restart-thresholds-crossing",
        draw,
        caption=f"The index of state {k + 1} is the penalty at which it does not matter whether "
        "that state is active. The two thresholds on either side of it cost the same at "
        f"$\\lambda = {at:.4g}$. Redraws the sketch of slide 16.",
        alt=f"Two straight lines cross at penalty {at:.4g}; left of it the steeper one, active in "
        f"state {k + 1}, is lower.",
        height=3.2,
    )


def draw_lines(lines: Thresholds, first: int, meets: dict[tuple[int, int], float]) -> None:
    """Draw four neighbouring lines and mark where they cross."""
    w = lines.crossings
    reach = 0.5 * (w[first + 2] - w[first])
    grid = np.linspace(min(0.0, w[first] - reach), w[first + 2] + reach, 200)
    four = lines.cost_at(grid)[:, first : first + 4]
    rate, activity = (values[first : first + 4] for values in (lines.cost_rate, lines.activity))
    names = [f"C({name})" for name in ("k", "k+1", "k+2", "k+3")]
    distinct = np.unique(np.column_stack([rate, activity]).round(12), axis=0).shape[0]
    among = "" if distinct == 4 else f", {distinct} of them distinct: the others coincide"

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        looks = {
            1: {"marker": "o", "markersize": 6, "color": ink()},
            2: {"marker": "s", "markersize": 5, "color": ink(), "markerfacecolor": paper()},
        }
        for j, (name, style) in enumerate(zip(names, ("-", "--", "-.", ":"), strict=True)):
            label = f"$C_\\lambda{name[1:]}$"
            axis.plot(grid, four[:, j], color=COLOURS[j], linestyle=style, label=label)
            axis.plot(0, rate[j], "_", color=COLOURS[j], markersize=14)
        for (i, j), at in meets.items():
            axis.plot(at, rate[i] + at * activity[i], **looks[j - i])
        axis.plot([], [], linestyle="", **looks[1], label="neighbours cross: an index")
        axis.plot([], [], linestyle="", **looks[2], label="next but one cross")
        axis.set(xlabel=PENALTY, ylabel="cost per epoch from $Q$", xlim=(grid[0], grid[-1]))
        add_legend(figure)
        return pd.DataFrame({"penalty": grid} | dict(zip(names, four.T, strict=True)))

    save_figure(
        "restart-thresholds-lines",
        draw,
        caption="Cost of four neighbouring thresholds against the penalty, "
        f"$k = {first + 1}$, same arm{among}: the higher the threshold, the less it rises. The "
        "ticks at $\\lambda = 0$ are $D(k)$ to $D(k+3)$; dots mark the crossings of neighbours, "
        "squares those of next-but-one lines. Redraws the sketch of slide 23.",
        alt=f"Four straight lines{among}; the higher the threshold, the less they rise. Intercepts "
        "are marked at penalty zero; dots mark the crossings of neighbours, squares those of lines "
        "two apart.",
        height=4.2,
    )


def draw_unordered(index: Floats, formula: Floats) -> None:
    """Draw the index of an arm without structure, and what the threshold formula gives."""
    places = np.arange(1, index.size + 1)
    same = int((np.abs(index - formula) < AGREE).sum())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(places, index, "o-", color=COLOURS[0], label="Whittle index")
        axis.plot(places, formula, "s--", color=COLOURS[1], label="threshold formula")
        axis.set(xlabel="state", ylabel="cost per active epoch", xticks=places)
        add_legend(figure)
        return pd.DataFrame({"state": places, "index": index, "formula": formula})

    save_figure(
        "restart-thresholds-unordered",
        draw,
        caption=f"An arm without structure, {index.size} states: the threshold formula agrees with "
        f"the index in {same} of its states.",
        alt="Two lines over the states, the index and what the threshold formula gives, "
        f"which agree in {same} of {index.size} states.",
        height=3.2,
    )
