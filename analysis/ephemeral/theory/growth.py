"""Sections 2 and 4 of the report: arrivals in an epoch, and contents before and after a crawl.

The growth of expected content is integrated by a solver for differential equations and compared
with (1) to (3); contents under random controls are compared with the statements of section 4.

Reference: report 8702, (1) to (3) and section 4; slides, (1) to (3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp

from analysis.arrays import Floats
from analysis.checks import Rng, check_integer, check_rng
from analysis.ephemeral.sources import Sources

BoolLike = NDArray[np.bool_] | bool


@dataclass(frozen=True)
class ModelChecks:
    """Deviations of (1) to (3), alpha and u* from numerical integration."""

    # By T, the right side of (1) over its middle, averaged over the sources.
    lacks: dict[float, float]
    # `growth_error` from 0.7 u*, and from an empty source.
    growth: float
    fresh_growth: float
    # Largest difference of alpha from the share of interest that is left after an epoch.
    left: float
    # Largest relative difference of u* from the content after many epochs without a crawl.
    limit: float
    above: bool  # whether u* is more than u
    # Contents of the first source one, two and three epochs after a crawl, over u.
    aged: Floats
    # Largest relative difference of u and alpha from those of the same sources in units of T: rates
    # Lambda T and mu T with a period of 1.
    rescaled: float


def model_checks(by_period: Mapping[float, Sources]) -> ModelChecks:
    """Compare the model's equations with the growth of content, integrated numerically.

    `by_period` has the same sources with several periods T.
    """
    sources = by_period[1.0]
    content, aged = np.zeros(len(sources)), []
    for _ in range(int(40 / sources.decay.min()) + 3):
        content = sources.alpha * content + sources.u
        aged.append(content[0] / sources.u[0])
    faded = [
        np.abs(_fade(group.decay_rate, period) / group.alpha - 1).max()
        for period, group in by_period.items()
    ]
    return ModelChecks(
        lacks={
            period: float((group.u / _printed_middle(group, period)).mean())
            for period, group in by_period.items()
        },
        growth=max(growth_error(group, 0.7) for group in by_period.values()),
        fresh_growth=max(growth_error(group, 0.0) for group in by_period.values()),
        left=float(max(faded)),
        limit=float(np.abs(content / sources.u_star - 1).max()),
        above=bool((sources.u_star > sources.u).all()),
        aged=np.array(aged[:3]),
        rescaled=max(_change_of_unit(group) for group in by_period.values()),
    )


def _change_of_unit(sources: Sources) -> float:
    """Return the largest relative change of u and alpha if the period becomes the unit of time."""
    period = sources.period
    unit = replace(
        sources,
        arrival_rate=sources.arrival_rate * period,
        decay_rate=sources.decay_rate * period,
        period=1.0,
    )
    changes = [unit.u / sources.u, unit.alpha / sources.alpha]
    return float(np.abs(np.array(changes) - 1).max())


def _printed_middle(sources: Sources, period: float) -> Floats:
    """Return Lambda E[xi exp(-mu tau)] with the age tau uniform on the epoch."""
    columns = zip(sources.arrival_rate, sources.mean_utility, sources.decay_rate, strict=True)
    return np.array(
        [
            rate * quad(lambda t, xi=xi, mu=mu: xi * np.exp(-mu * t) / period, 0, period)[0]
            for rate, xi, mu in columns
        ]
    )


def _fade(rate: Floats, period: float) -> Floats:
    """Return the share of interest left after an epoch, by numerical integration."""
    flow = solve_ivp(
        lambda _, x: -rate * x, (0, period), np.ones(rate.size), rtol=1e-10, atol=1e-12
    )
    return np.asarray(flow.y[:, -1])


def growth_error(sources: Sources, share: float) -> float:
    """Return the largest relative difference of (2) and (3) from content integrated over an epoch.

    The content at the start is `share` u*; 0 is an empty source, as in (3).
    """
    limit = sources.u_star
    flow = solve_ivp(
        lambda _, x: sources.arrival_rate * sources.mean_utility - sources.decay_rate * x,
        (0, sources.period), share * limit, rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    stated = sources.alpha * share * limit + sources.u
    return float(np.abs(flow.y[:, -1] / stated - 1).max())


@dataclass(frozen=True)
class TransientChecks:
    """Whether the statements on contents before and after the first crawl hold in every run."""

    # Under any control contents are at most those without a crawl, and less after a crawl.
    stays_below: bool
    # A source above u* decreases towards it while it is not crawled, without reaching it.
    falls: bool
    drops: bool  # after the first crawl contents are at most u*
    as_free: bool  # in some run contents are those without a crawl until a later first crawl
    empty: bool  # an empty source has the same content an epoch later whether it is crawled or not
    # Number of runs from either side of u*, and their length.
    runs: int
    epochs: int


def step(content: Floats, crawl: BoolLike) -> Floats:
    """Return the content of the next epoch by (2) and (3), with alpha = 0.7 and u* = 1."""
    return np.asarray(np.where(crawl, 0.0, 0.7 * content) + 0.3)


def transient_checks(runs: int, epochs: int, rng: Rng) -> TransientChecks:
    """Follow contents under random controls, from starts below and above u*, with alpha = 0.7.

    There are at least 2 runs; every other one starts below u*.
    """
    rng = check_rng(rng)
    runs = check_integer("runs", runs, 2)
    epochs = check_integer("epochs", epochs, 1)
    control = rng.random((runs, epochs)) < rng.uniform(0, 1, (runs, 1))
    low = np.arange(runs) % 2 == 1
    begin = np.where(low, rng.uniform(0, 1, runs), rng.uniform(1, 3, runs))
    content, free, untouched = begin.copy(), begin.copy(), np.ones(runs, bool)
    stays_below = falls = drops = True
    as_free = False
    for crawl in control.T:
        untouched &= ~crawl
        content = step(content, crawl)
        before, free = free[~low], step(free, np.zeros(runs, bool))
        falls &= bool((free[~low] < before).all() and (free[~low] > 1 - 1e-12).all())
        touched = ~untouched & low
        stays_below &= bool((content <= free + 1e-12).all())
        stays_below &= bool((content[touched] < free[touched]).all())
        drops &= bool((content[~untouched] <= 1).all())
        yet = untouched & low & control.any(axis=1)
        as_free |= bool(yet.any() and (content[yet] == free[yet]).all())
    crawled, passive = step(np.zeros(2), np.array([True, False]))
    empty = bool(crawled == passive)
    return TransientChecks(stays_below, falls, drops, as_free, empty, runs // 2, epochs)
