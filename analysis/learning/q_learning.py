"""Q-learning over ages: Whittle's index on two time scales, and relative Q-learning on joint ages.

`WhittleQ` needs no model at all. Each arm is a restless bandit whose state is its age s = 1..A
(older counts as A). A passive epoch earns the subsidy and ages the arm, a crawl earns what it finds
and makes the age 1. For every reference age k there is a table Q_k and a subsidy lambda_k, and each
arm's step (s, a, r, s') changes all tables, ::

    Q_k(s, a) += alpha [ r + (1 - a) lambda_k + max_b Q_k(s', b) - mean(Q_k) - Q_k(s, a) ],
    lambda_s  += gamma [ Q_s(s, 1) - Q_s(s, 0) ]  if a = 0,      gamma below alpha,

so that in the limit passive and active tie at age s under lambda_s, which is the Whittle index
there. A subsidy moves only where it has just been paid. If all moved at every epoch, as for a
simulator that visits all states alike, one at an age where the arm is always crawled would run
away: Q_s(s, 0), which alone answers to it, is never updated there. The arms of largest lambda at
their age are crawled, or, less and less often, random ones.

`JointQ` is relative Q-learning on the vector of all ages, each cut at A: A^N states and as many
actions as there are sets of M arms. It needs no structure, and pays for that in size, ::

    Q(s, a) += alpha [ r + max_b Q(s', b) - Q(reference) - Q(s, a) ],

with reference the state of all ages 1 and its first action.

Reference: Avrachenkov and Borkar, Whittle index based Q-learning for restless bandits with average
reward, Automatica 139 (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

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
from analysis.learning.environment import ItemSums, Run, compiled
from analysis.learning.loop import CompiledLearner, largest

LARGEST_TABLE = 10_000_000
"""Entries of the table of `JointQ`, at most."""


@dataclass(frozen=True)
class WhittleQOptions:
    """Table size and step sizes.

    Parameters
    ----------
    oldest : int
        A, the largest age that is a state of its own; at least 2.
    step : float
        alpha is step / (1 + v/patience)^(3/4) at the v-th visit of (s, a); in (0, 1].
    patience : float
        Visits before alpha falls; positive.
    subsidy_step : float
        gamma is subsidy_step / (1 + w/patience) at the w-th passive visit of an age; in (0, 1].
    explore : float
        Random arms are crawled with probability 1/(1 + n/explore) at epoch n; positive.
    """

    oldest: int = 12
    step: float = 0.5
    patience: float = 200.0
    subsidy_step: float = 0.05
    explore: float = 300.0

    def __post_init__(self) -> None:
        set_fields(
            self,
            oldest=check_integer("oldest", self.oldest, 2),
            step=check_number("step", self.step, 0, 1, low_open=True),
            patience=check_positive("patience", self.patience),
            subsidy_step=check_number("subsidy_step", self.subsidy_step, 0, 1, low_open=True),
            explore=check_positive("explore", self.explore),
        )


class _IndexModel(NamedTuple):
    step: float
    patience: float
    subsidy_step: float
    explore: float


class _IndexState(NamedTuple):
    """Q_k(s, a) as q[arm, s, a, k], its sums over (s, a), lambda[arm, k] and visits[arm, s, a].

    Ages count from 0 here; k comes last because one step changes (s, a) for all k.
    """

    q: Floats
    sums: Floats
    subsidy: Floats
    visits: Ints
    epoch: Ints


@compiled
def _index_choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Return the arms of largest learned index, or random ones."""
    oldest = state.subsidy.shape[1]
    random = rng.random() * (1.0 + state.epoch[0] / model.explore) < 1.0
    for i in range(values.size):
        values[i] = rng.random() if random else state.subsidy[i, min(age[i], oldest) - 1]
    return largest(values, arms[:budget])


@compiled
def _index_learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Change the tables of all reference ages by the transition of each arm, crawled or not."""
    state.epoch[0] += 1
    oldest = state.subsidy.shape[1]
    share = 0.5 / oldest
    crawled = 0
    for i in range(age.size):
        active = crawled < arms.size and arms[crawled] == i
        action, reward, now = 0, 0.0, min(age[i], oldest) - 1
        later = min(now + 1, oldest - 1)
        if active:
            action, reward, later = 1, content_found[crawled], 0
            crawled += 1
        state.visits[i, now, action] += 1
        root = np.sqrt(1.0 + state.visits[i, now, action] / model.patience)
        alpha = model.step / (root * np.sqrt(root))
        here, idle, crawl = state.q[i, now, action], state.q[i, later, 0], state.q[i, later, 1]
        subsidy, sums = state.subsidy[i], state.sums[i]
        paid = 0.0 if active else 1.0
        for k in range(oldest):
            ahead = idle[k] if idle[k] > crawl[k] else crawl[k]
            change = reward + paid * subsidy[k] + ahead - share * sums[k] - here[k]
            sums[k] += alpha * change
            here[k] += alpha * change
        if not active:
            gamma = model.subsidy_step / (1.0 + state.visits[i, now, 0] / model.patience)
            state.subsidy[i, now] += gamma * (state.q[i, now, 1, now] - state.q[i, now, 0, now])
    return True


@brief
class WhittleQ(CompiledLearner, choose=_index_choose, learn=_index_learn):
    """Whittle-index Q-learning over ages.

    Parameters
    ----------
    arms : int
        N.
    options : WhittleQOptions, optional
        Table size and step sizes.

    Attributes
    ----------
    index : ndarray, shape (N, A)
        lambda, the present index at ages 1 to A.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import mean_content, play
    >>> content = mean_content(four_sources(), 300)
    >>> run = play(four_sources(), WhittleQ(4), content, 1, np.random.default_rng(0))
    >>> bool((run.crawls > 0).all())
    True
    """

    def __init__(self, arms: int, options: WhittleQOptions | None = None) -> None:
        check_kind("options", options, WhittleQOptions, None)
        arms = check_integer("arms", arms, 1)
        self.options = options or WhittleQOptions()
        o = self.options
        state = _IndexState(
            np.zeros((arms, o.oldest, 2, o.oldest)),
            np.zeros((arms, o.oldest)),
            np.zeros((arms, o.oldest)),
            np.zeros((arms, o.oldest, 2), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )
        super().__init__(arms, _IndexModel(o.step, o.patience, o.subsidy_step, o.explore), state)

    @property
    def index(self) -> Floats:
        """Learned index at ages 1 to A, shape (N, A)."""
        return self._state.subsidy.copy()


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

    q: Floats
    visits: Ints
    sets: Ints
    action: Ints
    epoch: Ints


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
