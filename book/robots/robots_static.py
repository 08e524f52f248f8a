"""The static queue: formulas that the draft prints, and checks of them on a grid.

All with mu = 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from scipy import sparse

from analysis.arrays import Floats, Ints
from analysis.mdp import stationary_law
from analysis.robots import mm1k
from analysis.robots import static_theory as theory
from analysis.robots.mg1k import GeneralQueue, exponential
from analysis.robots.mm1k import (
    critical_gamma,
    large_capacity_robots,
    optimal_load,
    optimal_robots,
    static_cost,
)
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    format_change,
    is_document_run,
    pluralise,
    save_figure,
)

CAPACITIES = (2, 3, 5, 8, 15, 40)
WEIGHTS = np.geomspace(0.05, 30, 25)
LOADS = np.geomspace(0.02, 20, 60)
LARGEST = 60
RATES = (0.05, 0.3, 1.7)


def printed_law(rho: float, capacity: int) -> Floats:
    """Return P(X = i) as (3) has it."""
    return np.asarray((1 - rho) / (1 - rho ** (capacity + 1)) * rho ** np.arange(capacity + 1))


def printed_11(limit: float, capacity: int) -> float:
    """Return the right side of (11) over the bracket on its left, with the printed parentheses."""
    k = capacity
    bracket = k * limit ** (k + 1) - (k + 1) * limit**k + 1
    return limit**k * ((limit ** (k + 2) - (k + 2)) * limit + (k + 1)) / bracket


def printed_14(rho: float, gamma: float, capacity: int, fixed: int) -> float:
    """Return the right side of (14) at K_n = `capacity`, whose last power has the `fixed` K."""
    n = capacity
    middle = (gamma * n + n + 2) * rho ** (n + 1)
    last = (n + 1) * (1 + gamma) * rho**fixed
    return rho ** (2 * n + 2) - middle + last - gamma


def count_wrong_shares(tries: int, rng: np.random.Generator) -> dict[int, float]:
    """Return the share of random cases in which (16) differs from the optimum, by capacity."""
    shares = {}
    for capacity in (5, 15, 50, 200):
        rates = np.exp(rng.uniform(np.log(0.05), np.log(2), tries))
        weights = np.exp(rng.uniform(np.log(0.2), np.log(5), tries))
        other = [
            mm1k.large_capacity_robots(r, g) != mm1k.optimal_robots(r, g, capacity)
            for r, g in zip(rates, weights, strict=True)
        ]
        shares[capacity] = float(np.mean(other))
    return shares


def find_best_loads() -> dict[int, Floats]:
    """Return the best loads for all weights of the grid, by capacity from 2 on."""
    return {
        k: np.array([mm1k.optimal_load(float(g), k) for g in WEIGHTS])
        for k in range(2, LARGEST + 1)
    }


#: The numbers of the grid, for the words of verdicts.
GRID = {"grid": len(WEIGHTS), "largest": LARGEST}


# Claims


def claims(wrong: dict[int, float], ratio: float) -> list[Claim]:
    """Return the page's claims on the static section."""
    loads = find_best_loads()
    return [
        *map(claim, ("D-meta", "D-intro-ref2", "D-assump", "D-eq1", "D-sections")),
        claim("D-xref", False, basis="judged"),
        claim("D-fut-redraw", True, basis="judged"),
        *_queue(),
        *_lemma_1(loads),
        *_proposition_1(wrong),
        *proposition_2(loads, ratio),
        *lemma_2(loads),
        *_figures(ratio),
    ]


def _balanced_law(rho: float, capacity: int) -> Floats:
    """Return the law of the queue from its rates."""
    rates = sparse.diags_array([[rho] * capacity, [1.0] * capacity], offsets=[1, -1])
    return stationary_law(sparse.csr_array(rates))


def _queue() -> list[Claim]:
    down = all((np.diff(mm1k.starvation_probability(LOADS, k)) < 0).all() for k in CAPACITIES)
    up = all((np.diff(mm1k.full_probability(LOADS, k)) > 0).all() for k in CAPACITIES)
    few = (0.3, 0.9, 1.7)
    laws = all(np.allclose(printed_law(r, k), _balanced_law(r, k)) for r in few for k in CAPACITIES)
    loads = np.array([*few, 1.0])
    measures = [GeneralQueue(r, 5, exponential()).measures() for r in loads]
    counted = [0.3 * empty + lost for empty, lost in measures]
    pasta = 0.3 * mm1k.starvation_probability(loads, 5) + loads * mm1k.full_probability(loads, 5)
    empty, full = mm1k.starvation_probability, mm1k.full_probability
    weighted = [float(0.3 * empty(0.9, k) + full(0.9, k)) for k in CAPACITIES]
    costs = [float(mm1k.static_cost(0.9, 0.3, k)) for k in CAPACITIES]
    at_one = [mm1k.static_cost(1.0, g, k) * (k + 1) / (g + 1) for g in WEIGHTS for k in CAPACITIES]
    exact = {k: theory.static_identities(k) for k in (2, 3, 5, 8)}
    closed = np.allclose(mm1k.static_cost(loads, 0.3, 5), pasta, rtol=1e-10)
    capacities = {"capacities": len(CAPACITIES)}
    third = {"weighted": weighted[2], "cost": costs[2]}
    return [
        claim("D-intro-tradeoff", down and up, numbers=capacities | {"loads": len(LOADS)}),
        claim("D-eq2", bool(np.allclose(pasta, counted, rtol=1e-11))),
        claim("D-eq3", laws, numbers=capacities),
        claim("D-eq4", closed and all(identities["(4)"] for identities in exact.values())),
        claim("D-rho1", bool(np.allclose(at_one, 1.0, rtol=1e-13))),
        *(
            claim(row, bool(np.allclose(weighted, costs)), numbers=third)
            for row in ("D-concl-cost", "D-intro-cost")
        ),
        *(
            claim(row, all(identities[name] for identities in exact.values()))
            for row, name in (("D-eq5", "(5)"), ("D-eq6", "(6)"), ("D-S", "S"), ("D-eq12", "(12)"))
        ),
    ]


def _lemma_1(loads: dict[int, Floats]) -> list[Claim]:
    curves = [np.sign(np.diff(mm1k.static_cost(LOADS, g, k))) for g in WEIGHTS for k in CAPACITIES]
    unimodal = all((np.diff(signs) >= 0).all() for signs in curves)
    least = all(
        mm1k.static_cost(rho, g, k) <= mm1k.static_cost(rho * factor, g, k)
        for k in CAPACITIES
        for g, rho in zip(WEIGHTS, loads[k], strict=True)
        for factor in (0.99, 1.01)
    )
    sides = all(
        (np.sign(loads[k] - 1) == np.sign(WEIGHTS - mm1k.critical_gamma(k))).all()
        for k in CAPACITIES
    )
    at_critical = [mm1k.optimal_load(mm1k.critical_gamma(k), k) for k in CAPACITIES]
    double = all(theory.zero_order_at_one(Fraction(1, 2), k) == 2 for k in CAPACITIES)
    triple = theory.zero_order_at_one(Fraction(7, 5), 5)
    at_zero = [
        2 * (k + 2) * theory.reduced_minimum(g, k) ** (k + 1) - (g * k + k + 2)
        for g in WEIGHTS
        for k in CAPACITIES
    ]

    def at_minimum(g: float, k: int) -> float:
        return theory.reduced_numerator(theory.reduced_minimum(g, k), g, k)

    step = 1e-6
    slopes = [
        (at_minimum(g + step, k) - at_minimum(g - step, k)) / (2 * step)
        - k * (1 - theory.reduced_minimum(g, k))
        for g in WEIGHTS
        for k in CAPACITIES
    ]
    signs = all(at_minimum(g, k) <= 1e-12 for g in WEIGHTS for k in CAPACITIES)
    zeros = all(abs(at_minimum(mm1k.critical_gamma(k), k)) < 1e-12 for k in CAPACITIES)
    return [
        claim("D-lem1-unique", unimodal and least, proof="open-lemma1"),
        claim("D-lem1-cases", sides, proof="open-lemma1", numbers=GRID),
        claim("D-gammaK", bool(np.allclose(at_critical, 1.0, atol=1e-9))),
        claim("D-R-double", double and triple == 3, numbers={"order": triple}),
        claim("D-rho0", bool(np.abs(at_zero).max() < 1e-9), numbers=GRID),
        claim("D-eq7", bool(np.abs(slopes).max() < 1e-5)),
        claim("D-T-sign", signs and zeros),
    ]


def _robots_round_load() -> bool:
    """Whether the number of robots is a rounding of the best load, and the best of all."""
    for rate in RATES:
        for g in WEIGHTS[::3]:
            for k in (2, 5, 15):
                exact = mm1k.optimal_load(g, k) / rate
                costs = {n: mm1k.static_cost(n * rate, g, k) for n in range(1, int(3 * exact) + 3)}
                number = mm1k.optimal_robots(rate, g, k)
                near = number in {max(1, math.floor(exact)), math.ceil(exact)}
                if not near or mm1k.static_cost(number * rate, g, k) > min(costs.values()) * (
                    1 + 1e-12
                ):
                    return False
    return True


def _proposition_1(wrong: dict[int, float]) -> list[Claim]:
    rounds = _robots_round_load()
    cases = [(r, g) for r in (0.13, 0.37, 0.61) for g in (0.3, 3.0)]
    same = all(
        mm1k.large_capacity_robots(r, g) == mm1k.optimal_robots(r, g, VAST) for r, g in cases
    )
    near = all(
        np.isclose(
            mm1k.infinite_capacity_cost(rho, 2.0), mm1k.static_cost(rho, 2.0, 4000), atol=1e-9
        )
        for rho in (0.7, 1.2)
    )
    return [
        claim("D-prop1", rounds),
        claim("D-abs-closed", False, basis="judged"),
        claim("D-eq15", same, numbers={"vast": VAST, "cases": len(cases)}),
        claim("D-eq16", near and wrong[200] < wrong[5], numbers={"shares": wrong}),
    ]


def _figures(ratio: float) -> list[Claim]:
    return [
        claim("D-fig2-57", ratio),
        claim("D-fig1", figure="robots-static-model"),
        claim("D-fig2", figure="robots-static-number-gamma"),
        claim("D-fig3", figure="robots-static-load"),
        claim("D-fig4", figure="robots-static-capacity"),
        claim("D-fig5", figure="robots-static-large-capacity"),
        *(claim(row, figure="robots-static-cost") for row in ("D-t3", "D-t4", "D-t5")),
    ]


#: Limits L of the best load, above one.
LIMITS = (Fraction(1001, 1000), Fraction(11, 10), Fraction(2), Fraction(20))
#: A weight and a capacity that stand for infinity.
FAR, VAST = 1e12, 20_000


def proposition_2(loads: dict[int, Floats], ratio: float) -> list[Claim]:
    """Return the page's claims on section 2.2 and on (14), from the best loads by capacity."""
    rises = all((np.diff(loads[k]) > 0).all() for k in CAPACITIES)
    far = all(mm1k.optimal_load(FAR, k) > 0.9 * (FAR * k) ** (1 / (k + 1)) for k in (2, 5, 15))
    terms = [
        abs(theory.numerator(rho, g, k)) / ((1 + g) * max(1.0, rho) ** (2 * k + 2))
        for k in CAPACITIES
        for g, rho in zip(WEIGHTS, loads[k], strict=True)
    ]
    right = printed_11(1.3, 5)
    needed = theory.slope_ratio(1.3, 5)  # the weight at which 1.3 is the best load
    brackets = [
        theory.numerator(load, Fraction(0), k) - theory.numerator(load, Fraction(1), k)
        for k in CAPACITIES
        for load in LIMITS
    ]
    between = (6 / 5 + mm1k.critical_gamma(5)) / 2
    beyond = mm1k.optimal_load(between, 5)
    idle = [mm1k.starvation_probability(loads[k], k) for k in CAPACITIES]
    numbers = [[mm1k.optimal_robots(1 / ratio, g, k) for g in WEIGHTS] for k in CAPACITIES]
    more_robots = all((np.diff(n) >= 0).all() and n[-1] > n[0] for n in numbers)
    fourteen = printed_14(mm1k.optimal_load(2.0, 8), 2.0, 8, 5)
    low, high = (theory.numerator(load, 2.0, VAST) for load in (0.9, 1.01))
    literal = printed_14(0.9, 2.0, VAST, 5)
    tends = bool(np.isclose(low, -2.0)) and high > 1e9
    starves = all((np.diff(empty) < 0).all() for empty in idle)
    eleven = {"printed": right, "needed": needed}
    limits_of = {"least": float(LIMITS[0]), "most": float(LIMITS[-1])}
    limits_of |= {"capacities": len(CAPACITIES)}
    fourteenth = {"vast": VAST, "low": low, "high": high, "as_printed": literal}
    return [
        claim("D-prop2-mono", rises, proof="open-lemma1", numbers=GRID),
        claim("D-prop2-inf", far, proof="open-lemma1", numbers={"far": FAR}),
        claim("D-eq9", _chain_of_9()),
        claim("D-eq10", max(terms) < 1e-7),
        claim("D-eq11", bool(np.isclose(right, needed)), numbers=eleven),
        claim("D-eq11-sign", min(brackets) > 0, numbers=limits_of),
        claim("D-prop2-bound", beyond > 1, numbers={"weight": between, "load": beyond}),
        claim("D-prop2-phys", more_robots and starves, numbers=GRID),
        claim("D-fig2-mono", more_robots),
        claim("D-eq14-limits", tends, condition=not np.isclose(literal, -2.0), numbers=fourteenth),
        claim("D-eq14", abs(fourteen) < 1e-9, numbers={"left": fourteen}),
    ]


def _chain_of_9() -> bool:
    """Whether the equality of (9) and both of its signs hold, at two weights and several loads."""
    low, high = 0.8, 2.5
    few = LOADS[20:50:6]
    for k in (2, 5):
        cheap, dear = (partial(mm1k.static_cost, gamma=g, capacity=k) for g in (low, high))
        pairs = [(a, b) for a in few for b in few if a < b]
        between_weights = np.array(
            [dear(a) - cheap(a) - (dear(b) - cheap(b)) for a, b in pairs], float
        )
        between_loads = np.array([dear(a) - dear(b) + cheap(b) - cheap(a) for a, b in pairs], float)
        best, other = mm1k.optimal_load(high, k), mm1k.optimal_load(low, k)
        last = dear(best) - dear(other) + cheap(other) - cheap(best)
        if not (
            np.allclose(between_weights, between_loads) and min(between_weights) > 0 and last <= 0
        ):
            return False
    return True


def lemma_2(loads: dict[int, Floats]) -> list[Claim]:
    """Return the page's claims on section 2.3, from the best loads by capacity."""
    small = WEIGHTS <= 1
    rises = all((loads[k + 1][small] > loads[k][small]).all() for k in range(2, LARGEST))
    turns = all(
        theory.rises_then_falls(
            [loads[k][i] for k in range(2, LARGEST + 1)], mm1k.turning_capacity(float(g)) - 2
        )
        for i, g in enumerate(WEIGHTS)
        if g > 1.02
    )
    # Near one is not enough: K times the distance from one has a limit of its own.
    weights = [float(g) for g in (*WEIGHTS[::4], 3.0)]
    off = np.array([VAST * (mm1k.optimal_load(g, VAST) - 1) for g in weights])
    drift = np.array([mm1k.limiting_drift(g) for g in weights])
    tends, wide = np.allclose(off, drift, rtol=1e-3, atol=1e-3), np.abs(off).max() / VAST
    vast = {"vast": VAST, "distance": wide, "weights": len(weights)}
    return [
        claim("D-lem2-a", rises, proof="open-lemma2", numbers=GRID),
        claim("D-lem2-b", turns, proof="open-lemma2", numbers=GRID),
        claim("D-lem2-K0"),
        claim("D-lem3", bool(tends), proof="open-lemma3", numbers=vast),
        claim("D-lem3-mean", bool(tends)),
    ]


# Figures


STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def _describe_redrawn(what: str) -> str:
    """Return the sentence that ends a caption where a figure stands for one of the draft."""
    return f" Redraws {what} of the draft, whose pictures are lost." if is_document_run() else ""


def draw_model() -> None:
    """Draw two robots, the queue and the engine."""
    arrow = {"arrowstyle": "<-", "linestyle": "--"}
    sizes = ["lambda each", "K places", "mu"]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.set(xlim=(0, 10), ylim=(0, 3), aspect="equal")
        axis.axis("off")
        axis.grid(False)
        for y in (0.8, 2.2):
            axis.add_patch(Circle((1.2, y), 0.42, fill=False, linewidth=1.5))
            axis.annotate("", (3.9, 1.5), (1.7, y), arrowprops={"arrowstyle": "->"})
            axis.text(1.2, y, "λ", ha="center", va="center")
        axis.text(0.1, 1.5, "robots", va="center", rotation=90)
        for k in range(5):
            axis.add_patch(Rectangle((4 + 0.45 * k, 1.1), 0.45, 0.8, fill=False))
        axis.text(5.1, 2.15, "K places", ha="center")
        axis.add_patch(Circle((6.75, 1.5), 0.45, fill=False, linewidth=1.5))
        axis.text(6.75, 1.5, "μ", ha="center", va="center")
        axis.annotate("", (8.4, 1.5), (7.2, 1.5), arrowprops={"arrowstyle": "->"})
        axis.text(8.5, 1.5, "data base", va="center")
        axis.annotate("lost when full", (3.9, 1.2), (3.0, 0.15), arrowprops=arrow, ha="center")
        return pd.DataFrame({"element": ["robots", "queue", "engine"], "rate or size": sizes})

    save_figure(
        "robots-static-model",
        draw,
        caption="The model with two robots: each brings pages at rate λ to a queue of K places; "
        "the engine indexes them at rate μ. A page that finds the queue full is lost."
        + _describe_redrawn("Figure 1"),
        alt="Two robots feed one finite queue, which one server empties into the data base; pages "
        "that find the queue full leave unserved.",
        height=2.1,
    )


def draw_cost(capacity: int) -> None:
    """Draw the cost against the load for a weight below, at and above the critical one."""
    loads = np.linspace(0.02, 2.2, 300)
    critical = critical_gamma(capacity)
    cases = {"γ < γ(K)": 0.5 * critical, "γ = γ(K)": critical, "γ > γ(K)": 2.0 * critical}
    costs = {name: np.asarray(static_cost(loads, g, capacity)) for name, g in cases.items()}
    best = {name: optimal_load(gamma, capacity) for name, gamma in cases.items()}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (name, gamma) in zip(COLOURS, STYLES, cases.items(), strict=False):
            label = f"{name} ({gamma:.2f})"
            axis.plot(loads, costs[name], linestyle=style, color=colour, label=label)
            least = static_cost(best[name], gamma, capacity)
            axis.plot(best[name], least, "o", color=colour, markersize=6)
        axis.axvline(1, color="grey", linewidth=0.8)
        axis.set(xlabel="load ρ", ylabel="cost per unit of time\n(in lost pages)", ylim=(0, None))
        add_legend(figure)
        return pd.DataFrame({"load": loads, **costs})

    save_figure(
        "robots-static-cost",
        draw,
        caption="The best load is below one for a weight below $\\gamma(K)$, one at it, and above "
        f"one for a larger weight: cost against load at $K = {capacity}$, $\\mu = 1$; dots mark "
        f"the best loads.{_describe_redrawn('Tables 3 to 5')}",
        alt="Three curves that fall and then rise. Their lowest points lie left of load one, at "
        "load one and right of it, as the weight of starvation is below, at or above its critical "
        "value.",
        height=3.8,
    )


def describe_small_queues(numbers: dict[int, int]) -> str:
    """Describe whether the best number at a large weight falls with the capacity, where it does."""
    inorder = [numbers[k] for k in sorted(numbers)]
    falls = len(inorder) > 1 and bool((np.diff(inorder) < 0).all())
    return " At a large weight a larger queue needs fewer of them." if falls else ""


def draw_numbers_by_weight(capacities: Sequence[int], ratio: float) -> None:
    """Draw the best number of robots against the weight."""
    grid = np.linspace(0.05, 8, 200)
    numbers = {
        k: np.array([optimal_robots(1 / ratio, float(g), k) for g in grid]) for k in capacities
    }
    numbers_at_end = {k: int(number[-1]) for k, number in numbers.items()}
    ends = [f"{format_change(int(n[0]), int(n[-1]), 'd')} at K = {k}" for k, n in numbers.items()]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        looks = zip(cycle(COLOURS), cycle(STYLES), numbers.items(), strict=False)
        for colour, style, (k, number) in looks:
            axis.step(grid, number, where="mid", linestyle=style, color=colour, label=f"K = {k}")
        axis.axhline(ratio, color="grey", linewidth=0.8)
        axis.set(xlabel="weight of starvation γ (μ = 1)", ylabel="best number of robots")
        add_legend(figure)
        return pd.DataFrame({"gamma": grid} | {f"N, K = {k}": n for k, n in numbers.items()})

    save_figure(
        "robots-static-number-gamma",
        draw,
        caption="A larger weight of starvation never needs fewer robots: best number against the "
        f"weight, $\\mu/\\lambda = {ratio:g}$ (grey line)."
        f"{describe_small_queues(numbers_at_end)}{_describe_redrawn('Figure 2')}",
        alt=f"Staircases that never fall, one a capacity. From the smallest weight to γ = "
        f"{grid[-1]:g} the best number {', '.join(ends)}.",
        height=3.8,
    )


def draw_capacity(weights: Sequence[float], ratio: float, largest: int) -> None:
    """Draw the best load and the best number of robots against the capacity, a figure each."""
    ks = np.unique(np.geomspace(2, largest, 60).astype(int))
    loads = {g: np.array([optimal_load(g, int(k)) for k in ks]) for g in weights}
    numbers = {g: np.array([optimal_robots(1 / ratio, g, int(k)) for k in ks]) for g in weights}

    def draw_loads(figure: Figure) -> pd.DataFrame:
        axis = _capacity_axis(figure, largest)
        looks = zip(cycle(COLOURS), cycle(STYLES), loads.items(), strict=False)
        for colour, style, (g, load) in looks:
            axis.plot(ks, load, linestyle=style, color=colour, label=f"γ = {g:g}")
        axis.axhline(1, color="grey", linewidth=0.8)
        axis.set(ylabel="best load ρ(γ, K)")
        add_legend(figure)
        return pd.DataFrame({"K": ks} | {f"load, gamma = {g:g}": y for g, y in loads.items()})

    save_figure(
        "robots-static-load",
        draw_loads,
        caption="Best load against the capacity, $\\mu = 1$. For $\\gamma "
        "\\le \\mu$ it rises to one; for $\\gamma > \\mu$ it has its highest value at $K_0$, which "
        "is the smallest capacity of all if $\\gamma$ is large, and falls to one from there."
        + _describe_redrawn("Figure 3"),
        alt="Curves of the best load against capacity that all tend to one. "
        + " ".join(describe_run(g, ks, load) for g, load in loads.items()),
    )
    ends = [f"{format_change(int(n[0]), int(n[-1]), 'd')} at γ = {g:g}" for g, n in numbers.items()]

    def draw_numbers(figure: Figure) -> pd.DataFrame:
        axis = _capacity_axis(figure, largest)
        looks = zip(cycle(COLOURS), cycle(STYLES), numbers.items(), strict=False)
        for colour, style, (g, number) in looks:
            axis.step(ks, number, where="mid", linestyle=style, color=colour, label=f"γ = {g:g}")
        axis.axhline(ratio, color="grey", linewidth=0.8)
        axis.set(ylabel="best number of robots")
        add_legend(figure)
        return pd.DataFrame({"K": ks} | {f"N, gamma = {g:g}": n for g, n in numbers.items()})

    save_figure(
        "robots-static-capacity",
        draw_numbers,
        caption="Best number of robots against the capacity at "
        f"$\\mu/\\lambda = {ratio:g}$ (grey line): one of the two roundings of the best load times "
        f"$\\mu/\\lambda$.{_describe_redrawn('Figure 4')}",
        alt=f"Staircases against the capacity. From K = 2 to K = {largest} the best number "
        f"{', '.join(ends)}.",
    )


def _capacity_axis(figure: Figure, largest: int) -> Any:
    """Add an axis whose scale is the logarithm of the capacity."""
    (axis,) = add_panels(figure)
    axis.set(xlabel="capacity K", xscale="log")
    axis.xaxis.set_minor_formatter("")
    ticks = [k for k in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if k <= largest]
    axis.set_xticks(ticks, ticks)
    return axis


def describe_run(gamma: float, capacities: Ints, loads: Floats) -> str:
    """Describe how the best load changes with the capacity: it rises, falls, or turns."""
    at = int(np.argmax(loads))
    if at == len(loads) - 1:
        return f"At γ = {gamma:g} it rises throughout."
    if at == 0:
        return f"At γ = {gamma:g} it falls throughout."
    return f"At γ = {gamma:g} it rises up to K = {capacities[at]} and falls from there."


def draw_large_capacity(weights: Sequence[float]) -> None:
    """Draw the number of robots in the limit of a large queue against mu/lambda."""
    ratios = np.linspace(0.3, 12, 600)
    numbers = {
        g: np.array([large_capacity_robots(1 / float(x), g) for x in ratios]) for g in weights
    }

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (g, number) in zip(COLOURS, STYLES, numbers.items(), strict=False):
            look = {"linestyle": style, "color": colour, "label": f"γ = {g:g}"}
            axis.step(ratios, number, where="mid", **look)
        axis.plot(ratios, ratios, color="grey", linewidth=0.8, label="μ/λ")
        axis.set(xlabel="μ/λ, robots that feed the engine exactly")
        axis.set_ylabel("best number of robots, large K")
        add_legend(figure)
        return pd.DataFrame(
            {"mu/lambda": ratios} | {f"gamma = {g:g}": n for g, n in numbers.items()}
        )

    save_figure(
        "robots-static-large-capacity",
        draw,
        caption="Best number of robots in the limit of a large queue, by (16) of the draft: "
        "$\\mu/\\lambda$ rounded up or down, and the weight of starvation decides which way."
        + _describe_redrawn("Figure 5"),
        alt=f"{pluralise(len(weights), 'staircase')} around the diagonal: the weight of starvation "
        "decides where the number is rounded down and where up.",
        height=3.4,
    )
