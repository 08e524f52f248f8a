"""Verdicts on sections 4 to 6 of the report, and on what the slides say of the same.

Companion of `model_and_index`, whose `claims` joins these rows with those of sections 2 and 3.
"""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.studies.model_and_index.equations import ends_of_interval
from analysis.ephemeral.studies.model_and_index.results import ROOM, ROUNDING, Results
from analysis.report import Claim, claim

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


def _margin(found: Results, id: str, columns: list[str], proof: str = "") -> Claim:
    least = float(found.checks[columns].min().min())
    rounding = abs(least) <= ROOM
    numbers = {"points": len(found.checks), "least": least}
    outcome = "rounding" if rounding else "margin"
    return claim(id, least > -ROOM, proof=proof, outcome=outcome, numbers=numbers)


def _grid(found: Results) -> list[Claim]:
    """Judge the statements of `lemma_checks`, those of the discounted problem, and two proofs."""
    start, excess, bend = found.finite
    printed, control = found.checks["printed_constant"], found.checks["printed_control"]
    nested = float(found.checks["nested"].min())
    near = NEAR_LIMIT - float(found.checks["vanishing_discount"].min())
    rising = found.index.rise > 0 and nested > 0
    shape = ["discounted_monotone", "discounted_convex"]
    return [
        claim("A-r-eq8", found.equations.discounted < ROUNDING),
        claim("A-r-lem1-1", excess < 1e-12),
        claim(
            "A-r-finite-dp",
            start < ROUNDING and excess < 1e-12 and (bend > -1e-12),
            numbers={"start": start},
        ),
        _margin(found, "A-r-lem1-2", ["lipschitz"]),
        claim(
            "A-r-lem1-2const",
            float(printed.min()) >= -ROOM,
            numbers={"share": (printed < 0).mean(), "worst": -printed.min()},
        ),
        claim(
            "A-r-lem1-2former",
            float(control.min()) >= -ROOM,
            numbers={"share": (control < 0).mean(), "worst": -control.min()},
        ),
        claim("A-r-lem1-2sum", False, basis="judged"),
        _margin(found, "A-r-lem1-3", shape),
        _margin(found, "A-r-vbar", ["vanishing_discount", *shape]),
        claim(
            "A-s-proof-discount",
            near <= NEAR_LIMIT,
            numbers={"near": near, "points": len(found.checks)},
        ),
        _margin(found, "A-r-lem2-1", ["monotone", "convex"], "lem-mi-lines"),
        claim(
            "A-r-lem4",
            nested > 0,
            proof="thm-mi-indexable",
            numbers={"fall": -found.fall, "nested": nested},
        ),
        claim("A-r-lem4-proof", found.fall >= -ROOM, numbers={"fall": -found.fall}),
        claim(
            "A-s-def-indexable", nested > 0, proof="thm-mi-indexable", numbers={"nested": nested}
        ),
        _margin(found, "A-r-lem5", ["threshold"], "thm-mi-threshold"),
        _margin(found, "A-s-proof-threshold", ["threshold"], "thm-mi-threshold"),
        _margin(found, "A-r-cor1", ["slope"], "thm-mi-threshold"),
        *(
            claim(row, rising, proof="thm-mi-index")
            for row in ("A-r-a-increasing", "A-s-proof-mono")
        ),
    ]


def _average(found: Results) -> list[Claim]:
    """Judge the dynamic program of the average reward."""
    worst, halves = found.equations, found.index.halves < ROUNDING
    fits = worst.average < ROUNDING
    gain = worst.solver < ROUNDING
    return [
        *(claim(row, fits) for row in ("A-r-eq7", "A-s-eq8", "A-r-eq10")),
        claim("A-s-eq9-10", fits, condition=worst.any_gain < ROUNDING),
        claim(
            "A-r-eq11",
            fits and halves,
            condition=worst.literal > 0.01,
            numbers={"most": worst.literal},
        ),
        claim("A-r-B-lambda", halves),
        *(
            claim(row, found.definition < ROUNDING and halves)
            for row in ("A-r-def-index", "A-s-def-index")
        ),
        claim("A-r-B", worst.threshold < ROUNDING),
        claim("A-r-lem2-2", gain),
        claim("A-r-eq12", fits),
        claim("A-r-V-explicit", fits and gain, proof="lem-mi-lines"),
        claim("A-r-lem3", fits and gain, condition=worst.any_gain < ROUNDING),
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
    beats = solved.gain > solved[["subsidy", "fresh"]].max(axis=1) + slack
    return [
        claim(
            "A-r-case1",
            bool(never.any() and (rests & passive)[never].all()),
            numbers={"at": int(never.sum()), "subsidies": len(solved)},
        ),
        claim(
            "A-r-eq13",
            bool(never.any() and not never.all() and (never == passive).all()),
            condition=moves,
        ),
        claim(
            "A-r-case2",
            bool(always.any() and not always.all() and (works & active)[always].all()),
            numbers={"at": int(always.sum()), "subsidies": len(solved)},
        ),
        claim(
            "A-r-eq14",
            bool(always.any() and not always.all() and (always == active).all()),
            condition=moves,
        ),
        claim(
            "A-r-interval",
            apart and bool(between.any() and beats[between].all()),
            basis="judged",
            numbers={"rates": len(ends)},
        ),
    ]


def _cycle(found: Results) -> list[Claim]:
    """Judge (15) to (18)."""
    index = found.index
    return [
        claim("A-r-eq16", index.clock == 1, condition=index.late < 1),
        claim("A-r-eq15", index.content < ROUNDING, condition=index.late < 1),
        claim("A-r-X0u", index.late == 1, numbers={"share": index.one_less}),
        *(claim(row, index.gain < ROUNDING) for row in ("A-r-eq17", "A-r-betatilde")),
        claim("A-r-eq18", index.tie < ROUNDING),
        claim("A-r-proof-step", found.equations.active < ROUNDING),
        claim("A-r-periodic", index.gaps == 1),
    ]


def _formula(found: Results) -> list[Claim]:
    """Judge Theorem 1, its Remark, and the slides' theorem."""
    index = found.index
    off = index.missed > 1
    short = {"uncrawled": index.missed, "elsewhere": found.short_worst, "flips": found.flips}
    exact = index.short < ROUNDING
    return [
        claim(
            "A-r-thm1",
            index.theorem < ROUNDING and index.above < ROUNDING and (found.definition < ROUNDING),
            proof="thm-mi-index",
            condition=index.zero == 0,
        ),
        claim("A-r-remark-discrete", index.visited < ROUNDING),
        claim("A-r-remark-never", index.never < ROUNDING),
        claim("A-r-remark-form", exact, condition=off, numbers=short),
        claim("A-s-thm", exact, condition=off, numbers=short),
    ]
