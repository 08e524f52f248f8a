"""Limits on ages and parts on many machines, at sizes where a second method is cheap."""

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral.instances import lognormal_sources
from book.ephemeral import many_machines as page


def test_limit_price_exceeds_bound_price():
    rng = np.random.default_rng(2)
    sources = lognormal_sources(4000, rng)
    limits = [(0, np.inf), (20, np.inf), (200, np.inf), (0, 150)]
    price = page.compute_price_of_limits(sources, 40, limits, 400, 600, rng)
    assert (price.policy > price.relaxed - 2e-3).all()
    assert (price.policy < price.relaxed + 0.03).all()
    np.testing.assert_allclose(price.spent, [1, 1, 0.5, 1], rtol=1e-2)
    assert price.relaxed[0] == pytest.approx(0, abs=1e-12)


def test_quotas_lose_shared_multiplier_does_not():
    rng = np.random.default_rng(3)
    sources = lognormal_sources(6000, rng)
    runs = page.compute_price_of_parts(sources, 60, [5], 300, 600, 3)
    price = runs.set_index(["split", "exchange"]).loss
    bound = page.compute_bound_of_parts(sources, 60, [5], 3).set_index("split").loss
    fixed = runs[~runs.exchange].set_index("split")
    assert (fixed.loss > bound - fixed.half_width).all()
    assert (runs[runs.exchange].loss.abs() < runs[runs.exchange].half_width).all()
    assert bound["by decay rate"] > bound["at random"] > 0
    assert price["by decay rate", False] == pytest.approx(bound["by decay rate"], rel=0.5)
    assert abs(price["by decay rate", True]) < 0.3 * bound["by decay rate"]


def test_sentences_turn_with_prices():
    rows = [(5, np.inf, 0.01), (50, np.inf, 0.1), (0, 150, 0.2), (0, 500, 0.05)]
    price = pd.DataFrame(rows, columns=["min_age", "max_age", "policy"]).assign(relaxed=0.005)
    said = page.collect_limit_predicates(price)
    assert said["limits-dearer"] is True
    assert (said["min-first"], said["min-last"]) == (5, 50)
    assert (said["max-first"], said["max-last"]) == (150, 500)
    assert (said["max-low"], said["max-high"]) == (0.2, 0.05)
    assert said["gap"] == pytest.approx(0.195)
    other = price.assign(policy=[0.1, 0.01, 0.2, 0.05])
    assert page.collect_limit_predicates(other)["limits-dearer"] is False
    alike = price.assign(policy=[0.1, 0.1, 0.2, 0.05])
    assert page.collect_limit_predicates(alike)["limits-dearer"] is False
    simulated = pd.DataFrame({"exchange": [False, True], "loss": [0.05, -0.001]})
    assert (
        page.collect_part_predicates(simulated, pd.Series([0.01, 0.02]))["multiplier-wins"] is True
    )
    assert (
        page.collect_part_predicates(simulated, pd.Series([0.001, 0.02]))["multiplier-wins"]
        is False
    )


def test_missing_limit_shown_as_none():
    price = pd.DataFrame({"max_age": [np.inf, 8.0], "policy": [0.1, 0.2], "half_width": [0.1, 0.1]})
    shown = page.blank_infinities(price)
    assert shown["max_age"].isna().tolist() == [True, False]
    assert list(shown) == ["max_age", "policy"]
    assert shown["policy"].tolist() == [0.1, 0.2]


def test_part_values_read_from_rows():
    columns = ["parts", "split", "exchange", "loss", "half_width"]
    rows = [(3, "at random", True, -0.002, 0.001), (3, "by decay rate", True, 0.001, 0.0005)]
    simulated = pd.DataFrame(rows, columns=columns)
    bounds = pd.DataFrame(
        [(3, "at random", 0.002), (3, "by decay rate", 0.01), (11, "by decay rate", 0.02)],
        columns=["parts", "split", "loss"],
    )
    said = page.collect_part_values(simulated, bounds, 1000)
    assert said["noise"] == page.loss_with_multiplier(simulated) == pytest.approx(0.003)
    assert said["slope"] == pytest.approx(0.002 * 1000 / 2)
    assert (said["few"], said["few-loss"], said["many"], said["many-loss"]) == (3, 0.01, 11, 0.02)
    assert said["multiplier-wins"] is True
