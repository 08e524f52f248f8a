"""Policies that visit each source at a fixed rate: evenly spaced, or at random (LambdaCrawl).

best fixed frequencies   the visits per epoch that solve the relaxed problem, evenly spaced
LambdaCrawl              for change rate D and importance m, visits at random at the rate ::

                             rho = (-D + sqrt(D^2 + 4 m D / lambda)) / 2,

                         lambda such that the rates sum to the budget; it minimises the average of
                         m H(n), n the changes since the last visit, H(n) = 1 + 1/2 + ... + 1/n

All see ages only. Time is counted in epochs.

Reference: Kolobov, Peres, Lu and Horvitz, Staying up to date with online content changes using
reinforcement learning for scheduling (NeurIPS 2019), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_kind, check_number, check_whole, set_fields
from analysis.display import brief
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import Observation, check_ages
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources

Arms = NDArray[np.int64]


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class FrequencyPolicy:
    """Visit each source evenly at a fixed frequency: those furthest through their interval first.

    Parameters
    ----------
    frequency : array_like, shape (N,)
        Visits per epoch, in [0, 1]; a source of frequency 0 is never visited.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Observation
    >>> from analysis.trace import FrequencyPolicy
    >>> seen = Observation(epoch=0, age=np.array([1, 3, 9]), state=np.full(3, np.nan))
    >>> FrequencyPolicy([0.5, 0.25, 0.0]).select(seen, 1).tolist()
    [1]
    """

    frequency: Floats

    def __post_init__(self) -> None:
        set_fields(self, frequency=check_array("frequency", self.frequency, 0, 1))
        if self.frequency.ndim != 1:
            raise ValueError(f"frequency must have shape (N,), got {self.frequency.shape}")

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources of largest age times frequency, ties to the smaller number."""
        check_ages(observation, self.frequency.size)
        budget = check_whole("budget", budget, 1, self.frequency.size)
        elapsed = observation.age * self.frequency
        arms = np.argsort(-elapsed, kind="stable")[:budget]
        return np.sort(arms[elapsed[arms] > 0])


def best_fixed_frequencies(sources: Sources, budget: float) -> FrequencyPolicy:
    """Return the policy of the best fixed frequencies, those that solve the relaxed problem.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Visits per epoch, in (0, N].

    Returns
    -------
    FrequencyPolicy

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> best_fixed_frequencies(four_sources(), 1).frequency.round(4).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    return FrequencyPolicy(relaxed_problem(sources, budget).frequency)


def lambdacrawl_rates(change_rate: ArrayLike, importance: ArrayLike, budget: float) -> Floats:
    """Return the visit rates of least harmonic penalty (LambdaCrawl), at most one visit an epoch.

    Parameters
    ----------
    change_rate : array_like, shape (N,)
        D, changes per epoch; not negative.
    importance : array_like, shape (N,)
        m, weight of a source; not negative.
    budget : float
        Visits per epoch, in (0, n], n the number of sources where both are positive.

    Returns
    -------
    ndarray, shape (N,)
        Visits per epoch, which sum to the budget; 0 where a source never changes or weighs nothing.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> lambdacrawl_rates([0.1, 1.0], [1.0, 1.0], 0.5).round(4).tolist()
    [0.1667, 0.3333]
    """
    change = check_array("change_rate", change_rate, 0)
    weight = check_array("importance", importance, 0)
    if change.ndim != 1 or weight.shape != change.shape:
        raise ValueError(
            f"importance must have the shape of change_rate, {change.shape}, got {weight.shape}"
        )
    live = (change > 0) & (weight > 0)
    budget = check_number("budget", budget, 0, float(live.sum()), low_open=True)
    rates = np.zeros_like(change)
    d, pressure = change[live], weight[live] * change[live]

    def visits(log_lambda: float) -> Floats:
        a = pressure * np.exp(-log_lambda)
        return np.minimum(1.0, 2.0 * a / (d + np.sqrt(d * d + 4.0 * a)))

    # Below `low` every source is visited at each epoch, at `high` their sum is below the budget.
    low = float(np.log(pressure / (1.0 + d)).min())
    high = float(np.log(pressure.sum() / d.min())) - np.log(budget) + np.log(d.size)
    if visits(low).sum() <= budget:
        rates[live] = visits(low)
    else:
        root = brentq(lambda x: visits(x).sum() - budget, low, high, xtol=1e-14, rtol=1e-14)
        rates[live] = visits(root)
    return rates


def lambdacrawl(sources: Sources, budget: float) -> RandomPolicy:
    """Return LambdaCrawl with known change rates: visits at random at `lambdacrawl_rates`.

    A source's importance is the mean utility of its items, and an item is a change.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Visits per epoch.

    Returns
    -------
    RandomPolicy

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> lambdacrawl(four_sources(), 1).frequency.round(3).tolist()
    [0.505, 0.354, 0.101, 0.04]
    """
    check_kind("sources", sources, Sources)
    change = sources.arrival_rate * sources.period
    return RandomPolicy(lambdacrawl_rates(change, sources.mean_utility, budget))
