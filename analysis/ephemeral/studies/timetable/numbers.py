"""Numbers of the page on timetables: constants of the theorems, and of the solutions."""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.construction import timetable
from analysis.ephemeral.timetables.guarantees import (
    chord_loss,
    chosen_base_loss,
    odd_below,
    waste,
    worst_share,
)
from analysis.ephemeral.timetables.table import Timetable

#: Ratio of neighbouring gaps, by the name of a value.
RATIOS = {"two": 2.0, "three-halves": 1.5, "four-thirds": 4 / 3, "five-quarters": 1.25}


def of_theorems() -> dict[str, float]:
    """Return the constants that the page's theorems name."""
    eta = {f"eta-{name}": chord_loss(ratio) for name, ratio in RATIOS.items()}
    two = chord_loss(2.0)
    return {
        **eta,
        "promise": 1 - two,
        "excess": _up(1 / (1 - two) - 1, 4),
        "concave-promise": 2 * np.sqrt(2) - 2,
        "worst-share": worst_share(),
        "base-two": chosen_base_loss(1),
        "base-four": chosen_base_loss(2),
        "base-limit": chosen_base_loss(),
        "waste-three": waste(odd_below(2)),
        "waste-seven": waste(odd_below(3)),
    }


def of_a_pair() -> dict[str, float]:
    """Return what two sources lose if both have constant gaps."""
    pair = Sources(np.array([40.0, 0.5]), np.ones(2), np.array([40.0, 0.001]))
    # Gaps with a common divisor leave half of the epochs to each: the first alone earns more.
    alone = float(pair.state_at_age([1, 1])[0])
    return {"strict-loss": 1 - alone / timetable(pair, 1).average_reward}


def _up(number: float, digits: int) -> float:
    """Round up, as a bound has to be."""
    return float(np.ceil(number * 10.0**digits) / 10.0**digits)


def of_table(table: Timetable) -> dict[str, float]:
    """Return the page's numbers on its timetable."""
    crawled = np.unique(table.source).size
    return {
        "earned": table.average_reward,
        "bound": table.bound,
        "margin": _up(max(table.margin, 0.0), 5),
        "price": table.price,
        "sources": len(table.sources),
        "crawled": crawled,
        "never": len(table.sources) - crawled,
        "shares": bool(crawled < len(table)),
        "verified": table.verify(),
    }


def of_few(table: Timetable) -> dict[str, float]:
    """Return the page's numbers on the timetable that its explorable opens with."""
    return {
        "few-budget": table.budget,
        "few-sources": len(table.sources),
        "few-earned": table.average_reward,
        "few-bound": table.bound,
    }


def of_solutions() -> dict[str, float]:
    """Return the numbers of the solutions."""
    three = Sources(np.full(3, 0.5), np.ones(3), np.full(3, 0.5))
    plain, mixed = timetable(three, 1, odd_parts=(1,)), timetable(three, 1)
    return {
        "solution-plain": 1 - plain.average_reward / plain.bound,
        "solution-mixed": 1 - mixed.average_reward / mixed.bound,
    }
