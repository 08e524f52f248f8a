"""The calendar kept in step with a crawl, against a full sort at every epoch."""

import numpy as np
import pytest

from analysis.crawl import CalendarPolicy, Frontier, Outcome
from analysis.crawl.frontier import FAILED, FORBIDDEN, FOUND
from analysis.ephemeral import WhittlePolicy
from tests.crawl.support import some_sources


@pytest.mark.parametrize("trouble", [False, True])
def test_the_calendar_fetches_what_a_full_sort_would(trouble):
    sources, rng = some_sources(30), np.random.default_rng(1)
    hosts = np.arange(30) // 2
    policies = (CalendarPolicy(sources, 4), WhittlePolicy(sources))
    crawls = [Frontier(p, hosts, 4, rng=np.random.default_rng(0)) for p in policies]
    shares = [0.79, 0.2, 0.01] if trouble else [1, 0, 0]
    for _ in range(150):
        arms = [crawl.choose().tolist() for crawl in crawls]
        assert arms[0] == arms[1]
        for source in arms[0]:
            kind = rng.choice([FOUND, FAILED, FORBIDDEN], p=shares)
            delay = float(source % 3) if trouble else 0.0
            for crawl in crawls:
                crawl.settle(Outcome(source, str(kind), delay=delay))
    assert crawls[0].forbidden.any() == trouble
