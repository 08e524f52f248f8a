"""The learners that the book holds side by side, with the settings that it uses.

Settings are each learner's defaults, and do not depend on the budget. Only the scheme of 2019 has a
second set: with many sources its products of states are too many, and sums of states too large for
their square, so it keeps constant thresholds and linear features, and updates the inverse of B.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import comb

from analysis.checks import check_integer, check_kind
from analysis.ephemeral.sources import Sources
from analysis.learning.baselines import LARGEST_TABLE, AgeBlindUcb, JointQ, JointQOptions
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.learning.environment import CompiledLearner
from analysis.learning.scheme.lspe import Lspe, LspeOptions
from analysis.learning.uc_whittle import UcWhittle
from analysis.learning.whittle_q import WhittleQ

FEW = 8
"""Sources up to which the 2019 scheme keeps quadratic thresholds and features."""
MANY = {"threshold": "constant", "features": "linear", "regulariser": "sherman-morrison"}
"""What it changes for more; B begins at the identity, so that its inverse is always there."""


def side_by_side(sources: Sources, budget: int) -> dict[str, Callable[[], CompiledLearner]]:
    """Name every learner and say how a fresh one is made.

    Parameters
    ----------
    sources : Sources
        N sources. Only the 2019 scheme is told anything of them but their number.
    budget : int
        Arms crawled at each epoch.

    Returns
    -------
    dict of str to callable
        For `compare_learners`; joint Q-learning only where its table is small enough.
    """
    check_kind("sources", sources, Sources)
    size = len(sources)
    budget = check_integer("budget", budget, 1, size)
    many = {} if size <= FEW else MANY
    learners: dict[str, Callable[[], CompiledLearner]] = {
        "certainty equivalence, UCB": _certainty(size, "ucb", 2),
        "certainty equivalence, forced": _certainty(size, "forced", 4),
        "certainty equivalence, Thompson": _certainty(size, "thompson", 2),
        "LSPE(0), corrected": partial(Lspe, sources, LspeOptions.corrected(**many)),
        "Whittle-index Q-learning": partial(WhittleQ, size),
        "UCWhittle": partial(UcWhittle, size),
    }
    if JointQOptions().oldest ** size * comb(size, budget) <= LARGEST_TABLE:
        learners["joint Q-learning"] = partial(JointQ, size, budget)
    learners["age-blind UCB1"] = partial(AgeBlindUcb, size)
    return learners


def _certainty(size: int, exploration: str, forced: int) -> Callable[[], CompiledLearner]:
    options = CertaintyEquivalenceOptions(
        exploration, forced=forced, confidence=0.5, spread=1.0, floor=0.0
    )
    return partial(CertaintyEquivalence, size, options)
