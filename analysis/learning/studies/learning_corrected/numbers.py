"""Values, tables and predicates of the page `learning-corrected`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme.runs import Learned
from analysis.learning.studies.learning_corrected.experiment import BAD, ZERO, differences
from analysis.learning.studies.numbers import save_gradient_errors
from analysis.report import save_data, save_table, save_value

CLEAR = 0.005
"""Share of the index policy's reward from which on a difference counts."""


def of_learning(
    index: float, at_bad: float, late: Mapping[str, float], kept: Mapping[str, Floats]
) -> dict[str, bool]:
    """Return what is true of the runs at the first budget."""
    missing = index - late[ZERO]
    undrawn = index - float(np.mean(kept[ZERO]))
    return {
        "learns": late[BAD] > at_bad + CLEAR * index,
        "drawing-costs": bool(missing > CLEAR * index and undrawn < missing / 2),
    }


def of_climbing(index: float, drawn: float, constant: float) -> dict[str, bool]:
    """Return what is true of the exact climbs with quadratic and with constant thresholds."""
    return {
        "climb-is-certain": drawn > (1 - CLEAR) * index,
        "constant-is-less": constant < drawn - CLEAR * index,
    }


def of_the_projection(sources: Sources) -> tuple[int, int, bool]:
    """Return the source of largest u, that of least u*, and whether their intervals are apart."""
    rich, poor = int(np.argmax(sources.u)), int(np.argmin(sources.u_star))
    return rich, poor, bool(sources.u[rich] > sources.u_star[poor])


def of_what_remains(zero: pd.Series, bad: pd.Series, stuck: float) -> dict[str, bool]:
    """Return what is true of the runs and climbs at the second budget."""
    index = float(zero["index policy"])
    best = max(float(one["climbed off-line"]) for one in (zero, bad))
    away = float(bad["climbed off-line"] - bad["learned"])
    return {
        "form-lacks": best < (1 - 1e-4) * index,
        "steps-too-short": away > CLEAR * index,
        "steeper-is-stuck": stuck < float(bad["climbed off-line"]) - CLEAR * index,
    }


def keep(statements: Mapping[str, bool]) -> None:
    """Keep predicates of the page."""
    for name, true in statements.items():
        save_value(f"corrected-{name}", bool(true))


def wall_costs(apart: bool, walled: float, free: float, index: float) -> bool:
    """Return whether the projection onto [u, u*] lowers the late reward, with intervals apart."""
    return bool(apart and walled < free - CLEAR * index)


def keep_projection(sources: Sources, walled: float, free: float, index: float) -> None:
    """Keep the two sources whose intervals are compared, whether these are apart, and the cost."""
    rich, poor, apart = of_the_projection(sources)
    save_value("corrected-wall-costs", wall_costs(apart, walled, free, index))
    save_value("corrected-rich", rich + 1)
    save_value("corrected-rich-low", sources.u[rich])
    save_value("corrected-poor", poor + 1)
    save_value("corrected-poor-high", sources.u_star[poor])
    save_value("corrected-apart", apart)


def keep_remains(remains: pd.DataFrame, budget: int, stuck: float) -> None:
    """Keep what the page quotes of the second budget, and its predicates; save the table."""
    zero, bad = (remains[f"M = {budget}, {start}"] for start in (ZERO, BAD))
    save_value("corrected-form-gap", 1 - zero["climbed off-line"] / zero["index policy"])
    save_value("corrected-second-gap", 1 - zero["learned"] / zero["index policy"])
    save_value("corrected-second-bad", bad["learned"])
    save_value("corrected-second-off", bad["climbed off-line"])
    save_value("corrected-second-greedy", zero["learned, without draws"])
    save_value("corrected-stuck", stuck)
    save_value("corrected-myopic-second", zero["largest content first"])
    keep(of_what_remains(zero, bad, stuck))
    save_table(
        "learning-corrected-remains",
        remains,
        "Reward per epoch by budget and start: of the first thresholds, of the runs (last fifth, "
        "with half a 95% interval), of what they learned without draws, of an exact climb from the "
        "same start, and of policies that know the parameters.",
        formats=".2f",
    )


def save_runs(runs: Mapping[str, Learned], kept: Mapping[str, Floats]) -> None:
    """Save what every single run earned; as `of_learning`."""
    rows = pd.concat(
        [
            pd.DataFrame(
                {
                    "start": name,
                    "run": np.arange(len(run.expected)),
                    "reward": run.expected.mean(axis=1),
                    "late_reward": run.late_rewards(),
                    "without_draws": kept[name],
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
    runs: Mapping[str, Learned], kept: Mapping[str, Floats], index: float, at_bad: float
) -> None:
    """Save the page's numbers on the runs at the first budget."""
    ends = {name: run.late().value for name, run in runs.items()}
    keep(of_learning(index, at_bad, ends, kept))
    for short, name in (("zero", ZERO), ("bad", BAD)):
        late = runs[name].late()
        save_value(
            f"corrected-{short}-late",
            late.value,
            interval=late.interval,
            replications=late.replications,
        )
        best = np.isclose(kept[name], index, rtol=1e-9)
        save_value(f"corrected-{short}-optimal", int(best.sum()))


def save_differences() -> None:
    """Save the table of `differences`."""
    save_table(
        "learning-corrected-options",
        differences(),
        "The options in which the printed and the corrected scheme differ.",
    )


def save_gradients(gradients: pd.DataFrame) -> None:
    """Save the table of `gradient_table`."""
    save_gradient_errors("learning-corrected-gradients", gradients)


def save_variants(ablation: pd.DataFrame, index: float) -> None:
    """Save the table of `ablation_table`, and how many runs diverged."""
    save_value("corrected-diverged", int(ablation.diverged.sum()))
    save_table(
        "learning-corrected-variants",
        ablation_table(ablation),
        "The corrected scheme and each variant of it, by start: reward in the last fifth of the "
        "runs, long-run reward of the learned thresholds without draws, runs in which that is the "
        f"index policy's ({index:.2f}), and runs in all.",
        formats=".1f",
    )


def ablation_table(ablation: pd.DataFrame) -> pd.DataFrame:
    """Return the ablation, variants by starts."""
    kept = ["reward", "without draws", "optimal", "runs"]
    kept += ["diverged"] if ablation.diverged.any() else []
    wide = ablation.pivot(index="taken back", columns="start", values=kept)
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
