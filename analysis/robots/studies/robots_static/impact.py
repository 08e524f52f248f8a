"""Sections 2.2 and 2.3 of the robot study: how the weight and the capacity move the best load."""

from __future__ import annotations

from functools import partial

import numpy as np

from analysis.report import Claim
from analysis.robots.static import theory
from analysis.robots.static.mm1k import limiting_drift
from analysis.robots.studies.robots_static.formulas import (
    CAPACITIES,
    GRID,
    LARGEST,
    LOADS,
    WEIGHTS,
    Floats,
    Formulas,
)

#: A weight and a capacity that stand for infinity.
FAR, VAST = 1e12, 20_000


def proposition_2(f: Formulas, loads: dict[int, Floats]) -> list[Claim]:
    """Return what the page says to section 2.2 and to (14), from the best loads by capacity."""
    rises = all((np.diff(loads[k]) > 0).all() for k in CAPACITIES)
    far = all(f.load(FAR, k) > 0.9 * (FAR * k) ** (1 / (k + 1)) for k in (2, 5, 15))
    terms = [
        abs(f.numerator(rho, g, k)) / ((1 + g) * max(1.0, rho) ** (2 * k + 2))
        for k in CAPACITIES
        for g, rho in zip(WEIGHTS, loads[k], strict=True)
    ]
    right = f.eq11(1.3, 5)
    needed = 1.3**5 * (1.3**7 - 7 * 1.3 + 6) / (5 * 1.3**6 - 6 * 1.3**5 + 1)
    between = (f.bound(5) + 7 / 5) / 2 if f.bound(5) < 7 / 5 else 1.5
    beyond = f.load(between, 5)
    idle = [[f.starvation(rho, k) for rho in loads[k]] for k in CAPACITIES]
    numbers = [[f.robots(0.1, g, k) for g in WEIGHTS] for k in CAPACITIES]
    more = all((np.diff(n) >= 0).all() and n[-1] > n[0] for n in numbers)
    fourteen = f.eq14(f.load(2.0, 8), 2.0, 8, f.exponent(5, 8))
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
            _chain_of_9(f),
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
            "D-prop2-bound",
            beyond > 1,
            evidence=f"K = 5, gamma = {between:.2f} is above the bound, and the best load is "
            f"{beyond:.4f}; the bound is (K+2)/K",
        ),
        Claim(
            "D-prop2-phys",
            more and all((np.diff(empty) < 0).all() for empty in idle),
            evidence="the larger gamma, the more robots and the less starvation at the best load, "
            + GRID,
        ),
        Claim("D-fig2-mono", more, evidence="at mu/lambda = 10, on the grid of weights"),
        Claim(
            "D-eq14",
            abs(fourteen) < 1e-9,
            evidence="its third term has rho^K where rho^{K_n} stands in (6) at K_n: at gamma = 2, "
            f"K = 5, K_n = 8 the best load gives {fourteen:.3f} instead of 0",
        ),
    ]


def _chain_of_9(f: Formulas) -> bool:
    """Whether the equality of (9) and both of its signs hold, at two weights and several loads."""
    low, high = 0.8, 2.5
    some = LOADS[20:50:6]
    for k in (2, 5):
        cheap, dear = (
            partial(f.cost, gamma=low, capacity=k),
            partial(f.cost, gamma=high, capacity=k),
        )
        pairs = [(a, b) for a in some for b in some if a < b]
        left = [dear(a) - cheap(a) - (dear(b) - cheap(b)) for a, b in pairs]
        right = [dear(a) - dear(b) + cheap(b) - cheap(a) for a, b in pairs]
        best, other = f.load(high, k), f.load(low, k)
        last = dear(best) - dear(other) + cheap(other) - cheap(best)
        if not (np.allclose(left, right) and min(left) > 0 and last <= 0):
            return False
    return True


def lemma_2(f: Formulas, loads: dict[int, Floats]) -> list[Claim]:
    """Return what the page says to section 2.3, from the best loads by capacity."""
    small = WEIGHTS <= 1
    rises = all((loads[k + 1][small] > loads[k][small]).all() for k in range(2, LARGEST))
    turns = all(
        theory.rises_then_falls(
            [loads[k][i] for k in range(2, LARGEST + 1)], f.turning(float(g)) - 2
        )
        for i, g in enumerate(WEIGHTS)
        if g > 1.02
    )
    # Near one is not enough: K times the distance from one has a limit of its own.
    weights = [float(g) for g in (*WEIGHTS[::4], 3.0)]
    off = np.array([VAST * (f.load(g, VAST) - 1) for g in weights])
    drift = np.array([limiting_drift(g) for g in weights])
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
