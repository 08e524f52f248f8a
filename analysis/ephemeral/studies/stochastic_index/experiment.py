"""Section 7 of the report, line by line: what it prints against what random content does.

Between two crawls at epochs eta_m and eta_{m+1} a source gathers

    X(eta_{m+1}) = sum from t = eta_m + 1 to eta_{m+1} of alpha^(eta_{m+1} - t) U(t),

while the report prints the sum from eta_m to eta_{m+1} - 1; and the epochs between two crawls,
which the report takes from (16) as one fixed number, are a random first passage.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import check_array, check_integer, check_number
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import StochasticIndex
from analysis.ephemeral.stochastic.values import RandomSource, stopping_value
from analysis.ephemeral.theory.definition import index_from_passages
from analysis.results import AverageSolution, DiscountedSolution, Estimate, NotConverged

#: Policies of the page beside the true index, by label: rules of `analysis.ephemeral.kernels`.
RULES = {
    "closed form": "whittle",
    "to the letter": "theorem",
    "largest content": "myopic",
    "greedy": "greedy",
}


def simulated_index(content: Floats, alpha: float, state: float) -> tuple[float, float]:
    """Return the index from simulated passages and the half-width of its interval.

    As `index_from_passages`; both are nan where the content reaches the state too seldom.
    """
    try:
        found = index_from_passages(content, alpha, state)
    except NotConverged:
        return np.nan, np.nan
    return found.value, found.half_width


def printed_average(source: RandomSource, subsidy: float, beta: float) -> dict[str, float]:
    """Solve the report's (21) as printed for a given beta, by V = W_g - beta, g = C lambda - beta.

    `source`: one source; `beta`: above C lambda. Keys: ``beta``; ``residual of (21)``, the largest
    violation of the printed equation; ``integral of V`` over the law of U.
    """
    value = stopping_value(source, source.cost * subsidy - beta) - beta
    right = right_of_21(source, subsidy, value)
    return {
        "beta": beta,
        "residual of (21)": float(np.abs(value + beta - right).max()),
        "integral of V": float(source.ahead(value)[0]),
    }


def right_of_21(source: RandomSource, subsidy: float, value: Floats) -> Floats:
    """Return the right side of (21) as printed, shape (points,), for a value of each content."""
    return np.maximum(source.cost * subsidy + source.ahead(value), source.state)


def crawled_by(source: RandomSource, value: Floats, subsidy: float) -> NDArray[np.int64]:
    """Return 1 where crawling is at least as good as waiting for so much: x >= subsidy + E V."""
    return (source.state >= subsidy + source.ahead(value)).astype(np.int64)


def best_threshold(curve: StochasticIndex, subsidy: float) -> float:
    """Return the threshold of largest average reward, by renewal rewards alone.

    The threshold x earns r(x) + lambda (1 - f(x)) per epoch, with f its crawls per epoch and
    r = gamma f - g, as follows from the tie at lambda = gamma(x). No value function is used.

    `curve`: index, waiting and frequency of each threshold, at unit cost.
    """
    rate = curve.index * curve.frequency - curve.waiting + subsidy * (1.0 - curve.frequency)
    return float(curve.state[np.argmax(rate)])


def discounted_reward(
    content: ArrayLike,
    alpha: float,
    threshold: float,
    initial: float,
    subsidy: float,
    discount: float,
) -> Estimate:
    """Estimate what a threshold policy earns on random content, discounted.

    `content`: what each epoch of each run brings; `threshold`, `initial`: content from which on
    the source is crawled; content at the first epoch. Returns: over the runs; the epochs beyond
    the last are left out.
    """
    arrived = check_array("content", content, 0)
    discount = check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    state, earned = np.full(len(arrived), float(initial)), np.zeros(len(arrived))
    for epoch, more in enumerate(arrived.T):
        crawl = state >= threshold
        earned += discount**epoch * np.where(crawl, state, subsidy)
        state = np.where(crawl, 0.0, alpha * state) + more
    return Estimate.of(earned)


def follow_threshold(
    content: ArrayLike, alpha: float, threshold: float, first: int = 0
) -> pd.DataFrame:
    """Crawl one source whenever its content reaches a threshold, and note every crawl.

    `content`: what each epoch brings; `threshold`: content from which on it is crawled, positive;
    `first`: where the sum for the content begins, counted from the crawl before: 0 as printed, 1
    as it should be. It has as many terms as there are epochs between the crawls. One row a crawl
    but the first: the ``content`` found, the ``printed`` sum for it, and the ``gap`` in epochs
    since the crawl before.
    """
    threshold = check_number("threshold", threshold, 0, low_open=True)
    alpha = check_number("alpha", alpha, 0, 1, low_open=True, high_open=True)
    arrived = check_array("content", content, 0)
    rows, state, last = [], 0.0, -1
    for epoch, more in enumerate(arrived):
        state = alpha * state + more
        if state < threshold:
            continue
        if last >= 0:
            terms = np.arange(last, epoch) + first
            printed = float(alpha ** (epoch - terms) @ arrived[terms])
            rows.append((state, printed, epoch - last))
        state, last = 0.0, epoch
    return pd.DataFrame(rows, columns=["content", "printed", "gap"])


def printed_average_reward(
    alpha: float, u_star: float, subsidy: float, epochs_between: int
) -> float:
    """Average reward of section 7 with one fixed number of epochs between crawls.

    `alpha`, `u_star`: share of content left after an epoch, in (0, 1); limit of the expected
    content; `epochs_between`: eta, at least 1. (C lambda (eta - 1) + (1 - alpha^eta) u*) / eta.
    """
    alpha = check_number("alpha", alpha, 0, 1, low_open=True, high_open=True)
    eta = check_integer("epochs_between", epochs_between, 1)
    return (subsidy * (eta - 1) + (1.0 - alpha**eta) * u_star) / eta


def closed_form_deviation(
    sources: Sources, curves: Sequence[StochasticIndex], share: ArrayLike
) -> Floats:
    """Compare Theorem 1, continued by x/C, with the true index of random content.

    `curves`: true index of each; `share`: contents in units of u*, positive. Returns: closed form
    over index, less 1; ``nan`` beyond the end of a curve.
    """
    if len(curves) != len(sources):
        raise ValueError(f"curves must number {len(sources)}, one a source, got {len(curves)}")
    contents = check_array("share", share, 0, low_open=True)[:, None] * sources.u_star
    closed = whittle_index(sources, contents).T
    true = [
        np.interp(column, curve.state, curve.index, right=np.nan)
        for column, curve in zip(contents.T, curves, strict=True)
    ]
    return closed / np.array(true) - 1


@dataclass(frozen=True)
class Results:
    """What the page computes: source 1 on a lattice, its equations, its crawls, and all indices."""

    law: str  # of the utilities
    # Source 1 at unit cost, and at another cost.
    source: RandomSource
    costly: RandomSource
    subsidy: float  # lambda of the equations at unit cost; the costly source has the same C lambda
    # Solution of the corrected (21) for each of the two.
    average: AverageSolution
    costly_average: AverageSolution
    raised: AverageSolution  # the same for source 1 at 1.1 times the subsidy
    solutions: pd.DataFrame  # rows of `printed_average`, the first at the optimal beta
    discounted: dict[float, DiscountedSolution]  # solution of (20) by discount
    # V_d in one state, and what its policy earns from there on random content.
    played: tuple[float, Estimate]
    crawls: pd.DataFrame  # crawls by the threshold of `average`, from `follow_threshold`
    eta: float  # epochs between them by (16)
    betas: pd.DataFrame  # average reward as printed and by the dynamic program, one row a subsidy
    check: pd.DataFrame  # the index on the lattice and simulated, one row a content
    # Index of each source, by arrival rate, the largest rate first.
    curves: dict[float, list[StochasticIndex]]
    # Contents at which the closed form is compared with the index, in units of u*; shape (G,).
    grid: Floats
    deviation: dict[float, Floats]  # closed form over index, less 1, by arrival rate; shape (N, G)
    scale: Floats  # u*/C of each source at the largest rate; shape (N,)

    @property
    def worst(self) -> dict[float, float]:
        """Largest deviation of the closed form, by arrival rate."""
        return {rate: float(np.nanmax(np.abs(d))) for rate, d in self.deviation.items()}

    @property
    def worst_busy(self) -> float:
        """Largest deviation of the closed form at the largest rate, up to u*."""
        busy = next(iter(self.deviation.values()))
        return float(np.nanmax(np.abs(busy[:, up_to_limit(self.grid)])))

    @property
    def worst_inside(self) -> float:
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
        return self.worst_inside < 10 * self.error


def below_limit(grid: Floats) -> NDArray[np.bool_]:
    """Return which contents, in units of u*, are below u*: Theorem 1 prints an index there."""
    return np.asarray(grid < 1 - 1e-9)


def up_to_limit(grid: Floats) -> NDArray[np.bool_]:
    """Return which contents, in units of u*, are at most u*, to which the index is continuous."""
    return np.asarray(grid <= 1 + 1e-9)
