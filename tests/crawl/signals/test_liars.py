"""A crawl over HTTP whose senders of pings are honest, liars, dead or spam."""

import json
from contextlib import ExitStack

import numpy as np
import pytest

from analysis.crawl import FeedServer, Site
from analysis.crawl.local.transport import crawl_over_http, write_sources
from analysis.crawl.progress import read_progress
from analysis.crawl.store import Store, read_log
from analysis.ephemeral import Sources
from analysis.results import Estimate
from tests.crawl.frontier.test_pinged import DEAD, HONEST, LIAR, NONE, SPAM, World
from tests.crawl.signals.hub import free_port, post
from tests.crawl.support import some_settings

HOUR, HOURS = 3600, 200
KINDS = [HONEST] * 12 + [LIAR] * 12 + [DEAD] * 12 + [NONE] * 12 + [SPAM] * 40
NAMES = {HONEST: "honest", LIAR: "liar", DEAD: "dead", SPAM: "spam"}


class PingingServer(FeedServer):
    """A site whose senders of pings post them before it answers a later request.

    Items and pings come at a whole hour: items are dated a minute before their ping.
    """

    def __init__(self, world, senders, callback):
        hours = [np.ceil(times) for times, _ in world.items]
        sources = Sources(world.rate, np.ones(world.rate.size), world.decay)
        published = [HOUR * times - 60.0 for times in hours]
        worth = [worth for _, worth in world.items]
        super().__init__(
            Site(sources, published, worth, seconds=HOUR, hosts=np.zeros(world.rate.size, int))
        )
        self.pings = [ping for ping in world.pings if int(ping[2][-1]) in senders]
        self.callback, self.statuses = callback, set()

    def answer(self, host, path, headers):
        now = (float(headers["x-time"]) - self.site.start) / HOUR
        due = []
        while self.pings and self.pings[0][0] <= now:
            due.append(self.pings.pop(0))
        urls = self.urls()
        for kind, name in NAMES.items():
            named = [urls[place] for _, place, hub in due if int(hub[-1]) == kind]
            if named:
                body = json.dumps({"urlList": named}).encode()
                self.statuses.add(post(f"{self.callback}/ping/{name * 4}", body))
        return super().answer(host, path, headers)


def crawl(folder, seeds, variants):
    """Reward of each crawl, by variant (its senders) and seed; all at once in a child process."""
    with ExitStack() as stack:
        settings, servers = [], []
        for variant, senders in variants.items():
            for seed in range(seeds):
                place = folder / f"{variant}-{seed}"
                place.mkdir()
                tokens = place / "ping-tokens"
                tokens.write_text("".join(f"{name} {name * 4}\n" for name in NAMES.values()))
                listen = f"127.0.0.1:{free_port()}"
                server = PingingServer(World(KINDS, HOURS, seed), senders, f"http://{listen}")
                servers.append(stack.enter_context(server))
                write_sources(place / "sources.csv", server.site.sources, server.urls())
                settings.append(
                    some_settings(server.site, 2, HOURS)
                    | {"CRAWL_SOURCES": str(place / "sources.csv"), "JOBDIR": str(place)}
                    | {"DOWNLOAD_TIMEOUT": 60.0}
                )
                if senders:
                    settings[-1] |= {"CRAWL_CALLBACK": f"http://{listen}", "CRAWL_LISTEN": listen}
        crawl_over_http(settings, timeout=900.0)
        # On a busy machine some pings may find the crawler too slow to answer.
        assert set().union(*(server.statuses for server in servers)) <= {202, 0}
    reward = {
        (variant, seed): read_log(folder / f"{variant}-{seed}")["reward"].sum()
        for variant in variants
        for seed in range(seeds)
    }
    return {v: np.array([reward[v, seed] for seed in range(seeds)]) for v in variants}


def hubs(folder):
    """What a crawl has kept of its senders, by name."""
    from analysis.crawl.frontier.pinged import Trust

    store = Store(folder)
    state, events, _ = store.signals()
    store.close()
    trust = Trust()
    trust.restore(json.loads(state)["order"]["trust"])
    for event in events:
        trust.apply(json.loads(event))
    return {row["hub"]: row for row in trust.table(0.0)}


def check_liars(folder, seeds):
    variants = {"without": [], "honest": [HONEST], "all": list(NAMES)}
    reward = crawl(folder, seeds, variants)
    gains = {v: Estimate.of(reward[v] / reward["without"] - 1.0) for v in ("honest", "all")}
    for variant, found in gains.items():
        print(f"{variant}: {found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]")
    assert gains["honest"].value > 0
    assert gains["all"].high > 0
    trust = hubs(folder / "all-0")
    print({name: (row["pings"], row["precision"]) for name, row in trust.items()})
    assert trust["honest"]["precision"] > 5 * max(
        trust[name]["precision"] for name in ("liar", "spam")
    )
    fetches = {v: read_progress(folder / f"{v}-0")[2]["fetches"] for v in variants}
    assert fetches["all"] == fetches["without"]  # pings move fetches, and add none
    return gains


@pytest.mark.sampled
@pytest.mark.process
def test_liars_cost_little_over_http(tmp_path):
    """One honest sender, one liar, one that dies and forty spam sources, two sites each."""
    check_liars(tmp_path, 2)


@pytest.mark.slow
def test_liars_over_http_with_intervals(tmp_path):
    """The same on eight sites: more with the honest sender, no less with all of them."""
    assert check_liars(tmp_path, 8)["honest"].low > 0
