"""Arms with two actions made to break an index: right by definition, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from analysis.bandits import (
    Arm,
    certify_indexability,
    index_scores,
    relaxed_problem,
    simulate,
    whittle_index,
)
from analysis.results import NotConverged
from tests.bandits.adversarial import FAMILIES as ARMS
from tests.bandits.adversarial import agrees, draw
from tests.bandits.test_relaxed import bound_by_occupation
from tests.families import Slow

FEW, MANY = 12, 300


def certificates(family: str, count: int) -> None:
    """The result keeps to the definition, or the arm is refused by name."""
    certified = 0
    for number in range(count):
        arm, discount = draw(family, number)
        try:
            found = certify_indexability(arm, discount)
        except NotConverged:
            continue
        except ValueError:  # of several closed classes: the average depends on the state
            assert discount == 1, (family, number)
            continue
        assert agrees(arm, discount, found), (family, number)
        certified += 1
        if found.holds:
            np.testing.assert_array_equal(whittle_index(arm, discount), found.index)
        else:
            with pytest.raises(ValueError, match="arm"):
                whittle_index(arm, discount)
    assert certified >= count / 3


def sets(family: str, count: int) -> None:
    """The bound is that of the linear programme in shares of time; no simulated policy passes it.

    A tenth of each epoch leads anywhere, so that averages are those of one class and settle.
    """
    for number in range(count):
        arms = []
        for n in range(3):
            arm, _ = draw(family, 3 * number + n)
            scale = max(float(np.abs(arm.rewards).max()), 1e-300)
            arms.append(Arm(0.9 * arm.transitions + 0.1 / arm.states, arm.rewards / scale))
        budget = 1 + number % 2
        for discount in (0.9, 1.0):
            found = relaxed_problem(arms, budget, discount)
            exact = bound_by_occupation(arms, budget, discount, [0, 0, 0])
            assert abs(found.bound - exact) < 1e-7, (family, number, discount)
        try:
            policies = {"index": index_scores(arms), "lagrangian": found.index}
        except ValueError:
            policies = {"lagrangian": found.index}
        run = {"epochs": 200, "paths": 40, "warm_up": 100, "rng": number}
        for earned in simulate(arms, policies, budget, **run).values():
            assert earned.low - earned.half_width <= found.bound + 1e-9


def table(check: Callable[[str, int], None], few: int, many: int) -> dict[str, Callable]:
    """A row: each family of arms, a few of them always and many in the longer run."""
    found = {family: partial(check, family, few) for family in ARMS}
    return found | {f"{family}, many": Slow(partial(check, family, many)) for family in ARMS}


FAMILIES = {
    "certify_indexability, whittle_index": table(certificates, FEW, MANY),
    "relaxed_problem, index_scores, simulate": table(sets, 2, 40),
}
