"""Rollout of the Lagrangian index policy: exchange two crawls if that loses less some epochs ahead.

The loss identity (`analysis.ephemeral.lagrangian`) counts what any crawls lose against the bound,
epoch by epoch. At each epoch the policy compares five sets: the sources of the largest Lagrangian
indices, and the four in which one of the last two of them is exchanged for one of the first two
that wait. Each is followed by the Lagrangian index policy for some epochs, and the set that loses
least in all of them is crawled; ties go to the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from analysis.arrays import Bools, Floats
from analysis.checks import (
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_whole,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.kernels import h, mark_top, relative_index_at_age
from analysis.ephemeral.lagrangian import PricedSources, advantage, crawl_price
from analysis.ephemeral.policies import Arms, Observation, check_ages
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.kernel_cache import njit

WHITTLE, LAGRANGIAN, ROLLOUT = range(3)
RULES = {"whittle": WHITTLE, "lagrangian": LAGRANGIAN, "rollout": ROLLOUT}
AGES = 1024
"""Ages whose Lagrangian indices are kept once computed: a rollout asks for the same ones again."""


class Problem(NamedTuple):
    """Sources at a price, for compiled loops.

    Attributes
    ----------
    u_star, decay, due : ndarray, shape (N,)
        Of each source, and its due age.
    price : float
        lambda.
    kept : ndarray, shape (N, AGES)
        Lagrangian index by source and whole age, ``nan`` before it is asked for.
    """

    u_star: Floats
    decay: Floats
    due: Floats
    price: float
    kept: Floats


def _problem(sources: Sources, budget: int, price: float | None) -> Problem:
    """Return the problem at a price, by default the multiplier at the budget."""
    priced = PricedSources(sources, crawl_price(sources, budget) if price is None else price)
    kept = np.full((len(sources), AGES), np.nan)
    return Problem(sources.u_star, sources.decay, priced.due, priced.price, kept)


@brief
@dataclass(frozen=True, eq=False)
class RolloutPolicy:
    """Rollout of the Lagrangian index policy by the loss identity, by ages alone.

    Parameters
    ----------
    sources : Sources
        N sources, with costs of 1.
    epochs : int
        Epochs over which losses are added up, the present one included.
    price : float, optional
        lambda; by default `crawl_price` for the budget at which the policy is played.

    Examples
    --------
    >>> from analysis.ephemeral import RolloutPolicy, four_sources, long_run_cycle
    >>> cycle = long_run_cycle(four_sources(), RolloutPolicy(four_sources()), 2)
    >>> round(cycle.average_reward, 2)
    337.77
    """

    sources: Sources
    epochs: int = 30
    price: float | None = None
    problems: dict[int, Problem] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        check_unit_costs(self.sources)
        set_fields(self, epochs=check_integer("epochs", self.epochs, 1))
        if self.price is not None:
            set_fields(self, price=check_number("price", self.price, 0, high_open=True))

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the set of `budget` sources that loses least in the next epochs."""
        check_ages(observation, len(self.sources))
        budget = check_whole("budget", budget, 1, len(self.sources))
        if budget not in self.problems:
            self.problems[budget] = _problem(self.sources, budget, self.price)
        size = len(self.sources)
        chosen = np.empty(size, dtype=np.bool_)
        age = observation.age.astype(np.float64)
        _roll_out(self.problems[budget], age, budget, self.epochs, chosen, np.empty((4, size)))
        return np.flatnonzero(chosen)


def follow(
    sources: Sources,
    rule: str,
    budget: int,
    ages: Arms,
    epochs: int,
    *,
    price: float | None = None,
    ahead: int = 30,
) -> tuple[Floats, Floats]:
    """Return the rewards of the epochs under one of `RULES`, and the last ages.

    The crawls are those of the policies by age, from given ages of shape (N,), compiled for long
    runs of many sources with costs of 1. ValueError names the argument, its value and the range.
    """
    check_kind("sources", sources, Sources)
    check_unit_costs(sources)
    budget = check_whole("budget", budget, 1, len(sources))
    age = check_integers("ages", ages).astype(np.float64)
    if rule not in RULES or age.shape != (len(sources),) or age.min() < 0:
        raise ValueError(
            f"rule must be one of {', '.join(RULES)}, and ages one a source, at least 0"
        )
    rewards = np.empty(check_integer("epochs", epochs, 1))
    ahead = check_integer("ahead", ahead, 1)
    _follow(RULES[rule], _problem(sources, budget, price), age, budget, ahead, rewards)
    return rewards, age


@njit
def _rank(rule: int, problem: Problem, age: Floats, index: Floats) -> None:
    u_star, decay, due, price, kept = problem
    for i in range(age.size):
        if rule == WHITTLE:
            index[i] = u_star[i] * relative_index_at_age(decay[i], h(decay[i]), age[i])
            continue
        whole = int(age[i]) if 0.0 <= age[i] < AGES else 0
        if whole == age[i] and not np.isnan(kept[i, whole]):
            index[i] = kept[i, whole]
            continue
        index[i] = advantage(u_star[i], decay[i], due[i], price, age[i])
        if whole == age[i]:
            kept[i, whole] = index[i]


@njit
def _lose(index: Floats, chosen: Bools, age: Floats) -> float:
    """Return the loss of one epoch, and let the ages move on."""
    lost = 0.0
    for i in range(age.size):
        if chosen[i]:
            lost += max(-index[i], 0.0)
            age[i] = 1.0
        else:
            lost += max(index[i], 0.0)
            age[i] += 1.0
    return lost


@njit
def _roll_out(
    problem: Problem, age: Floats, budget: int, epochs: int, chosen: Bools, room: Floats
) -> None:
    """Write the best of the five sets to `chosen`; `room`, shape (4, N), is overwritten."""
    index, later, now, work = room[0], room[1], room[2], room[3]
    size = age.size
    _rank(LAGRANGIAN, problem, age, index)
    mark_top(index, budget, work, chosen)
    last, first = np.full(2, -1), np.full(2, -1)  # crawled last, and waiting first
    for i in range(size):
        # Of equal indices the larger number is crawled last and the smaller waits first.
        if chosen[i]:
            if last[0] < 0 or index[i] <= index[last[0]]:
                last[1], last[0] = last[0], i
            elif last[1] < 0 or index[i] <= index[last[1]]:
                last[1] = i
        elif first[0] < 0 or index[i] > index[first[0]]:
            first[1], first[0] = first[0], i
        elif first[1] < 0 or index[i] > index[first[1]]:
            first[1] = i
    best, least = -1, np.inf
    trial = np.empty(size, np.bool_)
    for candidate in range(5):
        out, into = last[(candidate - 1) % 2], first[(candidate - 1) // 2]
        if candidate > 0 and (out < 0 or into < 0):
            continue
        trial[:] = chosen
        if candidate > 0:
            trial[out], trial[into] = False, True
        now[:] = age
        lost = _lose(index, trial, now)
        for _ in range(epochs - 1):
            if lost >= least:
                break
            _rank(LAGRANGIAN, problem, now, later)
            mark_top(later, budget, work, trial)
            lost += _lose(later, trial, now)
        # Rounding must not make a set of the same loss seem better.
        if lost < least * (1.0 - 1e-12):
            best, least = candidate, lost
    if best > 0:
        chosen[last[(best - 1) % 2]], chosen[first[(best - 1) // 2]] = False, True


@njit
def _follow(
    rule: int, problem: Problem, age: Floats, budget: int, ahead: int, rewards: Floats
) -> None:
    u_star, decay = problem.u_star, problem.decay
    index, room = np.empty(age.size), np.empty((4, age.size))
    chosen = np.empty(age.size, np.bool_)
    for epoch in range(rewards.size):
        if rule == ROLLOUT:
            _roll_out(problem, age, budget, ahead, chosen, room)
        else:
            _rank(rule, problem, age, index)
            mark_top(index, budget, room[0], chosen)
        rewards[epoch] = 0.0
        for i in range(age.size):
            if chosen[i]:
                rewards[epoch] -= u_star[i] * np.expm1(-decay[i] * age[i])
                age[i] = 0.0
            age[i] += 1.0
