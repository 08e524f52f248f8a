"""Replay of a policy on a trace, and its reward.

A policy decides at the epochs t_0, t_0 + T, t_0 + 2 T, ... which sources to visit. A visit finds
every item of its source published up to then and not found before, at its value times
exp(-mu age). The policy observes this value and the publication times of these items, nothing else.
So an item counts at the first visit after its publication, and the reward is a sum over items:

    reward = sum over items of value_i exp(-mu_i (first visit after publication - publication)).

The same visits have costs in the terms of freshness. With n_i(t) the items of source i not found
yet, `stale` averages 1{n_i(t) > 0} over time, and `harmonic` the harmonic number H(n_i(t)).

Policies that depend on ages alone make the same visits on every trace: their visits are computed
once and scored from any number of starting phases.

*The clairvoyant bound.* A clairvoyant knows every publication beforehand. It visits a source only
at the first epoch after an arrival, since waiting only loses value. Let c_j be the content at that
epoch, t_j, if the source had never been visited; a visit at t_j whose predecessor was at t_k finds

    c_j - exp(-mu (t_j - t_k)) c_k.

With a subsidy lambda for each visit not made, the problem separates into a longest-path problem
over the arrivals of each source, and for any lambda >= 0

    bound = lambda M T + sum_i max over sets of visits (what they find - lambda a visit)

is at least what any policy collects in T epochs of M visits; the best lambda is the smallest at
which the visits do not exceed the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import (
    LARGEST,
    Rng,
    check_integer,
    check_integers,
    check_kind,
    check_rng,
    check_whole,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.kernels import next_in_turn
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import (
    GreedyPolicy,
    Observation,
    Policy,
    RoundRobinPolicy,
    WhittlePolicy,
    select_arms,
)
from analysis.ephemeral.sources import ROUNDING, Sources, check_unit_costs
from analysis.ephemeral.timetables.table import Timetable
from analysis.trace import kernels
from analysis.trace.deployed import (
    WEEK,
    AutoTtl,
    CommaFeed,
    DueTimes,
    EntryFrequency,
    Friendica,
    NextcloudNews,
    NutchAdaptive,
    StormCrawler,
)
from analysis.trace.policies import ForgettingIndex, FrequencyPolicy
from analysis.trace.trace import HOUR, Trace, weighted_counts

_AT_A_TIME = 1000
COMPILED = (RoundRobinPolicy, Timetable, WhittlePolicy, GreedyPolicy, FrequencyPolicy)
"""Classes of policies that run compiled where they depend on ages alone."""
LEARNERS = (
    ForgettingIndex,
    NutchAdaptive,
    StormCrawler,
    EntryFrequency,
    AutoTtl,
    CommaFeed,
    NextcloudNews,
    Friendica,
)
"""Classes of policies that learn from their visits in compiled code."""


@dataclass(frozen=True)
class Clock:
    """The epochs of a replay: second of the first, number, and seconds from one to the next."""

    begin: int
    horizon: int
    period: int = HOUR

    def __post_init__(self) -> None:
        set_fields(
            self,
            begin=check_integer("begin", self.begin, -LARGEST),
            horizon=check_integer("horizon", self.horizon, 1),
            period=check_integer("period", self.period, 1),
        )

    @property
    def end(self) -> int:
        """Second at which the last epoch ends."""
        return self.begin + self.horizon * self.period


class Visits:
    """The sources visited at each epoch, given as an array (horizon, budget) with -1 for none.

    Attributes
    ----------
    arm, epoch : ndarray of int, shape (K,)
        Source and epoch of each visit, in order of source, then epoch.
    horizon, budget : int
        Number of epochs, and largest number of visits in an epoch.
    """

    def __init__(self, visits: Ints) -> None:
        visits = check_integers("visits", visits)
        if visits.ndim != 2:
            raise ValueError(f"visits must have shape (horizon, budget), got {visits.shape}")
        self.horizon, self.budget = visits.shape
        epoch, column = np.nonzero(visits >= 0)
        arm = visits[epoch, column]
        order = np.argsort(arm, kind="stable")
        # Places are int32 on some platforms, where products of them with seconds would overflow.
        self.arm, self.epoch = arm[order].astype(np.int64), epoch[order].astype(np.int64)
        if ((np.diff(self.arm) == 0) & (np.diff(self.epoch) == 0)).any():
            raise ValueError("visits must be to different sources in each epoch")

    def __repr__(self) -> str:
        return f"Visits({self.arm.size} visits, horizon={self.horizon}, budget={self.budget})"

    def used(self, warm_up: int = 0) -> float:
        """Return the share of the budget that is spent after the warm-up."""
        count = np.count_nonzero(self.epoch >= warm_up)
        return count / (self.budget * (self.horizon - warm_up))


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Score:
    """Reward and staleness of the visits of one replay.

    Attributes
    ----------
    reward : ndarray, shape (horizon,)
        Value of what was found at each epoch; 0 in the warm-up.
    stale : ndarray, shape (N,)
        Share of the time in which a source had an item that was not found yet.
    harmonic : ndarray, shape (N,)
        Average of H(n), n the items that were not found yet.
    """

    reward: Floats
    stale: Floats
    harmonic: Floats


def visits_by_age(
    policy: Policy,
    budget: int,
    horizon: int,
    age: Ints,
    rng: Rng = None,
) -> Visits:
    """Return the visits of a policy that depends on ages alone, or on the epoch, numbered from 0.

    Those of `COMPILED` run compiled; of any other, `select` is called at each epoch, with `rng`.
    `age`, shape (N,), has the epochs since the last visit at the first epoch.
    """
    check_kind("policy", policy, Policy)
    budget = check_whole("budget", budget, 1, age.size)
    rng = None if rng is None else check_rng(rng)
    if type(policy) not in COMPILED:  # not a subclass either: it may select otherwise
        return _visits_by_select(policy, budget, horizon, age.copy(), rng)
    if isinstance(policy, RoundRobinPolicy):  # one cyclic order
        # Called only once: not worth compiling.
        turn = getattr(next_in_turn, "py_func", next_in_turn)(age, 0) + np.arange(horizon * budget)
        return Visits((turn % age.size).reshape(horizon, budget))
    if isinstance(policy, Timetable):
        budget = check_whole("budget", budget, policy.budget)
        if len(policy.sources) != age.size:
            size = len(policy.sources)
            raise ValueError(f"policy must be one for {age.size} sources, got one for {size}")
        epoch, entry = policy.due(0, horizon)
        visits = np.full((horizon, budget), -1, dtype=np.int64)
        visits[epoch, policy.channel[entry]] = policy.source[entry]
        return Visits(visits)
    weight, row, table = priorities(policy, int(age.max()) + horizon + 1, age.size)
    if weight.size != age.size:
        raise ValueError(f"policy must be one for {age.size} sources, got one for {weight.size}")
    visits = np.full((horizon, budget), -1, dtype=np.int64)
    least = 0.0 if isinstance(policy, FrequencyPolicy) else -np.inf
    kernels.follow_priorities(weight, row, table, least, budget, visits, age.copy())
    return Visits(visits)


def _visits_by_select(
    policy: Policy, budget: int, horizon: int, age: Ints, rng: np.random.Generator | None
) -> Visits:
    """Call `select` of a policy at each epoch, from given ages; contents are not observed."""
    visits = np.full((horizon, budget), -1, dtype=np.int64)
    hidden = np.full(age.size, np.nan)
    for epoch in range(horizon):
        observation = Observation(epoch, age.copy(), hidden.copy())
        arms = select_arms(policy, observation, budget, rng)
        visits[epoch, : len(arms)] = arms
        age += 1
        age[arms] = 1
    return Visits(visits)


def priorities(policy: Policy, ages: int, size: int) -> tuple[Floats, Ints, Floats]:
    """Return a policy's priorities as weight_i table[row_i, age], for ages below a number.

    ValueError if the policy is not one of those of `visits_by_age` that rank by age.
    """
    age = np.arange(ages)
    if isinstance(policy, FrequencyPolicy):
        zeros = np.zeros(size, dtype=np.int64)
        return policy.frequency, zeros, age[None].astype(np.float64)
    if not isinstance(policy, WhittlePolicy | GreedyPolicy):
        kinds = "FrequencyPolicy, WhittlePolicy or GreedyPolicy"
        raise ValueError(f"policy must be a {kinds}, got {type(policy).__name__}")
    sources = policy.sources
    decays, row = np.unique(sources.decay_rate, return_inverse=True)
    # Sources of u* = 1 and of each decay rate that occurs: the index in units of u*.
    unit = Sources(decays, np.ones(decays.size), decays, period=sources.period)
    by_age = np.broadcast_to(age[:, None], (ages, decays.size))
    index = isinstance(policy, WhittlePolicy)
    table = whittle_index_at_age(unit, by_age) if index else unit.state_at_age(by_age)
    weight = sources.u_star / sources.cost if index else sources.u_star
    return weight, row.astype(np.int64), np.ascontiguousarray(table.T)


def visits_at_random(policy: RandomPolicy, budget: int, horizon: int, rng: Rng) -> Visits:
    """Return the visits of a randomised policy; arguments as of `visits_by_age`."""
    check_kind("policy", policy, RandomPolicy)
    budget, rng = check_whole("budget", budget, 1, policy.frequency.size), check_rng(rng)
    if policy.frequency.sum() > budget + ROUNDING * budget:
        total = policy.frequency.sum()
        raise ValueError(f"policy must draw at most {budget} sources an epoch, got {total:g}")
    # As `RandomPolicy.select` does for one epoch, here for many epochs at a time.
    bounds = np.cumsum(policy.frequency) + 1e-12
    visits = np.full((horizon, budget), -1, dtype=np.int64)
    for first in range(0, horizon, _AT_A_TIME):
        drawn = rng.random(min(_AT_A_TIME, horizon - first))
        chosen = np.diff(np.floor(bounds + drawn[:, None]), prepend=0.0) > 0
        epoch, arm = np.nonzero(chosen)
        before = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
        visits[first + epoch, np.arange(epoch.size) - before[epoch]] = arm
    return Visits(visits)


def visits_with_content(trace: Trace, sources: Sources, budget: int, clock: Clock) -> Visits:
    """Return the visits of the index policy that observes every content; an empty source gets none.

    The rates of the sources are positive and their costs 1.
    """
    budget = check_whole("budget", budget, 1, len(trace))
    visits = np.full((clock.horizon, budget), -1, dtype=np.int64)
    kernels.follow_contents(
        sources.u_star, sources.decay, sources.mean_utility, budget,
        *trace.by_source, clock.begin, clock.period, visits,
    )  # fmt: skip
    return Visits(visits)


def visits_of_learner(
    trace: Trace,
    policy: ForgettingIndex | DueTimes,
    budget: int,
    clock: Clock,
) -> Visits:
    """Return the visits of a policy that learns from them; the policy object is not changed."""
    budget = check_whole("budget", budget, 1, len(trace))
    visits = np.full((clock.horizon, budget), -1, dtype=np.int64)
    items = (*trace.by_source, clock.begin, clock.period, visits)
    if type(policy) not in LEARNERS:  # not a subclass either: it may select otherwise
        names = ", ".join(kind.__name__ for kind in LEARNERS)
        raise ValueError(f"policy must be one of {names}, got {type(policy).__name__}")
    size = policy.known.age.size if isinstance(policy, ForgettingIndex) else policy.due.size
    if size != len(trace):
        raise ValueError(f"policy must be one for {len(trace)} sources, got one for {size}")
    if isinstance(policy, ForgettingIndex):
        seconds = policy.sources.period * HOUR
    else:
        seconds = policy.epoch_seconds
    if not math.isclose(seconds, clock.period):
        raise ValueError(
            f"policy must have epochs of {clock.period} seconds, those of the replay, got "
            f"{seconds:g}"
        )
    if isinstance(policy, ForgettingIndex):
        sources, counts = policy.sources, policy.known
        check_unit_costs(sources)
        oldest = int(counts.age.max()) + clock.horizon + 1
        _, row, table = priorities(WhittlePolicy(sources), oldest, len(sources))
        forgetting = kernels.Forgetting(
            policy.scale, row, table, policy.memory, policy.shape, policy.rate,
            counts.last.copy(), counts.items.copy(), counts.hours.copy(),
        )  # fmt: skip
        kernels.follow_forgetting(forgetting, budget, *items, counts.age.copy())
    else:
        rule, constants, interval = _describe_rule(policy)
        kernels.follow_due(rule, constants, interval, policy.due.copy(), budget, *items)
    return Visits(visits)


def _describe_rule(policy: DueTimes) -> tuple[int, Floats, Floats]:
    """Return the number of a rule, its constants, and its initial intervals."""
    seconds, rules = policy.epoch_seconds, kernels.Schedule
    interval = np.zeros(policy.due.size)
    if isinstance(policy, NutchAdaptive):
        shift = policy.longest / seconds if policy.mended else np.inf
        rule, constants = rules.NUTCH, [policy.INCREASE, policy.DECREASE, policy.SYNC, shift]
        interval = policy.interval.copy()
    elif isinstance(policy, StormCrawler):
        rule, constants, interval = rules.STORM, [policy.first / seconds], policy.interval.copy()
    elif isinstance(policy, AutoTtl):
        rule, constants = rules.AUTO, [policy.MEMORY]
    elif isinstance(policy, CommaFeed):
        rule, constants = policy.RULE, [float(policy.listed)]
    else:
        assert isinstance(policy, EntryFrequency)
        rule, constants = rules.ENTRY, [policy.MEMORY, WEEK / 60.0 / policy.factor]
    limits = [policy.shortest / seconds, policy.longest / seconds]
    return int(rule), np.array([*limits, *constants]), interval


def expected_reward(visits: Visits, sources: Sources, *, warm_up: int = 0) -> float:
    """Return the expected reward per epoch of visits, for stationary arrivals (Campbell).

    Visits that do not depend on what they find collect, whatever the law of the arrivals, u*_i (1 -
    exp(-mu_i gap)) on average at a visit that follows another after a gap; the gap before a
    source's first visit counts from epoch 0. Visits in the warm-up, in epochs, do not count.
    """
    first = np.append(True, np.diff(visits.arm) != 0)
    gap = np.where(first, visits.epoch, np.diff(visits.epoch, prepend=0))
    value = -np.expm1(-sources.decay[visits.arm] * gap) * sources.u_star[visits.arm]
    counted = visits.epoch >= warm_up
    return float(value[counted].sum() / (visits.horizon - warm_up))


def find_next_visits(visits: Visits, source: Ints, time: Ints, clock: Clock) -> Ints:
    """Return the place of the first visit to each source from a time on, in seconds of the clock.

    Where there is none it is that of a visit to a later source, or the number of visits.
    """
    length = max(clock.horizon, visits.horizon) * clock.period + 1
    seconds = visits.epoch * clock.period
    return np.searchsorted(visits.arm * length + seconds, source * length + time)


def score(
    trace: Trace,
    visits: Visits,
    clock: Clock,
    decay_rate: Floats,
    value: Floats,
    *,
    warm_up: int = 0,
) -> Score:
    """Return the reward and staleness of visits at the epochs of a clock.

    Items published before the clock begins do not exist. `decay_rate` and `value`, shape (N,), are
    mu_i per hour and the value of an item when it is published. The first `warm_up` epochs count
    neither for rewards, which are 0 there, nor for staleness.
    """
    time, _ = trace.by_source
    exists = (time >= clock.begin) & (time < clock.end)
    time, source = time[exists] - clock.begin, trace.sources_in_turn[exists]
    at = find_next_visits(visits, source, time, clock)
    epoch = np.append(visits.epoch, clock.horizon)[at]
    # For items without a later visit the search returns a visit of the next source.
    epoch[np.append(visits.arm, -1)[at] != source] = clock.horizon
    first_seen = np.minimum(epoch, clock.horizon) * clock.period
    counted = (epoch >= warm_up) & (epoch < clock.horizon)
    fade = np.exp(-decay_rate[source] * (first_seen - time) / HOUR)
    first = warm_up * clock.period
    waits = np.maximum(first_seen, first) - np.maximum(time, first)
    pair = source * (visits.arm.size + 1) + at  # of a source and the visit that finds the item
    _, group, many = np.unique(pair, return_index=True, return_counts=True)
    rank = np.arange(source.size) - np.repeat(group, many) + 1  # the k-th item not found yet
    size, span = len(trace), clock.horizon * clock.period - first
    worth = (value[source] * fade)[counted]
    return Score(
        weighted_counts(epoch[counted], worth, clock.horizon),
        weighted_counts(source, waits * (rank == 1), size) / span,
        weighted_counts(source, waits / rank, size) / span,
    )


def clairvoyant_bound(
    trace: Trace,
    budget: int,
    clock: Clock,
    decay_rate: Floats,
    value: Floats,
    *,
    warm_up: int = 0,
) -> tuple[float, float]:
    """Return a bound on the reward per epoch of every policy on a trace, and its subsidy.

    Arguments are those of `analysis.trace.replay.score`; `budget` is in visits per epoch. Items
    published in the warm-up may be found after it; visits in the warm-up do not count against the
    budget.
    """
    budget = check_whole("budget", budget, 1, len(trace))
    decay = decay_rate * clock.period / HOUR
    arms = [
        (decay[i], *_arrival_contents(trace.times_of(i), clock, decay[i], value[i], warm_up))
        for i in range(len(trace))
    ]
    arms = [arm for arm in arms if arm[1].size]
    allowed = budget * (clock.horizon - warm_up)

    def dual(subsidy: float) -> tuple[float, int]:
        total, visits = subsidy * allowed, 0
        for rate, epoch, content in arms:
            best = np.empty(epoch.size + 1)
            visits += kernels.best_visits(content, epoch, rate, subsidy, best)
            total += best[-1]
        return total, visits

    low, high = 0.0, max((float(c.max()) for _, _, c in arms), default=0.0)
    bound, visits = dual(0.0)
    if visits > allowed:
        for _ in range(30):
            middle = 0.5 * (low + high)
            value_there, visits = dual(middle)
            low, high = (middle, high) if visits > allowed else (low, middle)
            bound = min(bound, value_there)
    return bound / (clock.horizon - warm_up), low


def _arrival_contents(
    time: Ints, clock: Clock, decay: float, value: float, warm_up: int
) -> tuple[Ints, Floats]:
    """Return the first epochs after arrivals, and the content there of a source never visited."""
    published = time[(time >= clock.begin) & (time < clock.end)] - clock.begin
    first_epoch = -(-published // clock.period)
    in_horizon = first_epoch < clock.horizon
    fade = value * np.exp(-decay * (first_epoch - published / clock.period))[in_horizon]
    # Items of the warm-up can be found at its end at the earliest.
    early = np.maximum(warm_up - first_epoch[in_horizon], 0)
    epoch, group = np.unique(np.maximum(first_epoch[in_horizon], warm_up), return_inverse=True)
    fresh = np.bincount(group, fade * np.exp(-decay * early), minlength=epoch.size)
    content = np.empty(epoch.size)
    carried = 0.0
    for j in range(epoch.size):
        carried = fresh[j] + (carried * np.exp(-decay * (epoch[j] - epoch[j - 1])) if j else 0.0)
        content[j] = carried
    return epoch, content
