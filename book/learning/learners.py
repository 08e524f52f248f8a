"""The page `learners`: all learners on the same arrivals; crawls at one age.

Settings are each learner's defaults, and do not depend on the budget. Only the scheme of 2019 has a
second set: with many sources its products of states are too many, and sums of states too large for
their square, so it keeps constant thresholds and linear features, and updates the inverse of B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.policies import Policy, RoundRobinPolicy
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.learning.comparison import LearningCurves, compare_at_budgets, compare_learners
from analysis.learning.hard_cases import CASES, INFORMED, LEARNERS
from analysis.learning.loop import CompiledLearner
from analysis.learning.q_learning import (
    LARGEST_TABLE,
    JointQ,
    JointQOptions,
    WhittleQ,
    WhittleQOptions,
)
from analysis.learning.scheme.lspe import Lspe, LspeOptions
from analysis.learning.ucb import AgeBlindUcb, UcWhittle, UcWhittleOptions
from analysis.results import Estimate, least_for_median, student_band
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    fold_names,
    format_plus_minus,
    ink,
    join_words,
    save_data,
    save_figure,
    save_table,
    save_value,
)

Runs = Mapping[int, Mapping[str, LearningCurves]]
SHORT = {
    "ce": "certainty equivalence, UCB",
    "forced": "certainty equivalence, forced",
    "thompson": "certainty equivalence, Thompson",
    "wq": "Whittle-index Q-learning",
    "ucw": "UCWhittle",
    "lspe": "LSPE(0), corrected",
    "joint": "joint Q-learning",
    "blind": "age-blind UCB1",
}
#: Sources up to which the 2019 scheme has quadratic thresholds and features.
FEW = 8
#: Options of the scheme with more sources; B begins at the identity, so that it has an inverse.
MANY = {"threshold": "constant", "features": "linear", "regulariser": "sherman-morrison"}
#: Cases in which the arrival rates do not change.
CONSTANT = ("empty start", "sparse and heavy")
#: Three ordinary sources on which estimates confirm themselves. Crawls of a source at one age k
#: determine u* (1 - e^{-mu k}) alone: each pair (u*, mu) of that product explains them. Where the
#: index of such a pair keeps the source at age k, nothing more is learned.
ONE_AGE = Sources(
    np.array([7.0, 6.0, 33.0]), np.array([0.4, 2.0, 0.7]), np.array([0.95, 0.12, 0.61])
)
#: Ways to explore that are played on them, by the short names of values.
WAYS = {"ucb": "UCB", "forced": "forced", "thompson": "Thompson"}


def list_learners(sources: Sources, budget: int) -> dict[str, Callable[[], CompiledLearner]]:
    """Return functions that make new learners; joint Q-learning only if its table is small."""
    size = len(sources)
    many = {} if size <= FEW else MANY
    learners: dict[str, Callable[[], CompiledLearner]] = {
        "certainty equivalence, UCB": _certainty(size, "ucb", 2),
        "certainty equivalence, forced": _certainty(size, "forced", 4),
        "certainty equivalence, Thompson": _certainty(size, "thompson", 2),
        "LSPE(0), corrected": partial(Lspe, sources, LspeOptions.corrected(**many)),
        "Whittle-index Q-learning": partial(WhittleQ, size),
        "UCWhittle": partial(UcWhittle, size),
    }
    if JointQOptions().oldest ** size * comb(size, budget) <= LARGEST_TABLE:
        learners["joint Q-learning"] = partial(JointQ, size, budget)
    learners["age-blind UCB1"] = partial(AgeBlindUcb, size)
    return learners


def compare_by_budget(
    sources: Sources, budgets: list[int], *, horizon: int, replications: int, seed: int
) -> dict[int, dict[str, LearningCurves]]:
    """Run all learners on the same arrivals, with exponential utilities, at each budget."""
    return compare_at_budgets(
        sources,
        {budget: list_learners(sources, budget) for budget in budgets},
        horizon=horizon,
        replications=replications,
        seed=seed,
        utility=Utility("exponential"),
    )


def run_at_one_age(horizon: int, replications: int, seed: int) -> dict[str, LearningCurves]:
    """Run the three exploration rules on the same arrivals, one source crawled an epoch."""
    learners = list_learners(ONE_AGE, 1)
    return compare_learners(
        ONE_AGE,
        {key: learners[f"certainty equivalence, {name}"] for key, name in WAYS.items()},
        1,
        horizon=horizon,
        replications=replications,
        seed=seed,
        utility=Utility("exponential"),
    )


def late_loss(curves: LearningCurves) -> float:
    """Return the loss over the last fifth of the epochs, in %."""
    return float(100 * late_losses(curves).mean())


def late_losses(curves: LearningCurves) -> Floats:
    """Return the share lost over the last fifth of the epochs, by run."""
    late = slice(-(curves.reference.size // 5), None)
    return 1 - curves.expected[:, late].mean(axis=1) / curves.reference[late].mean()


def check_within_limit(runs: Runs, limit: float) -> pd.DataFrame:
    """Return for each exploration rule whether its interval's upper end is within a limit, in %."""
    rows = {}
    for budget, learners in runs.items():
        for name, curves in learners.items():
            if name.startswith("certainty"):
                loss = curves.loss
                rows[f"M = {budget}, {name.split(', ')[1]}"] = {
                    "loss (%)": 100 * loss.value,
                    "upper end (%)": 100 * loss.high,
                    f"within {limit:g}%": bool(100 * loss.high < limit),
                }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("certainty equivalence")


def estimate_difference(first: LearningCurves, second: LearningCurves) -> Estimate:
    """Estimate the loss of the first above the second, paired by streams where neither diverged."""
    if first.expected.shape != second.expected.shape:
        first_loss, second_loss = first.loss, second.loss
        ends = (first_loss.low - second_loss.high, first_loss.high - second_loss.low)
        return Estimate(
            first_loss.value - second_loss.value,
            *ends,
            min(first_loss.replications, second_loss.replications),
        )
    return Estimate.of((second.expected - first.expected).sum(axis=1) / first.reference.sum())


def accumulate_loss(curves: LearningCurves) -> tuple[Floats, Floats]:
    """Return epochs at equal ratios, and the loss until then in each run, in %."""
    horizon = curves.reference.size
    epochs = np.unique(np.geomspace(min(10, horizon), horizon, 60).astype(int))
    earned = np.cumsum(curves.expected, axis=1)[:, epochs - 1]
    return epochs, 100 * (1 - earned / np.cumsum(curves.reference)[epochs - 1])


def list_held_cases(table: pd.DataFrame) -> dict[str, list[str]]:
    """Return the cases in which each learner holds."""
    learned = table[table.learner != INFORMED]
    return {name: list(rows.case[rows.holds]) for name, rows in group_rows(learned, "learner")}


def find_most_robust(table: pd.DataFrame) -> str:
    """Return the learner whose largest regret over the cases is the smallest."""
    learned = table[table.learner != INFORMED]
    worst = {name: float(rows.regret.max()) for name, rows in group_rows(learned, "learner")}
    return min(worst, key=worst.__getitem__)


def memory_costs(table: pd.DataFrame) -> bool:
    """Return whether UCB has a greater mean regret with a memory wherever rates are constant."""
    mean = table.set_index(["case", "learner"]).regret
    return all(bool(mean[case, "UCB with a memory"] > mean[case, "UCB"]) for case in CONSTANT)


def iterate_rows(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table as named tuples."""
    return list(table.itertuples())


def group_rows(table: pd.DataFrame, column: str) -> list[tuple[str, Any]]:
    """Return the groups of equal values in a column, in the order of the table."""
    return [(str(key), rows) for key, rows in table.groupby(column, sort=False)]


def _certainty(size: int, exploration: str, forced: int) -> Callable[[], CompiledLearner]:
    options = CertaintyEquivalenceOptions(
        exploration, forced=forced, confidence=0.5, spread=1.0, floor=0.0
    )
    return partial(CertaintyEquivalence, size, options)


# Values and tables


def save_losses(id: str, runs: Mapping[str, LearningCurves], size: int, budget: int) -> None:
    """Save the table of `tabulate_losses`; `size` is the number of sources."""
    table = tabulate_losses(runs)
    same = "± (95%)" in table and table["± (95%)"].isna().any()
    unless = ", none where all runs lose the same" if same else ""
    save_table(
        id,
        table,
        f"Loss against the index policy, {size} sources, $M = {budget}$: over all epochs ± half "
        f"of the 95% interval{unless}, over the last fifth, epochs to 95% and 99% of its long-run "
        f"reward (median and 95% interval, which takes {least_for_median()} runs), and runs that "
        "diverged.",
        formats={"loss (%)": ".3f", "± (95%)": ".2g", "last fifth (%)": ".3f"},
    )


def tabulate_losses(runs: Mapping[str, LearningCurves]) -> pd.DataFrame:
    """Return loss, late loss, epochs to 95% and 99%, and divergence of each learner."""
    rows: dict[str, dict[str, float | str]] = {}
    for name, curves in runs.items():
        rows[name] = {}
        if len(curves.expected) > 1:
            loss = curves.loss
            rows[name] |= {
                "loss (%)": 100 * loss.value,
                "± (95%)": 100 * loss.half_width or np.nan,
                "last fifth (%)": late_loss(curves),
                "epochs to 95%": _format_median(curves.steps_to(0.95)),
                "epochs to 99%": _format_median(curves.steps_to(0.99)),
            }
        rows[name]["diverged"] = len(curves.diverged)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("learner")


def save_within(runs: Runs, limit: float) -> None:
    """Save the table of `check_within_limit`."""
    save_table(
        "learners-within",
        check_within_limit(runs, limit),
        "Whether the loss of each way to explore, the start included, lies within "
        f"{limit:g}% of the index policy's reward at the upper end of its 95% interval.",
        formats=".4f",
    )


def describe_leaders(runs: Mapping[str, Runs]) -> str:
    """Return the learner of least loss in each comparison, in Markdown."""
    lines = []
    for sources, budgets in runs.items():
        for budget, learners in budgets.items():
            converged = {n: c for n, c in learners.items() if len(c.expected) > 1}
            first = min(converged, key=lambda name: converged[name].loss.value)
            rivals = [
                name
                for name in converged
                if name != first and estimate_difference(converged[name], converged[first]).low <= 0
            ]
            tied = f"; {' and '.join(rivals)} not significantly more" if rivals else ""
            lines.append(
                f"- {sources}, *M* = {budget}: **{first}** loses least, "
                f"{100 * converged[first].loss.value:.2g}%{tied}."
            )
    return "\n".join(lines)


def save_comparisons(few: Sources, few_runs: Runs, larger: Sources, many_runs: Runs) -> None:
    """Save the numbers that the page quotes."""
    first, second = few_runs[min(few_runs)], few_runs[max(few_runs)]
    many = many_runs[min(many_runs)]
    _save_losses(first, "learners-{}-loss", ("blind", "ce", "lspe", "thompson", "wq"))
    _save_losses(second, "learners-{}-second-loss", ("ce", "lspe"))
    _save_losses(many, "learners-many-{}-loss", ("ce", "thompson"))
    change = estimate_difference(many[SHORT["ce"]], many[SHORT["thompson"]])
    save_value("learners-many-thompson-gain", 100 * change.value)
    save_value("learners-many-thompson-gain-half", 100 * change.half_width)
    robin_loss = measure_yardstick(few, RoundRobinPolicy(), min(few_runs))
    save_value("learners-robin-loss", robin_loss)
    save_value("learners-myopic-second-loss", measure_yardstick(few, "greedy", max(few_runs)))
    myopic_loss = measure_yardstick(larger, "greedy", min(many_runs))
    save_value("learners-many-myopic-loss", myopic_loss)
    for ordinal, budget in (("", min(many_runs)), ("second-", max(many_runs))):
        crawled = np.count_nonzero(long_run(larger, "whittle", budget).frequency)
        save_value(f"learners-many-{ordinal}used", int(crawled))
    counted = [c for runs in (few_runs, many_runs) for row in runs.values() for c in row.values()]
    save_value("learners-all-runs", sum(len(c.expected) + len(c.diverged) for c in counted))
    save_value("learners-all-diverged", sum(len(c.diverged) for c in counted))
    _save_leaders([*few_runs.values(), *many_runs.values()])
    save_value("learners-first-budget", min(few_runs))
    save_value("learners-last-budget", max(few_runs))
    ran = all(len(row[SHORT["lspe"]].expected) > 1 for row in few_runs.values())
    save_value("learners-lspe-ran", ran)
    save_value("learners-few", len(few))
    save_value("learners-many", len(larger))
    save_value("learners-rarest", float(larger.arrival_rate.min()))
    save_value("learners-most", float(larger.arrival_rate.max()))
    oldest, ages = WhittleQOptions().oldest, JointQOptions().oldest
    save_value("learners-wq-numbers", 2 * oldest**2 + oldest)
    save_value("learners-ucw-ages", UcWhittleOptions().oldest)
    save_value("learners-joint-ages", ages)
    save_value("learners-joint-states", ages ** len(few))
    save_value("learners-joint-digits", len(str(ages ** len(larger))))


def save_repeated(few: Sources, runs: Mapping[str, LearningCurves]) -> None:
    """Save which share of the late crawls at a budget of one follow a crawl of the same source."""
    blind = runs["age-blind UCB1"]
    late = slice(-(blind.reference.size // 5), None)
    # a reward of u_i is a crawl one epoch after another of the same source
    for name, earned in (("blind", blind.expected[:, late]), ("index", blind.reference[late])):
        again = np.isclose(earned[..., None], few.u, rtol=1e-9).any(axis=-1).mean()
        save_value(f"learners-{name}-again", float(again))


def _save_losses(runs: Mapping[str, LearningCurves], id: str, names: Iterable[str]) -> None:
    """Save the losses of learners that did not diverge; `id`: with {} for their short names."""
    for short in names:
        curves = runs.get(SHORT[short])
        if curves is not None and len(curves.expected) > 1:
            loss = curves.loss
            save_value(
                id.format(short), 100 * loss.value,
                interval=(100 * loss.low, 100 * loss.high), replications=loss.replications,
            )  # fmt: skip


def measure_yardstick(arms: Sources, policy: str | Policy, budget: int) -> float:
    """Return what a policy loses in the long run to the index policy, in %; none if it is ahead."""
    index, other = (long_run(arms, p, budget).average_reward for p in ("whittle", policy))
    return max(100 * (1 - other / index), 0.0)


def _save_leaders(comparisons: list[Mapping[str, LearningCurves]]) -> None:
    least = []
    for learners in comparisons:
        losses = {name: c.loss.value for name, c in learners.items() if len(c.expected) > 1}
        least.append(min(losses, key=losses.__getitem__))
    save_value("learners-comparisons", len(least))
    save_value("learners-ce-ahead", least.count(SHORT["ce"]))
    save_value("learners-adaptive-leads", all(name.startswith("certainty") for name in least))


def _format_median(values: Floats) -> str:
    """Write the median, with its 95% interval where there are enough runs for one."""
    if values.size < least_for_median():
        median = float(np.median(values))
        return f"{median:.0f}" if np.isfinite(median) else "never"
    median_estimate = Estimate.median_of(values)
    middle, low, high = (
        f"{v:.0f}" if np.isfinite(v) else "never"
        for v in (median_estimate.value, median_estimate.low, median_estimate.high)
    )
    return f"{middle} ({low}, {high})" if low != "never" else "never"


def describe_hard_cases(table: pd.DataFrame, limit: float) -> str:
    """Describe, in Markdown, the learner of least loss in each case, and those within the limit."""
    lines = []
    for case, rows in group_rows(table[table.learner != INFORMED], "case"):
        best = rows.loc[rows.regret.idxmin()]
        rivals = [
            row.learner
            for row in iterate_rows(rows)
            if row.learner != best.learner and row.low <= best.high
        ]
        shared = f"; the intervals of {join_words(rivals)} overlap with its own" if rivals else ""
        stays, fails = list(rows.learner[rows.holds]), list(rows.learner[~rows.holds])
        none_holds = len(fails) == len(rows)
        verdict = (
            "no learner stays"
            if none_holds
            else f"only {join_words(stays)} stay{'s' if len(stays) == 1 else ''}"
            if len(stays) < len(fails)
            else f"all stay but {join_words(fails)}"
            if fails
            else "all stay"
        )
        lines.append(
            f"- *{case}*: {best.learner} loses least, {100 * best.regret:.1f}% of the "
            f"bound{shared}. Of the others, {verdict} within {100 * limit:.0f}% of the informed "
            "index policy."
        )
    robust = find_most_robust(table)
    held = list_held_cases(table)[robust]
    lost = [case for case in CASES if case not in held]
    within = f"within {100 * limit:.0f}% of the informed index policy"
    end = f"{within} but in {join_words(lost)}" if lost else f"{within} in every case"
    lines.append(f"\n**{robust}** has the smallest worst loss, and stays {end}.")
    return "\n".join(lines)


def tabulate_regrets(table: pd.DataFrame) -> pd.DataFrame:
    """Return regret in % of the bound with half the interval, learners by cases."""
    text = [
        format_plus_minus(100 * row.regret, 50 * (row.high - row.low), 1)
        + ("" if row.holds else " (does not hold)")
        for row in iterate_rows(table)
    ]
    wide = table.assign(text=text).pivot(index="learner", columns="case", values="text")
    return wide.loc[[INFORMED, *LEARNERS], list(CASES)].rename_axis(None, axis=1)


def save_regrets(table: pd.DataFrame, limit: float) -> None:
    """Save the table of `tabulate_regrets`."""
    save_table(
        "learners-hard-regrets",
        tabulate_regrets(table).rename_axis("learner"),
        "Regret in % of the relaxed bound, ± half of its 95% interval. A learner does not "
        f"hold in a case if it may lose more than {100 * limit:.0f}% of the bound to the index "
        "policy that knows the rates.",
    )


def save_hard_cases(table: pd.DataFrame, replications: int, limit: float) -> None:
    """Save the numbers that the page quotes."""
    save_value("learners-hard-limit", limit)
    save_value("learners-memory-costs", memory_costs(table))
    save_value("learners-hard-replications", replications)
    regret = table.set_index(["case", "learner"]).regret
    quoted = [("born and dying", name) for name in ("Thompson", "Thompson with a memory")]
    quoted += [("born and dying", name) for name in ("UCB", "UCB with a memory")]
    for case, learner in quoted:
        name = f"{case} {learner}".lower().replace(" ", "-")
        save_value(f"learners-hard-{name}", 100 * float(regret[case, learner]))


def tabulate_one_age(curves: dict[str, LearningCurves]) -> pd.DataFrame:
    """Return the losses over the last fifth of the epochs in %, over the streams."""
    rows = {}
    for key, name in WAYS.items():
        late = 100 * late_losses(curves[key])
        rows[name] = {
            "least (%)": late.min(),
            "mean (%)": late.mean(),
            "largest (%)": late.max(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("exploration")


def save_one_age(curves: dict[str, LearningCurves]) -> None:
    """Save the table and the numbers that the page quotes."""
    rows = tabulate_one_age(curves)
    replications, horizon = curves["ucb"].expected.shape
    save_value("learners-locked-rarest", float(ONE_AGE.arrival_rate.min()))
    save_value("learners-locked-most", float(ONE_AGE.arrival_rate.max()))
    for key in ("ucb", "thompson"):
        save_value(f"learners-locked-{key}", float(rows["mean (%)"][WAYS[key]]))
    for key in ("ucb", "forced"):
        save_value(f"learners-locked-{key}-worst", float(rows["largest (%)"][WAYS[key]]))
    save_table(
        "learners-locked",
        rows,
        "Loss against the index policy on three sources with $M = 1$, over the last fifth of "
        f"{horizon} epochs, in {replications} streams of arrivals.",
        formats={"least (%)": ".3f", "mean (%)": ".3f", "largest (%)": ".3f"},
    )


# Claims


#: Share of the index policy's reward up to which a learner passes for an adaptive version of it.
LOST = 0.01


def claims(few_runs: Runs) -> list[Claim]:
    """Return the page's claims on the row on the adaptive version."""
    losses = {budget: runs[SHORT["ce"]].loss for budget, runs in few_runs.items()}
    epochs = next(iter(few_runs.values()))[SHORT["ce"]].reference.size
    shares = [
        {"loss": (100 * loss.value, 100 * loss.half_width), "budget": budget}
        for budget, loss in losses.items()
    ]
    return [
        claim(
            "A-r-fut-adaptive",
            max(loss.high for loss in losses.values()) < LOST,
            numbers={"losses": shares, "epochs": epochs, "cut": LOST},
        )
    ]


# Figures


STYLES = {
    "certainty equivalence, UCB": (COLOURS[0], "-"),
    "certainty equivalence, forced": (COLOURS[5], "--"),
    "certainty equivalence, Thompson": (COLOURS[2], "-."),
    "LSPE(0), corrected": (COLOURS[3], (0, (5, 1, 1, 1))),
    "Whittle-index Q-learning": (COLOURS[1], "--"),
    "UCWhittle": (COLOURS[1], "-."),
    "joint Q-learning": (COLOURS[4], ":"),
    "age-blind UCB1": (COLOURS[6], (0, (1, 1))),
}
LEAST_LOSS = 0.01
"""Per cent; where a smaller loss is drawn."""


def draw_loss(id: str, runs: Runs, size: int) -> None:
    """Draw the share of the index policy's reward that was lost so far, with 95% bands."""
    data = []
    for budget, learners in runs.items():
        for name, curves in learners.items():
            if len(curves.expected) < 2:
                continue
            epochs, lost = accumulate_loss(curves)
            mean, low, high = student_band(lost)
            row = {"budget": budget, "learner": name, "epoch": epochs, "mean": mean}
            data.append(pd.DataFrame(row | {"low": low, "high": high}))
    frame = pd.concat(data)
    last = frame.groupby(["budget", "learner"], sort=False)["mean"].last()
    values_text = "; ".join(
        f"M = {budget}: " + ", ".join(f"{n} {v:.2g}" for n, v in last[budget].items())
        for budget in runs
    )
    least = "; ".join(f"{last[budget].idxmin()} at $M = {budget}$" for budget in runs)
    count = max(len(c.expected) for row in runs.values() for c in row.values())
    _save_runs(f"{id}-runs", runs, size)

    def draw(figure: Figure) -> pd.DataFrame:
        panels = zip(add_panels(figure, len(runs), sharey=True), runs, strict=True)
        for axis, budget in panels:
            by_name = frame[frame.budget == budget].groupby("learner", sort=False)
            for name, rows in by_name:
                colour, style = STYLES[str(name)]
                least = rows[["low", "high", "mean"]].clip(lower=LEAST_LOSS)
                band = {"color": colour, "alpha": 0.2, "linewidth": 0}
                axis.fill_between(rows.epoch, least["low"], least["high"], **band)
                axis.plot(rows.epoch, least["mean"], color=colour, linestyle=style, label=name)
            axis.set(xscale="log", yscale="log", title=f"$M = {budget}$", xlabel="epoch")
            axis.set(xlim=(rows.epoch.min(), rows.epoch.max()), ylim=(LEAST_LOSS, 100))
        figure.supylabel("loss so far (% of the index policy's reward)")
        add_legend(figure)
        return frame

    save_figure(
        id,
        draw,
        f"Share of the index policy's reward that was lost so far, {size} sources, mean of {count} "
        f"runs with 95% bands (smaller losses are drawn as {LEAST_LOSS:g}%). A flat line is a loss "
        "that never stops; one that falls tenfold in a tenfold time loses nothing more. The "
        f"least at the end: {least}.",
        f"Loss so far on logarithmic axes for {size} sources. Per cent lost at the end: "
        f"{values_text}.",
        instances=f"{id}-runs",
        height=4.2,
    )


def _save_runs(id: str, runs: Runs, size: int) -> None:
    """Save what every single run lost."""
    frames = [
        pd.DataFrame(
            {
                "budget": budget,
                "learner": name,
                "run": np.arange(len(curves.expected)),
                "loss": 100 * (1 - curves.expected.sum(axis=1) / curves.reference.sum()),
                "late_loss": 100 * late_losses(curves),
                "found": curves.reward,
            }
        )
        for budget, learners in runs.items()
        for name, curves in learners.items()
    ]
    save_data(
        id,
        pd.concat(frames, ignore_index=True),
        f"One row a run that did not diverge, of a learner at a budget, with {size} sources.",
        {
            "budget": "sources crawled at each epoch",
            "learner": "name of the learner",
            "run": "number of the run among those that did not diverge",
            "loss": "share of the index policy's expected reward that was lost, %",
            "late_loss": "the same over the last fifth of the epochs, %",
            "found": "content found per epoch, value units",
        },
    )


def draw_hard_cases(table: pd.DataFrame, replications: int) -> None:
    """Draw the regret of each learner with 95% intervals, one panel a case."""
    names = [INFORMED, *LEARNERS]
    best = {
        case: rows.loc[rows.regret.idxmin(), "learner"]
        for case, rows in group_rows(table[table.learner != INFORMED], "case")
    }
    leaders = "; ".join(f"{case}: {name}" for case, name in best.items())
    worst = {case: float(rows.regret.max()) for case, rows in group_rows(table, "case")}
    caption = (
        f"Regret against the relaxed bound: mean of {replications} draws of sources and arrivals "
        f"with 95% intervals. The learner that loses least, {leaders}."
    )
    alt = "Regret in % of the bound by case and learner. " + "; ".join(
        f"{case}: least {best[case]}, most {100 * value:.0f}" for case, value in worst.items()
    )

    def draw(figure: Figure) -> pd.DataFrame:
        panels = add_panels(figure, len(CASES), 2, sharex=True, sharey=True)
        height = np.arange(len(names))[::-1]
        for axis, case in zip(panels, CASES, strict=True):
            rows = table[table.case == case].set_index("learner")
            rows = 100 * rows.loc[names, ["regret", "low", "high"]]
            bar = {"capsize": 2, "markersize": 5, "linestyle": "none"}
            reach = np.array([rows.regret - rows.low, rows.high - rows.regret])
            axis.errorbar(rows.regret, height, xerr=reach, fmt="o", color=COLOURS[0], **bar)
            axis.plot(rows.regret.iloc[0], height[0], "o", color=ink(), markersize=6)
            axis.axvline(0, color=ink(), linewidth=0.6)
            axis.set_yticks(height, fold_names(figure, names))
            axis.set_title(case)
        figure.supxlabel("regret (% of the relaxed bound)")
        return table

    save_figure(
        "learners-hard",
        draw,
        caption,
        f"{alt}.",
        height=5.6,
    )
