"""Round robin for a crawl in which fetches fail and sources rest."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_integer, check_whole
from analysis.display import brief
from analysis.ephemeral.policies import Observation

Arms = NDArray[np.int64]


@brief
class TurnPolicy:
    """Fetch the sources in turn: those that were chosen longest ago come first.

    The order is stored here and not derived from the ages, as in `RoundRobinPolicy`: the age of a
    source keeps increasing when its fetch fails or is not allowed. Without failures and refusals
    the two policies choose the same sources.

    Parameters
    ----------
    size : int
        N, the number of sources.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.crawl import TurnPolicy
    >>> from analysis.ephemeral import Observation
    >>> seen = Observation(0, np.ones(3, dtype=int), np.full(3, np.nan))
    >>> policy = TurnPolicy(3)
    >>> policy.record_choice(np.array([0, 2]))
    >>> policy.select(seen, 2).tolist()
    [0, 1]
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(self, size: int) -> None:
        size = check_integer("size", size, 1)
        self._chosen = np.arange(-size, 0)  # number of the choice that named each source last
        self._choices = np.zeros(1, dtype=np.int64)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources whose turn it is, by number."""
        budget = check_whole("budget", budget, 1, self._chosen.size)
        return np.sort(np.argsort(self._chosen, kind="stable")[:budget])

    def record_choice(self, arms: Arms) -> None:
        """Move the sources that are fetched to the end of the order."""
        order = arms[np.argsort(self._chosen[arms], kind="stable")]
        self._chosen[order] = self._choices[0] + np.arange(order.size)
        self._choices += order.size

    def rescale(self, ratio: float) -> None:
        """Do nothing: the order does not depend on the length of an epoch."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the order as arrays, for `restore`."""
        return {"chosen": self._chosen.copy(), "choices": self._choices.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore an order that `state` returned."""
        self._chosen[...] = state["chosen"]
        self._choices[...] = state["choices"]
