"""Sections 2.2 and 2.3 of the robot study: how the weight and the capacity move the best load."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from analysis.report import Claim
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
        Claim(
            "D-prop2-mono",
            rises,
            proof="open-lemma1",
            evidence=f"strictly increasing, {GRID}",
        ),
        Claim(
            "D-prop2-inf",
            far,
            proof="open-lemma1",
            evidence=f"grows like (gamma K)^(1/(K+1)), at gamma = {FAR:g}",
        ),
        Claim(
            "D-eq9",
            _chain_of_9(),
            evidence="both sides are equal at all pairs of loads tried; the first sign holds for "
            "any smaller load in the first place, the last at the two minima: so the supposed "
            "order of the loads is impossible",
        ),
        Claim(
            "D-eq10",
            max(terms) < 1e-7,
            evidence="R at the best load vanishes, relative to its terms",
        ),
        Claim(
            "D-eq11",
            bool(np.isclose(right, needed)),
            evidence=f"at L = 1.3, K = 5 the printed parentheses give {right:.4f} where R = 0 "
            f"needs {needed:.4f}",
        ),
        Claim(
            "D-eq11-sign",
            min(brackets) > 0,
            evidence="the factor of gamma in (6), in rational arithmetic at "
            f"{len(CAPACITIES)} capacities and L from {float(LIMITS[0]):g} to "
            f"{float(LIMITS[-1]):g}; it is 0 at L = 1, and its slope K (K+1) L^(K-1) (L - 1) is "
            "positive from there on",
        ),
        Claim(
            "D-prop2-bound",
            beyond > 1,
            evidence=f"K = 5, gamma = {between:.2f} is above the bound, and the best load is "
            f"{beyond:.4f}; the bound is (K+2)/K, the printed one (K+1)/K",
        ),
        Claim(
            "D-prop2-phys",
            more and all((np.diff(empty) < 0).all() for empty in idle),
            evidence="the larger gamma, the more robots and the less starvation at the best load, "
            + GRID,
        ),
        Claim("D-fig2-mono", more, evidence="at mu/lambda = 10, on the grid of weights"),
        Claim(
            "D-eq14-limits",
            bool(np.isclose(low, -2.0)) and high > 1e9,
            condition="K_n stands for K in the exponent of (14)"
            if not np.isclose(literal, -2.0)
            else "",
            evidence=f"at gamma = 2 and K_n = {VAST} the right side of (6) is {low:.4f} at load "
            f"0.9 and {high:.0e} at 1.01; with the printed exponent it is {literal:.0f} at 0.9",
        ),
        Claim(
            "D-eq14",
            abs(fourteen) < 1e-9,
            evidence="its third term has rho^K where rho^{K_n} stands in (6) at K_n: at gamma = 2, "
            f"K = 5, K_n = 8 the best load gives {fourteen:.3f} instead of 0",
        ),
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
        Claim(
            "D-lem2-a",
            rises,
            proof="open-lemma2",
            evidence=f"strictly increasing, {GRID}",
        ),
        Claim(
            "D-lem2-b",
            turns,
            proof="open-lemma2",
            evidence=f"one turn, at K_0 of equation (12), {GRID}",
        ),
        Claim(
            "D-lem2-K0",
            missing="the draft leaves the formula blank; the page gives one from equation (12), "
            "and its value for every weight",
        ),
        Claim(
            "D-lem3",
            bool(tends),
            proof="open-lemma3",
            evidence=f"at K = {VAST} the best load is within {wide:.1e} of one, and K times its "
            f"distance is the limit that the proof gives, for {len(weights)} weights",
        ),
        Claim(
            "D-lem3-mean",
            bool(tends),
            evidence="the best arrival rate over mu is the best load",
        ),
    ]
