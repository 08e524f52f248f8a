"""Small sites and crawls that several test files share."""

import numpy as np
from scrapy.crawler import Crawler
from scrapy.http import Response

from analysis.crawl import random_site
from analysis.crawl.local.transport import write_sources
from analysis.crawl.scheduler import EpochScheduler, FeedSpider
from analysis.crawl.store import Store
from analysis.ephemeral import Sources

NEW_YEAR = 1_704_067_200.0
POLICY = "analysis.crawl.policies."


def some_sources(size, seed=0):
    rng = np.random.default_rng([seed, size])
    return Sources(rng.uniform(0.2, 2, size), rng.uniform(0.2, 2, size), rng.uniform(0.1, 1, size))


def ten_decades(size=40):
    """Sources whose rates, worths and decays differ by ten decades."""
    rng = np.random.default_rng(size)
    rate, worth, decay = (10.0 ** rng.uniform(*ends, size) for ends in ((-5, 5), (-5, 5), (-9, 1)))
    return Sources(rate, worth, decay)


SETS = {
    "rates over ten decades": ten_decades(),
    "equal sources": Sources(np.ones(30), np.ones(30), np.full(30, 0.3)),
    "near-ties": Sources(1 + 1e-13 * np.arange(30), np.ones(30), np.full(30, 0.3)),
    "some that never publish": Sources(np.repeat([0.0, 1.0], 9), np.ones(18), np.full(18, 0.3)),
    "one source": Sources([2.0], [1.0], [0.5]),
    "slow decay": Sources(np.arange(1.0, 9), np.ones(8), 10.0 ** -np.arange(1.0, 9)),
}


def some_site(size=6, epochs=15, seed=0, **options):
    rng = np.random.default_rng([seed, 1])
    return random_site(some_sources(size, seed), epochs, rng, **options)


def some_settings(site, budget=2, epochs=15, policy="index", **more):
    return {
        "CRAWL_BUDGET": budget,
        "CRAWL_EPOCHS": epochs,
        "CRAWL_POLICY": POLICY + policy,
        "CRAWL_CLOCK": "virtual",
        "CRAWL_PERIOD": site.seconds,
        "CRAWL_START": site.start,
        "DOWNLOAD_TIMEOUT": 3.0,
        **more,
    }


def contents(folder):
    """All that a crawl has kept."""
    store = Store(folder)
    rows = store.contents()
    store.close()
    return rows


def crawl_log(folder):
    """The log of a crawl of a local site, with the number of each source in place of its name."""
    store = Store(folder)
    log = store.frame()
    store.close()
    return log.assign(source=log["source"].str.extract(r"/feed/(\d+)\.xml")[0].astype(int))


def opened(folder, urls, **settings):
    """A scheduler in real time, without an engine; settings that are None are not set."""
    write_sources(folder / "s.csv", some_sources(len(urls)), urls)
    given = {
        "CRAWL_SOURCES": str(folder / "s.csv"),
        "CRAWL_BUDGET": len(urls),
        "CRAWL_PERIOD": 24,
        "CRAWL_POLICY": "analysis.crawl.policies.round_robin",
        "CRAWL_LOCAL_ADDRESSES": True,
        "ROBOTSTXT_OBEY": True,
        "USER_AGENT": "me",
        **settings,
    }
    given = {name: value for name, value in given.items() if value is not None}
    scheduler = EpochScheduler.from_crawler(Crawler(FeedSpider, given))
    scheduler.open(FeedSpider())
    return scheduler


def crawl_for(scheduler, clock, seconds, answer, step=0.25):
    """Let time pass and answer every request at once; return the times and addresses requested."""
    requested = []
    for _ in range(int(seconds / step)):
        while request := scheduler.next_request():
            requested.append((clock.now - NEW_YEAR, request.url))
            status, headers, body = answer(request.url)
            response = Response(request.url, status, headers, body, request=request)
            list(request.callback(response))
        clock.now += step
    return requested


def answers(robots_text="", feed=b"<rss/>"):
    def answer(url):
        if url.endswith("/robots.txt"):
            return 200, {}, robots_text.encode()
        return 200, {}, feed

    return answer


def pages(fetched):
    return [(at, url) for at, url in fetched if not url.endswith("/robots.txt")]
