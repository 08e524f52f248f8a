"""Experiments, numbers and figures of the page on real publications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ephemeral import GreedyPolicy, RoundRobinPolicy, WhittlePolicy, relaxed_bound
from analysis.report import COLOURS, figure, save_figure, save_value
from analysis.trace.bootstrap import ratio_interval
from analysis.trace.deployed import (
    EntryFrequency,
    FrequencyPolicy,
    NutchAdaptive,
    best_fixed_frequencies,
    lambdacrawl,
    lambdacrawl_rates,
)
from analysis.trace.experiment import Experiment, Outcome, choose_memory
from analysis.trace.poisson import (
    WINDOWS,
    against_surrogates,
    fano_factors,
    hourly_shares,
    relative_gaps,
    surrogate,
)
from analysis.trace.rates import trained_rates
from analysis.trace.replay import expected_reward
from analysis.trace.trace import HOUR, WEEK, Trace, publications

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


def draw_poisson(seed: int) -> None:
    """Draw dispersion, gaps, hours of the day and drift, each beside one surrogate or many."""
    fig, axes = figure(2, 2, height=5.8)
    data = []
    for place, (kind, label) in enumerate(KINDS.items()):
        rng = np.random.default_rng([seed, 2, place])
        trace, colour = publications(kind), COLOURS[place]
        drawn = [surrogate(trace, rng) for _ in range(20)]
        fanos = {name: fano_factors(trace, window) for name, window in WINDOWS.items()}
        middle = [float(np.median(f)) for f in fanos.values()]
        band = [[np.median(fano_factors(d, w)) for d in drawn] for w in WINDOWS.values()]
        grid = np.geomspace(1e-3, 20, 60)
        gaps = relative_gaps(trace)[0]
        left = [float((gaps > x).mean()) for x in grid]
        shares = hourly_shares(trace)
        low, high = np.quantile([hourly_shares(d) for d in drawn], [0.025, 0.975], axis=0)
        axes[0, 0].plot(list(WINDOWS), middle, "o-", color=colour, label=label)
        axes[0, 0].fill_between(
            range(3), np.min(band, axis=1), np.max(band, axis=1), color=colour, alpha=0.3
        )
        axes[0, 1].plot(grid, left, color=colour, label=label, linestyle="-" if place else "--")
        axes[1, 0].step(np.arange(24), 100 * shares, where="mid", color=colour, label=label)
        axes[1, 0].fill_between(
            np.arange(24), 100 * low, 100 * high, step="mid", color=colour, alpha=0.3
        )
        drift, flat = _drift(trace), np.concatenate([_drift(d) for d in drawn])
        bins = np.linspace(-6, 6, 25)
        shown = np.histogram(np.clip(drift, -6, 6), bins)[0] / drift.size
        if place == 0:
            null = np.histogram(np.clip(flat, -6, 6), bins)[0] / flat.size
            axes[1, 1].stairs(100 * null, bins, color="black", label="uploads, surrogates")
        axes[1, 1].stairs(100 * shown, bins, color=colour, label=label)
        data += [(kind, "fano", w, m) for w, m in zip(WINDOWS, middle, strict=True)]
        data += [(kind, "gaps longer", f"{x:.4g}", y) for x, y in zip(grid, left, strict=True)]
        data += [(kind, "share of the hour", str(h), s) for h, s in enumerate(shares)]
        data += [(kind, "drift", f"{b:g}", s) for b, s in zip(bins, shown, strict=False)]
    axes[0, 0].axhline(1, color="black", linewidth=0.8)
    axes[0, 0].set(yscale="log", ylabel="variance / mean of counts", xlabel="window")
    axes[0, 1].plot(grid, np.exp(-grid), color="black", linewidth=0.8, label="exponential")
    axes[0, 1].set(xscale="log", xlabel="gap / mean gap", ylabel="share of longer gaps")
    axes[1, 0].set(xlabel="hour of the day (UTC)", ylabel="share of items (%)", ylim=(0, None))
    axes[1, 1].set(xlabel="second half against first, in standard errors", ylabel="sources (%)")
    for axis in axes.ravel():
        axis.legend(fontsize="small")
    save_figure(
        "publications-poisson",
        fig,
        pd.DataFrame(data, columns=["kind", "quantity", "at", "value"]),
        caption="Four ways in which publications are not Poisson. Counts vary more than their mean "
        "(median over sources; bands: surrogates of constant rate). Short gaps and very long ones "
        "are both too frequent. Items follow the hours of the day. Rates change from the first "
        "half of the period to the second, by far more than surrogates do.",
        alt="Four panels. Variance over mean of counts is above 1 in windows of a day and rises "
        "with the window for uploads and commits, outside the bands of surrogates. The curves of "
        "relative gaps lie below the exponential at short gaps and above it at long ones. Shares "
        "by hour swing between night and day, outside the band. The change from one half to the "
        "other is spread much wider than that of surrogates.",
    )


def _drift(trace: Trace) -> Floats:
    middle = (trace.begin + trace.end) // 2
    first, second = trace.counts(trace.begin, middle), trace.counts(middle, trace.end)
    some = first + second >= 4
    return ((second - first) / np.sqrt(np.maximum(first + second, 1)))[some]


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
    change = trained.arrival_rate * trained.period
    even = FrequencyPolicy(lambdacrawl_rates(change, trained.mean_utility, budget))
    rng = np.random.default_rng([seed, 3])
    return {
        "index": experiment.by_age(WhittlePolicy(trained)),
        "shrunk": experiment.by_age(WhittlePolicy(experiment.sources(experiment.shrunk))),
        "forgetting": experiment.forgetting(memory),
        "fixed": experiment.by_age(best_fixed_frequencies(trained, budget)),
        "greedy": experiment.by_age(GreedyPolicy(trained)),
        "lambdacrawl": experiment.at_random(lambdacrawl(trained, budget), rng),
        "even": experiment.by_age(even),
        "nutch": experiment.from_nothing(lambda: NutchAdaptive(size, experiment.period)),
        "entry": experiment.from_nothing(lambda: EntryFrequency(size, experiment.period)),
        "robin": experiment.by_age(RoundRobinPolicy()),
        "oracle": experiment.by_age(WhittlePolicy(experiment.sources(experiment.tested))),
        "feed": seeing(experiment),
    }


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
        bounds = {
            "relaxed": relaxed_bound(every[size].sources(every[size].tested), budget)[0],
            "clairvoyant": float(every[size].clairvoyant().mean()),
        }
        for key, bound in bounds.items():
            save_value(f"publications-{key}-{size}", bound / index)
        save_value(f"publications-nutch-used-{size}", played["nutch"].used)
        save_value(f"publications-budget-{size}", budget)
        rows += [(size, budget, k, b / index, *[np.nan] * 4) for k, b in bounds.items()]
    columns = ["size", "budget", "policy", "ratio", "low", "high", "phases", "used"]
    return pd.DataFrame(rows, columns=columns)


def ratio_table(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the ratios out, a policy a row and a budget a column."""
    bounds = {"relaxed": "relaxed Poisson bound", "clairvoyant": "clairvoyant bound"}
    shown = table.assign(
        policy=table["policy"].map({**LABELS, **bounds}),
        text=[
            f"{r.ratio:.3f}" if np.isnan(r.low) else f"{r.ratio:.3f} ({r.low:.3f} to {r.high:.3f})"
            for r in table.itertuples()
        ],
    )
    order = [*LABELS.values(), *bounds.values()]
    wide = shown.pivot(index="policy", columns="budget", values="text").loc[order]
    return wide.rename(columns=lambda budget: f"{budget} visits an hour").rename_axis(columns=None)


def draw_ratios(table: pd.DataFrame) -> None:
    """Draw the ratios with their intervals, one panel a budget."""
    sizes = list(dict.fromkeys(table["size"]))
    fig, axes = figure(1, len(sizes), height=4.4, sharey=True, squeeze=False)
    keys = [key for key in LABELS if key != "index"][::-1]
    for axis, size in zip(axes[0], sizes, strict=True):
        part = table[table["size"] == size].set_index("policy")
        place = np.arange(len(keys))
        ratio, low, high = (part.loc[keys, c].to_numpy() for c in ("ratio", "low", "high"))
        axis.errorbar(ratio, place, xerr=[ratio - low, high - ratio], fmt="o", color=COLOURS[0])
        axis.axvline(1, color="black", linewidth=0.8)
        bound = part.loc["clairvoyant", "ratio"]
        axis.axvline(bound, color=COLOURS[1], linestyle="--", label="clairvoyant bound")
        axis.set(xlim=(0, None), xlabel="reward / index", yticks=place)
        axis.set_yticklabels([LABELS[key] for key in keys])
        axis.set_title(f"{part['budget'].iloc[0]} an hour", fontsize="medium")
    axes[0, 0].legend(loc="lower right", fontsize="small")
    best = table[~table["policy"].isin(["feed", "relaxed", "clairvoyant", "oracle"])]
    told = "; ".join(
        f"at {rows['budget'].iloc[0]} visits an hour "
        + ", ".join(f"{LABELS[r.policy]} {r.ratio:.2f}" for r in rows.itertuples())
        for _, rows in best.groupby("size", sort=False)
    )
    save_figure(
        "publications-policies",
        fig,
        table,
        caption="Value collected in the test period in units of the index policy with trained "
        "rates (the line at 1), at three budgets; block-bootstrap 95% intervals, averaged over "
        "starting phases. Best fixed frequencies tie with the index; what sees contents is in a "
        "league of its own at a small budget.",
        alt=f"Ratios to the index policy with trained rates: {told}.",
    )


def campbell(every: Mapping[str, Experiment]) -> pd.DataFrame:
    """Hold what timetables collected against Campbell's formula at the rates of the test period."""
    rows = {}
    for size, experiment in every.items():
        trained = experiment.sources(experiment.trained)
        policies = {
            "index": WhittlePolicy(trained),
            "fixed": best_fixed_frequencies(trained, experiment.budget),
            "greedy": GreedyPolicy(trained),
            "robin": RoundRobinPolicy(),
        }
        truth, before = experiment.sources(experiment.tested), experiment.clock(0)[1]
        column = {}
        for key, policy in policies.items():
            visits = experiment.timetable(policy)
            hours = (experiment.end - experiment.split) / experiment.period
            collected = experiment.replayed(visits).weeks.sum() / hours
            column[LABELS[key]] = collected / expected_reward(visits, truth, warm_up=before)
            save_value(f"publications-campbell-{key}-{size}", column[LABELS[key]])
        rows[f"{experiment.budget} visits an hour"] = column
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
                column[LABELS[key]] = f"{ratio:.3f} ({low:.3f} to {high:.3f})"
            rows[label, f"{budget} an hour"] = column
    return pd.DataFrame(rows).T


def what_costs(experiment: Experiment, top: int) -> pd.DataFrame:
    """Tell what trained rates miss: the winner's curse, sources born later, and rates grown old."""
    trace, begin, split = experiment.trace, experiment.begin, experiment.split
    trained, tested = experiment.trained, experiment.tested
    best = np.argsort(-trained)[:top]
    counts = trace.counts(split, experiment.end)
    unseen = trained == 0
    facts = {
        "curse": tested[best].sum() / trained[best].sum(),
        "rest": np.delete(tested, best).sum() / np.delete(trained, best).sum(),
        "unseen-share": counts[unseen].sum() / counts.sum(),
    }
    for key, fact in facts.items():
        save_value(f"publications-{key}", fact)
    save_value("publications-unseen", int((unseen & (counts > 0)).sum()))
    year = 52 * WEEK
    lags = [weeks for weeks in (0, 13, 26, 39, 52) if split - year - weeks * WEEK >= begin]
    earned = {}
    for lag in lags:
        rate = trained_rates(trace, split - year - lag * WEEK, split - lag * WEEK)
        earned[lag] = experiment.by_age(WhittlePolicy(experiment.sources(rate))).weeks.sum()
    table = pd.Series(earned) / earned[0]
    save_value("publications-lag", float(table.iloc[-1]))
    save_value("publications-lag-weeks", lags[-1])
    return table.rename("reward").rename_axis("weeks since the year of training").to_frame()


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
        change = trained.arrival_rate * trained.period
        even = FrequencyPolicy(lambdacrawl_rates(change, trained.mean_utility, other.budget))
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
            column[LABELS[key]] = f"{ratio:.3f} ({low:.3f} to {high:.3f})"
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


def objectives(outcomes: Mapping[str, Mapping[str, Outcome]], every: Mapping[str, Experiment]
               ) -> pd.DataFrame:  # fmt: skip
    """Measure each policy by value and by freshness, and draw one against the other."""
    rows = []
    for size, played in outcomes.items():
        base = played["index"].weeks.sum()
        for key, outcome in played.items():
            fresh, ratio = 1 - outcome.stale, outcome.weeks.sum() / base
            rows.append((size, every[size].budget, key, ratio, fresh, outcome.harmonic))
            save_value(f"publications-fresh-{key}-{size}", fresh)
            save_value(f"publications-harmonic-{key}-{size}", outcome.harmonic)
    columns = ["size", "budget", "policy", "value", "fresh", "penalty"]
    table = pd.DataFrame(rows, columns=columns)
    fig, axes = figure(1, len(outcomes), height=3.8, squeeze=False)
    shown = {
        "index": "o",
        "fixed": "s",
        "even": "^",
        "lambdacrawl": "v",
        "robin": "D",
        "oracle": "*",
    }
    for axis, (size, part) in zip(axes[0], table.groupby("size", sort=False), strict=True):
        for (key, marker), colour in zip(shown.items(), COLOURS, strict=False):
            row = part[part["policy"] == key].iloc[0]
            axis.plot(row["penalty"], row["value"], marker, color=colour, label=LABELS[key])
        axis.set(xlabel="average of $H(n)$", xscale="log", ylim=(0, None))
        axis.set_title(f"{every[size].budget} an hour", fontsize="medium")
    axes[0, 0].set_ylabel("value / index")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    save_figure(
        "publications-objectives",
        fig,
        table,
        caption="Two objectives. Value collected (up is better) against LambdaCrawl's penalty, the "
        "average harmonic number of items not found yet (left is better). At a small budget one "
        "has to choose; at a large one a policy with up-to-date rates is good at both.",
        alt="Three panels of value against harmonic penalty. "
        + "; ".join(
            f"at {every[s].budget} an hour the index has value 1 at penalty "
            f"{played['index'].harmonic:.2f}, LambdaCrawl's rates "
            f"{played['even'].weeks.sum() / played['index'].weeks.sum():.2f} at "
            f"{played['even'].harmonic:.2f}"
            for s, played in outcomes.items()
        )
        + ".",
    )
    return table


def objective_table(table: pd.DataFrame, size: str) -> pd.DataFrame:
    """Lay out value, freshness and penalty at one budget."""
    part = table[table["size"] == size].set_index("policy")
    part.index = [LABELS[key] for key in part.index]
    names = {"value": "value / index", "fresh": "time up to date", "penalty": "average H(n)"}
    return part[list(names)].rename(columns=names).round(3)
