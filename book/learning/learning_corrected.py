"""The page `learning-corrected`: the corrected scheme and variants of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme.chains import FrozenPolicy, gradient_check
from analysis.learning.scheme.lspe import GreedyThresholdPolicy, Learned, LspeOptions, learned
from analysis.results import student_band
from book.learning.shared import save_gradient_errors
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    fold_names,
    format_plus_minus,
    ink,
    save_data,
    save_figure,
    save_table,
    save_value,
)
from scorecard.text import join_words, pluralise

ZERO, BAD = "all thresholds 0", "bad start"


@dataclass(frozen=True)
class Experiment:
    """One instance, the corrected options, and the starts; runs are made once and kept."""

    # N sources; the corrected scheme.
    sources: Sources
    options: LspeOptions
    initial: Mapping[str, Floats]  # first thresholds by name of the start, in units of content
    # Epochs; runs with `options`, and of each variant of them; root of the draws.
    horizon: int
    replications: int
    of_variants: int
    seed: int
    _kept: dict[Any, Learned] = field(default_factory=dict, repr=False)

    def play(self, budget: int, start: str, options: LspeOptions | None = None) -> Learned:
        """Run the corrected scheme, or other options, from a start."""
        chosen = options or self.options
        key = (budget, start, chosen)
        if key not in self._kept:
            count = self.replications if chosen == self.options else self.of_variants
            length = {"horizon": self.horizon, "replications": count, "seed": self.seed}
            self._kept[key] = learned(
                self.sources, chosen, budget, **length, initial_thresholds=self.initial[start]
            )
        return self._kept[key]

    def first_q(self, start: str) -> Floats:
        """Threshold coefficients at a start, in content over the largest u*; shape (N, 3)."""
        q = np.zeros((len(self.sources), 3))
        q[:, 0] = self.initial[start] / self.sources.u_star.max()
        return q


def initial_thresholds(sources: Sources, budget: int, handicap: float) -> dict[str, Floats]:
    """Return zero thresholds, and a bad start for the sources that the index policy crawls most.

    `handicap`: threshold of those, in units of the largest u*.
    """
    often = np.argsort(-long_run(sources, "whittle", budget).frequency, kind="stable")
    bad = np.zeros(len(sources))
    bad[often[: max(len(sources) // 2, 1)]] = handicap * sources.u_star.max()
    return {ZERO: np.zeros(len(sources)), BAD: bad}


def list_differences() -> pd.DataFrame:
    """Return the options in which the printed and the corrected scheme differ."""
    printed, corrected = LspeOptions.as_printed(), LspeOptions.corrected()
    rows = {
        f.name: (str(getattr(printed, f.name)), str(getattr(corrected, f.name)))
        for f in fields(printed)
        if getattr(printed, f.name) != getattr(corrected, f.name)
    }
    frame = pd.DataFrame(rows, index=["as printed", "corrected"])
    return frame.T.rename_axis("option")


def tabulate_gradient_errors(
    sources: Sources, points: Iterable[Floats], options: LspeOptions
) -> pd.DataFrame:
    """Compare the gradient formula, corrected and as printed, with finite differences."""
    at = list(points)
    readings = {
        "corrected": options,
        "V(x') alone as the weight": replace(options, signal="next value"),
        "the content of all as the reward": replace(options, reward="all"),
        "both, as printed": replace(options, signal="next value", reward="all"),
    }
    checks = {name: [gradient_check(sources, q, o) for q in at] for name, o in readings.items()}
    rows = {
        name: {
            "median cosine with the true gradient": np.median([c.cosine for c in errors]),
            "largest relative error": max(c.relative_error for c in errors),
        }
        for name, errors in checks.items()
    }
    return pd.DataFrame(rows).T.rename_axis("two sources, one an epoch")


def gradient_error(policy: FrozenPolicy, q: Floats, unit: float, width: float = 1e-5) -> float:
    """Return the relative error of the exact gradient against central differences at q.

    `unit` is the content by which the policy divides states. Where the draw is nearly certain the
    gradient is nearly zero, and the error is relative to a millionth of the reward.
    """
    least = 1e-6 * policy.evaluate(q) / unit
    numeric = np.zeros_like(q)
    for entry in np.ndindex(q.shape):
        shift = np.zeros_like(q)
        shift[entry] = width
        up, down = (policy.evaluate(q + sign * shift) / unit for sign in (1, -1))
        numeric[entry] = (up - down) / (2 * width)
    size = max(float(np.linalg.norm(numeric)), least)
    return float(np.linalg.norm(policy.gradient(q) - numeric) / size)


def list_variants(options: LspeOptions, unit: float) -> dict[str, LspeOptions]:
    """Return the corrected options, and these with one correction taken back; `unit` is u*'s."""
    changes: dict[str, dict[str, Any]] = {
        "corrected": {},
        "reward of all content": {"reward": "all"},
        "weight V(x') alone": {"signal": "next value"},
        "$q_1$ twice": {"threshold": "shared"},
        "projection": {"projected": True},
        "slower averages": {"averaging": "step"},
        "Tikhonov": {"regulariser": "tikhonov"},
        "no regularisation": {"regulariser": "none"},
        "$\\kappa$ = 2": {"kappa": 2.0},
        "c = 0.1": {"step": 0.1},
        "states in content": {"scale": 1.0, "kappa": options.kappa / unit},
    }
    return {name: replace(options, **change) for name, change in changes.items()}


def ablate(experiment: Experiment, budget: int, options: Mapping[str, LspeOptions]) -> pd.DataFrame:
    """Run each variant from each start, a row for two runs or more that did not diverge.

    ``optimal`` counts runs whose learned thresholds, without draws, earn the index policy's reward.
    """
    best = long_run(experiment.sources, "whittle", budget).average_reward
    rows = []
    for (name, chosen), start in (
        ((n, o), s) for n, o in options.items() for s in experiment.initial
    ):
        run = experiment.play(budget, start, chosen)
        if len(run.q) < 2:
            continue
        without_draws = run.greedy_rewards(experiment.sources, chosen, budget)
        late = run.late()
        rows.append(
            {
                "taken back": name,
                "start": start,
                "reward": late.value,
                "low": late.low,
                "high": late.high,
                "without draws": without_draws.mean(),
                "optimal": int(np.isclose(without_draws, best).sum()),
                "runs": len(run.q),
                "diverged": len(run.diverged),
            }
        )
    return pd.DataFrame(rows)


def tune_option(
    experiment: Experiment, budget: int, option: str, values: Iterable[float]
) -> pd.DataFrame:
    """Return by value of one option the late reward from each start, and the lowest of any run."""
    rows = {}
    for value in sorted(values):
        row: dict[str, float] = {}
        for start in experiment.initial:
            change: dict[str, Any] = {option: value}
            run = experiment.play(budget, start, replace(experiment.options, **change))
            late = run.late()
            row |= {start: late.value, f"{start}, low": late.low, f"{start}, high": late.high}
            row[f"{start}, lowest run"] = float(run.late_rewards().min())
        rows[value] = row
    return pd.DataFrame(rows).T.rename_axis(option)


def evaluate_by_kappa(
    sources: Sources, options: LspeOptions, budget: int, cap: int, kappas: Iterable[float]
) -> pd.DataFrame:
    """Return the rewards of zero thresholds and of the best constant ones by kappa, exactly."""
    zero = np.zeros((len(sources), 3))
    rows = {}
    for kappa in sorted(kappas):
        steep = replace(options, kappa=kappa)
        constant = FrozenPolicy(sources, replace(steep, threshold="constant"), budget, cap)
        rows[kappa] = {
            "thresholds held at 0": FrozenPolicy(sources, steep, budget, cap).evaluate(zero),
            "best constant thresholds": constant.climb(zero)[1],
        }
    return pd.DataFrame(rows).T.rename_axis("kappa")


def decompose_loss(experiment: Experiment, budgets: Iterable[int], cap: int) -> pd.DataFrame:
    """Return the loss of the scheme against the index policy by its causes, budget and start."""
    rows, sources, options = {}, experiment.sources, experiment.options
    for budget in budgets:
        policy = FrozenPolicy(sources, options, budget, cap)
        for start in experiment.initial:
            first = experiment.first_q(start)
            climbed, value = policy.climb(first)
            run = experiment.play(budget, start)
            undrawn = GreedyThresholdPolicy(sources, climbed, options)
            rows[f"M = {budget}, {start}"] = {
                "at the start": policy.evaluate(first),
                "learned": run.late().value,
                "± (95%)": run.late().half_width,
                "learned, without draws": run.greedy_rewards(sources, options, budget).mean(),
                "climbed off-line": value,
                "the same, without draws": _long_run_reward(sources, undrawn, budget),
                "largest content first": _long_run_reward(sources, "greedy", budget),
                "index policy": _long_run_reward(sources, "whittle", budget),
            }
    return pd.DataFrame(rows).rename_axis("reward per epoch")


def _long_run_reward(sources: Sources, policy: Any, budget: int) -> float:
    return long_run(sources, policy, budget).average_reward


# Values and tables


CLEAR = 0.005
"""Share of the index policy's reward from which on a difference counts."""


def collect_learning_predicates(
    index: float, at_bad: float, late: Mapping[str, float], without_draws: Mapping[str, Floats]
) -> dict[str, bool]:
    """Return predicates of the runs at the first budget."""
    missing = index - late[ZERO]
    undrawn = index - float(np.mean(without_draws[ZERO]))
    return {
        "learns": late[BAD] > at_bad + CLEAR * index,
        "drawing-costs": bool(missing > CLEAR * index and undrawn < missing / 2),
    }


def collect_climb_predicates(index: float, drawn: float, constant: float) -> dict[str, bool]:
    """Return predicates of the exact climbs with quadratic and with constant thresholds."""
    return {
        "climb-is-certain": drawn > (1 - CLEAR) * index,
        "constant-is-less": constant < drawn - CLEAR * index,
    }


def compare_projected_intervals(sources: Sources) -> tuple[int, int, bool]:
    """Return the source of largest u, that of least u*, and whether their intervals are apart."""
    rich, poor = int(np.argmax(sources.u)), int(np.argmin(sources.u_star))
    return rich, poor, bool(sources.u[rich] > sources.u_star[poor])


def collect_remaining_predicates(zero: pd.Series, bad: pd.Series, stuck: float) -> dict[str, bool]:
    """Return predicates of the runs and climbs at the second budget."""
    index = float(zero["index policy"])
    best = max(float(row["climbed off-line"]) for row in (zero, bad))
    away = float(bad["climbed off-line"] - bad["learned"])
    return {
        "form-lacks": best < (1 - 1e-4) * index,
        "steps-too-short": away > CLEAR * index,
        "steeper-is-stuck": stuck < float(bad["climbed off-line"]) - CLEAR * index,
    }


def save_predicates(statements: Mapping[str, bool]) -> None:
    """Save predicates of the page."""
    for name, true in statements.items():
        save_value(f"corrected-{name}", bool(true))


def wall_costs(apart: bool, walled: float, free: float, index: float) -> bool:
    """Return whether the projection onto [u, u*] lowers the late reward, with intervals apart."""
    return bool(apart and walled < free - CLEAR * index)


def save_projection(sources: Sources, walled: float, free: float, index: float) -> None:
    """Save the two sources whose intervals are compared, whether these are apart, and the cost."""
    rich, poor, apart = compare_projected_intervals(sources)
    save_value("corrected-wall-costs", wall_costs(apart, walled, free, index))
    save_value("corrected-rich", rich + 1)
    save_value("corrected-rich-low", sources.u[rich])
    save_value("corrected-poor", poor + 1)
    save_value("corrected-poor-high", sources.u_star[poor])
    save_value("corrected-apart", apart)


def save_remains(remains: pd.DataFrame, budget: int, stuck: float) -> None:
    """Save the page's numbers and predicates on the second budget, and the table."""
    zero, bad = (remains[f"M = {budget}, {start}"] for start in (ZERO, BAD))
    save_value("corrected-form-gap", 1 - zero["climbed off-line"] / zero["index policy"])
    save_value("corrected-second-gap", 1 - zero["learned"] / zero["index policy"])
    save_value("corrected-second-bad", bad["learned"])
    save_value("corrected-second-off", bad["climbed off-line"])
    save_value("corrected-second-greedy", zero["learned, without draws"])
    save_value("corrected-stuck", stuck)
    save_value("corrected-myopic-second", zero["largest content first"])
    save_predicates(collect_remaining_predicates(zero, bad, stuck))
    save_table(
        "learning-corrected-remains",
        remains,
        "Reward per epoch by budget and start: of the first thresholds, of the runs (last fifth, "
        "± half of their 95% intervals), of what they learned without draws, of an exact climb "
        "from the same start, and of policies that know the parameters.",
        formats=".2f",
    )


def save_runs(runs: Mapping[str, Learned], without_draws: Mapping[str, Floats]) -> None:
    """Save what every single run earned; as `collect_learning_predicates`."""
    rows = pd.concat(
        [
            pd.DataFrame(
                {
                    "start": name,
                    "run": np.arange(len(run.expected)),
                    "reward": run.expected.mean(axis=1),
                    "late_reward": run.late_rewards(),
                    "without_draws": without_draws[name],
                }
            )
            for name, run in runs.items()
        ],
        ignore_index=True,
    )
    save_data(
        "learning-corrected-runs",
        rows,
        "One row a run of the corrected scheme at the first budget that did not diverge.",
        {
            "start": "first thresholds",
            "run": "number of the run",
            "reward": "mean reward per epoch, value units",
            "late_reward": "the same over the last fifth of the epochs, value units",
            "without_draws": "long-run reward per epoch of the learned thresholds without draws",
        },
    )


def save_learned(
    runs: Mapping[str, Learned], without_draws: Mapping[str, Floats], index: float, at_bad: float
) -> None:
    """Save the page's numbers on the runs at the first budget."""
    ends = {name: run.late().value for name, run in runs.items()}
    save_predicates(collect_learning_predicates(index, at_bad, ends, without_draws))
    for short, name in (("zero", ZERO), ("bad", BAD)):
        late = runs[name].late()
        save_value(
            f"corrected-{short}-late",
            late.value,
            interval=late.interval,
            replications=late.replications,
        )
        best = np.isclose(without_draws[name], index, rtol=1e-9)
        save_value(f"corrected-{short}-optimal", int(best.sum()))


def save_differences() -> None:
    """Save the table of `list_differences`."""
    save_table(
        "learning-corrected-options",
        list_differences(),
        "The options in which the printed and the corrected scheme differ.",
    )


def save_gradients(gradients: pd.DataFrame) -> None:
    """Save the table of `tabulate_gradient_errors`."""
    save_gradient_errors("learning-corrected-gradients", gradients)


def save_variants(ablation: pd.DataFrame, index: float) -> None:
    """Save the table of `tabulate_ablation`, and how many runs diverged."""
    save_value("corrected-diverged", int(ablation.diverged.sum()))
    save_table(
        "learning-corrected-variants",
        tabulate_ablation(ablation),
        "The corrected scheme and each variant of it, by start: reward in the last fifth of the "
        "runs, long-run reward of the learned thresholds without draws, runs in which that is the "
        f"index policy's ({index:.2f}), and runs in all.",
        formats=".1f",
    )


def tabulate_ablation(ablation: pd.DataFrame) -> pd.DataFrame:
    """Return the ablation, variants by starts."""
    columns = ["reward", "without draws", "optimal", "runs"]
    columns += ["diverged"] if ablation.diverged.any() else []
    wide = ablation.pivot(index="taken back", columns="start", values=columns)
    wide = wide.loc[list(dict.fromkeys(ablation["taken back"]))].round(1)
    wide.columns = pd.Index([", ".join(map(str, column)) for column in wide.columns])
    counts = [name for name in map(str, wide) if not name.startswith(("reward", "without"))]
    plain = [name.replace("$", "").replace("\\", "") for name in map(str, wide.index)]
    return wide.fillna(0).astype(dict.fromkeys(counts, int)).set_axis(plain).rename_axis("variant")


def save_safe_step(by_step: pd.DataFrame, index: float) -> None:
    """Save the largest c at which all runs from zero earn over 97% of the index reward."""
    safe = by_step.index[by_step[f"{ZERO}, lowest run"] > 0.97 * index]
    save_value("corrected-safe-step", float(max(safe, default=0.0)))
    save_value("corrected-some-step-is-safe", len(safe) > 0)


# Claims


def claims(engaged: Floats, budget: int) -> list[Claim]:
    """Return the verdict on its row; `engaged` counts the sources of each epoch and run."""
    drawn = np.asarray(engaged)
    return [
        claim(
            "B-online-choice",
            True,
            basis="judged",
            outcome="kept" if (drawn == budget).all() else "broken",
            numbers={"budget": budget, "epochs": drawn.size},
        )
    ]


# Figures


LEAST_LOSS = 0.01
"""Per cent; where a smaller loss is drawn."""


def draw_curves(runs: Mapping[str, Learned], levels: Mapping[str, float], budget: int) -> None:
    """Draw reward per epoch in blocks, with 95% bands."""
    horizon = next(iter(runs.values())).expected.shape[1]
    block = max(horizon // 100, 1)
    epochs = (np.arange(horizon // block) + 0.5) * block
    data, ends = {"epoch": epochs}, {}
    for name, run in runs.items():
        if len(run.expected) < 2:
            continue
        mean, low, high = student_band(_average_blocks(run.expected, block))
        data |= {name: mean, f"{name}, low": low, f"{name}, high": high}
        ends[name] = (mean[0], run.late())
    index = next(iter(levels.values()))
    values_text = "; ".join(
        f"{name}: {format_plus_minus(late.value, late.half_width, 1)}, {late.replications} runs"
        for name, (_, late) in ends.items()
    )
    late_text = "; ".join(f"{name}: {late.value:.1f}" for name, (_, late) in ends.items())
    first = "; ".join(f"{name}: {mean:.0f}" for name, (mean, _) in ends.items())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        styles = zip(COLOURS[0:2] + COLOURS[3:4], ("-", "--", ":"), runs, strict=False)
        for colour, style, name in styles:
            if name not in ends:
                continue
            band = {"color": colour, "alpha": 0.25, "linewidth": 0}
            axis.fill_between(epochs, data[f"{name}, low"], data[f"{name}, high"], **band)
            axis.plot(epochs, data[name], color=colour, linestyle=style, label=name)
        looks = zip((ink(), COLOURS[2]), ("-", "-."), levels.items(), strict=True)
        for colour, style, (name, level) in looks:
            line = {"color": colour, "linestyle": style, "linewidth": 1.2}
            axis.axhline(level, label=f"{name}, {level:.1f}", **line)
        axis.set(xlabel="epoch", ylabel="reward per epoch (value units)")
        axis.set(xlim=(0, horizon), ylim=(0, 1.35 * index))
        add_legend(figure)
        return pd.DataFrame(data)

    save_figure(
        "learning-corrected-curves",
        draw,
        caption=f"Reward per epoch in blocks of {pluralise(block, 'epoch')}, $M = {budget}$, means "
        f"with 95% bands. In the last fifth, {late_text}.",
        alt=f"Learning curves. First block, {first}. In the last fifth, {values_text}. The index "
        f"policy earns {index:.1f}.",
        instances="learning-corrected-runs",
        height=4.2,
    )


def draw_ablation(ablation: pd.DataFrame, index: float, budget: int) -> None:
    """Draw the late reward of each variant, from both starts, with 95% intervals."""
    names = list(dict.fromkeys(ablation["taken back"]))
    position = {name: len(names) - 1 - i for i, name in enumerate(names)}
    lost = ablation[ablation.start == BAD].set_index("taken back").reward
    values_text = "; ".join(f"{name}: {value:.0f}" for name, value in lost.items())
    whole, worst = lost.iloc[0], lost.iloc[1:].nsmallest(3)
    worst_text = join_words([f"{name} ({value:.0f})" for name, value in worst.items()])

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        styles = zip(
            COLOURS, "os", (0.14, -0.14), ablation.groupby("start", sort=False), strict=False
        )
        for colour, marker, shift, (start, rows) in styles:
            reach = [rows.reward - rows.low, rows.high - rows.reward]
            axis.errorbar(
                rows.reward, rows["taken back"].map(position) + shift, xerr=reach, fmt=marker,
                color=colour, markersize=5, capsize=3, label=start,
            )  # fmt: skip
        axis.axvline(index, color=ink(), linewidth=1, label=f"index policy, {index:.1f}")
        axis.set_yticks(list(position.values()), fold_names(figure, names))
        axis.set(xlabel="reward per epoch, last fifth of the epochs\n(value units)")
        axis.set(xlim=(0, 1.06 * index))
        add_legend(figure)
        return ablation

    save_figure(
        "learning-corrected-ablation",
        draw,
        caption="One correction taken back at a time: from the bad start the corrected scheme "
        f"earns {whole:.0f}, and least is earned with {worst_text}. Reward in the last fifth of "
        f"{ablation.runs.max()} runs of the corrected scheme and {ablation.runs.min()} or more of "
        f"each other at $M = {budget}$, with 95% intervals.",
        alt=f"Dots for {len(names)} variants and two starts. From the bad start, "
        f"{values_text.replace('$', '')}; the index policy earns {index:.0f}.",
        height=4.4,
    )


def draw_tuning(by_kappa: pd.DataFrame, by_step: pd.DataFrame, index: float, budget: int) -> None:
    """Draw the loss against kappa and against c; `by_kappa` has the exact values too."""

    def loss(reward: ArrayLike) -> Floats:
        return np.maximum(100 * (1 - np.asarray(reward) / index), LEAST_LOSS)

    exact = ("thresholds held at 0", "best constant thresholds")
    clauses = [
        f"at {name} = {frame.index[-1]:g} it loses {describe_loss(frame[ZERO].iloc[-1], index)} "
        f"from zero and {describe_loss(frame[BAD].iloc[-1], index)} from the bad start"
        for name, frame in (("kappa", by_kappa), ("c", by_step))
    ]
    losses = "; ".join(clauses)

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        for axis, frame in zip(axes, (by_kappa, by_step), strict=True):
            styles = zip(COLOURS, "os", ("-", "--"), (ZERO, BAD), strict=False)
            for colour, marker, style, start in styles:
                ends = (loss(frame[f"{start}, {end}"]) for end in ("high", "low"))
                axis.fill_between(frame.index, *ends, color=colour, alpha=0.2, linewidth=0)
                axis.plot(
                    frame.index, loss(frame[start]), color=colour, linestyle=style, marker=marker,
                    markersize=4.5, label=f"learned, {start}",
                )  # fmt: skip
            axis.set(xscale="log", yscale="log")
            axis.set_xticks(frame.index, [f"{value:g}" for value in frame.index])
            axis.minorticks_off()
        for colour, style, marker, name in zip(
            (COLOURS[3], COLOURS[2]), (":", "-."), "^D", exact, strict=True
        ):
            axes[0].plot(
                by_kappa.index, loss(by_kappa[name]), color=colour, linestyle=style, marker=marker,
                markersize=4, label=name,
            )  # fmt: skip
        axes[0].set(xlabel="$\\kappa$ (per scaled content)", ylim=(0.008, 100))
        figure.supylabel("loss against the index policy (%)")
        axes[0].set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
        axes[1].set(xlabel="$c$ of the step sizes")
        add_legend(figure)
        return pd.concat([by_kappa.reset_index(), by_step.reset_index()])

    save_figure(
        "learning-corrected-tuning",
        draw,
        caption="What the corrected scheme loses in the last fifth of the runs, against $\\kappa$ "
        f"(first) and $c$ (second): {losses}. $M = {budget}$; 95% bands; smaller losses "
        f"than {LEAST_LOSS:g}% are drawn as {LEAST_LOSS:g}%.",
        alt=f"Two panels of losses on logarithmic axes: {losses}.",
        height=3.9,
    )


def describe_loss(reward: float, index: float) -> str:
    """Return the loss against the index policy, which a figure cannot show below its floor."""
    loss = 100 * (1 - reward / index)
    return f"{loss:.2g}%" if loss >= LEAST_LOSS else f"less than {LEAST_LOSS:g}%"


def _average_blocks(values: Floats, block: int) -> Floats:
    count = values.shape[1] // block
    cut = values[:, : count * block].reshape(len(values), count, block)
    return np.asarray(cut.mean(axis=2))
