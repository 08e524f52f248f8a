"""What crawls show: sums of worth, and, where items are seen, of worth times age.

An item that appeared s epochs ago with utility xi is worth v = xi e^{-mu s} now. A crawl at age k
finds items of expected worth u* mu e^{-mu s} ds at ages s in (0, k). All that the estimates of
`analysis.learning.certainty_equivalence` use of them are two sums over the items of a crawl ::

    R = sum v,      A = sum v s.

R alone has mean u* (1 - e^{-mu k}), which leaves a curve of pairs (u*, mu) when all crawls have
the same age k. E A / E R does not depend on u*, and falls strictly from k/2 to 0 as mu grows, so
that items seen at any one age tell of both. Over one epoch that brings the sums U and B ::

    R <- alpha R + U,      A <- alpha (A + R) + B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import read_only_arrays
from analysis.checks import Rng, check_array, check_integer, check_kind, check_rng, set_fields
from analysis.display import brief
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.kernels import one_minus_short_exp
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class ItemSums:
    """Sums over items that are seen one by one: of their worth, and of worth times age.

    Parameters
    ----------
    worth : array_like
        Sum of present worths, at least 0: an entry a crawled arm, or (N, T) for what each epoch
        brings.
    aged : array_like
        Sum of present worth times age in epochs, of the same shape; 0 where the worth is 0.

    Raises
    ------
    ValueError
        If an entry is negative or not finite, the shapes differ, or nothing has an age.

    Examples
    --------
    >>> ItemSums([2.0, 0.0], [3.0, 0.0]).aged.tolist()
    [3.0, 0.0]
    """

    worth: Floats
    aged: Floats

    def __post_init__(self) -> None:
        worth, aged = check_array("worth", self.worth, 0), check_array("aged", self.aged, 0)
        if worth.shape != aged.shape:
            raise ValueError(f"aged must have shape {worth.shape} as worth, got {aged.shape}")
        if (aged[worth == 0] > 0).any():
            raise ValueError("aged must be 0 where worth is 0")
        set_fields(self, worth=worth, aged=aged)

    @classmethod
    def of(cls, worth: Sequence[ArrayLike], age: Sequence[ArrayLike]) -> ItemSums:
        """Sum over the items of each crawled arm.

        Parameters
        ----------
        worth, age : sequence of array_like
            For each arm, the present worth of every item found and its age in epochs, both at
            least 0.

        Returns
        -------
        ItemSums

        Examples
        --------
        >>> ItemSums.of([[1.0, 2.0], []], [[0.5, 3.0], []]).aged.tolist()
        [6.5, 0.0]
        """
        if len(worth) != len(age):
            raise ValueError(
                f"age must have an entry for each of {len(worth)} arms, got {len(age)}"
            )
        sums = []
        for i, (worths_of_arm, ages_of_arm) in enumerate(zip(worth, age, strict=True)):
            v, s = (
                check_array(f"worth[{i}]", worths_of_arm, 0),
                check_array(f"age[{i}]", ages_of_arm, 0),
            )
            if v.ndim != 1 or v.shape != s.shape:
                raise ValueError(
                    f"age[{i}] must have an entry for each of {v.size} items, got {s.size}"
                )
            sums.append((v.sum(), v @ s))
        worths, ageds = np.array(sums).reshape(-1, 2).T
        return cls(worths, ageds)


def sample_items(arrivals: Arrivals, epochs: int, rng: Rng) -> ItemSums:
    """Draw what each epoch brings, item by item.

    Parameters
    ----------
    arrivals : Arrivals
        N sources and the laws of their items.
    epochs : int
        Number of epochs T.
    rng : numpy.random.Generator or seed
        Source of randomness.

    Returns
    -------
    ItemSums
        Of shape (N, T), worth and age at the end of the epoch: for `play`.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Arrivals, four_sources
    >>> sample_items(Arrivals(four_sources()), 3, np.random.default_rng(0)).worth.shape
    (4, 3)
    """
    rng = check_rng(rng)
    check_kind("arrivals", arrivals, Arrivals)
    return ItemSums(*arrivals.sample_aged(epochs, rng))


def mean_items(sources: Sources, horizon: int) -> ItemSums:
    """Return the means of what each epoch brings: the deterministic scheme, items seen.

    Parameters
    ----------
    sources : Sources
        N sources.
    horizon : int
        Number of epochs T.

    Returns
    -------
    ItemSums
        Of shape (N, T): u_i, and u_i* times the integral of mu s e^{-mu s} over one epoch.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> mean_items(four_sources(), 3).aged.shape
    (4, 3)
    """
    check_kind("sources", sources, Sources)
    horizon = check_integer("horizon", horizon, 1)
    once = np.ones(horizon)
    return ItemSums(np.outer(sources.u, once), np.outer(mean_aged(sources), once))


def mean_aged(sources: Sources) -> Floats:
    """Return the mean of worth times age that one epoch brings, shape (N,)."""
    share = np.array([one_minus_short_exp(z) / z for z in sources.decay])
    return np.asarray(sources.u_star * share)
