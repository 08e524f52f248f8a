"""Two learners to compare with: Q-learning on joint ages, and a bandit that ignores ages.

`JointQ` is relative Q-learning on the vector of all ages, each cut at A: A^N states and as many
actions as there are sets of M arms. It needs no structure, and pays for that in size, ::

    Q(s, a) += alpha [ r + max_b Q(s', b) - Q(reference) - Q(s, a) ],

with reference the state of all ages 1 and its first action. `AgeBlindUcb` is standard
UCB1, which ignores ages: an arm's reward is what a crawl of it found, whenever that was, ::

    mean content + (largest content so far) sqrt(2 log n / crawls).

It treats the fading state as a fixed distribution, and so converges to a single best arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats, Ints
from analysis.checks import (
    Rng,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    check_whole,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import Run, compiled
from analysis.learning.items import ItemSums
from analysis.learning.loop import CompiledLearner, largest

LARGEST_TABLE = 10_000_000


@dataclass(frozen=True)
class JointQOptions:
    """Table size, step size and exploration.

    Parameters
    ----------
    oldest : int
        A, the largest age that is a state of its own; at least 2.
    step, patience : float
        alpha is step / (1 + v/patience)^0.6 at the v-th visit; step in (0, 1], patience positive.
    explore : float
        Random arms are crawled with probability 1/(1 + n/explore) at epoch n; positive.
    """

    oldest: int = 4
    step: float = 0.5
    patience: float = 20.0
    explore: float = 300.0

    def __post_init__(self) -> None:
        set_fields(
            self,
            oldest=check_integer("oldest", self.oldest, 2),
            step=check_number("step", self.step, 0, 1, low_open=True),
            patience=check_positive("patience", self.patience),
            explore=check_positive("explore", self.explore),
        )


class _JointModel(NamedTuple):
    oldest: int
    step: float
    patience: float
    explore: float


class _JointState(NamedTuple):
    """Q and visits, shape (A^N, sets); the sets of arms, shape (sets, M); the last set; n."""

    q: NDArray[np.float64]
    visits: NDArray[np.int64]
    sets: NDArray[np.int64]
    action: NDArray[np.int64]
    epoch: NDArray[np.int64]


@compiled
def _row(oldest, age):  # type: ignore[no-untyped-def]
    """Return the number of a joint state."""
    row = 0
    for i in range(age.size):
        row = row * oldest + min(age[i], oldest) - 1
    return row


@compiled
def _row_after(oldest, age, arms):  # type: ignore[no-untyped-def]
    """Return the number of the joint state one epoch after arms were crawled."""
    row, crawled = 0, 0
    for i in range(age.size):
        later = min(age[i] + 1, oldest)
        if crawled < arms.size and arms[crawled] == i:
            later = 1
            crawled += 1
        row = row * oldest + later - 1
    return row


@compiled
def _best(state, row):  # type: ignore[no-untyped-def]
    """Return the action of the largest value, the first of them."""
    best = 0
    for action in range(1, state.q.shape[1]):
        if state.q[row, action] > state.q[row, best]:
            best = action
    return best


@compiled
def _joint_choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Return the best set of arms by the table, or a random one, and keep its number."""
    if rng.random() * (1.0 + state.epoch[0] / model.explore) < 1.0:
        state.action[0] = int(rng.random() * state.q.shape[1])
    else:
        state.action[0] = _best(state, _row(model.oldest, age))
    for m in range(budget):
        arms[m] = state.sets[state.action[0], m]
    return budget


@compiled
def _joint_learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Change the one entry of the table that was visited."""
    state.epoch[0] += 1
    action, reward = state.action[0], 0.0
    for m in range(arms.size):
        reward += content_found[m]
    now, after = _row(model.oldest, age), _row_after(model.oldest, age, arms)
    state.visits[now, action] += 1
    alpha = model.step / (1.0 + state.visits[now, action] / model.patience) ** 0.6
    change = reward + state.q[after, _best(state, after)] - state.q[0, 0] - state.q[now, action]
    state.q[now, action] += alpha * change
    return True


@brief
class JointQ(CompiledLearner, choose=_joint_choose, learn=_joint_learn):
    """Relative Q-learning on joint ages, for few arms.

    Parameters
    ----------
    arms, budget : int (a budget may be a whole float)
        N and M; the table has A^N rows and one column for each set of M arms.
    options : JointQOptions, optional
        Table size, steps and exploration.

    Raises
    ------
    ValueError
        If the table would have more than `LARGEST_TABLE` entries.

    Examples
    --------
    >>> from analysis.learning import JointQ
    >>> JointQ(12, 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: arms must be few: 12 arms of 4 ages make 201326592 entries, above 10000000; ...
    """

    def __init__(self, arms: int, budget: int, options: JointQOptions | None = None) -> None:
        check_kind("options", options, JointQOptions, None)
        arms = check_integer("arms", arms, 1)
        budget = check_whole("budget", budget, 1, arms)
        self.options = options or JointQOptions()
        sets = np.array(list(combinations(range(arms), budget)), dtype=np.int64)
        entries = self.options.oldest**arms * len(sets)
        if entries > LARGEST_TABLE:
            raise ValueError(
                f"arms must be few: {arms} arms of {self.options.oldest} ages make {entries} "
                f"entries, above {LARGEST_TABLE}; lower oldest or use WhittleQ"
            )
        shape, o = (self.options.oldest**arms, len(sets)), self.options
        numbers = np.zeros((2, 1), dtype=np.int64)
        state = _JointState(np.zeros(shape), np.zeros(shape, dtype=np.int64), sets, *numbers)
        super().__init__(arms, _JointModel(o.oldest, o.step, o.patience, o.explore), state)

    def select(self, observation: Observation, budget: int, rng: Rng) -> Ints:
        """Return the best set of arms by the table, or a random one; `budget` is that of the table.

        Raises
        ------
        ValueError
            If the budget is not that of the table.
        """
        return super().select(observation, self._check_budget(budget), rng)

    def play(self, sources: Sources, content: Floats | ItemSums, budget: int, rng: Rng) -> Run:
        """Run on a stream of arrivals, as `CompiledLearner.play`, with the budget of the table."""
        return super().play(sources, content, self._check_budget(budget), rng)

    def _check_budget(self, budget: int) -> int:
        return check_whole("budget", budget, *(self._state.sets.shape[1],) * 2)


class _UcbState(NamedTuple):
    """Crawls and content in all of each arm; largest content so far; n."""

    pairs: NDArray[np.int64]
    total: NDArray[np.float64]
    highest: NDArray[np.float64]
    epoch: NDArray[np.int64]


@compiled
def _ucb_choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Return the arms of largest upper confidence bound."""
    scale = state.highest[0] if state.highest[0] > 0.0 else 1.0  # any, while nothing was found
    for i in range(values.size):
        values[i] = np.inf
        if state.pairs[i] > 0:
            radius = np.sqrt(2.0 * np.log(state.epoch[0]) / state.pairs[i])
            values[i] = state.total[i] / state.pairs[i] + scale * radius
    return largest(values, arms[:budget])


@compiled
def _ucb_learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Add what was found to the means."""
    state.epoch[0] += 1
    for m in range(arms.size):
        state.pairs[arms[m]] += 1
        state.total[arms[m]] += content_found[m]
        state.highest[0] = max(state.highest[0], content_found[m])
    return True


@brief
class AgeBlindUcb(CompiledLearner, choose=_ucb_choose, learn=_ucb_learn):
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
        state = _UcbState(
            np.zeros(arms, dtype=np.int64), np.zeros(arms), np.zeros(1), np.zeros(1, dtype=np.int64)
        )
        super().__init__(arms, (), state)
