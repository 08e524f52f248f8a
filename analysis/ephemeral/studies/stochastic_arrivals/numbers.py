"""Values and tables of the page `stochastic-arrivals`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from analysis.ephemeral.stochastic.comparison import Comparison
from analysis.report import plus_minus
from analysis.results import Estimate


def reward_table(results: dict[str, Comparison], greedy: float) -> pd.DataFrame:
    """Return the rewards and their differences under each law, as text with half-widths."""
    rows = {
        law: {
            "round robin": result.reward("round-robin"),
            "greedy": result.reward("greedy"),
            "index": result.controlled("whittle", "greedy", greedy),
            "index, less greedy": result.difference("whittle", "greedy"),
            "to the letter, less index": result.difference("theorem", "whittle"),
            "short form, less index": result.difference("remark", "whittle"),
        }
        for law, result in results.items()
    }
    return pd.DataFrame(rows).T.map(as_text).rename_axis("law of the utilities")


def as_text(estimate: Estimate) -> str:
    """Write an estimate with two decimals and its half-width, if the runs differ at all."""
    return plus_minus(estimate.value, estimate.half_width)


def of_rewards(
    results: Mapping[str, Comparison], exact: Mapping[str, float], wild: str
) -> dict[str, float]:
    """Return the page's numbers on the three rewards.

    Keys: ``held`` of the ``intervals`` of ``robin`` and ``greedy``, whose exact rewards these are;
    the ``gain`` of the index over greedy with exponential utilities, and its half-width
    ``gain-half``; what Theorem 1 to the letter earns more than the index with exponential
    utilities (``literal-gain``), and less with very variable ones (``literal-loss``).
    """
    blind = {rule: exact[rule] for rule in ("round-robin", "greedy")}
    held, intervals = holds_exact(results.values(), blind)
    gain = results["exponential"].difference("whittle", "greedy")
    letter = {law: results[law].difference("theorem", "whittle") for law in ("exponential", wild)}
    return {
        "held": held,
        "intervals": intervals,
        "robin": exact["round-robin"],
        "greedy": exact["greedy"],
        "gain": gain.value,
        "gain-half": gain.half_width,
        "literal-loss": -letter[wild].value,
        "literal-gain": letter["exponential"].value,
    }


def of_forms(
    results: Mapping[str, Comparison], bounds: Mapping[str, float], greedy: float, wild: str
) -> dict[str, float]:
    """Return the page's numbers on the forms of the index.

    Keys: what the ``short`` form earns with exponential utilities, its half-width ``short-half``,
    and the share of the bound with very variable ones that the index (``share``), the short form
    (``short-share``) and Theorem 1 to the letter (``letter-share``) earn. `greedy`: exact reward of
    the control variate.
    """
    short = results["exponential"].controlled("remark", "greedy", greedy)
    names = {"share": "whittle", "short-share": "remark", "letter-share": "theorem"}
    earned = {key: results[wild].controlled(rule, "greedy", greedy) for key, rule in names.items()}
    shares = {key: estimate.value / bounds[wild] for key, estimate in earned.items()}
    return {"short": short.value, "short-half": short.half_width, **shares}


def holds_exact(results: Iterable[Comparison], exact: dict[str, float]) -> tuple[int, int]:
    """Count the intervals of policies with a known reward, and those that hold it."""
    inside = [
        result.reward(rule).low <= reward <= result.reward(rule).high
        for result in results
        for rule, reward in exact.items()
    ]
    return sum(inside), len(inside)


def observing_one(gains: Mapping[str, Estimate]) -> dict[str, int]:
    """Count the sources of which the observation of one alone helps, and those that were tried."""
    alone = [gain for name, gain in gains.items() if name not in ("none", "all")]
    return {"one-helps": sum(gain.low > 0 for gain in alone), "one-tried": len(alone)}
