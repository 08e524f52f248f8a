"""The policies of a crawl: what they choose, and what they keep."""

import numpy as np
import pytest

from analysis.crawl import Frontier, IndexPolicy, Outcome, TurnPolicy, policies
from analysis.crawl.frontier.state import FAILED, FORBIDDEN, FOUND, NEVER
from analysis.ephemeral import WhittlePolicy
from tests.crawl.support import some_sources


@pytest.mark.parametrize("trouble", [False, True])
def test_index_policy_equals_sort(trouble):
    sources, rng = some_sources(30), np.random.default_rng(1)
    hosts = list(range(15)) * 2
    both = (policies.index(sources, 4, 1.0), WhittlePolicy(sources))
    crawls = [Frontier(p, hosts, 4, rng=np.random.default_rng(0)) for p in both]
    shares = [0.79, 0.2, 0.01] if trouble else [1, 0, 0]
    for _ in range(150):
        arms = [crawl.choose().tolist() for crawl in crawls]
        assert arms[0] == arms[1]
        for source in arms[0]:
            kind = rng.choice([FOUND, FAILED, FORBIDDEN], p=shares)
            delay = float(source % 3) if trouble else 0.0
            for crawl in crawls:
                crawl.settle(Outcome(source, str(kind), delay=delay))
    assert (FORBIDDEN in crawls[0].kind) == trouble


def test_index_policy_memory_is_bounded():
    """Forty sources, ten of which always fail."""
    policy = IndexPolicy(some_sources(40))
    crawl = Frontier(policy, list(range(40)), 4, rng=np.random.default_rng(0), patience=2)
    for _ in range(400):
        for i in crawl.choose().tolist():
            crawl.settle(Outcome(i, FAILED if i < 10 else FOUND))
    held = [value.size for value in vars(policy).values() if isinstance(value, np.ndarray)]
    assert held == [40]


def test_a_turn_survives_a_restart():
    one, other = TurnPolicy(5), TurnPolicy(5)
    one.record_choice(np.array([3, 1]))
    other.restore(one.state())
    assert other.select(None, 3).tolist() == one.select(None, 3).tolist() == [0, 2, 4]


def test_the_default_policy_knows_its_rates():
    """No learner is anybody's default."""
    from scrapy.settings import Settings

    from analysis.crawl.settings import crawl_settings

    given = crawl_settings(Settings({"CRAWL_BUDGET": 1}))
    assert given.policy is policies.index


def test_learners_alone_have_a_longest_age():
    """Thirty days, or eight times as long as a fetch of each source takes."""
    sources = some_sources(4)
    learned = policies.listing_index(sources, 1, 3600.0, 86_400.0)
    assert policies.default_max_age(learned, 60, 1, 3600.0) == 30 * 24
    assert policies.default_max_age(learned, 5_000, 10, 3600.0) == 8 * 500
    assert policies.default_max_age(policies.index(sources, 1, 3600.0), 60, 1, 3600.0) == NEVER
