"""Initial ages, limits on ages, and entries in the calendar for new sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import Rng, check_array, check_rng
from analysis.ephemeral.relaxed import due_ages, relaxed_problem
from analysis.ephemeral.scheduler.calendar import NEVER, Floats, Ints, Limits
from analysis.ephemeral.sources import Sources

CHUNK = 2**16
"""Sources that are added, or read, at a time."""


def spread_ages(
    sources: Sources,
    budget: float,
    rng: Rng = None,
    *,
    subsidy: float | None = None,
    max_age: int | ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Return ages spread as they are in the long run, so that no sources begin in step.

    They are uniform between 1 and the age at which the relaxed problem crawls the source, or its
    maximal age, shape (N,): drawn, or without a generator evenly spaced (multiples of the golden
    ratio), so that also neighbours and copies begin at different ages. The due ages are those at
    the `subsidy`, by default that of the relaxed problem.
    """
    size = len(sources)
    if subsidy is None:
        sampled = sources
        if size > CHUNK:
            sampled = sources.subset(np.linspace(0, size - 1, CHUNK).astype(np.int64))
        share = float(sampled.cost.sum() / sources.cost.sum())
        budget = min(budget, float(sources.cost.sum()))
        subsidy = relaxed_problem(sampled, min(budget * share, float(sampled.cost.sum()))).subsidy
    due = np.minimum(due_ages(sources, subsidy), np.ceil(10.0 / sources.decay))
    due = np.minimum(due, NEVER if max_age is None else np.maximum(max_age, 1))
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    fraction = np.arange(1, size + 1) * golden % 1.0 if rng is None else check_rng(rng).random(size)
    return 1 + np.floor(fraction * due).astype(np.int64)


def set_rates(entries: NDArray[np.void], sources: Sources) -> None:
    """Write the rates of sources, as the index uses them, into entries of the calendar.

    ValueError if single precision cannot hold a rate.
    """
    for name, rate in (("limit", sources.u_star / sources.cost), ("decay", sources.decay)):
        with np.errstate(over="ignore", under="ignore"):
            entries[name] = rate
        stored = entries[name]
        bad = ~np.isfinite(stored) | ((rate > 0) & (stored < np.finfo(stored.dtype).tiny))
        if bad.any():
            what = "u*/C" if name == "limit" else "mu T"
            raise ValueError(
                f"sources must have {what} in the range of {stored.dtype}, got {rate[bad][0]:g}"
            )


def whole_numbers(name: str, values: ArrayLike, count: int, low: int) -> NDArray[np.int32]:
    """Return checked integers of at least `low`, one for all sources or `count` of them."""
    array = np.atleast_1d(check_array(name, values))
    if array.shape not in {(1,), (count,)}:
        raise ValueError(f"{name} must be one number or have shape ({count},), got {array.shape}")
    bad = (array < low) | (array > NEVER) | (array != np.floor(array))
    if bad.any():
        raise ValueError(f"{name} must be an integer in [{low}, {NEVER}], got {array[bad][0]:g}")
    return array.astype(np.int32)


def limits(min_age: int | ArrayLike, max_age: int | ArrayLike | None, count: int) -> Limits:
    """Return checked minimal and maximal ages; `most` is empty if there are no maximal ages."""
    least = whole_numbers("min_age", min_age, count, 0)
    if max_age is None:
        return Limits(least, np.empty(0, np.int32))
    most = whole_numbers("max_age", max_age, count, 1)
    if (above := least > most).any():
        pair = [np.broadcast_to(ages, above.shape)[above][0] for ages in (least, most)]
        raise ValueError(f"min_age must not be above max_age, got {pair[0]} and {pair[1]}")
    return Limits(least, most)


def limits_with(have: Limits, total: int, numbers: NDArray[np.int64], changed: Limits) -> Limits:
    """Return the limits of all `total` sources after those of some, new or old, have changed.

    Minimal ages stay one number while they are all equal; maximal ages stay empty while there are
    none.
    """
    same = np.unique(np.append(have.least, changed.least))
    least = same if same.size == 1 else _merged(have.least, total, numbers, changed.least, 0)
    if have.most.size or changed.most.size:
        return Limits(least, _merged(have.most, total, numbers, changed.most, NEVER))
    return Limits(least, have.most)


def _merged(have: Ints, total: int, numbers: NDArray[np.int64], changed: Ints, none: int) -> Ints:
    """Return limits, one a number; `none` stands for a missing limit."""
    merged = np.full(max(total, int(numbers.max()) + 1), none, np.int32)
    merged[:total] = have if have.size else none
    merged[numbers] = changed if changed.size else none
    return merged


def load(cost: Floats, most: NDArray[np.int32]) -> float:
    """Return the cost per epoch that maximal ages require, from costs and ages by number."""
    if most.size == 0:
        return 0.0
    return float(np.where(most < NEVER, cost / most, 0.0).sum())


def costs_with(costs: Floats, total: int, numbers: NDArray[np.int64], changed: Floats) -> Floats:
    """Return the costs, one for all `total` sources or one each, after a change of some."""
    if costs.size == 1 and (changed == costs[0]).all():
        return costs
    if total == 0:
        return changed
    merged = np.empty(max(total, int(numbers.max()) + 1))
    merged[:total] = costs
    merged[numbers] = changed
    return merged
