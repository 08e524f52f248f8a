"""What the page on the model and its index computes.

The equations of the report and the slides are measured by `theory.growth` (sections 2 and 4),
`theory.relaxation` (sections 2 and 3), `theory.equations` (sections 4 and 5) and `theory.formula`
(section 6); `Results` holds what they find on the page's sources.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.checks import check_integer
from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.equations import EquationResiduals
from analysis.ephemeral.theory.formula import IndexChecks
from analysis.ephemeral.theory.growth import ModelChecks, TransientChecks
from analysis.ephemeral.theory.relaxation import Discounted, RelaxationChecks, Runs

#: What still counts as rounding, and the room that a margin has for it.
ROUNDING = 1e-9
ROOM = 1e-6
#: Three kinds of content: near empty, below u*, above u*.
KINDS = ("near empty", "below u*", "above u*")


@dataclass(frozen=True)
class Results:
    """What the page computes."""

    sources: Sources
    model: ModelChecks
    transients: TransientChecks
    # Late reward of a run that begins at u*, with the index above u* by "definition" and as
    # "printed".
    late: dict[str, float]
    cycles: dict[int, Cycle]  # long run of the index policy, by M
    bounds: dict[int, float]  # relaxed bound, by M
    relaxed: RelaxationChecks
    runs: Runs
    discounted: Discounted
    equations: EquationResiduals
    checks: pd.DataFrame  # as `lemma_checks` returns it
    finite: tuple[float, float, float]  # as `finite_horizon_checks` returns it
    solved: pd.DataFrame  # as `constant_policies` returns it
    fall: float  # least slope of V in the subsidy, at one content
    index: IndexChecks
    definition: float  # largest relative difference of the closed form from the definition
    # Share of wrong ceilings in floating point; largest error of the short form.
    flips: float
    short_worst: float


@dataclass(frozen=True)
class Cases:
    """Random sources in random states."""

    sources: Sources  # decay from 1e-10 to 50 an epoch, rates over six decades, costs from 0.2 to 5
    state: Floats  # one content each; shape (N,)
    kind: NDArray[np.int64]  # place of its kind in `KINDS`; shape (N,)


def random_cases(instances: int, rng: np.random.Generator) -> Cases:
    """Draw sources and states for a comparison of the index with its definition."""
    instances = check_integer("instances", instances, 1)
    decay = 10 ** rng.uniform(-10, np.log10(50), instances)
    rate = 10 ** rng.uniform(-3, 3, instances)
    sources = Sources(rate, np.ones(instances), decay, cost=rng.uniform(0.2, 5, instances))
    kind = rng.integers(0, 3, instances)
    shares = [
        10 ** rng.uniform(-12, 0, instances),
        rng.uniform(0, 1, instances),
        rng.uniform(1, 3, instances),
    ]
    return Cases(sources, np.choose(kind.astype(np.intp), shares) * sources.u_star, kind)
