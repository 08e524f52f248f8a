"""The exercises of this part: small computations, and the numbers that their solutions quote."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.static import random_reward
from analysis.ephemeral.sources import Sources, four_sources
from analysis.learning.scheme.thresholds import soft_threshold_value
from book.learning.learners import side_by_side
from scorecard import save_table, save_value, save_values

UNIT = 64.0
"""A power of two, so that multiplying by it does not round."""


def crawls_by_unit(epochs: int = 1000, seed: int = 3) -> pd.DataFrame:
    """Return the share of epochs with the same crawl if utilities are `UNIT` times as large."""
    sources = four_sources()
    larger = Sources(sources.arrival_rate, UNIT * sources.mean_utility, sources.decay_rate)
    content = Arrivals(sources, Utility("exponential")).sample(epochs, np.random.default_rng(seed))
    shares = {}
    for name, make in side_by_side(sources, 1).items():
        one = make().play(sources, content, 1, np.random.default_rng(seed))
        made = side_by_side(larger, 1)[name]()
        other = made.play(larger, UNIT * content, 1, np.random.default_rng(seed))
        shares[name] = float(np.mean(np.isclose(UNIT * one.expected, other.expected, rtol=1e-9)))
    same = pd.Series(shares, name="epochs with the same crawl (%)")
    return (100 * same).rename_axis("learner").to_frame()


def of_the_learners(epochs: int = 1000) -> None:
    """Keep what the page on the learners quotes."""
    save_value("learners-unit-epochs", epochs)
    save_table(
        "learners-unit",
        crawls_by_unit(epochs),
        "Share of the epochs in which a learner's crawl is the same after all utilities have been "
        f"multiplied by {UNIT:g}: the report's sources, one run of {epochs} epochs.",
        formats=".1f",
    )


def one_crawl(sources: Sources) -> tuple[float, float]:
    """Return the kappa at which thresholds at their upper bounds crawl one source an epoch.

    `kappa`, `reward`: and what they earn then.
    """

    def excess(kappa: float) -> float:
        return soft_threshold_value(sources, sources.u_star, kappa).engaged - 1.0

    kappa = float(brentq(excess, 1e-6, 100.0))
    return kappa, soft_threshold_value(sources, sources.u_star, kappa).average_reward


def of_the_scheme_as_printed() -> None:
    """Keep the numbers of the page on the scheme as printed."""
    sources = four_sources()
    flat = soft_threshold_value(sources, sources.u_star, 1e-9)
    kappa, reward = one_crawl(sources)
    twice = soft_threshold_value(sources, 2 * sources.u_star, 2.0)
    kept = {
        "flat": flat.average_reward,
        "flat-engaged": flat.engaged,
        "flat-formula": float((sources.u / (2 - sources.alpha)).sum()),
        "one-kappa": kappa,
        "one-reward": reward,
        "random": random_reward(sources, np.full(len(sources), 1 / len(sources))),
        "twice": twice.average_reward,
        "twice-engaged": twice.engaged,
    }
    save_values("printed-exercise", kept)


def lifetimes(sources: Sources, share: float = 0.01) -> np.ndarray:
    """Return the least M of each source at which dropped content is at most a share of u*."""
    return np.ceil(np.log(1 / share) / sources.decay).astype(np.int64)


def of_the_scheme() -> None:
    """Keep the numbers of the page on the scheme's equations."""
    for number, lifetime in enumerate(lifetimes(four_sources()), start=1):
        save_value(f"scheme-lifetime-{number}", int(lifetime))
