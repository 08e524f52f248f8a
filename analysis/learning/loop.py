"""The loop of a learner's run, compiled: choose, collect, learn, pass an epoch.

A `CompiledLearner` consists of two steps, `choose` and `learn`, as compiled functions. Its `select`
and `update` call them, and `compiled_loop` puts them into the loop of a whole run.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import (
    Rng,
    check_array,
    check_integer,
    check_rng,
    check_selected,
    check_whole,
)
from analysis.ephemeral.kernels import mark_top, one_minus_short_exp, pass_epoch
from analysis.ephemeral.policies import Observation, check_ages
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import ItemSums, Run, compiled, play


class CompiledLearner:
    """A learner made of two compiled steps; `select`, `update` and `play` are the same for all.

    A subclass names its steps, ``class Learner(CompiledLearner, choose=..., learn=...)``: compiled
    functions with the arguments of those of this module, of which `compiled_loop` makes `loop`.

    Parameters
    ----------
    arms : int
        N.
    model, state : tuple
        Constants of the steps, and arrays that `learn` changes.
    """

    sees_items = False
    choose: ClassVar[Callable[..., Any]]
    learn: ClassVar[Callable[..., Any]]
    loop: ClassVar[Callable[..., Any]]

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init_subclass__(
        cls, *, choose: Callable[..., Any], learn: Callable[..., Any], **options: Any
    ) -> None:
        super().__init_subclass__(**options)
        cls.choose, cls.learn = staticmethod(choose), staticmethod(learn)
        cls.loop = staticmethod(compiled_loop(cls.__name__, choose, learn))

    def __init__(self, arms: int, model: Any, state: Any) -> None:
        self._model, self._state = model, state
        self._age = np.zeros(arms, dtype=np.int64)

    @property
    def diverged_at(self) -> int | None:
        """Epoch at which the learner's numbers left their range, or None."""
        return None

    def select(self, observation: Observation, budget: int, rng: Rng) -> Ints:
        """Return the arms to crawl, in increasing order."""
        budget = check_whole("budget", budget, 1, self._age.size)
        rng = None if rng is None else check_rng(rng)  # a learner that does not draw needs none
        check_ages(observation, self._age.size)
        self._age[:] = observation.age
        arms, values = np.empty(self._age.size, dtype=np.int64), np.empty(self._age.size)
        count = type(self).choose(self._model, self._state, self._age, budget, rng, values, arms)
        return arms[:count]

    def update(self, arms: Ints, rewards: Floats | ItemSums) -> None:
        """Learn from what was found at each crawled arm: sums of its items, or content alone."""
        arms = check_selected("arms", arms, self._age.size, self._age.size)
        if isinstance(rewards, ItemSums):
            content, aged = rewards.worth.copy(), rewards.aged.copy()  # which may be written to
        else:
            content = check_array("rewards", rewards, 0)
            aged = np.full(content.shape, np.nan)
        if content.shape != arms.shape:
            raise ValueError(f"rewards must have shape {arms.shape} as arms, got {content.shape}")
        if self.diverged_at is None:
            type(self).learn(self._model, self._state, arms, self._age, content, aged)

    def play(self, sources: Sources, content: Floats | ItemSums, budget: int, rng: Rng) -> Run:
        """Run on a stream of arrivals, as `environment.play` does, in one compiled loop.

        `sources` generates the rewards. A subclass with a `select` or `update` of its own runs
        epoch by epoch, because the compiled loop calls neither.
        """
        rng = check_rng(rng)
        if not self._loop_is_its_own():
            return play(sources, self, content, budget, rng)
        stream, budget = _by_epoch(sources, content, budget)
        check_integer("the number of sources", len(sources), self._age.size, self._age.size)
        grown = np.empty((0, self._age.size))
        if isinstance(content, ItemSums) and self.sees_items:
            grown = content.aged.T.copy()
        *earned, crawls = type(self).loop(
            self._model, self._state, sources.alpha, sources.decay, sources.u_star,
            stream, grown, self._age, budget, rng,
        )  # fmt: skip
        reward, expected, engaged = (values[: self.diverged_at] for values in earned)
        if getattr(self, "keeps_budget", True) and engaged.max(initial=0) > budget:
            raise ValueError(
                f"choose must write at most {budget} sources, got {engaged.max()} in one epoch"
            )
        return Run(reward, expected, engaged, crawls, self.diverged_at)

    def _loop_is_its_own(self) -> bool:
        """Return whether no subclass replaced `select` or `update` after `play` was written."""
        owners = [vars(self), *map(vars, type(self).__mro__)]
        first = {
            name: next(depth for depth, names in enumerate(owners) if name in names)
            for name in ("select", "update", "play")
        }
        return first["play"] <= min(first["select"], first["update"])


def _by_epoch(sources: Sources, content: Floats | ItemSums, budget: int) -> tuple[Floats, int]:
    """Check a stream of arrivals and a budget; return the stream with epochs first, and the budget.

    Of items, the stream is their worth.
    """
    budget = check_whole("budget", budget, 1, len(sources))
    worth = content.worth if isinstance(content, ItemSums) else content
    array = check_array("content", worth, 0)
    if array.ndim != 2 or array.shape[0] != len(sources) or array.shape[1] == 0:
        raise ValueError(f"content must have shape ({len(sources)}, T), got {array.shape}")
    return np.ascontiguousarray(array.T), budget


def compiled_loop(
    learner: str, choose: Callable[..., Any], learn: Callable[..., Any]
) -> Callable[..., Any]:
    """Compile the loop of a run for one learner, from its steps `choose` and `learn`.

    Returns ``loop(model, state, alpha, decay, u_star, content, grown, age, budget, rng)``.

    Numba takes functions that a kernel calls from its globals, and caches by module, name and
    signature. So the learner gets a copy of `_loop` with its own two steps among the globals, under
    its own name, in the module of `choose`, whose imports decide when the cache is stale: `learn`
    must be of that module or of one that it imports.
    """
    steps = {"choose": choose, "learn": learn}
    loop = FunctionType(_loop.__code__, globals() | steps, _loop.__name__)
    loop.__module__, loop.__qualname__ = choose.__module__, f"{learner}.loop"
    compiled_function: Callable[..., Any] = compiled(loop)
    return compiled_function


def choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Write the arms to crawl into `arms`, in increasing order, and return their number.

    Replaced by a learner's own step in `compiled_loop`. `model` and `state` are tuples of the
    learner, `age` has the ages of all arms, shape (N,), and `values` is scratch space, shape (N,).
    """
    raise NotImplementedError


def learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Change the state by what a crawl found; return False once the learner has diverged.

    Replaced by a learner's own step in `compiled_loop`. `arms` are the K crawled ones in increasing
    order, `age` the ages of all arms before the crawl, shape (N,), `content_found` what they held
    and `aged` the sum of worth times age of its items, ``nan`` where items are not seen, shape
    (K,).
    """
    raise NotImplementedError


def _loop(model, state, alpha, decay, u_star, content, grown, age, budget, rng):  # type: ignore[no-untyped-def]
    """Run `choose` and `learn` on a stream of arrivals, from contents u_i at age 1.

    alpha, decay and u_star are those of the sources that generate the rewards. `grown` is the worth
    times age that each epoch brings, without rows where items are not seen. Entries from the epoch
    on at which `learn` returned False have no meaning. The ages at the end are left in `age`.
    """
    horizon, size = content.shape
    held, aged, items = np.empty(size), np.full(size, np.nan), grown.shape[0] > 0
    arms, values = np.empty(size, dtype=np.int64), np.empty(size)
    content_found, older = np.empty(size), np.empty(size)
    reward, expected = np.zeros(horizon), np.zeros(horizon)
    engaged, crawls = np.zeros(horizon, dtype=np.int64), np.zeros(size, dtype=np.int64)
    fresh(decay, u_star, held, age)
    if items:
        for i in range(size):
            aged[i] = u_star[i] * one_minus_short_exp(decay[i]) / decay[i]
    for epoch in range(horizon):
        count = choose(model, state, age, budget, rng, values, arms)
        crawled = arms[:count]
        for m in range(count):  # compiled code would write beyond its arrays
            if count > size or not (arms[m - 1] if m else -1) < arms[m] < size:
                raise ValueError("choose must write different sources in increasing order")
        reward[epoch], expected[epoch] = collect(
            decay, u_star, age, held, aged, crawled, content_found, older, crawls
        )
        engaged[epoch] = count
        if not learn(model, state, crawled, age, content_found[:count], older[:count]):
            break
        for i in crawled:
            age[i] = 0
        if items:
            for i in range(size):
                aged[i] = alpha[i] * (aged[i] + held[i]) + grown[epoch, i]
        pass_epoch(alpha, content[epoch], held, age)
    return reward, expected, engaged, crawls


@compiled
def fresh(decay, u_star, held, age):  # type: ignore[no-untyped-def]
    """Write contents u_i and ages 1."""
    for i in range(held.size):
        held[i] = -np.expm1(-decay[i]) * u_star[i]
        age[i] = 1


@compiled
def collect(decay, u_star, age, held, aged, arms, content_found, older, crawls):  # type: ignore[no-untyped-def]
    """Crawl arms: move their content to `content_found`, its sum of worth times age to `older`.

    Returns the sum of what was found and its mean given the ages.
    """
    total, mean = 0.0, 0.0
    for m in range(arms.size):
        i = arms[m]
        content_found[m], older[m] = held[i], aged[i]
        total += held[i]
        mean += -np.expm1(-decay[i] * age[i]) * u_star[i]
        crawls[i] += 1
        held[i] = 0.0
        aged[i] -= older[m]  # 0, or nan where items are not seen
    return total, mean


@compiled
def largest(values, arms):  # type: ignore[no-untyped-def]
    """Write the positions of the largest values into `arms`, in increasing order; return how many.

    Ties go to the smaller position.
    """
    chosen = np.empty(values.size, dtype=np.bool_)
    mark_top(values, arms.size, np.empty(values.size), chosen)
    count = 0
    for i in range(values.size):
        if chosen[i]:
            arms[count] = i
            count += 1
    return count
