"""Growth of content over an epoch, and contents under random controls."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from analysis.ephemeral import four_sources
from analysis.ephemeral.theory import growth
from analysis.ephemeral.theory.growth import growth_error, transient_checks


@pytest.mark.parametrize("share", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("period", [0.3, 1.0, 4.0])
def test_growth_over_an_epoch(share, period):
    assert growth_error(replace(four_sources(), period=period), share) < 1e-7


def test_growth_error_sees_a_wrong_statement():
    class Wrong:
        """Sources whose u lacks the factor T."""

        def __init__(self, sources):
            self._sources = sources
            self.u = sources.u / sources.period

        def __getattr__(self, name):
            return getattr(self._sources, name)

    assert growth_error(Wrong(replace(four_sources(), period=2.0)), 0.0) > 0.4


def test_transients_in_random_runs():
    seen = transient_checks(400, 30, np.random.default_rng(1))
    assert astuple(seen) == (True, True, True, True, True, 200, 30)


def test_greedy_crawl_empties_source(monkeypatch):
    monkeypatch.setattr(growth, "step", lambda x, crawl: np.where(crawl, 0.0, 0.7 * x + 0.3))
    seen = transient_checks(400, 30, np.random.default_rng(1))
    assert seen.stays_below
    assert not seen.empty


@pytest.mark.parametrize(
    ("runs", "epochs", "message"),
    [(1, 5, "runs"), (4, 0, "epochs")],
)
def test_wrong_counts_are_named(runs, epochs, message):
    with pytest.raises(ValueError, match=message):
        transient_checks(runs, epochs, np.random.default_rng(4))
