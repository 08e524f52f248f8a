"""Why every restart arm has an index: slide 11 read to the letter.

Slide 11 says that state x is passive iff its critical value is below W_lambda, with

    (1 - b) inf over tau of (L(x, tau) - c(x, 1)) / (1 - b^tau)   and   W = lambda + b sum Q V.

To the letter, b^tau is a number, so that tau is a fixed time. The optimality equation of slide 9
asks for stopping times, E_x b^tau, and W = (1 - b) lambda + b sum Q V. Here both corrections are
made and undone, one at a time, and the sets are compared with those of an exactly solved arm.

Source: the restart slides (2019), slides 9 to 12.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm, check_discount
from analysis.restarts.subsidised import SubsidisedSolution, solve_subsidised
from analysis.restarts.whittle import Indexability, critical_values, whittle_index
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    ink,
    save_figure,
    save_table,
    save_value,
)

#: What is left of the future when fixed times are no longer followed.
NEGLIGIBLE = 1e-13
#: Largest difference of two routes to an index that counts as rounding.
AGREE = 1e-8


def fixed_time_values(arm: RestartArm, discount: float) -> Floats:
    """Return the infimum of the slides' ratio over fixed times instead of stopping times.

    It is nowhere below `critical_values`.
    """
    discount = check_discount(discount, average=False)
    expected, weight = arm.stopping_cost(discount), 1.0
    total, length = np.zeros(arm.states), 0.0
    least = np.full(arm.states, np.inf)
    while weight > NEGLIGIBLE:
        total, length = total + weight * expected, length + weight
        least = np.minimum(least, total / length)
        expected, weight = arm.passive @ expected, weight * discount
    return least


def count_wrong_passive_sets(arms: Sequence[RestartArm], discount: float) -> pd.DataFrame:
    """Count the subsidies at which each reading of slide 11 gives a wrong passive set.

    Each arm is solved at one subsidy between any two of its indices, and beyond both ends.
    """
    count = {(r, w): 0 for r in ("fixed times", "stopping times") for w in ("printed", "corrected")}
    checked = 0
    for arm in arms:
        ratios = {
            "fixed times": fixed_time_values(arm, discount),
            "stopping times": critical_values(arm, discount),
        }
        index = np.sort(whittle_index(arm, discount).index)
        between = (index[:-1] + index[1:]) / 2
        for subsidy in (index[0] - 1, *between, index[-1] + 1):
            solved = solve_subsidised(arm, discount, float(subsidy))
            restart = discount * float(arm.reset @ solved.values)
            levels = {"printed": subsidy + restart, "corrected": (1 - discount) * subsidy + restart}
            checked += 1
            for ratio, level in count:
                passive = ratios[ratio] < levels[level]
                count[ratio, level] += bool((passive != (solved.policy == 0)).any())
    rows = [{"ratio": r, "level": w, "wrong": wrong} for (r, w), wrong in count.items()]
    return pd.DataFrame(rows).assign(checked=checked)


# Values and tables


def save_numbers(
    certificates: Sequence[Indexability], compared: int, readings: pd.DataFrame
) -> None:
    """Save the numbers that the page quotes; `compared` is how many roots were found."""
    wrong = readings.set_index(["ratio", "level"]).wrong
    save_value("restart-indexability-arms", len(certificates))
    save_value("restart-indexability-certified", sum(c.holds for c in certificates))
    save_value("restart-indexability-compared", compared)
    save_value("restart-indexability-checked", int(readings.checked.iloc[0]))
    save_value("restart-indexability-printed", int(wrong["stopping times", "printed"]))
    save_value("restart-indexability-fixed", int(wrong["fixed times", "corrected"]))
    save_value("restart-indexability-both", int(wrong["stopping times", "corrected"]))


def save_readings(readings: pd.DataFrame) -> None:
    """Save how often each reading of slide 11 gives a wrong passive set."""
    save_table(
        "restart-indexability-readings",
        readings,
        "Passive sets that each reading of slide 11 gets wrong, of all that were checked: with a "
        "fixed time or a stopping time in the ratio, and with the level $W_\\lambda$ as printed or "
        "corrected.",
        labels={"ratio": "ratio over", "level": "level $W_\\lambda$"},
    )


def save_solutions(arm: RestartArm, discount: float) -> None:
    """Save the indices of an arm, and of one that differs in its reset only."""
    to_first = np.eye(arm.states)[0]
    moved = RestartArm(arm.passive, to_first, arm.passive_cost, arm.active_cost)
    for name, variant in (("", arm), ("moved-", moved)):
        index = whittle_index(variant, discount).index
        save_value(f"restart-indexability-{name}least", index.min())
        save_value(f"restart-indexability-{name}most", index.max())


# Claims


def claims(
    discount: float,
    certificates: Sequence[Indexability],
    indices: Sequence[Floats],
    roots: Sequence[Floats],
    subsidies: Floats,
    levels: Floats,
    grid: Floats,
    solved: Sequence[SubsidisedSolution],
    readings: pd.DataFrame,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 7 and 10 to 12.

    `certificates`: of every arm that is checked; `indices`, `roots`: the index of some arms, by
    elimination and as the root of its definition; `levels`: W of these arms at the subsidies, with
    both corrections; `solved`: what was found there.
    """
    certified = sum(certificate.holds for certificate in certificates)
    worst = max(
        float(np.abs(index - root).max()) for index, root in zip(indices, roots, strict=True)
    )
    printed = levels + discount * subsidies
    passive = np.array([solution.policy == 0 for solution in solved])
    first = grid[passive.argmax(axis=0)]
    within = (first >= indices[0] - AGREE) & (first <= indices[0] + np.diff(grid).max())
    counts, never = _count_wrong_sets(readings)
    proof, checked = "thm-restart-indexable", {"arms": len(certificates), "certified": certified}
    checked["subsidies"] = len(grid)
    grows = bool((passive[1:] >= passive[:-1]).all())
    rises = bool((np.diff(printed, axis=1) > 0).all())
    return [
        claim(
            "C-exists",
            worst < AGREE and bool(within.all()),
            proof=proof,
            numbers={"arms": len(roots)},
        ),
        claim(
            "C-thm-indexable",
            certified == len(certificates) and grows,
            proof=proof,
            numbers=checked,
        ),
        claim("C-def-indexable"),
        claim("C-def-index"),
        claim("C-lem-Pi", never, numbers=counts),
        claim("C-lem-W", rises, proof=proof, numbers={"arms": len(levels)}),
        claim("C-w-formula", never, numbers=counts),
        claim("C-noframework"),
        claim("C-inefficient"),
    ]


def _count_wrong_sets(readings: pd.DataFrame) -> tuple[dict[str, int], bool]:
    """Count how often each reading is wrong, and whether one with the printed level never is."""
    wrong = readings.set_index(["ratio", "level"]).wrong
    counts = {
        "sets": int(readings.checked.iloc[0]),
        "fixed_printed": int(wrong["fixed times", "printed"]),
        "stopping_printed": int(wrong["stopping times", "printed"]),
        "fixed_corrected": int(wrong["fixed times", "corrected"]),
        "stopping_corrected": int(wrong["stopping times", "corrected"]),
    }
    return counts, bool(wrong.xs("printed", level="level").min() == 0)


# Figures


PENALTY = r"penalty $\lambda$ (cost per active epoch)"


def draw_level(
    grid: Floats, level: Floats, printed: Floats, index: Floats, critical: Floats, discount: float
) -> None:
    """Draw where the level crosses the critical value of each state, and where the printed does."""
    right = r"$W_\lambda = (1-b)\lambda + b\,\sum QV_\lambda$"
    dashed = {"color": COLOURS[1], "linestyle": "--"}
    room = 0.35 * np.ptp(level)

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(grid, level, color=COLOURS[0], label=right)
        axis.plot(grid, printed, **dashed, label=r"as printed, $\lambda + b\,\sum QV_\lambda$")
        axis.hlines(critical, grid[0], index, color="grey", linewidth=0.7)
        label = r"$W_\lambda = \nu(x)$: the index of each state"
        axis.plot(index, critical, "o", color=ink(), markersize=4, label=label)
        axis.set(xlabel=PENALTY, ylabel="cost per epoch", xlim=(grid[0], grid[-1]))
        axis.set_ylim(level[0] - room, level[-1] + room)
        add_legend(figure)
        return pd.DataFrame({"subsidy": grid, "W": level, "W_printed": printed})

    save_figure(
        "restart-indexability-level",
        draw,
        caption="Where $W_\\lambda$ crosses the level $\\nu(x)$ of a state (grey), the state turns "
        f"passive. One arm with {index.size} states and no structure, $b = {discount:g}$. The "
        "printed $W_\\lambda$ crosses elsewhere.",
        alt=f"A rising concave curve crosses {index.size} horizontal lines, once each; the "
        "crossings are the indices. A steeper dashed curve, the printed one, crosses the lines at "
        "other penalties.",
        height=3.8,
    )


def draw_sets(grid: Floats, index: Floats, critical: Floats) -> None:
    """Draw from which penalty on each state is passive."""
    states = np.arange(1, index.size + 1)
    turning = ", ".join(str(x + 1) for x in np.argsort(index, kind="stable"))

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.hlines(states, index, grid[-1], color=COLOURS[0], linewidth=5)
        axis.hlines(states, grid[0], index, color=COLOURS[1], linewidth=1, linestyle=":")
        axis.plot(index, states, "o", color=ink(), markersize=4)
        axis.set(xlabel=PENALTY, ylabel="state", xlim=(grid[0], grid[-1]), yticks=states)
        return pd.DataFrame({"state": states, "index": index, "nu": critical})

    save_figure(
        "restart-indexability-sets",
        draw,
        caption="The same arm: each state is active (dotted) up to its index (dot) and passive "
        f"(bar) from there on. The states turn passive in the order {turning}.",
        alt="One horizontal line a state, dotted below its index and a thick bar from it on. "
        "No bar ever ends: the passive set only grows. States turn passive in the order "
        f"{turning}.",
        height=3.4,
    )
