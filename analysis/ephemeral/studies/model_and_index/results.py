"""What the page on the model and its index computes, before it is turned into verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.model_and_index.equations import EquationResiduals
from analysis.ephemeral.studies.model_and_index.formula import IndexChecks
from analysis.ephemeral.studies.model_and_index.model import (
    ModelChecks,
    TransientChecks,
)
from analysis.ephemeral.studies.model_and_index.relaxation import (
    Discounted,
    RelaxationChecks,
    Runs,
)

#: What still counts as rounding, and the room that a margin has for it.
ROUNDING = 1e-9
ROOM = 1e-6


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
