"""The page `publications`: policies on real publications, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.policies import GreedyPolicy, Policy, RoundRobinPolicy, WhittlePolicy
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.trace.deployed import EntryFrequency, NutchAdaptive
from analysis.trace.experiment import Experiment, Outcome, choose_memory, trained_rates
from analysis.trace.poisson import compare_with_surrogates
from analysis.trace.policies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl
from analysis.trace.replay import expected_reward
from analysis.trace.trace import HOUR, WEEK, Trace, publications
from book.trace.shared import LABELS, SIZES, check_weeks, load_trace, measure_ratio
from scorecard import format_interval, pluralise, save_data, save_table, save_value, save_values
from scorecard.record import read_saved_numbers

#: Policies, and a bound, whose ratio to the index sentences name at each budget.
QUOTED = (
    "clairvoyant", "entry", "even", "feed", "fixed", "forgetting", "oracle", "robin", "shrunk",
)  # fmt: skip
KINDS = {"upload": "uploads", "commit": "commits", "own": "your items"}


def check_trace(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse a trace of the reader that the weeks and budgets do not fit, and a place without."""
    path, place = parameters["trace"], parameters["place"]
    if place == "first" and not path:
        raise ValueError("place must be second where no trace is given, got first")
    for trace in load_traces(path, place):
        check_weeks(trace, parameters)


def load_traces(path: str, place: str) -> tuple[Trace, Trace]:
    """Return the page's first and second trace; a reader's file takes the `place` of one."""
    first, second = (path, "") if place == "first" else ("", path)
    return load_trace("both", first), load_trace("release", second)


def load_kinds(path: str, place: str) -> dict[str, Trace]:
    """Return the parts of the first trace by name: uploads and commits, or the reader's items."""
    if place == "first":
        return {"own": load_trace("both", path)}
    return {kind: publications(kind) for kind in ("upload", "commit")}


def replay_policies(experiment: Experiment, memory: float, seed: int) -> dict[str, Outcome]:
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
        "feed": replay_observing(experiment),
    }


def compute_ratios_to_index(
    index: Floats, fixed: Floats, robin: Floats, drawn: Floats, weights: Floats
) -> pd.DataFrame:
    """Return the ratios of three weekly rewards to the index policy's, with intervals."""
    others = {"fixed": fixed, "robin": robin, "lambdacrawl": drawn}
    rows = {LABELS[key]: measure_ratio(weeks, index, weights) for key, weeks in others.items()}
    return pd.DataFrame(rows, index=["ratio", "low", "high"]).T.round(3)


def replay_all_budgets(
    every: Mapping[str, Experiment], memory: Mapping[str, float], seed: int
) -> dict[str, dict[str, Outcome]]:
    """Replay every policy at every budget."""
    return {size: replay_policies(every[size], memory[size], seed) for size in every}


def replay_observing(experiment: Experiment) -> Outcome:
    """Replay the index of the content that is there, at trained rates."""
    # A source without an item in training would have no index at all.
    rate = np.maximum(experiment.trained, 0.5 * experiment.trained[experiment.trained > 0].min())
    return experiment.observing(rate)


def compare_with_index(
    outcomes: Mapping[str, Mapping[str, Outcome]],
    every: Mapping[str, Experiment],
    weights: Floats,
) -> pd.DataFrame:
    """Return each policy's reward over the index with trained rates, with block-bootstrap 95%.

    With two bounds. Also saves the numbers that sentences name.
    """
    rows = []
    for size, played in outcomes.items():
        base, budget = played["index"].weeks, every[size].budget
        for key, outcome in played.items():
            ratio, low, high = measure_ratio(outcome.weeks, base, weights)
            by_phase = outcome.weekly.sum(axis=1) / played["index"].weekly.sum(axis=1)
            rows.append((size, budget, key, ratio, low, high, np.ptp(by_phase), outcome.used))
        index = base.sum() / (base.size * WEEK / HOUR)
        sources = every[size].sources(every[size].tested)
        bounds = {
            "relaxed": relaxed_bound(sources, budget)[0],
            "clairvoyant": float(every[size].clairvoyant().mean()),
        }
        rows += [(size, budget, k, b / index, *[np.nan] * 4) for k, b in bounds.items()]
    columns = ["size", "budget", "policy", "ratio", "low", "high", "phases", "used"]
    table = pd.DataFrame(rows, columns=columns)
    by_policy = table.set_index(["policy", "size"])
    ratios, used = by_policy["ratio"], by_policy["used"]
    facts = {f"{policy}-{size}": ratios[policy, size] for policy in QUOTED for size in outcomes}
    for size in outcomes:
        facts[f"budget-{size}"] = every[size].budget
        facts[f"stale-{size}"] = 1 - 1 / ratios["oracle", size]
    for size in ("small", "large"):
        facts[f"nutch-used-{size}"] = used["nutch", size]
        facts[f"round-{size}"] = len(every[size].trace) / every[size].budget  # hours between visits
    facts |= {
        "is-ping-first": ping_is_first(ratios[:, "small"]),
        "greedy-loss-middle": 1 - ratios["greedy", "middle"],
        "robin-gain": 1 / ratios["robin", "small"],
        "forgetting-gain": ratios["forgetting"].min() - 1,
        "forgetting-gain-large": ratios["forgetting"].max() - 1,
    }
    save_values("publications", facts)
    return table


def ping_is_first(ratio: pd.Series) -> bool:
    """Whether seeing contents gains much, and more than twice what any other policy gains."""
    others = ratio[[key for key in LABELS if key not in {"index", "feed"}]]
    return bool(ratio["feed"] - 1 > max(2 * (others.max() - 1), TIE))


FINDINGS = {
    "tie": "the best fixed frequencies earn within 2% of the index at every budget",
    "greedy": "the largest expected content earns less than the index at every budget",
    "robin": "round robin earns less than the index at every budget",
    "even": "LambdaCrawl's rates, evenly spaced, earn more than the index at the largest budget",
    "forgetting": "rates that forget earn more than trained rates at every budget",
    "oracle": "the rates of the test period earn more than trained rates at every budget",
    "feed": "an index that sees contents earns more than all others at every budget",
    "poisson": "every statistic lies beyond all its Poisson surrogates",
}


def find(values: Mapping[tuple[str, str], float], outside: bool) -> dict[str, bool]:
    """Return which of `FINDINGS` hold on a trace, from the rewards in units of the index.

    `outside`: whether all statistics lie beyond their surrogates.
    """
    at = {policy: np.array([values[policy, size] for size in SIZES]) for policy in LABELS}
    others = np.array([at[policy] for policy in LABELS if policy != "feed"])
    return {
        "tie": bool((np.abs(at["fixed"] - 1) < 0.02).all()),
        "greedy": bool((at["greedy"] < 1).all()),
        "robin": bool((at["robin"] < 1).all()),
        "even": bool(at["even"][-1] > 1),
        "forgetting": bool((at["forgetting"] > 1).all()),
        "oracle": bool((at["oracle"] > 1).all()),
        "feed": bool((at["feed"] > others.max(axis=0)).all()),
        "poisson": outside,
    }


def compare_traces(
    table: pd.DataFrame,
    kinds: Mapping[str, Trace],
    trace: Trace,
    second: Mapping[str, Mapping[str, Outcome]],
    weights: Floats,
    surrogates: int,
    seed: int,
    own: bool,
) -> None:
    """Save which findings hold on the page's trace and on a second one, the reader's if `own`."""
    rows: Any = table.itertuples()
    first = {(row.policy, row.size): row.ratio for row in rows}
    again = {
        (policy, size): measure_ratio(outcome.weeks, played["index"].weeks, weights)[0]
        for size, played in second.items()
        for policy, outcome in played.items()
    }
    largest = [
        max(
            float(compare_with_surrogates(part, surrogates, rng)["p"].max())
            for part, rng in ((part, np.random.default_rng([seed, 7])) for part in parts)
        )
        for parts in (kinds.values(), [trace])
    ]
    least = find_least_p(surrogates)
    outcomes = [find(first, largest[0] <= least), find(again, largest[1] <= least)]
    frame = pd.DataFrame(
        [
            (text, *("holds" if findings[name] else "does not hold" for findings in outcomes))
            for name, text in FINDINGS.items()
        ],
        columns=[
            "finding",
            "your trace" if "own" in kinds else "uploads and commits",
            "your trace" if own else "releases",
        ],
    )
    save_table(
        "publications-both-traces",
        frame.set_index("finding"),
        "What holds on each of two traces, at the same budgets, periods and half-life.",
    )
    same = sum(outcomes[0][name] == outcomes[1][name] for name in FINDINGS)
    facts: dict[str, float | bool] = {"findings": len(FINDINGS), "same": same, "own-second": own}
    facts |= {"second-sources": len(trace)}
    save_values("publications", facts)


def assume_half_lives(trace: Trace, begin: int, end: int, seed: int) -> dict[str, Floats]:
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


# Values and tables


def tabulate_data(kinds: Mapping[str, Trace], both: Trace) -> pd.DataFrame:
    """Return sources, items, period and inequality of the trace, and of its parts if it has any."""
    is_own = "own" in kinds
    rows = {}
    for name, trace in (kinds if is_own else {**kinds, "both": both}).items():
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
    save_values("publications", {"both-sources": len(both), "own-first": is_own})
    return pd.DataFrame(rows).T


def compare_with_poisson(kinds: Mapping[str, Trace], number: int, seed: int) -> pd.DataFrame:
    """Compare each kind with Poisson surrogates of its own, and save the statistics."""
    tables = {}
    for number_of_kind, (kind, trace) in enumerate(kinds.items()):
        rng = np.random.default_rng([seed, 1, number_of_kind])
        table = compare_with_surrogates(trace, number, rng).dropna()
        for name in ("fano, a week", "short gaps") if kind != "own" else ():
            key = name.replace(", ", "-").replace(" ", "-")
            save_value(f"publications-{kind}-{key}", table["trace"][name])
        tables[KINDS[kind]] = table
    both = pd.concat(tables, names=["kind"])
    if "commit" in kinds:
        save_value("publications-commit-short-gaps-high", both["high"]["commits", "short gaps"])
    save_value("publications-is-not-poisson", both["p"].max() <= find_least_p(number))
    return both


def find_least_p(surrogates: int) -> float:
    """Return the least p that so many surrogates can give, from both sides, with room to round."""
    return 2 / (surrogates + 1) * (1 + 1e-9)


def choose_memories(
    every: Mapping[str, Experiment], days: Sequence[float]
) -> tuple[dict[str, float], pd.DataFrame]:
    """Choose the memory at each budget inside the training period; hours by size, and a table."""
    chosen, columns = {}, {}
    for size, experiment in every.items():
        chosen[size], earned = choose_memory(experiment, [24.0 * d for d in days])
        columns[f"{experiment.budget} an hour"] = pd.Series(earned, index=list(days))
        save_value(f"publications-memory-{size}", chosen[size] / 24.0)
    return chosen, pd.DataFrame(columns).rename_axis("memory (days)")


def save_weeks(
    outcomes: Mapping[str, Mapping[str, Outcome]], every: Mapping[str, Experiment]
) -> None:
    """Save the value that each policy collected in each week of the test period, by budget."""
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


def save_settings(**settings: float) -> None:
    """Save the settings that the prose names."""
    save_values("publications", {n.replace("_", "-"): value for n, value in settings.items()})


def tabulate_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios as text, a policy a row and a budget a column."""
    bounds = {"relaxed": "relaxed Poisson bound", "clairvoyant": "clairvoyant bound"}
    text_table = table.assign(
        policy=table["policy"].map({**LABELS, **bounds}),
        text=[
            format_interval(*numbers)
            for numbers in table[["ratio", "low", "high"]].to_numpy().tolist()
        ],
    )
    order = [*LABELS.values(), *bounds.values()]
    wide = text_table.pivot(index="policy", columns="budget", values="text").loc[order]
    return wide.rename(columns=lambda budget: f"{budget} an hour").rename_axis(columns=None)


def tabulate_objectives(table: pd.DataFrame, size: str) -> pd.DataFrame:
    """Return value, freshness and penalty of each policy at one budget."""
    rows = table[table["size"] == size].set_index("policy")
    rows.index = [LABELS[key] for key in rows.index]
    names = {"value": "value / index", "fresh": "time up to date", "penalty": "average H(n)"}
    return rows[list(names)].rename(columns=names).round(3)


def check_campbell(every: Mapping[str, Experiment]) -> pd.DataFrame:
    """Compare what visits collected with Campbell's formula at the rates of the test period."""
    rows = {}
    for experiment in every.values():
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
        rows[f"{pluralise(experiment.budget, 'visit')} an hour"] = column
    table = pd.DataFrame(rows)
    save_value("publications-campbell-worst", float(np.abs(table.to_numpy() - 1).max()))
    save_value("publications-is-campbell-robin-worst", robin_is_worst(table))
    return table


def robin_is_worst(campbell: pd.DataFrame) -> bool:
    """Whether the formula is furthest off for round robin at the first, smallest budget."""
    off = (campbell - 1).abs()
    return bool(off.stack().idxmax() == (LABELS["robin"], off.columns[0]))


def compare_kinds(
    kinds: Mapping[str, Trace], every: Mapping[str, Experiment], weights: Floats
) -> pd.DataFrame:
    """Compare a few policies on each kind alone, for the cost of stale rates by budget."""
    rows, oracle = {}, []
    for kind, trace in kinds.items():
        for experiment in every.values():
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
                ratio, low, high = measure_ratio(outcome.weeks, base, weights)
                if kind == "upload" and key == "oracle":
                    oracle.append(ratio)
                column[LABELS[key]] = format_interval(ratio, low, high)
            rows[KINDS[kind], f"{budget} an hour"] = column
    save_value("publications-is-stale-falls", stale_cost_falls(oracle))
    return pd.DataFrame(rows).T


def stale_cost_falls(oracle: Sequence[float]) -> bool:
    """Whether right rates gain the less, the larger the budget; False without ratios."""
    return len(oracle) > 0 and bool((np.diff(oracle) < 0).all())


def tabulate_costs(experiment: Experiment, top: int) -> pd.DataFrame:
    """Return the losses of trained rates: the winner's curse, new sources, and outdated rates."""
    trace, begin, split = experiment.trace, experiment.begin, experiment.split
    trained, tested = experiment.trained, experiment.tested
    uploads = np.flatnonzero([name.startswith("upload/") for name in trace.names])
    if not uploads.size:  # a trace of the reader
        uploads = np.arange(len(trace))
    top = min(top, uploads.size // 2)
    order = uploads[np.argsort(-trained[uploads], kind="stable")]
    best, others = order[:top], order[top:]
    counts = trace.counts(split, experiment.end)
    unseen = trained == 0
    # Where nothing else had an item in training, there is no rate to compare with.
    expected = float(trained[others].sum())
    facts: dict[str, float | bool] = {
        "curse": tested[best].sum() / trained[best].sum(),
        "rest": tested[others].sum() / expected if expected > 0 else 1.0,
        "others-were-trained": expected > 0,
        "best-trained": top,
        "unseen-share": counts[unseen].sum() / counts.sum(),
        "unseen": int((unseen & (counts > 0)).sum()),
    }
    save_values("publications", facts)
    window = min(52, (split - begin) // (2 * WEEK)) * WEEK
    lags = [weeks for weeks in (0, 13, 26, 39, 52) if split - window - weeks * WEEK >= begin]
    earned = {}
    for lag in lags:
        rate = trained_rates(trace, split - window - lag * WEEK, split - lag * WEEK)
        earned[lag] = experiment.by_age(WhittlePolicy(experiment.sources(rate))).weeks.sum()
    table = pd.Series(earned) / earned[0]
    weeks = {"lag-weeks": lags[-1], "window-weeks": window // WEEK}
    save_values("publications", {"lag": float(table.iloc[-1]), **weeks})
    return table.rename("reward").rename_axis("weeks since these rates").to_frame()


def vary_half_lives(
    experiment: Experiment, memory: float, weights: Floats, seed: int
) -> pd.DataFrame:
    """Repeat the main comparisons under other rules for half-lives."""
    rules = assume_half_lives(experiment.trace, experiment.begin, experiment.split, seed)
    rows, ratios = {}, {}
    for rule, hours in rules.items():
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
            "feed": replay_observing(other),
        }
        estimates = {key: measure_ratio(o.weeks, base, weights) for key, o in others.items()}
        ratios[rule] = {key: ratio for key, (ratio, _, _) in estimates.items()}
        rows[rule] = {LABELS[key]: format_interval(*numbers) for key, numbers in estimates.items()}
    _save_half_lives(pd.DataFrame(ratios).T)
    return pd.DataFrame(rows).T.rename_axis("half-life")


def _save_half_lives(ratios: pd.DataFrame) -> None:
    """Save what sentences name of the ratios to the index, a rule for half-lives a row."""
    for number, rule in ((0, "6 hours"), (2, "a week")):
        for key in ("robin", "feed", "fixed"):
            save_value(f"publications-rule-{number}-{key}", ratios[key][rule])
    facts = {"even-lowest": ratios["even"].min(), "even-highest": ratios["even"].max()}
    facts |= {"is-order-stays": orders_agree(ratios)}
    facts |= {"is-robin-moves-most": robin_moves_most(ratios)}
    save_values("publications", facts)


def orders_agree(ratios: pd.DataFrame) -> bool:
    """Whether all rules for half-lives put the policies in one order, LambdaCrawl's rates apart."""
    ranks = ratios.drop(columns="even").rank(axis="columns")
    return bool((ranks == ranks.iloc[0]).all(axis=None))


def robin_moves_most(ratios: pd.DataFrame) -> bool:
    """Whether round robin's reward changes by the largest factor from 6 hours to a week."""
    factors = (ratios.loc["a week"] / ratios.loc["6 hours"]).map(np.log).abs()
    return bool(factors[["robin", "feed", "fixed"]].idxmax() == "robin")


def vary_beliefs(experiment: Experiment, factors: Sequence[float], seed: int) -> pd.DataFrame:
    """Return the reward with wrong half-lives, and unknown values, over that with right ones."""
    right = experiment.by_age(WhittlePolicy(experiment.sources(experiment.trained))).weeks.sum()
    rows = {}
    for factor in factors:
        believed = replace(experiment, half_life=np.asarray(experiment.half_life) * factor)
        policy = WhittlePolicy(believed.sources(believed.trained))
        rows[f"half-life {factor:g} times the true one"] = (
            experiment.by_age(policy).weeks.sum() / right
        )
    lost = {float(f): 1 - r for f, r in zip(factors, rows.values(), strict=True)}
    save_values("publications-half-life", {"double": lost[2.0], "half": lost[0.5]})
    rng = np.random.default_rng([seed, 5])
    values = []
    for _ in range(5):
        value = np.exp(rng.normal(-0.5, 1.0, len(experiment.trace)))
        valued = replace(experiment, value=value)
        believed_right = valued.by_age(WhittlePolicy(valued.sources(valued.trained))).weeks.sum()
        same = valued.by_age(WhittlePolicy(experiment.sources(experiment.trained))).weeks.sum()
        values.append(same / believed_right)
    rows["values lognormal, believed all alike"] = float(np.mean(values))
    save_value("publications-values-unknown", 1 - float(np.mean(values)))
    return pd.Series(rows, name="reward / with right beliefs").to_frame()


#: Relative difference up to which two rewards count as a tie.
TIE = 0.02
#: Share of a reward below which a loss is none.
LITTLE = 0.005
#: Share of a reward below which another is much less.
MUCH_LESS = 0.75


def collect_predicates(v: Mapping[str, float]) -> dict[str, bool]:
    """Return the page's qualitative findings as truth values."""

    def sizes(key: str) -> np.ndarray:
        return np.array([v[f"{key}-{size}"] for size in SIZES])

    increasing = bool((np.diff(sizes("budget")) > 0).all())
    return {
        "tie": bool((np.abs(sizes("fixed") - 1) < TIE).all()),
        "greedy-loses": v["greedy-loss-middle"] > TIE,
        "entry-is-robin": bool((np.abs(sizes("entry") / sizes("robin") - 1) < 0.1).all()),
        "curse-holds": v["curse"] < v["rest"],
        "prior-little": bool((np.abs(sizes("shrunk") - 1) < TIE).all()),
        "forgetting-helps": bool((sizes("forgetting") > 1).all()),
        "memory-falls": increasing and bool((np.diff(sizes("memory")) <= 0).all()),
        "longer-is-safer": v["half-life-double"] < v["half-life-half"],
        "values-matter": v["values-unknown"]
        > max(v["half-life-double"], v["half-life-half"], LITTLE),
        "two-objectives": v["harmonic-even-middle"] < v["harmonic-index-middle"]
        and v["even-middle"] < 1,
        "robin-is-fresh": v["harmonic-robin-middle"] < 1.25 * v["harmonic-even-middle"]
        and v["robin-middle"] < MUCH_LESS * v["even-middle"],
    }


def save_predicates() -> None:
    """Save the truth values and numbers that the page's sentences depend on."""
    numbers = read_saved_numbers("publications-")
    save_values(
        "publications-is", {n: bool(holds) for n, holds in collect_predicates(numbers).items()}
    )
    stale = [numbers[f"stale-{size}"] for size in SIZES]
    shares = [numbers[f"feed-{size}"] / numbers[f"clairvoyant-{size}"] for size in SIZES]
    facts = {
        "stale-most": max(stale),
        "stale-least": min(stale),
        "feed-of-bound": min(shares),
    }
    save_values("publications", facts)


def steady_product() -> float:
    """Return the product of rate and interval at which Nutch's interval is constant on average.

    The interval is multiplied by 0.8 after news, with probability 1 - exp(-x), and else by 1.4:
    its logarithm is constant on average where (1 - exp(-x)) log 0.8 + exp(-x) log 1.4 = 0.
    """
    return float(np.log1p(np.log(1.4) / -np.log(0.8)))
