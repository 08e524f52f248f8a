"""Verdicts on sections 4 to 6 of the report, and on what the slides say of the same.

Companion of `model_and_index`, whose `claims` joins these rows with those of sections 2 and 3.
"""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.studies.model_and_index.equations import ends_of_interval
from analysis.ephemeral.studies.model_and_index.results import ROOM, ROUNDING, Results
from analysis.report import Claim

#: Distance from V, in units of u*, that still counts as its limit: that of `lemma_checks`.
NEAR_LIMIT = 1e-3


def theory_claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows of sections 4 to 6.

    Parameters
    ----------
    found : Results
    """
    return [
        *_grid(found),
        *_average(found),
        *_ends(found),
        *_cycle(found),
        *_formula(found),
    ]


def _margin(found: Results, id: str, columns: list[str], proof: str = "", more: str = "") -> Claim:
    least = float(found.checks[columns].min().min())
    shown = f"{least + 0.0:.0e}" if abs(least) > ROOM else "0 up to rounding"
    return Claim(
        id,
        least > -ROOM,
        proof=proof,
        evidence=f"least margin {shown} on a grid of {len(found.checks)} points of mu T and "
        f"subsidy{more}",
    )


def _grid(found: Results) -> list[Claim]:
    """Judge the statements of `lemma_checks`, those of the discounted problem, and two proofs."""
    above = "; for lambda up to u*/C, above which all states are passive"
    start, excess, bend = found.finite
    printed, control = found.checks["printed_constant"], found.checks["printed_control"]
    nested = float(found.checks["nested"].min())
    near = NEAR_LIMIT - float(found.checks["vanishing_discount"].min())
    rising = found.index.rise > 0 and nested > 0
    shape = ["discounted_monotone", "discounted_convex"]
    falls = f"V itself falls with lambda, at up to {-found.fall:.2f} for each unit"
    return [
        Claim(
            "A-r-eq8",
            found.equations.discounted < ROUNDING,
            evidence="solved by the maximum over waiting times, to rounding, on the grid and four "
            "discounts",
        ),
        Claim(
            "A-r-lem1-1",
            excess < 1e-12,
            evidence="from two first functions V_n comes to one and the same limit; the distance "
            "falls by delta^10 or more in ten steps",
        ),
        Claim(
            "A-r-finite-dp",
            start < ROUNDING and excess < 1e-12 and bend > -1e-12,
            evidence="V_0(x) = max(x, C lambda) by the definition of V_n, which exceeds the "
            f"printed x by up to {start:.2f} u*; from either, V_n is convex and tends to V_delta",
        ),
        _margin(
            found, "A-r-lem1-2", ["lipschitz"], more="; 1 is a Lipschitz constant for all discounts"
        ),
        Claim(
            "A-r-lem1-2const",
            float(printed.min()) >= -ROOM,
            evidence="the slope is (alpha delta)^tau; the printed constant is smaller at "
            f"{(printed < 0).mean():.0%} of the grid, at worst by {-printed.min():.2f}",
        ),
        Claim(
            "A-r-lem1-2former",
            float(control.min()) >= -ROOM,
            evidence="a control optimal from x is one of those from x', so that the inequality "
            f"points the other way: at {(control < 0).mean():.0%} of the grid the difference of "
            f"values is larger, at worst by {-control.min():.2f} (x' - x); with a control optimal "
            "from x', the latter, it is not",
        ),
        Claim(
            "A-r-lem1-2sum",
            False,
            basis="judged",
            evidence="m is bound by no sum: the sum is over t, and delta^t is meant",
        ),
        _margin(found, "A-r-lem1-3", shape),
        _margin(
            found,
            "A-r-vbar",
            ["vanishing_discount", *shape],
            more="; the discounted values come within 0.001 u* of V at 1 - delta = 1e-7",
        ),
        Claim(
            "A-s-proof-discount",
            near <= NEAR_LIMIT,
            evidence=f"discounted values come within {near:.0e} u* of V at 1 - delta = 1e-7, on a "
            f"grid of {len(found.checks)} points of mu T and subsidy",
        ),
        _margin(found, "A-r-lem2-1", ["monotone", "convex"], "lem-mi-lines"),
        Claim(
            "A-r-lem4",
            nested > 0,
            proof="thm-mi-indexable",
            evidence=f"not by the report's argument: {falls}; x - V(alpha x + u) - C lambda falls "
            f"with lambda all the same, by {nested:.0e} or more from one subsidy of the grid to "
            "the next",
        ),
        Claim(
            "A-r-lem4-proof",
            found.fall >= -ROOM,
            evidence=f"{falls}, so that x - V(alpha x + u) at its own lambda does not order the "
            "sets; that it is concave in x says nothing of lambda",
        ),
        Claim(
            "A-s-def-indexable",
            nested > 0,
            proof="thm-mi-indexable",
            evidence=f"D falls by {nested:.0e} or more from one subsidy of the grid to the next",
        ),
        _margin(found, "A-r-lem5", ["threshold"], "thm-mi-threshold", above),
        _margin(found, "A-s-proof-threshold", ["threshold"], "thm-mi-threshold", above),
        _margin(
            found, "A-r-cor1", ["slope"], "thm-mi-threshold", "; the slope is at least 1 - alpha"
        ),
        *(
            Claim(
                row,
                rising,
                proof="thm-mi-index",
                evidence="the inverse of the index, which is convex with slopes of at least "
                "(1 - alpha)/C; 500 contents of the first source",
            )
            for row in ("A-r-a-increasing", "A-s-proof-mono")
        ),
    ]


def _average(found: Results) -> list[Claim]:
    """Judge the dynamic program of the average reward."""
    worst, halves = found.equations, found.index.halves < ROUNDING
    solves = "residual zero up to rounding on the grid, at 101 contents each"
    fits = worst.average < ROUNDING
    gain = worst.solver < ROUNDING
    return [
        *(
            Claim(row, fits, evidence=f"solved by the maximum over waiting times: {solves}")
            for row in ("A-r-eq7", "A-s-eq8", "A-r-eq10")
        ),
        Claim(
            "A-s-eq9-10",
            fits,
            condition="V(u) = 0, which the slides do not print"
            if worst.any_gain < ROUNDING
            else "",
            evidence=f"solved by the maximum over waiting times: {solves}",
        ),
        Claim(
            "A-r-eq11",
            fits and halves,
            condition="C = 1; otherwise C lambda stands where lambda is printed"
            if worst.literal > 0.01
            else "",
            evidence="at C = 2 the second line as printed misses the first by up to "
            f"{worst.literal:.2f} u* on the grid; the slides have it right",
        ),
        Claim(
            "A-r-B-lambda",
            halves,
            evidence="in the general setting of section 3 a passive source earns lambda; section 4 "
            "has C lambda, and at C = 2 the tie moves to half the subsidy",
        ),
        *(
            Claim(
                row,
                found.definition < ROUNDING and halves,
                evidence="the subsidy at which both actions tie, unique by the proof of "
                "indexability; with C lambda for it, as in section 4, it is the closed form, to "
                "rounding, on random sources",
            )
            for row in ("A-r-def-index", "A-s-def-index")
        ),
        Claim(
            "A-r-B",
            worst.threshold < ROUNDING,
            evidence="crawling in B^c and waiting in B earns beta, to rounding, on the grid; "
            "section 3 puts ties on the other side, which no value depends on",
        ),
        Claim(
            "A-r-lem2-2",
            gain,
            evidence="beta against policy iteration on the contents after a crawl, to rounding",
        ),
        Claim(
            "A-r-eq12",
            fits,
            evidence=f"(10) at every state, hence along every optimal path: {solves}",
        ),
        Claim(
            "A-r-V-explicit",
            fits and gain,
            proof="lem-mi-lines",
            evidence=f"put into (10): {solves}; its gain agrees with policy iteration",
        ),
        Claim(
            "A-r-lem3",
            fits and gain,
            condition="V(u) = 0, and V bounded and continuous" if worst.any_gain < ROUNDING else "",
            evidence="without V(u) = 0 any number above C lambda in the place of beta has a "
            "solution: beta + 0.1 u* has one, to rounding",
        ),
    ]


def _ends(found: Results) -> list[Claim]:
    """Judge the subsidies at which one action is best everywhere, (13) and (14)."""
    solved, slack = found.solved, ROUNDING
    never = solved.u_star < solved.subsidy - slack  # u* in B
    always = solved.u >= solved.subsidy - slack  # u in B^c
    rests = np.isclose(solved.gain, solved.subsidy, rtol=0, atol=slack)
    works = np.isclose(solved.gain, solved.fresh, rtol=0, atol=slack)
    passive = solved.high < solved.subsidy - slack
    active = solved.low >= solved.subsidy - slack
    ends = ends_of_interval(solved)
    apart = bool((ends.lambda_m < ends.lambda_M).all())
    low, high = (solved.decay.map(ends.agg(f, axis=1)) for f in ("min", "max"))
    between = (solved.subsidy > low + slack) & (solved.subsidy < high - slack)
    moves = bool((solved.groupby("decay").high.nunique() > 1).any())
    own = "V is that of lambda itself, so that the bound depends on lambda" if moves else ""
    beats = solved.gain > solved[["subsidy", "fresh"]].max(axis=1) + slack
    some = f"at {int(never.sum())} of {len(solved)} solved subsidies, from below the index of u to "
    some += "1.5 u*/C"
    return [
        Claim(
            "A-r-case1",
            bool(never.any() and (rests & passive)[never].all()),
            evidence=f"u* is in B {some}; at each of them beta = C lambda and all states are "
            "passive, by policy iteration",
        ),
        Claim(
            "A-r-eq13",
            bool(never.any() and not never.all() and (never == passive).all()),
            condition=own,
            evidence="lambda is above the maximum at those subsidies and at no other; the maximum "
            "is u*/C, the index of u*",
        ),
        Claim(
            "A-r-case2",
            bool(always.any() and not always.all() and (works & active)[always].all()),
            evidence=f"u is in B^c at {int(always.sum())} of {len(solved)} solved subsidies; at "
            "each of them beta = u and all states are active, by policy iteration",
        ),
        Claim(
            "A-r-eq14",
            bool(always.any() and not always.all() and (always == active).all()),
            condition=own,
            evidence="lambda is at most the minimum at those subsidies and at no other; the "
            "minimum is (1 - alpha) u / C, the index of u",
        ),
        Claim(
            "A-r-interval",
            apart and bool(between.any() and beats[between].all()),
            evidence="the printed interval is empty: lambda_m, a maximum, is more than lambda_M, "
            f"a minimum, for each of {len(ends)} decay rates. Between lambda_M and lambda_m beta "
            "does exceed what both constant policies earn",
        ),
    ]


def _cycle(found: Results) -> list[Claim]:
    """Judge (15) to (18)."""
    index = found.index
    random = "200 random states"
    return [
        Claim(
            "A-r-eq16",
            index.clock == 1,
            condition="X(0) = 0 and 0 < x < u*" if index.late < 1 else "",
            evidence="the epochs to x counted on random contents of each source",
        ),
        Claim(
            "A-r-eq15",
            index.content < ROUNDING,
            condition="X(0) = 0, the content just after a crawl" if index.late < 1 else "",
            evidence="against the recursion (2), after the counted epochs; from X(0) = u the "
            "content at time t is (1 - alpha^(t+1)) u*",
        ),
        Claim(
            "A-r-X0u",
            index.late == 1,
            evidence="from X(0) = u the first time at x or above is one less than (16) in "
            f"{index.one_less:.0%} of the cases",
        ),
        *(
            Claim(
                row,
                index.gain < ROUNDING,
                evidence=f"against the gain at the tie, {random}: equal to rounding",
            )
            for row in ("A-r-eq17", "A-r-betatilde")
        ),
        Claim(
            "A-r-eq18",
            index.tie < ROUNDING,
            evidence=f"with the gain of the dynamic program, {random}: equal to rounding",
        ),
        Claim(
            "A-r-proof-step",
            found.equations.active < ROUNDING,
            evidence="V(x') = x' - beta in all active states of the grid, to rounding",
        ),
        Claim(
            "A-r-periodic",
            index.gaps == 1,
            evidence="a threshold, and one and the same state after each crawl; one gap only for "
            "each of 50 random thresholds",
        ),
    ]


def _formula(found: Results) -> list[Claim]:
    """Judge Theorem 1, its Remark, and the slides' theorem."""
    index = found.index
    off = index.missed > 1
    short = (
        f"from 0.3 u* without a crawl it is too small by up to {index.missed:.1f}, elsewhere by up "
        f"to {found.short_worst:.1f}; in double precision its ceiling is wrong in "
        f"{found.flips:.0%} of random cases"
    )
    exact = index.short < ROUNDING
    return [
        Claim(
            "A-r-thm1",
            index.theorem < ROUNDING and index.above < ROUNDING and found.definition < ROUNDING,
            proof="thm-mi-index",
            condition="x < u*; from u* on log^+ makes it 0, where the index is x/C"
            if index.zero == 0
            else "",
            evidence="stable form against definition on random sources: equal to rounding",
        ),
        Claim(
            "A-r-remark-discrete",
            index.visited < ROUNDING,
            evidence="the contents after a crawl are X_k = u (1 - alpha^k)/(1 - alpha)",
        ),
        Claim(
            "A-r-remark-never",
            index.never < ROUNDING,
            evidence="from x0 the contents are u* - (u* - x0) alpha^t; the short form of the index "
            "does not hold on them",
        ),
        Claim(
            "A-r-remark-form",
            exact,
            condition="x among the states after a crawl" if off else "",
            evidence=short,
        ),
        Claim(
            "A-s-thm",
            exact,
            condition="x among the states after a crawl, or from u* on" if off else "",
            evidence=short,
        ),
    ]
