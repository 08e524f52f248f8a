"""Values and tables of the page `newer-policies`."""

from __future__ import annotations

import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.studies.newer_policies.experiment import EPOCHS_AHEAD
from analysis.report import plus_minus, save_table
from analysis.results import Estimate

LABELS = {
    "index": "index",
    "timetable": "timetable",
    "two-level": "two levels",
    "lp-update": f"LP-update, {EPOCHS_AHEAD} epochs",
    "ftva": "FTVA",
    "id": "ID",
}


def of_gaps(gaps: pd.DataFrame, settled: pd.DataFrame, kept: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the gaps with many copies of random sets."""
    return {
        "periodic": int(gaps.exact.sum()),
        "copy-instances": len(gaps),
        "kept-together": float(kept.together.mean()),
        "kept-random": float(kept.random.mean()),
        "kept-worst": float(settled.random.max()),
        "random-worse": int((settled.random > settled.together + 1e-9).sum()),
    }


def of_losses(one: dict[str, Floats]) -> dict[str, float]:
    """Return the page's numbers on the losses of one copy, from `losses_of_one_copy`."""
    mean = {name: float(losses.mean()) for name, losses in one.items()}
    others = [loss for name, loss in mean.items() if name != "index"]
    return {
        "index-loss": mean["index"],
        "update-loss": mean["lp-update"],
        "five-too-few": mean["index"] < mean["lp-update"],
        "index-ahead": mean["index"] < min(others),
    }


def of_drawn(instances: pd.DataFrame) -> dict[str, float]:
    """Return the losses of one copy of random sets, rows of `optimality_row`."""
    loss = 1 - instances["whittle"]
    return {
        "drawn": len(loss),
        "drawn-mean": float(loss.mean()),
        "drawn-worst": float(loss.max()),
    }


def of_hard(rewards: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the sets on which the index policy loses most."""
    below_bound = rewards["index below bound"].to_dict()
    below_optimum = rewards["index below optimum"].to_dict()
    return {
        "hard-three": below_bound["three sources"],
        "hard-five": below_bound["five sources"],
        "hard-three-optimum": below_optimum["three sources"],
        "hard-five-optimum": below_optimum["five sources"],
        "hard-states": int(rewards["joint ages"].to_dict()["five sources"]),
    }


def save_losses(one: dict[str, Floats], many: dict[str, Floats], copies: int) -> None:
    """Save the table of all policies' losses."""
    rows = {
        label: {
            "one copy, mean": _mean(one[name]),
            "one copy, worst": f"{one[name].mean(axis=1).max():.2%}",
            f"{copies} copies, mean": _mean(many[name]) if name in many else "not played",
        }
        for name, label in LABELS.items()
    }
    sets, runs = one["ftva"].shape
    save_table(
        "newer-policies-losses",
        pd.DataFrame(rows).T.rename_axis("policy"),
        f"Loss on {sets} random sets of four sources: of one copy against the exact optimum, of "
        f"{copies} copies of each ({many['ftva'].shape[0]} sets) against the relaxed bound, from "
        f"equal ages; 95% intervals over {runs} runs where a policy draws.",
    )


def _mean(losses: Floats) -> str:
    """Mean over sets, with its interval over runs if there are any."""
    means = losses.mean(axis=0)
    if means.size == 1:
        return f"{round(means[0], 9) + 0.0:.3%}"  # no minus before a zero
    estimate = Estimate.of(means)
    return f"{plus_minus(100 * estimate.value, 100 * estimate.half_width)}%"


def save_hard(rewards: pd.DataFrame) -> None:
    """Save the table of the sets on which the index policy loses most."""
    formats = {name: ".3%" if "below" in name else ".6f" for name in map(str, rewards)}
    save_table(
        "newer-policies-hard",
        rewards,
        "Sets of three and of five sources on which the index policy loses most, one crawl an "
        "epoch: rewards per epoch, all exact, and the joint ages of the optimum.",
        formats={**formats, "joint ages": ".0f"},
    )
