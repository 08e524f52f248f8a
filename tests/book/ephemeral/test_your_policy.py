"""The reader's policy is run as it is, and its rewards are those of the model."""

import numpy as np
import pytest

from analysis.ephemeral import WhittlePolicy, four_sources
from book.ephemeral import your_policy as page


class OneSource:
    """Crawls the first sources for ever."""

    def __init__(self, sources):
        self.sources = sources

    def select(self, observation, budget, rng):
        return np.arange(budget)


def test_index_policy_as_own_earns_the_same():
    rewards = page.compare_policies(four_sources(), WhittlePolicy, 1, 400, 1)
    assert rewards[page.OWN] == rewards["index policy"]


def test_one_source_earns_its_content():
    sources = four_sources()
    rewards = page.compare_policies(sources, OneSource, 1, 200, 1)
    assert rewards[page.OWN] == pytest.approx(sources.u[0])
    assert rewards[page.OWN] < rewards["optimum"] <= rewards["relaxed bound"] * (1 + 1e-12)


def test_no_policy_passes_the_bound():
    shares = page.compare_on_random_sets(WhittlePolicy, 20, 101, 2)
    assert shares.share.between(0, 1 + 1e-9).all()
    wide = shares.pivot(index="instance", columns="policy", values="share")
    assert (wide[page.OWN] == wide["index policy"]).all()


def test_mask_is_refused_by_name():
    class Mask(OneSource):
        def select(self, observation, budget, rng):
            return observation.age > 3

    with pytest.raises((TypeError, ValueError), match="arms"):
        page.compare_policies(four_sources(), Mask, 1, 100, 1)
