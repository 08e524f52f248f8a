"""What costs and what does not: the second half of the page on real publications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ephemeral.policies import GreedyPolicy, Policy, RoundRobinPolicy, WhittlePolicy
from analysis.report import counted, save_value, within
from analysis.trace.bootstrap import ratio_interval
from analysis.trace.deployed import FrequencyPolicy, best_fixed_frequencies, lambdacrawl
from analysis.trace.experiment import Experiment
from analysis.trace.rates import trained_rates
from analysis.trace.replay import expected_reward
from analysis.trace.studies.publications import KINDS, LABELS, seeing
from analysis.trace.trace import HOUR, WEEK, Trace, publications

Floats = NDArray[np.float64]


def campbell(every: Mapping[str, Experiment]) -> pd.DataFrame:
    """Hold what visits collected against Campbell's formula at the rates of the test period."""
    rows = {}
    for size, experiment in every.items():
        trained = experiment.sources(experiment.trained)
        policies: dict[str, Policy] = {
            "index": WhittlePolicy(trained),
            "fixed": best_fixed_frequencies(trained, experiment.budget),
            "greedy": GreedyPolicy(trained),
            "robin": RoundRobinPolicy(),
        }
        truth, before = experiment.sources(experiment.tested), experiment.clock(0)[1]
        column = {}
        for key, policy in policies.items():
            visits = experiment.visits(policy)
            hours = (experiment.end - experiment.split) / experiment.period
            collected = experiment.replayed(visits).weeks.sum() / hours
            column[LABELS[key]] = collected / expected_reward(visits, truth, warm_up=before)
            save_value(f"publications-campbell-{key}-{size}", column[LABELS[key]])
        rows[f"{counted(experiment.budget, 'visit')} an hour"] = column
    table = pd.DataFrame(rows)
    save_value("publications-campbell-worst", float(np.abs(table.to_numpy() - 1).max()))
    return table


def kinds_apart(every: Mapping[str, Experiment], weights: Floats) -> pd.DataFrame:
    """Compare a few policies on each kind alone, for the cost of stale rates by budget."""
    rows = {}
    for kind, label in KINDS.items():
        trace = publications(kind)
        for size, experiment in every.items():
            budget = min(experiment.budget, len(trace))
            split = trace.begin + experiment.split - experiment.begin
            end = split + experiment.end - experiment.split
            alone = replace(
                experiment, trace=trace, begin=trace.begin, split=split, end=end, budget=budget,
                half_life=np.asarray(experiment.half_life)[:1], value=1.0,
            )  # fmt: skip
            trained = alone.sources(alone.trained)
            base = alone.by_age(WhittlePolicy(trained)).weeks
            others = {
                "fixed": alone.by_age(best_fixed_frequencies(trained, budget)),
                "robin": alone.by_age(RoundRobinPolicy()),
                "oracle": alone.by_age(WhittlePolicy(alone.sources(alone.tested))),
            }
            column = {}
            for key, outcome in others.items():
                ratio, low, high = ratio_interval(outcome.weeks, base, weights)
                save_value(f"publications-{kind}-{key}-{size}", ratio)
                column[LABELS[key]] = within(ratio, low, high)
            rows[label, f"{budget} an hour"] = column
    return pd.DataFrame(rows).T


def what_costs(experiment: Experiment, top: int) -> pd.DataFrame:
    """Tell what trained rates miss: the winner's curse, sources born later, and rates grown old."""
    trace, begin, split = experiment.trace, experiment.begin, experiment.split
    trained, tested = experiment.trained, experiment.tested
    uploads = np.flatnonzero([name.startswith("upload/") for name in trace.names])
    order = uploads[np.argsort(-trained[uploads], kind="stable")]
    best, rest = order[:top], order[top:]
    counts = trace.counts(split, experiment.end)
    unseen = trained == 0
    facts = {
        "curse": tested[best].sum() / trained[best].sum(),
        "rest": tested[rest].sum() / trained[rest].sum(),
        "unseen-share": counts[unseen].sum() / counts.sum(),
    }
    for key, fact in facts.items():
        save_value(f"publications-{key}", fact)
    save_value("publications-unseen", int((unseen & (counts > 0)).sum()))
    window = min(52, (split - begin) // (2 * WEEK)) * WEEK
    lags = [weeks for weeks in (0, 13, 26, 39, 52) if split - window - weeks * WEEK >= begin]
    earned = {}
    for lag in lags:
        rate = trained_rates(trace, split - window - lag * WEEK, split - lag * WEEK)
        earned[lag] = experiment.by_age(WhittlePolicy(experiment.sources(rate))).weeks.sum()
    table = pd.Series(earned) / earned[0]
    save_value("publications-lag", float(table.iloc[-1]))
    save_value("publications-lag-weeks", lags[-1])
    save_value("publications-window-weeks", window // WEEK)
    return table.rename("reward").rename_axis("weeks since these rates").to_frame()


def half_life_rules(trace: Trace, begin: int, end: int, seed: int) -> dict[str, Floats]:
    """Assume half-lives, in hours, by five rules; those that differ come in steps of sqrt(2)."""
    size = len(trace)
    gap = (end - begin) / HOUR / np.maximum(trace.counts(begin, end), 0.5)
    rng = np.random.default_rng([seed, 4])

    def steps(hours: Floats) -> Floats:
        return 2.0 ** (np.round(2.0 * np.log2(hours)) / 2.0)

    return {
        "6 hours": np.full(size, 6.0),
        "a day": np.full(size, 24.0),
        "a week": np.full(size, 168.0),
        "half the mean gap": steps(np.clip(0.5 * gap, 6.0, 336.0)),
        "drawn around a day": steps(24.0 * np.exp(rng.normal(0.0, 1.0, size))),
    }


def sensitivity(experiment: Experiment, memory: float, weights: Floats, seed: int) -> pd.DataFrame:
    """Repeat the main comparisons under other rules for half-lives."""
    rules = half_life_rules(experiment.trace, experiment.begin, experiment.split, seed)
    rows = {}
    for place, (rule, hours) in enumerate(rules.items()):
        other = replace(experiment, half_life=hours)
        trained = other.sources(other.trained)
        even = FrequencyPolicy(lambdacrawl(other.sources(other.shrunk), other.budget).frequency)
        base = other.by_age(WhittlePolicy(trained)).weeks
        others = {
            "fixed": other.by_age(best_fixed_frequencies(trained, other.budget)),
            "forgetting": other.forgetting(memory),
            "even": other.by_age(even),
            "robin": other.by_age(RoundRobinPolicy()),
            "oracle": other.by_age(WhittlePolicy(other.sources(other.tested))),
            "feed": seeing(other),
        }
        column = {}
        for key, outcome in others.items():
            ratio, low, high = ratio_interval(outcome.weeks, base, weights)
            save_value(f"publications-rule-{place}-{key}", ratio)
            column[LABELS[key]] = within(ratio, low, high)
        rows[rule] = column
    return pd.DataFrame(rows).T.rename_axis("half-life")


def wrong_beliefs(experiment: Experiment, factors: Sequence[float], seed: int) -> pd.DataFrame:
    """Cost of a wrong half-life, and of unknown values: reward against that of right beliefs."""
    right = experiment.by_age(WhittlePolicy(experiment.sources(experiment.trained))).weeks.sum()
    rows = {}
    for factor in factors:
        believed = replace(experiment, half_life=np.asarray(experiment.half_life) * factor)
        policy = WhittlePolicy(believed.sources(believed.trained))
        rows[f"half-life {factor:g} times the true one"] = (
            experiment.by_age(policy).weeks.sum() / right
        )
    lost = {float(f): 1 - r for f, r in zip(factors, rows.values(), strict=True)}
    save_value("publications-half-life-double", lost[2.0])
    save_value("publications-half-life-half", lost[0.5])
    save_value("publications-half-life-worst", max(lost.values()))
    rng = np.random.default_rng([seed, 5])
    values = []
    for _ in range(5):
        value = np.exp(rng.normal(-0.5, 1.0, len(experiment.trace)))
        valued = replace(experiment, value=value)
        known = valued.by_age(WhittlePolicy(valued.sources(valued.trained))).weeks.sum()
        same = valued.by_age(WhittlePolicy(experiment.sources(experiment.trained))).weeks.sum()
        values.append(same / known)
    rows["values lognormal, believed all alike"] = float(np.mean(values))
    save_value("publications-values-unknown", 1 - float(np.mean(values)))
    return pd.Series(rows, name="reward / with right beliefs").to_frame()
