"""What the sentences of the page on real publications depend on, derived from its numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.report import save_value
from analysis.report.saving.records import saved_numbers
from analysis.trace.studies.publications import LABELS, SIZES

#: Relative difference up to which two rewards are said to tie.
TIE = 0.02
#: Share of a reward below which another is much less.
MUCH_LESS = 0.75


def predicates(v: Mapping[str, float]) -> dict[str, bool]:
    """Return the page's qualitative findings as truth values.

    Parameters
    ----------
    v : mapping of str to float
        The numbers that the page saved, by their ids without ``publications-``.
    """

    def sizes(key: str) -> np.ndarray:
        return np.array([v[f"{key}-{size}"] for size in SIZES])

    def falls(key: str) -> bool:
        return bool((np.diff(sizes(key)) < 0).all())

    others = [key for key in LABELS if key not in {"index", "feed"}]
    near = max(np.abs(sizes(f"campbell-{key}") - 1).max() for key in ("index", "fixed", "greedy"))
    robin = np.abs(sizes("campbell-robin") - 1)
    increasing = bool((np.diff(sizes("budget")) > 0).all())
    outside = 2 / (v["surrogates"] + 1) * (1 + 1e-9)
    return {
        "not-poisson": max(v["upload-largest-p"], v["commit-largest-p"]) <= outside,
        "tie": bool((np.abs(sizes("fixed") - 1) < TIE).all()),
        "greedy-loses": v["greedy-middle"] < 1 - TIE,
        "entry-is-robin": bool((np.abs(sizes("entry") / sizes("robin") - 1) < 0.1).all()),
        "campbell-robin-worst": increasing and robin.argmax() == 0 and robin[0] > near,
        "stale-falls": increasing and falls("upload-oracle"),
        "curse-holds": v["curse"] < v["rest"],
        "prior-little": bool((np.abs(sizes("shrunk") - 1) < TIE).all()),
        "forgetting-helps": bool((sizes("forgetting") > 1).all()),
        "memory-falls": increasing and bool((np.diff(sizes("memory")) <= 0).all()),
        "order-stays": orders_agree(v),
        "longer-is-safer": v["half-life-double"] < v["half-life-half"],
        "values-matter": v["values-unknown"] > max(v["half-life-double"], v["half-life-half"]),
        "ping-first": v["feed-small"] - 1 > 2 * (max(v[f"{key}-small"] for key in others) - 1),
        "robin-moves-most": robin_moves_most(v),
        "two-objectives": v["harmonic-even-middle"] < v["harmonic-index-middle"]
        and v["even-middle"] < 1,
        "robin-is-fresh": v["harmonic-robin-middle"] < 1.25 * v["harmonic-even-middle"]
        and v["robin-middle"] < MUCH_LESS * v["even-middle"],
    }


def orders_agree(v: Mapping[str, float]) -> bool:
    """Whether all rules for half-lives put the policies in one order, LambdaCrawl's rates apart."""
    keys = ("fixed", "forgetting", "robin", "oracle", "feed")
    rules = {name.split("-")[1] for name in v if name.startswith("rule-")}
    orders = {tuple(sorted(keys, key=lambda k: v[f"rule-{rule}-{k}"])) for rule in rules}
    return len(orders) == 1


def robin_moves_most(v: Mapping[str, float]) -> bool:
    """Whether round robin's reward changes by the largest factor from 6 hours to a week."""
    factors = {
        k: abs(np.log(v[f"rule-2-{k}"] / v[f"rule-0-{k}"])) for k in ("robin", "feed", "fixed")
    }
    return max(factors, key=lambda k: factors[k]) == "robin"


def save_predicates() -> None:
    """Keep the findings, each under its name, for the sentences that depend on it."""
    numbers = saved_numbers("publications-")
    for name, holds in predicates(numbers).items():
        save_value(f"publications-is-{name}", bool(holds))
    evens = [numbers[f"rule-{rule}-even"] for rule in range(5)]
    save_value("publications-even-lowest", min(evens))
    save_value("publications-even-highest", max(evens))
    worst = max(SIZES, key=lambda size: numbers[f"stale-{size}"])
    save_value("publications-stale-most", numbers[f"stale-{worst}"])
    save_value("publications-stale-least", min(numbers[f"stale-{size}"] for size in SIZES))
    near = min(numbers[f"feed-{size}"] / numbers[f"clairvoyant-{size}"] for size in SIZES)
    save_value("publications-feed-of-bound", near)


def standing_still() -> float:
    """Return the product of rate and interval at which Nutch's interval stands still on average.

    The interval is multiplied by 0.8 after news, with probability 1 - exp(-x), and else by 1.4:
    its logarithm stands still where (1 - exp(-x)) log 0.8 + exp(-x) log 1.4 = 0.
    """
    return float(np.log1p(np.log(1.4) / -np.log(0.8)))
