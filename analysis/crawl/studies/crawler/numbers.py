"""Values and tables of the page `crawler`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.crawl.studies.crawler.experiment import (
    POLICIES,
    SHORT,
    predictions,
    value_per_fetch,
    value_per_place,
    with_half,
)
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.sources import Sources
from analysis.report import plus_minus, save_data, save_table, save_value, save_values
from analysis.report.saving.records import saved_numbers
from analysis.results import Estimate


def compare_policies(
    runs: Mapping[str, Floats], sources: Sources, budget: int, warm_up: int
) -> pd.DataFrame:
    """Record the policies side by side.

    One row a policy: value per allowed fetch with its interval, what the model expects, fetches
    per epoch, share of 304s, value per fetch made, and the bound. What is a share of fetches is
    nan for a policy that makes none.
    """
    expected = predictions(sources, budget, runs["index"].shape[2], warm_up)
    bound = relaxed_bound(sources, budget)[0] / budget
    save_value("crawler-bound", bound)
    rows = []
    for name, policy in POLICIES.items():
        after, short = runs[policy][:, :, warm_up:], f"crawler-{SHORT[name]}"
        found = Estimate.of(value_per_place(runs[policy], warm_up, budget))
        fetches, made = float(after[:, 1].mean()), float(after[:, 1].sum())
        unchanged = float(after[:, 2].sum()) / made if made else np.nan
        save_value(short, found.value, interval=found.interval, replications=found.replications)
        save_value(f"{short}-share", 100 * found.value / bound)
        save_value(f"{short}-fetched", made > 0)
        save_value(f"{short}-304", 100 * unchanged if made else 0.0)  # said only where it fetched
        save_value(f"{short}-fetches", fetches)
        per_site = value_per_fetch(runs[policy], warm_up)
        per_fetch = float(per_site[~np.isnan(per_site)].mean()) if made else np.nan
        model = expected.get(policy, np.nan)
        value = (found.value, *found.interval, model)
        rows.append((name, *value, fetches, unchanged, per_fetch))
    columns = ["policy", "value", "low", "high", "expected", "fetches", "share_304", "per_fetch"]
    _save_ratio(runs, expected, warm_up)
    table = pd.DataFrame(rows, columns=columns).assign(bound=bound)
    modelled = table[table["policy"].map(POLICIES) != "learned_index"].dropna(subset="expected")
    save_value(
        "crawler-off", 100 * float((modelled["value"] / modelled["expected"] - 1).abs().max())
    )
    return table


def policies_table(table: pd.DataFrame) -> pd.DataFrame:
    """Format the comparison for the page."""
    half = (table["high"] - table["low"]) / 2
    shown = {
        "value per allowed fetch": with_half(table),
        "model": _or_none(table["expected"], ".3f"),
        "of the bound (%)": [
            plus_minus(100 * value / bound, 100 * half / bound, 1)
            for value, half, bound in zip(table["value"], half, table["bound"], strict=True)
        ],
        "fetches per epoch": table["fetches"].map("{:.2f}".format),
        "value per fetch made": _or_none(table["per_fetch"], ".3f"),
        "304 (%)": _or_none(100 * table["share_304"], ".1f"),
    }
    return pd.DataFrame(shown).set_index(pd.Index(table["policy"], name="policy"))


def _or_none(values: pd.Series, digits: str) -> list[str]:
    return ["none" if np.isnan(value) else format(value, digits) for value in values]


def save_sites(runs: Mapping[str, Floats], warm_up: int, budget: int) -> None:
    """Publish what each policy found on each site."""
    parts = [
        pd.DataFrame(
            {
                "policy": name,
                "site": np.arange(len(runs[policy])),
                "value": value_per_place(runs[policy], warm_up, budget),
                "fetches": runs[policy][:, 1, warm_up:].mean(axis=1),
                "unchanged": runs[policy][:, 2, warm_up:].mean(axis=1),
            }
        )
        for name, policy in POLICIES.items()
    ]
    save_data(
        "crawler-sites",
        pd.concat(parts, ignore_index=True),
        "One row a policy and random site, averaged over the epochs after the warm-up.",
        {
            "policy": "the crawler's policy",
            "site": "number of the site; all policies meet the same items on it",
            "value": "value found per fetch that the budget allows (utility)",
            "fetches": "fetches made per epoch",
            "unchanged": "fetches per epoch that were answered 304, not modified",
        },
    )


def save_predicates() -> None:
    """Keep what the page's sentences depend on."""
    v = saved_numbers("crawler-")
    save_value("crawler-fixed-of-index", v["fixed"] / v["index"])
    save_value("crawler-fixed-close", abs(v["fixed"] / v["index"] - 1) < 0.03)
    save_value("crawler-as-modelled", v["ratio-low"] <= v["ratio-expected"] <= v["ratio-high"])
    save_value("crawler-loses-less", v["worst-value"] > 100 - v["worst"])
    save_value("crawler-learners-differ", v["learner-gain-half"] > 0)
    log_more, log_less = np.log(1.4), np.log(1.25)
    save_value("crawler-nutch-limit", float(100 * log_more / (log_more + log_less)))


def record_http(facts: Mapping[str, float]) -> None:
    """Record what `over_http` compared."""
    save_values("crawler-http", facts)


def record_trouble(table: pd.DataFrame, outage: int) -> None:
    """Record what prose says, in % of the value without faults."""
    single = table[table["faults"] == "single"]
    first, last = single.iloc[0], single.iloc[-1]
    hasty, patient = (table[table["faults"] == "outage"].iloc[place] for place in (0, 1))
    save_value("crawler-worst", 100 * last["share"])
    save_value("crawler-worst-value", 100 * last["value"] / first["value"])
    save_value("crawler-worst-bound", 100 * last["bound"] / first["bound"])
    save_value("crawler-outage", outage)
    for name, row in (("hasty", hasty), ("patient", patient)):
        save_value(f"crawler-{name}", 100 * row["value"] / first["value"])
        save_value(f"crawler-{name}-failed", 100 * row["failed"])


def _save_ratio(runs: Mapping[str, Floats], expected: Mapping[str, float], warm_up: int) -> None:
    """Record index : round robin, measured site by site and predicted."""
    index, robin = (runs[name][:, 0, warm_up:].sum(axis=1) for name in ("index", "round_robin"))
    ratio = Estimate.of(index / robin)
    save_value(
        "crawler-ratio", ratio.value, interval=ratio.interval, replications=ratio.replications
    )
    save_value("crawler-ratio-low", ratio.low)
    save_value("crawler-ratio-high", ratio.high)
    save_value("crawler-ratio-expected", expected["index"] / expected["round_robin"])


def save_learners(runs: pd.DataFrame) -> None:
    """Save the table of what learners with several settings earn."""
    save_data(
        "crawler-learners-runs",
        runs,
        "One row a draw of feeds and learner.",
        {
            "draw": "number of the draw",
            "learner": "what it sees, and its settings",
            "whole": "expected reward over that of the index with known rates, all epochs",
            "later": "the same after the warm-up",
        },
    )
    rows = {}
    for name, part in runs.groupby("learner", sort=False):
        whole, later = (Estimate.of(100 * part[c].to_numpy()) for c in ("whole", "later"))
        rows[name] = {
            "all days (%)": whole.value,
            "± (95%)": whole.half_width,
            "after the warm-up (%)": later.value,
            "± (95%) after": later.half_width,
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("learner")
    save_table(
        "crawler-learners",
        table,
        "What learners earn of the index policy's reward with known rates, over "
        f"{runs.draw.nunique()} draws of feeds, all on the same items.",
        formats=".1f",
        instances="crawler-learners-runs",
    )
    for short, name in (("sums", "sums, default"), ("items", "items, default")):
        save_value(f"crawler-learner-{short}", float(table["all days (%)"][name]))
    one, other = (
        runs[runs.learner == n].whole.to_numpy() for n in ("items, default", "sums, default")
    )
    gain = Estimate.of(100 * (one - other))
    save_value("crawler-learner-gain", gain.value, interval=gain.interval, replications=len(one))
    save_value("crawler-learner-gain-half", gain.half_width)
