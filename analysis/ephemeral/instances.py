"""Random sets of sources, on which statements are checked beyond the four of Table 1.

No document has these laws: the ranges are the book's own. Each function draws from the generator
that it is given, so that a study owns its stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.checks import Rng, check_integer, check_number, check_rng
from analysis.ephemeral.sources import Sources

#: Costs from which `random_sources` draws.
COSTS = (1.0, 1.5, 2.0, 3.0)


def random_sources(size: int, rng: Rng, *, costs: bool = False) -> Sources:
    """Draw sources: rates on (1, 9), utilities on (0.2, 2), decay on (0.2, 1.5).

    With `costs` each cost is drawn from `COSTS`, else all are 1.
    """
    rng = check_rng(rng)
    size = check_integer("size", size, 1)
    return Sources(
        rng.uniform(1, 9, size),
        rng.uniform(0.2, 2, size),
        rng.uniform(0.2, 1.5, size),
        cost=rng.choice(COSTS, size) if costs else np.ones(size),
    )


def random_set(instance: int, seed: int, size: int = 4) -> tuple[Sources, int]:
    """Return set number `instance` of a seed, of at least 2 sources, and a budget for it.

    Neither depends on what was drawn before; budgets are 1, 2, ..., size - 1 in turn.

    >>> [random_set(i, seed=1)[1] for i in range(4)]
    [1, 2, 3, 1]
    """
    instance = check_integer("instance", instance, 0)
    size = check_integer("size", size, 2)
    rng = np.random.default_rng([seed, 7, instance])
    return random_sources(size, rng), 1 + instance % (size - 1)


def wide_set(instance: int, seed: int) -> tuple[Sources, np.random.Generator]:
    """Return set number `instance` of a seed, of three to eight sources, and a generator.

    Rates are over two decades, decay is on (0.05, 2), utilities are 1; the generator is for what
    else is drawn of this set.
    """
    rng = np.random.default_rng([seed, 21, check_integer("instance", instance, 0)])
    size = int(rng.integers(3, 9))
    rate = np.exp(rng.uniform(np.log(0.2), np.log(20.0), size))
    return Sources(rate, np.ones(size), np.exp(rng.uniform(np.log(0.05), np.log(2.0), size))), rng


def lognormal_sources(size: int, rng: Rng) -> Sources:
    """Draw sources that differ from each other by orders of magnitude.

    Arrival rates and utilities have median 1, decay rates median exp(-3); all are lognormal with
    unit variance of the logarithm.
    """
    rng = check_rng(rng)
    size = check_integer("size", size, 1)
    rate, utility = rng.lognormal(0, 1, size), rng.lognormal(0, 1, size)
    return Sources(rate, utility, rng.lognormal(-3, 1, size))


def even_decay_sources(size: int, rng: Rng) -> Sources:
    """Draw sources with lognormal rates and utilities, and decay rates uniform on (0.02, 0.5).

    Arrival rates and utilities have median 1; the logarithms have variance 1 and 1/4.
    """
    rng = check_rng(rng)
    size = check_integer("size", size, 1)
    rate, utility = rng.lognormal(0, 1, size), rng.lognormal(0, 0.5, size)
    return Sources(rate, utility, rng.uniform(0.02, 0.5, size))


def bunched(sources: Sources, factor: float) -> Sources:
    """Return sources whose items are `factor` times rarer and worth as much more.

    ValueError if the factor is not positive.
    """
    factor = check_number("factor", factor, 0, low_open=True)
    return replace(
        sources,
        arrival_rate=sources.arrival_rate / factor,
        mean_utility=sources.mean_utility * factor,
    )


def hard_sets() -> dict[str, tuple[Sources, int]]:
    """Return two sets on which the index policy loses more than powers of two ever do."""
    three = _by_limit([0.867, 1.136, 0.494], [1.075, 0.543, 1.051])
    five = _by_limit([0.571, 1.059, 0.737, 0.533, 2.163], [0.096, 1.217, 0.04, 1.942, 0.388])
    return {"three sources": (three, 1), "five sources": (five, 1)}


def _by_limit(u_star: Sequence[float], decay: Sequence[float]) -> Sources:
    """Return sources of given u* and decay, with utilities of 1."""
    rate = np.asarray(decay)
    return Sources(np.asarray(u_star) * rate, np.ones(rate.size), rate)
