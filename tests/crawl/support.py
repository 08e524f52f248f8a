"""Small sites and crawls that several test files share."""

import numpy as np

from analysis.crawl import random_site
from analysis.crawl.store import Store
from analysis.ephemeral import Sources

POLICY = "analysis.crawl.policies."


def some_sources(size, seed=0):
    rng = np.random.default_rng([seed, size])
    return Sources(rng.uniform(0.2, 2, size), rng.uniform(0.2, 2, size), rng.uniform(0.1, 1, size))


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
