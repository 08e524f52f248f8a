"""What the page on the stochastic index says to section 7 of the report and to the slides.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ephemeral.stochastic.index import StochasticIndex
from analysis.ephemeral.stochastic.values import RandomSource, discount_to_crawl
from analysis.ephemeral.studies.stochastic_index import best_threshold, crawled_by
from analysis.report import Claim, claim
from analysis.results import AverageSolution, DiscountedSolution, Estimate

Floats = NDArray[np.float64]
#: How far the slopes of V may pass their bound, a lattice being no continuum.
LATTICE_SLACK = 0.01


@dataclass(frozen=True)
class Results:
    """What the page computes: source 1 on a lattice, its equations, its crawls, and all indices.

    Attributes
    ----------
    source, dear : RandomSource
        Source 1 at unit cost, and at another cost.
    subsidy : float
        lambda of the equations at unit cost; the dear source has the same C lambda.
    average, dear_average : AverageSolution
        Solution of the corrected (21) for each of the two.
    raised : AverageSolution
        The same for source 1 at 1.1 times the subsidy.
    solutions : pandas.DataFrame
        Rows of `printed_average`, the first at the optimal beta.
    discounted : dict of float to DiscountedSolution
        Solution of (20) by discount.
    played : tuple of float and Estimate
        V_d in one state, and what its policy earns from there on random content.
    crawls : pandas.DataFrame
        Crawls by the threshold of `average`, from `follow_threshold`.
    eta : float
        Epochs between them by (16).
    betas : pandas.DataFrame
        Average reward as printed and by the dynamic program, one row a subsidy.
    check : pandas.DataFrame
        The index on the lattice and simulated, one row a content.
    curves : dict of float to list of StochasticIndex
        Index of each source, by arrival rate, the largest rate first.
    grid : ndarray, shape (G,)
        Contents at which the closed form is held against the index, in units of u*.
    deviation : dict of float to ndarray, shape (N, G)
        Closed form over index, less 1, by arrival rate.
    scale : ndarray, shape (N,)
        u*/C of each source at the largest rate.
    """

    source: RandomSource
    dear: RandomSource
    subsidy: float
    average: AverageSolution
    dear_average: AverageSolution
    raised: AverageSolution
    solutions: pd.DataFrame
    discounted: dict[float, DiscountedSolution]
    played: tuple[float, Estimate]
    crawls: pd.DataFrame
    eta: float
    betas: pd.DataFrame
    check: pd.DataFrame
    curves: dict[float, list[StochasticIndex]]
    grid: Floats
    deviation: dict[float, Floats]
    scale: Floats

    @property
    def worst(self) -> dict[float, float]:
        """Largest deviation of the closed form, by arrival rate."""
        return {rate: float(np.nanmax(np.abs(d))) for rate, d in self.deviation.items()}

    @property
    def worst_busy(self) -> float:
        """Largest deviation of the closed form at the largest rate, below u*."""
        busy = next(iter(self.deviation.values()))
        return float(np.nanmax(np.abs(busy[:, below_limit(self.grid)])))

    @property
    def busiest(self) -> list[StochasticIndex]:
        """Index of each source at the largest rate."""
        return next(iter(self.curves.values()))

    @property
    def error(self) -> float:
        """Largest estimated error of the index at the largest rate, in units of u*/C."""
        return max(c.error / top for c, top in zip(self.busiest, self.scale, strict=True))

    @property
    def simulation_agrees(self) -> bool:
        """Whether each simulated index is within two half-widths of the lattice's."""
        off = (self.check["simulated"] - self.check["lattice"]).abs()
        return bool((off <= 2 * self.check["half-width"]).all())

    @property
    def is_closed_form(self) -> bool:
        """Whether the closed form is the index, within ten times the error of the latter."""
        return self.worst_busy < 10 * self.error


def below_limit(grid: Floats) -> NDArray[np.bool_]:
    """Return which contents, in units of u*, Theorem 1 prints an index for: at u* it has none."""
    return np.asarray(grid < 1 - 1e-9)


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows of section 7 and of the slides' announcements."""
    return [*_discounted(found), *_average(found), *_between_crawls(found), *_index(found)]


def shape_of_values(found: Results) -> dict[str, float]:
    """Return what the second Lemma 5 says of V_d, in numbers, over all discounts.

    The outer half of the lattice, where its end is felt, is left out.
    """
    x, source = found.source.state, found.source
    inside = x <= 0.5 * (x[-1] + source.mean / (1 - source.alpha))
    values = {d: solution.values[inside] for d, solution in found.discounted.items()}
    slopes = {d: np.diff(value) / np.diff(x[inside]) for d, value in values.items()}
    fading = {
        d: discount_to_crawl(source, solution.policy, source.alpha * d)[inside]
        for d, solution in found.discounted.items()
    }
    return {
        "smallest slope": min(float(s.min()) for s in slopes.values()),
        "largest slope": max(float(s.max()) for s in slopes.values()),
        "least second difference": min(float(np.diff(v, 2).min()) for v in values.values()),
        "slope above the bound, at most": max(
            float((slopes[d] - fading[d][1:]).max()) for d in slopes
        ),
        "slope above the printed bound": max(
            _steepest_beyond(x[inside], values[d], fading[d]) for d in values
        ),
        "V above the content, at least": min(
            float((v.values - x).min()) for v in found.discounted.values()
        ),
    }


def _steepest_beyond(x: Floats, values: Floats, fading: Floats) -> float:
    """Return by how much a chord of V exceeds the bound with a control optimal from its left end.

    Chords join each tenth content to the last one of the grid.
    """
    left = np.arange(0, x.size - 1, 10)
    chords = (values[-1] - values[left]) / (x[-1] - x[left])
    return float((chords - fading[left]).max())


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
    right = crawled_by(found.dear, found.dear_average.bias, found.subsidy)
    literal = crawled_by(found.dear, found.dear_average.bias, found.subsidy / found.dear.cost)
    from_right, from_literal = (
        found.dear.state[np.argmax(crawled)] for crawled in (right, literal)
    )
    optimal = np.array_equal(right, found.dear_average.policy)
    edge = float(source.state[np.argmax(crawled_by(source, average.bias, found.subsidy))])
    best = best_threshold(found.busiest[0], found.subsidy)
    above = float(average.bias[-1] + average.gain - source.state[-1])
    return [
        claim(
            "A-r-eq21",
            solved,
            proof="prop-random-stopping",
            condition=others,
            numbers={"solutions": int(solves.sum())},
        ),
        claim(
            "A-r-s7-unique",
            solved,
            proof="prop-random-stopping",
            condition=others,
            numbers={"solutions": int(solves.sum())},
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
                "cost": found.dear.cost,
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
            numbers={"subsidies": len(found.betas), "off": off, "off_by_theorem": found.worst_busy},
        ),
    ]


def _index(found: Results) -> list[Claim]:
    rate, rarest = list(found.worst.items())[-1]
    busiest = found.worst_busy
    every = [curve for curves in found.curves.values() for curve in curves]
    monotone = all(curve.indexable for curve in every)
    fall = float((found.raised.bias - found.average.bias).min())
    return [
        claim(
            "A-r-s7-same",
            found.is_closed_form,
            numbers={
                "off": busiest,
                "off_rarest": rarest,
                "rate": rate,
                "grid_end": found.grid[-1],
                "error": found.error,
            },
        ),
        claim(
            "A-s-stoch-heuristic",
            not found.is_closed_form and found.simulation_agrees,
            numbers={"off": busiest},
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
            found.simulation_agrees,
            numbers={"error": found.error, "contents": len(found.check)},
        ),
        claim("A-s-dev-noexplicit"),
        claim("A-r-stoch-report2", monotone, condition=not found.is_closed_form),
    ]
