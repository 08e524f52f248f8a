"""The timetable as a policy of a crawl: the sources of the epoch, whatever was found."""

import numpy as np

from analysis.crawl.policies import constant_gaps
from analysis.ephemeral import Observation, four_sources, timetable


def test_the_crawl_follows_the_timetable():
    policy, table = constant_gaps(four_sources(), 2, 3600.0), timetable(four_sources(), 2)
    for epoch in range(20):
        seen = Observation(epoch, np.full(4, 7), np.full(4, np.nan))
        assert policy.select(seen, 2).tolist() == table.crawls(epoch).tolist()
        assert policy.select(seen, 2).size == 2
