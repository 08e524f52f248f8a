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

from analysis.checks import check_integer
from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.equations import EquationResiduals
from analysis.ephemeral.theory.formula import IndexChecks
from analysis.ephemeral.theory.growth import ModelChecks, TransientChecks
from analysis.ephemeral.theory.relaxation import Discounted, RelaxationChecks, Runs

Floats = NDArray[np.float64]
#: What still counts as rounding, and the room that a margin has for it.
ROUNDING = 1e-9
ROOM = 1e-6
#: Three kinds of content: near empty, below u*, above u*.
KINDS = ("near empty", "below u*", "above u*")


@dataclass(frozen=True)
class Results:
    """What the page computes.

    Attributes
    ----------
    sources : Sources
    model : ModelChecks
    transients : TransientChecks
    late : dict of str to float
        Late reward of a run that begins at u*, with the index above u* by "definition" and as
        "printed".
    cycles : dict of int to Cycle
        Long run of the index policy, by M.
    bounds : dict of int to float
        Relaxed bound, by M.
    states : dict of int to int
        Joint ages that the exact optimum takes, by M.
    relaxed : RelaxationChecks
    runs : Runs
    discounted : Discounted
    equations : EquationResiduals
    checks : pandas.DataFrame
        As `lemma_checks` returns it.
    finite : tuple of float
        As `finite_horizon_checks` returns it.
    solved : pandas.DataFrame
        As `constant_policies` returns it.
    fall : float
        Least slope of V in the subsidy, at one content.
    index : IndexChecks
    definition : float
        Largest relative difference of the closed form from the definition.
    flips, short_worst : float
        Share of wrong ceilings in floating point; largest error of the short form.
    """

    sources: Sources
    model: ModelChecks
    transients: TransientChecks
    late: dict[str, float]
    cycles: dict[int, Cycle]
    bounds: dict[int, float]
    states: dict[int, int]
    relaxed: RelaxationChecks
    runs: Runs
    discounted: Discounted
    equations: EquationResiduals
    checks: pd.DataFrame
    finite: tuple[float, float, float]
    solved: pd.DataFrame
    fall: float
    index: IndexChecks
    definition: float
    flips: float
    short_worst: float


@dataclass(frozen=True)
class Cases:
    """Random sources in random states.

    Attributes
    ----------
    sources : Sources
        Decay from 1e-10 to 50 an epoch, rates over six decades, costs from 0.2 to 5.
    state : ndarray, shape (N,)
        One content each.
    kind : ndarray of int, shape (N,)
        Place of its kind in `KINDS`.
    """

    sources: Sources
    state: Floats
    kind: NDArray[np.int64]


def random_cases(instances: int, rng: np.random.Generator) -> Cases:
    """Draw sources and states for a comparison of the index with its definition.

    Parameters
    ----------
    instances : int
        How many, at least 1.
    rng : numpy.random.Generator
        Source of randomness.
    """
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
    return Cases(sources, np.choose(kind, shares) * sources.u_star, kind)
