"""The timetable as a policy of a crawl: the sources of the epoch, whatever was found."""

import numpy as np
import pytest

from analysis.crawl import FeedServer
from analysis.crawl.local.site import Fault
from analysis.crawl.local.transport import crawl_in_process, crawl_over_http, write_sources
from analysis.crawl.policies import constant_gaps
from analysis.ephemeral import Observation, four_sources, timetable
from tests.crawl.support import crawl_log, some_settings, some_site


def test_the_policy_is_the_timetable():
    policy, table = constant_gaps(four_sources(), 2, 3600.0), timetable(four_sources(), 2)
    for epoch in range(20):
        seen = Observation(epoch, np.full(4, 7), np.full(4, np.nan))
        assert policy.select(seen, 2).tolist() == table.crawls(epoch).tolist()
        assert policy.select(seen, 2).size == 2


def due(site, epochs):
    """Source and epoch of each crawl, by the entries of the timetable alone."""
    table = timetable(site.sources, 2)
    rows = zip(table.source.tolist(), table.gap.tolist(), table.phase.tolist(), strict=True)
    return sorted(
        (epoch, source) for source, gap, phase in rows for epoch in range(phase, epochs, gap)
    )


def fetched(folder):
    log = crawl_log(folder)
    return sorted(zip(log["epoch"].tolist(), log["source"].tolist(), strict=True))


def test_local_crawl_follows_timetable(tmp_path):
    epochs = 64
    site = some_site(epochs=epochs)
    settings = some_settings(site, epochs=epochs, policy="constant_gaps")
    crawl_in_process(site, settings, folder=tmp_path)
    assert fetched(tmp_path) == due(site, epochs)
    assert len(due(site, epochs)) > epochs
    log = crawl_log(tmp_path)
    for source in range(6):  # and every item that appeared by the last fetch is found
        mine = log[log["source"] == source]
        last = mine["epoch"].max() * site.seconds
        assert mine["items"].sum() == (np.floor(site.published[source]) <= last).sum()


def test_failed_source_shifts_no_other(tmp_path):
    """The clock is all the state: after the failures its epochs are those of the timetable."""
    epochs, down = 64, 20
    faults = np.zeros((6, epochs), dtype=int)
    faults[0, :down] = Fault.SILENCE
    site = some_site(epochs=epochs, faults=faults)
    settings = some_settings(site, epochs=epochs, policy="constant_gaps")
    crawl_in_process(site, settings, folder=tmp_path)
    others = [row for row in fetched(tmp_path) if row[1] != 0]
    assert others == [row for row in due(site, epochs) if row[1] != 0]
    mine = [row for row in fetched(tmp_path) if row[1] == 0]
    assert set(mine) <= set(due(site, epochs))
    assert mine[-3:] == [row for row in due(site, epochs) if row[1] == 0][-3:]


@pytest.mark.sampled
@pytest.mark.process
def test_http_crawl_follows_timetable(tmp_path):
    site = some_site(epochs=16)
    with FeedServer(site) as server:
        write_sources(tmp_path / "sources.csv", site.sources, server.urls())
        settings = some_settings(site, epochs=16, policy="constant_gaps") | {
            "CRAWL_SOURCES": str(tmp_path / "sources.csv"), "JOBDIR": str(tmp_path / "state"),
        }  # fmt: skip
        crawl_over_http([settings])
    assert fetched(tmp_path / "state") == due(site, 16)
