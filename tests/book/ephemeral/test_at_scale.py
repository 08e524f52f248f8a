"""The page at scale, at sizes where a second method is cheap."""

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral.instances import lognormal_sources
from analysis.ephemeral.scheduler import MEASURED
from analysis.ephemeral.scheduler.register import spread_ages
from book.ephemeral import at_scale as page


def test_crawls_equal_full_ranking():
    rng = np.random.default_rng(1)
    sources = lognormal_sources(5000, rng)
    ages = spread_ages(sources, 50, rng)
    assert page.compare_with_full_ranking(sources, 50, ages, 40) == (40, 40)


def test_observed_crawls_equal_full_ranking():
    row = page.compare_observed_with_ages((2000, 20, 120), np.random.default_rng(4))
    assert row["equal"] == 120
    assert row["gain"] > 0


def test_compiled_ratio_names_size():
    notes = ["N = 1e+07, M = 1e+05", "N = 1e+06, ages spread", "N = 1e+06, ages alike"]
    rows = pd.DataFrame(
        {
            "name": ["epoch of the calendar"] * 4 + ["the same in single precision"],
            "peer": ["compiled full ranking"] * 3 + ["a bare pass", "compiled full ranking"],
            "ratio": [44.0, 3.3, 2.4, 9.0, 99.0],
            "note": [*notes, "N = 1e+08, M = 1e+06", "N = 1e+05, M = 1e+03"],
        }
    )
    assert page.compare_with_compiled_ranking(rows) == {
        "compiled-ratio": 44.0,
        "compiled-size": 1e7,
        "compiled-low": 2.4,
        "compiled-high": 3.3,
        "compiled-smaller": 1e6,
    }
    for wrong in (rows[1:], rows[:1], rows.assign(peer="compiled full ranking")):
        with pytest.raises(ValueError, match="two numbers of sources"):
            page.compare_with_compiled_ranking(wrong)


def test_pass_values_at_largest_size():
    measured = pd.read_csv(MEASURED / "scale.csv")
    passes = measured.pivot(index="sources", columns="way", values="passes")
    said = page.collect_pass_values(measured, passes)
    assert said["largest"] == measured.sources.max()
    assert said["calendar-passes"] < 1 < said["scan-passes"] < said["printed-passes"]
    assert passes.loc[said["first-below"], "calendar"] < 1
