"""Passing the results of fetches to a policy, in the form that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.crawl.frontier.state import Outcome
from analysis.ephemeral.policies import Policy
from analysis.learning.items import ItemSums


def pass_results(
    policy: Policy, outcomes: Sequence[Outcome], age: NDArray[np.int64], seconds: float
) -> None:
    """Call ``observe`` of a policy with outcomes, or ``update`` with their rewards, if it has any.

    `found` are successful fetches, `age` the ages of all sources before them, shape (N,), and
    `seconds` the length of an epoch. A learner with ``sees_items`` gets `ItemSums` of the outcomes
    whose items have ages, and plain rewards of the others.
    """
    if hasattr(policy, "observe") and outcomes:
        policy.observe(list(outcomes))
    elif hasattr(policy, "update") and outcomes:
        sees_items = getattr(policy, "sees_items", False)
        aged = [
            sees_items and _has_ages(outcome, int(age[outcome.source]), seconds)
            for outcome in outcomes
        ]
        for items in (True, False):
            chosen = [
                outcome
                for outcome, has_ages in zip(outcomes, aged, strict=True)
                if has_ages == items
            ]
            if not chosen:
                continue
            arms = np.array([outcome.source for outcome in chosen], dtype=np.int64)
            worth = np.array([outcome.reward for outcome in chosen])
            ages = np.array([outcome.aged or 0.0 for outcome in chosen]) / seconds
            policy.update(arms, ItemSums(worth, ages) if items else worth)


def _has_ages(outcome: Outcome, age: int, seconds: float) -> bool:
    """Whether the ages of an outcome's items are consistent with the age of its source.

    Items that are on average older than the source's age existed before its last fetch, which the
    estimates exclude.
    """
    if outcome.aged is None:
        return False
    oldest = outcome.reward * float(age) * seconds
    return outcome.aged <= oldest and (outcome.aged > 0) <= (outcome.reward > 0)
