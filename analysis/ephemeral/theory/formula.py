"""Section 6 of the report: passage times, cycles and the index formula, each by a second method.

Times are counted along the recursion (2), gains come from the dynamic program, and the index from
its definition in decimal arithmetic: no printed formula is compared with itself.

*The index exactly as the documents print it, to measure its errors.*

    theorem   (1/C) [ eta ((1 - alpha) x - u) + (1 - alpha^eta) / (1 - alpha) u ]      Theorem 1
    remark    (1/C) [ eta ((1 - alpha) x - u) + x ]               Remark, and the slides' theorem

    eta = ceil( log^+_alpha( (u - (1 - alpha) x) / u ) ),   log^+ y = log y if y > 0, else 0.

The two agree on the states that follow a crawl, in exact arithmetic. Elsewhere the remark is
wrong, and in floating point the ceiling of a logarithm that should be whole can be one too large.

Reference: report 8702, (15) to (18), Theorem 1 and its Remark; slides, main theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import Rng, check_array, check_choice, check_integer, check_rng
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.definition import index_by_definition
from analysis.ephemeral.theory.equations import count_passages, tie_residuals
from analysis.ephemeral.theory.structure import index_as_maximum

# The index exactly as the documents print it, to measure its errors

FORMS = ("theorem", "remark")


def printed_eta(sources: Sources, state: ArrayLike) -> Floats:
    """Return the passage time to states, shape (..., N), as printed in (16); 0 from u* on."""
    x = check_array("state", state, 0)
    argument = (sources.u - (1.0 - sources.alpha) * x) / sources.u
    positive = argument > 0
    logarithm = np.log(np.where(positive, argument, 1.0)) / np.log(sources.alpha)
    return np.where(positive, np.ceil(logarithm), 0.0) + 0.0  # no minus zero


def printed_index(sources: Sources, state: ArrayLike, form: str = "theorem") -> Floats:
    """Return the Whittle index in states, shape (..., N), in one of the two printed `FORMS`.

    ValueError if a state is negative or the form is unknown.
    """
    check_choice("form", form, FORMS)
    x = check_array("state", state, 0)
    eta = printed_eta(sources, x)
    alpha, u = sources.alpha, sources.u
    last = x if form == "remark" else (1.0 - alpha**eta) / (1.0 - alpha) * u
    return (eta * ((1.0 - alpha) * x - u) + last) / sources.cost


def orbit(sources: Sources, ages: int) -> Floats:
    """Return the contents at ages 1, 2, ..., with the rounding of the recursion (2); (ages, N)."""
    states = np.empty((ages, len(sources)))
    state = np.zeros(len(sources))
    for row in states:
        state = sources.alpha * state + sources.u
        row[:] = state
    return states


@dataclass(frozen=True)
class IndexChecks:
    """Deviations of the formulas of section 6 on given sources, as relative differences."""

    # Share of contents whose passage time by (16) equals the counted one, from 0; and from u.
    clock: float
    late: float
    one_less: float  # share of those for which the time from u is one less than (16)
    content: float  # deviation of (15) from the content of the recursion after the counted epochs
    # Deviations of (17) and (18) from the dynamic program, in units of u*.
    gain: float
    tie: float
    gaps: int  # largest number of different gaps between crawls under one of many thresholds
    theorem: float  # deviation of Theorem 1 as printed from the maximum of the lines, below u*
    zero: float  # largest printed index from u* on
    above: float  # deviation of the index from its definition at 1.2 u*
    # Deviation of twice the index at a cost of two from that at a cost of one, by definition.
    halves: float
    # Deviations of the contents after a crawl, and of those of a source never crawled, from their
    # formulas.
    visited: float
    never: float
    # Deviations of the short form from the index: at exact whole ages on the orbit, and from its
    # definition at 1.2 u*.
    short: float
    short_above: float
    # Amount by which the short form is too small on the contents of a source never crawled.
    missed: float
    rise: float  # least increase of the index of the first source between neighbouring contents


def index_checks(sources: Sources, decays: Sequence[float], cases: int, rng: Rng) -> IndexChecks:
    """Compare the formulas of section 6 with counts, recursions and the dynamic program.

    The sources have costs of one and `cases` random contents each; `decays` are mu T of random
    ties.
    """
    rng = check_rng(rng)
    cases = check_integer("cases", cases, 1)
    contents = rng.uniform(0.001, 0.999, (cases, 1)) * sources.u_star
    eta = printed_eta(sources, contents)
    counted, late = (count_passages(sources, contents, fresh=f) for f in (False, True))
    visited = orbit(sources, max(60, int(counted.max())))
    ages = np.arange(1, 21)[:, None]
    reached = np.take_along_axis(visited, counted - 1, axis=0)
    gain, tie = tie_residuals(decays, min(cases, 200), rng)
    never, formula = _never_crawled(sources)
    remark = printed_index(sources, never, "remark")
    short = visited[:20] * (1 + ages * (1 - sources.alpha)) - ages * sources.u
    index = whittle_index_at_age(sources, np.broadcast_to(ages, short.shape))
    two = replace(sources, cost=np.full(len(sources), 2.0))
    state = 0.6 * sources.u_star
    high = 1.2 * sources.u_star
    share = np.linspace(1.0001 * sources.u[0] / sources.u_star[0], 0.9999, 500)
    first = sources.subset(slice(0, 1))
    return IndexChecks(
        clock=float((eta == counted).mean()),
        late=float((eta == late).mean()),
        one_less=float((late == eta - 1).mean()),
        content=_worst(-np.expm1(-sources.decay * eta) * sources.u_star, reached),
        gain=gain,
        tie=tie,
        gaps=max(_kinds_of_gaps(sources, rng.uniform(sources.u[0], 0.99 * sources.u_star[0], 50))),
        theorem=_worst(printed_index(sources, contents), index_as_maximum(sources, contents)),
        zero=float(printed_index(sources, high).max()),
        above=_worst(whittle_index(sources, high), index_by_definition(sources, high)),
        halves=_worst(2 * index_by_definition(two, state), index_by_definition(sources, state)),
        visited=_worst(visited[:60], sources.state_at_age(np.arange(1, 61)[:, None])),
        never=_worst(never, formula),
        short=_worst(short, index),
        short_above=_worst(
            printed_index(sources, high, "remark"), index_by_definition(sources, high)
        ),
        missed=float((whittle_index(sources, never) - remark).max()),
        rise=float(np.diff(whittle_index(first, share[:, None] * first.u_star)[:, 0]).min()),
    )


def _worst(values: Floats, truth: Floats) -> float:
    return float(np.abs(values / truth - 1).max())


def _never_crawled(sources: Sources) -> tuple[Floats, Floats]:
    """Return contents from 0.3 u* without a crawl, by the recursion and by their formula."""
    contents = [0.3 * sources.u_star]
    for _ in range(40):
        contents.append(sources.alpha * contents[-1] + sources.u)
    powers = sources.alpha ** np.arange(41)[:, None]
    return np.array(contents), sources.u_star - 0.7 * sources.u_star * powers


def _kinds_of_gaps(sources: Sources, thresholds: Floats) -> list[int]:
    """Return the number of different gaps between crawls of the first source, by threshold."""
    kinds = []
    for threshold in thresholds:
        content, crawls = float(sources.u[0]), []
        for epoch in range(400):
            crawled = content >= threshold
            if crawled:
                crawls.append(epoch)
            content = next_content(sources, content, crawled)
        kinds.append(len(set(np.diff(crawls))))
    return kinds


def next_content(sources: Sources, content: float, crawled: bool) -> float:
    """Return the content of the first source at the next epoch, by (2) and (3)."""
    return float(sources.alpha[0] * (0.0 if crawled else content) + sources.u[0])
