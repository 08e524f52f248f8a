"""Solutions of the exercises, by another method where there is one."""

import numpy as np
import pytest

from analysis.ephemeral.optimum.static import random_reward
from analysis.ephemeral.sources import four_sources
from analysis.learning.scheme.thresholds import soft_threshold_value
from book.learning import exercises


def test_no_learner_depends_on_unit():
    assert (exercises.compare_units(200).to_numpy() == 100).all()


def test_flat_logit_crawls_every_other_epoch():
    sources = four_sources()
    flat = soft_threshold_value(sources, sources.u_star, 1e-9)
    assert flat.engaged == pytest.approx(2)
    assert flat.average_reward == pytest.approx((sources.u / (2 - sources.alpha)).sum())


def test_upper_bounds_crawl_one_source():
    sources = four_sources()
    kappa, reward = exercises.find_one_crawl_kappa(sources)
    found = soft_threshold_value(sources, sources.u_star, kappa)
    assert found.engaged == pytest.approx(1, abs=1e-9)
    assert reward < random_reward(sources, np.full(4, 0.25))


def test_lifetimes_are_least():
    sources = four_sources()
    ages = exercises.least_lifetimes(sources)
    assert (sources.alpha**ages <= 0.01).all()
    assert (sources.alpha ** (ages - 1) > 0.01).all()
    assert ages.dtype == np.int64
