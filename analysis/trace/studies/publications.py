"""Experiments, numbers and figures of the page on real publications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ephemeral.optimum.relaxed import relaxed_bound
from analysis.ephemeral.policies import GreedyPolicy, RoundRobinPolicy, WhittlePolicy
from analysis.report import save_data, save_value, within
from analysis.trace.bootstrap import ratio_interval
from analysis.trace.deployed import (
    EntryFrequency,
    FrequencyPolicy,
    NutchAdaptive,
    best_fixed_frequencies,
    lambdacrawl,
)
from analysis.trace.experiment import Experiment, Outcome, choose_memory
from analysis.trace.poisson import against_surrogates
from analysis.trace.trace import HOUR, WEEK, publications

Floats = NDArray[np.float64]

SIZES = ("small", "middle", "large")
LABELS = {
    "index": "index, trained rates",
    "shrunk": "index, rates with a prior",
    "forgetting": "index, rates that forget",
    "fixed": "best fixed frequencies",
    "greedy": "largest expected content",
    "lambdacrawl": "LambdaCrawl, drawn",
    "even": "LambdaCrawl's rates, even",
    "nutch": "Nutch adaptive",
    "entry": "entry frequency",
    "robin": "round robin",
    "oracle": "index, test-period rates",
    "feed": "index that sees contents",
}
KINDS = {"upload": "uploads", "commit": "commits"}


def data_table(names: Sequence[str]) -> pd.DataFrame:
    """Describe the parts of the trace: sources, items, period, and how unequal the sources are."""
    rows = {}
    for name in names:
        trace = publications(name)
        counts = np.sort(trace.counts(trace.begin, trace.end))[::-1]
        rows[KINDS.get(name, name)] = {
            "sources": len(trace),
            "items": trace.time.size,
            "from": trace.date(trace.begin),
            "to": trace.date(trace.end - 1),
            "median a source": int(np.median(counts)),
            "largest": int(counts[0]),
            "share of the busiest ten": f"{counts[:10].sum() / counts.sum():.0%}",
        }
        save_value(f"publications-{name}-sources", len(trace))
        save_value(f"publications-{name}-items", trace.time.size)
    return pd.DataFrame(rows).T


def poisson_tests(number: int, seed: int) -> pd.DataFrame:
    """Set both kinds beside Poisson surrogates of their own, and keep the numbers."""
    tables = {}
    for place, kind in enumerate(KINDS):
        rng = np.random.default_rng([seed, 1, place])
        table = against_surrogates(publications(kind), number, rng)
        for name, row in table.iterrows():
            key = str(name).replace(", ", "-").replace(" ", "-")
            save_value(f"publications-{kind}-{key}", row["trace"])
            save_value(f"publications-{kind}-{key}-high", row["high"])
        save_value(f"publications-{kind}-largest-p", table["p"].max())
        tables[KINDS[kind]] = table
    return pd.concat(tables, names=["kind"])


def experiments(
    training: int, test: int, half_life: float, budgets: Sequence[int], phases: int
) -> dict[str, Experiment]:
    """Set up the comparison at the three budgets, by size."""
    trace = publications("both")
    split = trace.begin + training * WEEK
    base = partial(Experiment, trace, trace.begin, split, split + test * WEEK, half_life)
    return {size: base(budget, phases=phases) for size, budget in zip(SIZES, budgets, strict=True)}


def side_by_side(experiment: Experiment, memory: float, seed: int) -> dict[str, Outcome]:
    """Replay every policy of the page at one budget."""
    trained = experiment.sources(experiment.trained)
    budget, size = experiment.budget, len(experiment.trace)
    shrunk = experiment.sources(experiment.shrunk)
    rng = np.random.default_rng([seed, 3])
    return {
        "index": experiment.by_age(WhittlePolicy(trained)),
        "shrunk": experiment.by_age(WhittlePolicy(shrunk)),
        "forgetting": experiment.forgetting(memory),
        "fixed": experiment.by_age(best_fixed_frequencies(trained, budget)),
        "greedy": experiment.by_age(GreedyPolicy(trained)),
        "lambdacrawl": experiment.at_random(lambdacrawl(shrunk, budget), rng),
        "even": experiment.by_age(FrequencyPolicy(lambdacrawl(shrunk, budget).frequency)),
        "nutch": experiment.from_nothing(lambda: NutchAdaptive(size, experiment.period)),
        "entry": experiment.from_nothing(lambda: EntryFrequency(size, experiment.period)),
        "robin": experiment.by_age(RoundRobinPolicy()),
        "oracle": experiment.by_age(WhittlePolicy(experiment.sources(experiment.tested))),
        "feed": seeing(experiment),
    }


def ratios_to_index(index: Floats, fixed: Floats, robin: Floats, drawn: Floats, weights: Floats
          ) -> pd.DataFrame:  # fmt: skip
    """Return the ratios of three weekly rewards to the index policy's, with intervals."""
    others = {"fixed": fixed, "robin": robin, "lambdacrawl": drawn}
    rows = {LABELS[key]: ratio_interval(weeks, index, weights) for key, weeks in others.items()}
    return pd.DataFrame(rows, index=["ratio", "low", "high"]).T.round(3)


def all_budgets(
    every: Mapping[str, Experiment], memory: Mapping[str, float], seed: int
) -> dict[str, dict[str, Outcome]]:
    """Replay every policy at every budget."""
    return {size: side_by_side(every[size], memory[size], seed) for size in every}


def seeing(experiment: Experiment) -> Outcome:
    """Replay the index of the content that is there, at trained rates."""
    # A source without an item in training would have no index at all.
    rate = np.maximum(experiment.trained, 0.5 * experiment.trained[experiment.trained > 0].min())
    return experiment.seeing(rate)


def memories(
    every: Mapping[str, Experiment], days: Sequence[float]
) -> tuple[dict[str, float], pd.DataFrame]:
    """Choose the memory at each budget inside the training period; hours by size, and a table."""
    chosen, columns = {}, {}
    for size, experiment in every.items():
        chosen[size], earned = choose_memory(experiment, [24.0 * d for d in days])
        columns[f"{experiment.budget} an hour"] = pd.Series(earned, index=list(days))
        save_value(f"publications-memory-{size}", chosen[size] / 24.0)
    return chosen, pd.DataFrame(columns).rename_axis("memory (days)")


def ratios(
    outcomes: Mapping[str, Mapping[str, Outcome]],
    every: Mapping[str, Experiment],
    weights: Floats,
) -> pd.DataFrame:
    """Reward of every policy in units of the index with trained rates, with block-bootstrap 95%.

    Keeps the numbers; also those of the two bounds.
    """
    rows = []
    for size, played in outcomes.items():
        base, budget = played["index"].weeks, every[size].budget
        for key, outcome in played.items():
            ratio, low, high = ratio_interval(outcome.weeks, base, weights)
            each = outcome.weekly.sum(axis=1) / played["index"].weekly.sum(axis=1)
            rows.append((size, budget, key, ratio, low, high, np.ptp(each), outcome.used))
            if key != "index":
                interval = (low, high)
                id = f"publications-{key}-{size}"
                save_value(id, ratio, interval=interval, replications=len(weights))
        hours = base.size * WEEK / HOUR
        index = base.sum() / hours
        sources = every[size].sources(every[size].tested)
        bounds = {
            "relaxed": relaxed_bound(sources, budget)[0],
            "clairvoyant": float(every[size].clairvoyant().mean()),
        }
        for key, bound in bounds.items():
            save_value(f"publications-{key}-{size}", bound / index)
        save_value(f"publications-nutch-used-{size}", played["nutch"].used)
        save_value(f"publications-feed-used-{size}", played["feed"].used)
        save_value(f"publications-budget-{size}", budget)
        save_value(f"publications-round-{size}", len(sources) / budget)  # hours between visits
        rows += [(size, budget, k, b / index, *[np.nan] * 4) for k, b in bounds.items()]
    columns = ["size", "budget", "policy", "ratio", "low", "high", "phases", "used"]
    table = pd.DataFrame(rows, columns=columns)
    found = table.set_index(["policy", "size"])["ratio"]
    save_value("publications-greedy-loss-middle", 1 - found["greedy", "middle"])
    save_value("publications-robin-gain", 1 / found["robin", "small"])
    for size in outcomes:
        save_value(f"publications-stale-{size}", 1 - 1 / found["oracle", size])
    save_value("publications-forgetting-gain", found["forgetting"].min() - 1)
    save_value("publications-forgetting-gain-large", found["forgetting"].max() - 1)
    return table


def save_weeks(
    outcomes: Mapping[str, Mapping[str, Outcome]], every: Mapping[str, Experiment]
) -> None:
    """Publish what each policy collected in each week of the test period at each budget."""
    parts = [
        pd.DataFrame(
            {
                "visits_an_hour": every[size].budget,
                "policy": key,
                "week": np.arange(outcome.weeks.size),
                "value": outcome.weeks,
            }
        )
        for size, played in outcomes.items()
        for key, outcome in played.items()
    ]
    save_data(
        "publications-weeks",
        pd.concat(parts, ignore_index=True),
        "One row a budget, policy and week of the test period, averaged over starting phases.",
        {
            "visits_an_hour": "budget, in visits an hour",
            "policy": "; ".join(f"{key}: {label}" for key, label in LABELS.items()),
            "week": "week of the test period, from 0",
            "value": "value collected in that week; an item counts 1 when fresh",
        },
    )


def keep_settings(**settings: float) -> None:
    """Keep the settings that the prose names."""
    for name, setting in settings.items():
        save_value(f"publications-{name.replace('_', '-')}", setting)


def ratio_table(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the ratios out, a policy a row and a budget a column."""
    bounds = {"relaxed": "relaxed Poisson bound", "clairvoyant": "clairvoyant bound"}
    shown = table.assign(
        policy=table["policy"].map({**LABELS, **bounds}),
        text=[within(*numbers) for numbers in table[["ratio", "low", "high"]].to_numpy().tolist()],
    )
    order = [*LABELS.values(), *bounds.values()]
    wide = shown.pivot(index="policy", columns="budget", values="text").loc[order]
    return wide.rename(columns=lambda budget: f"{budget} an hour").rename_axis(columns=None)


def objective_table(table: pd.DataFrame, size: str) -> pd.DataFrame:
    """Lay out value, freshness and penalty at one budget."""
    part = table[table["size"] == size].set_index("policy")
    part.index = [LABELS[key] for key in part.index]
    names = {"value": "value / index", "fresh": "time up to date", "penalty": "average H(n)"}
    return part[list(names)].rename(columns=names).round(3)
