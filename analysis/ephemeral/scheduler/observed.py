"""Scheduling with observed contents, in which most sources need no index.

With random content the index depends on the content, X_i(t+1) = alpha_i X_i(t) + U_i(t), so every
source has to be read in every epoch, but not ranked: the index increases with the content, so a
threshold theta corresponds to a content of each source, and one comparison finds the candidates. If
the M-th largest index among the candidates is above theta, the M largest of them are the M largest
of all; otherwise theta was too high, and all sources are ranked. The content is advanced in the
same pass.

With s = x/u*, m = mu T and h(y) = exp(-y) - 1 + y, Theorem 1 on the interval where eta = k is
gamma = (u*/C) [k (1 - e^-m) s - h(m k) + k h(m)], which gives s at gamma = theta; beyond u* the
index is x/C.

Reference: report 8702, (19) and section 6.
"""

from __future__ import annotations

from collections import deque
from copy import deepcopy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import check_array, check_kind, check_number, check_positive
from analysis.ephemeral.index import h as h_of_all
from analysis.ephemeral.kernels import h, relative_index
from analysis.ephemeral.relaxed import due_ages
from analysis.ephemeral.scheduler.epoch import ROOM, choose
from analysis.ephemeral.simulation import initial_content
from analysis.ephemeral.sources import Sources
from analysis.kernel_cache import njit

Ints = NDArray[np.int32]
MEMORY = 64
SAFETY = 1.0 + 1e-6


class ObservedScheduler:
    """Crawl in order of the Whittle index of the observed content.

    ValueError if an argument is out of range.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost that an epoch may spend; the number of crawls if every crawl costs 1.
    initial_state : {"empty", "fresh", "full"} or array_like, shape (N,)
        Content at epoch 0.

    Attributes
    ----------
    state : ndarray, shape (N,)
        Content of each source before the next crawl.
    threshold : float
        Least index of the sources that are ranked, adapted by the scheduler.
    rebuilds : int
        Number of epochs in which all sources were ranked.
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(
        self, sources: Sources, budget: float, initial_state: str | ArrayLike = "empty"
    ) -> None:
        check_kind("sources", sources, Sources)
        self.sources = sources
        self.budget = check_positive("budget", budget)
        self.state = initial_content(sources, initial_state)
        self.threshold = np.inf
        self.rebuilds = 0
        uniform = bool((sources.cost == sources.cost[0]).all())
        self._cost = sources.cost[:1] if uniform else sources.cost
        self._cheapest = float(self._cost.min())
        self._level = np.full(len(sources), np.inf)
        self._found = np.empty(len(sources), np.int32)
        self._candidates = 0
        self._margin = 0.005
        self._cuts: deque[float] = deque(maxlen=MEMORY)

    def crawl(
        self, arrived: ArrayLike, budget: float | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Crawl the sources of this epoch, and advance the contents to the next.

        `arrived`, shape (N,), is the content U_i(t) that arrives until the next epoch; a `budget`
        is for this epoch alone. Returns the numbers of the crawled sources, rising, and the content
        taken from each. ValueError if the budget is negative, or `arrived` has another shape or an
        entry that is negative or not finite.
        """
        budget = self.budget if budget is None else budget
        budget = check_number("budget", budget, 0, high_open=True)
        added = check_array("arrived", arrived, 0)
        if added.shape != self.state.shape:
            raise ValueError(f"arrived must have shape {self.state.shape}, got {added.shape}")
        numbers, cut = self._choose(self._found[: self._candidates], budget)
        if budget * ROOM < self._cheapest:
            cut = np.inf  # nothing can be crawled, and no threshold helps
        if self.threshold > 0 and cut < self.threshold * SAFETY:
            self.rebuilds += 1
            self._margin = min(2 * self._margin, 0.5)
            numbers, cut = self._choose(np.arange(self.state.size, dtype=np.int32), budget)
            self._set_threshold(min(cut, *self._cuts) if self._cuts else cut)
        self._cuts.append(cut)
        if len(self._cuts) == MEMORY and self._candidates > 2 * numbers.size:
            if min(self._cuts) * (1.0 - self._margin) > 1.01 * self.threshold:
                self._set_threshold(min(self._cuts))
            self._cuts.clear()
        rewards = self.state[numbers]
        self.state[numbers] = 0.0
        alpha, level = self.sources.alpha, self._level
        self._candidates = advance(self.state, alpha, added, level, self._found)
        return numbers, rewards

    def _choose(self, candidates: Ints, budget: float) -> tuple[NDArray[np.int64], float]:
        rank = np.empty(candidates.size)
        sources = self.sources
        rank_found(candidates, self.state, sources.u_star, sources.decay, sources.cost, rank)
        choice = choose(budget, candidates, rank, self._cost)
        return candidates[choice.taken(candidates, rank)].astype(np.int64), choice.cut

    def _set_threshold(self, lowest: float) -> None:
        """Set the threshold to a margin below the lowest index crawled."""
        self.threshold = lowest * (1.0 - self._margin) if 0 < lowest < np.inf else 0.0
        self._level = content_at_index(self.sources, self.threshold) * (1.0 - 1e-9)


def content_at_index(sources: Sources, index: float) -> Floats:
    """Return the content at which the Whittle index of each source has a given value.

    ValueError if the index is negative.
    """
    index = check_number("index", index, 0)
    limit = sources.u_star / sources.cost
    eta = due_ages(sources, index)
    below = np.isfinite(eta) & (index < limit)
    k, decay = np.where(below, eta, 1.0), sources.decay
    ratio = np.divide(index, limit, out=np.zeros_like(limit), where=below)
    share = (ratio + h_of_all(decay * k) - k * h_of_all(decay)) / (-k * np.expm1(-decay))
    return np.where(below, np.maximum(share, 0.0) * sources.u_star, index * sources.cost)


@njit
def rank_found(
    candidates: Ints, state: Floats, u_star: Floats, decay: Floats, cost: Floats, rank: Floats
) -> None:
    """Write the Whittle index of the `candidates` at their contents into `rank`."""
    for j in range(candidates.size):
        i = candidates[j]
        rank[j] = state[i] / cost[i]
        if state[i] < u_star[i]:
            share = state[i] / u_star[i]
            rank[j] = u_star[i] / cost[i] * relative_index(decay[i], h(decay[i]), share)


@njit
def advance(state: Floats, alpha: Floats, arrived: Floats, level: Floats, candidates: Ints) -> int:
    """Advance the contents by one epoch; list and count the sources at or above their level."""
    count = 0
    for i in range(state.size):
        state[i] = alpha[i] * state[i] + arrived[i]
        candidates[count] = i
        count += state[i] >= level[i]
    return count
