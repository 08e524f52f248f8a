"""Policies for a crawl: functions ``(sources, budget, seconds) -> policy``, as settings name them.

Rates of the sources are per epoch, and an epoch takes so many seconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_integer
from analysis.crawl.turn import TurnPolicy
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.table import Timetable, timetable
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.trace.deployed import (
    FrequencyPolicy,
    NutchAdaptive,
    best_fixed_frequencies,
    lambdacrawl,
)

Arms = NDArray[np.int64]
Floats = NDArray[np.float64]


class IndexPolicy:
    """The Whittle index policy by age, which sorts the sources once an epoch.

    It chooses what `WhittlePolicy` does, and answers at once where the crawl asks for more sources
    in the same epoch.

    Parameters
    ----------
    sources : Sources
        N sources.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.crawl import IndexPolicy
    >>> from analysis.ephemeral import Observation, four_sources
    >>> seen = Observation(0, np.array([1, 1, 20, 1]), np.full(4, np.nan))
    >>> IndexPolicy(four_sources()).select(seen, 1).tolist()
    [0]
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._seen: Observation | None = None

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources of largest index at their ages."""
        check_integer("budget", budget, 1, len(self.sources))
        if observation is not self._seen:
            self._seen = observation
            self._order = np.argsort(-self.index(observation.age), kind="stable")
        return np.sort(self._order[:budget])

    def index(self, age: Arms) -> Floats:
        """Return the index of each source at its age."""
        return whittle_index_at_age(self.sources, age)


def index(sources: Sources, budget: int, seconds: float) -> IndexPolicy:
    """Return the Whittle index policy for known sources."""
    return IndexPolicy(sources)


def constant_gaps(sources: Sources, budget: int, seconds: float) -> Timetable:
    """Return the timetable of constant gaps with the best certificate."""
    return timetable(sources, budget)


def learned_index(sources: Sources, budget: int, seconds: float) -> CertaintyEquivalence:
    """Return the index policy that estimates rates while it crawls; it is told N alone.

    Its index is that of a draw of the rates: the draws move the ages at which a source is crawled,
    without which the sums found at crawls do not identify its rates.
    """
    return CertaintyEquivalence(len(sources), CertaintyEquivalenceOptions(exploration="thompson"))


def fixed_frequencies(sources: Sources, budget: int, seconds: float) -> FrequencyPolicy:
    """Return the frequencies that solve the relaxed problem, evenly spaced."""
    return best_fixed_frequencies(sources, budget)


def lambda_crawl(sources: Sources, budget: int, seconds: float) -> RandomPolicy:
    """Return LambdaCrawl with known change rates."""
    return lambdacrawl(sources, budget)


def nutch_adaptive(sources: Sources, budget: int, seconds: float) -> NutchAdaptive:
    """Return Nutch's adaptive schedule with its default settings."""
    return NutchAdaptive(len(sources), seconds)


def round_robin(sources: Sources, budget: int, seconds: float) -> TurnPolicy:
    """Return round robin: the sources that were chosen longest ago come first."""
    return TurnPolicy(len(sources))
