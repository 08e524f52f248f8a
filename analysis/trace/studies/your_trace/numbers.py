"""Values and tables of the page `your-trace`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.ephemeral.policies import RoundRobinPolicy, WhittlePolicy
from analysis.report import NONE, save_value, save_values
from analysis.trace.bootstrap import block_weights
from analysis.trace.deployed import EntryFrequency, NutchAdaptive
from analysis.trace.experiment import Experiment, Outcome, choose_memory
from analysis.trace.frequencies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl
from analysis.trace.reading import Repair
from analysis.trace.studies.your_trace.experiment import LABELS, ratio_with_interval, schedule
from analysis.trace.trace import Trace

BLOCK = 4
"""Weeks in a row that the bootstrap draws; an interval takes two such blocks."""
TO_DEPLOY = ("index", "shrunk", "forgetting", "fixed", "even", "robin")
"""What one can run without a feed or the future, at any budget."""


def repairs_table(trace: Trace, repairs: Sequence[Repair]) -> pd.DataFrame:
    """Return what was read and what was repaired, with the numbers of the rows."""
    rows = [
        ("items", f"{trace.time.size}"),
        ("sources", f"{len(trace)}"),
        ("from", trace.date(trace.begin)),
        ("to", trace.date(trace.end - 1)),
        *[("repaired", str(repair)) for repair in repairs],
    ]
    save_value("your-trace-repairs", sum(len(repair.rows) for repair in repairs))
    return pd.DataFrame(rows, columns=["what", "found"]).set_index("what")


def compare(plan: Experiment, days: Sequence[float], draws: int, seed: int) -> pd.DataFrame:
    """Replay the policies; ratios to the index with trained rates, and what was chosen."""
    memory, _ = choose_memory(plan, [24.0 * d for d in days])
    size, seconds = len(plan.trace), plan.period
    trained, shrunk = plan.sources(plan.trained), plan.sources(plan.shrunk)
    lowest = 0.5 * plan.trained[plan.trained > 0].min()
    played: dict[str, Outcome] = {
        "index": plan.by_age(WhittlePolicy(trained)),
        "shrunk": plan.by_age(WhittlePolicy(shrunk)),
        "forgetting": plan.forgetting(memory),
        "fixed": plan.by_age(best_fixed_frequencies(trained, plan.budget)),
        "even": plan.by_age(FrequencyPolicy(lambdacrawl(shrunk, plan.budget).frequency)),
        "nutch": plan.untrained(lambda: NutchAdaptive(size, seconds)),
        "entry": plan.untrained(lambda: EntryFrequency(size, seconds)),
        "robin": plan.by_age(RoundRobinPolicy()),
        "oracle": plan.by_age(WhittlePolicy(plan.sources(plan.tested))),
        "feed": plan.observing(np.maximum(plan.trained, lowest)),
    }
    base = played["index"].weeks
    if not base.sum() > 0:
        raise ValueError(
            "trace must have items in its test period that a visit can find, got none: the index "
            "policy collects nothing there"
        )
    weights = None
    if base.size >= 2 * BLOCK:
        weights = block_weights(base.size, BLOCK, draws, np.random.default_rng([seed, 2]))
    rows = []
    for key, outcome in played.items():
        ratio = ratio_with_interval(outcome.weeks, base, weights)
        known = bool(np.isfinite(ratio[1]))
        save_value(
            f"your-trace-{key}",
            ratio[0],
            interval=ratio[1:] if known else None,
            replications=draws if known else None,
        )
        rows.append((key, *ratio, outcome.used, 1 - outcome.stale))
    save_value("your-trace-memory", memory / 24.0)
    save_value("your-trace-weeks", base.size)
    save_value("your-trace-enough-weeks", weights is not None)
    table = pd.DataFrame(rows, columns=["policy", "ratio", "low", "high", "used", "fresh"])
    best = table[table["policy"].isin(TO_DEPLOY)].set_index("policy")["ratio"].idxmax()
    save_value("your-trace-best", list(LABELS).index(str(best)))
    return table


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the comparison out for the page, a dash where there is no interval."""
    names = {
        "ratio": "reward / index", "low": "low", "high": "high",
        "used": "budget spent", "fresh": "time up to date",
    }  # fmt: skip
    shown = table.assign(policy=table["policy"].map(LABELS)).set_index("policy")[list(names)]
    return with_dashes(shown.rename(columns=names))


def with_dashes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame to be shown: three decimals, and a dash for what is not finite."""
    return frame.map(_as_shown)


def _as_shown(value: object) -> object:
    if not isinstance(value, float):
        return value
    return f"{value:.3f}" if np.isfinite(value) else NONE


def save_kept(best: pd.DataFrame, kept: float) -> None:
    """Save how many sources the best frequencies leave out, and what share of visits they get."""
    out = int((best["visits_per_day"] == 0).sum())
    save_values("your-trace", {"left-out": out, "kept": kept, "keeps": kept > 0 and out > 0})


def doubled_budget(plan: Experiment, days: Sequence[float]) -> None:
    """Save where the visits of a doubled budget go: to sources visited before, or to new ones.

    A budget of more than half of the sources cannot be doubled: a source has one visit an epoch at
    most.
    """
    can = 2 * plan.budget <= len(plan.trace)
    save_value("your-trace-can-double", can)
    if not can:
        save_values("your-trace-doubled", {"some-new": False, "none-new": False})
        return
    now, more = (
        schedule(replace(plan, budget=budget), days).set_index("source")["visits_per_day"]
        for budget in (plan.budget, 2 * plan.budget)
    )
    gained = more - now
    never = now[now == 0].index
    new = int((more[never] > 0).sum())
    facts = {
        "some-new": new > 0,
        "none-new": new == 0,
        "new": new,
        "share": float(gained[never].sum() / gained.sum()),
        "fewer": int((gained < -1e-9).sum()),
    }
    save_values("your-trace-doubled", facts)
