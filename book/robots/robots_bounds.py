"""The page `robots-bounds`: bounds on the first iterates and on switching curves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.robots import structure
from analysis.robots.control import RobotControl
from scorecard import COLOURS, add_legend, add_panels, save_figure

#: What each inequality says, by its name in `analysis.robots.structure`.
WORDS = {
    "S": "(S): d rises with q",
    "R": "(R): d rises with r",
    "C": "(C): V convex in q",
    "CU": "(CU): U convex in q; (B) at q = 0",
    "W": "(W): the open one",
    "X2": "U(q+1, r) + U(q-1, r+1) ≥ U(q, r) + U(q, r+1)",
    "D": "V(q+1, r-1) + V(q-1, r+1) ≥ 2V(q, r)",
    "early": "d ≤ 0 while q + r < K",
}


def compute_bounds(
    robots: int, arrival_rate: float, capacity: int, points: int = 161
) -> pd.DataFrame:
    """Return the optimal cost, the lower bound and the two curves' costs by the weight."""
    rows = []
    for gamma in np.geomspace(1e-4, 1e4, points):
        model = RobotControl(robots, arrival_rate, 1.0, capacity, float(gamma))
        bounds = structure.starvation_bound(model), structure.lossless_cost(model)
        rows.append((gamma, model.solve().gain, *bounds, structure.saturated_cost(model)))
    names = ["gamma", "optimum", "lower bound", "lossless curve", "saturated curve"]
    return pd.DataFrame(rows, columns=names)


def check_bounds(scan: pd.DataFrame) -> dict[str, bool]:
    """Check that the optimum lies within its bounds, and is concave and rising in the weight."""
    cost, lower = scan["optimum"], scan["lower bound"]
    upper = scan[["lossless curve", "saturated curve"]].min(axis=1)
    slopes = np.diff(cost) / np.diff(scan["gamma"])
    return {
        "within the bounds": bool(
            (lower <= cost * (1 + 1e-9)).all() and (cost <= upper * (1 + 1e-9)).all()
        ),
        "concave in the weight": bool((np.diff(slopes) <= 1e-9 * slopes[:-1]).all()),
        "rising in the weight": bool((slopes > 0).all()),
    }


def measure_curve_errors(robots: int, arrival_rate: float, capacity: int) -> dict[str, float]:
    """Return the errors of two curves' closed forms against their costs as policies."""
    curves = {
        "lossless": (structure.lossless_curve, structure.lossless_cost),
        "saturated": (structure.saturated_curve, structure.saturated_cost),
    }
    errors = dict.fromkeys(curves, 0.0)
    for gamma in np.geomspace(1e-4, 1e4, 21):
        model = RobotControl(robots, arrival_rate, 1.0, capacity, float(gamma))
        for name, (curve, formula) in curves.items():
            cost = model.evaluate(model.curve_policy(curve(model))).gain
            errors[name] = max(errors[name], abs(cost / formula(model) - 1))
    return errors


def count_exact_closed_forms(tries: int, rng: np.random.Generator) -> dict[str, int]:
    """Count random instances whose optimum equals the closed form, in rational arithmetic."""
    hits = {"one robot": 0, "small": 0, "large": 0}
    for _ in range(tries):
        capacity, rate = int(rng.integers(2, 5)), Fraction(int(rng.integers(1, 30)), 10)
        any_weight = Fraction(int(rng.integers(1, 400)), 40)
        robots = int(rng.integers(2, 5))
        cases = {
            "one robot": (1, any_weight, 1),
            "small": (robots, Fraction(1, 10**6), 0),
            "large": (robots, Fraction(10**6), 1),
        }
        for name, (number, gamma, form) in cases.items():
            instance = number, rate, Fraction(1), capacity, gamma
            gain = structure.exact_optimum(*instance).gain
            hits[name] += gain == structure.exact_costs(*instance)[form]
    return hits


@dataclass(frozen=True)
class Counterexample:
    """Least slacks of a function with the inequalities, and of its image under T."""

    before: dict[str, Any]
    after: dict[str, Any]


def make_counterexample(gamma: Fraction) -> Counterexample:
    """Return the function whose image under T loses (W), for K = 2, N = 1, lambda = mu = 1."""
    rate = Fraction(1)
    rows = [[1, 0, 0], [-1, -1, 0]]
    values = np.array([[Fraction(v) for v in row] for row in rows], dtype=object).T
    image = structure.apply_operator(values, rate, rate, gamma) / 2
    return Counterexample(
        structure.inequalities(values, gamma), structure.inequalities(image, gamma)
    )


@dataclass(frozen=True)
class ExactSearch:
    """Random instances in rational arithmetic."""

    curves: int  # optima that are switching curves
    strange: list[str]  # what the others are
    slacks: pd.DataFrame  # least slack of each inequality at the optima and along value iteration


def search_exactly(instances: int, iterates: int, rng: np.random.Generator) -> ExactSearch:
    """Certify random optima, N and K up to 4, and follow value iteration from 0, exactly."""
    service_rate, strange = Fraction(1), []
    least: dict[str, dict[str, Fraction]] = {"at the optima": {}, "along value iteration": {}}
    for _ in range(instances):
        robots, capacity = int(rng.integers(1, 5)), int(rng.integers(2, 5))
        rate = Fraction(round(10 ** rng.uniform(-1, 1.5) * 20) + 1, 20)
        gamma = Fraction(round(10 ** rng.uniform(-2, 2) * 100) + 1, 100)
        instance = robots, rate, service_rate, capacity, gamma
        try:
            best = structure.exact_optimum(*instance)
        except ValueError as error:
            strange.append(str(error))
            continue
        searched = (
            structure.inequalities(best.bias, gamma),
            structure.iterate_slacks(*instance, iterates),
        )
        for slacks, minima in zip(searched, least.values(), strict=True):
            for name, slack in slacks.items():
                minima[name] = min(slack, minima.get(name, slack))
    return ExactSearch(instances - len(strange), strange, pd.DataFrame(least))


def describe_inequalities(slacks: pd.DataFrame) -> pd.DataFrame:
    """Describe for each inequality whether it holds, and how nearly it is an equality."""

    def describe(slack: Fraction) -> str:
        if slack < 0:
            return f"FAILS by {-float(slack):.2e}"
        return "holds, equality at some" if slack == 0 else f"holds by {float(slack):.2e} at least"

    return slacks.map(describe).rename(index=WORDS).rename_axis("inequality")


def count_float_curves(instances: int, rng: np.random.Generator) -> int:
    """Count switching curves among random optima with N and K up to 12, in double precision."""
    curves = 0
    for _ in range(instances):
        robots, capacity = int(rng.integers(1, 13)), int(rng.integers(2, 13))
        rate, gamma = 10 ** rng.uniform(-1.5, 1), 10 ** rng.uniform(-2, 2)
        curves += RobotControl(robots, rate, 1.0, capacity, gamma).solve().is_switching_curve
    return curves


# Figures


def draw_bounds(scan: pd.DataFrame, robots: int, arrival_rate: float, capacity: int) -> None:
    """Draw the optimal cost over the weight between its bounds."""
    grid, optimum, lower = scan["gamma"], scan["optimum"], scan["lower bound"]
    small, large = scan["lossless curve"], scan["saturated curve"]
    upper = np.minimum(small, large)
    middle = grid[(optimum < small * (1 - 1e-9)) & (optimum < large * (1 - 1e-9))]
    band = {"color": "grey", "alpha": 0.18, "linewidth": 0}
    lines = {
        "lossless curve": (small, COLOURS[1], "--"),
        "saturated curve": (large, COLOURS[2], "-."),
        "nobody starves less": (lower, COLOURS[3], ":"),
        "optimum": (optimum, COLOURS[0], "-"),
    }
    low = float(lower.iloc[0] / grid.iloc[0])
    high = max(float(small.iloc[0] / grid.iloc[0]), low * 1.05)
    between = (
        f"in between, for {middle.min():.2g} to {middle.max():.2g} on this grid, the optimum is "
        "another policy"
        if len(middle)
        else "on this grid one of the two curves is always optimal"
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.fill_between(grid, lower / grid, upper / grid, label="proved bounds", **band)
        for name, (cost, colour, style) in lines.items():
            axis.plot(grid, cost / grid, color=colour, linestyle=style, label=name)
        axis.set(xlabel="weight of starvation γ (μ = 1)", ylabel="cost / γ", xscale="log")
        axis.set_ylim(low - 0.12 * (high - low), high + 0.25 * (high - low))
        add_legend(figure)
        return scan

    save_figure(
        "robots-bounds-gains",
        draw,
        caption=f"Optimal cost divided by the weight, for $N = {robots}$, $\\lambda = "
        f"{arrival_rate:g}$, $\\mu = 1$, $K = {capacity}$, between the proved bounds. For small "
        "weights it is the cost of the lossless curve, for large ones that of the saturated curve; "
        f"{between}.",
        alt="The optimum falls from the level of the lossless curve at small weights to that of "
        "the least starvation at large ones, where it runs on the saturated curve; "
        f"{between}.",
        height=4.0,
    )
