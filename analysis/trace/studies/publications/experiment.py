"""What the page `publications` computes: policies on real publications, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.policies import GreedyPolicy, RoundRobinPolicy, WhittlePolicy
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.report import save_value, save_values
from analysis.trace.bootstrap import ratio_interval
from analysis.trace.deployed import EntryFrequency, NutchAdaptive
from analysis.trace.experiment import Experiment, Outcome
from analysis.trace.frequencies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl
from analysis.trace.trace import HOUR, WEEK, Trace, publications

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
        "nutch": experiment.untrained(lambda: NutchAdaptive(size, experiment.period)),
        "entry": experiment.untrained(lambda: EntryFrequency(size, experiment.period)),
        "robin": experiment.by_age(RoundRobinPolicy()),
        "oracle": experiment.by_age(WhittlePolicy(experiment.sources(experiment.tested))),
        "feed": observing(experiment),
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


def observing(experiment: Experiment) -> Outcome:
    """Replay the index of the content that is there, at trained rates."""
    # A source without an item in training would have no index at all.
    rate = np.maximum(experiment.trained, 0.5 * experiment.trained[experiment.trained > 0].min())
    return experiment.observing(rate)


def ratios(
    outcomes: Mapping[str, Mapping[str, Outcome]],
    every: Mapping[str, Experiment],
    weights: Floats,
) -> pd.DataFrame:
    """Reward of every policy in units of the index with trained rates, with block-bootstrap 95%.

    Also saves the numbers, and those of the two bounds.
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
        facts = {key: bound / index for key, bound in bounds.items()} | {
            "nutch-used": played["nutch"].used,
            "feed-used": played["feed"].used,
            "budget": budget,
            "round": len(sources) / budget,  # hours between visits
        }
        save_values("publications", {f"{key}-{size}": value for key, value in facts.items()})
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
