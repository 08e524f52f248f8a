"""The exercises of this part: small computations, and the numbers that their solutions quote."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.static import random_reward
from analysis.ephemeral.sources import Sources, four_sources
from analysis.learning.scheme.thresholds import soft_threshold_value
from book.learning.learners import list_learners
from scorecard import save_table, save_value, save_values

UNIT = 64.0
"""A power of two, so that multiplying by it does not round."""


def compare_units(epochs: int = 1000, seed: int = 3) -> pd.DataFrame:
    """Return the share of epochs with the same crawl if utilities are `UNIT` times as large."""
    sources = four_sources()
    larger = Sources(sources.arrival_rate, UNIT * sources.mean_utility, sources.decay_rate)
    content = Arrivals(sources, Utility("exponential")).sample(epochs, np.random.default_rng(seed))
    shares = {}
    for name, make in list_learners(sources, 1).items():
        small = make().play(sources, content, 1, np.random.default_rng(seed))
        learner = list_learners(larger, 1)[name]()
        large = learner.play(larger, UNIT * content, 1, np.random.default_rng(seed))
        shares[name] = float(np.mean(np.isclose(UNIT * small.expected, large.expected, rtol=1e-9)))
    same = pd.Series(shares, name="epochs with the same crawl (%)")
    return (100 * same).rename_axis("learner").to_frame()


def save_learner_solutions(epochs: int = 1000) -> None:
    """Save the numbers that the page on the learners quotes."""
    save_value("learners-unit-epochs", epochs)
    save_table(
        "learners-unit",
        compare_units(epochs),
        "Share of the epochs in which a learner's crawl is the same after all utilities have been "
        f"multiplied by {UNIT:g}: the report's sources, one run of {epochs} epochs.",
        formats=".1f",
    )


def find_one_crawl_kappa(sources: Sources) -> tuple[float, float]:
    """Return the kappa at which thresholds at their upper bounds crawl one source an epoch.

    And what they earn then.
    """

    def excess(kappa: float) -> float:
        return soft_threshold_value(sources, sources.u_star, kappa).engaged - 1.0

    kappa = float(brentq(excess, 1e-6, 100.0))
    return kappa, soft_threshold_value(sources, sources.u_star, kappa).average_reward


def save_printed_solutions() -> None:
    """Save the numbers of the page on the scheme as printed."""
    sources = four_sources()
    flat = soft_threshold_value(sources, sources.u_star, 1e-9)
    kappa, reward = find_one_crawl_kappa(sources)
    twice = soft_threshold_value(sources, 2 * sources.u_star, 2.0)
    numbers = {
        "flat": flat.average_reward,
        "flat-engaged": flat.engaged,
        "flat-formula": float((sources.u / (2 - sources.alpha)).sum()),
        "one-kappa": kappa,
        "one-reward": reward,
        "random": random_reward(sources, np.full(len(sources), 1 / len(sources))),
        "twice": twice.average_reward,
        "twice-engaged": twice.engaged,
    }
    save_values("printed-exercise", numbers)


def least_lifetimes(sources: Sources, share: float = 0.01) -> np.ndarray:
    """Return the least M of each source at which dropped content is at most a share of u*."""
    return np.ceil(np.log(1 / share) / sources.decay).astype(np.int64)


def save_scheme_solutions() -> None:
    """Save the numbers of the page on the scheme's equations."""
    for number, lifetime in enumerate(least_lifetimes(four_sources()), start=1):
        save_value(f"scheme-lifetime-{number}", int(lifetime))
