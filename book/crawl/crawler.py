"""The page `crawler`: crawls by several policies side by side, and with faults."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.crawl.frontier.state import FOUND
from analysis.crawl.local.site import Fault, FeedServer, random_faults, random_site
from analysis.crawl.local.transport import child, crawl_in_process, crawl_over_http, write_sources
from analysis.crawl.policies import LEARNED
from analysis.crawl.store import Store, fetches_since_state
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.simulation import simulate
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.learning.comparison import index_rewards
from analysis.learning.environment import sample_items
from analysis.results import Estimate, student_band
from analysis.sweep import sweep
from analysis.trace.policies import best_fixed_frequencies, lambdacrawl
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    fold_names,
    format_plus_minus,
    ink,
    save_data,
    save_figure,
    save_table,
    save_value,
    save_values,
)

DAY = 86_400
"""Seconds in an epoch of these crawls: Nutch's defaults are made for days."""
POLICIES = {
    "index, rates known": "index",
    "index, learned while crawling": "learned_index",
    "best fixed frequencies": "fixed_frequencies",
    "LambdaCrawl": "lambda_crawl",
    "Nutch adaptive": "nutch_adaptive",
    "round robin": "round_robin",
}
SHORT = dict(zip(POLICIES, ("index", "learned", "fixed", "lambda", "nutch", "robin"), strict=True))


def sample_feeds(size: int, rng: np.random.Generator) -> Sources:
    """Draw feeds: rates log-uniform on (0.05, 1) a day, utility in (0.2, 2), decay in (0.05, 1)."""
    rate = np.exp(rng.uniform(np.log(0.05), 0.0, size))
    return Sources(rate, rng.uniform(0.2, 2.0, size), rng.uniform(0.05, 1.0, size))


def crawl_site(point: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Floats]:
    """Crawl one random site with every policy; sources are the same at every call.

    Returns by policy: value found, fetches, answers 304 and failures, shape (4, epochs).
    """
    publications, trouble = rng.spawn(2)
    sources, epochs = point["sources"], point["epochs"]
    faults = random_faults(len(sources), epochs, point["share"], trouble, last=point["last"])
    site = random_site(sources, epochs, publications, seconds=DAY, length=25, faults=faults)
    return {
        policy: _sum_by_epoch(
            crawl_in_process(site, _make_settings(point, policy)).store.frame(), epochs
        )
        for policy in point["policies"]
    }


def crawl_sites(
    sources: Sources,
    budget: int,
    epochs: int,
    *,
    replications: int,
    seed: int,
    policies: tuple[str, ...] = tuple(POLICIES.values()),
    share: float = 0.0,
    last: int = 1,
    patience: int = 64,
) -> dict[str, Floats]:
    """Crawl random sites; the same seed gives the same publications, whatever the faults.

    Returns by policy what `crawl_site` does, shape (replications, 4, epochs).
    """
    point = {
        "sources": sources,
        "budget": budget,
        "epochs": epochs,
        "policies": policies,
        "share": share,
        "last": last,
        "patience": patience,
    }
    rows = sweep(crawl_site, [point], seed=seed, replications=replications, jobs=1, progress=False)
    return {policy: np.array([row[policy] for row in rows[0]]) for policy in policies}


SEES_SUMS, SEES_ITEMS = "sums, UCB and floor", "items, UCB and floor"
"""The settings of `learned_index`."""
LEARNERS = {
    SEES_SUMS: (LEARNED, False),
    SEES_ITEMS: (LEARNED, True),
    "items, UCB, no floor": (CertaintyEquivalenceOptions("ucb", floor=0.0), True),
    "sums, draws and floor": (CertaintyEquivalenceOptions(), False),
    "items, draws and floor": (CertaintyEquivalenceOptions(), True),
    "items, draws, no floor": (CertaintyEquivalenceOptions(floor=0.0), True),
    "items, draws from the posterior, no floor": (
        CertaintyEquivalenceOptions(spread=1.0, floor=0.0),
        True,
    ),
    "items, the estimate above the floor": (CertaintyEquivalenceOptions("estimate"), True),
    "items, gain and floor": (CertaintyEquivalenceOptions("gain"), True),
}
"""Settings of the learner, and whether it sees items."""


def run_learners(
    size: int, budget: int, epochs: int, warm_up: int, *, replications: int, seed: int
) -> pd.DataFrame:
    """Run learners with several settings on feeds drawn anew for each replication.

    ``whole`` and ``later`` are shares of the reward of the index with known rates, over all epochs
    and after the warm-up.
    """
    rows = []
    for draw in range(replications):
        feeds, items, *own = np.random.default_rng([seed, 5, draw]).spawn(2 + len(LEARNERS))
        sources = sample_feeds(size, feeds)
        content = sample_items(Arrivals(sources, Utility("exponential")), epochs, items)
        informed = index_rewards(sources, budget, epochs)
        for (name, (options, sees_items)), rng in zip(LEARNERS.items(), own, strict=True):
            run = CertaintyEquivalence(size, options).play(
                sources, content if sees_items else content.worth, budget, rng
            )
            shares = (float(run.expected[a:].sum() / informed[a:].sum()) for a in (0, warm_up))
            rows.append((draw, name, *shares))
    return pd.DataFrame(rows, columns=["draw", "learner", "whole", "later"])


def predict_values(sources: Sources, budget: int, epochs: int, warm_up: int) -> dict[str, float]:
    """Value per fetch that the model expects of each policy on the epochs after `warm_up`.

    The deterministic model, started alike, for policies that look at ages; the mean over its draws
    for LambdaCrawl; none for Nutch, whose dates depend on what it finds.
    """
    fixed = best_fixed_frequencies(sources, budget)
    policies: dict[str, Policy | str] = {
        "index": "whittle",
        "fixed_frequencies": fixed,
        "round_robin": "round-robin",
    }
    rewards = {
        name: simulate(sources, policy, budget, epochs, initial_state="fresh").reward[warm_up:]
        for name, policy in policies.items()
    }
    expected = {name: float(reward.mean()) / budget for name, reward in rewards.items()}
    drawn = mean_random_reward(sources, lambdacrawl(sources, budget).frequency, epochs)[warm_up:]
    lambda_crawl = float(drawn.mean()) / budget
    return expected | {"learned_index": expected["index"], "lambda_crawl": lambda_crawl}


def mean_random_reward(sources: Sources, frequency: Floats, epochs: int) -> Floats:
    """Mean reward at each epoch when source i is crawled with probability p_i, from a fresh start.

    The mean content m before a crawl follows m(t + 1) = (1 - p) alpha m(t) + u, m(0) = u.
    """
    retention = (1.0 - frequency) * sources.alpha
    limit = sources.u / (1.0 - retention)
    content = limit + (sources.u - limit) * retention ** np.arange(epochs)[:, None]
    return np.asarray(content @ frequency)


def value_per_fetch(runs: Floats, warm_up: int) -> Floats:
    """Value found over fetches made, after `warm_up`, one number a site; nan without fetches."""
    value, fetches = runs[:, 0, warm_up:].sum(axis=1), runs[:, 1, warm_up:].sum(axis=1)
    return np.divide(value, fetches, out=np.full(len(runs), np.nan), where=fetches > 0)


def value_per_place(runs: Floats, warm_up: int, budget: int) -> Floats:
    """Value found over fetches that the budget allows, after `warm_up`; one number a site."""
    return runs[:, 0, warm_up:].mean(axis=1) / budget


def crawl_with_faults(
    sources: Sources,
    budget: int,
    *,
    untroubled: Mapping[str, Floats],
    shares: list[float],
    outage: int,
    warm_up: int,
    seed: int,
) -> pd.DataFrame:
    """Crawl by the index policy with known rates where fetches fail.

    Faults last one epoch each, at several shares, or `outage` epochs at the largest share, with
    patience and without. Of single faults there is the bound on every policy: a fetch that fails
    with probability p leaves (1 - p) M successes an epoch on average.
    """
    replications, _, epochs = untroubled["index"].shape
    rows: list[dict[str, Any]] = []

    def add(faults: str, share: float, patience: int, runs: Floats) -> None:
        bound = relaxed_bound(sources, budget * (1 - share))[0] / budget
        value = Estimate.of(value_per_place(runs, warm_up, budget))
        fetches = runs[:, 1, warm_up:].sum()  # none, where all sources rest after failures
        failed = float(runs[:, 3, warm_up:].sum() / fetches) if fetches else 0.0
        row = {"faults": faults, "share": share, "patience": patience}
        row |= {"value": value.value, "low": value.low, "high": value.high, "failed": failed}
        rows.append(row | {"bound": bound if faults == "single" else np.nan})

    def crawl(share: float, last: int, patience: int) -> Floats:
        options = {"share": share, "last": last, "patience": patience, "policies": ("index",)}
        count = {"replications": replications, "seed": seed}
        runs = crawl_sites(sources, budget, epochs, **count, **options)  # type: ignore[arg-type]
        return runs["index"]

    add("single", 0.0, 64, untroubled["index"])
    for share in shares:
        add("single", share, 64, crawl(share, 1, 64))
    for patience in (1, 64):
        add("outage", max(shares), patience, crawl(max(shares), outage, patience))
    return pd.DataFrame(rows)


def compare_with_http(
    sources: Sources, budget: int, epochs: int, *, seed: int, kill: bool
) -> dict[str, float]:
    """Crawl one site over HTTP, killed in the middle if wanted, against the crawl in process.

    The site has errors, broken feeds and a slow host; a source is forbidden by robots.txt and a
    host asks for a crawl delay. Time-outs are left to the tests: their length is real time.
    """
    rng = np.random.default_rng([seed, 7])
    faults = random_faults(len(sources), epochs, 0.1, rng)
    faults[faults == Fault.SILENCE] = Fault.ERROR
    robots = {
        0: "User-agent: *\nDisallow: /feed/\n",
        1: f"User-agent: *\nCrawl-delay: {3 * DAY}\n",
    }
    delay = np.where(np.arange(len(sources)) == 2, 0.02, 0.0)
    site = random_site(
        sources, epochs, rng, seconds=DAY, faults=faults, robots=robots, delay=delay, length=25
    )
    point = {"budget": budget, "epochs": epochs, "patience": 64}
    settings = _make_settings(point, "learned_index") | {"DOWNLOAD_TIMEOUT": 60.0}
    with tempfile.TemporaryDirectory() as around, FeedServer(site) as server:
        folder, urls = Path(around), server.urls()
        crawl_in_process(site, settings, folder=folder / "in-process", urls=urls)
        in_process = Store(folder / "in-process")
        frame, contents = in_process.frame(), in_process.contents()
        in_process.close()
        write_sources(folder / "sources.csv", sources, urls)
        settings["CRAWL_SOURCES"] = str(folder / "sources.csv")
        settings["JOBDIR"] = str(folder / "http")
        if kill:
            _kill_in_the_middle(server, settings, folder / "http", len(frame) // 2)
        crawl_over_http([settings])
        over_network = Store(folder / "http")
        differ = [name for name, rows in over_network.contents().items() if rows != contents[name]]
        over_network.close()
        if differ:
            raise RuntimeError(f"the crawl over HTTP is not that in process: {', '.join(differ)}")
    kinds = frame["kind"].value_counts()
    return {
        "fetches": len(frame),
        "values": sum(len(row) for rows in contents.values() for row in rows),
        "failed": int(kinds.get("failed", 0)),
        "forbidden": int(kinds.get("forbidden", 0)),
        "unchanged": int((frame["status"] == 304).sum()),
    }


def _kill_in_the_middle(
    server: FeedServer, settings: Mapping[str, Any], folder: Path, fetches: int
) -> None:
    """Start a crawl and kill it (SIGKILL) while an epoch is open."""
    before = len(server.served)
    deadline = time.monotonic() + 120
    with child([settings]) as process:
        while process.poll() is None and time.monotonic() < deadline:
            if len(server.served) - before >= fetches and fetches_since_state(folder):
                break
            time.sleep(0.005)
        process.kill()


def _make_settings(point: Mapping[str, Any], policy: str) -> dict[str, Any]:
    return {
        "CRAWL_BUDGET": point["budget"],
        "CRAWL_EPOCHS": point["epochs"],
        "CRAWL_POLICY": f"analysis.crawl.policies.{policy}",
        "CRAWL_PATIENCE": point["patience"],
        "CRAWL_CLOCK": "virtual",
        "CRAWL_PERIOD": DAY,
        "CRAWL_LOG_EPOCHS": point["epochs"],
    }


def _sum_by_epoch(log: pd.DataFrame, epochs: int) -> Floats:
    """Sum up each epoch: value found, fetches, answers 304, failures; shape (4, epochs)."""
    epoch = log["epoch"].to_numpy(dtype=np.intp)
    kinds = {
        "value": log["reward"].to_numpy(),
        "fetches": np.ones(len(log)),
        "unchanged": (log["status"] == 304).to_numpy(),
        "failed": (log["kind"] != FOUND).to_numpy(),
    }
    return np.array([np.bincount(epoch, weights, minlength=epochs) for weights in kinds.values()])


def format_with_half(table: pd.DataFrame) -> list[str]:
    """Write each value with half the length of its interval."""
    half = (table["high"] - table["low"]) / 2
    return [f"{v:.3f} ± {h:.3f}" for v, h in zip(table["value"], half, strict=True)]


# Values and tables


def compare_policies(
    runs: Mapping[str, Floats], sources: Sources, budget: int, warm_up: int
) -> pd.DataFrame:
    """Compare the policies side by side, and save their values.

    What is a share of fetches is nan for a policy that makes none.
    """
    expected = predict_values(sources, budget, runs["index"].shape[2], warm_up)
    bound = relaxed_bound(sources, budget)[0] / budget
    save_value("crawler-bound", bound)
    save_value("crawler-nutch-limit", 100 * np.log(1.4) / (np.log(1.4) + np.log(1.25)))
    rows = []
    for name, policy in POLICIES.items():
        after = runs[policy][:, :, warm_up:]
        estimate = Estimate.of(value_per_place(runs[policy], warm_up, budget))
        fetches, total_fetches = float(after[:, 1].mean()), float(after[:, 1].sum())
        unchanged = float(after[:, 2].sum()) / total_fetches if total_fetches else np.nan
        low, share, high = (100 * v / bound for v in (estimate.low, estimate.value, estimate.high))
        count = estimate.replications
        save_value(f"crawler-{SHORT[name]}-share", share, interval=(low, high), replications=count)
        per_site = value_per_fetch(runs[policy], warm_up)
        per_fetch = float(per_site[~np.isnan(per_site)].mean()) if total_fetches else np.nan
        model = expected.get(policy, np.nan)
        value = (estimate.value, *estimate.interval, model)
        rows.append((name, *value, fetches, unchanged, per_fetch))
    columns = ["policy", "value", "low", "high", "expected", "fetches", "share_304", "per_fetch"]
    _save_ratio(runs, expected, warm_up)
    table = pd.DataFrame(rows, columns=columns).assign(bound=bound)
    by_policy = table.set_index(table["policy"].map(SHORT))
    for short in ("index", "robin", "nutch"):  # nutch's is shown only where it fetched
        save_value(f"crawler-{short}-304", 100 * by_policy["share_304"].fillna(0.0)[short])
    save_value("crawler-nutch-fetches", by_policy["fetches"]["nutch"])
    save_value("crawler-nutch-fetched", bool(by_policy["fetches"]["nutch"] > 0))
    fixed_of_index = by_policy["value"]["fixed"] / by_policy["value"]["index"]
    save_value("crawler-fixed-of-index", fixed_of_index)
    save_value("crawler-fixed-close", bool(abs(fixed_of_index - 1) < 0.03))
    modelled = table[table["policy"].map(POLICIES) != "learned_index"].dropna(subset="expected")
    save_value(
        "crawler-off", 100 * float((modelled["value"] / modelled["expected"] - 1).abs().max())
    )
    return table


def tabulate_policies(table: pd.DataFrame) -> pd.DataFrame:
    """Format the comparison for the page."""
    half = (table["high"] - table["low"]) / 2
    columns = {
        "value per allowed fetch": format_with_half(table),
        "model": _format_or_none(table["expected"], ".3f"),
        "of the bound (%)": [
            format_plus_minus(100 * value / bound, 100 * half / bound, 1)
            for value, half, bound in zip(table["value"], half, table["bound"], strict=True)
        ],
        "fetches per epoch": table["fetches"].map("{:.2f}".format),
        "value per fetch made": _format_or_none(table["per_fetch"], ".3f"),
        "304 (%)": _format_or_none(100 * table["share_304"], ".1f"),
    }
    return pd.DataFrame(columns).set_index(pd.Index(table["policy"], name="policy"))


def _format_or_none(values: pd.Series, digits: str) -> list[str]:
    return ["none" if np.isnan(value) else format(value, digits) for value in values]


def save_sites(runs: Mapping[str, Floats], warm_up: int, budget: int) -> None:
    """Save the value found by each policy on each site."""
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


def save_http(facts: Mapping[str, float]) -> None:
    """Save two counts of `compare_with_http`."""
    save_values("crawler-http", {name: facts[name] for name in ("fetches", "values")})


def save_trouble(table: pd.DataFrame, outage: int) -> None:
    """Save what prose quotes, in % of the value without faults."""
    single = table[table["faults"] == "single"]
    first, last = single.iloc[0], single.iloc[-1]
    hasty, patient = (table[table["faults"] == "outage"].iloc[number] for number in (0, 1))
    save_value("crawler-worst", 100 * last["share"])
    worst = 100 * last["value"] / first["value"]
    save_value("crawler-worst-value", worst)
    save_value("crawler-loses-less", bool(worst > 100 - 100 * last["share"]))
    save_value("crawler-worst-bound", 100 * last["bound"] / first["bound"])
    save_value("crawler-outage", outage)
    for name, row in (("hasty", hasty), ("patient", patient)):
        save_value(f"crawler-{name}", 100 * row["value"] / first["value"])
        save_value(f"crawler-{name}-failed", 100 * row["failed"])


def _save_ratio(runs: Mapping[str, Floats], expected: Mapping[str, float], warm_up: int) -> None:
    """Save index : round robin, measured site by site and predicted."""
    index, robin = (runs[name][:, 0, warm_up:].sum(axis=1) for name in ("index", "round_robin"))
    ratio = Estimate.of(index / robin)
    save_value(
        "crawler-ratio", ratio.value, interval=ratio.interval, replications=ratio.replications
    )
    predicted = expected["index"] / expected["round_robin"]
    save_value("crawler-ratio-expected", predicted)
    save_value("crawler-as-modelled", bool(ratio.low <= predicted <= ratio.high))


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
    for name, rows_of_learner in runs.groupby("learner", sort=False):
        all_epochs, later = (
            Estimate.of(100 * rows_of_learner[c].to_numpy()) for c in ("whole", "later")
        )
        rows[name] = {
            "all days (%)": all_epochs.value,
            "± (95%)": all_epochs.half_width or np.nan,  # a dash where all draws agree
            "after the warm-up (%)": later.value,
            "± (95%) after": later.half_width or np.nan,
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
    for short, name in (("sums", SEES_SUMS), ("items", SEES_ITEMS)):
        save_value(f"crawler-learner-{short}", float(table["all days (%)"][name]))
    with_items, with_sums = (
        runs[runs.learner == n].whole.to_numpy() for n in (SEES_ITEMS, SEES_SUMS)
    )
    gain = Estimate.of(100 * (with_items - with_sums))
    save_value(
        "crawler-learner-gain", gain.value, interval=gain.interval, replications=len(with_items)
    )
    save_value("crawler-learner-gain-half", gain.half_width)
    save_value("crawler-learners-differ", bool(gain.half_width > 0))


# Figures


STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))


def draw_policies(table: pd.DataFrame, sites: int) -> None:
    """Draw the comparison: a dot with its interval a policy, the model's mark, and the bound."""
    position = np.arange(len(table))[::-1]
    error = np.array([table["value"] - table["low"], table["high"] - table["value"]])
    values_text = _values_text(table["policy"], table["value"])
    best = int(table["value"].to_numpy().argmax())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.errorbar(table["value"], position, xerr=error, fmt="o", capsize=3, label="crawled")
        axis.plot(table["expected"], position, "|", markersize=15, mew=2, label="model")
        axis.axvline(table["bound"][0], color=ink(), linewidth=1, label="relaxed bound")
        axis.set_yticks(position, fold_names(figure, table["policy"]))
        axis.set(xlabel="value found per allowed fetch (utility)", ylim=(-0.6, len(table) - 0.4))
        axis.set_xlim(left=0)
        add_legend(figure)
        return table

    save_figure(
        "crawler-policies",
        draw,
        f"Value found per fetch that the budget allows: mean over {sites} random sites with 95% "
        "intervals, what the model expects, and the relaxed bound. Most is found by the policy "
        f"*{table['policy'].iloc[best]}*.",
        "One dot a policy with its interval, and a mark where the model puts it. Crawled: "
        f"{values_text}. The bound is {table['bound'][0]:.3f}.",
        instances="crawler-sites",
        height=3.4,
    )


def draw_learning(runs: Mapping[str, Floats], sources: Sources, budget: int) -> None:
    """Draw value per allowed fetch in blocks of time."""
    epochs = runs["index"].shape[2]
    blocks = np.linspace(0, epochs, min(11, epochs + 1)).astype(int)
    middle = 0.5 * (blocks[1:] + blocks[:-1])
    bound = relaxed_bound(sources, budget)[0] / budget
    data = []
    for name, policy in POLICIES.items():
        total = np.pad(np.cumsum(runs[policy][:, 0], axis=1), ((0, 0), (1, 0)))
        rate = np.diff(total[:, blocks], axis=1) / np.diff(blocks) / budget
        mean, low, high = student_band(rate)
        columns = {"policy": name, "epoch": middle, "mean": mean, "low": low, "high": high}
        data.append(pd.DataFrame(columns))
    frame = pd.concat(data)
    ends = frame.groupby("policy", sort=False)["mean"].agg(["first", "last"])
    values_text = ", ".join(
        f"{name} {first:.3f} to {last:.3f}" for name, first, last in ends.itertuples()
    )
    learned = next(name for name, policy in POLICIES.items() if policy == "learned_index")
    early, late = ends.loc[learned]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (name, policy), colour, style in zip(POLICIES.items(), COLOURS, STYLES, strict=False):
            rows = frame[frame["policy"] == name]
            axis.plot(rows["epoch"], rows["mean"], color=colour, linestyle=style, label=name)
            if policy in {"index", "learned_index"}:
                band = {"color": colour, "alpha": 0.2, "linewidth": 0}
                axis.fill_between(rows["epoch"], rows["low"], rows["high"], **band)
        axis.axhline(bound, color=ink(), linewidth=1)
        axis.set(xlabel="epoch (days)", ylabel="value per allowed fetch (utility)")
        axis.set(ylim=(0, None), xlim=(0, epochs))
        add_legend(figure)
        return frame

    save_figure(
        "crawler-learning",
        draw,
        f"The same crawls in {len(middle)} blocks of time: means over {len(runs['index'])} sites, "
        "95% bands for the two index policies, and the relaxed bound as a line. The policy "
        f"*{learned}* finds {early:.3f} for each allowed fetch in the first block and {late:.3f} "
        "in the last.",
        "Curves of value per allowed fetch over time, first block to last: "
        f"{values_text}. The bound is {bound:.3f}.",
        height=3.8,
    )


def draw_trouble(table: pd.DataFrame, sites: int, outage: int) -> pd.DataFrame:
    """Draw and record what failing fetches cost; return the table of the page."""
    single = table[table["faults"] == "single"]
    share = 100 * single["share"]
    error = np.array([single["value"] - single["low"], single["high"] - single["value"]])
    shares = [f"{value:g}% of failures" for value in share]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.errorbar(share, single["value"], error, marker="o", capsize=3, label="crawled")
        axis.plot(share, single["bound"], ":", color=ink(), label="bound on every policy")
        axis.set(xlabel="expected share of failing fetches (%)", ylim=(0, None), xticks=share)
        axis.set(ylabel="value per allowed fetch (utility)")
        add_legend(figure)
        return single

    save_figure(
        "crawler-faults",
        draw,
        "What the index policy finds when a share of the fetches fails, by errors, silence and "
        f"broken feeds in equal parts: mean over {sites} sites with 95% intervals, and the bound "
        f"on every policy. With {shares[-1]} it finds "
        f"{single['value'].iloc[-1] / single['bound'].iloc[-1]:.0%} of the bound.",
        f"A line and a dotted bound. Found: {_values_text(shares, single['value'])}.",
        height=3.2,
    )
    save_trouble(table, outage)
    kinds = {"single": "single", "outage": f"outages of {outage} epochs"}
    return pd.DataFrame(
        {
            "faults": table["faults"].map(kinds),
            "share (%)": (100 * table["share"]).map("{:g}".format),
            "longest rest": table["patience"],
            "failed (%)": (100 * table["failed"]).map("{:.1f}".format),
            "value per allowed fetch": format_with_half(table),
        }
    ).set_index("faults")


def _values_text(names: object, values: pd.Series) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in zip(names, values, strict=True))  # type: ignore[call-overload]
