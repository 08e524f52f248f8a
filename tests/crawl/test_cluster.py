"""A crawl by several processes: the crawls of one, hosts that stay with one, nothing lost."""

import json
import os
import signal
from contextlib import contextmanager
from fractions import Fraction
from io import FileIO
from urllib.parse import urlsplit

import numpy as np
import pytest
from scrapy.crawler import Crawler

from analysis.crawl import FeedServer, Frontier, IndexPolicy, ListingIndex, TurnPolicy
from analysis.crawl.cluster import (
    Actors,
    CrawlCluster,
    FetchingPart,
    FetchingParts,
    Hosts,
    PartScheduler,
    count_accepted_offers,
)
from analysis.crawl.feeds.reply import Reply
from analysis.crawl.fetching.hosts import host_of
from analysis.crawl.local.site import random_faults
from analysis.crawl.local.transport import (
    LOCAL_SETTINGS,
    _fetch,
    crawl_in_process,
    in_process_urls,
    write_sources,
)
from analysis.crawl.scheduler import FeedSpider
from analysis.sweep import WorkerLost

from .support import POLICY, crawl_log, some_site, some_sources

PARTS = 4
FIVE_AN_EPOCH = "User-agent: *\nCrawl-delay: 720"


class Local:
    """The parts of a crawl in this process, without an engine."""

    def __init__(self, site, crawl):
        self.site, self.crawl = site, crawl
        self.schedulers = [self.begin(part) for part in range(crawl.parts)]

    def begin(self, part):
        settings = LOCAL_SETTINGS | self.crawl.settings_of(part)
        scheduler = PartScheduler.from_crawler(Crawler(FeedSpider, settings))
        scheduler.open(FeedSpider())
        epoch = self.crawl.epoch - 1
        scheduler.end_epoch(epoch, self.crawl.began, self.crawl.redirect_hosts(part))
        scheduler.begin(epoch, self.crawl.places[part])
        return scheduler

    def kill(self, part):
        """Let a part be as after a kill: what it had not written is gone."""
        self.schedulers[part].store.close()
        self.schedulers[part] = self.begin(part)

    def fetch(self, part, most=10**9):
        """Make some of the requests that a part has to make; return how many it made."""
        made = 0
        while made < most and (request := self.schedulers[part].next_request()) is not None:
            _fetch(self.site, urlsplit(request.url).port - 1, request, 3.0)
            made += 1
        return made

    def call_one(self, part, method, *given):
        if method == "has_epoch_ended":
            self.fetch(part)
        return getattr(self.schedulers[part], method)(*given)

    def call_all(self, method, arguments):
        return [self.call_one(part, method, *given) for part, given in enumerate(arguments)]

    def stop(self):
        for scheduler in self.schedulers:
            scheduler.stop()
            scheduler.close("finished")


def settings_of(site, path, urls, budget, epochs, **more):
    write_sources(path, site.sources, urls)
    return LOCAL_SETTINGS | {
        "CRAWL_SOURCES": str(path),
        "CRAWL_BUDGET": budget,
        "CRAWL_EPOCHS": epochs,
        "CRAWL_CLOCK": "virtual",
        "CRAWL_PERIOD": site.seconds,
        "CRAWL_START": site.start,
        "CRAWL_POLICY": POLICY + "index",
        "DOWNLOAD_TIMEOUT": 3.0,
        **more,
    }


def shared_site(size=40, hosts=12, epochs=15, seed=0):
    """A site of several feeds a host, with faults, delays and a host that forbids."""
    rng = np.random.default_rng(seed)
    where = rng.integers(0, hosts, size)
    where[:hosts] = np.arange(hosts)
    robots = {0: "User-agent: *\nCrawl-delay: 1800", 1: "User-agent: *\nCrawl-delay: 9000"}
    robots[2] = "User-agent: *\nDisallow: /"
    return some_site(
        size, epochs, seed, hosts=where, robots=robots, faults=random_faults(size, epochs, 0.2, rng)
    )


def rows(log):
    return set(
        log[["epoch", "source", "kind", "status", "reward", "items"]].itertuples(index=False)
    )


def logs(folder, parts=PARTS):
    return [crawl_log(folder / f"part-{part}") for part in range(parts)]


def of_one(site, tmp_path, budget, epochs, urls=None, **more):
    """The log of the same crawl by one process."""
    settings = {"CRAWL_BUDGET": budget, "CRAWL_EPOCHS": epochs, "CRAWL_POLICY": POLICY + "index"}
    crawl_in_process(
        site, settings | {"DOWNLOAD_TIMEOUT": 3.0} | more, folder=tmp_path / "one", urls=urls
    ).close("finished")
    return rows(crawl_log(tmp_path / "one"))


def run_to_end(crawl, parts, tmp_path):
    """Run a crawl of parts to its end; return the rows of all their logs."""
    crawl.run(parts)
    parts.stop()
    return set.union(*(rows(log) for log in logs(tmp_path / "parts")))


@pytest.mark.parametrize("budget", [2, 25])
def test_four_parts_equal_one(tmp_path, budget):
    site = shared_site()
    settings = settings_of(site, tmp_path / "all.csv", in_process_urls(site), budget, 15)
    crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
    parts = Local(site, crawl)
    crawl.run(parts)
    parts.stop()
    found = [rows(log) for log in logs(tmp_path / "parts")]
    assert set.union(*found) == of_one(site, tmp_path, budget, 15)
    hosts = [{int(site.hosts[row.source]) for row in some} for some in found]
    assert sum(map(len, hosts)) == len(set.union(*hosts))
    assert max(map(len, hosts)) < 12


def test_killed_part_resumes_epoch(tmp_path):
    site, rng = shared_site(), np.random.default_rng(3)
    settings = settings_of(site, tmp_path / "all.csv", in_process_urls(site), 9, 15)
    crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
    parts = Local(site, crawl)
    while not crawl.done:
        crawl.step(parts)
        for part in range(PARTS):
            parts.fetch(part, int(rng.integers(0, 3)))
            if rng.random() < 0.3:
                parts.kill(part)
    found = run_to_end(crawl, parts, tmp_path)
    assert found == of_one(site, tmp_path, 9, 15)


def test_restarted_coordinator_resumes_epoch(tmp_path):
    site = shared_site()
    settings = settings_of(site, tmp_path / "all.csv", in_process_urls(site), 9, 15)
    for _ in range(4):  # the last of them has the epochs that are left
        crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
        parts = Local(site, crawl)
        for _ in range(3):
            crawl.step(parts)
        for part in range(PARTS):
            parts.fetch(part, part)
            parts.schedulers[part].store.close()
    crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
    parts = Local(site, crawl)
    found = run_to_end(crawl, parts, tmp_path)
    assert found == of_one(site, tmp_path, 9, 15)
    with pytest.raises(ValueError, match="parts"):
        CrawlCluster(settings, tmp_path / "parts", 3)


@pytest.mark.sampled
def test_learner_of_parts_earns_alike(tmp_path):
    """Each part fits the prior of the rates to its own sources: the band is in what they earn."""
    site = some_site(40, 40, 5, hosts=np.arange(40) % 20, stated=False)
    more = {"CRAWL_POLICY": POLICY + "listing_index"}
    settings = settings_of(site, tmp_path / "all.csv", in_process_urls(site), 4, 40, **more)
    crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
    parts = Local(site, crawl)
    found = run_to_end(crawl, parts, tmp_path)
    one = of_one(site, tmp_path, 4, 40, **more)
    spent, reward = len(found), sum(row.reward for row in found)
    assert spent == len(one) == 4 * 40
    assert reward == pytest.approx(sum(row.reward for row in one), rel=0.03)


def test_sources_change_hosts_stay(tmp_path):
    site = shared_site()
    urls = in_process_urls(site)
    path = tmp_path / "all.csv"
    settings = settings_of(site, path, urls, 9, 15)
    whole = path.read_text().splitlines()
    path.write_text("\n".join(whole[:26]) + "\n")  # the first 25 sources
    crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
    parts = Local(site, crawl)
    for _ in range(8):
        crawl.step(parts)
    before = {host: crawl.hosts.part(host) for host in map(host_of, urls[:25])}
    path.write_text("\n".join([whole[0], *whole[11:]]) + "\n")  # without the first ten
    log = run_to_end(crawl, parts, tmp_path)
    assert {host: crawl.hosts.part(host) for host in before} == before
    early, late = ({row.source for row in log if (row.epoch < 8) == e} for e in (True, False))
    assert max(early) < 25
    assert min(late) >= 10
    assert max(late) >= 25
    assert all(sum(row.epoch == epoch for row in log) <= 9 for epoch in range(15))


def test_hosts_belong_to_one_part(tmp_path):
    """A feed of host 0 has moved to host 11; until the two belong to one part it fails."""
    site = shared_site()
    urls = in_process_urls(site)
    feed = int(np.flatnonzero(site.hosts == 3)[0])
    target = next(h for h in range(11, 3, -1))
    requested = []

    class Moved:
        seconds, hosts = site.seconds, site.hosts

        def reply(self, host, path, headers, now):
            requested.append((parts.caller, host))
            if host == 3 and path == f"/feed/{feed}.xml":
                return Reply(302, {"location": f"http://127.0.0.1:{target + 1}{path}"})
            if host == target and path == f"/feed/{feed}.xml":
                return site.reply(3, path, headers, now)
            return site.reply(host, path, headers, now)

    settings = settings_of(site, tmp_path / "all.csv", urls, 30, 15)
    crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
    parts = Local(Moved(), crawl)
    fetch = Local.fetch

    def noted(part, most=10**9):
        parts.caller = part
        return fetch(parts, part, most)

    parts.fetch = noted
    three, other = f"127.0.0.1:{3 + 1}", f"127.0.0.1:{target + 1}"
    assert crawl.hosts.part(three) != crawl.hosts.part(other)
    crawl.run(parts)
    parts.stop()
    assert crawl.hosts.part(three) == crawl.hosts.part(other)
    of_host = {}
    for part, host in requested:
        of_host.setdefault(host, set()).add(part)
    assert {host for host, by in of_host.items() if len(by) > 1} <= {3}  # it moved, once
    log = [row for log in logs(tmp_path / "parts") for row in rows(log) if row.source == feed]
    kinds = [row.kind for row in sorted(log)]
    assert kinds[0] == "failed"
    assert "found" in kinds[1:]
    assert len(log) == len({row.epoch for row in log})  # never twice in an epoch


def test_offers_match_selection():
    sources = some_sources(30)
    frontier = Frontier(
        IndexPolicy(sources), [i % 7 for i in range(30)], 30, rng=np.random.default_rng(0),
        ages=np.arange(1, 31), max_age=25, seconds=10.0,
    )  # fmt: skip
    offers = frontier.offers(30)
    assert offers.size == 7  # one a host, whose rules are unknown
    assert np.isinf(offers[:6]).all()
    assert (np.diff(offers[6:]) <= 0).all()
    frontier.budget = 6
    assert (frontier.age[frontier.choose()] >= 25).all()
    with pytest.raises(ValueError, match="policy"):
        Frontier(TurnPolicy(3), list("abc"), 1, rng=np.random.default_rng(0)).offers(2)
    priced = ListingIndex(3, 24.0, 3600.0, budget=1)  # no other part has its price
    with pytest.raises(ValueError, match="policy"):
        Frontier(priced, list("abc"), 1, rng=np.random.default_rng(0)).offers(2)


def test_unstarted_part_is_lost():
    """Dask makes an actor again by itself, which must not crawl with the arguments of old."""
    with pytest.raises(OSError, match="not started"):
        FetchingPart().has_epoch_ended()


def test_places_go_to_the_largest_offers():
    rng = np.random.default_rng(0)
    for _ in range(50):
        offers = [np.sort(rng.integers(0, 9, rng.integers(0, 9)))[::-1] for _ in range(4)]
        budget = int(rng.integers(0, 30))
        places = count_accepted_offers(offers, budget)
        whole = np.sort(np.concatenate(offers))[::-1]
        assert sum(places) == min(budget, whole.size)
        taken = np.concatenate([some[:n] for some, n in zip(offers, places, strict=True)])
        np.testing.assert_array_equal(np.sort(taken)[::-1], whole[:budget])


def test_hosts_of_one_group_stay_together():
    hosts = Hosts(3)
    hosts.assign("aaabbc")
    assert [hosts.part(h) for h in "abcx"] == [0, 1, 2, None]
    assert hosts.join("a", "x") == set()
    assert hosts.part("x") == 0
    assert hosts.join("b", "c") == {"b"}
    assert hosts.part("b") == 2
    assert hosts.join("x", "b") == {"a", "x"}
    assert {hosts.part(h) for h in "abcx"} == {2}
    again = Hosts(3, json.loads(json.dumps(hosts.kept())))
    again.assign("abcd")
    assert again.part("d") == 0
    assert again.of_part(2) == ["a", "b", "c", "x"]


@pytest.mark.sampled
@pytest.mark.process
def test_killed_process_loses_nothing(tmp_path):
    crawl_by_four_processes(tmp_path, size=200, hosts=20, budget=40, epochs=6)


@pytest.mark.slow
def test_processes_fetch_ten_thousand_feeds(tmp_path):
    crawl_by_four_processes(tmp_path, size=10_000, hosts=200, budget=1_000, epochs=6)


def crawl_by_four_processes(tmp_path, size, hosts, budget, epochs):
    """Over HTTP; one of the processes is killed in an epoch that is under way."""
    distributed = pytest.importorskip("distributed")
    site = some_site(size, epochs, 2, hosts=np.arange(size) % hosts, robots={0: FIVE_AN_EPOCH})
    more = {"DOWNLOAD_TIMEOUT": 60.0}
    more |= {"FEEDS": {f"{tmp_path}/items-%(part)s.jsonl": {"format": "jsonlines"}}}
    with (
        FeedServer(site) as server,
        distributed.LocalCluster(
            n_workers=PARTS, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        urls = server.urls()
        settings = settings_of(site, tmp_path / "all.csv", urls, budget, epochs, **more)
        crawl = CrawlCluster(settings, tmp_path / "parts", PARTS)
        parts = FetchingParts(client, crawl)
        for _ in range(epochs // 2):
            crawl.step(parts)
        os.kill(client.run(os.getpid)[parts.worker(1)], signal.SIGKILL)
        crawl.run(parts)
        assert parts.stop()
    found = [rows(log) for log in logs(tmp_path / "parts")]
    assert set.union(*found) == of_one(site, tmp_path, budget, epochs, urls)
    own = [{int(site.hosts[row.source]) for row in some} for some in found]
    assert sum(map(len, own)) == len(set.union(*own)) == hosts  # no host belongs to two
    items = [
        (item["source"], item["title"])
        for path in tmp_path.glob("items-*.jsonl")
        for item in map(json.loads, path.read_text().splitlines())
    ]
    assert len(set(items)) == sum(row.items for some in found for row in some)


class Numbers(Actors):
    """Parts whose actors are numbers, which every worker can import."""

    def __init__(self, client):
        self.restarted = []
        super().__init__(client, 3, patience=60.0)

    def actor(self, part):
        return Fraction, part

    def on_restart(self, part):
        self.restarted.append(part)

    def ask_all(self):
        return self.call_all("limit_denominator", [()] * 3)


@contextmanager
def connect(workers, **options):
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": None, **options}
    with (
        distributed.LocalCluster(n_workers=workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.sampled
@pytest.mark.process
def test_lost_actor_is_restarted_and_called_again():
    with connect(2) as client:
        numbers = Numbers(client)
        assert numbers.ask_all() == [0, 1, 2]
        dying = numbers.worker(0)
        lost = [part for part in range(3) if numbers.worker(part) == dying]
        assert 0 < len(lost) < 3
        os.kill(client.run(os.getpid)[dying], signal.SIGKILL)
        assert numbers.ask_all() == [0, 1, 2]
        assert numbers.restarted == lost


@pytest.mark.process
def test_actor_that_cannot_start_is_given_up():
    def gone():
        raise OSError("the worker is gone")

    with connect(1, processes=False) as client:
        numbers = Numbers(client)
        numbers.actor = lambda part: (FileIO, "no such file")
        numbers._futures[1] = client.submit(gone)
        with pytest.raises(WorkerLost, match="part 1"):
            numbers.call_one(1, "limit_denominator")


@pytest.mark.process
def test_cluster_without_workers_is_refused():
    with connect(0, processes=False) as client, pytest.raises(WorkerLost, match="no worker"):
        Numbers(client)
