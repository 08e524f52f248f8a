"""What the page on the stochastic index says to section 7 of the report and to the slides.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7.
"""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.studies.stochastic_index.experiment import (
    Results,
    below_limit,
    best_threshold,
    crawled_by,
)
from analysis.ephemeral.studies.stochastic_index.numbers import shape_of_values
from analysis.report import Claim, claim

#: How far the slopes of V may pass their bound, a lattice being no continuum.
LATTICE_SLACK = 0.01


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows of section 7 and of the slides' announcements."""
    return [*_discounted(found), *_average(found), *_between_crawls(found), *_index(found)]


def _discounted(found: Results) -> list[Claim]:
    shape = shape_of_values(found)
    value, played = found.played
    rounding = 1e-9 * found.source.state[-1]
    regular = (
        shape["smallest slope"] >= -1e-9
        and shape["largest slope"] <= 1 + 1e-9
        and shape["least second difference"] >= -rounding
    )
    return [
        claim(
            "A-r-eq20",
            abs(value - played.value) <= 2 * played.half_width,
            numbers={
                "value": value,
                "earned": played.value,
                "half_width": played.half_width,
                "runs": played.replications,
            },
        ),
        claim(
            "A-r-lem5b",
            regular and shape["V above the content, at least"] < -rounding,
            numbers={
                "least_slope": shape["smallest slope"],
                "most_slope": shape["largest slope"],
                "discounts": list(found.discounted),
            },
        ),
        claim("A-r-lem5b-sum", False, basis="judged"),
        claim(
            "A-r-lem5b-const",
            shape["slope above the printed bound"] < LATTICE_SLACK,
            numbers={
                "above_printed": shape["slope above the printed bound"],
                "above_bound": shape["slope above the bound, at most"],
            },
        ),
    ]


def _average(found: Results) -> list[Claim]:
    source, average, table = found.source, found.average, found.solutions
    tiny = 1e-9 * source.state[-1]
    solves = table["residual of (21)"] < tiny
    solved = bool(solves.iloc[0])
    shifted = table["integral of V"].abs() > 1e-3 * source.mean
    others = bool((solves & shifted).iloc[1:].any())
    right = crawled_by(found.costly, found.costly_average.bias, found.subsidy)
    literal = crawled_by(found.costly, found.costly_average.bias, found.subsidy / found.costly.cost)
    from_right, from_literal = (
        found.costly.state[np.argmax(crawled)] for crawled in (right, literal)
    )
    optimal = np.array_equal(right, found.costly_average.policy)
    edge = float(source.state[np.argmax(crawled_by(source, average.bias, found.subsidy))])
    best = best_threshold(found.busiest[0], found.subsidy)
    above = float(average.bias[-1] + average.gain - source.state[-1])
    return [
        *(
            claim(
                row,
                solved,
                proof="prop-random-stopping",
                condition=others,
                numbers={"solutions": int(solves.sum())},
            )
            for row in ("A-r-eq21", "A-r-s7-unique")
        ),
        claim(
            "A-r-s7-eq12",
            solved and abs(table["integral of V"].iloc[0]) < tiny,
            condition=others,
            numbers={"integral": table["integral of V"].iloc[-1]},
        ),
        claim(
            "A-r-s7-argmax",
            optimal,
            condition=not np.array_equal(right, literal),
            numbers={
                "cost": found.costly.cost,
                "from_printed": from_literal,
                "from_optimal": from_right,
            },
        ),
        claim(
            "A-r-s7-V",
            bool(np.isclose(above, source.mean, atol=0.5 * source.mean)),
            numbers={"mean": source.mean, "above": abs(above)},
        ),
        claim(
            "A-r-s7-B",
            abs(edge - best) <= 0.02 * source.state[-1],
            numbers={"edge": edge, "best": best},
        ),
        claim("A-r-s7-Xi"),
        claim(
            "A-r-s7-shape",
            bool(np.diff(average.bias).min() >= -tiny and np.diff(average.bias, 2).min() >= -tiny),
            proof="prop-random-stopping",
            numbers={"points": len(average.bias)},
        ),
    ]


def _between_crawls(found: Results) -> list[Claim]:
    crawls, source = found.crawls, found.source
    gaps = crawls["gap"]
    u, alpha = source.mean, source.alpha
    off = float((found.betas["beta as printed"] / found.betas["beta"] - 1).abs().max())
    return [
        claim(
            "A-r-s7-Xeta",
            bool(np.allclose(crawls["content"], crawls["printed"])),
            numbers={
                "crawls": len(crawls),
                "content": crawls["content"].mean(),
                "printed_sum": crawls["printed"].mean(),
                "fluid": u * (1 + alpha),
                "printed_fluid": u * alpha * (1 + alpha),
            },
        ),
        claim(
            "A-r-s7-eta16",
            bool((gaps == found.eta).all()),
            numbers={
                "values": gaps.nunique(),
                "least": gaps.min(),
                "most": gaps.max(),
                "eta": found.eta,
            },
        ),
        claim(
            "A-r-s7-beta",
            off < 0.001 and found.is_closed_form,
            numbers={
                "law": found.law,
                "subsidies": len(found.betas),
                "off": off,
                "off_by_theorem": found.worst_busy,
            },
        ),
    ]


def _index(found: Results) -> list[Claim]:
    rate, rarest = list(found.worst.items())[-1]
    every = [curve for curves in found.curves.values() for curve in curves]
    monotone = all(curve.indexable for curve in every)
    fall = float((found.raised.bias - found.average.bias).min())
    return [
        claim(
            "A-r-s7-same",
            found.is_closed_form,
            numbers={
                "law": found.law,
                "inside": found.worst_inside,
                "inside_at": found.grid[below_limit(found.grid)].max(),
                "off": found.worst_busy,
                "off_rarest": rarest,
                "rate": rate,
                "grid_end": found.grid[-1],
                "error": found.error,
            },
        ),
        claim(
            "A-s-stoch-heuristic",
            not found.is_closed_form and found.simulation_agrees,
            numbers={"law": found.law, "off": found.worst_busy},
        ),
        claim(
            "A-r-s7-indexable",
            monotone,
            proof="thm-random-indexable",
            numbers={"curves": len(every)},
        ),
        claim(
            "A-r-s7-indexable-proof",
            fall >= -1e-9 * found.source.state[-1],
            numbers={"fall": -fall},
        ),
        claim(
            "A-s-dev-indexability",
            monotone,
            proof="thm-random-indexable",
            numbers={"curves": len(every)},
        ),
        claim(
            "A-s-dev-numerics",
            outcome="agrees" if found.simulation_agrees else "differs",
            numbers={"error": found.error, "contents": len(found.check)},
        ),
        claim("A-s-dev-noexplicit"),
        claim("A-r-stoch-report2", monotone, condition=not found.is_closed_form),
    ]
