"""Deployed rules on a trace, with their defaults and with settings chosen in training.

All rules see the same publications and may make the same number of visits. Settings are chosen in
the second half of the training period, by the value that they collect there; the test period is
met once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.ephemeral.policies import Policy, RoundRobinPolicy, WhittlePolicy, top
from analysis.ephemeral.sources import Sources
from analysis.trace.deployed import AutoTtl, EntryFrequency, NutchAdaptive, StormCrawler
from analysis.trace.experiment import Experiment, Outcome, Played, choose_memory
from analysis.trace.frequencies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl
from analysis.trace.replay import Clock, Visits, next_visits, priorities
from analysis.trace.trace import DAY, HOUR, Trace

RULES = {
    "nutch": "Nutch",
    "mended": "Nutch, NUTCH-1564 mended",
    "storm": "StormCrawler",
    "entry": "Miniflux, entry frequency",
    "auto": "FreshRSS with AutoTTL",
}
WITH_RATES = {
    "index": "index, trained rates",
    "shrunk": "index, rates with a prior",
    "hours": "index, rates by the hour",
    "forgetting": "index, rates that forget",
    "even": "LambdaCrawl's rates, even",
    "fixed": "best fixed frequencies",
    "table": "timetable of constant gaps",
    "robin": "round robin",
}
SPREAD = 24.0
"""Items of the profile of all sources that a source's own profile of the day is mixed with."""


@dataclass(frozen=True)
class Service:
    """What a policy did in the test period."""

    outcome: Outcome  # value, freshness and budget spent
    unchanged: float  # share of visits that found nothing new
    # Hours from publication to visit: median and 90% quantile over the items of the test period,
    # ``inf`` where so many were not found in it.
    late_half: float
    late_most: float


def grid(rule: str, size: int, budget: int) -> Iterator[dict[str, float]]:
    """Yield the settings among which training chooses, the defaults first.

    Times are in units of the round of a round robin, N / M hours, where the default is not tried.

    `rule`: one of `RULES`.
    """
    turn = size / budget * HOUR
    yield {}
    if rule in ("nutch", "mended"):
        for longest in (1.5 * turn, 3 * turn, 10 * turn):
            yield {"first": turn, "longest": longest}
    elif rule == "storm":
        for shortest, longest in product(
            (0.03 * turn, 0.1 * turn, 0.3 * turn), (2 * turn, 10 * turn)
        ):
            yield {"first": turn, "shortest": shortest, "longest": longest}
    elif rule == "entry":
        for factor, days in product((0.25, 1.0, 4.0, 16.0, 64.0), (7.0, 30.0)):
            yield {"factor": factor, "longest": days * DAY}
    else:
        for days in (3.0, 7.0, 30.0, 90.0):
            yield {"longest": days * DAY}


def made(rule: str, size: int, period: float, settings: Mapping[str, float]) -> Any:
    """Return a rule with its settings."""
    kinds: dict[str, Callable[..., Any]] = {
        "nutch": NutchAdaptive,
        "mended": partial(NutchAdaptive, mended=True),
        "storm": StormCrawler,
        "entry": EntryFrequency,
        "auto": AutoTtl,
    }
    return kinds[rule](size, period, **settings)


def chosen(experiment: Experiment, rule: str) -> dict[str, float]:
    """Return the settings of a rule that collect most in the second half of training."""
    inner = replace(experiment.inside_training(), phases=1)
    size = len(experiment.trace)

    def earned(settings: dict[str, float]) -> float:
        make = partial(made, rule, size, experiment.period, settings)
        return float(inner.untrained(make).weeks.sum())

    return max(grid(rule, size, experiment.budget), key=earned)


def arena(experiment: Experiment, memories: list[float]) -> dict[str, Service]:
    """Replay every rule, with defaults (``-default``) and with the chosen settings.

    ``nutch-forced`` is Nutch's with a round of a round robin for its first and longest interval.
    """
    size, period = len(experiment.trace), experiment.period
    turn = size / experiment.budget * HOUR
    forced = partial(made, "nutch", size, period, {"first": turn, "longest": turn})
    played = {"nutch-forced": served(experiment, experiment.adapting(forced))}
    for rule in RULES:
        for kind, settings in (("default", {}), ("chosen", chosen(experiment, rule))):
            visits = experiment.adapting(partial(made, rule, size, period, settings))
            played[f"{rule}-{kind}"] = served(experiment, visits)
    for name, visits in with_rates(experiment, memories):
        played[name] = served(experiment, visits)
    return played


def with_rates(experiment: Experiment, memories: list[float]) -> Iterator[tuple[str, list[Played]]]:
    """Yield the visits of the policies that are given the rates of the training period."""
    trained = experiment.sources(experiment.trained)
    shrunk = experiment.sources(experiment.shrunk)
    budget = experiment.budget
    by_age: dict[str, Policy] = {
        "index": WhittlePolicy(trained),
        "shrunk": WhittlePolicy(shrunk),
        "even": FrequencyPolicy(lambdacrawl(shrunk, budget).frequency),
        "fixed": best_fixed_frequencies(trained, budget),
        "robin": RoundRobinPolicy(),
        "table": experiment.timetable,
    }
    for name, policy in by_age.items():
        yield name, experiment.played(experiment.visits(policy))
    memory, _ = choose_memory(experiment, memories)
    yield "forgetting", experiment.forgetful(memory)
    hourly = hourly_rates(experiment.trace, experiment.begin, experiment.split, experiment.trained)
    yield "hours", experiment.played(lambda clock: visits_by_hour(trained, hourly, budget, clock))


def hourly_rates(trace: Trace, begin: int, end: int, rate: Floats) -> Floats:
    """Rates by the hour of the day in [begin, end): items per hour, shape (N, 24).

    A source's profile over the day is its own counts and `SPREAD` items of the profile of all
    sources; its mean over the day is the source's rate.
    """
    inside = (trace.time >= begin) & (trace.time < end)
    hour = trace.time[inside] % DAY // HOUR
    counts = np.zeros((len(trace), 24))
    np.add.at(counts, (trace.source[inside], hour), 1.0)
    common = counts.sum(axis=0) / max(counts.sum(), 1.0)
    share = (counts + SPREAD * common) / (counts.sum(axis=1, keepdims=True) + SPREAD)
    return 24.0 * share * rate[:, None]


def visits_by_hour(sources: Sources, hourly: Floats, budget: int, clock: Clock) -> Visits:
    """Visits of the index at the rates that stand for the hours since the last visit.

    The index of a source is linear in its rate. In place of a constant rate stands the one that
    would bring the content expected since the last visit, hour by hour, faded.

    `clock`: when the visits take place.
    """
    size = len(sources)
    age = np.ones(size, dtype=np.int64)
    alpha, added = sources.alpha, -np.expm1(-sources.decay) / sources.decay
    content = hourly[:, 0] * added
    _, row, table = priorities(WhittlePolicy(sources), clock.horizon + 2, size)
    worth = sources.mean_utility / sources.decay_rate
    visits = np.empty((clock.horizon, budget), dtype=np.int64)
    for epoch in range(clock.horizon):
        rate = content * sources.decay / -np.expm1(-sources.decay * age)
        visits[epoch] = top(rate * worth * table[row, age], budget)
        age += 1
        content *= alpha
        age[visits[epoch]], content[visits[epoch]] = 1, 0.0
        content += hourly[:, (clock.begin + epoch * clock.period) % DAY // HOUR] * added
    return Visits(visits)


def served(experiment: Experiment, visits: list[Played]) -> Service:
    """Score visits, one list of them a phase, by value, freshness, news and lateness."""
    each = [lateness(experiment.trace, *one) for one in visits]
    late = np.concatenate([hours for hours, _ in each])
    half, most = np.quantile(late, [0.5, 0.9], method="inverted_cdf") if late.size else (0.0, 0.0)
    unchanged = float(np.mean([share for _, share in each]))
    return Service(experiment.outcome(visits), unchanged, float(half), float(most))


def lateness(trace: Trace, visits: Visits, clock: Clock, warm_up: int) -> tuple[Floats, float]:
    """Hours that items wait for a visit, and the share of visits that find nothing new.

    `clock`: when; `warm_up`: epochs at the beginning, whose visits and publications are not
    counted. `hours`: one number an item published after the warm-up, ``inf`` where nobody came;
    `unchanged`: 0 where there are no visits.
    """
    time, _ = trace.by_source
    exists = (time >= clock.begin) & (time < clock.end)
    time, source = time[exists] - clock.begin, trace.sources_in_turn[exists]
    # The first visit to the source of an item from its publication on.
    at = next_visits(visits, source, time, clock)
    found = np.append(visits.arm, -1)[at] == source
    second = np.where(found, np.append(visits.epoch, 0)[at] * float(clock.period), np.inf)
    late = time >= warm_up * clock.period
    with_news = np.count_nonzero(visits.epoch[np.unique(at[found])] >= warm_up)
    made_ = np.count_nonzero(visits.epoch >= warm_up)
    return (second - time)[late] / HOUR, 1.0 - with_news / made_ if made_ else 0.0
