"""Whittle-index Q-learning over ages, on two time scales: no model at all.

Each arm is a restless bandit whose state is its age s = 1..A (older counts as A). A passive epoch
earns the subsidy and ages the arm, a crawl earns what it finds and makes the age 1. For every
reference age k there is a table Q_k and a subsidy lambda_k, and each arm's step (s, a, r, s')
changes all tables, ::

    Q_k(s, a) += alpha [ r + (1 - a) lambda_k + max_b Q_k(s', b) - mean(Q_k) - Q_k(s, a) ],
    lambda_s  += gamma [ Q_s(s, 1) - Q_s(s, 0) ]  if a = 0,      gamma below alpha,

so that in the limit passive and active tie at age s under lambda_s, which is the Whittle index
there. A subsidy moves only where it has just been paid. If all moved at every epoch, as for a
simulator that visits all states alike, one at an age where the arm is always crawled would run
away: Q_s(s, 0), which alone answers to it, is never updated there. The arms of largest lambda at
their age are crawled, or, less and less often, random ones.

Reference: Avrachenkov and Borkar, Whittle index based Q-learning for restless bandits with average
reward, Automatica 139 (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_integer, check_kind, check_number, check_positive, set_fields
from analysis.display import brief
from analysis.learning.environment import Floats, compiled
from analysis.learning.loop import CompiledLearner, largest


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


class _Model(NamedTuple):
    step: float
    patience: float
    subsidy_step: float
    explore: float


class _State(NamedTuple):
    """Q_k(s, a) as q[arm, s, a, k], its sums over (s, a), lambda[arm, k] and visits[arm, s, a].

    Ages count from 0 here; k comes last because one step changes (s, a) for all k.
    """

    q: NDArray[np.float64]
    sums: NDArray[np.float64]
    subsidy: NDArray[np.float64]
    visits: NDArray[np.int64]
    epoch: NDArray[np.int64]


@compiled
def _choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Return the arms of largest learned index, or random ones."""
    oldest = state.subsidy.shape[1]
    random = rng.random() * (1.0 + state.epoch[0] / model.explore) < 1.0
    for i in range(values.size):
        values[i] = rng.random() if random else state.subsidy[i, min(age[i], oldest) - 1]
    return largest(values, arms[:budget])


@compiled
def _learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
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
class WhittleQ(CompiledLearner, choose=_choose, learn=_learn):
    """The learner.

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
        state = _State(
            np.zeros((arms, o.oldest, 2, o.oldest)),
            np.zeros((arms, o.oldest)),
            np.zeros((arms, o.oldest)),
            np.zeros((arms, o.oldest, 2), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )
        super().__init__(arms, _Model(o.step, o.patience, o.subsidy_step, o.explore), state)

    @property
    def index(self) -> Floats:
        """Learned index at ages 1 to A, shape (N, A)."""
        return self._state.subsidy.copy()
