"""Experiments, pictures, tables and numbers of the page that holds the learners side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.policies import RoundRobinPolicy
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.learning.baselines import JointQOptions
from analysis.learning.comparison import LearningCurves, compare_at_budgets
from analysis.learning.environment import Floats
from analysis.learning.studies.learners import side_by_side
from analysis.learning.uc_whittle import UcWhittleOptions
from analysis.learning.whittle_q import WhittleQOptions
from analysis.report import COLOURS, figure, save_data, save_figure, save_table, save_value
from analysis.results import Estimate, least_for_median, student_band

Runs = Mapping[int, Mapping[str, LearningCurves]]

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
LEAST_LOSS = 0.01
"""Per cent; where a smaller loss is drawn."""


def compare(
    sources: Sources, budgets: list[int], *, horizon: int, replications: int, seed: int
) -> dict[int, dict[str, LearningCurves]]:
    """Let all learners meet the same arrivals, with exponential utilities, at each budget.

    Parameters
    ----------
    sources : Sources
        N sources.
    budgets : list of int
        Arms crawled at each epoch, in [1, N].
    horizon, replications, seed : int
        As in `compare_learners`; the arrivals are the same at every budget.

    Returns
    -------
    dict
        Curves by budget and by learner.
    """
    return compare_at_budgets(
        sources,
        {budget: side_by_side(sources, budget) for budget in budgets},
        horizon=horizon,
        replications=replications,
        seed=seed,
        utility=Utility("exponential"),
    )


def save_loss(id: str, runs: Runs, size: int) -> None:
    """Draw the share of the index policy's reward that was lost so far, with 95% bands.

    Parameters
    ----------
    id : str
        Id of the figure.
    runs : mapping
        Curves by budget and learner.
    size : int
        Number of sources.
    """
    fig, axes = figure(1, len(runs), height=4.2, sharey=True, squeeze=False)
    data = []
    for axis, (budget, learners) in zip(axes[0], runs.items(), strict=True):
        for name, curves in learners.items():
            if len(curves.expected) < 2:
                continue
            epochs, lost = _lost_so_far(curves)
            mean, low, high = student_band(lost)
            colour, style = STYLES[name]
            drawn = [np.maximum(values, LEAST_LOSS) for values in (low, high, mean)]
            axis.fill_between(epochs, *drawn[:2], color=colour, alpha=0.2, linewidth=0)
            axis.plot(epochs, drawn[2], color=colour, linestyle=style, label=name)
            row = {"budget": budget, "learner": name, "epoch": epochs, "mean": mean}
            data.append(pd.DataFrame(row | {"low": low, "high": high}))
        axis.set(xscale="log", yscale="log", xlabel="epoch", title=f"$M = {budget}$")
        axis.set(xlim=(epochs[0], epochs[-1]), ylim=(LEAST_LOSS, 100))
        axis.title.set_fontsize("medium")
    axes[0, 0].set(ylabel="loss so far (% of the index policy's reward)")
    handles = {
        name: handle
        for axis in axes[0]
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    fig.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=2, fontsize="small"
    )
    frame = pd.concat(data)
    last = frame.groupby(["budget", "learner"], sort=False)["mean"].last()
    told = "; ".join(
        f"M = {budget}: " + ", ".join(f"{n} {v:.2g}" for n, v in last[budget].items())
        for budget in runs
    )
    least = "; ".join(f"{last[budget].idxmin()} at $M = {budget}$" for budget in runs)
    count = max(len(c.expected) for row in runs.values() for c in row.values())
    _save_runs(f"{id}-runs", runs, size)
    save_figure(
        id,
        fig,
        frame,
        f"Share of the index policy's reward that was lost so far, {size} sources, mean of {count} "
        f"runs with 95% bands (values below {LEAST_LOSS:g}% are drawn there). A flat line is a "
        "loss that never stops; one that falls tenfold in a tenfold time loses nothing more. The "
        f"least at the end: {least}.",
        f"Loss so far on logarithmic axes for {size} sources. Per cent lost at the end: {told}.",
        instances=f"{id}-runs",
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


def save_losses(id: str, runs: Mapping[str, LearningCurves], size: int, budget: int) -> None:
    """Save the table of `table`; `size` is the number of sources."""
    save_table(
        id,
        table(runs),
        f"Loss against the index policy, {size} sources, $M = {budget}$: over all epochs with half "
        "a 95% interval, over the last fifth, epochs to 95% and 99% of its long-run reward (median "
        f"and 95% interval, which takes {least_for_median()} runs), and runs that diverged.",
        formats={"loss (%)": ".3f", "± (95%)": ".2g", "last fifth (%)": ".3f"},
    )


def table(runs: Mapping[str, LearningCurves]) -> pd.DataFrame:
    """Return loss, late loss, epochs to 95% and 99%, and divergence of each learner.

    Parameters
    ----------
    runs : mapping of str to LearningCurves
        At one budget.
    """
    rows: dict[str, dict[str, float | str]] = {}
    for name, curves in runs.items():
        rows[name] = {}
        if len(curves.expected) > 1:
            loss = curves.loss
            rows[name] |= {
                "loss (%)": 100 * loss.value,
                "± (95%)": 100 * loss.half_width,
                "last fifth (%)": late_loss(curves),
                "epochs to 95%": _steps(curves.steps_to(0.95)),
                "epochs to 99%": _steps(curves.steps_to(0.99)),
            }
        rows[name]["diverged"] = len(curves.diverged)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("learner")


def late_loss(curves: LearningCurves) -> float:
    """Return the loss over the last fifth of the epochs, in %."""
    return float(100 * late_losses(curves).mean())


def late_losses(curves: LearningCurves) -> Floats:
    """Return the share lost over the last fifth of the epochs, by run."""
    late = slice(-(curves.reference.size // 5), None)
    return 1 - curves.expected[:, late].mean(axis=1) / curves.reference[late].mean()


def within(runs: Runs, limit: float) -> pd.DataFrame:
    """Say of each way to explore whether its loss lies within a limit, in %.

    Parameters
    ----------
    runs : mapping
        Curves by budget and learner.
    limit : float
        Per cent that the upper end of the 95% interval must not exceed.
    """
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


def save_within(runs: Runs, limit: float) -> None:
    """Save the table of `within`."""
    save_table(
        "learners-within",
        within(runs, limit),
        "Whether the loss of each way to explore, the start included, lies within "
        f"{limit:g}% of the index policy's reward at the upper end of its 95% interval.",
        formats=".4f",
    )


def leaders(runs: Mapping[str, Runs]) -> str:
    """Say, in Markdown, who loses least in each comparison.

    Parameters
    ----------
    runs : mapping
        Curves by name of the set of sources, budget and learner.
    """
    lines = []
    for sources, budgets in runs.items():
        for budget, learners in budgets.items():
            whole = {n: c for n, c in learners.items() if len(c.expected) > 1}
            first = min(whole, key=lambda name: whole[name].loss.value)
            rivals = [
                name
                for name in whole
                if name != first and _difference(whole[name], whole[first]).low <= 0
            ]
            tied = f"; {' and '.join(rivals)} not significantly more" if rivals else ""
            lines.append(
                f"- {sources}, $M = {budget}$: **{first}** loses least, "
                f"{100 * whole[first].loss.value:.2g}%{tied}."
            )
    return "\n".join(lines)


def report(few: Sources, few_runs: Runs, larger: Sources, many_runs: Runs) -> None:
    """Save the numbers that the page quotes."""
    for arms, runs, prefix in ((few, few_runs, ""), (larger, many_runs, "many-")):
        budgets = sorted(runs)
        for budget, place in ((budgets[0], ""), (budgets[-1], "second-")):
            _report_losses(runs[budget], prefix, place)
            _report_yardsticks(arms, budget, prefix, place)
    counted = [c for runs in (few_runs, many_runs) for row in runs.values() for c in row.values()]
    save_value("learners-all-runs", sum(len(c.expected) + len(c.diverged) for c in counted))
    save_value("learners-all-diverged", sum(len(c.diverged) for c in counted))
    _report_leaders([*few_runs.values(), *many_runs.values()])
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


def report_repeated(few: Sources, runs: Mapping[str, LearningCurves]) -> None:
    """Save which share of the late crawls at a budget of one follow a crawl of the same source."""
    blind = runs["age-blind UCB1"]
    late = slice(-(blind.reference.size // 5), None)
    save_value("learners-blind-late", late_loss(blind))
    # a reward of u_i is a crawl one epoch after another of the same source
    for name, earned in (("blind", blind.expected[:, late]), ("index", blind.reference[late])):
        again = np.isclose(earned[..., None], few.u, rtol=1e-9).any(axis=-1).mean()
        save_value(f"learners-{name}-again", float(again))


def _report_losses(runs: Mapping[str, LearningCurves], prefix: str, place: str) -> None:
    for short, name in SHORT.items():
        if name not in runs or len(runs[name].expected) < 2:
            continue
        loss, key = runs[name].loss, f"learners-{prefix}{short}-{place}"
        ends = (100 * loss.low, 100 * loss.high)
        save_value(f"{key}loss", 100 * loss.value, interval=ends, replications=loss.replications)
        save_value(f"{key}half", 100 * loss.half_width)
    change = _difference(runs[SHORT["ce"]], runs[SHORT["thompson"]])
    save_value(f"learners-{prefix}thompson-{place}gain", 100 * change.value)
    save_value(f"learners-{prefix}thompson-{place}gain-half", 100 * change.half_width)


def _report_yardsticks(arms: Sources, budget: int, prefix: str, place: str) -> None:
    """Save what policies that know the parameters, or need none, lose in the long run."""
    index = long_run_cycle(arms, "whittle", budget)
    save_value(f"learners-{prefix}{place}used", int(np.count_nonzero(index.frequency)))
    for name, policy in (("robin", RoundRobinPolicy()), ("myopic", "greedy")):
        earned = long_run_cycle(arms, policy, budget).average_reward
        lost = max(100 * (1 - earned / index.average_reward), 0.0)
        save_value(f"learners-{prefix}{name}-{place}loss", lost)


def _report_leaders(comparisons: list[Mapping[str, LearningCurves]]) -> None:
    least = []
    for learners in comparisons:
        whole = {name: c.loss.value for name, c in learners.items() if len(c.expected) > 1}
        least.append(min(whole, key=whole.__getitem__))
    save_value("learners-comparisons", len(least))
    save_value("learners-ce-ahead", least.count(SHORT["ce"]))
    save_value("learners-adaptive-leads", all(name.startswith("certainty") for name in least))


def _difference(one: LearningCurves, other: LearningCurves) -> Estimate:
    """Loss of the one above that of the other, paired by streams where neither diverged."""
    if one.expected.shape != other.expected.shape:
        mine, theirs = one.loss, other.loss
        ends = (mine.low - theirs.high, mine.high - theirs.low)
        return Estimate(
            mine.value - theirs.value, *ends, min(mine.replications, theirs.replications)
        )
    return Estimate.of((other.expected - one.expected).sum(axis=1) / one.reference.sum())


def _lost_so_far(curves: LearningCurves) -> tuple[Floats, Floats]:
    """Return epochs at equal ratios, and the loss until then in each run, in %."""
    horizon = curves.reference.size
    epochs = np.unique(np.geomspace(min(10, horizon), horizon, 60).astype(int))
    earned = np.cumsum(curves.expected, axis=1)[:, epochs - 1]
    return epochs, 100 * (1 - earned / np.cumsum(curves.reference)[epochs - 1])


def _steps(values: Floats) -> str:
    """Write the median, with its 95% interval where there are enough runs for one."""
    if values.size < least_for_median():
        median = float(np.median(values))
        return f"{median:.0f}" if np.isfinite(median) else "never"
    found = Estimate.median_of(values)
    middle, low, high = (
        f"{v:.0f}" if np.isfinite(v) else "never" for v in (found.value, found.low, found.high)
    )
    return f"{middle} ({low}, {high})" if low != "never" else "never"
