"""The Scrapy scheduler, driven without an engine: robots.txt, faults, restarts, settings."""

from types import SimpleNamespace

import grimp
import numpy as np
import pytest
from scrapy.crawler import Crawler
from scrapy.http import Response

from analysis.crawl.local.site import Fault
from analysis.crawl.local.transport import crawl_in_process, write_sources
from analysis.crawl.scheduler import EpochScheduler, FeedSpider
from analysis.ephemeral import simulate
from tests.crawl.support import contents, crawl_log, some_settings, some_site


def test_scrapy_is_imported_late():
    graph = grimp.build_graph("analysis", include_external_packages=True, cache_dir=None)
    for library in ("scrapy", "twisted"):
        assert graph.find_shortest_chain("analysis.crawl", library) is None
        assert graph.find_shortest_chain("analysis.crawl.scheduler", library) is not None


def test_crawl_equals_simulated_policy(tmp_path):
    site = some_site()
    crawl_in_process(site, some_settings(site), folder=tmp_path)
    log = crawl_log(tmp_path)
    crawled = simulate(site.sources, "whittle", 2, 15, initial_state="fresh").crawled
    assert list(zip(log["source"], log["epoch"], strict=True)) == [
        (source, epoch) for epoch in range(15) for source in np.flatnonzero(crawled[:, epoch])
    ]


def test_items_appeared_since_fetch(tmp_path):
    site = some_site()
    crawl_in_process(site, some_settings(site), folder=tmp_path)
    log = crawl_log(tmp_path)
    for source in range(6):
        times = np.floor(site.published[source])
        before = -np.inf
        for row in log[log["source"] == source].itertuples():
            now = row.epoch * site.seconds
            new = (times > before) & (times <= now)
            left = np.exp(-site.sources.decay[source] * (now - times[new]) / site.seconds)
            assert row.items == new.sum()
            assert row.reward == pytest.approx((site.utility[source][new] * left).sum(), rel=1e-12)
            assert row.status == 200 if new.any() or np.isinf(before) else 304
            before = now


def test_forbidden_path_is_not_fetched(tmp_path):
    rules = "User-agent: which-source-next\nDisallow: /feed/\n"
    site = some_site(robots={2: rules, 3: rules.replace("which-source-next", "another")})
    scheduler = crawl_in_process(site, some_settings(site), folder=tmp_path)
    log = crawl_log(tmp_path)
    assert log.loc[log["source"] == 2, "kind"].tolist() == ["forbidden"]
    assert "found" in set(log.loc[log["source"] == 3, "kind"])
    assert [kind == "forbidden" for kind in scheduler.frontier.kind] == [i == 2 for i in range(6)]
    disobedient = some_settings(site, ROBOTSTXT_OBEY=False)
    assert "forbidden" not in crawl_in_process(site, disobedient).frontier.kind


def test_crawl_delay_separates_fetches(tmp_path):
    site = some_site(robots={0: "User-agent: *\nCrawl-delay: 10000\n"}, hosts=[0, 0, 0, 1, 2, 3])
    crawl_in_process(site, some_settings(site, budget=3), folder=tmp_path)
    log = crawl_log(tmp_path)
    epochs = log.loc[log["source"] < 3, "epoch"].to_numpy()
    assert np.diff(epochs).min() == 3  # 10,000 s are 3 epochs of 3,600 s, rounded up
    assert epochs.size >= 4


def test_unreachable_robots_txt_forbids():
    site = some_site(delay=[9.0, 0, 0, 0, 0, 0])  # host 0 is slower than the time-out
    frontier = crawl_in_process(site, some_settings(site)).frontier
    assert "forbidden" not in frontier.kind
    assert frontier.failures[0] >= 2
    assert "127.0.0.1:1" not in frontier.crawl_delay
    assert frontier.crawl_delay["127.0.0.1:2"] == 0


@pytest.mark.parametrize(
    ("fault", "status"), [(Fault.ERROR, 503), (Fault.SILENCE, 0), (Fault.CUT, 200)]
)
def test_faults_fail_and_lose_nothing(tmp_path, fault, status):
    """Source 0 is down for four epochs; the next fetch finds what appeared since the last one."""
    faults = np.zeros((6, 15), dtype=int)
    faults[0, 4:8] = fault
    site = some_site(faults=faults)
    settings = some_settings(site, budget=6)
    scheduler = crawl_in_process(site, settings, folder=tmp_path)
    log = crawl_log(tmp_path)
    mine = log[log["source"] == 0].set_index("epoch")
    assert mine.loc[4:7, "kind"].to_dict() == dict.fromkeys([4, 5, 7], "failed")  # 6 is a rest
    assert set(mine.loc[4:7, "status"]) == {status}
    assert mine.index.tolist() == [0, 1, 2, 3, 4, 5, 7, 11, 12, 13, 14]
    times = np.floor(site.published[0])
    assert mine["items"].sum() == (times <= 14 * site.seconds).sum()
    assert scheduler.frontier.failures[0] == 0


def test_crawl_of_no_epochs():
    site = some_site()
    scheduler = crawl_in_process(site, some_settings(site, epochs=0))
    assert scheduler.next_request() is None
    assert not scheduler.has_pending_requests()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"CRAWL_SOURCES": ""}, "CRAWL_SOURCES"),
        ({"CRAWL_BUDGET": 7}, r"CRAWL_BUDGET must be an integer in \[1, 6\], got 7"),
        ({"CRAWL_BUDGET": "few"}, "CRAWL_BUDGET"),
        ({"CRAWL_PERIOD": 0}, "CRAWL_PERIOD"),
        ({"CRAWL_EPOCHS": -1}, "CRAWL_EPOCHS"),
        ({"CRAWL_PATIENCE": 0}, "CRAWL_PATIENCE"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    site = some_site()
    with pytest.raises(ValueError, match=message):
        crawl_in_process(site, some_settings(site) | settings)


def test_missed_epochs_count_in_ages(tmp_path, monkeypatch):
    """Overrun, and downtime: nothing is made up for, and the next epoch comes on its time."""
    now, waits = [1000.0], []
    clock = SimpleNamespace(time=lambda: now[0], clock_gettime=lambda kind: now[0])
    monkeypatch.setattr("analysis.crawl.clock.time", clock)
    later = lambda wait, _: waits.append(wait) or SimpleNamespace(cancel=int)  # noqa: E731
    monkeypatch.setattr("analysis.crawl.scheduler.call_later", later)
    site = some_site(3)
    write_sources(tmp_path / "s.csv", site.sources, [f"http://127.0.0.1:{i}/" for i in (1, 2, 3)])
    settings = some_settings(site, budget=1) | {
        "CRAWL_SOURCES": str(tmp_path / "s.csv"),
        "CRAWL_CLOCK": "real",
        "CRAWL_PERIOD": 10,
        "CRAWL_EPOCHS": None,
        "JOBDIR": str(tmp_path / "state"),
        "ROBOTSTXT_OBEY": False,
        "CRAWL_LOCAL_ADDRESSES": True,
    }

    def opened():
        scheduler = EpochScheduler.from_crawler(Crawler(FeedSpider, settings))
        scheduler.open(FeedSpider())
        return scheduler

    def crawl(scheduler):
        while request := scheduler.next_request():
            list(request.callback(Response(request.url, body=b"<rss/>", request=request)))
        return scheduler.frontier

    first = opened()
    assert crawl(first).epoch == 1
    assert waits == [pytest.approx(10.001)]
    now[0] += 35
    assert crawl(first).epoch == 4  # epochs 1 and 2 fell out
    now[0] += 100
    first.close("shutdown")
    frontier = crawl(opened())
    assert frontier.epoch == 14
    assert sorted(frontier.age.tolist())[0] == 1
    assert sorted(frontier.age.tolist())[-1] >= 11


def test_a_damaged_state_is_refused(tmp_path):
    site = some_site()
    crawl_in_process(site, some_settings(site, epochs=3), folder=tmp_path).close("over")
    state = tmp_path / "crawl.sqlite"
    state.write_bytes(state.read_bytes()[:100])
    with pytest.raises(ValueError, match="not the state of this crawl"):
        crawl_in_process(site, some_settings(site), folder=tmp_path)


@pytest.mark.parametrize("epochs", [1, 4, 9])
def test_two_parts_equal_one(tmp_path, epochs):
    site = some_site(faults=np.arange(90).reshape(6, 15) % 4)
    whole = some_settings(site, policy="learned_index")
    crawl_in_process(site, whole, folder=tmp_path / "one")
    crawl_in_process(site, whole | {"CRAWL_EPOCHS": epochs}, folder=tmp_path / "two")
    crawl_in_process(site, whole, folder=tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
