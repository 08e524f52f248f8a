"""The page `learning-corrected`: the corrected scheme and variants of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme.chains import FrozenPolicy, gradient_check
from analysis.learning.scheme.lspe import GreedyThresholdPolicy, Learned, LspeOptions, learned
from book.learning.shared import save_gradient_errors
from scorecard import Claim, claim, save_data, save_table, save_value

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

    `handicap`: threshold of those at the bad start, in units of the largest u*.
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
    """Run each variant from each start.

    A row for each variant and start with two runs or more that did not diverge: late reward with
    its 95% interval, long-run reward of the learned thresholds without draws, runs whose
    thresholds earn the index policy's reward, runs, and runs that diverged.
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
    """Run the scheme with several values of one option, from each start.

    Returns: by value: the late reward for each start, with its interval, and the lowest of any
    run.
    """
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
