"""Experiments (1) and (2), against the optimum.

Frames of systems are those of `analysis.restarts.systems.exact_costs`, with the ratios in
per cent of the optimum to the index policy added: ``alpha`` with ties to the lower arm,
``alpha_best`` and ``alpha_worst`` with ties broken in the best and in the worst way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm
from analysis.restarts.bandit import RestartBandit, index_scores
from analysis.restarts.instances import SLIDE_DISCOUNT, STRUCTURED_KERNELS, slide_arms
from analysis.restarts.joint import evaluate_scores, solve_joint
from book.restarts.shared import BIN, SYSTEM, printed_ticks
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    ink,
    paper,
    save_data,
    save_figure,
    save_table,
    save_value,
    save_values,
)
from scorecard.prints import printed_number


def add_ratios(exact: pd.DataFrame) -> pd.DataFrame:
    """Return the systems with the ratios in % of optimum to index policy, by ties."""
    plans = {"alpha": "index", "alpha_best": "index_best", "alpha_worst": "index_worst"}
    return exact.assign(**{name: 100 * exact.optimal / exact[plan] for name, plan in plans.items()})


def compute_bands(systems: pd.DataFrame) -> pd.DataFrame:
    """Return where the ratios of each budget and generator lie."""
    grouped = systems.groupby(["budget", "kernel"], sort=False)
    low = printed_number("C-e12-lo")
    return pd.DataFrame(
        {
            "least": grouped.alpha.min(),
            "5%": grouped.alpha.quantile(0.05),
            "median": grouped.alpha.median(),
            f"below {low:g}": grouped.alpha.apply(lambda ratios: int((ratios < low).sum())),
            "worst ties": grouped.alpha_worst.min(),
            "best ties": grouped.alpha_best.min(),
            "greatest": grouped.alpha.max(),
        }
    )


# Values and tables


#: Difference of two ratios, in %, that counts as rounding.
ROUNDING = 1e-4


def save_numbers(systems: pd.DataFrame, joint_states: int, instances: int) -> None:
    """Save the numbers that the page quotes."""
    low = printed_number("C-e12-lo")
    printed_range = systems.alpha >= low
    numbers = {
        "printed-low": low,
        "median": systems.alpha.median(),
        "joint": joint_states,
        "systems": len(systems),
        "instances": instances,
        "least": systems.alpha.min(),
        "any-initial": 100 * systems.index_least.min(),
        "any-initial-best": 100 * systems.index_best_least.min(),
        "worst-ties": systems.alpha_worst.min(),
        "best-ties": systems.alpha_best.min(),
        "inside": 100 * float(printed_range.mean()),
        "median-loss": max(0.0, np.ceil(100 * (100 - systems.alpha.median())) / 100),
    }
    save_values("restart-optimum", numbers | collect_predicates(systems))


def collect_predicates(systems: pd.DataFrame) -> dict[str, bool]:
    """Return the predicates of the page's sentences for these systems, both beyond rounding."""
    best = systems.alpha_best.min()
    return {
        "ties-matter": bool(systems.alpha_worst.min() < best - ROUNDING),
        "initial-matters": bool(100 * systems.index_best_least.min() < best - ROUNDING),
    }


EXACT = {
    "optimal": "least cost per epoch of any policy, exact, from new arms",
    "bound": "relaxed bound on it",
    "index": "cost of the index policy, ties to the lower arm",
    "index_best": "the same with ties broken in the best way",
    "index_worst": "the same with ties broken in the worst way",
    "alpha": "100 optimal/index, %",
    "alpha_best": "100 optimal/index_best, %",
    "alpha_worst": "100 optimal/index_worst, %",
}


def save_systems(systems: pd.DataFrame) -> None:
    """Save every system of experiments (1) and (2) with its exact costs and ratios."""
    columns = {name: description for name, description in SYSTEM.items() if name in systems} | EXACT
    save_data(
        "restart-optimum-systems",
        systems[list(columns)],
        "One row a random system and budget, solved exactly, of the experiments on the optimum.",
        columns,
    )


def save_generators(bands: pd.DataFrame, instances: int) -> None:
    """Save where the ratios of each budget and generator lie."""
    save_table(
        "restart-optimum-generators",
        bands.drop(columns="greatest"),
        f"Optimum over index policy in %, {instances} systems a row: least, 5% quantile and "
        "median with ties to the lower arm, how many lie below the printed end, and the least "
        "with every tie broken in the worst and in the best way.",
        formats=".2f",
        instances="restart-optimum-systems",
    )


def save_fullest_bins(counts: pd.DataFrame, instances: int, budget: int) -> None:
    """Save how many systems one bin of 1% can hold, by generator and ties."""
    save_table(
        "restart-optimum-bins",
        counts.rename_axis("generator"),
        f"How many of {instances} systems one bin of 1% can hold, wherever the bins begin, "
        f"by how ties are broken; $m = {budget}$.",
        instances="restart-optimum-systems",
    )


def make_trap() -> RestartBandit:
    """Return three arms alike, one active, that fail when new and stay as they are in between."""
    wear, new = np.eye(3)[[2, 1, 2]], np.array([1.0, 0.0, 0.0])
    arm = RestartArm(wear, new, np.array([0.0, 1.0, 4.0]), np.full(3, 2.0))
    return RestartBandit((arm,) * 3, 1, SLIDE_DISCOUNT)


def compute_shock_ratios(instances: int = 12) -> pd.DataFrame:
    """Return the ratio in % on small systems of shocks by how ties are broken.

    To the lower arm, by the rule of the one most likely to fail, and in the best way.
    """
    rng, rows = np.random.default_rng(5), []
    for _ in range(instances):
        bandit = RestartBandit(tuple(slide_arms("shock", 4, 4, rng)), 1, SLIDE_DISCOUNT)
        scores = index_scores(bandit)
        fails = [arm.passive[0, -1] for arm in bandit.arms]
        ruled = [index + 1e-7 * chance for index, chance in zip(scores, fails, strict=True)]
        costs = {
            "lower": evaluate_scores(bandit, scores),
            "rule": evaluate_scores(bandit, ruled),
            "best": evaluate_scores(bandit, scores, ties="best"),
        }
        optimal = solve_joint(bandit).values.flat[0]
        rows.append({name: 100 * optimal / cost.values.flat[0] for name, cost in costs.items()})
    return pd.DataFrame(rows)


def save_solutions() -> None:
    """Save the numbers of the solutions."""
    bandit = make_trap()
    scores = index_scores(bandit)
    for name, index in zip(("new", "middle", "worst"), scores[0], strict=True):
        save_value(f"restart-optimum-trap-{name}", index)
    save_value("restart-optimum-trap-optimal", solve_joint(bandit).values[0, 0, 1])
    save_value("restart-optimum-trap-index", evaluate_scores(bandit, scores).values[0, 0, 1])
    ratios = compute_shock_ratios()
    save_value("restart-optimum-shocks", len(ratios))
    for name in ("lower", "rule", "best"):
        save_value(f"restart-optimum-shocks-{name}", ratios[name].min())


# Claims


def claims(
    systems: pd.DataFrame,
    instances: int,
    arms: Sequence[RestartArm],
    larger: RestartArm,
    monotone: Mapping[str, bool],
    discount: float,
    drawn: tuple[Sequence[float], Sequence[float]],
) -> list[Claim]:
    """Return the page's claims on the rows of slides 7, 18, 19 and 21.

    `systems`: of all generators and budgets, with their ratios; `arms`: the arms of one system;
    `larger`: an arm of twice as many states; `monotone`: whether the drawn kernels of a generator
    are all stochastically monotone; `drawn`: the ticks of both axes of the histogram.
    """
    ticks, counts = drawn
    kinds = {kind: [ok for name, ok in monotone.items() if (name in STRUCTURED_KERNELS) == kind]
             for kind in (True, False)}  # fmt: skip
    return [
        *_slide_18(arms[0], larger, kinds, discount),
        claim("C-alpha-def"),
        claim("C-e12-X", arms[0].states),
        claim("C-e12-n", len(arms)),
        claim("C-e12-m", sorted(systems.budget.unique())),
        *_range(systems, instances),
        claim("C-e12-fig", figure="restart-optimum-histogram", numbers={"width": BIN}),
        claim("C-e12-100", instances),
        claim("C-e12-xaxis", ticks),
        claim("C-e12-yaxis", counts),
        claim("C-e12-split"),
        *(_close(row, systems) for row in ("C-close", "C-concl-close")),
    ]


def _slide_18(
    arm: RestartArm, larger: RestartArm, kinds: Mapping[bool, Sequence[bool]], discount: float
) -> list[Claim]:
    best = 1 + int(np.argmin(arm.passive_cost))
    power = np.log2(arm.passive_cost[2] / arm.passive_cost[1])
    sizes = np.array([larger.states - 1, arm.states - 1])
    growth = np.log(larger.active_cost[0] / arm.active_cost[0]) / np.log(sizes[0] / sizes[1])
    return [
        claim("C-Q-det", (arm.reset[0], arm.reset[1], arm.reset[-1])),
        claim("C-c0", (0, -best, power)),
        claim(
            "C-c1", (1, arm.active_cost[0] / (arm.states - 1) ** 2, -1, round(float(growth), 12))
        ),
        claim("C-beta", discount),
        claim("C-P-structured", all(kinds[True]), numbers={"families": len(kinds[True])}),
        claim("C-P-random", all(kinds[False]), numbers={"families": len(kinds[False])}),
    ]


def _range(systems: pd.DataFrame, instances: int) -> list[Claim]:
    least = systems.groupby("kernel", sort=False).alpha.min()
    greatest = systems.groupby(["kernel", "budget"], sort=False)[["alpha", "alpha_worst"]].max()
    ends = {"worst_ties": systems.alpha_worst.min(), "best_ties": systems.alpha_best.min()}
    ends |= {"instances": instances, "least": least.to_dict()}
    return [
        claim("C-e12-lo", systems.alpha.min(), numbers=ends),
        claim("C-e12-hi", systems.alpha.max(), alternatives=greatest.to_numpy().ravel()),
    ]


def _close(row: str, systems: pd.DataFrame) -> Claim:
    low = printed_number("C-e12-lo")
    share, median = float((systems.alpha >= low).mean()), float(systems.alpha.median())
    numbers = {
        "systems": len(systems),
        "generators": systems.kernel.nunique(),
        "median": median,
        "share": share,
        "low": low,
        "least": systems.alpha.min(),
        "best_ties": systems.alpha_best.min(),
    }
    return claim(row, numbers=numbers)


# Figures


TIES = {"worst ties": "x", "best ties": ">"}


def draw_histogram(systems: pd.DataFrame, instances: int) -> tuple[Floats, Floats]:
    """Draw the histograms of the ratio on the slide's axes; return the ticks of both."""
    names, budgets = systems.kernel.unique(), systems.budget.unique()
    ticks, counts = printed_ticks("C-e12-xaxis"), printed_ticks("C-e12-yaxis")
    bins = np.arange(ticks[0], ticks[-1] + BIN / 2, BIN)
    levels = counts * instances / counts[-1]
    medians = systems.groupby("budget").alpha.median()
    counted = (np.histogram(group.alpha, bins)[0] for _, group in systems.groupby("kernel"))
    at_end = sum(int(heights[-1] == heights.max()) for heights in counted)
    halves = ", ".join(f"{value:.2f} for $m = {budget}$" for budget, value in medians.items())
    columns = ["kernel", "instance", "budget", "optimal", "alpha", "alpha_best", "alpha_worst"]

    def draw(figure: Figure) -> pd.DataFrame:
        panels = add_panels(figure, len(names), 3, sharex=True, sharey=True)
        filled: dict[str, Any] = {"color": COLOURS[0], "edgecolor": paper(), "linewidth": 0.5}
        outlines = [{"histtype": "step", "color": c, "linewidth": 1.4} for c in COLOURS[1:]]
        for axis, name in zip(panels, names, strict=True):
            below = []
            for budget, look in zip(budgets, [filled, *outlines], strict=False):
                ratios = systems[(systems.kernel == name) & (systems.budget == budget)].alpha
                axis.hist(ratios, bins=bins, label=f"$m = {budget}$", **look)
                below.append(str(int((ratios < ticks[0]).sum())))
            axis.set_title(f"{name} ({' and '.join(below)} below)")
        panels[0].set(xlim=(ticks[0] - 0.1, ticks[-1] + 0.1), xticks=ticks)
        panels[0].set(ylim=(0, 1.04 * instances), yticks=levels)
        figure.supxlabel(rf"$\alpha_{{\rm opt}}$ (%), bins of {BIN:g}")
        figure.supylabel("systems")
        add_legend(figure)
        return systems[columns]

    save_figure(
        "restart-optimum-histogram",
        draw,
        caption="Cost of the optimum over that of the index policy in %, ties to the lower arm, "
        f"{instances} systems from each generator at each budget. The medians are {halves}; titles "
        "count the systems below the axis. Redraws the histogram of slide 19, for every generator.",
        alt=f"{len(names)} histograms, one a generator, in {at_end} of which the bar at the right "
        f"end is the highest, with the medians over all {halves}; the lowest of all values is "
        f"{systems.alpha.min():.2f}.",
        height=1.2 + 1.45 * math.ceil(len(names) / 3),
        instances="restart-optimum-systems",
    )
    return ticks, levels


def draw_bands(systems: pd.DataFrame, instances: int) -> None:
    """Draw where the ratios of each generator and budget lie."""
    bands = compute_bands(systems)
    names, budgets = list(systems.kernel.unique()), list(systems.budget.unique())
    low = printed_number("C-e12-lo")
    worst = bands.reset_index().sort_values("least", kind="stable").iloc[0]
    tied_worst, tied_best = systems.alpha_worst.min(), systems.alpha_best.min()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (j, budget), name in product(enumerate(budgets), names):
            band = bands.loc[(budget, name)]
            y = len(names) - names.index(name) - 0.3 * (j - (len(budgets) - 1) / 2)
            colour = {"color": COLOURS[j]}
            axis.plot([band["least"], band["greatest"]], [y, y], linewidth=1.2, **colour)
            axis.plot([band["5%"], band["greatest"]], [y, y], linewidth=4, alpha=0.5, **colour)
            for ties, marker in TIES.items():
                axis.plot(band[ties], y, marker, markersize=5, markerfacecolor="none", **colour)
            label = f"$m = {budget}$" if name == names[0] else None
            axis.plot(band["median"], y, "os"[j % 2], markersize=4, label=label, **colour)
        dashed = {"color": ink(), "linewidth": 1, "linestyle": "--"}
        axis.axvline(low, label="printed lower end", **dashed)
        for ties, marker in TIES.items():
            axis.plot([], [], marker, color="grey", markerfacecolor="none", label=f"least, {ties}")
        axis.set(
            yticks=range(len(names), 0, -1), xlabel=r"$\alpha_{\rm opt}$ (%)", xlim=(None, 100.2)
        )
        axis.set_yticklabels(names)
        add_legend(figure)
        return bands.reset_index()

    save_figure(
        "restart-optimum-bands",
        draw,
        caption=f"From the least to the greatest ratio of {instances} systems (thin), the upper "
        "95% (thick) and the median (dot or square), by generator and budget, with ties to the "
        f"lower arm; the lowest is {worst.least:.2f}, {worst.kernel} at $m = {worst.budget}$. With "
        "ties broken in the worst way the least ratio moves to the cross, in the best way to the "
        f"triangle: {tied_worst:.2f} and {tied_best:.2f} over all.",
        alt="Horizontal bars by generator for each budget. The lowest median is "
        f"{bands['median'].min():.2f}; the longest bar, of {worst.kernel} kernels, reaches down to "
        f"{bands['least'].min():.2f}. The lowest triangle, for the best ties, is at "
        f"{tied_best:.2f}; crosses, for the worst ties, lie at the left ends or further left.",
        instances="restart-optimum-systems",
        height=4.4,
    )
