"""Section 6 of the report: the index by its definition and as it is printed, and its formulas.

The Whittle index in state x is the subsidy at which crawling and waiting tie in the average-reward
dynamic program of one source (report, section 3 and (10)),

    V(x) + beta = max( C lambda + V(alpha x + u), x + V(u) ).

`index_by_definition` solves this with decimal arithmetic. Let b = beta - C lambda, the gain of the
best cycle beyond the subsidy. Waiting s epochs from x and then crawling gains x_s - x - b s over
crawling now, and the best cycle crawls at an age k, so

    tie at x:       max_{s >= 1} (x_s - x) - b s = 0        gives b, by policy iteration,
    best cycle:     max_{k >= 1} (X_k - C lambda) / k = b   gives C lambda = max_k X_k - b k.

Above u* waiting never gains, and the tie is with never crawling again. The index is also the
maximum of increasing lines, one for each age k,

    C gamma(x) = max over k >= 1 of  X_k - k (1 - alpha)(u* - x),   X_k = u* (1 - alpha^k).

The documents print it as

    theorem   (1/C) [ eta ((1 - alpha) x - u) + (1 - alpha^eta) / (1 - alpha) u ]      Theorem 1
    remark    (1/C) [ eta ((1 - alpha) x - u) + x ]               Remark, and the slides' theorem

    eta = ceil( log^+_alpha( (u - (1 - alpha) x) / u ) ),   log^+ y = log y if y > 0, else 0.

The two agree on the states that follow a crawl, in exact arithmetic. Elsewhere the remark is
wrong, and in floating point the ceiling of a logarithm that should be whole can be one too large.
`index_checks` measures that: times are counted along the recursion (2), gains come from the dynamic
program, and no printed formula is compared with itself.

Reference: report 8702, (15) to (18), Theorem 1 and its Remark; slides, main theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_kind,
    check_rng,
    check_whole,
)
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.equations import tie_residuals


def index_by_definition(sources: Sources, state: ArrayLike, *, digits: int = 60) -> Floats:
    """Return the Whittle index of each source in a state, from the dynamic program in decimals.

    Parameters
    ----------
    sources : Sources
        N sources.
    state : array_like, shape (N,)
        Content of each; not negative.
    digits : int
        Decimal digits of the computation, at least 40; increased if differences of contents lose
        digits, because interest fades slowly or the content is a small share of u*.

    Returns
    -------
    ndarray, shape (N,)

    Raises
    ------
    ValueError
        If a state is negative, the shape is wrong, or there are too few digits.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> index_by_definition(four_sources(), [10.0, 10.0, 10.0, 10.0]).round(2).tolist()
    [5.03, 2.95, 5.03, 1.89]
    """
    check_kind("sources", sources, Sources)
    contents = check_array("state", state, 0)
    if contents.shape != (len(sources),):
        raise ValueError(f"state must have shape ({len(sources)},), got {contents.shape}")
    digits = check_integer("digits", digits, 40)
    index = np.empty(len(sources))
    columns = zip(sources.decay, contents, sources.u_star, sources.cost, strict=True)
    for i, (mu, x, limit, cost) in enumerate(columns):
        share = x / limit if 0 < x < limit else 1.0
        lost = max(0.0, -2.0 * np.log10(mu)) - np.log10(max(share, 1e-300))
        with localcontext() as context:
            context.prec = digits + int(np.ceil(lost))
            index[i] = float(_tie(*(Decimal(float(number)) for number in (mu, x, limit)))) / cost
    return index


def _tie(mu: Decimal, x: Decimal, u_star: Decimal) -> Decimal:
    """Return the subsidy, times the cost, at which crawling and waiting tie."""
    if x >= u_star:
        return x

    def off_orbit(s: int) -> Decimal:  # x_s - x: what waiting s epochs adds to the content
        return (u_star - x) * (1 - (-mu * s).exp())

    def on_orbit(k: int) -> Decimal:
        return u_star * (1 - (-mu * k).exp())

    excess, wait = Decimal(0), 1
    while (better := off_orbit(wait) / wait) > excess:
        excess = better
        wait = _best(off_orbit, excess)
    age = _best(on_orbit, excess)  # b = max_k (X_k - C lambda) / k, solved for C lambda
    return on_orbit(age) - excess * age


def _best(content: Callable[[int], Decimal], price: Decimal) -> int:
    """Return the k >= 1 that maximises content(k) - price k, for a concave content."""
    high = 1
    while content(high + 1) - content(high) > price:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if content(middle + 1) - content(middle) > price:
            low = middle
        else:
            high = middle
    return high


def index_as_maximum(sources: Sources, state: ArrayLike, ages: int = 2000) -> Floats:
    """Return the Whittle index below u* as the maximum of its lines, one for each age.

    States have shape (..., N); ValueError if one is negative or above u*. `ages` is large enough if
    alpha^ages is less than 1 - x/u*.
    """
    x = check_array("state", state, 0)
    if (x > sources.u_star).any():
        raise ValueError(f"state must be at most u* = {sources.u_star}, got {x}")
    ages = check_integer("ages", ages, 1)
    lag = -np.expm1(-sources.decay) * (sources.u_star - x)
    best = np.full(x.shape, -np.inf)
    for age in range(1, ages + 1):
        best = np.maximum(best, sources.state_at_age(age) - age * lag)
    return best / sources.cost


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


def run_from_above(
    sources: Sources, budget: int, excess: ArrayLike, epochs: int, *, above: str = "definition"
) -> tuple[Floats, Floats]:
    """Return the reward of each epoch and the crawls of each source under the index policy.

    `excess`, shape (N,), is X - u* at the start and may be positive; at least -u*. The index from
    u* on is x/C for "definition" as `above`, and 0, by the log^+ of Theorem 1, for "printed".
    ValueError names the argument, its value and the allowed range.
    """
    budget = check_whole("budget", budget, 1, len(sources))
    epochs = check_integer("epochs", epochs, 1)
    check_choice("above", above, ("definition", "printed"))
    distance = check_array("excess", excess).copy()
    if distance.shape != (len(sources),) or (distance < -sources.u_star).any():
        raise ValueError(f"excess must hold {len(sources)} numbers of at least -u*, got {distance}")
    reward, crawls = np.empty(epochs), np.zeros(len(sources))
    for epoch in range(epochs):
        # The distance to u* is followed, not the state: rounding cannot change its sign.
        state = sources.u_star + distance
        index = whittle_index(sources, state)
        if above == "printed":
            index = np.where(distance >= 0, 0.0, index)
        chosen = np.argsort(-index, kind="stable")[:budget]
        reward[epoch] = state[chosen].sum()
        crawls[chosen] += 1
        distance *= sources.alpha
        distance[chosen] = -sources.alpha[chosen] * sources.u_star[chosen]
    return reward, crawls


# The formulas of section 6 by second methods


def count_passages(sources: Sources, state: ArrayLike, *, fresh: bool) -> NDArray[np.int64]:
    """Return the epochs until an uncrawled source holds a content, as (16) defines eta.

    The contents to reach, shape (K, N), are in (0, u*), else ValueError; the start is u for
    `fresh`, as the report says before (15), rather than 0.
    """
    goal = check_array("state", state, 0, low_open=True)
    if (goal >= sources.u_star).any():
        raise ValueError(f"state must be below u* = {sources.u_star}, got {goal.max(axis=0)}")
    content = np.broadcast_to(sources.u if fresh else 0.0, goal.shape).copy()
    waits = np.zeros(goal.shape, dtype=np.int64)
    while (waiting := content < goal).any():
        content = np.where(waiting, sources.alpha * content + sources.u, content)
        waits += waiting
    return waits


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
