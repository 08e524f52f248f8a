"""Comparison of policies on a trace: training period, test period, assumptions, starting phases.

Everything that is fitted or chosen comes from [begin, split); rewards count in [split, end). The
same visits are replayed from several starting phases, spread over a day and over an epoch, because
the phase changes a ratio by one or two per cent. Rewards are kept by week, for the bootstrap. First
come the arrival rates from a training period, and the intervals of a ratio.

*Arrival rates from a training period, with and without a prior.* The plain estimate of a source's
rate is its number of items over the hours watched. It is biased upwards for the sources that look
best (the winner's curse), and is 0 for a source without an item. With a gamma prior of shape a and
rate b the numbers of items are negative binomial, whose likelihood gives a and b, and the estimate
is (n + a) / (hours + b).

*Confidence intervals for time series: the moving-block bootstrap.* The weeks of one trace are not
independent. Blocks of consecutive weeks are drawn with replacement, the same blocks for every
policy and starting phase, so that common fluctuations cancel in a ratio. Reference: Künsch, The
jackknife and the bootstrap for general stationary observations (1989).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import (
    LARGEST,
    Rng,
    check_array,
    check_integer,
    check_kind,
    check_number,
    check_rng,
    check_whole,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import Policy, named_policy
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.table import Timetable, timetable
from analysis.trace.deployed import DueTimes
from analysis.trace.policies import ForgettingIndex, known_from
from analysis.trace.replay import (
    Clock,
    Visits,
    clairvoyant_bound,
    score,
    visits_at_random,
    visits_by_age,
    visits_of_learner,
    visits_with_content,
)
from analysis.trace.trace import DAY, HOUR, WEEK, Trace, weighted_counts

# Arrival rates from a training period, with and without a prior


def trained_rates(trace: Trace, begin: int, end: int) -> Floats:
    """Return the items per hour of each source in [begin, end), in seconds; shape (N,)."""
    end = check_integer("end", end, begin + 1)
    return trace.counts(begin, end) / ((end - begin) / HOUR)


def gamma_prior(counts: Ints, hours: float) -> tuple[float, float]:
    """Return shape and rate (in hours) of the gamma law of the rates, by maximum likelihood.

    `counts`, shape (N,), has the items of at least two sources in `hours`. ValueError if no source
    has an item, RuntimeError if the search finds no maximum of the likelihood.
    """
    hours = check_number("hours", hours, 0, low_open=True)
    if counts.sum() == 0:
        raise ValueError("counts must not all be 0: there is nothing to fit")
    mean = counts.mean()

    def minus_log_likelihood(log_parameters: Floats) -> float:
        a, b = np.exp(log_parameters)
        share = hours / (hours + b)
        terms = gammaln(counts + a) - gammaln(a) + a * np.log1p(-share) + counts * np.log(share)
        return -float(terms.sum())

    begin = np.log([1.0, hours / mean])
    fit = minimize(
        minus_log_likelihood, begin, method="Nelder-Mead",
        bounds=[(-12, 12), (np.log(hours) - 20, np.log(hours) + 20)],
        options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 2000},
    )  # fmt: skip
    if not fit.success:
        raise RuntimeError(f"the gamma prior did not converge: {fit.message}")
    a, b = np.exp(fit.x)
    return float(a), float(b)


def shrunk_rates(counts: Ints, hours: float, prior: tuple[float, float]) -> Floats:
    """Return the posterior mean of each rate, items per hour; shape (N,)."""
    return np.asarray((counts + prior[0]) / (hours + prior[1]), dtype=np.float64)


# Confidence intervals for time series: the moving-block bootstrap


def block_weights(weeks: int, block: int, draws: int, rng: Rng) -> Floats:
    """Draw bootstrap samples of blocks of weeks; return how often each week occurs in each.

    The result has shape (draws, weeks), and each of its rows sums to `weeks`.
    """
    rng = check_rng(rng)
    weeks = check_integer("weeks", weeks, 1)
    block = check_integer("block", block, 1, weeks)
    draws = check_integer("draws", draws, 1)
    count = -(-weeks // block)
    first = rng.integers(0, weeks - block + 1, (draws, count))
    chosen = (first[:, :, None] + np.arange(block)).reshape(draws, -1)[:, :weeks]
    counts = np.zeros((draws, weeks))
    np.add.at(counts, (np.arange(draws)[:, None], chosen), 1.0)
    return counts


def ratio_interval(
    numerator: Floats, denominator: Floats, weights: Floats, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the ratio of two totals, with the limits of its percentile interval.

    Numerator and denominator have a value a week, `weights` are those of `block_weights`, and
    `level` is the coverage.
    """
    samples = (weights @ numerator) / (weights @ denominator)
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(numerator.sum() / denominator.sum()), float(low), float(high)


#: Visits, their epochs, and how many of these are warm-up.
Played = tuple[Visits, Clock, int]


@brief
@read_only_arrays
@dataclass(frozen=True)
class Outcome:
    """Results of one policy in the test period.

    Attributes
    ----------
    weekly : ndarray, shape (phases, weeks)
        Value collected in each week.
    stale, harmonic : float
        Averages over sources and phases: share of the time in which a source had an item that was
        not found yet, and mean of H(n), n the items that were not found yet.
    used : float
        Share of the budget that was spent.
    """

    weekly: Floats
    stale: float
    harmonic: float
    used: float

    @property
    def weeks(self) -> Floats:
        """Value collected in each week, averaged over the phases; shape (weeks,)."""
        return self.weekly.mean(axis=0)


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Experiment:
    """A trace with its training and test period, and the assumptions of a comparison.

    Parameters
    ----------
    trace : Trace
        N sources.
    begin, split, end : int
        Seconds; training is [begin, split), the test [split, end) in whole weeks. They lie within
        the record, whose last day ends at ``trace.end``; `begin` may be a week before it.
    half_life : float or array_like, shape (N,)
        Hours in which an item loses half of its value. An assumption.
    budget : int or whole float
        Visits per epoch.
    value : array_like, shape (N,)
        Value of an item of each source when it is published. An assumption; 1 by default.
    period : int
        Seconds an epoch; a week must be a whole number of them.
    phases : int
        Number of starting phases.
    warm_up : int
        Weeks before the split at which policies with given rates begin to visit; at `begin` where
        training is shorter.

    Examples
    --------
    >>> from analysis.trace import publications
    >>> week = 7 * 24 * 3600
    >>> trial = Experiment(publications(), 0, 52 * week, 60 * week, half_life=24.0, budget=4)
    >>> trial.phases
    8
    """

    trace: Trace
    begin: int
    split: int
    end: int
    half_life: Floats | float
    budget: int
    value: Floats | float = 1.0
    period: int = HOUR
    phases: int = 8
    warm_up: int = 4

    def __post_init__(self) -> None:
        check_kind("trace", self.trace, Trace)
        size = len(self.trace)
        half_life = check_array("half_life", self.half_life, 0, low_open=True)
        value = check_array("value", self.value, 0)
        for name, checked in {"half_life": half_life, "value": value}.items():
            if checked.shape not in ((), (1,), (size,)):
                raise ValueError(f"{name} must be one number or {size}, got shape {checked.shape}")
        set_fields(
            self,
            half_life=np.broadcast_to(half_life, size),
            value=np.broadcast_to(value, size),
            budget=check_whole("budget", self.budget, 1, size),
            phases=check_integer("phases", self.phases, 1),
            period=check_integer("period", self.period, 1),
            warm_up=check_integer("warm_up", self.warm_up, 0),
            begin=check_integer("begin", self.begin, -LARGEST),
            split=check_integer("split", self.split, -LARGEST),
            end=check_integer("end", self.end, -LARGEST),
        )
        if WEEK % self.period:
            raise ValueError(f"period must divide a week of {WEEK} seconds, got {self.period}")
        if not self.begin < self.split < self.end or (self.end - self.split) % WEEK:
            raise ValueError(
                "begin, split and end must be in order, and the test period whole weeks; "
                f"got {self.begin}, {self.split}, {self.end}"
            )
        # Beyond the record nothing is known; to take that for silence would bias every number.
        if self.begin < self.trace.begin - WEEK:
            raise ValueError(
                f"begin must be at most a week before the record, whose first day begins at "
                f"{self.trace.begin}, got {self.begin}"
            )
        if self.end > self.trace.end:
            raise ValueError(
                f"end must lie within the record, whose last day ends at {self.trace.end}, "
                f"got {self.end}"
            )

    @cached_property
    def decay_rate(self) -> Floats:
        """Decay rates mu_i per hour; shape (N,)."""
        return np.log(2.0) / np.asarray(self.half_life)

    @cached_property
    def trained(self) -> Floats:
        """Items per hour in the training period; shape (N,)."""
        return trained_rates(self.trace, self.begin, self.split)

    @cached_property
    def tested(self) -> Floats:
        """Items per hour in the test period, which no policy can know; shape (N,)."""
        return trained_rates(self.trace, self.split, self.end)

    @cached_property
    def timetable(self) -> Timetable:
        """The timetable of constant gaps with the best certificate, at the trained rates."""
        return timetable(self.sources(self.trained), self.budget)

    @cached_property
    def prior(self) -> tuple[float, float]:
        """Gamma prior of the rates, fitted to the training period."""
        counts = self.trace.counts(self.begin, self.split)
        return gamma_prior(counts, (self.split - self.begin) / HOUR)

    @cached_property
    def shrunk(self) -> Floats:
        """Posterior means of the rates, items per hour; shape (N,)."""
        counts = self.trace.counts(self.begin, self.split)
        return shrunk_rates(counts, (self.split - self.begin) / HOUR, self.prior)

    def sources(self, rate: Floats) -> Sources:
        """Return the sources at some arrival rates per hour, with one epoch as the period."""
        return Sources(
            rate,
            np.asarray(self.value),
            self.decay_rate,
            period=self.period / HOUR,
            names=self.trace.names,
        )

    def clock(self, phase: int, first: int | None = None) -> tuple[Clock, int]:
        """Return the epochs of a phase from a second on, and how many of them are warm-up.

        By default they begin `warm_up` weeks before the split.
        """
        phase = check_integer("phase", phase, 0, self.phases - 1)
        first = max(self.split - self.warm_up * WEEK, self.begin) if first is None else first
        warm_up_epochs = -(-(self.split - first) // self.period)
        shift = phase * (DAY + self.period) // self.phases
        clock = Clock(
            self.split - warm_up_epochs * self.period + shift,
            warm_up_epochs + (self.end - self.split) // self.period,
            self.period,
        )
        return clock, warm_up_epochs

    def visits(self, policy: Policy | str, rng: Rng = None) -> Visits:
        """Return the visits of a policy that depends on ages alone; all sources begin at age 1.

        A name is that of a built-in policy, at the trained rates.
        """
        check_kind("policy", policy, str, Policy)
        if isinstance(policy, str):
            policy = named_policy(policy, self.sources(self.trained))
        ones = np.ones(len(self.trace), dtype=np.int64)
        return visits_by_age(policy, self.budget, self.clock(0)[0].horizon, ones, rng)

    def replayed(self, visits: Visits) -> Outcome:
        """Replay the same visits from every phase."""
        return self.outcome(self.played(visits))

    def by_age(self, policy: Policy | str, rng: Rng = None) -> Outcome:
        """Replay a policy that depends on ages alone, given as an object or by its name."""
        return self.replayed(self.visits(policy, rng))

    def at_random(self, policy: RandomPolicy, rng: Rng) -> Outcome:
        """Replay a randomised policy."""
        check_kind("policy", policy, RandomPolicy)
        if policy.frequency.size != len(self.trace):
            size = policy.frequency.size
            raise ValueError(
                f"policy must be one for {len(self.trace)} sources, got one for {size}"
            )
        horizon = self.clock(0)[0].horizon
        return self.replayed(visits_at_random(policy, self.budget, horizon, rng))

    def forgetting(self, memory: float) -> Outcome:
        """Replay the index with fading estimates and the gamma prior; `memory` in hours."""
        return self.outcome(self.forgetful(memory))

    def forgetful(self, memory: float) -> list[Played]:
        """Return the visits of the index with fading estimates, on the epochs of each phase."""
        sources, age = self.sources(self.trained), np.ones(len(self.trace), dtype=np.int64)

        def visits(clock: Clock) -> Visits:
            counts = known_from(self.trace, self.begin, clock.begin, memory, age)
            policy = ForgettingIndex(sources, counts, memory, self.prior, clock.begin)
            return visits_of_learner(self.trace, policy, self.budget, clock)

        return self.played(visits)

    def untrained(self, make: Callable[[], DueTimes]) -> Outcome:
        """Replay a policy that starts at `begin` without rates and adapts to what it finds."""
        return self.outcome(self.adapting(make))

    def adapting(self, make: Callable[[], DueTimes]) -> list[Played]:
        """Return the visits of such a policy, on the epochs of each phase."""
        return self.played(
            lambda clock: visits_of_learner(self.trace, make(), self.budget, clock), self.begin
        )

    def observing(self, rate: Floats) -> Outcome:
        """Replay the index policy that observes every content; positive rates per hour."""
        sources = self.sources(check_array("rate", rate, 0, low_open=True))
        played = self.played(
            lambda clock: visits_with_content(self.trace, sources, self.budget, clock)
        )
        return self.outcome(played)

    def content(self, clock: Clock) -> Floats:
        """Return the content that each epoch adds, as `analysis.ephemeral.Environment` takes it.

        Column t holds what is published after epoch t and up to epoch t + 1, at its value then;
        shape (N, horizon).
        """
        low, high = np.searchsorted(self.trace.time, [clock.begin, clock.end], side="right")
        time, source = self.trace.time[low:high] - clock.begin, self.trace.source[low:high]
        column = -(-time // self.period) - 1
        fade = np.exp(-self.decay_rate[source] * ((column + 1) * self.period - time) / HOUR)
        shape = len(self.trace), clock.horizon
        cell, worth = source * clock.horizon + column, np.asarray(self.value)[source] * fade
        return weighted_counts(cell, worth, shape[0] * shape[1]).reshape(shape)

    def clairvoyant(self) -> Floats:
        """Return the clairvoyant bound on the reward per epoch, for each phase; shape (phases,)."""
        bounds = []
        for phase in range(self.phases):
            clock, warm_up_epochs = self.clock(phase)
            facts = (self.trace, self.budget, clock, self.decay_rate, np.asarray(self.value))
            bounds.append(clairvoyant_bound(*facts, warm_up=warm_up_epochs)[0])
        return np.array(bounds)

    def inside_training(self) -> Experiment:
        """Return an experiment within the training period, by which settings are chosen."""
        half = (self.split - self.begin) // 2
        weeks = half // WEEK
        return replace(
            self, split=self.split - weeks * WEEK, end=self.split, phases=min(self.phases, 2)
        )

    def played(
        self, visits: Visits | Callable[[Clock], Visits], first: int | None = None
    ) -> list[Played]:
        """Return visits, the same or by clock, on the epochs of each phase; `first` as in `clock`.

        Each comes with its clock, and with the number of epochs that are warm-up.
        """
        clocks = [self.clock(phase, first) for phase in range(self.phases)]
        return [
            (visits if isinstance(visits, Visits) else visits(clock), clock, warm_up_epochs)
            for clock, warm_up_epochs in clocks
        ]

    def outcome(self, played: Sequence[Played]) -> Outcome:
        """Return the results of visits, one list of them a phase, in the test period."""
        weekly, averages = [], []
        for visits, clock, warm_up_epochs in played:
            check_kind("visits", visits, Visits)
            if visits.horizon != clock.horizon or visits.budget > self.budget:
                raise ValueError(
                    f"visits must be of {clock.horizon} epochs and {self.budget} an epoch, "
                    f"got {visits}"
                )
            if visits.arm.size and visits.arm[-1] >= len(self.trace):
                size = len(self.trace)
                raise ValueError(f"visits must be of {size} sources, got source {visits.arm[-1]}")
            value = np.asarray(self.value)
            scored = score(
                self.trace, visits, clock, self.decay_rate, value, warm_up=warm_up_epochs
            )
            weekly.append(
                scored.reward[warm_up_epochs:].reshape(-1, WEEK // self.period).sum(axis=1)
            )
            averages.append(
                (scored.stale.mean(), scored.harmonic.mean(), visits.used(warm_up_epochs))
            )
        return Outcome(np.array(weekly), *(float(np.mean(a)) for a in zip(*averages, strict=True)))


def choose_memory(experiment: Experiment, memories: Sequence[float]) -> tuple[float, Floats]:
    """Choose the memory of the fading estimates, within the training period.

    Parameters
    ----------
    experiment : Experiment
        Its training period is split in two.
    memories : sequence of float
        Candidates, in hours.

    Returns
    -------
    memory : float
        The one that earned most in the second half, from rates of the first.
    earned : ndarray, shape (len(memories),)
        What each earned there, in units of the index with fixed rates.

    Raises
    ------
    ValueError
        If there are no memories, one is not positive, or nothing can be earned there.

    Examples
    --------
    >>> from analysis.trace import Experiment, choose_memory, publications
    >>> week = 7 * 24 * 3600
    >>> trial = Experiment(publications("upload"), 0, 8 * week, 12 * week, half_life=24.0, budget=1)
    >>> memory, earned = choose_memory(trial, [200.0, 2000.0])
    >>> earned.shape
    (2,)
    """
    check_kind("experiment", experiment, Experiment)
    hours = check_array("memories", memories, 0, low_open=True, finite=False)
    if hours.ndim != 1 or hours.size == 0:
        raise ValueError(f"memories must be at least one number, got shape {hours.shape}")
    inner = experiment.inside_training()
    fixed = inner.forgetting(np.inf).weeks.sum()
    if fixed == 0:
        raise ValueError("experiment must have items in the second half of its training period")
    earned = np.array([inner.forgetting(m).weeks.sum() / fixed for m in hours])
    return float(hours[int(np.argmax(earned))]), earned
