"""Where learning is hard: sparse heavy sources, an empty start, births and deaths, drifting rates.

Each case draws N sources anew at every seed, with an arrival rate of each source and epoch,
Lambda_i(t); utilities are exponential. All sources start empty, at age 0, so that
the first crawls find nothing. Learners see the ages and what their crawls find.

The measure is the relaxed bound of the same finite horizon. For any subsidies lambda_t >= 0 and the
expected content x_i(s, t) that has gathered at source i from a crawl at s until t, ::

    sum_t lambda_t M + sum_i max over crawl times s_1 < s_2 < ... of
        sum_j x_i(s_{j-1}, s_j) - lambda_{s_j}

bounds what any policy can expect, also one that knows all rates beforehand and ignores contents; it
is computed by dynamic programming, with lambda_t the subsidy of the stationary relaxed problem at
the rates of the block of epochs around t. Regret is the share of it that a run did not earn, in
expectation given the ages. The index policy that knows the present rates is the yardstick: its
regret is the price of a budget that holds at every epoch, not of learning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import Rng, check_choice, check_integer, check_rng, check_whole
from analysis.ephemeral.kernels import h, pass_epoch, receive, relative_index_at_age
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
    learn,
    priorities,
)
from analysis.learning.environment import ItemSums, compiled
from analysis.learning.loop import largest
from analysis.results import Estimate
from analysis.sweep import sweep

CASES = ("empty start", "sparse and heavy", "born and dying", "drifting")
MEMORY = 200.0
"""Epochs after which the learners with a memory count a crawl e times less."""
LEARNERS = {
    "UCB": CertaintyEquivalenceOptions("ucb", confidence=0.5, floor=0.0),
    "Thompson": CertaintyEquivalenceOptions("thompson", spread=1.0, floor=0.0),
    "forced": CertaintyEquivalenceOptions("forced", forced=4, floor=0.0),
    "gain and floor": CertaintyEquivalenceOptions("gain"),
    "gain and floor with a memory": CertaintyEquivalenceOptions("gain", memory=MEMORY),
    "UCB with a memory": CertaintyEquivalenceOptions(
        "ucb", confidence=0.5, floor=0.0, memory=MEMORY
    ),
    "Thompson with a memory": CertaintyEquivalenceOptions(
        "thompson", spread=1.0, floor=0.0, memory=MEMORY
    ),
    "items": CertaintyEquivalenceOptions(),
    "items with a memory": CertaintyEquivalenceOptions(memory=MEMORY),
}
SEES_ITEMS = ("items", "items with a memory")
INFORMED = "index, rates known"
BLOCK = 100
"""Epochs over which the subsidy of the bound is constant."""


@read_only_arrays
@dataclass(frozen=True)
class HardCase:
    """One draw of sources whose arrival rates may change.

    `arrival_rate` is Lambda_i(t), items between epochs t and t + 1, shape (N, T); `mean_utility` is
    that of an item, and `decay` mu_i per epoch, shape (N,).
    """

    arrival_rate: Floats
    mean_utility: Floats
    decay: Floats

    @property
    def mean(self) -> Floats:
        """Mean content that each epoch brings, shape (N, T)."""
        per_item = self.mean_utility * -np.expm1(-self.decay) / self.decay
        return self.arrival_rate * per_item[:, None]

    def sample(self, rng: Rng) -> ItemSums:
        """Draw what each epoch brings, shape (N, T)."""
        rng = check_rng(rng)
        items = rng.poisson(self.arrival_rate)
        worth, aged = np.zeros(items.shape), np.zeros(items.shape)
        for i, row in enumerate(items):
            utility = self.mean_utility[i] * rng.standard_exponential(row.sum())
            age = rng.random(row.sum())
            faded = utility * np.exp(-self.decay[i] * age)
            epoch = np.repeat(np.arange(row.size), row.astype(np.intp))
            worth[i] = np.bincount(epoch, faded, row.size)
            aged[i] = np.bincount(epoch, faded * age, row.size)
        return ItemSums(worth, aged)


def hard_case(case: str, size: int, horizon: int, rng: Rng) -> HardCase:
    """Draw the N sources of a case over T epochs, both at least 2.

    "empty start" has arrival rates on (1, 9), utilities on (0.2, 2) and decay on (0.2, 1.5), as
    have the others but for what their names say. "sparse and heavy": every second source is rare,
    Lambda on (0.05, 1), with utilities on (20, 200) and decay on (0.02, 0.2). "born and dying": a
    source publishes and is silent in turns, for exponential times of mean T/4, at a new rate each
    time. "drifting": log Lambda is a random walk, with deviation 1 over T/4 epochs.
    """
    rng = check_rng(rng)
    check_choice("case", case, CASES)
    size = check_integer("size", size, 2)
    horizon = check_integer("horizon", horizon, 2)
    rate, utility = rng.uniform(1, 9, size), rng.uniform(0.2, 2, size)
    decay = rng.uniform(0.2, 1.5, size)
    if case == "sparse and heavy":
        rare = np.arange(size) % 2 == 1
        rate[rare] = np.exp(rng.uniform(np.log(0.05), 0.0, rare.sum()))
        utility[rare] = rng.uniform(20, 200, rare.sum())
        decay[rare] = rng.uniform(0.02, 0.2, rare.sum())
    rates = np.repeat(rate[:, None], horizon, axis=1)
    if case == "drifting":
        steps = rng.standard_normal((size, horizon)) * np.sqrt(4.0 / horizon)
        rates *= np.exp(np.cumsum(steps, axis=1))
    elif case == "born and dying":
        for row in rates:
            at, alive = 0, rng.random() < 0.5
            while at < horizon:
                until = at + 1 + int(rng.exponential(horizon / 4))
                row[at:until] = rng.uniform(1, 9) if alive else 0.0
                at, alive = until, not alive
    return HardCase(rates, utility, decay)


def horizon_bound(case: HardCase, budget: int) -> float:
    """Relaxed bound on the expected reward of all epochs together, for a budget in [1, N]."""
    size, horizon = case.arrival_rate.shape
    budget = check_whole("budget", budget, 1, size)
    subsidy = np.empty(horizon)
    subsidies: dict[bytes, float] = {}  # rates seldom change in most cases
    for first in range(0, horizon, BLOCK):
        rates = case.arrival_rate[:, first : first + BLOCK].mean(axis=1)
        if (key := rates.tobytes()) not in subsidies:
            sources = Sources(rates, case.mean_utility, case.decay)
            subsidies[key] = relaxed_problem(sources, budget).subsidy
        subsidy[first : first + BLOCK] = subsidies[key]
    best = _best_times(case.mean, np.exp(-case.decay), subsidy)
    return float(budget * subsidy.sum() + best)


def regret_row(point: tuple[str, int, int, int], rng: np.random.Generator) -> dict[str, float]:
    """Play every learner once on one draw of a case, ``(case, size, budget, horizon)``.

    Returns the regret of each learner, and of the index policy that knows the rates, as a share of
    the relaxed bound; all get the same arrivals.
    """
    name, size, budget, horizon = point
    sources, arrivals, *own = rng.spawn(2 + len(LEARNERS))
    case = hard_case(name, size, horizon, sources)
    mean, alpha = np.ascontiguousarray(case.mean.T), np.exp(-case.decay)
    drawn = case.sample(arrivals)
    content, aged = np.ascontiguousarray(drawn.worth.T), np.ascontiguousarray(drawn.aged.T)
    unseen = np.full(aged.shape, np.nan)
    bound = horizon_bound(case, budget)
    reach = -np.expm1(-case.decay)
    earned = {INFORMED: _play_informed(case.decay, mean, reach, alpha, budget)}
    for (learner, options), stream in zip(LEARNERS.items(), own, strict=True):
        certainty = CertaintyEquivalence(size, options)
        grown = aged if learner in SEES_ITEMS else unseen
        earned[learner] = _play(
            certainty._model, certainty._state, alpha, content, grown, mean, budget, stream
        )
    return {learner: 1.0 - value / bound for learner, value in earned.items()}


def regrets(
    *,
    size: int,
    budget: int,
    horizon: int,
    replications: int,
    seed: int,
    limit: float = 0.1,
) -> pd.DataFrame:
    """Regret of every learner in every case, over `replications` draws of sources and arrivals.

    `size`, `budget` and `horizon` are N, M and T. A learner ``holds`` in a case if it earns less
    than the index policy that knows the rates by at most a share `limit` of the bound, at the upper
    end of a 95% interval of paired differences. A row for each case and learner has ``case``,
    ``learner``, ``regret`` with ``low`` and ``high`` (95% interval), ``excess`` and ``excess_high``
    over the index policy that knows the rates, and ``holds``.
    """
    replications = check_integer("replications", replications, 2)
    points = [(case, size, budget, horizon) for case in CASES]
    played = sweep(regret_row, points, seed=seed, replications=replications, jobs=1, progress=False)
    rows = []
    for case, draws in zip(CASES, played, strict=True):
        informed = np.array([draw[INFORMED] for draw in draws])
        for learner in draws[0]:
            lost = np.array([draw[learner] for draw in draws])
            excess, regret = Estimate.of(lost - informed), Estimate.of(lost)
            numbers = (regret.value, *regret.interval, excess.value, excess.high)
            rows.append((case, learner, *numbers, excess.high <= limit))
    columns = ["case", "learner", "regret", "low", "high", "excess", "excess_high", "holds"]
    return pd.DataFrame(rows, columns=columns)


@compiled
def _best_times(mean, alpha, subsidy):  # type: ignore[no-untyped-def]
    """Sum over sources of the best reward less subsidies; value[s] is the best with a crawl at s.

    Place 0 is the start, when all sources are empty; epoch t has place t + 1.
    """
    size, horizon = mean.shape
    value, best = np.empty(horizon + 1), 0.0
    for i in range(size):
        for node in range(horizon + 1):
            value[node] = 0.0
        top = 0.0
        for last in range(horizon + 1):
            if last > 0:
                value[last] -= subsidy[last - 1]
                if value[last] <= top:  # not to have crawled leaves as much, and more content
                    continue
                top = value[last]
            held = 0.0
            for epoch in range(max(last, 1), horizon):
                held = alpha[i] * held + mean[i, epoch - 1]
                value[epoch + 1] = max(value[epoch + 1], value[last] + held)
        best += top
    return best


@compiled
def _play(model, state, alpha, content, grown, mean, budget, rng):  # type: ignore[no-untyped-def]
    """Return what certainty equivalence earns in expectation, all sources empty at first.

    `grown` is the worth times age that each epoch brings, ``nan`` where items are not seen.
    """
    horizon, size = content.shape
    held, expected, age = np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.int64)
    arms, values, total = np.empty(budget, dtype=np.int64), np.empty(size), 0.0
    content_found, older = np.empty(budget), np.empty(budget)
    aged = 0.0 * grown[0]
    for epoch in range(horizon):
        priorities(model, state, age, rng, values, budget)
        largest(values, arms)
        for m in range(budget):
            i = arms[m]
            content_found[m], older[m] = held[i], aged[i]
            total += expected[i]
            held[i], expected[i], aged[i] = 0.0, 0.0, aged[i] - older[m]
        learn(model, state, arms, age, content_found, older)
        for i in arms:
            age[i] = 0
        for i in range(size):
            aged[i] = alpha[i] * (aged[i] + held[i]) + grown[epoch, i]
        pass_epoch(alpha, content[epoch], held, age)
        receive(alpha, mean[epoch], expected)
    return total


@compiled
def _play_informed(decay, mean, reach, alpha, budget):  # type: ignore[no-untyped-def]
    """Return the expected reward of the index policy at the rates of the moment."""
    horizon, size = mean.shape
    expected, age = np.zeros(size), np.zeros(size, dtype=np.int64)
    arms, values, total = np.empty(budget, dtype=np.int64), np.empty(size), 0.0
    for epoch in range(horizon):
        for i in range(size):
            u_star = mean[epoch, i] / reach[i]
            values[i] = u_star * relative_index_at_age(decay[i], h(decay[i]), float(age[i]))
        largest(values, arms)
        for i in arms:
            total += expected[i]
            expected[i], age[i] = 0.0, 0
        pass_epoch(alpha, mean[epoch], expected, age)
    return total
