"""Upper confidence bounds: UCWhittle, which counts each age, and UCB1, which ignores ages.

UCWhittle (Wang, Xu, Taneja and Tambe, Optimistic Whittle index policy: online learning for restless
bandits, 2023) estimates the transition laws of each arm, takes from a confidence region those of
largest value, and ranks arms by their index, anew in each episode; rewards are known. With ages as
states the transitions are known (an age grows by 1 or starts again at 1) and the mean content m(k)
found at age k is not. The region is that of Hoeffding's bound for contents in [0, B], for each arm
and each age k up to A, the largest age that is distinguished ::

    |m(k) - mean found at age k| <= c B sqrt(log(2 N A t^2) / (2 n(k))),      m(k) <= B,

with n(k) crawls at that age and B the largest content found so far. A value increases with each
m(k) whatever the subsidy, so that the upper ends, m'(k), have the largest value at all subsidies.
Crawls that cost lambda and reset the age earn g(lambda) = max_j (m'(j) - lambda)/j an epoch, and it
is optimal to crawl at age k as long as g(lambda) is at least the steepest remaining rise. So the
index is, for any curve m',  ::

    s(k) = max(0, max_{j > k} (m'(j) - m'(k)) / (j - k)),     gamma(k) = max_j m'(j) - s(k) j,

and where m' is concave (k + 1) m'(k) - k m'(k + 1). The exponential form of m is not used. Among
equal indices the oldest arm comes first. The paper's episodes also reset all states; here nothing
is reset.

`AgeBlindUcb` is standard UCB1: an arm's reward is what a crawl of it found, whenever that was, ::

    mean content + (largest content so far) sqrt(2 log n / crawls).

It treats the fading state as a fixed distribution, and so converges to a single best arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import check_integer, check_kind, check_positive, set_fields
from analysis.display import brief
from analysis.learning.environment import compiled
from analysis.learning.loop import CompiledLearner, largest

TIE = 1e-9
"""Share by which an epoch of age raises an index, so that the oldest of equal arms goes first."""


@dataclass(frozen=True)
class UcWhittleOptions:
    """Table size, width of the region, and how often indices are computed.

    Parameters
    ----------
    oldest : int
        A, the largest age that is a state of its own; at least 2.
    confidence : float
        c, the width of the region in units of Hoeffding's; positive.
    episode : int
        Epochs after which the indices are computed anew; at least 1.
    """

    oldest: int = 12
    confidence: float = 0.05
    episode: int = 20

    def __post_init__(self) -> None:
        set_fields(
            self,
            oldest=check_integer("oldest", self.oldest, 2),
            confidence=check_positive("confidence", self.confidence),
            episode=check_integer("episode", self.episode, 1),
        )


class _RegionModel(NamedTuple):
    confidence: float
    episode: int


class _RegionState(NamedTuple):
    """Content found and crawls, by arm and age; the largest content; present indices; n."""

    total: Floats
    crawls: Ints
    highest: Floats
    indices: Floats
    epoch: Ints


@compiled
def index_of_curve(curve, index):  # type: ignore[no-untyped-def]
    """Write the Whittle index at ages 1 to A of an arm that holds `curve`[k - 1] at age k.

    It holds `curve`[A - 1] at all older ages as well.
    """
    oldest = curve.size
    for k in range(oldest):
        steepest = 0.0
        for j in range(k + 1, oldest):
            steepest = max(steepest, (curve[j] - curve[k]) / (j - k))
        best = -np.inf
        for j in range(oldest):
            best = max(best, curve[j] - steepest * (j + 1))
        index[k] = best


@compiled
def _set_indices(confidence, state):  # type: ignore[no-untyped-def]
    """Compute the index of every arm at the upper ends of its region."""
    size, oldest = state.total.shape
    bound = state.highest[0] if state.highest[0] > 0.0 else 1.0  # any, while nothing was found
    epoch = max(state.epoch[0], 1)
    radius = confidence * bound * np.sqrt(0.5 * np.log(2.0 * size * oldest * float(epoch) ** 2))
    curve = np.empty(oldest)
    for i in range(size):
        for k in range(oldest):
            curve[k] = bound
            crawls = state.crawls[i, k]
            if crawls > 0:
                curve[k] = min(state.total[i, k] / crawls + radius / np.sqrt(crawls), bound)
        index_of_curve(curve, state.indices[i])


@compiled
def _region_choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Return the arms of largest optimistic index."""
    if state.epoch[0] % model.episode == 0:
        _set_indices(model.confidence, state)
    oldest = state.indices.shape[1]
    for i in range(values.size):
        column = min(max(age[i], 1), oldest) - 1
        values[i] = state.indices[i, column] * (1.0 + TIE * age[i]) if age[i] > 0 else -1.0
    return largest(values, arms[:budget])


@compiled
def _region_learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Add what was found to the sums of its ages; a crawl at age 0 is ignored."""
    state.epoch[0] += 1
    oldest = state.total.shape[1]
    for m in range(arms.size):
        i = arms[m]
        if age[i] < 1:
            continue
        column = min(age[i], oldest) - 1
        state.total[i, column] += content_found[m]
        state.crawls[i, column] += 1
        state.highest[0] = max(state.highest[0], content_found[m])
    return True


@brief
class UcWhittle(CompiledLearner, choose=_region_choose, learn=_region_learn):
    """UCWhittle: the index of the most optimistic contents in a confidence region.

    Parameters
    ----------
    arms : int
        N.
    options : UcWhittleOptions, optional
        Table size, width of the region, length of an episode.

    Attributes
    ----------
    index : ndarray, shape (N, A)
        The present optimistic index at ages 1 to A.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import mean_content, play
    >>> content = mean_content(four_sources(), 300)
    >>> run = play(four_sources(), UcWhittle(4), content, 1, np.random.default_rng(0))
    >>> bool((run.crawls > 0).all())
    True
    """

    def __init__(self, arms: int, options: UcWhittleOptions | None = None) -> None:
        check_kind("options", options, UcWhittleOptions, None)
        arms = check_integer("arms", arms, 1)
        self.options = options or UcWhittleOptions()
        shape = (arms, self.options.oldest)
        state = _RegionState(
            np.zeros(shape),
            np.zeros(shape, dtype=np.int64),
            np.zeros(1),
            np.zeros(shape),
            np.zeros(1, dtype=np.int64),
        )
        super().__init__(arms, _RegionModel(self.options.confidence, self.options.episode), state)

    @property
    def index(self) -> Floats:
        """Optimistic index at ages 1 to A, shape (N, A)."""
        return self._state.indices.copy()


class _BlindState(NamedTuple):
    """Crawls and content in all of each arm; largest content so far; n."""

    pairs: Ints
    total: Floats
    highest: Floats
    epoch: Ints


@compiled
def _blind_choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Return the arms of largest upper confidence bound."""
    scale = state.highest[0] if state.highest[0] > 0.0 else 1.0  # any, while nothing was found
    for i in range(values.size):
        values[i] = np.inf
        if state.pairs[i] > 0:
            radius = np.sqrt(2.0 * np.log(state.epoch[0]) / state.pairs[i])
            values[i] = state.total[i] / state.pairs[i] + scale * radius
    return largest(values, arms[:budget])


@compiled
def _blind_learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Add what was found to the means."""
    state.epoch[0] += 1
    for m in range(arms.size):
        state.pairs[arms[m]] += 1
        state.total[arms[m]] += content_found[m]
        state.highest[0] = max(state.highest[0], content_found[m])
    return True


@brief
class AgeBlindUcb(CompiledLearner, choose=_blind_choose, learn=_blind_learn):
    """UCB1 on the content that crawls found, ages ignored.

    Parameters
    ----------
    arms : int
        N.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import mean_content, play
    >>> content = mean_content(four_sources(), 300)
    >>> run = play(four_sources(), AgeBlindUcb(4), content, 1, np.random.default_rng(0))
    >>> bool((run.crawls > 0).all())
    True
    """

    def __init__(self, arms: int) -> None:
        arms = check_integer("arms", arms, 1)
        state = _BlindState(
            np.zeros(arms, dtype=np.int64), np.zeros(arms), np.zeros(1), np.zeros(1, dtype=np.int64)
        )
        super().__init__(arms, (), state)
