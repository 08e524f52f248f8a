"""Losses of the two-level and the index policy on random sets, by the number of copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.checks import check_integer
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.stochastic.replicas import simulate_replicas
from analysis.ephemeral.timetables.copies import common_period, enough_copies, two_level

#: Loss below which a reward counts as the bound itself.
EXACT = 1e-11


def check_sources(sources: Sources | None, parameters: Mapping[str, Any]) -> None:
    """Refuse sources whose due ages at the page's budget have no common multiple."""
    common_period(four_sources() if sources is None else sources, parameters["budget"])


def losses(copies: Sequence[int], instances: int, seed: int) -> pd.DataFrame:
    """Return what two policies lose against the relaxed bound on copies of random sets of four.

    `copies`: numbers of copies. One row a set and number of copies: instance, copies; two-level
    and index, losses; rule, how the counts were found; enough, the number from which on the proof
    holds, nan if all due ages are whole.
    """
    instances = check_integer("instances", instances, 1)
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        enough = enough_copies(sources, budget)
        for number in copies:
            plan = two_level(sources, budget, number)
            rng = np.random.default_rng([seed, instance, number])
            run = simulate_replicas(sources, budget, number, start="random", horizon=2000, rng=rng)
            rows.append(
                {
                    "instance": instance,
                    "copies": number,
                    "two-level": max(plan.loss, 0.0),
                    "index": max(1 - run.average_reward / plan.bound, 0.0),
                    "rule": plan.rule,
                    "enough": enough,
                }
            )
    return pd.DataFrame(rows)
