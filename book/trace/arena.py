"""Deployed rules on a trace, with their defaults and with settings chosen in training.

All rules see the same publications and may make the same number of visits. Settings are chosen in
the second half of the training period, by the value that they collect there; the test period is
met once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.policies import Policy, RoundRobinPolicy, WhittlePolicy
from analysis.ephemeral.sources import Sources
from analysis.trace.deployed import (
    AutoTtl,
    CommaFeed,
    EntryFrequency,
    Friendica,
    NextcloudNews,
    NutchAdaptive,
    StormCrawler,
)
from analysis.trace.experiment import Experiment, Outcome, Played, choose_memory, ratio_interval
from analysis.trace.kernels import follow_hours
from analysis.trace.policies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl
from analysis.trace.replay import Clock, Visits, find_next_visits, priorities
from analysis.trace.trace import DAY, HOUR, WEEK, Trace
from book.trace.shared import SIZES, check_weeks, load_trace
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    fold_names,
    format_interval,
    ink,
    is_narrow,
    pluralise,
    save_data,
    save_figure,
    save_table,
    save_values,
)

RULES = {
    "nutch": "Nutch",
    "mended": "Nutch, NUTCH-1564 repaired",
    "storm": "StormCrawler",
    "entry": "Miniflux, entry frequency",
    "auto": "FreshRSS with AutoTTL",
    "comma": "CommaFeed",
    "nextcloud": "Nextcloud News",
    "friendica": "Friendica",
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


def list_settings(rule: str, size: int, budget: int) -> Iterator[dict[str, float]]:
    """Yield the settings among which training chooses, the defaults first; Friendica has no others.

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
    elif rule in ("auto", "comma", "nextcloud"):
        for days in (3.0, 7.0, 30.0, 90.0):
            yield {"longest": days * DAY}


def make_rule(rule: str, size: int, period: float, settings: Mapping[str, float]) -> Any:
    """Return a rule with its settings."""
    kinds: dict[str, Callable[..., Any]] = {
        "nutch": NutchAdaptive,
        "mended": partial(NutchAdaptive, mended=True),
        "storm": StormCrawler,
        "entry": EntryFrequency,
        "auto": AutoTtl,
        "comma": CommaFeed,
        "nextcloud": NextcloudNews,
        "friendica": Friendica,
    }
    return kinds[rule](size, period, **settings)


def choose_settings(experiment: Experiment, rule: str) -> dict[str, float]:
    """Return the settings of a rule that collect most in the second half of training."""
    inner = replace(experiment.inside_training(), phases=1)
    size = len(experiment.trace)

    def earned(settings: dict[str, float]) -> float:
        make = partial(make_rule, rule, size, experiment.period, settings)
        return float(inner.untrained(make).weeks.sum())

    return max(list_settings(rule, size, experiment.budget), key=earned)


def replay_rules(experiment: Experiment, memories: list[float]) -> dict[str, Service]:
    """Replay every rule, with defaults (``-default``) and with the chosen settings.

    ``nutch-forced`` is Nutch's with a round of a round robin for its first and longest interval.
    """
    size, period = len(experiment.trace), experiment.period
    turn = size / experiment.budget * HOUR
    forced = partial(make_rule, "nutch", size, period, {"first": turn, "longest": turn})
    played = {"nutch-forced": score_visits(experiment, experiment.adapting(forced))}
    for rule in RULES:
        for kind, settings in (("default", {}), ("chosen", choose_settings(experiment, rule))):
            visits = experiment.adapting(partial(make_rule, rule, size, period, settings))
            played[f"{rule}-{kind}"] = score_visits(experiment, visits)
    for name, visits in replay_with_rates(experiment, memories):
        played[name] = score_visits(experiment, visits)
    return played


def replay_with_rates(
    experiment: Experiment, memories: list[float]
) -> Iterator[tuple[str, list[Played]]]:
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
    yield (
        "hours",
        experiment.played(lambda clock: simulate_hourly_visits(trained, hourly, budget, clock)),
    )


def hourly_rates(trace: Trace, begin: int, end: int, rate: Floats) -> Floats:
    """Rates by the hour of the day in [begin, end): items per hour, shape (N, 24).

    A source's profile over the day is its own counts and `SPREAD` items of the profile of all
    sources; its mean over the day is the source's rate.
    """
    selected = (trace.time >= begin) & (trace.time < end)
    hour = trace.time[selected] % DAY // HOUR
    counts = np.zeros((len(trace), 24))
    np.add.at(counts, (trace.source[selected], hour), 1.0)
    common = counts.sum(axis=0) / max(counts.sum(), 1.0)
    share = (counts + SPREAD * common) / (counts.sum(axis=1, keepdims=True) + SPREAD)
    return 24.0 * share * rate[:, None]


def simulate_hourly_visits(sources: Sources, hourly: Floats, budget: int, clock: Clock) -> Visits:
    """Simulate the index at the mean rates of the hours since the last visit (`follow_hours`)."""
    age = np.ones(len(sources), dtype=np.int64)
    _, row, table = priorities(WhittlePolicy(sources), clock.horizon + 2, len(sources))
    worth = sources.mean_utility / sources.decay_rate
    visits = np.full((clock.horizon, budget), -1, dtype=np.int64)
    decay = np.ascontiguousarray(sources.decay)
    follow_hours(hourly, decay, worth, row, table, clock.begin, clock.period, visits, age)
    return Visits(visits)


def score_visits(experiment: Experiment, visits: list[Played]) -> Service:
    """Score visits, one list of them a phase, by value, freshness, news and lateness."""
    by_phase = [measure_lateness(experiment.trace, *run) for run in visits]
    late = np.concatenate([hours for hours, _ in by_phase])
    half, most = np.quantile(late, [0.5, 0.9], method="inverted_cdf") if late.size else (0.0, 0.0)
    unchanged = float(np.mean([share for _, share in by_phase]))
    return Service(experiment.outcome(visits), unchanged, float(half), float(most))


def measure_lateness(
    trace: Trace, visits: Visits, clock: Clock, warm_up: int
) -> tuple[Floats, float]:
    """Hours that each item waits for a visit, and the share of visits that find nothing new.

    Visits and publications of the `warm_up` epochs are not counted; hours are ``inf`` where nobody
    came.
    """
    time, _ = trace.by_source
    exists = (time >= clock.begin) & (time < clock.end)
    time, source = time[exists] - clock.begin, trace.sources_in_turn[exists]
    # The first visit to the source of an item from its publication on.
    at = find_next_visits(visits, source, time, clock)
    visited = np.append(visits.arm, -1)[at] == source
    second = np.where(visited, np.append(visits.epoch, 0)[at] * float(clock.period), np.inf)
    late = time >= warm_up * clock.period
    with_news = np.count_nonzero(visits.epoch[np.unique(at[visited])] >= warm_up)
    made_ = np.count_nonzero(visits.epoch >= warm_up)
    return (second - time)[late] / HOUR, 1.0 - with_news / made_ if made_ else 0.0


# Values and tables


LABELS = (
    {
        f"{rule}-{kind}": f"{label}, {settings}"
        for rule, label in RULES.items()
        for kind, settings in (("default", "defaults"), ("chosen", "chosen settings"))
    }
    | {"nutch-forced": "Nutch, longest interval of a round"}
    | WITH_RATES
)
TIE = 0.02
"""Relative difference up to which two rewards count as a tie."""


def check_trace(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse a trace that the weeks and budgets do not fit."""
    check_weeks(load_trace(parameters["kind"], parameters["trace"]), parameters)


def compare_budgets(
    played: Mapping[str, Mapping[str, Service]],
    every: Mapping[str, Experiment],
    weights: Floats,
) -> pd.DataFrame:
    """Save the scores of each policy at each budget as data; return one row a budget and policy.

    Values are in units of the index with trained rates, with their block-bootstrap 95% intervals.
    """
    rows = []
    for size, services in played.items():
        base, budget = services["index"].outcome.weeks, every[size].budget
        for name, service in services.items():
            outcome = service.outcome
            value = ratio_interval(outcome.weeks, base, weights)
            facts = (1 - outcome.stale, outcome.used * budget, service.unchanged)
            late = (service.late_half, service.late_most)
            promised = 1 / (1 + every[size].timetable.margin) if name == "table" else np.nan
            rows.append((size, budget, name, *value, *facts, *late, promised))
        bound = float(every[size].clairvoyant().mean()) / (base.sum() / (base.size * WEEK / HOUR))
        rows.append((size, budget, "clairvoyant", bound, *[np.nan] * 8))
    columns = ["size", "visits_an_hour", "policy", "value", "low", "high", "fresh", "visits"]
    table = pd.DataFrame(
        rows, columns=[*columns, "unchanged", "late_half", "late_most", "guarantee"]
    )
    save_data(
        "arena-rules",
        table,
        "One row a budget and policy: what it did in the test period, over the starting phases.",
        {
            "size": "small, middle or large budget",
            "visits_an_hour": "visits that the budget allows",
            "policy": "; ".join(f"{key}: {label}" for key, label in LABELS.items())
            + "; clairvoyant: a bound on every policy",
            "value": "value found, in units of the index with trained rates",
            "low": "lower end of its block-bootstrap 95% interval",
            "high": "upper end",
            "fresh": "share of the time in which a source has no item that was not found yet",
            "visits": "visits made an hour",
            "unchanged": "share of visits that find nothing new",
            "late_half": "hours from publication to visit, median over items",
            "late_most": "the same, 90% quantile; inf where fewer items are found",
            "guarantee": "share of what any policy earns in the long run that this one does, if "
            "arrivals are Poisson at the trained rates; empty where nothing is proved",
        },
    )
    return table


def tabulate_rules(table: pd.DataFrame, size: str) -> pd.DataFrame:
    """Format one budget for the page."""
    rows = table[(table["size"] == size) & (table["policy"] != "clairvoyant")]
    rows = rows.sort_values("value", ascending=False, kind="stable")
    columns: dict[str, list[str]] = {
        "value": [
            format_interval(*row) for row in rows[["value", "low", "high"]].to_numpy().tolist()
        ],
        "time up to date": [f"{share:.1%}" for share in rows["fresh"]],
        "visits an hour": [f"{visits:.2f}" for visits in rows["visits"]],
        "not modified": [f"{share:.0%}" for share in rows["unchanged"]],
        "late by, median (h)": [_format_hours(hours) for hours in rows["late_half"]],
        "late by, 90% (h)": [_format_hours(hours) for hours in rows["late_most"]],
        "guarantee": [f"{share:.2%}" if share == share else "none" for share in rows["guarantee"]],
    }
    return pd.DataFrame(columns, index=pd.Index([LABELS[n] for n in rows["policy"]], name="policy"))


def save_tables(table: pd.DataFrame, every: Mapping[str, Experiment]) -> None:
    """Save the values at all budgets side by side, and one table a budget."""
    values = table[table["policy"] != "clairvoyant"].set_index(["size", "policy"])
    values = values[["value", "low", "high"]]
    ranked = (
        values["value"].groupby("policy").mean().sort_values(ascending=False, kind="stable").index
    )
    columns = {
        f"{experiment.budget} an hour": [
            format_interval(*values.loc[(size, name)].tolist()) for name in ranked
        ]
        for size, experiment in every.items()
    }
    save_table(
        "arena-by-budget",
        pd.DataFrame(columns, pd.Index([LABELS[name] for name in ranked], name="policy")),
        "Value in units of the index with trained rates, with block-bootstrap 95% intervals, by "
        "visits an hour; sorted by the mean over the budgets.",
        instances="arena-rules",
    )
    for size, experiment in every.items():
        save_table(
            f"arena-{size}",
            tabulate_rules(table, size),
            f"Policies at {pluralise(experiment.budget, 'visit')} an hour, by value in units of "
            "the index "
            "with trained rates (block-bootstrap 95% interval). Late: from publication to visit.",
            instances="arena-rules",
        )


def _format_hours(hours: float) -> str:
    return f"{hours:.1f}" if np.isfinite(hours) else "never"


FINDINGS = {
    "index-first": "no deployed rule, tuned or not, earns what the index does at any budget",
    "settings-matter": "at the smallest budget the best rule with chosen settings earns more than "
    "half as much again as the best with defaults",
    "even-wins-large": "at the largest budget the interval of LambdaCrawl's rates, evenly spaced, "
    "lies above the index with trained rates",
    "forgetting-leads-large": "at the largest budget rates that forget earn more than "
    "LambdaCrawl's, and more than a prior",
    "hours-little": "rates by the hour change the reward by less than 2% at every budget",
    "forced-is-no-robin": "Nutch with a round for its longest interval earns less than half of "
    "round robin",
    "mending-helps": "with chosen settings Nutch earns more when repaired, at every budget",
}
TRACES = {
    "both": "uploads and commits",
    "upload": "uploads",
    "commit": "commits",
    "release": "releases",
    "": "your trace",
}


def best_rules(values: Mapping[str, float]) -> dict[str, float]:
    """Return what the best deployed rule earns at each size, with defaults and any settings."""
    best = {}
    for size in SIZES:
        defaults = max(values[f"{rule}-default-{size}"] for rule in RULES)
        best[f"default-{size}"] = defaults
        best[size] = max(defaults, *(values[f"{rule}-chosen-{size}"] for rule in RULES))
    return best


def findings(values: Mapping[str, float]) -> dict[str, bool]:
    """Return which of `FINDINGS` hold on a trace."""
    best = best_rules(values)
    hours = np.array([values[f"hours-{size}"] for size in SIZES])
    return {
        "index-first": all(best[size] < 1.0 for size in SIZES),
        "settings-matter": best["small"] > 1.5 * best["default-small"],
        "even-wins-large": values["even-low-large"] > 1.0,
        "forgetting-leads-large": values["forgetting-large"]
        > max(values["even-large"], values["shrunk-large"]),
        "hours-little": bool(np.abs(hours - 1).max() < TIE),
        "forced-is-no-robin": all(
            values[f"nutch-forced-{size}"] < 0.5 * values[f"robin-{size}"] for size in SIZES
        ),
        "mending-helps": all(
            values[f"mended-chosen-{size}"] > values[f"nutch-chosen-{size}"] + TIE for size in SIZES
        ),
    }


def save_numbers(table: pd.DataFrame, **settings: float) -> None:
    """Save settings, and the numbers and truth values that the page's sentences depend on."""
    rows = table.set_index(["policy", "size"])
    values = list_values(table)
    quoted = [
        f"{policy}-{size}"
        for policy in ("table", "hours", "mended-chosen", "nutch-chosen", "nutch-forced")
        for size in SIZES
    ]
    quoted += ["clairvoyant-small", "even-large", "forgetting-large", "shrunk-large"]
    numbers: dict[str, float] = {name: values[name] for name in quoted}
    for policy in ("index", "even", "forgetting", "shrunk"):
        numbers[f"{policy}-fresh-large"] = rows["fresh"][policy, "large"]
    for policy in ("nutch-default", "nutch-forced"):
        made, allowed = (rows[name][policy, "middle"] for name in ("visits", "visits_an_hour"))
        numbers[f"{policy}-used-middle"] = made / allowed
    for size, best in best_rules(values).items():
        numbers[f"best-{size}"] = best
    numbers["index-gain-small"] = 1 / numbers["best-small"]
    for size in SIZES:
        numbers[f"guarantee-{size}"] = rows["guarantee"]["table", size]
    save_values("arena", settings | {"spread": SPREAD} | numbers | findings(values))


def list_values(table: pd.DataFrame) -> dict[str, float]:
    """Return the values of `compare_budgets`, as ``robin-small``, and their lower ends."""
    rows: Any = table.itertuples()
    values = {}
    for row in rows:
        values[f"{row.policy}-{row.size}"] = float(row.value)
        values[f"{row.policy}-low-{row.size}"] = float(row.low)
    return values


def compare_traces(
    names: Sequence[str],
    table: pd.DataFrame,
    other: Mapping[str, Mapping[str, Service]],
    weights: Floats,
) -> None:
    """Save which findings hold on the page's trace and on the other one, of given `TRACES`."""
    first, second = list_values(table), {}
    for size, played in other.items():
        base = played["index"].outcome.weeks
        for name, service in played.items():
            ratio, low, _ = ratio_interval(service.outcome.weeks, base, weights)
            second[f"{name}-{size}"], second[f"{name}-low-{size}"] = ratio, low
    names = [TRACES[name] for name in names]
    found = [findings(values) for values in (first, second)]
    frame = pd.DataFrame(
        [
            (text, *("holds" if each[name] else "does not hold" for each in found))
            for name, text in FINDINGS.items()
        ],
        columns=["finding", *names],
    )
    save_table(
        "arena-both-traces",
        frame.set_index("finding"),
        f"What holds on each of two traces, at the same budgets and settings: {names[0]}, which "
        f"this page plays, and {names[1]}.",
    )
    same = [name for name in FINDINGS if found[0][name] == found[1][name]]
    best = best_rules(second)
    facts: dict[str, float] = {"same": len(same), "findings": len(FINDINGS)}
    facts |= {"other-index-first": found[1]["index-first"]}
    facts |= {f"other-best-{size}": best[size] for size in SIZES}
    facts |= {f"other-forgetting-{size}": second[f"forgetting-{size}"] for size in SIZES}
    save_values("arena", facts)


# Figures


def draw_rules(table: pd.DataFrame) -> None:
    """Draw the value of every policy at the three budgets, with intervals."""
    names = list(LABELS)
    position = np.arange(len(names))[::-1]
    values = table.set_index(["size", "policy"])["value"]
    values_text = "; ".join(
        f"{LABELS[name]} " + ", ".join(f"{values[size, name]:.2f}" for size in SIZES)
        for name in names
    )
    ranked = sorted(names, key=lambda name: -values.xs(name, level="policy").mean())
    others = [name for name in names if name != "index"]
    better = [str(sum(values[size, name] > 1 for name in others)) for size in SIZES]

    def draw(figure: Figure) -> pd.DataFrame:
        figure.set_figheight(10 if is_narrow(figure) else 7)  # where names have two lines
        (axis,) = add_panels(figure)
        for size, colour, marker, shift in zip(
            SIZES, COLOURS, "os^", (0.2, 0.0, -0.2), strict=False
        ):
            rows = table[table["size"] == size].set_index("policy").loc[ranked]
            budget = int(rows["visits_an_hour"].iloc[0])
            # An interval from few weeks need not hold the value itself.
            middle, half = (rows["low"] + rows["high"]) / 2, (rows["high"] - rows["low"]) / 2
            axis.errorbar(middle, position + shift, xerr=half, fmt="none", ecolor=colour, capsize=2)
            axis.plot(
                rows["value"], position + shift, marker, color=colour, markersize=4,
                label=f"{budget} an hour",
            )  # fmt: skip
        axis.axvline(1.0, color=ink(), linewidth=1)
        axis.set_yticks(position, fold_names(figure, [LABELS[name] for name in ranked]))
        axis.set(xlabel="value / value of the index\nwith trained rates", xlim=(0, None))
        add_legend(figure)
        return table[table["policy"] != "clairvoyant"]

    save_figure(
        "arena-values",
        draw,
        "Value found on the trace in units of the index with trained rates, at three budgets, with "
        "block-bootstrap 95% intervals; sorted by the mean over the budgets. Of "
        f"{len(others)} other policies {', '.join(better[:-1])} and {better[-1]} earn more at the "
        "three budgets.",
        f"Three marks a policy, one a budget. {values_text}.",
        instances="arena-rules",
        height=7.0,
    )
