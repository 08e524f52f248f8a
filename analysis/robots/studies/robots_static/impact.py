"""Sections 2.2 and 2.3 of the robot study: how the weight and the capacity move the best load."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from analysis.report import Claim, claim
from analysis.robots.static import mm1k, theory
from analysis.robots.studies.robots_static.formulas import (
    CAPACITIES,
    GRID,
    LARGEST,
    LOADS,
    WEIGHTS,
    Floats,
    printed_11,
    printed_14,
)

#: Limits L of the best load, above one.
LIMITS = (Fraction(1001, 1000), Fraction(11, 10), Fraction(2), Fraction(20))
#: A weight and a capacity that stand for infinity.
FAR, VAST = 1e12, 20_000


def proposition_2(loads: dict[int, Floats]) -> list[Claim]:
    """Return what the page says to section 2.2 and to (14), from the best loads by capacity."""
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
    numbers = [[mm1k.optimal_robots(0.1, g, k) for g in WEIGHTS] for k in CAPACITIES]
    more = all((np.diff(n) >= 0).all() and n[-1] > n[0] for n in numbers)
    fourteen = printed_14(mm1k.optimal_load(2.0, 8), 2.0, 8, 5)
    low, high = (theory.numerator(load, 2.0, VAST) for load in (0.9, 1.01))
    literal = printed_14(0.9, 2.0, VAST, 5)
    return [
        claim("D-prop2-mono", rises, proof="open-lemma1", numbers=GRID),
        claim("D-prop2-inf", far, proof="open-lemma1", numbers={"far": FAR}),
        claim("D-eq9", _chain_of_9()),
        claim("D-eq10", max(terms) < 1e-7),
        claim(
            "D-eq11", bool(np.isclose(right, needed)), numbers={"printed": right, "needed": needed}
        ),
        claim(
            "D-eq11-sign",
            min(brackets) > 0,
            numbers={
                "capacities": len(CAPACITIES),
                "least": float(LIMITS[0]),
                "most": float(LIMITS[-1]),
            },
        ),
        claim("D-prop2-bound", beyond > 1, numbers={"weight": between, "load": beyond}),
        claim(
            "D-prop2-phys",
            more and all((np.diff(empty) < 0).all() for empty in idle),
            numbers=GRID,
        ),
        claim("D-fig2-mono", more),
        claim(
            "D-eq14-limits",
            bool(np.isclose(low, -2.0)) and high > 1e9,
            condition=not np.isclose(literal, -2.0),
            numbers={"vast": VAST, "low": low, "high": high, "as_printed": literal},
        ),
        claim("D-eq14", abs(fourteen) < 1e-9, numbers={"left": fourteen}),
    ]


def _chain_of_9() -> bool:
    """Whether the equality of (9) and both of its signs hold, at two weights and several loads."""
    low, high = 0.8, 2.5
    some = LOADS[20:50:6]
    for k in (2, 5):
        cheap, dear = (
            partial(mm1k.static_cost, gamma=low, capacity=k),
            partial(mm1k.static_cost, gamma=high, capacity=k),
        )
        pairs = [(a, b) for a in some for b in some if a < b]
        left = np.array([dear(a) - cheap(a) - (dear(b) - cheap(b)) for a, b in pairs], float)
        right = np.array([dear(a) - dear(b) + cheap(b) - cheap(a) for a, b in pairs], float)
        best, other = mm1k.optimal_load(high, k), mm1k.optimal_load(low, k)
        last = dear(best) - dear(other) + cheap(other) - cheap(best)
        if not (np.allclose(left, right) and min(left) > 0 and last <= 0):
            return False
    return True


def lemma_2(loads: dict[int, Floats]) -> list[Claim]:
    """Return what the page says to section 2.3, from the best loads by capacity."""
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
    return [
        claim("D-lem2-a", rises, proof="open-lemma2", numbers=GRID),
        claim("D-lem2-b", turns, proof="open-lemma2", numbers=GRID),
        claim("D-lem2-K0"),
        claim(
            "D-lem3",
            bool(tends),
            proof="open-lemma3",
            numbers={"vast": VAST, "distance": wide, "weights": len(weights)},
        ),
        claim("D-lem3-mean", bool(tends)),
    ]
