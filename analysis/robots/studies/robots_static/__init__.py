"""The static section of the robot study: what it states, held against the M/M/1/K queue.

Sections 2.2 and 2.3 are in `impact`, the pictures in `pictures`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy import sparse

from analysis.mdp import stationary_law
from analysis.report import Claim
from analysis.robots.general.mg1k import GeneralQueue, exponential
from analysis.robots.static import mm1k, theory
from analysis.robots.studies.robots_static.formulas import (
    CAPACITIES,
    GRID,
    LOADS,
    RATES,
    RATIONAL,
    WEIGHTS,
    Floats,
    best_loads,
    printed_law,
)
from analysis.robots.studies.robots_static.impact import VAST, lemma_2, proposition_2


def claims(wrong: dict[int, float], ratio: float) -> list[Claim]:
    """Return what the page says to the static section.

    Parameters
    ----------
    wrong : dict of int to float
        As `wrong_shares` returns it.
    ratio : float
        mu/lambda of the figures.
    """
    loads = best_loads()
    return [
        *_context(),
        *_queue(),
        *_lemma_1(loads),
        *_proposition_1(wrong),
        *proposition_2(loads),
        *lemma_2(loads),
        *_figures(ratio),
    ]


def _context() -> list[Claim]:
    return [
        Claim("D-meta", context="the title page; a draft with open ends, which the chapters name"),
        Claim("D-intro-ref2", context="a remark on the literature of the time"),
        Claim("D-assump", context="the premises of the model, as this page takes them"),
        Claim("D-eq1", context="the definition of the cost, from which this page starts"),
        Claim("D-sections", context="the numbers are blank; they are sections 2 and 2.1"),
        Claim(
            "D-xref",
            False,
            basis="judged",
            evidence="(14) is cited for (11), (8) and (15) for (8) and (13), Proposition 22 for 3, "
            "Appendix B for A",
        ),
        Claim(
            "D-fut-redraw",
            True,
            basis="judged",
            evidence="Figures 2 to 5 are drawn here with the cost (4); the draft's own, which "
            "were to be replaced, are lost",
        ),
    ]


def _balanced_law(rho: float, capacity: int) -> Floats:
    """Return the law of the queue from its rates."""
    rates = sparse.diags_array([[rho] * capacity, [1.0] * capacity], offsets=[1, -1])
    return stationary_law(sparse.csr_array(rates))


def _queue() -> list[Claim]:
    down = all((np.diff(mm1k.starvation_probability(LOADS, k)) < 0).all() for k in CAPACITIES)
    up = all((np.diff(mm1k.loss_rate(LOADS, k)) > 0).all() for k in CAPACITIES)
    some = (0.3, 0.9, 1.7)
    laws = all(
        np.allclose(printed_law(r, k), _balanced_law(r, k)) for r in some for k in CAPACITIES
    )
    seen = [GeneralQueue(r, 5, exponential()).measures() for r in (*some, 1.0)]
    counted = [0.3 * empty + lost for empty, lost in seen]
    pasta = np.array(
        [
            0.3 * mm1k.starvation_probability(r, 5) + r * mm1k.full_probability(r, 5)
            for r in (*some, 1.0)
        ],
        float,
    )
    weighted = np.array(
        [
            0.3 * mm1k.starvation_probability(0.9, k) + mm1k.full_probability(0.9, k)
            for k in CAPACITIES
        ],
        float,
    )
    costs = np.array([mm1k.static_cost(0.9, 0.3, k) for k in CAPACITIES], float)
    at_one = np.array(
        [mm1k.static_cost(1.0, g, k) * (k + 1) / (g + 1) for g in WEIGHTS for k in CAPACITIES],
        float,
    )
    exact = {k: theory.static_identities(k) for k in (2, 3, 5, 8)}
    closed = all(
        np.allclose(c, p, rtol=1e-10)
        for c, p in zip([mm1k.static_cost(r, 0.3, 5) for r in (*some, 1.0)], pasta, strict=True)
    )
    return [
        Claim(
            "D-intro-tradeoff",
            down and up,
            evidence=f"starvation falls and loss rises with the load, on {len(LOADS)} loads and "
            f"{len(CAPACITIES)} capacities",
        ),
        Claim(
            "D-eq2",
            bool(np.allclose(pasta, counted, rtol=1e-11)),
            evidence="losses counted at arrivals by the chain embedded at departures, at four "
            "loads, equal lambda N P(X = K)",
        ),
        Claim(
            "D-eq3",
            laws,
            evidence="all probabilities against the law solved from the rates of "
            f"the queue, at three loads and {len(CAPACITIES)} capacities",
        ),
        Claim(
            "D-eq4",
            closed and all(found["(4)"] for found in exact.values()),
            evidence=f"the sum (2), and {RATIONAL}",
        ),
        Claim(
            "D-rho1",
            bool(np.allclose(at_one, 1.0, rtol=1e-13)),
            evidence="from the form without 0/0",
        ),
        *(
            Claim(
                row,
                bool(np.allclose(weighted, costs)),
                evidence=f"at load 0.9, gamma = 0.3, K = 5 the sum with the loss probability is "
                f"{weighted[2]:.4f}, the cost (2) {costs[2]:.4f}: it weighs the loss rate",
            )
            for row in ("D-concl-cost", "D-intro-cost")
        ),
        *(
            Claim(row, all(found[name] for found in exact.values()), evidence=RATIONAL)
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
        Claim(
            "D-lem1-unique",
            unimodal and least,
            proof="open-lemma1",
            evidence="one change from falling to rising on every curve of the grid, and the best "
            "load costs less than one a hundredth off",
        ),
        Claim("D-lem1-cases", sides, proof="open-lemma1", evidence=GRID),
        Claim(
            "D-gammaK",
            bool(np.allclose(at_critical, 1.0, atol=1e-9)),
            evidence="the best load at (K+2)/K is 1",
        ),
        Claim(
            "D-R-double",
            double and triple == 3,
            condition="gamma is not gamma(K)",
            evidence=f"order 2 by exact derivatives at 1; order {triple} at gamma(K)",
        ),
        Claim(
            "D-rho0",
            bool(np.abs(at_zero).max() < 1e-9),
            evidence="zero of the derivative of S, unique since S' + const is a power of rho; "
            + GRID,
        ),
        Claim(
            "D-eq7",
            bool(np.abs(slopes).max() < 1e-5),
            evidence="by central differences on the grid",
        ),
        Claim("D-T-sign", signs and zeros, evidence="on the grid, and zero at gamma(K)"),
    ]


def _rounds() -> bool:
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
    rounds = _rounds()
    cases = [(r, g) for r in (0.13, 0.37, 0.61) for g in (0.3, 3.0)]
    same = all(
        mm1k.large_capacity_robots(r, g) == mm1k.optimal_robots(r, g, VAST) for r, g in cases
    )
    limits = all(
        np.isclose(
            mm1k.infinite_capacity_cost(rho, 2.0), mm1k.static_cost(rho, 2.0, 4000), atol=1e-9
        )
        for rho in (0.7, 1.2)
    )
    one = "at least one robot runs"
    shares = ", ".join(f"{share:.0%} at K = {k}" for k, share in wrong.items())
    return [
        Claim(
            "D-prop1",
            rounds,
            condition="the floor is taken as at least 1",
            evidence="against all numbers of robots up to three times the best load",
        ),
        Claim(
            "D-abs-closed",
            False,
            basis="judged",
            evidence="the cost is in closed form, but the best load is a root of (6), a polynomial "
            "of degree 2(K+1), which is found numerically; one of its roundings is the best number",
        ),
        Claim(
            "D-eq15",
            same,
            condition=f"{one}; it follows from (8) and (13), not (8) and (15)",
            evidence=f"equal at K = {VAST} for {len(cases)} cases",
        ),
        Claim(
            "D-eq16",
            limits and wrong[200] < wrong[5],
            condition="rho_+, rho_- and C at infinite K are defined as on this page, and both "
            "brackets read as the two roundings",
            evidence=f"the limit is reached at K = 4000; share of wrong numbers: {shares}",
        ),
    ]


def _figures(ratio: float) -> list[Claim]:
    cost = "the table's own entries and arrows; drawn in its place is the cost with a weight"
    return [
        Claim("D-fig2-57", ratio, evidence="mu/lambda in the figures of this page"),
        Claim("D-fig1", figure="robots-static-model", leaves_open="how the draft drew it"),
        Claim(
            "D-fig2",
            figure="robots-static-number-gamma",
            leaves_open="the capacities of its two examples, and the range of the weights",
        ),
        Claim(
            "D-fig3",
            figure="robots-static-load",
            leaves_open="the weights; it had the old cost, which the draft wanted replaced",
        ),
        Claim("D-fig4", figure="robots-static-capacity", leaves_open="the weights and mu/lambda"),
        Claim("D-fig5", figure="robots-static-large-capacity", leaves_open="the weights"),
        *(
            Claim(row, figure="robots-static-cost", leaves_open=f"{cost} {side} gamma(K)")
            for row, side in (("D-t3", "below"), ("D-t4", "equal to"), ("D-t5", "above"))
        ),
    ]
